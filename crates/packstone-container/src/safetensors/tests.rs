//! Bytes of the original library (safetensors 0.8.0), and what no library writes.

use packstone_io::Buf;
use proptest::prelude::*;

use super::*;
use crate::Limits;

/// One tensor of each type that the original writes, named against the order of types, with bytes 0, 1, 2, …
const TYPES: &str = "\
    b0040000000000007b225f5f6d657461646174615f5f223a7b22666f726d6174223a227074227d2c22743131223a7b226474797065223a22\
    553634222c227368617065223a5b315d2c22646174615f6f666673657473223a5b302c385d7d2c22743132223a7b226474797065223a2249\
    3634222c227368617065223a5b315d2c22646174615f6f666673657473223a5b382c31365d7d2c22743133223a7b226474797065223a2246\
    3634222c227368617065223a5b315d2c22646174615f6f666673657473223a5b31362c32345d7d2c22743134223a7b226474797065223a22\
    433634222c227368617065223a5b315d2c22646174615f6f666673657473223a5b32342c33325d7d2c22743135223a7b226474797065223a\
    22463332222c227368617065223a5b315d2c22646174615f6f666673657473223a5b33322c33365d7d2c22743136223a7b22647479706522\
    3a22553332222c227368617065223a5b315d2c22646174615f6f666673657473223a5b33362c34305d7d2c22743137223a7b226474797065\
    223a22493332222c227368617065223a5b315d2c22646174615f6f666673657473223a5b34302c34345d7d2c22743138223a7b2264747970\
    65223a2242463136222c227368617065223a5b315d2c22646174615f6f666673657473223a5b34342c34365d7d2c22743139223a7b226474\
    797065223a22463136222c227368617065223a5b315d2c22646174615f6f666673657473223a5b34362c34385d7d2c22743230223a7b2264\
    74797065223a22553136222c227368617065223a5b315d2c22646174615f6f666673657473223a5b34382c35305d7d2c22743231223a7b22\
    6474797065223a22493136222c227368617065223a5b315d2c22646174615f6f666673657473223a5b35302c35325d7d2c22743232223a7b\
    226474797065223a2246385f45354d32464e555a222c227368617065223a5b315d2c22646174615f6f666673657473223a5b35322c35335d\
    7d2c22743233223a7b226474797065223a2246385f45344d33464e555a222c227368617065223a5b315d2c22646174615f6f666673657473\
    223a5b35332c35345d7d2c22743234223a7b226474797065223a2246385f45384d30222c227368617065223a5b315d2c22646174615f6f66\
    6673657473223a5b35342c35355d7d2c22743235223a7b226474797065223a2246385f45344d33222c227368617065223a5b315d2c226461\
    74615f6f666673657473223a5b35352c35365d7d2c22743236223a7b226474797065223a2246385f45354d32222c227368617065223a5b31\
    5d2c22646174615f6f666673657473223a5b35362c35375d7d2c22743237223a7b226474797065223a224938222c227368617065223a5b31\
    5d2c22646174615f6f666673657473223a5b35372c35385d7d2c22743238223a7b226474797065223a225538222c227368617065223a5b31\
    5d2c22646174615f6f666673657473223a5b35382c35395d7d2c22743239223a7b226474797065223a224634222c227368617065223a5b32\
    5d2c22646174615f6f666673657473223a5b35392c36305d7d2c22743330223a7b226474797065223a22424f4f4c222c227368617065223a\
    5b315d2c22646174615f6f666673657473223a5b36302c36315d7d7d2020202035363738393a3b3c2d2e2f303132333425262728292a2b2c\
    1d1e1f2021222324191a1b1c15161718111213140f100d0e0b0c090a080706050403020100\
";

/// Names of one type, a scalar, a tensor without elements, texts with escapes.
const NAMES: &str = "\
    00020000000000007b225f5f6d657461646174615f5f223a7b226b5c225c6e223a22765c75303031667f2fc3a9f09f9880227d2c226e6f6e\
    65223a7b226474797065223a22463332222c227368617065223a5b302c335d2c22646174615f6f666673657473223a5b302c305d7d2c2273\
    63616c6172223a7b226474797065223a22463332222c227368617065223a5b5d2c22646174615f6f666673657473223a5b302c345d7d2c22\
    223a7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f666673657473223a5b342c365d7d2c225a223a\
    7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f666673657473223a5b362c385d7d2c22615c225c5c\
    5c6e5c75303030317f2ff09f9880223a7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f6666736574\
    73223a5b382c31305d7d2c227a223a7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f666673657473\
    223a5b31302c31325d7d2c227a7a223a7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f6666736574\
    73223a5b31322c31345d7d2c22c3a9223a7b226474797065223a225538222c227368617065223a5b322c315d2c22646174615f6f66667365\
    7473223a5b31342c31365d7d7d2020200000803f016502660468006405690367\
";

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| u8::try_from(char::from(c).to_digit(16).unwrap()).unwrap();
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn parse(bytes: &[u8]) -> Result<SafeTensors, SafeTensorsError> {
    SafeTensors::parse(Buf::copy_from(bytes), &Limits::default())
}

/// A buffer of this header text and data.
fn buffer(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(data);
    out
}

/// Writes what was read again, in the order given.
fn again(read: &SafeTensors, order: Order) -> Vec<u8> {
    let parts: Vec<_> = read.iter().collect();
    let parts: Vec<_> = parts
        .iter()
        .map(|(info, bytes)| {
            (TensorSpec { name: &info.name, dtype: info.dtype, shape: &info.shape }, &**bytes)
        })
        .collect();
    serialize(&parts, read.header().metadata(), order).unwrap()
}

fn entry(dtype: &str, shape: &str, start: u64, end: u64) -> String {
    format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#)
}

#[test]
fn every_type_reads_as_the_original_wrote_it() {
    use TensorType::*;
    let read = parse(&hex(TYPES)).unwrap();
    let written = [
        (Bool, 1),
        (F4, 1),
        (U8, 1),
        (I8, 1),
        (F8E5M2, 1),
        (F8E4M3, 1),
        (F8E8M0, 1),
        (F8E4M3Fnuz, 1),
        (F8E5M2Fnuz, 1),
        (I16, 2),
        (U16, 2),
        (F16, 2),
        (BF16, 2),
        (I32, 4),
        (U32, 4),
        (F32, 4),
        (C64, 8),
        (F64, 8),
        (I64, 8),
        (U64, 8),
    ];
    let mut next = 0u8;
    for (at, (dtype, width)) in written.into_iter().enumerate() {
        let (info, bytes) = read.get(&format!("t{}", 30 - at)).unwrap();
        assert_eq!(info.dtype, dtype);
        assert_eq!(info.shape, [if dtype == F4 { 2 } else { 1 }]);
        assert_eq!(*bytes, (next..next + width).collect::<Vec<_>>());
        next += width;
    }
    assert_eq!(read.iter().len(), written.len());
    assert_eq!(read.header().metadata().unwrap(), [("format".to_owned(), "pt".to_owned())]);
    assert!(read.get("t10").is_none() && read.get("").is_none() && read.get("t31").is_none());
}

#[test]
fn the_original_bytes_are_written_again_from_any_order() {
    for text in [TYPES, NAMES] {
        let read = parse(&hex(text)).unwrap();
        assert_eq!(again(&read, Order::Canonical), hex(text));
        assert_eq!(again(&read, Order::Given), hex(text));
        let mut parts: Vec<_> = read.iter().collect();
        parts.reverse();
        let parts: Vec<_> = parts
            .iter()
            .map(|(info, bytes)| {
                (TensorSpec { name: &info.name, dtype: info.dtype, shape: &info.shape }, &**bytes)
            })
            .collect();
        let metadata = read.header().metadata();
        assert_eq!(serialize(&parts, metadata, Order::Canonical).unwrap(), hex(text));
        let given = serialize(&parts, metadata, Order::Given).unwrap();
        assert_ne!(given, hex(text));
        assert_eq!(again(&parse(&given).unwrap(), Order::Canonical), hex(text));
    }
    assert_eq!(serialize(&[], None, Order::Canonical).unwrap(), b"\x08\0\0\0\0\0\0\0{}      ");
}

#[test]
fn types_know_their_names_and_sizes() {
    for dtype in TensorType::ALL {
        assert_eq!(TensorType::parse(dtype.name()), Some(*dtype));
    }
    assert!(TensorType::ALL.is_sorted());
    assert_eq!(TensorType::parse("F8_E4M3FN"), None);
    let size = |dtype: TensorType, shape: &[u64]| dtype.byte_len(shape);
    assert_eq!(size(TensorType::F32, &[]), Some(4));
    assert_eq!(size(TensorType::F32, &[0, u64::MAX]), Some(0));
    assert_eq!(size(TensorType::F32, &[u64::MAX, 2, 0]), None);
    assert_eq!(size(TensorType::U8, &[u64::MAX]), None);
    assert_eq!(size(TensorType::F4, &[3]), None);
    assert_eq!(size(TensorType::F6E2M3, &[4]), Some(3));
    assert_eq!(size(TensorType::F6E3M2, &[2]), None);
}

#[test]
fn what_the_original_accepts_is_accepted() {
    let one = entry("U8", "[1]", 0, 1);
    let ok = [
        format!(r#"{{"a":{one}}}"#),
        format!(" {{\"a\":{one}}}\n\t "),
        format!(r#"{{"":{one}}}"#),
        format!(r#"{{"__metadata__":null,"a":{one}}}"#),
        format!(r#"{{"a":{one},"__metadata__":{{}}}}"#),
        r#"{"a":{"x":1,"data_offsets":[0,1],"shape":[1],"dtype":"U8"}}"#.to_owned(),
        format!(r#"{{"a":{one},"empty":{}}}"#, entry("U8", "[0]", 1, 1)),
        format!(r#"{{"empty":{},"a":{one}}}"#, entry("U8", "[0]", 0, 0)),
        format!(
            r#"{{"x":{},"y":{},"a":{one}}}"#,
            entry("F64", "[0,7]", 1, 1),
            entry("U8", "[0]", 1, 1)
        ),
    ];
    for header in ok {
        assert!(parse(&buffer(&header, &[7])).is_ok(), "{header}");
    }
    let unsorted =
        format!(r#"{{"b":{},"a":{}}}"#, entry("U8", "[1]", 1, 2), entry("U8", "[1]", 0, 1));
    let read = parse(&buffer(&unsorted, &[7, 8])).unwrap();
    assert_eq!(*read.get("b").unwrap().1, [8]);
    assert!(parse(&buffer("{}", &[])).unwrap().header().tensors().is_empty());
}

#[test]
fn every_other_header_is_refused_with_its_reason() {
    let one = entry("U8", "[1]", 0, 1);
    let cases = [
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[1]", 1, 2)),
            2,
            "expected tensor \"a\" at byte 0 of the data, found it at 1: there is a gap before",
        ),
        (
            format!(r#"{{"a":{one},"b":{one}}}"#),
            1,
            "expected tensor \"b\" at byte 1 of the data, found it at 0: it overlaps another",
        ),
        (
            format!(r#"{{"a":{one},"b":{}}}"#, entry("U8", "[2]", 2, 4)),
            4,
            "expected tensor \"b\" at byte 1 of the data, found it at 2: there is a gap before",
        ),
        (format!(r#"{{"a":{one}}}"#), 2, "expected 1 bytes of data, found 2"),
        (format!(r#"{{"a":{one}}}"#), 0, "expected 1 bytes of data, found 0"),
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[2]", 0, 1)),
            1,
            "expected 2 bytes of tensor \"a\", found 1",
        ),
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[1]", 1, 0)),
            1,
            "expected the end of tensor \"a\" at 1 or later, found 0",
        ),
        (
            format!(r#"{{"a":{}}}"#, entry("F4", "[3]", 0, 2)),
            2,
            "expected tensor \"a\" of a whole number of bytes below 2⁶⁴",
        ),
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[4294967296,4294967296,0]", 0, 0)),
            0,
            "expected tensor \"a\" of a whole number of bytes below 2⁶⁴",
        ),
        (
            format!(r#"{{"a":{}}}"#, entry("Q9", "[1]", 0, 1)),
            1,
            "expected tensor \"a\" of a SafeTensors type, found \"Q9\"",
        ),
        (
            format!(r#"{{"a":{one},"a":{one}}}"#),
            1,
            "header: expected distinct member names, found $.a again at line 1, column 54 (byte 53)",
        ),
        (
            r#"{"__metadata__":{"a":"b","a":"c"}}"#.to_owned(),
            0,
            "header: expected distinct member names, found $.__metadata__.a again at line 1, column 26 (byte 25)",
        ),
        (
            r#"{"__metadata__":{"a":1}}"#.to_owned(),
            0,
            "header: $.__metadata__.a: expected a string, found 1",
        ),
        (
            r#"{"__metadata__":[]}"#.to_owned(),
            0,
            "header: $.__metadata__: expected an object, found an array",
        ),
        (
            r#"{"a":["U8",[1],[0,1]]}"#.to_owned(),
            1,
            "header: $.a: expected an object, found an array",
        ),
        (r#"{"a":{"shape":[1],"data_offsets":[0,1]}}"#.to_owned(), 1, "header: $.a.dtype: missing"),
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[1.0]", 0, 1)),
            1,
            "header: $.a.shape[0]: expected a non-negative 64-bit integer, found 1.0",
        ),
        (
            format!(r#"{{"a":{}}}"#, entry("U8", "[-1]", 0, 1)),
            1,
            "header: $.a.shape[0]: expected a non-negative 64-bit integer, found -1",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}"#.to_owned(),
            1,
            "header: $.a.data_offsets: expected an array of two offsets, found an array",
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[false,1]}}"#.to_owned(),
            1,
            "header: $.a.data_offsets[0]: expected a non-negative 64-bit integer, found false",
        ),
        ("[]".to_owned(), 0, "header: $: expected an object, found an array"),
        (
            "{}\0".to_owned(),
            0,
            "header: expected the end of the document, found '\\0' at line 1, column 3 (byte 2)",
        ),
        (
            "\u{feff}{}".to_owned(),
            0,
            "header: expected JSON, found a byte order mark at line 1, column 1 (byte 0)",
        ),
        (
            String::new(),
            0,
            "header: expected a value, found the end of the document at line 1, column 1 (byte 0)",
        ),
    ];
    for (header, data, message) in cases {
        let error = parse(&buffer(&header, &vec![0; data])).unwrap_err();
        assert_eq!(error.to_string(), message, "{header}");
    }
}

#[test]
fn lengths_are_not_believed() {
    for (bytes, message) in [
        (b"".to_vec(), "expected a header of 0 bytes and its length, found 0 bytes"),
        (vec![1; 7], "expected a header of 0 bytes and its length, found 7 bytes"),
        (
            b"\x03\0\0\0\0\0\0\0{}".to_vec(),
            "expected a header of 3 bytes and its length, found 10 bytes",
        ),
        (
            vec![0xff; 12],
            "expected a header of at most 100000000 bytes, found 18446744073709551615 announced",
        ),
    ] {
        assert_eq!(parse(&bytes).unwrap_err().to_string(), message);
    }
    let limits = Limits { entries: 19, ..Limits::default() };
    let read = |limits| SafeTensors::parse(Buf::from(hex(TYPES)), &limits).map(|_| ());
    assert_eq!(read(limits), Err(SafeTensorsError::TooMany { limit: 19, found: 20 }));
    let limits = Limits { document_bytes: 1000, ..Limits::default() };
    assert_eq!(read(limits), Err(SafeTensorsError::HeaderTooLong { limit: 1000, found: 1200 }));
}

#[test]
fn a_header_is_read_without_its_data() {
    let bytes = hex(TYPES);
    let len = bytes.len() as u64;
    let head = &bytes[..1208];
    let header = Header::parse(head, len, &Limits::default()).unwrap();
    assert_eq!(header, *parse(&bytes).unwrap().header());
    assert_eq!(header.data_offset(), 1208);
    let short = Header::parse(&head[..1207], len, &Limits::default());
    assert_eq!(short, Err(SafeTensorsError::Truncated { expected: 1200, found: 1207 }));
    let longer = Header::parse(head, len + 1, &Limits::default());
    assert_eq!(longer, Err(SafeTensorsError::Data { expected: 61, found: 62 }));
}

#[test]
fn no_cut_reads_and_no_flip_breaks() {
    for text in [TYPES, NAMES] {
        let bytes = hex(text);
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len]).is_err(), "cut at {len}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                if let Ok(read) = parse(&changed) {
                    assert_eq!(
                        read.iter().map(|(_, b)| b.len()).sum::<usize>(),
                        61 - usize::from(text == NAMES) * 45
                    );
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let spec = |name, dtype, shape| TensorSpec { name, dtype, shape };
    let layout = |specs: &[TensorSpec<'_>]| Layout::new(specs, None, Order::Given).map(|_| ());
    let one: &[u64] = &[1];
    let a = spec("a", TensorType::U8, one);
    assert_eq!(layout(&[a, a]), Err(SafeTensorsError::Repeated { name: "a".to_owned() }));
    assert_eq!(
        layout(&[spec("__metadata__", TensorType::U8, one)]),
        Err(SafeTensorsError::Reserved)
    );
    assert_eq!(
        layout(&[spec("a", TensorType::F4, one)]),
        Err(SafeTensorsError::Size { name: "a".to_owned() })
    );
    let huge: &[u64] = &[u64::MAX / 8];
    let nine: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        .map(|name| spec(name, TensorType::U8, huge))
        .to_vec();
    assert_eq!(layout(&nine), Err(SafeTensorsError::Size { name: "i".to_owned() }));
    let short = serialize(&[(a, &[])], None, Order::Given);
    assert_eq!(
        short,
        Err(SafeTensorsError::Length { name: "a".to_owned(), expected: 1, found: 0 })
    );
    let texts = [("k".to_owned(), "1".to_owned()), ("k".to_owned(), "2".to_owned())];
    let texts = serialize(&[], Some(&texts), Order::Given);
    assert_eq!(texts, Err(SafeTensorsError::Repeated { name: "k".to_owned() }));
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(
        tensors in prop::collection::btree_map(".{0,6}", (0..TensorType::ALL.len(), prop::collection::vec(0u64..5, 0..4)), 0..8),
        texts in prop::option::of(prop::collection::btree_map(".{0,4}", ".{0,4}", 0..4)),
        given in any::<bool>(),
    ) {
        let tensors: Vec<_> = tensors
            .into_iter()
            .map(|(name, (dtype, shape))| (name, TensorType::ALL[dtype], shape))
            .filter_map(|(name, dtype, shape)| {
                let len = usize::try_from(dtype.byte_len(&shape)?).unwrap();
                let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at * 31 % 256).unwrap()).collect();
                Some((name, dtype, shape, bytes))
            })
            .collect();
        let parts: Vec<_> = tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| (TensorSpec { name, dtype: *dtype, shape }, &**bytes))
            .collect();
        let texts: Option<Vec<(String, String)>> = texts.map(|texts| texts.into_iter().collect());
        let order = if given { Order::Given } else { Order::Canonical };
        let bytes = serialize(&parts, texts.as_deref(), order).unwrap();
        let read = parse(&bytes).unwrap();
        prop_assert_eq!(read.header().metadata(), texts.as_deref());
        prop_assert_eq!(read.iter().len(), tensors.len());
        for (name, dtype, shape, expected) in &tensors {
            let (info, bytes) = read.get(name).unwrap();
            prop_assert_eq!((info.dtype, &info.shape, &*bytes), (*dtype, shape, &**expected));
        }
        prop_assert_eq!(again(&read, Order::Given), bytes);
    }
}
