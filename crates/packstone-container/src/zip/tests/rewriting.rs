//! Archives of tensordict, rebuilt from their own entries.

use packstone_io::AlignedBuf;

use super::{golden, leaf, parse, tensordict};
use crate::Limits;
use crate::zip::{EntryOptions, Layout, Method, Payload, Placed, Planned, Writer};

/// What tensordict would write for this file of a dataset.
fn options(name: &str, method: Method) -> EntryOptions {
    match method {
        Method::Stored if name.ends_with(".memmap") => leaf(),
        method => tensordict().with_method(method),
    }
}

/// Names, contents and methods of an archive.
fn contents(bytes: &[u8]) -> Vec<(String, AlignedBuf, Method)> {
    let directory = parse(bytes);
    let entries = 0..directory.records().len();
    let entries = entries.map(|index| {
        let entry = directory.locate(bytes, index).unwrap();
        let mut out = AlignedBuf::default();
        entry.read(bytes, &mut out, &Limits::default()).unwrap();
        (entry.name().to_owned(), out, entry.method())
    });
    entries.collect()
}

fn rebuilt(bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (name, data, method) in contents(bytes) {
        writer.add(&name, &[&data], options(&name, method)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_bytes_of_tensordict() {
    for case in [
        "tdz_stored",
        "tdz_keys",
        "tdz_pack_memmap",
        "tdz_all_dtypes",
        "tdz_lzma",
        "tdz_bzip2",
        // Small as they are, these come out of zlib-rs as they came out of zlib; that is not so in general.
        "tdz_deflate",
        "tdz_json_types",
        "tdz_pickle",
        "tdz_lazy_and_views",
        "tdz_rplus_refreshed_crc",
    ] {
        let golden = golden(case);
        assert!(rebuilt(&golden) == golden, "{case}");
    }
}

#[test]
fn payloads_can_be_prepared_apart_and_in_parts() {
    let text = b"the quick brown fox jumps over the lazy dog, ".repeat(5000);
    for method in [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma] {
        let whole: [&[u8]; 1] = [&text];
        let one = Payload::new(&whole, method).unwrap();
        let (a, b) = text.split_at(70_001);
        let pieces = [&[][..], a, &[], b, &[]];
        let many = Payload::new(&pieces, method).unwrap();
        assert_eq!((one.len(), one.crc32()), (many.len(), many.crc32()));
        assert_eq!(one.compressed_len() < one.len(), method != Method::Stored);
        let archive = |payload: &Payload<'_>| {
            let mut writer = Writer::new(Vec::new());
            writer.write("a", payload, tensordict()).unwrap();
            writer.finish().unwrap()
        };
        let bytes = archive(&one);
        // Where parts meet, zlib-rs may choose other matches; the other libraries do not notice.
        let again = archive(&many);
        assert!(bytes == again || method == Method::Deflate, "{method}");
        for bytes in [bytes, again] {
            let read = contents(&bytes);
            assert!(*read[0].1 == *text && read[0].2 == method, "{method}");
        }
        let empty = Payload::new(&[], method).unwrap();
        assert!(empty.is_empty());
        assert!(contents(&archive(&empty))[0].1.is_empty(), "{method}");
    }
    assert!(Payload::new(&[], Method::Other(93)).is_err());
}

#[test]
fn a_layout_says_where_things_will_stand() {
    for case in ["tdz_stored", "tdz_keys", "tdz_lzma", "tdz_lazy_and_views"] {
        let bytes = golden(case);
        let directory = parse(&bytes);
        let planned = directory.records().iter().map(|record| Planned {
            name: record.name(),
            len: record.len(),
            compressed_len: record.compressed_len(),
            options: options(record.name(), record.method()),
        });
        let layout = Layout::plan(planned).unwrap();
        for (index, placed) in layout.entries.iter().enumerate() {
            let entry = directory.locate(&bytes, index).unwrap();
            let (header_offset, data_offset) = (entry.header_offset(), entry.range().start);
            assert_eq!(*placed, Placed { header_offset, data_offset }, "{case} {}", entry.name());
        }
        assert_eq!(layout.len, bytes.len() as u64, "{case}");
        assert_eq!(layout.entries.len(), directory.records().len());
    }
}

#[test]
fn padding_is_there_even_where_none_is_needed() {
    // 30 + 6 + 4 + 20 bytes and 4 more make 64.
    for (name, pad) in [("ab.mem", 4), ("ab.memmap_", 0), ("ab.memmap_1", 63)] {
        let mut writer = Writer::new(Vec::new());
        writer.add(name, &[b"x"], leaf()).unwrap();
        let bytes = writer.finish().unwrap();
        let extra = 30 + name.len();
        assert_eq!(bytes[extra..extra + 4], [0x74, 0x64, pad, 0], "{name}");
        let entry = parse(&bytes).locate(&bytes, 0).unwrap();
        assert_eq!(entry.range().start % 64, 0, "{name}");
    }
}
