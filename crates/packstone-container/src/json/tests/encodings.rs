//! Documents in UTF-16 and UTF-32, with the outcomes of `json.loads` in CPython 3.11.

use std::path::Path;

use proptest::prelude::*;

use super::plain;
use crate::json;
use crate::json::{
    Document, Encoding, JsonError, JsonErrorKind as Kind, NoteKind, ReadOptions, Value, Wide, read,
};

fn any(bytes: &[u8]) -> Result<Document, JsonError> {
    read(bytes, &ReadOptions::default().with_nan(true).with_any_encoding(true))
}

const ALL: [Encoding; 4] =
    [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be];

fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    let units = || text.encode_utf16();
    let codes = || text.chars().map(u32::from);
    match encoding {
        Encoding::Utf16Le => units().flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Be => units().flat_map(u16::to_be_bytes).collect(),
        Encoding::Utf32Le => codes().flat_map(u32::to_le_bytes).collect(),
        Encoding::Utf32Be => codes().flat_map(u32::to_be_bytes).collect(),
        Encoding::Utf8 => text.into(),
    }
}

#[test]
fn every_encoding_with_and_without_a_mark() {
    let text = r#" {"é": ["漢\u0041😀", -1.50, {}]}"#;
    let expected = plain(text).unwrap().value;
    for encoding in ALL {
        let read = any(&encode(text, encoding)).unwrap();
        assert_eq!(read.value, expected, "{encoding}");
        assert_eq!(read.notes.len(), 1);
        assert_eq!(read.notes[0].kind, NoteKind::Encoding(encoding));
        let marked = any(&encode(&format!("\u{feff}{text}"), encoding)).unwrap();
        assert_eq!(marked.value, expected, "{encoding}");
        let kinds: Vec<_> = marked.notes.iter().map(|note| note.kind).collect();
        assert_eq!(kinds, [NoteKind::Encoding(encoding), NoteKind::ByteOrderMark]);
    }
    let marked = any(b"\xef\xbb\xbf[]").unwrap();
    assert_eq!((marked.value, marked.notes[0].kind), (json!([]), NoteKind::ByteOrderMark));
    assert!(any(text.as_bytes()).unwrap().notes.is_empty());
}

#[test]
fn other_encodings_need_the_switch() {
    let utf16 = encode("{}", Encoding::Utf16Le);
    assert!(read(&utf16, &ReadOptions::default().with_bom(true)).is_err());
    let marked = encode("\u{feff}{}", Encoding::Utf16Le);
    let error = read(&marked, &ReadOptions::default().with_bom(true)).unwrap_err();
    assert_eq!((error.offset, error.kind), (0, Kind::InvalidUtf8));
}

#[test]
fn short_documents_are_guessed_as_python_guesses() {
    for (bytes, expected) in [
        (&b"1\0"[..], Some(1)),
        (b"\x001", Some(1)),
        (b"1\0\0\0", Some(1)),
        (b"\0\0\x001", Some(1)),
        (b"\xff\xfe1\0", Some(1)),
        (b"\xfe\xff\x001", Some(1)),
        (b"\xff\xfe\0\x001\0\0\0", Some(1)),
        (b"\0\0\xfe\xff\0\0\x001", Some(1)),
        (b"", None),
        (b"\xff\xfe", None),
        (b"\xff\xfe\0\0", None),
        (b"\0\0\x11\0", None),
        (b"1\0\0", None),
        (b"\0\x001", None),
        (b"\xff\xfe\xff\xfe1\0", None),
    ] {
        let found = any(bytes).ok().map(|document| document.value);
        assert_eq!(found, expected.map(|n: i32| json!(n)), "{bytes:?}");
    }
}

#[test]
fn bare_surrogates_pass_in_strings() {
    let lone = |units: &[u16]| Some(Value::from(Wide::from_units(units).unwrap()));
    for (bytes, expected) in [
        (&b"\"\0\x00\xd8\"\0"[..], lone(&[0xd800])),
        (b"\"\xed\xa0\x80\"", lone(&[0xd800])),
        (b"\0\0\0\"\0\0\xd8\0\0\0\0\"", lone(&[0xd800])),
        (b"\0\"\0a\xdc\0\xd8\x3d\0\"", lone(&[0x61, 0xdc00, 0xd83d])),
        (b"\0\"\xd8\x3d\xde\0\0\"", Some(json!("😀"))),
        // An escape of a backslash before a surrogate ends there; a single backslash escapes no surrogate.
        (b"\"\\\\\xed\xa0\x80\"", lone(&[0x5c, 0xd800])),
        (b"\"\\\xed\xa0\x80\"", None),
        (b"\0\"\0\\\xd8\0\0\"", None),
        (b"\xed\xa0\x80", None),
        (b"\"\xed\xa0\"", None),
        (b"\"\xf5\x80\x80\x80\"", None),
    ] {
        assert_eq!(any(bytes).ok().map(|document| document.value), expected, "{bytes:?}");
    }
    let notes = any(b"\"\xed\xa0\x80\"").unwrap().notes;
    assert_eq!((notes.len(), notes[0].kind), (1, NoteKind::Encoding(Encoding::Utf8)));
}

#[test]
fn offsets_count_bytes_of_the_document() {
    let text = "{\"é😀\": [NaN,\n \"漢\", NaN, ?]}";
    let [first, second, wrong] = [(9, 8), (20, 19), (25, 24)];
    for encoding in ALL {
        let width = if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) { 2 } else { 4 };
        // In units of UTF-16, the character beyond the BMP counts twice.
        let at = |(utf16, utf32)| width * if width == 2 { utf16 } else { utf32 };
        let error = any(&encode(text, encoding)).unwrap_err();
        assert_eq!((error.offset, error.line, error.column), (at(wrong), 2, 12), "{encoding}");
        let good = any(&encode(&text.replace('?', "1"), encoding)).unwrap();
        let offsets: Vec<_> = good.notes.iter().map(|note| note.offset).collect();
        assert_eq!(offsets, [0, at(first), at(second)], "{encoding}");
        let cut = any(&encode("[1", encoding)).unwrap_err();
        assert_eq!((cut.offset, cut.column), (2 * width, 3));
    }
    let error = any(b"\"\xed\xa0\x80\xc3\xa9\" ?").unwrap_err();
    assert_eq!((error.offset, error.column), (8, 11));
}

#[test]
fn bytes_that_are_no_characters() {
    for (bytes, offset, encoding) in [
        (&b"{\0}\0\0"[..], 4, Encoding::Utf16Le),
        (b"\0{\0}\0", 4, Encoding::Utf16Be),
        (b"{\0\0\0}\0\0", 4, Encoding::Utf32Le),
        (b"\0\0\0{\0\x11\0\0", 4, Encoding::Utf32Be),
    ] {
        let error = any(bytes).unwrap_err();
        assert_eq!((error.offset, error.kind), (offset, Kind::InvalidText { encoding }));
    }
    let error = any(b"[\"\xed\xa0\x80\xff\"]").unwrap_err();
    assert_eq!((error.offset, error.kind), (5, Kind::InvalidUtf8));
}

#[test]
fn what_tensordict_reads() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tensordict");
    let text = |name: &str| {
        let bytes = std::fs::read(golden.join(name).join("data/meta.json")).unwrap();
        any(&bytes).unwrap()
    };
    let utf16 = text("meta_utf16");
    assert_eq!(utf16.notes[0].kind, NoteKind::Encoding(Encoding::Utf16Le));
    assert_eq!(utf16.value, text("basic").value);
    let liberal = text("meta_liberal_json");
    assert_eq!(liberal.notes[0].kind, NoteKind::ByteOrderMark);
    assert_eq!(liberal.value.get("obs"), utf16.value.get("obs"));
}

proptest! {
    #[test]
    fn any_text_is_read_alike_in_all_encodings(text: String) {
        let document = json!({ "a": [text] }).to_string();
        let expected = plain(&document).unwrap().value;
        for encoding in ALL {
            prop_assert_eq!(&any(&encode(&document, encoding)).unwrap().value, &expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes: Vec<u8>, mark in 0..5_usize) {
        let marks: [&[u8]; 5] = [b"", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"];
        bytes.splice(0..0, marks[mark].iter().copied());
        if let Err(error) = any(&bytes) {
            prop_assert!(error.offset <= bytes.len());
        }
    }
}
