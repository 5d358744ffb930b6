//! What is refused, and how it is named.

use super::super::{Opcode, PickleErrorKind as Kind};
use super::{decoded, scanned};

/// The message of a refusal.
fn message(pickle: &[u8]) -> String {
    decoded(pickle).unwrap_err().to_string()
}

#[test]
fn globals_and_calls_of_all_kinds() {
    for (pickle, message_is) in [
        (&b"cos\nsystem\n."[..], "expected plain data, found GLOBAL of \"os system\" at byte 0"),
        (b"(S'x'\nios\nsystem\n.", "expected plain data, found INST of \"os system\" at byte 6"),
        (
            b"\x8c\x02os\x8c\x06system\x93.",
            "expected plain data, found STACK_GLOBAL of \"os system\" at byte 12",
        ),
        (b"NN\x93.", "expected plain data, found STACK_GLOBAL at byte 2"),
        (b"NNR.", "expected plain data, found REDUCE at byte 2"),
        (b"NNb.", "expected plain data, found BUILD at byte 2"),
        (b"N)\x81.", "expected plain data, found NEWOBJ at byte 2"),
        (b"N)}\x92.", "expected plain data, found NEWOBJ_EX at byte 3"),
        (b"(No.", "expected plain data, found OBJ at byte 2"),
        (b"Px\n.", "expected plain data, found PERSID at byte 0"),
        (b"NQ.", "expected plain data, found BINPERSID at byte 1"),
        (b"\x82\x01.", "expected plain data, found EXT1 at byte 0"),
        (b"\x83\x01\x01.", "expected plain data, found EXT2 at byte 0"),
        (b"\x84\x01\x01\x01\x01.", "expected plain data, found EXT4 at byte 0"),
        (b"\x97.", "expected plain data, found NEXT_BUFFER at byte 0"),
        (b"N\x98.", "expected plain data, found READONLY_BUFFER at byte 1"),
    ] {
        assert_eq!(message(pickle), message_is);
        assert!(!scanned(pickle).unwrap().is_plain(), "{message_is}");
    }
}

#[test]
fn damage_has_its_place_and_reason() {
    for (pickle, message_is) in [
        (&b""[..], "expected an opcode, found the end of the pickle at byte 0"),
        (b"N", "expected an opcode, found the end of the pickle at byte 1"),
        (
            b"\x8c\x05abc",
            "expected the argument of SHORT_BINUNICODE, found the end of the pickle at byte 0",
        ),
        (
            b"T\xff\xff\xff\xff.",
            "expected the argument of BINSTRING, found the end of the pickle at byte 0",
        ),
        (
            b"\x8b\xff\xff\xff\xff.",
            "expected the argument of LONG4, found the end of the pickle at byte 0",
        ),
        (
            b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
            "expected the argument of BINBYTES8, found the end of the pickle at byte 0",
        ),
        (b"I12", "expected the argument of INT, found the end of the pickle at byte 0"),
        (b"\xff", "expected an opcode, found 0xff at byte 0"),
        (b"\x80\x06N.", "expected a protocol up to 5, found 6 at byte 0"),
        (
            b"\x80\x04\x95\x03\0\0\0\0\0\0\0N.",
            "expected a frame of at most 2 bytes, found 3 at byte 2",
        ),
        (
            b"I0x10\n.",
            "expected an integer of at most 4932 digits as the argument of INT, found something else at byte 0",
        ),
        (
            b"I007\n.",
            "expected an integer of at most 4932 digits as the argument of INT, found something else at byte 0",
        ),
        (b"Fa\n.", "expected a float as the argument of FLOAT, found something else at byte 0"),
        (
            b"S'a\\x41'\n.",
            "expected ASCII text without escapes as the argument of STRING, found something else at byte 0",
        ),
        (
            b"U\x01\xe9.",
            "expected ASCII text without escapes as the argument of SHORT_BINSTRING, found something else at byte 0",
        ),
        (
            b"V\\u12\n.",
            "expected text with whole escapes as the argument of UNICODE, found something else at byte 0",
        ),
        (
            b"V\\U00110000\n.",
            "expected text with whole escapes as the argument of UNICODE, found something else at byte 0",
        ),
        (
            b"\x8c\x01\xff.",
            "expected UTF-8 as the argument of SHORT_BINUNICODE, found something else at byte 0",
        ),
        (b"g-1\n.", "expected a number as the argument of GET, found something else at byte 0"),
        (b".", "expected more values for STOP, found too few on the stack at byte 0"),
        (b"N(.", "expected more values for STOP, found too few on the stack at byte 2"),
        (b"N\x86.", "expected more values for TUPLE2, found too few on the stack at byte 1"),
        (b"N(N\x86.", "expected more values for TUPLE2, found too few on the stack at byte 3"),
        (b"(Nd.", "expected more values for DICT, found too few on the stack at byte 2"),
        (b"p12\n.", "expected more values for PUT, found too few on the stack at byte 0"),
        (b"Nt.", "expected a mark for TUPLE, found none on the stack at byte 1"),
        (b"h\x05.", "expected value 5 in the memo, found none at byte 0"),
        (b"Na.", "expected more values for APPEND, found too few on the stack at byte 1"),
        (b"NNa.", "expected a list for APPEND, found something else on the stack at byte 2"),
        (b"](NNu.", "expected a dict for SETITEMS, found something else on the stack at byte 4"),
        (b"}(N\x90.", "expected a set for ADDITEMS, found something else on the stack at byte 3"),
        (b"NN.", "expected one value at STOP, found more on the stack at byte 2"),
        (b"(N.", "expected one value at STOP, found more on the stack at byte 2"),
        (b"}]Ns.", "expected a key that can be hashed, found a list at byte 0"),
        (b"}](]\x86Ns.", "expected more values for TUPLE2, found too few on the stack at byte 4"),
        (b"}]]\x86Ns.", "expected a key that can be hashed, found a list at byte 0"),
        (b"\x8f(}\x90.", "expected a key that can be hashed, found a dict at byte 0"),
        (
            b"(\x96\0\0\0\0\0\0\0\0\x91.",
            "expected a key that can be hashed, found a bytearray at byte 10",
        ),
        (b"]\x94h\0a.", "expected a tree, found a value that contains itself at byte 0"),
    ] {
        assert_eq!(message(pickle), message_is, "{pickle:?}");
    }
}

#[test]
fn odd_but_sound_pickles_are_read() {
    use super::{Value, dict, int, list, text, tuple};
    for (pickle, value) in [
        (&b"(NN0N0t."[..], tuple([Value::None])),
        (b"N(0.", Value::None),
        (b"N(NN1.", Value::None),
        (b"N2\x86.", tuple([Value::None, Value::None])),
        (b"(I1\nI-0\nL5L\nL6\nl.", list([int(1), int(0), int(5), int(6)])),
        (b"(S'a'\nI2\nd.", dict([(text("a"), int(2))])),
        (b"S\"it's\"\n.", text("it's")),
        (b"V\\\\u0041\\n\n.", text("\\\\u0041\\n")),
        (b"V\\ud83d\\ude00\\U0001f600\n.", text("😀😀")),
        (b"\x8a\0.", int(0)),
        (b"\x8a\x02\xff\0.", int(255)),
        (b"\x8b\x01\0\0\0\xff.", int(-1)),
        // The list is filled after it was put into the tuple twice.
        (b"]\x94h\0\x86h\0(K\x01K\x02e0.", tuple([list([int(1), int(2)]), list([int(1), int(2)])])),
    ] {
        assert_eq!(decoded(pickle).unwrap().value, value, "{pickle:?}");
    }
    let trailing = decoded(b"N.junk").unwrap();
    assert_eq!((trailing.value, trailing.len), (Value::None, 2));
}

#[test]
fn names_are_found_wherever_text_can_come_from() {
    // Module and name from the memo, from Python 2 strings, from lines.
    let pickle = b"\x8c\x02os\x94\x8c\x06system\x94\x930h\x00h\x01\x930Vposix\nU\x05fork2\x930Nh\x01\x930cos\nsystem\n0cnt\nsystem\n.";
    let scan = scanned(pickle).unwrap();
    let names: Vec<_> = scan.globals.iter().map(|g| (&*g.module, &*g.name, g.offset)).collect();
    assert_eq!(names, [("os", "system", 14), ("posix", "fork2", 36), ("nt", "system", 55)]);
    assert_eq!((scan.hidden_globals, scan.globals_left_off), (1, 0));
    assert!(scan.calls.is_none() && scan.builds.is_none() && scan.asks.is_none());
    let call = scanned(b"cos\nsystem\n(S'ls'\ntR}b\x82\x01\x86.").unwrap();
    assert_eq!(call.calls, Some((Opcode::Reduce, 19)));
    assert_eq!(call.builds, Some((Opcode::Build, 21)));
    assert_eq!(call.asks, Some((Opcode::Ext1, 22)));
    assert!(matches!(scanned(b"N\x93.").unwrap_err().kind, Kind::Underflow { .. }));
}
