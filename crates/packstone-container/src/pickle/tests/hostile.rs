//! Pickles that ask for too much.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::PickleErrorKind as Kind;
use super::{Value, decoded, hex, list, scanned};
use crate::Limits;
use crate::pickle::{decode, scan};

#[test]
fn every_truncation_is_an_error_and_every_flip_is_read_or_refused() {
    let wanted = [
        "unicode 0",
        "lone 2",
        "nested 4",
        "shared 1",
        "dict 5",
        "class 4",
        "set 3",
        "huge 4",
        "bytearray 5",
    ];
    let vectors = include_str!("vectors.txt").lines();
    let mut swept = 0;
    for line in vectors.filter(|line| wanted.iter().any(|wanted| line.starts_with(wanted))) {
        let pickle = hex(line.rsplit(' ').next().unwrap());
        swept += 1;
        for len in 0..pickle.len() {
            assert!(decoded(&pickle[..len]).is_err() && scanned(&pickle[..len]).is_err(), "{line}");
        }
        for at in 0..pickle.len() {
            for byte in 0..=u8::MAX {
                let mut changed = pickle.clone();
                changed[at] = byte;
                let read = decoded(&changed);
                // Whatever decodes has nothing in it that a scan would warn of.
                match (read, scanned(&changed)) {
                    (Ok(read), Ok(scan)) => assert!(scan.is_plain() && scan.len == read.len),
                    (Ok(_), Err(error)) => panic!("{line} byte {at}: {error}"),
                    (Err(error), _) => assert!(error.offset <= changed.len()),
                }
            }
        }
    }
    assert_eq!(swept, wanted.len());
}

/// Lists that hold the one before twice: two to the power of `levels` values.
fn doubling(levels: usize) -> Vec<u8> {
    let mut pickle = b"]\x94".to_vec();
    for level in 0..u8::try_from(levels).unwrap() {
        pickle.extend([b'0', b']', 0x94, b'(', b'h', level, b'h', level, b'e']);
    }
    pickle.push(b'.');
    pickle
}

#[test]
fn sharing_does_not_explode() {
    let start = Instant::now();
    let small = decoded(&doubling(16)).unwrap().value;
    let Value::List(items) = &small else { panic!() };
    let [Value::List(a), Value::List(b)] = &items[..] else { panic!() };
    assert!(std::sync::Arc::ptr_eq(a, b));
    for levels in [24, 60, 100] {
        let kind = decoded(&doubling(levels)).unwrap_err().kind;
        assert!(matches!(kind, Kind::TooMany { what: "values", .. }), "{kind}");
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn repeated_text_counts_as_often_as_it_stands() {
    let pickle = |times: usize| {
        let mut pickle = b"(X\0\0\x01\0".to_vec();
        pickle.resize(pickle.len() + (1 << 16), b'x');
        pickle.push(0x94);
        (0..times).for_each(|_| pickle.extend(b"h\0"));
        pickle.extend(b"l.");
        pickle
    };
    assert!(decoded(&pickle(1000)).is_ok());
    let kind = decoded(&pickle(20_000)).unwrap_err().kind;
    assert_eq!(kind, Kind::TooMany { what: "bytes of text and data", limit: 1 << 30 });
}

#[test]
fn nesting_is_bounded_without_recursion() {
    let lists = |depth: usize| {
        let mut pickle = vec![b']'; depth];
        pickle.resize(2 * depth - 1, b'a');
        pickle.push(b'.');
        pickle
    };
    assert!(decoded(&lists(128)).is_ok());
    assert_eq!(decoded(&lists(129)).unwrap_err().kind, Kind::TooDeep { limit: 128 });
    assert!(matches!(decoded(&lists(1 << 20)).unwrap_err().kind, Kind::TooDeep { .. }));
    assert!(scanned(&lists(1 << 20)).unwrap().is_plain());
    let deepest = Limits { depth: usize::MAX, ..Limits::default() };
    let value = decode(&lists(1024), &deepest).unwrap().value;
    assert_eq!(value, value.clone());
    assert_eq!(decode(&lists(1025), &deepest).unwrap_err().kind, Kind::TooDeep { limit: 1024 });
    // Tuples, and depth that only comes from sharing.
    let tuples = [&b")"[..], &[0x85; 200], b"."].concat();
    assert_eq!(decoded(&tuples).unwrap_err().kind, Kind::TooDeep { limit: 128 });
    let shared =
        |more: usize| [b"(", &lists(100)[..199], b"\x94h\0", &vec![0x85; more], b"l."].concat();
    assert!(decoded(&shared(27)).is_ok());
    assert_eq!(decoded(&shared(28)).unwrap_err().kind, Kind::TooDeep { limit: 128 });
    let flat = Limits { depth: 0, ..Limits::default() };
    assert!(decode(b"N.", &flat).is_ok());
    assert_eq!(decode(b"].", &flat).unwrap_err().kind, Kind::TooDeep { limit: 0 });
}

#[test]
fn values_cannot_contain_themselves() {
    for pickle in [
        &b"]\x94h\0a."[..],
        b"]\x94h\0\x85a.",
        b"}\x94Nh\0s.",
        b"](]\x94(h\0ee.",
        // Two lists that hold each other.
        b"]\x94(]\x94(h\0eh\x01e.",
    ] {
        assert_eq!(decoded(pickle).unwrap_err().kind, Kind::Cycle, "{pickle:?}");
    }
    // The same list twice is no cycle, nor is one that holds itself but is not part of the value.
    assert_eq!(decoded(b"](]\x94h\0e.").unwrap().value, list([list([]), list([])]));
    assert_eq!(decoded(b"]\x94h\0a0N.").unwrap().value, Value::None);
}

#[test]
fn numbers_and_memos_are_bounded() {
    let long = |len: u32| {
        let mut pickle = vec![0x8b];
        pickle.extend(len.to_le_bytes());
        pickle.resize(pickle.len() + usize::try_from(len).unwrap(), 0x7f);
        pickle.push(b'.');
        pickle
    };
    let Value::Int(number) = decoded(&long(2048)).unwrap().value else { panic!() };
    assert_eq!(number.text().len(), 4932);
    assert!(matches!(decoded(&long(2049)).unwrap_err().kind, Kind::Argument { .. }));
    let digits = |count: usize| [&b"L"[..], &vec![b'9'; count], b"L\n."].concat();
    assert!(decoded(&digits(4932)).is_ok() && decoded(&digits(4933)).is_err());
    // The numbers in a memo are names, not sizes.
    let far =
        b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xffp18446744073709551615\n0g18446744073709551615\n.";
    assert_eq!(decoded(far).unwrap().value, Value::None);
    let start = Instant::now();
    let mut pickle = vec![b'N'; 9_000_000];
    pickle.push(b'.');
    for kind in [decoded(&pickle).unwrap_err().kind, scanned(&pickle).unwrap_err().kind] {
        assert_eq!(kind, Kind::TooMany { what: "opcodes", limit: 1 << 23 });
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let tight = Limits { document_bytes: 1, ..Limits::default() };
    assert_eq!(scan(b"N.", &tight).unwrap_err().kind, Kind::TooLarge { limit: 1, found: 2 });
}

#[test]
fn many_globals_are_counted() {
    let mut pickle = Vec::new();
    for n in 0..2000 {
        pickle.extend(format!("cmodule\nname{}\n0", n % 1000).bytes());
    }
    pickle.extend(format!("c{}\n{}\n.", "m".repeat(5000), "é".repeat(5000)).bytes());
    let scan = scanned(&pickle).unwrap();
    assert_eq!((scan.globals.len(), scan.globals_left_off), (256, 2 * 744 + 1));
    let long = scanned(&pickle[pickle.len() - 15_004..]).unwrap();
    assert_eq!(long.globals[0].module.len(), 256);
    assert_eq!(long.globals[0].name.chars().count(), 256);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let (read, seen) = (decoded(&bytes), scanned(&bytes));
        prop_assert!(read.is_err() || seen.is_ok_and(|scan| scan.is_plain()));
    }

    #[test]
    fn programs_of_any_kind_are_read_or_refused(
        words in prop::collection::vec(
            prop::sample::select(vec![
                &b"N"[..], b"(", b"]", b")", b"}", b"\x8f", b"K\x01", b"\x8c\x01a", b"a", b"e", b"s", b"u", b"t", b"l",
                b"d", b"\x90", b"\x91", b"\x94", b"h\0", b"h\x01", b"0", b"1", b"2", b"\x85", b"\x86", b"\x87", b"R",
                b"\x93", b"I01\n", b"C\x01x",
            ]),
            0..60,
        )
    ) {
        let pickle = [&words.concat()[..], b"."].concat();
        let (read, seen) = (decoded(&pickle), scanned(&pickle));
        prop_assert!(read.is_err() || seen.is_ok_and(|scan| scan.is_plain()));
    }
}
