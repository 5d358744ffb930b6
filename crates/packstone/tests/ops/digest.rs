//! The content digest: what is in the documentation, and what must not change it.

use std::sync::Arc;

use packstone::format::Collection;
use packstone::model::{Batch, DType, Field, Key, Schema};
use packstone::ops::{
    CollectionDigest, DigestOptions, Scan, SelectedCollection, digest_collection,
};
use packstone_container::digest::{hex, sha256};

use crate::fake::{FakeCollection, batch, counted, schema, witness};

fn digest(collection: FakeCollection) -> CollectionDigest {
    let threads = |threads| DigestOptions { threads, ..DigestOptions::default() };
    let all: Vec<_> = [0, 1, 4]
        .into_iter()
        .map(|n| digest_collection(collection.clone().arc(), &threads(n), None).unwrap())
        .collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "threads change nothing");
    all[0].clone()
}

/// The example of `docs/digest.md`.
fn example() -> FakeCollection {
    let schema =
        schema(&[("x", DType::Float32, &[2]), ("name", DType::Str, &[]), ("id", DType::Int, &[])]);
    let floats = |pair: [f32; 2]| pair.map(f32::to_le_bytes).concat();
    let first = vec![floats([1.5, -0.0]), "né".as_bytes().to_vec(), 7i64.to_le_bytes().to_vec()];
    let second = vec![floats([0.0, 2.0]), Vec::new(), (1i128 << 63).to_le_bytes().to_vec()];
    let shards = vec![
        batch(&schema, &[first], r#"{"key": [1, 1.00], "a": 1E-7}"#),
        batch(&schema, &[second], "{}"),
    ];
    FakeCollection::new("train", schema, shards)
}

#[test]
fn the_documented_example_is_true() {
    let page = include_str!("../../../../docs/digest.md");
    let found = digest(example());
    for (name, value) in [
        ("values", &found.values),
        ("values_unordered", &found.values_unordered),
        ("full", &found.full),
        ("full_unordered", &found.full_unordered),
    ] {
        assert!(page.contains(&format!("| `{name}` | `{value}` |")), "{name} {value}");
    }
    // The bytes of the first sample, as the page draws them.
    let drawing = page.split("```text\n").find(|block| block.starts_with("7061")).unwrap();
    let rows = drawing.lines().take_while(|line| *line != "```");
    let digits: String = rows.map(|row| row.split("  ").next().unwrap().replace(' ', "")).collect();
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let values = sha256(&bytes);
    assert!(page.contains(&format!("Its values digest is `{}`", hex(&values))));
    let spelled = r#"{"a":1e-07,"key":[1,1.0]}"#;
    let opening = b"packstone content 1: sample with metadata\n";
    let full = sha256(
        &[&opening[..], &values, &(spelled.len() as u64).to_le_bytes(), spelled.as_bytes()]
            .concat(),
    );
    assert!(page.contains(&hex(&full)) && page.contains(spelled));
    // A collection of this one sample follows from them.
    let one = digest(FakeCollection::new(
        "one",
        Arc::clone(&example().schema),
        example().shards[..1].to_vec(),
    ));
    let of = |opening: &[u8], digest: &[u8]| {
        hex(&sha256(&[opening, &1u64.to_le_bytes(), digest].concat()))
    };
    assert_eq!(one.values, of(b"packstone content 1: samples in order\n", &values));
    assert_eq!(one.full_unordered, of(b"packstone content 1: samples in any order\n", &full));
}

#[test]
fn shards_names_and_the_order_of_fields_are_no_content() {
    let want = digest(counted("train", &[5, 1, 0, 7]));
    for size in [1, 2, 3, 13, 50] {
        let mut other = counted("train", &[5, 1, 0, 7]).resharded(size);
        other.name = "test".to_owned();
        assert_eq!(
            CollectionDigest { name: "train".to_owned(), ..digest(other) },
            want,
            "shards of {size}"
        );
    }
    let turn = |batch: &Batch| {
        let schema = Arc::new(batch.schema().project(&[1, 0]));
        Batch::new(
            schema,
            batch.rows(),
            vec![batch.columns()[1].clone(), batch.columns()[0].clone()],
        )
        .unwrap()
    };
    let plain = counted("train", &[13]);
    let turned: Vec<_> = plain.shards.iter().map(turn).collect();
    assert_eq!(digest(FakeCollection::new("train", Arc::clone(turned[0].schema()), turned)), want);
}

#[test]
fn order_and_metadata_count_where_they_should() {
    let plain = counted("train", &[4, 4]);
    let want = digest(plain.clone());
    let mut swapped = plain.clone();
    swapped.shards.swap(0, 1);
    let swapped = digest(swapped);
    assert_ne!((&swapped.values, &swapped.full), (&want.values, &want.full));
    assert_eq!(
        (swapped.values_unordered, swapped.full_unordered),
        (want.values_unordered.clone(), want.full_unordered.clone())
    );
    let mut told = plain.clone();
    told.shards[1] = told.shards[1].clone().with_metadata(crate::fake::object(r#"{"k":1}"#));
    let told_digest = digest(told.clone());
    assert_eq!(
        (&told_digest.values, &told_digest.values_unordered),
        (&want.values, &want.values_unordered)
    );
    assert!(told_digest.full != want.full && told_digest.full_unordered != want.full_unordered);
    // Metadata belong to samples, so the shards that carry them do not matter.
    assert_eq!(digest(told.resharded(3)), told_digest);
}

#[test]
fn a_sample_twice_is_not_a_sample_once() {
    let one = counted("a", &[2]);
    let mut two = one.clone();
    two.shards.push(two.shards[0].clone());
    two.len = 4;
    let mut four = two.clone();
    four.shards.extend(two.shards.clone());
    four.len = 8;
    let digests = [one, two, four].map(|c| digest(c).values_unordered);
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
}

#[test]
fn types_shapes_and_names_are_content() {
    let one = |name: Key, dtype: DType, shape: &[u64], bytes: &[u8]| {
        let field = Field::at(name, dtype, shape);
        let schema = Arc::new(Schema::new(vec![field]));
        let shards = vec![batch(&schema, &[vec![bytes.to_vec()]], "{}")];
        digest(FakeCollection::new("x", schema, shards)).values
    };
    let x = || Key::new("x");
    let nested = |parts: &[&str]| Key::nested(parts.iter().map(|p| (*p).to_owned()).collect());
    let different = [
        one(x(), DType::UInt8, &[4], b"abcd"),
        one(x(), DType::Int8, &[4], b"abcd"),
        one(x(), DType::UInt8, &[2, 2], b"abcd"),
        one(x(), DType::UInt8, &[4, 1], b"abcd"),
        one(x(), DType::Bytes, &[], b"abcd"),
        one(x(), DType::Str, &[], b"abcd"),
        one(x(), DType::FixedBytes(4), &[], b"abcd"),
        one(x(), DType::Void(4), &[], b"abcd"),
        one(x(), DType::Float32, &[], b"abcd"),
        one(Key::new("y"), DType::UInt8, &[4], b"abcd"),
        one(Key::new("a.b"), DType::UInt8, &[4], b"abcd"),
        one(nested(&["a", "b"]), DType::UInt8, &[4], b"abcd"),
        one(nested(&["ab", ""]), DType::UInt8, &[4], b"abcd"),
    ];
    for (at, a) in different.iter().enumerate() {
        assert!(different.iter().skip(at + 1).all(|b| a != b), "{at}");
    }
    assert_eq!(one(x(), DType::Bytes, &[4], b"abcd"), different[0]);
    let n = 5i64.to_le_bytes();
    assert_eq!(one(x(), DType::Int, &[], &n), one(x(), DType::Int64, &[], &n));
    assert_eq!(one(x(), DType::Int, &[], &5i128.to_le_bytes()), one(x(), DType::Int64, &[], &n));
}

#[test]
fn empty_collections_have_a_digest() {
    let empty = digest(counted("a", &[]));
    assert_eq!(empty.samples, 0);
    assert_eq!(
        empty.values,
        hex(&sha256(b"packstone content 1: samples in order\n\0\0\0\0\0\0\0\0"))
    );
    assert_eq!(empty, digest(counted("a", &[0, 0])));
}

#[test]
fn faults_end_it_and_say_so() {
    let options = DigestOptions::default();
    let run = |collection: FakeCollection| {
        digest_collection(collection.arc(), &options, None).unwrap_err()
    };
    assert_eq!(run(counted("a", &[3, 3, 3]).broken(1)).code(), "fake/broken");
    for len in [8, 10] {
        let mut wrong = counted("a", &[3, 3, 3]);
        wrong.len = len;
        let asked = if len == 8 { "fine" } else { "ops/missing_sample" };
        // A shorter length reads a prefix; a longer one is not there.
        let got =
            digest_collection(wrong.arc(), &options, None).map_or_else(|e| e.code(), |_| "fine");
        assert_eq!(got, asked);
    }
    let (progress, _) = witness(2);
    let stopped =
        digest_collection(counted("a", &[1; 50]).arc(), &options, Some(&progress)).unwrap_err();
    assert_eq!((stopped.code(), stopped.kind()), ("ops/cancelled", packstone::Kind::Cancelled));
}

#[test]
fn progress_is_told_in_bytes_of_values() {
    let schema = schema(&[("x", DType::UInt16, &[3])]);
    let shard = batch(&schema, &vec![vec![vec![0; 6]]; 10], "{}");
    let collection = FakeCollection::new("x", schema, vec![shard.clone(), shard]);
    let (progress, seen) = witness(99);
    digest_collection(collection.arc(), &DigestOptions::default(), Some(&progress)).unwrap();
    assert_eq!(seen.seen(), (120, 120));
    let (progress, seen) = witness(99);
    digest_collection(counted("a", &[10]).arc(), &DigestOptions::default(), Some(&progress))
        .unwrap();
    assert_eq!(seen.seen(), (100, 100));
}

#[test]
fn selections_and_ranges_have_digests_too() {
    let all = counted("a", &[4, 4, 4]);
    let shards: Vec<_> = Collection::shards(&all, 4).collect::<Result<_, _>>().unwrap();
    let tail = SelectedCollection::new(all.clone().arc(), shards).unwrap();
    let read: Vec<_> =
        Scan::new(all.arc()).range(4..12).batches(100).unwrap().map(Result::unwrap).collect();
    let same = FakeCollection::new("a", Arc::clone(read[0].schema()), read);
    assert_eq!(
        digest_collection(Arc::new(tail), &DigestOptions::default(), None).unwrap(),
        digest(same)
    );
}
