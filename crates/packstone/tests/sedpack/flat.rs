//! fb shards from other builders: any alignment, absent fields, any number of tables.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, ReadContext};
use packstone::formats::sedpack::codes;
use packstone::formats::sedpack::document::DatasetInfo;
use packstone::formats::sedpack::parts::shard::ShardFormat;
use packstone::{Limits, Root};
use packstone_io::Buf;

use crate::kit::{self, Made, flat, path};

fn made(attributes: &str, bytes: Vec<u8>, examples: u64) -> Arc<dyn Root> {
    let shards = vec![(bytes, examples)];
    Arc::new(Made { shard_type: "fb", compression: "", attributes, shards }.root())
}

const DOUBLES: &str = r#"[{"name": "x", "dtype": "float64", "shape": [2]},
    {"name": "s", "dtype": "str", "shape": []}]"#;

#[test]
fn values_are_read_at_any_alignment() {
    let numbers: Vec<Vec<u8>> = (0..5)
        .map(|n| [f64::from(n), 0.5].iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
    let examples: Vec<_> =
        numbers.iter().map(|n| vec![Some(&n[..]), Some("añb".as_bytes())]).collect();
    let bytes = flat(&examples);
    let want: Vec<_> = numbers.iter().map(|n| vec![n.clone(), "añb".as_bytes().to_vec()]).collect();
    assert_eq!(kit::read(made(DOUBLES, bytes.clone(), 5)).unwrap(), want);

    let document =
        kit::document("fb", "", DOUBLES, &kit::pointer("train/shards_list.json", "", 5, 1));
    let info = DatasetInfo::parse(document.as_bytes(), &Limits::default()).unwrap();
    for shift in 0..9 {
        let mut shifted = vec![0xee; shift];
        shifted.extend(&bytes);
        let buffer = Buf::from(shifted).slice(shift..).unwrap();
        let range = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
        let batch = ShardFormat::from(&info)
            .decode(&path("x.fb"), buffer.clone(), None, &mut ReadContext::default())
            .unwrap();
        for (sample, want) in batch.samples().zip(&want) {
            let got: Vec<_> = sample.values().map(|v| v.bytes).collect();
            assert_eq!(&got, want, "shifted by {shift}");
            // Views of the shard, not copies.
            assert!(got.iter().all(|v| range.contains(&(v.as_ptr() as usize))));
        }
    }
}

#[test]
fn an_uncompressed_shard_is_served_from_its_file_without_a_copy() {
    let attributes = r#"[{"name": "x", "dtype": "uint8", "shape": [4]}]"#;
    let root = made(attributes, flat(&[vec![Some(b"abcd")], vec![Some(b"efgh")]]), 2);
    let file = root.read(&path("train/0.fb")).unwrap();
    let range = file.as_ptr() as usize..file.as_ptr() as usize + file.len();
    let train = kit::open(Arc::clone(&root)).unwrap().collection("train").unwrap();
    let shard = train.shards(0).next().unwrap().unwrap();
    let batch =
        Collection::read(train.as_ref(), &shard, None, &mut ReadContext::default()).unwrap();
    let column = batch.columns()[0].buf(1).unwrap();
    assert_eq!(&column[..], b"efgh");
    assert!(range.contains(&(column.as_ptr() as usize)));
}

#[test]
fn absent_fields_are_empty_and_counts_are_compared() {
    let variable = r#"[{"name": "b", "dtype": "bytes", "shape": []}, {"name": "s", "dtype": "str", "shape": []}]"#;
    let absent = flat(&[vec![None, Some(b"x")], vec![Some(b""), None]]);
    let rows = kit::read(made(variable, absent, 2)).unwrap();
    assert_eq!(rows, [[vec![], b"x".to_vec()], [vec![], vec![]]]);
    let fixed = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;
    let error = kit::read(made(fixed, flat(&[vec![None]]), 1)).unwrap_err();
    assert_eq!(error.code(), codes::ATTRIBUTE_SIZE_MISMATCH);
    // A shard without its list of examples, and an example without its list of attributes.
    let root = [20, 0, 0, 0, 6, 0, 8, 0, 4, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0, 8, 0, 0, 0];
    assert_eq!(kit::read(made(fixed, root.to_vec(), 1)).unwrap_err().code(), codes::COUNT_MISMATCH);
    assert_eq!(kit::read(made(fixed, root.to_vec(), 0)).unwrap(), kit::Rows::new());
    let mut bare = flat(&[vec![]]);
    let example = bare.len() - 12;
    bare.truncate(example + 4);
    bare[example..].copy_from_slice(&(example as i32 - 12).to_le_bytes());
    assert_eq!(
        kit::read(made(fixed, bare.clone(), 1)).unwrap_err().code(),
        codes::ATTRIBUTE_COUNT_MISMATCH
    );
    assert_eq!(kit::read(made("[]", bare, 1)).unwrap(), [kit::Rows::new().concat()]);
    // Damage that reads as fewer examples.
    let mut fewer = flat(&[vec![Some(b"ab")], vec![Some(b"cd")]]);
    fewer[28] = 1;
    let error = kit::read(made(fixed, fewer.clone(), 2)).unwrap_err();
    assert_eq!(error.code(), codes::COUNT_MISMATCH);
    assert_eq!(kit::verdict(made(fixed, fewer, 2)), kit::error(codes::COUNT_MISMATCH));
}

#[test]
fn more_than_a_million_tables_are_read() {
    let attributes = r#"[{"name": "x", "dtype": "int32", "shape": []}]"#;
    let count = 500_001;
    let values: Vec<[u8; 4]> = (0..count).map(i32::to_le_bytes).collect();
    let examples: Vec<_> = values.iter().map(|v| vec![Some(&v[..])]).collect();
    let rows = kit::read(made(attributes, flat(&examples), count as u64)).unwrap();
    assert_eq!(rows.len(), count as usize);
    assert!(rows.iter().zip(&values).all(|(row, value)| row[0] == value));
}

#[test]
fn values_of_a_wrong_size_are_named_with_example_attribute_and_sizes() {
    // What the library makes of integers given for fixed bytes: 8 bytes each.
    let attributes = r#"[{"name": "ok", "dtype": "uint8", "shape": []},
        {"name": "key", "dtype": "bytes", "shape": [3]}]"#;
    let wide: Vec<u8> = [1i64, 2, 255].iter().flat_map(|n| n.to_le_bytes()).collect();
    let bytes = flat(&[vec![Some(b"0"), Some(b"abc")], vec![Some(b"1"), Some(&wide)]]);
    let error = kit::read(made(attributes, bytes.clone(), 2)).unwrap_err();
    assert_eq!(error.code(), codes::ATTRIBUTE_SIZE_MISMATCH);
    let place = error.place();
    assert_eq!((place.record, place.field.as_deref()), (Some(1), Some("key")));
    assert_eq!(error.message(), "expected 3 bytes, found 24");
    assert_eq!(
        kit::verdict(made(attributes, bytes, 2)),
        kit::error(codes::ATTRIBUTE_SIZE_MISMATCH)
    );
}

#[test]
fn no_flip_and_no_cut_of_an_unhashed_shard_does_more_than_an_error() {
    let attributes = r#"[{"name": "x", "dtype": "uint8", "shape": [3]}, {"name": "s", "dtype": "str", "shape": []}]"#;
    let bytes = flat(&[vec![Some(b"abc"), Some(b"text")], vec![Some(b"def"), Some(b"")]]);
    let (mut errors, mut read) = (0, 0);
    let mut look = |damaged: Vec<u8>| match kit::read(made(attributes, damaged, 2)) {
        Ok(rows) => {
            assert!(rows.len() == 2 && rows.iter().all(|r| r.len() == 2 && r[0].len() == 3));
            read += 1;
        }
        Err(_) => errors += 1,
    };
    for len in 0..bytes.len() {
        look(bytes[..len].to_vec());
    }
    for at in 0..bytes.len() {
        for mask in [0x01, 0x04, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            look(flipped);
        }
    }
    assert!(errors > bytes.len() && read > 0, "{errors} errors, {read} read");
}
