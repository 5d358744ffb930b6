use proptest::prelude::*;

use super::{Example, ExampleBuilder, ExampleError, Feature};
use crate::tfrecord::tensor_proto::HalfTensor;
use crate::wire::{WireError, WireErrorKind};

/// A record of a Sedpack tfrec shard, written by TensorFlow 2.21, without its frame.
const RECORD: &[u8] = b"\
    \x0a\xe8\x02\
    \x0a%\x0a\x03f16\x12\x1e\x0a\x1c\x0a\x1a\x08\x13\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\"\x0c\xc4;\xdfI\xc5\xb8\xe3\xb5\"\xc0\xb4H\
    \x0a\x16\x0a\x02i8\x12\x10\x1a\x0e\x0a\x0c\xd9\xff\xff\xff\xff\xff\xff\xff\xff\x01\x17\x0d\
    \x0a2\x0a\x03i64\x12+\x1a)\x0a'\xb2\xd0\xa6\xa7\xd1\xc8\x8a\x97\xbf\x01\x9c\xba\x90\x85\x92\x9e\xc0\xa2\x06\xe9\x80\x9a\xa7\xa1\xb1\xa1\x9c\xf5\x01\xff\x92\xca\xd7\xa9\xda\xb5\xf7\xb9\x01\
    \x0a\x12\x0a\x09u8_scalar\x12\x05\x1a\x03\x0a\x01\x03\
    \x0a\x20\x0a\x04blob\x12\x18\x0a\x16\x0a\x14\xa0=\x87\xd7\x9d|y\xb7\x05U\xa9\xc3%\x03\x0ez*\xa6`\xa2\
    \x0a\x11\x0a\x02u8\x12\x0b\x1a\x09\x0a\x07\xca\x01\x8d\x01\xec\x01/\
    \x0a#\x0a\x03f32\x12\x1c\x12\x1a\x0a\x18E\xee\xa1\xc1yu*A\xc9K\xe3@\xdd{{\xc1\x007o\xc1\xcd\xac\xc5>\
    \x0a$\x0a\x03i32\x12\x1d\x1a\x1b\x0a\x19\xd9\xba\xd5\xc5\x04\xc2\xc6\xdb\x9d\x07\xc6\x89\xa2\xaf\xfd\xff\xff\xff\xff\x01\xd9\xa3\xcc\x86\x04\
    \x0a\x16\x0a\x0af32_scalar\x12\x08\x12\x06\x0a\x04\x17\x94:A\
    \x0a\x17\x0a\x04text\x12\x0f\x0a\x0d\x0a\x0b\xf0\x9f\x99\x82\xf0\x9f\x99\x83278\
    \x0a\x1a\x0a\x0af16_scalar\x12\x0c\x0a\x0a\x0a\x08\x08\x13\x12\x00\"\x02$G\
    \x0a\x12\x0a\x01n\x12\x0d\x1a\x0b\x0a\x09\xc7\xa4\xb7\xa3\xda\xd6\x98\xdbQ";
/// Its names as written.
const WRITTEN: &[&str] = &[
    "f16",
    "i8",
    "i64",
    "u8_scalar",
    "blob",
    "u8",
    "f32",
    "i32",
    "f32_scalar",
    "text",
    "f16_scalar",
    "n",
];
/// Its names in order.
const NAMES: &[&str] = &[
    "blob",
    "f16",
    "f16_scalar",
    "f32",
    "f32_scalar",
    "i32",
    "i64",
    "i8",
    "n",
    "text",
    "u8",
    "u8_scalar",
];

/// All values of a feature, for comparison.
#[derive(Debug, PartialEq)]
enum Owned {
    Unset,
    Bytes(Vec<Vec<u8>>),
    Floats(Vec<f32>),
    Int64s(Vec<i64>),
}

fn owned(feature: Feature<'_>) -> Result<Owned, WireError> {
    Ok(match feature {
        Feature::Unset => Owned::Unset,
        Feature::Bytes(list) => {
            Owned::Bytes(list.iter().map(|v| v.map(<[u8]>::to_vec)).collect::<Result<_, _>>()?)
        }
        Feature::Floats(list) => Owned::Floats(list.iter().collect::<Result<_, _>>()?),
        Feature::Int64s(list) => Owned::Int64s(list.iter().collect::<Result<_, _>>()?),
    })
}

fn read(bytes: &[u8]) -> Result<Vec<(String, Owned)>, ExampleError> {
    let example = Example::parse(bytes)?;
    let features = example.features().iter();
    features.map(|(name, feature)| Ok(((*name).to_owned(), owned(*feature)?))).collect()
}

/// An example with the single feature `x`, whose message is `feature`; all shorter than 128 bytes.
fn single(feature: &[u8]) -> Vec<u8> {
    let n = u8::try_from(feature.len()).unwrap();
    [&[0x0a, n + 7, 0x0a, n + 5, 0x0a, 1, b'x', 0x12, n][..], feature].concat()
}

fn x(feature: &[u8]) -> Result<Owned, ExampleError> {
    let bytes = single(feature);
    let example = Example::parse(&bytes)?;
    Ok(owned(example.get("x").unwrap())?)
}

#[test]
fn what_tensorflow_writes() {
    let example = Example::parse(RECORD).unwrap();
    let names: Vec<&str> = example.features().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, NAMES);
    let get = |name| owned(example.get(name).unwrap()).unwrap();
    assert_eq!(get("i8"), Owned::Int64s(vec![-39, 23, 13]));
    assert_eq!(get("u8_scalar"), Owned::Int64s(vec![3]));
    assert_eq!(get("u8"), Owned::Int64s(vec![202, 141, 236, 47]));
    assert_eq!(get("text"), Owned::Bytes(vec!["🙂🙃278".into()]));
    assert_eq!(get("f32_scalar"), Owned::Floats(vec![f32::from_bits(0x413a_9417)]));
    let Some(Feature::Floats(f32s)) = example.get("f32") else { panic!("f32 is no float list") };
    assert_eq!(f32s.packed().unwrap().unwrap().len(), 24);
    assert_eq!(f32s.iter().count(), 6);
    let Owned::Bytes(half) = get("f16_scalar") else { panic!("f16_scalar is no bytes list") };
    let mut bits = [0; 2];
    HalfTensor::parse(&half[0]).unwrap().copy_to(&mut bits).unwrap();
    assert_eq!(bits, [0x24, 0x47]);
    assert!(example.get("absent").is_none());
}

#[test]
fn writing_gives_the_same_bytes_in_the_same_order() {
    let mut builder = ExampleBuilder::default();
    let example = Example::parse(RECORD).unwrap();
    for name in WRITTEN {
        match example.get(name).unwrap() {
            Feature::Bytes(list) => builder.bytes(name, list.iter().map(Result::unwrap)),
            Feature::Floats(list) => builder.floats(name, list.iter().map(Result::unwrap)),
            Feature::Int64s(list) => builder.int64s(name, list.iter().map(Result::unwrap)),
            Feature::Unset => panic!("{name} is unset"),
        }
    }
    let mut out = Vec::new();
    builder.finish(&mut out);
    assert_eq!(out, RECORD);
    out.clear();
    builder.int64s("x", []);
    builder.finish(&mut out);
    assert_eq!(out, single(b"\x1a\0"));
}

#[test]
fn lists_packed_and_not() {
    assert_eq!(x(b"\x1a\x02\x08\x05").unwrap(), Owned::Int64s(vec![5]));
    assert_eq!(
        x(b"\x1a\x08\x08\x05\x0a\x02\x06\x07\x08\x08").unwrap(),
        Owned::Int64s(vec![5, 6, 7, 8])
    );
    let floats = Owned::Floats(vec![1.0, 2.0]);
    assert_eq!(x(b"\x12\x0a\x0d\0\0\x80\x3f\x0d\0\0\0\x40").unwrap(), floats);
    assert_eq!(x(b"\x12\x0a\x0a\x08\0\0\x80\x3f\0\0\0\x40").unwrap(), floats);
    assert_eq!(x(b"\x0a\x05\x0a\x01a\x0a\0").unwrap(), Owned::Bytes(vec![b"a".to_vec(), vec![]]));
    assert_eq!(x(b"\x0a\0").unwrap(), Owned::Bytes(vec![]));
    assert_eq!(x(b"\x12\0").unwrap(), Owned::Floats(vec![]));
    assert_eq!(x(b"").unwrap(), Owned::Unset);
}

#[test]
fn packed_floats_are_lent_only_when_they_stand_together() {
    let packed = |feature: &[u8]| {
        let bytes = single(feature);
        let Some(Feature::Floats(list)) = Example::parse(&bytes).unwrap().get("x") else {
            panic!("x is no float list")
        };
        list.packed().map(|bytes| bytes.map(<[u8]>::to_vec))
    };
    assert_eq!(packed(b"\x12\x06\x0a\x04abcd").unwrap().unwrap(), b"abcd");
    assert_eq!(packed(b"\x12\x08\x10\x01\x0a\x04abcd").unwrap().unwrap(), b"abcd");
    assert_eq!(packed(b"\x12\0").unwrap().unwrap(), b"");
    assert_eq!(packed(b"\x12\x0b\x0a\x04abcd\x0dabcd").unwrap(), None);
    assert_eq!(packed(b"\x12\x05\x0dabcd").unwrap(), None);
    assert_eq!(packed(b"\x12\x05\x0a\x03abc").unwrap_err().kind, WireErrorKind::Packed);
}

#[test]
fn unknown_fields_are_passed_over_and_the_last_of_one_name_counts() {
    // Unknown fields in every message; `a` twice, in two Features messages.
    let bytes = b"\x12\x01?\x0a\x0c\x10\x07\x0a\x08\x0a\x01a\x12\x03\x1a\x01\x18\
                  \x0a\x10\x0a\x0e\x0a\x01a\x20\x01\x12\x07\x2a\0\x1a\x03\x10\x01\x08";
    assert!(matches!(read(bytes), Err(ExampleError::Wire(_))));
    let bytes = b"\x12\x01?\x0a\x0d\x10\x07\x0a\x09\x0a\x01a\x12\x04\x1a\x02\x08\x01\
                  \x0a\x13\x0a\x11\x0a\x01a\x20\x01\x12\x0a\x2a\0\x1a\x06\x10\x01\x08\x02\x08\x03";
    assert_eq!(read(bytes).unwrap(), [("a".to_owned(), Owned::Int64s(vec![2, 3]))]);
    assert_eq!(read(b"").unwrap(), []);
    assert_eq!(read(b"\x0a\x02\x0a\0").unwrap(), [(String::new(), Owned::Unset)]);
}

#[test]
fn damage_has_its_error() {
    assert_eq!(x(b"\x0a\0\x12\0"), Err(ExampleError::Repeated { offset: 13 }));
    assert_eq!(x(b"\x1a\0\x1a\0"), Err(ExampleError::Repeated { offset: 13 }));
    assert_eq!(read(b"\x0a\x05\x0a\x03\x0a\x01\xff"), Err(ExampleError::Name { offset: 6 }));
    let twice = b"\x0a\x08\x0a\x06\x12\0\x12\0\x0a\0";
    assert_eq!(read(twice), Err(ExampleError::Repeated { offset: 8 }));
    let packed = WireError { offset: 13, kind: WireErrorKind::Packed };
    assert_eq!(x(b"\x12\x05\x0a\x03abc"), Err(packed.into()));
    assert_eq!(x(b"\x1a\x03\x0a\x01\x80"), Err(packed.into()));
}

#[test]
fn the_number_of_features_is_bounded() {
    let entries = b"\x0a\0".repeat((1 << 20) + 1);
    let mut bytes = Vec::new();
    crate::wire::put_bytes(1, &entries, &mut bytes);
    assert_eq!(read(&bytes), Err(ExampleError::Features));
}

#[test]
fn every_truncation_is_an_error() {
    for len in 1..RECORD.len() {
        assert!(read(&RECORD[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn flipped_bits_never_panic() {
    for at in 0..RECORD.len() {
        for bit in 0..8 {
            let mut bytes = RECORD.to_vec();
            bytes[at] ^= 1 << bit;
            let _ = read(&bytes);
        }
    }
}

proptest! {
    #[test]
    fn round_trip(
        bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
        floats in prop::collection::vec(-1e30f32..1e30, 0..70),
        ints in prop::collection::vec(any::<i64>(), 0..70),
        name in ".{0,40}",
    ) {
        let mut builder = ExampleBuilder::default();
        builder.int64s("ints", ints.iter().copied());
        builder.bytes("bytes", bytes.iter().map(Vec::as_slice));
        builder.floats(&format!("floats {name}"), floats.iter().copied());
        let mut out = Vec::new();
        builder.finish(&mut out);
        let expected = [
            ("bytes".to_owned(), Owned::Bytes(bytes)),
            (format!("floats {name}"), Owned::Floats(floats)),
            ("ints".to_owned(), Owned::Int64s(ints)),
        ];
        prop_assert_eq!(read(&out).unwrap(), expected);
    }
}
