//! The same values in all protocols, written by CPython 3.11.

use std::sync::Arc;

use super::super::{Opcode, PickleErrorKind as Kind};
use super::{Value, bytes, decoded, dict, hex, int, list, scanned, text, tuple};
use crate::json::Wide;

/// What Python pickled; `None` where it is not plain data.
fn value(name: &str) -> Option<Value> {
    let big = |digits: &str| Value::Int(digits.parse().unwrap());
    let shared = || list([int(1), text("x")]);
    Some(match name {
        "none" => Value::None,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "zero" => int(0),
        "small" => int(200),
        "medium" => int(60000),
        "negative" => int(-3),
        "int32" => int(i32::MIN.into()),
        "int64" => int(1 << 40),
        "minus_int64" => int(i64::MIN),
        "big" => big("1180591620717411303424"),
        "minus_big" => big("-1606938044258990275541962092341162602522202993782792835301376"),
        "boundary" => big("170141183460469231731687303715884105728"),
        "minus_boundary" => big("-170141183460469231731687303715884105728"),
        "beyond" => big("-170141183460469231731687303715884105729"),
        "minus_pow" => big("-43556142965880123323311949751266331066368"),
        "huge" => {
            // 7 to the power of 900, by multiplying digits.
            let mut digits = vec![1u32];
            for _ in 0..900 {
                let mut carry = 0;
                for digit in &mut digits {
                    carry += *digit * 7;
                    *digit = carry % 10;
                    carry /= 10;
                }
                digits.extend((carry > 0).then_some(carry));
            }
            big(&digits.iter().rev().map(u32::to_string).collect::<String>())
        }
        "float" => Value::Float(1.5),
        "float_neg_zero" => Value::Float(-0.0),
        "inf" => Value::Float(f64::INFINITY),
        "minus_inf" => Value::Float(f64::NEG_INFINITY),
        "tiny" => Value::Float(5e-324),
        "repr" => Value::Float(1e-7),
        "empty_str" => text(""),
        "ascii" => text("data"),
        "unicode" => text("é漢😀\n\\u0041 \r\0\x1a"),
        "lone" => Value::Wide(Arc::new(Wide::from_units(&[0x61, 0xd800, 0x62, 0xdc00]).unwrap())),
        "long_str" => text(&"ab".repeat(150)),
        "bytes" => bytes(b"\x00\xffabc"),
        "empty_bytes" => bytes(b""),
        "long_bytes" => bytes(&[b'x'; 300]),
        "bytearray" => Value::ByteArray(b"abc"[..].into()),
        "empty_list" => list([]),
        "empty_tuple" => tuple([]),
        "empty_dict" => dict([]),
        "list" => list([int(1), text("a"), Value::None]),
        "one" => list([int(7)]),
        "tuple1" => tuple([int(1)]),
        "tuple2" => tuple([int(1), int(2)]),
        "tuple3" => tuple([int(1), int(2), int(3)]),
        "tuple4" => tuple([int(1), int(2), int(3), int(4)]),
        "dict" => dict([
            (text("a"), int(1)),
            (int(2), text("b")),
            (tuple([int(3), Value::None]), list([])),
        ]),
        "one_entry" => dict([(text("data"), bytes(b"abc"))]),
        "set" => Value::Set([int(1)].into()),
        "empty_set" => Value::Set([].into()),
        "frozenset" => Value::FrozenSet([int(2)].into()),
        "empty_frozenset" => Value::FrozenSet([].into()),
        "shared" => dict([(text("x"), shared()), (text("y"), list([shared(), shared()]))]),
        "nested" => {
            let inner = dict([(text("k"), tuple([tuple([]), list([dict([])])]))]);
            list([list([list([list([inner])])])])
        }
        "batched" => list((0..2500).map(int).collect::<Vec<_>>()),
        _ => return None,
    })
}

/// The first protocol that needs no call for it.
fn plain_from(name: &str) -> u8 {
    match name {
        "bytes" | "empty_bytes" | "long_bytes" | "one_entry" => 3,
        "set" | "empty_set" | "frozenset" | "empty_frozenset" => 4,
        "bytearray" => 5,
        "complex" | "class" | "ordered" => 6,
        _ => 0,
    }
}

#[test]
fn values_of_python_in_all_protocols() {
    let mut lines = 0;
    for line in include_str!("vectors.txt").lines() {
        let [name, protocol, pickle] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let (protocol, pickle): (u8, _) = (protocol.parse().unwrap(), hex(pickle));
        let scan = scanned(&pickle).unwrap();
        assert_eq!(scan.len, pickle.len(), "{line}");
        assert_eq!(scan.declared, (protocol > 1).then_some(protocol), "{line}");
        assert!(scan.needed <= protocol, "{line}");
        let found = decoded(&pickle);
        if protocol < plain_from(name) {
            let kind = found.unwrap_err().kind;
            assert!(
                matches!(
                    kind,
                    Kind::Refused {
                        opcode: Opcode::Global | Opcode::StackGlobal | Opcode::Reduce,
                        global: Some(_)
                    }
                ),
                "{line}: {kind}"
            );
            assert!(!scan.is_plain() && !scan.globals.is_empty(), "{line}");
        } else {
            let found = found.unwrap();
            assert_eq!(Some(&found.value), value(name).as_ref(), "{line}");
            assert_eq!((found.declared, found.len), (scan.declared, pickle.len()));
            assert!(scan.is_plain(), "{line}");
        }
        lines += 1;
    }
    assert_eq!(lines, 314);
}

#[test]
fn opcodes_are_counted() {
    // The counts are those of `pickletools.genops`.
    for (pickle, count) in [("4e2e", 2), ("80024b002e", 3)] {
        assert_eq!(scanned(&hex(pickle)).unwrap().opcodes, count);
    }
}

#[test]
fn every_opcode_is_its_byte() {
    let all: Vec<Opcode> = (0..=u8::MAX).filter_map(Opcode::from_byte).collect();
    assert_eq!(all.len(), 68);
    for opcode in all {
        assert_eq!(Opcode::from_byte(opcode.byte()), Some(opcode));
        assert!(opcode.protocol() <= 5 && opcode.name() == opcode.to_string());
    }
}
