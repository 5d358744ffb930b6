//! Documents made to break the reader: limits, damage, depth.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{plain, tolerant};
use crate::Limits;
use crate::json::{At, JsonErrorKind as Kind, ReadOptions, Style, Value, python_eq, read, write};

const DOCUMENT: &str = "{\n  \"a\": [1, -2.5e-7, true, null, \"é\\n\\ud83d\\ude00\\ud800\"],\n  \"b\": {\"c\": {}, \"c\": []}\n}";

fn with_depth(depth: usize) -> ReadOptions {
    let limits = Limits { depth, ..Limits::default() };
    ReadOptions::default().with_limits(limits)
}

#[test]
fn nesting_is_bounded_without_recursion() {
    for (open, close, leaf) in [("[", "]", ""), ("{\"a\":", "}", "1"), ("[{\"a\":", "}]", "[]")] {
        let levels = |count: usize| open.repeat(count) + leaf + &close.repeat(count);
        let bomb = read(open.repeat(1_000_000).as_bytes(), &with_depth(usize::MAX)).unwrap_err();
        assert_eq!(bomb.kind, Kind::TooDeep { limit: 1024 });
        assert_eq!(plain(&levels(1000)).unwrap_err().kind, Kind::TooDeep { limit: 128 });
    }
    let levels = |count: usize| "[".repeat(count) + &"]".repeat(count);
    assert!(read(levels(3).as_bytes(), &with_depth(3)).is_ok());
    let error = read(levels(4).as_bytes(), &with_depth(3)).unwrap_err();
    assert_eq!((error.offset, error.kind), (3, Kind::TooDeep { limit: 3 }));
    assert!(read(b"1", &with_depth(0)).is_ok());
    assert_eq!(read(b"[]", &with_depth(0)).unwrap_err().kind, Kind::TooDeep { limit: 0 });
}

#[test]
fn the_deepest_value_can_be_handled() {
    let text = "{\"a\":[".repeat(512) + &"]}".repeat(512);
    let value = read(text.as_bytes(), &with_depth(usize::MAX)).unwrap().value;
    let twin = value.clone();
    assert!(value == twin && python_eq(&value, &twin));
    assert_eq!(write(&value, &Style::COMPACT), text);
    assert!(write(&value, &Style::PYDANTIC).len() > text.len());
    assert!(format!("{value:?}").len() > text.len());
    drop(value);
}

#[test]
fn size_and_count_are_bounded() {
    let limits = Limits { document_bytes: 4, ..Limits::default() };
    let options = ReadOptions::default().with_limits(limits);
    assert!(read(b"[12]", &options).is_ok());
    assert_eq!(read(b"[123]", &options).unwrap_err().kind, Kind::TooLarge { limit: 4, found: 5 });

    let options = ReadOptions::default().with_max_values(3);
    assert!(read(b"{\"a\":1,\"b\":2}", &options).is_ok());
    let error = read(b"[[],[1]]", &options).unwrap_err();
    assert_eq!((error.offset, error.kind), (5, Kind::TooManyValues { limit: 3 }));
}

#[test]
fn notes_are_bounded_in_number_and_size() {
    let name = "n".repeat(10_000);
    let text = format!("{{\"{name}\":[{}]}}", vec!["NaN"; 10_000].join(","));
    let document = read(text.as_bytes(), &tolerant()).unwrap();
    assert_eq!(document.notes.len() + document.notes_left_off, 10_000);
    assert!(document.notes.iter().map(|note| note.path.len()).sum::<usize>() < text.len());
}

#[test]
fn many_members_take_no_quadratic_time() {
    let members: Vec<String> = (0..200_000).map(|i| format!("\"{}\":0", i % 150_000)).collect();
    let text = format!("{{{}}}", members.join(","));
    let start = Instant::now();
    let document = plain(&text).unwrap();
    assert!(python_eq(&document.value, &document.value.clone()));
    assert_eq!(document.notes.len() + document.notes_left_off, 50_000);
    // Comparing all pairs would take minutes.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn every_truncation_is_refused() {
    assert!(plain(DOCUMENT).is_ok());
    for length in 0..DOCUMENT.len() {
        let error = read(&DOCUMENT.as_bytes()[..length], &tolerant()).unwrap_err();
        assert!(error.offset <= length);
        assert!(
            matches!(error.kind, Kind::Truncated { .. } | Kind::InvalidUtf8),
            "{length}: {error}"
        );
    }
}

#[test]
fn every_damaged_byte_is_read_or_refused() {
    for place in 0..DOCUMENT.len() {
        for byte in 0..=u8::MAX {
            let mut bytes = DOCUMENT.as_bytes().to_vec();
            bytes[place] = byte;
            match read(&bytes, &tolerant()) {
                Ok(document) => drop(document.value.to_string()),
                Err(error) => assert!(error.offset <= bytes.len() && error.line <= 5),
            }
        }
    }
}

proptest! {
    #[test]
    fn json_like_noise_is_read_or_refused(
        words in proptest::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u", "d800", "0", "-", "1.5", "e", "NaN",
                "-Infinity", "null", "true", " ", "\n", "é", "\0", "\u{feff}",
            ]),
            0..40,
        )
    ) {
        let text = words.concat();
        if let Ok(document) = read(text.as_bytes(), &tolerant()) {
            // What was read once is read again from any spelling of it.
            let again = read(write(&document.value, &Style::PYTHON).as_bytes(), &tolerant()).unwrap();
            prop_assert_eq!(&again.value, &document.value);
            prop_assert_eq!(At::root(&again.value).path(), "$");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        if let Err(error) = read(&bytes, &tolerant()) {
            prop_assert!(error.offset <= bytes.len());
        }
    }

    #[test]
    fn any_string_body_reads_as_it_was_written(text: String) {
        let value = Value::from(text);
        for style in [Style::COMPACT, Style::PYTHON] {
            prop_assert_eq!(&plain(&write(&value, &style)).unwrap().value, &value);
        }
    }
}
