use proptest::prelude::*;

use super::{Header, NpyError, write_header};

/// A version 1.0 array with that header text.
fn array(text: &str) -> Vec<u8> {
    let len = u16::try_from(text.len()).unwrap();
    [b"\x93NUMPY\x01\0", &len.to_le_bytes()[..], text.as_bytes()].concat()
}

fn parse(text: &str) -> Result<Header, NpyError> {
    Header::parse(&array(text))
}

fn written(descr: &str, shape: &[u64], fortran_order: bool) -> Vec<u8> {
    let mut out = b"before".to_vec();
    write_header(descr, shape, fortran_order, &mut out).unwrap();
    out.split_off(6)
}

/// Type, shape, order; the header NumPy 2.4.6 writes for them: from its length on, and the spaces that follow.
type Written = (&'static str, &'static [u64], bool, &'static [u8], usize);
const NUMPY: [Written; 7] = [
    ("<f4", &[3], false, b"v\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 60),
    ("|b1", &[], false, b"v\0{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 62),
    ("<U12", &[4, 2], false, b"v\0{'descr': '<U12', 'fortran_order': False, 'shape': (4, 2), }", 57),
    (
        "<M8[ns]",
        &[10, 20, 30],
        true,
        b"v\0{'descr': '<M8[ns]', 'fortran_order': True, 'shape': (10, 20, 30), }",
        49,
    ),
    (">c16", &[0], false, b"v\0{'descr': '>c16', 'fortran_order': False, 'shape': (0,), }", 59),
    (
        "|u1",
        &[1, 12_345_678_901],
        false,
        b"v\0{'descr': '|u1', 'fortran_order': False, 'shape': (1, 12345678901), }",
        48,
    ),
    // Text and growth room end on a block here, and NumPy adds another.
    (
        "<i8",
        &[5; 36],
        false,
        b"\xf6\0{'descr': '<i8', 'fortran_order': False, 'shape': (5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, \
          5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5), }",
        84,
    ),
];

#[test]
fn the_bytes_of_numpy() {
    for (descr, shape, fortran_order, start, spaces) in NUMPY {
        let expected = [b"\x93NUMPY\x01\0", start, &vec![b' '; spaces], b"\n"].concat();
        assert_eq!(expected.len() % 64, 0);
        assert_eq!(written(descr, shape, fortran_order), expected, "{descr} {shape:?}");
        let header = Header::parse(&expected).unwrap();
        assert_eq!((&header.descr[..], &header.shape[..]), (descr, shape));
        assert_eq!(header.fortran_order, fortran_order);
        assert_eq!(header.data_offset, expected.len());
    }
}

#[test]
fn long_headers_are_version_2() {
    let bytes = written("|u1", &[7; 30_000], false);
    assert_eq!(bytes.len(), 90_112);
    assert_eq!(bytes[..17], *b"\x93NUMPY\x02\0\xf4\x5f\x01\0{'des");
    let header = Header::parse(&bytes).unwrap();
    assert_eq!(header.shape.len(), 30_000);
    assert_eq!(header.elements(), Err(NpyError::Overflow));
    let mut out = vec![1];
    let error = write_header("|u1", &[7; 400_000], false, &mut out).unwrap_err();
    assert!(matches!(error, NpyError::HeaderTooLong { .. }));
    assert_eq!(out, [1]);
}

#[test]
fn versions_2_and_3() {
    let text = format!("{:116}", "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }");
    for version in [2, 3] {
        let bytes =
            [b"\x93NUMPY", &[version, 0, 116, 0, 0, 0][..], text.as_bytes(), &[0; 16]].concat();
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((&header.descr[..], header.data_offset), ("<U2", 128));
        assert_eq!(header.data(&bytes, 8).unwrap(), [0; 16]);
    }
}

#[test]
fn order_and_spacing_are_free() {
    let expected =
        Header { descr: "<f4".to_owned(), fortran_order: false, shape: vec![2, 3], data_offset: 0 };
    for text in [
        "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
        "{\"descr\": \"<f4\", \"shape\": (2, 3,), \"fortran_order\": False}\n",
        " { 'fortran_order' :\tFalse ,\n'shape' : ( 2 , 3 ) , 'descr' : '<f4' , } \r\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
    ] {
        let data_offset = 10 + text.len();
        assert_eq!(parse(text).unwrap(), Header { data_offset, ..expected.clone() }, "{text}");
    }
}

#[test]
fn objects_and_structures_are_refused_by_name() {
    let of =
        |descr| parse(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}"));
    assert_eq!(of("'|O'"), Err(NpyError::Object));
    assert_eq!(of("'O'"), Err(NpyError::Object));
    assert_eq!(of("[('a', '<i4'), ('b', '|O')]"), Err(NpyError::Structured));
    assert_eq!(of("('<f4', (2,))"), Err(NpyError::Structured));
    let unknown = of("'float8'").unwrap();
    assert!(matches!(unknown.item(), Err(NpyError::Descr { .. })));
}

#[test]
fn other_literals_are_errors() {
    for (text, expected) in [
        ("", "a dictionary"),
        ("[]", "a dictionary"),
        ("{descr: '<f4'}", "a string"),
        ("{'descr' '<f4'}", "a colon"),
        ("{'descr': b'<f4'}", "a string"),
        ("{'descr': '<f\\x34'}", "a string without escapes"),
        ("{'descr': '<f4}", "a string without escapes"),
        ("{'descr': 4}", "a string"),
        ("{'fortran_order': 0}", "True or False"),
        ("{'shape': [2, 3]}", "a tuple of integers"),
        ("{'shape': 2}", "a tuple of integers"),
        ("{'shape': (2)}", "a comma"),
        ("{'shape': (2 3)}", "a comma"),
        ("{'shape': (-2,)}", "a non-negative integer below 2⁶⁴"),
        ("{'shape': (,)}", "a non-negative integer below 2⁶⁴"),
        ("{'shape': (2,", "a non-negative integer below 2⁶⁴"),
        ("{'shape': (007,)}", "a non-negative integer below 2⁶⁴"),
        ("{'shape': (18446744073709551616,)}", "a non-negative integer below 2⁶⁴"),
        ("{'shape': (1e3,)}", "a comma"),
        ("{'shape': () 'descr': '<f4'}", "a comma or the end of the dictionary"),
        ("{'shape': (),", "a string"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + {}", "the end of the header"),
    ] {
        let found = parse(text).unwrap_err();
        assert!(
            matches!(found, NpyError::Syntax { expected: e, .. } if e == expected),
            "{text}: {found}"
        );
    }
    let offset = parse("{'shape': [2]}").unwrap_err();
    assert_eq!(offset, NpyError::Syntax { expected: "a tuple of integers", offset: 20 });
}

#[test]
fn keys_are_exactly_three() {
    for (text, found) in [
        ("{}", "one missing"),
        ("{'descr': '<f4', 'fortran_order': False}", "one missing"),
        ("{'descr': '<f4', 'descr': '<f4'}", "one twice"),
        ("{'data': '<f4'}", "an unknown one"),
    ] {
        assert_eq!(parse(text), Err(NpyError::Keys { found }), "{text}");
    }
}

#[test]
fn prefixes_and_hostile_lengths() {
    let whole = [written("<i2", &[2, 3], false), vec![0; 12]].concat();
    for len in 0..whole.len() {
        let cut = &whole[..len];
        let data = Header::parse(cut).and_then(|h| h.data(cut, 2).map(<[u8]>::len));
        assert!(data.is_err(), "{len} bytes");
    }
    let huge = b"\x93NUMPY\x02\0\xff\xff\xff\xff{";
    assert!(matches!(Header::parse(huge), Err(NpyError::HeaderTooLong { .. })));
    assert_eq!(Header::parse(b"\x93NUMPY\x01\x01"), Err(NpyError::Version { major: 1, minor: 1 }));
    assert_eq!(Header::parse(b"\x93NUMPY\x04\0"), Err(NpyError::Version { major: 4, minor: 0 }));
    assert_eq!(Header::parse(b"PK\x03\x04"), Err(NpyError::Magic));
    let longer = [&whole[..], b"x"].concat();
    let header = Header::parse(&longer).unwrap();
    assert_eq!(header.data(&longer, 2), Err(NpyError::Length { expected: 12, found: 13 }));
    let vast = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,)}");
    assert_eq!(vast.unwrap().data_len(8), Err(NpyError::Overflow));
    let none =
        parse("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 0, 9)}");
    assert_eq!(none.unwrap().data_len(8), Ok(0));
}

proptest! {
    #[test]
    fn round_trip(shape in prop::collection::vec(any::<u64>(), 0..8), fortran_order: bool) {
        let bytes = written(">f8", &shape, fortran_order);
        prop_assert_eq!(bytes.len() % 64, 0);
        let header = Header::parse(&bytes).unwrap();
        prop_assert_eq!(header.shape, shape);
        prop_assert_eq!(header.fortran_order, fortran_order);
        prop_assert_eq!(header.data_offset, bytes.len());
    }

    #[test]
    fn changed_bytes_never_panic(at in 0usize..128, byte: u8) {
        let mut bytes = written("<i2", &[2, 3], false);
        bytes[at] = byte;
        if let Ok(header) = Header::parse(&bytes) {
            let _ = header.item().and_then(|item| header.data_len(item.size));
        }
    }
}
