//! Small streams, written by the original libraries from Python.

use super::super::Codec;

pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) codec: Codec,
    /// The stream in hex.
    bytes: &'static str,
    /// Length and SHA-1 of what it decodes to.
    pub(super) len: usize,
    pub(super) sha1: &'static str,
    /// Whether a checksum covers the decoded bytes.
    pub(super) sealed: bool,
    /// Whether the header states the decoded length.
    pub(super) declared: bool,
}

impl Sample {
    pub(super) fn bytes(&self) -> Vec<u8> {
        unhex(self.bytes)
    }

    pub(super) fn named(name: &str) -> &'static Self {
        SAMPLES.iter().find(|sample| sample.name == name).unwrap()
    }
}

pub(super) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|d| u8::try_from(d).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub(super) const SAMPLES: &[Sample] = &[
    // Shard of a Sedpack dataset with compression GZIP.
    Sample {
        name: "shard gzip",
        codec: Codec::Gzip,
        bytes: "1f8b0800b08c0c6b02ff1360400579ffffff6701d28c400ca2eba07c3620ae01e20420f600621d209680aa59045503c2 \
            5207d79edd04e5330331775523c321289f1b883fcc9fd904c4cd26c6460cb7a0e21c20b9cc1587bafcb3dddf219965c0 \
            b1d51e64330790c70615e301628ba5660e45cf7c0f78a9ae750400e5a277e8c0000000",
        len: 192,
        sha1: "fbb2c822c9daf51d3477c8c8026b85c5bc58246a",
        sealed: true,
        declared: false,
    },
    // Shard of a Sedpack dataset with compression ZLIB.
    Sample {
        name: "shard zlib",
        codec: Codec::Gzip,
        bytes: "1f8b0800b08c0c6b02ff1360400571ffffff6701d28c400ca2f3a07c3620ee01e202208e00621b209680aa99045503c2 \
            871d9e3b2c82f24580f8c3fbc71999576fb89efaf4d2a2fc66f6ed5ba626c70e41e5b941f2f367360171b3a1b931c32d \
            a8380710b36b192ded3c5373eb1d92d9f9265fdd402ee100f2d8a0623c40cc146feef0e1dd9903b9fecc07002c7f06bb \
            d0000000",
        len: 208,
        sha1: "48bdf543a054b5caccd05c91f8b17cc931b0e569",
        sealed: true,
        declared: false,
    },
    // Shard of a Sedpack dataset with compression BZ2.
    Sample {
        name: "shard bz2",
        codec: Codec::Bzip2,
        bytes: "425a6839314159265359bdf68cde000038ffffed4dc04010015914b0302849000148115884902091820001525000f624 \
            214000a000742234a00d000687a6a000d01a7a6a69e4d27ea8411348d30264c9886468c4d0064c990682054c84c90b18 \
            01221c99a33cea2875b0b0760e23390800a1230a6400019485f203081ce00662c741c255a931c4aa357b5d9771f3b5bc \
            abbeb3e21093ace860247b1fe01039157f5ea294874be69594d5b9a86cc2e8c0c66ce4f222fe2ee48a70a1217bed19bc",
        len: 208,
        sha1: "26a52cc5040fc6e8b325776e1d92362d8300e8df",
        sealed: true,
        declared: false,
    },
    // Shard of a Sedpack dataset with compression LZMA.
    Sample {
        name: "shard lzma",
        codec: Codec::Xz,
        bytes: "fd377a585a000004e6d6b4460200210116000000742fe5a3e000cf007e5d00080035ec924f281f3d38004c56292e622d \
            cafd2f5e292e42a016732727fc6b7db38c078d6812a9b197eab157fcbf60edff3a29bb2cd8b4532a08c4f20419b8a160 \
            29c55be65c9674dfff00570e4f5a47307a12fec303af06f7e7c6bf4527e4b01ac47974c30d62366b394e2ec18d7d1357 \
            0b7f7ac3ed079f1beabfb5c2000000002b29a247c69f6ccf00019a01d0010000e61b5e65b1c467fb020000000004595a",
        len: 208,
        sha1: "83ab8958b5b9f0840c4ae6931bf38ae2bfb0914e",
        sealed: true,
        declared: false,
    },
    // Shard of a Sedpack dataset with compression LZ4.
    Sample {
        name: "shard lz4",
        codec: Codec::Lz4Frame,
        bytes: "04224d186840e00000000000000043ac0000002a10000100c04effffff04000000010000000800135e1000f306060000 \
            009c00000080000000680000004c0000001824001382240000300053a1c8154d921000fa0a15000000081879121e0c3e \
            1b788c02de9cc6017e0820d73fab73002300c23000f3020b000000f09f9982f09f998337353900da1800d30800000023 \
            05f7b14b25c6caee1400006c004059ccd5929a0031080004a000001400f0010c000000fec473c074478fc1d4ba474100 \
            000000",
        len: 224,
        sha1: "f3dc3d6545f9492fca8bb4c523879d80612f2a49",
        sealed: false,
        declared: true,
    },
    // Shard of a Sedpack dataset with compression ZSTD.
    Sample {
        name: "shard zstd",
        codec: Codec::Zstd,
        bytes: "28b52ffd20e0050500f40710004effffff04000000010000005e060000009c00000080000000680000004c0000001882 \
            040000008bbf9f4992160000007843c8f06b18cb6f98fdedbaf46899bb35c8c531858300c208000000706c61696e3934 \
            37da9d5130bc735534dfee02d9576e00000600080004040000000c000000ebc73bc1fc252041b0d8d2400c002313fe0d \
            e676da1d2aa4a919d60e675c9525c8e2519967e65db1920cb0",
        len: 224,
        sha1: "73263283d3990af63a49b676fd912de46a58a2e3",
        sealed: false,
        declared: true,
    },
    // All optional header fields, with header CRC.
    Sample {
        name: "gzip with everything",
        codec: Codec::Gzip,
        bytes: "1f8b081e010203040003050065787472616e616d6500636f6d6d656e7400722d2b294a4c4e55303030b0562881320d11 \
            4c1304d312ce343483338d4ce14c6384a80942ad19c2040b24738d112620149898c399e64608b508a631c2043384a825 \
            921b10e69a033d040014fb094edc000000",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: true,
        declared: false,
    },
    // Python's zlib.compress.
    Sample {
        name: "zlib",
        codec: Codec::Zlib,
        bytes: "789c2b294a4c4e55303030b0562881320d114c1304d312ce343483338d4ce14c6384a80942ad19c2040b24738d112620 \
            149898c399e64608b508a631c2043384a825921b10e69a033d040047c33e94",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: true,
        declared: false,
    },
    // Python's zlib without header.
    Sample {
        name: "deflate",
        codec: Codec::Deflate,
        bytes: "2b294a4c4e55303030b0562881320d114c1304d312ce343483338d4ce14c6384a80942ad19c2040b24738d1126201498 \
            98c399e64608b508a631c2043384a825921b10e69a033d0400",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: false,
        declared: false,
    },
    // The older container, by Python lzma with FORMAT_ALONE.
    Sample {
        name: "lzma alone",
        codec: Codec::Xz,
        bytes: "5d00008000ffffffffffffffff003a1c8845b806b63ec8f9d83ed81c9255aa94a940994c3118923546f90726945a0f99 \
            471b017b0898aee597ec80f11f29d958e3cd6137de614a31712f8ed0479937fff8f88940",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: false,
        declared: false,
    },
    // Two linked blocks, all checksums.
    Sample {
        name: "lz4 linked, checksums",
        codec: Codec::Lz4Frame,
        bytes: "04224d185c4080380100000000005a1b010000ff01303132333435363738396162636465661000ffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffd850626364656653de5e9c420000000f1000ffffffffffffffffffffffffffffffffffffffffffffff \
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa05062636465664b0af1ec00000000 \
            1ffa8fcb",
        len: 80000,
        sha1: "cf824b431a498d2f8bbe7d3f84beb48793e58776",
        sealed: true,
        declared: true,
    },
    // No content size.
    Sample {
        name: "lz4 without size",
        codec: Codec::Lz4Frame,
        bytes: "04224d186440a75f000000b47472616365203030303b200b0016310b0016340b0015390b002531360b002532350b0016 \
            33160016342c001636420017385800153337001632210025343716002537320b0016300b001633420016361600173984 \
            00055800503037303b2000000000420f95b3",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: true,
        declared: false,
    },
    // A block stored as is.
    Sample {
        name: "lz4 stored",
        codec: Codec::Lz4Frame,
        bytes: "04224d186c4028000000000000008f2800008028df35b913be3fcdc82b66daa9b095d8c83b18c5fe2a81f4e798778062 \
            958bce0fee31a325aff2a8000000007f6a1d1e",
        len: 40,
        sha1: "6a21b19b52a83572ce834d19537ef2b47a720fab",
        sealed: true,
        declared: true,
    },
    // With checksum.
    Sample {
        name: "zstd with checksum",
        codec: Codec::Zstd,
        bytes: "28b52ffd24dcbd0200f4027472616365203030303b203134393136323533363439363438313033323434373732303331 \
            36323935333337303b201300a0605030281814049b81d24069a034501a280d94064a03a581d24069a008d807363351e6 \
            eef28b51",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: true,
        declared: true,
    },
    // No content size, with checksum.
    Sample {
        name: "zstd without size",
        codec: Codec::Zstd,
        bytes: "28b52ffd0400bd0200f4027472616365203030303b203134393136323533363439363438313033323434373732303331 \
            36323935333337303b201300a0605030281814049b81d24069a034501a280d94064a03a581d24069a008d807363351e6 \
            eef28b51",
        len: 220,
        sha1: "8c58a234b4ea42e45f29a418946647191549d828",
        sealed: true,
        declared: false,
    },
    // Values of an ArrayRecord chunk with window_log:30, hence in large-window format.
    Sample {
        name: "brotli large window",
        codec: Codec::Brotli,
        bytes: "115e20210010906d5eefee57444a328b2c08aa5a38a13599eea58a47c622242a157fb38fc0368b247b8f42e92b181d47 \
            356e3fa5685efc01c1c7d78bcc1d06d4376ebe507d2a6df08b7caf91760137821c623bffc9cd277c0781152e17b95cf4 \
            017d2b6f29418a58f0802dea9ebd687f39a8c7e2009fc9970b4c8c444005715332fab76b59eb583fc047084b207437a9 \
            0c9d51c25525c3533cfa718942ca21a698b8d871a819e8268265153b4790859e87328ab8f332852f5c30cc8fbc5c29ce \
            b80f62a48f8d6c28ac1e581060d7799253b2d064f488e06c88fc4cfaf169adc96476854ff285b47ce8104d0004d5b65a \
            5281cd1a716c3be5682c7e60c369acba257e8ea92ea175a7606e05face70da0fdfb75719c6880d92da2e8d7d07d52db0 \
            72ffb732037f6702ba3c9dd3b38efa20548150a90b4be2faea3f3d457d9560bf3444777cf54275c47215a75ba5942094 \
            773df572b60e674b15b1527f192db7f00018c7c24dd4d3670dce6e94b90d6c03efe94491e416863a3ddd7b909234384e \
            d79c13a458d92691fef17d501dd105fe1c220b6323b2009490a7ef75bd607aea2110496adaf52d595aa167e11d199c11 \
            5cf7e2329297147b3e7581af750bc02d0feb1203835fde04e1d457b4df8753b8ee0fcc3dee9130edd4693cdb1083fa35 \
            00",
        len: 2121,
        sha1: "b1183dd6e89e79e89f00089c76c395210aeea1c0",
        sealed: false,
        declared: false,
    },
    // Values of an ArrayRecord footer with snappy.
    Sample {
        name: "snappy",
        codec: Codec::Snappy,
        bytes: "8201f0430a7108011002183c226967726f75705f73697a653a33302c7472616e73706f73653a747275652c7061645f74 \
            6f5f626c6f636b5f626f756e646172793a66616c73652c74112b185f6275636b65740944a0312c736e617070792c6d61 \
            785f706172616c6c656c69736d3a31084010e412181e08f71210b715181e",
        len: 130,
        sha1: "3a1a550cdd63a886f6a6dfa48a5becc27648fd60",
        sealed: false,
        declared: true,
    },
];
