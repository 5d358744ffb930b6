//! What a writer refuses: the code, the name, and that nothing was written. And what it takes, to the byte.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sedpack::codes;
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::parts::rotate::Rotation;
use packstone::formats::sedpack::schema::{Compression, ShardType};
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::json::{Object, ReadOptions, Value};
use packstone::model::{Batch, Column, DType, Field, Key, Schema};
use packstone::{Error, Kind, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::{Buf, FaultyRoot};

use crate::kit::{self, path};

fn structure(shard_type: ShardType, examples_per_shard: i64) -> Structure {
    let mut structure = Structure::default();
    structure.shard_type = shard_type;
    structure.compression = Compression::None;
    structure.examples_per_shard = examples_per_shard;
    structure
}

fn schema(fields: Vec<Field>) -> Arc<Schema> {
    Arc::new(Schema::new(fields))
}

/// A dataset of one attribute `x` and a filler for it.
fn filler(shard_type: ShardType, field: Field) -> (MemoryRoot, Filler) {
    let root = MemoryRoot::new();
    create(&root, schema(vec![field]), &structure(shard_type, 4), &Object::new()).unwrap();
    let options = FillerOptions::default().with_threads(0);
    (root.clone(), Filler::open(Arc::new(root), &RelPath::root(), options).unwrap())
}

/// Rows of one attribute.
fn batch(field: Field, values: &[&[u8]]) -> Batch {
    let ends = values.iter().scan(0, |end, v| {
        *end += v.len();
        Some(*end)
    });
    let column = Column::ragged(Buf::from(values.concat()), ends.collect()).unwrap();
    Batch::new(schema(vec![field]), values.len(), vec![column]).unwrap()
}

fn written(shard_type: ShardType, field: Field, given: &Batch) -> Result<kit::Rows, Error> {
    let (root, mut filler) = filler(shard_type, field);
    match filler.write("train", given) {
        Ok(()) => {
            filler.finish().unwrap();
            assert_eq!(kit::verdict(Arc::new(root.clone())), kit::clean());
            kit::read(Arc::new(root))
        }
        Err(error) => {
            drop(filler);
            let left: Vec<_> = root.files().into_iter().map(|(path, _)| path).collect();
            assert_eq!(left, [path("dataset_info.json")], "{error}");
            Err(error)
        }
    }
}

fn x(dtype: DType, shape: &[u64]) -> Field {
    Field::new("x", dtype, shape)
}

#[test]
fn schemas_that_shards_cannot_keep_are_refused_at_creation() {
    let nested = Field { key: Key::nested(vec!["a".into(), "b".into()]), ..x(DType::Int8, &[]) };
    let cases: Vec<(ShardType, Vec<Field>)> = vec![
        (ShardType::Fb, vec![x(DType::Int8, &[]), x(DType::Int16, &[])]),
        (ShardType::Fb, vec![x(DType::Int8, &[0])]),
        (ShardType::Fb, vec![x(DType::Str, &[2])]),
        (ShardType::Fb, vec![x(DType::Int, &[2])]),
        (ShardType::Fb, vec![x(DType::BFloat16, &[])]),
        (ShardType::Fb, vec![nested]),
        (ShardType::Npz, vec![Field::new("file", DType::Int8, [])]),
        (ShardType::Npz, vec![Field::new("allow_pickle", DType::Int8, [])]),
        (ShardType::Npz, vec![x(DType::Int8, &[]), x(DType::Bytes, &[])]),
        (ShardType::Npz, vec![Field::new("len_______x", DType::Int8, []), x(DType::Bytes, &[])]),
        (ShardType::Tfrec, vec![x(DType::Bool, &[])]),
        (ShardType::Tfrec, vec![x(DType::Int16, &[])]),
        (ShardType::Tfrec, vec![x(DType::UInt16, &[])]),
        (ShardType::Tfrec, vec![x(DType::UInt32, &[])]),
        (ShardType::Tfrec, vec![x(DType::UInt64, &[])]),
        (ShardType::Tfrec, vec![x(DType::Float64, &[])]),
        (ShardType::Tfrec, vec![x(DType::Complex64, &[])]),
        (ShardType::Tfrec, vec![x(DType::Bytes, &[4])]),
    ];
    for (shard_type, fields) in cases {
        let root = MemoryRoot::new();
        let names: Vec<_> = fields.iter().map(|f| format!("{} {}", f.key, f.dtype)).collect();
        let result = create(&root, schema(fields), &structure(shard_type, 4), &Object::new());
        let error = match result {
            Err(error) => error,
            // This name only looks like that of an offsets array.
            Ok(_) if names[0].starts_with("len_______x") => continue,
            Ok(_) => panic!("{names:?} was taken"),
        };
        assert_eq!(
            (error.code(), error.kind()),
            (codes::NOT_WRITABLE, Kind::Unsupported),
            "{names:?}"
        );
        assert!(error.place().field.is_some(), "{error}");
        assert_eq!(root.files(), [], "{names:?}");
    }
}

#[test]
fn the_name_of_an_offsets_array_is_refused_beside_it() {
    let root = MemoryRoot::new();
    // The longest name has 8 characters, so the offsets of `x` would be `len________x`, which is longer; of two names
    // that pad each other, `len____x` stays possible.
    let fields = vec![Field::new("len____x", DType::Int8, []), x(DType::Bytes, &[])];
    create(&root, schema(fields), &structure(ShardType::Npz, 4), &Object::new()).unwrap();
}

#[test]
fn structures_that_nobody_can_fill_are_refused_at_creation() {
    for (shard_type, compression, examples, code) in [
        (ShardType::Npz, Compression::Gzip, 4, codes::UNSUPPORTED_COMBINATION),
        (ShardType::Fb, Compression::Zip, 4, codes::UNSUPPORTED_COMBINATION),
        (ShardType::Tfrec, Compression::Lz4, 4, codes::UNSUPPORTED_COMBINATION),
        (ShardType::Fb, Compression::None, 0, codes::OPTION_INVALID),
        (ShardType::Fb, Compression::None, -5, codes::OPTION_INVALID),
    ] {
        let root = MemoryRoot::new();
        let mut structure = structure(shard_type, examples);
        structure.compression = compression;
        let error = create(&root, schema(vec![x(DType::Int8, &[])]), &structure, &Object::new());
        assert_eq!(error.unwrap_err().code(), code);
        assert_eq!(root.files(), []);
    }
    // A dataset that has such a number is read, and not written to.
    let root = MemoryRoot::new();
    kit::put(&root, "dataset_info.json", r#"{"dataset_structure": {"examples_per_shard": 0}}"#);
    assert!(kit::open(Arc::new(root.clone())).is_ok());
    let error = Filler::open(Arc::new(root), &RelPath::root(), FillerOptions::default());
    assert_eq!(error.err().unwrap().code(), codes::OPTION_INVALID);
}

fn object(text: &str) -> Object {
    let options = ReadOptions::default().with_nan(true);
    packstone::json::read(text.as_bytes(), &options).unwrap().value.as_object().unwrap().clone()
}

#[test]
fn metadata_that_is_no_json_is_refused_before_a_file_is_written() {
    let fields =
        |metadata: &str| schema(vec![Field { metadata: object(metadata), ..x(DType::Int8, &[]) }]);
    for (about, attribute) in [
        (r#"{"custom_metadata": {"a": [1, NaN]}}"#, "{}"),
        (r#"{"custom_metadata": {"a": -Infinity}}"#, "{}"),
        ("{}", r#"{"min": NaN}"#),
        (r#"{"dataset_version": "two"}"#, "{}"),
    ] {
        let root = MemoryRoot::new();
        let structure = structure(ShardType::Fb, 4);
        let error = create(&root, fields(attribute), &structure, &object(about)).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::VALUE_INVALID, Kind::Invalid), "{error}");
        assert!(error.place().json_path.is_some(), "{error}");
        assert_eq!(root.files(), [], "{about} {attribute}");
    }
    let rows = batch(x(DType::Int8, &[]), &[b"a"]);
    for text in [r#"{"a": NaN}"#, r#"{"a": {"b": [Infinity]}}"#] {
        let error = written(
            ShardType::Fb,
            x(DType::Int8, &[]),
            &rows.clone().with_metadata(Arc::new(object(text))),
        )
        .unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::VALUE_INVALID, Kind::Invalid), "{error}");
        assert!(error.place().json_path.is_some(), "{error}");
    }
}

#[test]
fn metadata_of_all_three_levels_is_written_as_given() {
    let root = MemoryRoot::new();
    let text = r#"{"z": 123456789012345678901234567890, "a": {"é": [null, 1.5, true]}}"#;
    let about = object(&format!(r#"{{"description": "d", "custom_metadata": {text}}}"#));
    let field = Field { metadata: object(text), ..x(DType::Int8, &[]) };
    create(&root, schema(vec![field.clone()]), &structure(ShardType::Fb, 4), &about).unwrap();
    let options = FillerOptions::default();
    let mut filler = Filler::open(Arc::new(root.clone()), &RelPath::root(), options).unwrap();
    let rows = batch(x(DType::Int8, &[]), &[b"a"]).with_metadata(Arc::new(object(text)));
    filler.write("train", &rows).unwrap();
    filler.finish().unwrap();
    let dataset = kit::open(Arc::new(root)).unwrap();
    let compact = r#"{"z":123456789012345678901234567890,"a":{"é":[null,1.5,true]}}"#;
    let metadata = dataset.info().native.get("metadata").unwrap().clone();
    assert_eq!(metadata.get("custom_metadata").unwrap().to_string(), compact);
    let train = dataset.collection("train").unwrap();
    assert_eq!(Value::Object(train.schema().fields[0].metadata.clone()).to_string(), compact);
    let shard = train.shards(0).next().unwrap().unwrap();
    assert_eq!(Value::Object(shard.metadata.as_ref().clone()).to_string(), compact);
}

#[test]
fn splits_and_attributes_are_refused_by_name_at_once() {
    let field = x(DType::Int8, &[]);
    let one = batch(field.clone(), &[b"a"]);
    let (root, mut filler) = filler(ShardType::Fb, field.clone());
    for split in ["validation", "", "Train", "train/a", ".."] {
        let error = filler.write(split, &one).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::UNKNOWN_SPLIT, Kind::Invalid));
        assert!(error.message().contains(&format!("{split:?}")), "{error}");
    }
    let missing = batch(Field::new("y", DType::Int8, []), &[b"a"]);
    let error = filler.write("train", &missing).unwrap_err();
    assert_eq!((error.code(), error.place().field.as_deref()), (codes::VALUE_INVALID, Some("y")));
    let none = Batch::new(schema(Vec::new()), 1, Vec::new()).unwrap();
    let error = filler.write("train", &none).unwrap_err();
    assert_eq!((error.code(), error.place().field.as_deref()), (codes::VALUE_INVALID, Some("x")));
    let column = Column::dense(Buf::from(vec![1]), 1, 1).unwrap();
    let more = schema(vec![field.clone(), Field::new("y", DType::Int8, [])]);
    let more = Batch::new(more, 1, vec![column.clone(), column]).unwrap();
    let error = filler.write("train", &more).unwrap_err();
    assert_eq!((error.code(), error.place().field.as_deref()), (codes::VALUE_INVALID, Some("y")));
    // Refusals leave the filler as it was.
    filler.write("train", &one).unwrap();
    filler.finish().unwrap();
    assert_eq!(kit::read(Arc::new(root)).unwrap(), [[b"a".to_vec()]]);
}

#[test]
fn a_first_example_that_is_refused_leaves_nothing() {
    let field = x(DType::UInt8, &[2]);
    let (root, mut filler) = filler(ShardType::Fb, field.clone());
    let before = root.files();
    let wrong = batch(x(DType::UInt8, &[3]), &[b"abc"]);
    assert_eq!(filler.write("train", &wrong).unwrap_err().code(), codes::VALUE_INVALID);
    assert_eq!(root.files(), before);
    filler.finish().unwrap();
    assert_eq!(root.files(), before, "no split, no list, no empty shard");
    let temp = tempfile::tempdir().unwrap();
    let local = packstone::LocalRoot::open(temp.path()).unwrap();
    create(&local, schema(vec![field]), &structure(ShardType::Fb, 4), &Object::new()).unwrap();
    let options = FillerOptions::default();
    let mut filler = Filler::open(Arc::new(local), &RelPath::root(), options).unwrap();
    filler.write("train", &wrong).unwrap_err();
    filler.finish().unwrap();
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_batch_is_taken_whole_or_not_at_all() {
    let field = x(DType::Str, &[]);
    for shard_type in ShardType::ALL {
        let (root, mut filler) = filler(shard_type, field.clone());
        filler.write("train", &batch(field.clone(), &[b"one"])).unwrap();
        let error =
            filler.write("train", &batch(field.clone(), &[b"two", b"\xff", b"3"])).unwrap_err();
        assert_eq!((error.code(), error.place().record), (codes::INVALID_UTF8, Some(1)));
        filler.write("train", &batch(field.clone(), &[b"four"])).unwrap();
        filler.finish().unwrap();
        let rows = kit::read(Arc::new(root)).unwrap();
        assert_eq!(rows, [[b"one".to_vec()], [b"four".to_vec()]]);
    }
}

#[test]
fn values_are_cast_where_numpy_calls_it_safe_in_all_types_of_shards() {
    let wide = |n: i64| n.to_le_bytes();
    for shard_type in ShardType::ALL {
        for (from, to, given, want) in [
            (DType::UInt8, DType::Int32, &[200u8][..], Some(200i32.to_le_bytes().to_vec())),
            (DType::Int8, DType::Int64, &[0xff], Some(wide(-1).to_vec())),
            (DType::UInt8, DType::Float32, &[7], Some(7f32.to_le_bytes().to_vec())),
            (DType::Float16, DType::Float32, &[0, 0x3c], Some(1f32.to_le_bytes().to_vec())),
            (DType::Bool, DType::Int8, &[1], Some(vec![1])),
            (DType::Float32, DType::UInt8, &1f32.to_le_bytes(), None),
            (DType::Int64, DType::Int32, &wide(1), None),
            (DType::Float64, DType::Float32, &1f64.to_le_bytes(), None),
            (DType::Int64, DType::Float32, &wide(1), None),
            (DType::Int8, DType::UInt8, &[1], None),
            (DType::Str, DType::Int8, b"1", None),
            (DType::Bytes, DType::UInt8, b"1", None),
        ] {
            let place = format!("{from} to {to} in {}", shard_type.name());
            let got = written(shard_type, x(to, &[]), &batch(x(from, &[]), &[given]));
            match (got, want) {
                (Ok(rows), Some(want)) => assert_eq!(rows, [[want]], "{place}"),
                (Err(error), None) => assert_eq!(error.code(), codes::VALUE_INVALID, "{place}"),
                (got, want) => panic!("{place}: expected {want:?}, found {got:?}"),
            }
        }
        // Shapes are never cast.
        let pair = batch(x(DType::UInt8, &[2]), &[b"ab"]);
        let error = written(shard_type, x(DType::UInt8, &[1, 2]), &pair).unwrap_err();
        assert_eq!(error.code(), codes::VALUE_INVALID);
        assert!(error.message().contains("[1, 2]") && error.message().contains("[2]"), "{error}");
        // A value whose bytes are not those of its dtype.
        let short = batch(x(DType::Int32, &[]), &[b"abc"]);
        assert!(written(shard_type, x(DType::Int32, &[]), &short).is_err());
    }
}

#[test]
fn fixed_bytes_take_bytes_or_small_integers_and_store_just_these() {
    let ints = |values: &[i64]| values.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    for shard_type in [ShardType::Fb, ShardType::Npz] {
        let write = |field: Field, value: &[u8]| {
            written(shard_type, x(DType::Bytes, &[3]), &batch(field, &[value]))
        };
        let want = [[vec![0, 7, 255]]];
        assert_eq!(write(x(DType::Bytes, &[]), &[0, 7, 255]).unwrap(), want);
        assert_eq!(write(x(DType::Bytes, &[3]), &[0, 7, 255]).unwrap(), want);
        assert_eq!(write(x(DType::UInt8, &[3]), &[0, 7, 255]).unwrap(), want);
        assert_eq!(write(x(DType::Int64, &[3]), &ints(&[0, 7, 255])).unwrap(), want);
        let small: Vec<u8> = [0u16, 7, 255].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(write(x(DType::UInt16, &[3]), &small).unwrap(), want);
        for (field, value) in [
            (x(DType::Bytes, &[]), vec![1, 2]),
            (x(DType::Bytes, &[]), vec![1, 2, 3, 4]),
            (x(DType::UInt8, &[4]), vec![1, 2, 3, 4]),
            (x(DType::Int64, &[3]), ints(&[0, 7, 256])),
            (x(DType::Int64, &[3]), ints(&[0, 7, -1])),
            (x(DType::Int64, &[2]), ints(&[0, 7])),
            (x(DType::Float32, &[3]), vec![0; 12]),
            (x(DType::Str, &[]), b"abc".to_vec()),
        ] {
            let place = format!("{} {:?}", field.dtype, field.shape);
            let error = write(field, &value).unwrap_err();
            assert_eq!(error.code(), codes::VALUE_INVALID, "{place} {value:?}");
        }
    }
}

#[test]
fn empty_bytes_stay_empty_and_integers_stay_in_64_bits() {
    for shard_type in ShardType::ALL {
        let field = x(DType::Bytes, &[]);
        let rows = written(shard_type, field.clone(), &batch(field, &[b"", b"\0", b"", b"a\0"]));
        assert_eq!(rows.unwrap(), [&b""[..], b"\0", b"", b"a\0"].map(|v| vec![v.to_vec()]));
        let write = |dtype: DType, value: &[u8]| {
            written(shard_type, x(DType::Int, &[]), &batch(x(dtype, &[]), &[value]))
        };
        for n in [i64::MIN, -1, i64::MAX] {
            assert_eq!(
                write(DType::Int64, &n.to_le_bytes()).unwrap(),
                [[n.to_le_bytes().to_vec()]]
            );
            assert_eq!(write(DType::Int, &n.to_le_bytes()).unwrap(), [[n.to_le_bytes().to_vec()]]);
        }
        assert_eq!(
            write(DType::UInt64, &7u64.to_le_bytes()).unwrap(),
            [[7u64.to_le_bytes().to_vec()]]
        );
        for (dtype, value) in [
            (DType::UInt64, (1u64 << 63).to_le_bytes().to_vec()),
            (DType::Int, (1i128 << 63).to_le_bytes().to_vec()),
            (DType::Float64, 1f64.to_le_bytes().to_vec()),
            (DType::Str, b"1".to_vec()),
        ] {
            assert_eq!(
                write(dtype.clone(), &value).unwrap_err().code(),
                codes::VALUE_INVALID,
                "{dtype}"
            );
        }
        let text = written(shard_type, x(DType::Str, &[]), &batch(x(DType::Bytes, &[]), &[b"t"]));
        assert_eq!(text.unwrap_err().code(), codes::VALUE_INVALID);
    }
}

#[test]
fn npz_refuses_text_that_it_would_lose() {
    let field = x(DType::Str, &[]);
    let lost = batch(field.clone(), &[b"a", b"b\0"]);
    let error = written(ShardType::Npz, field.clone(), &lost).unwrap_err();
    assert_eq!((error.code(), error.place().record), (codes::VALUE_INVALID, Some(1)));
    let kept = batch(field.clone(), &[b"a\0b", b""]);
    let rows = written(ShardType::Npz, field.clone(), &kept).unwrap();
    assert_eq!(rows, [[b"a\0b".to_vec()], [vec![]]]);
    assert!(written(ShardType::Fb, field, &lost).is_ok());
}

#[test]
fn fb_shards_end_before_a_million_tables_and_two_gibibytes() {
    let rows_of = |rotation: &mut Rotation, batch: &Batch| {
        let mut rows = Vec::new();
        let mut take = |full: packstone::formats::sedpack::parts::rotate::FullShard| {
            assert_eq!(full.parts.iter().map(Batch::rows).sum::<usize>() as u64, full.rows);
            rows.push(full.rows);
            Ok(())
        };
        rotation.push(batch, &mut take).unwrap();
        if let Some(rest) = rotation.finish() {
            take(rest).unwrap();
        }
        rows
    };
    let count = 1_200_000;
    let column = Column::dense(Buf::from(vec![0; count]), 1, count).unwrap();
    let narrow = Batch::new(schema(vec![x(DType::UInt8, &[])]), count, vec![column]).unwrap();
    let rows = rows_of(&mut Rotation::new(i64::MAX, 1, true, false), &narrow);
    assert!(rows.iter().all(|n| 1 + n * 2 < 1_000_000), "{rows:?}");
    assert_eq!((rows.iter().sum::<u64>(), rows.len()), (count as u64, 3));
    let rows = rows_of(&mut Rotation::new(i64::MAX, 1, false, false), &narrow);
    assert_eq!(rows, [count as u64], "only fb shards have tables");
    // 100 views of the same 64 MiB: 6.25 GiB of values.
    let width = 64 << 20;
    let column = Column::scattered(Buf::from(vec![0; width]), vec![0; 100], width).unwrap();
    let field = x(DType::UInt8, &[width as u64]);
    let heavy = Batch::new(schema(vec![field]), 100, vec![column]).unwrap();
    let rows = rows_of(&mut Rotation::new(i64::MAX, 1, true, false), &heavy);
    assert!(rows.iter().all(|n| *n > 0 && n * width as u64 + (1 << 20) < 2 << 30), "{rows:?}");
    assert_eq!(rows.iter().sum::<u64>(), 100);
}

#[test]
fn an_older_version_can_be_asked_for_and_stays() {
    let root = MemoryRoot::new();
    let mut structure = structure(ShardType::Fb, 4);
    structure.sedpack_version = "0.1.4".to_owned();
    let field = x(DType::Int8, &[]);
    create(&root, schema(vec![field.clone()]), &structure, &Object::new()).unwrap();
    let version = || {
        let dataset = kit::open(Arc::new(root.clone())).unwrap();
        let metadata = dataset.info().native.get("metadata").unwrap().clone();
        metadata.get("sedpack_version").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(version(), "0.1.4");
    let options = FillerOptions::default();
    let mut filler = Filler::open(Arc::new(root.clone()), &RelPath::root(), options).unwrap();
    filler.write("train", &batch(field, &[b"a"])).unwrap();
    filler.finish().unwrap();
    assert_eq!(version(), "0.1.4");
    for (wrong, code) in [("0.2", codes::VERSION_INVALID), ("9.0.0", codes::VERSION_TOO_NEW)] {
        structure.sedpack_version = wrong.to_owned();
        let root = MemoryRoot::new();
        let fields = schema(vec![x(DType::Int8, &[])]);
        assert_eq!(create(&root, fields, &structure, &Object::new()).unwrap_err().code(), code);
        assert_eq!(root.files(), []);
    }
}

#[test]
fn full_shards_end_and_the_last_may_be_short() {
    let field = x(DType::UInt8, &[]);
    let (root, mut filler) = filler(ShardType::Fb, field.clone());
    let values: Vec<[u8; 1]> = (0..10).map(|n| [n]).collect();
    let rows: Vec<&[u8]> = values.iter().map(|v| &v[..]).collect();
    filler.write("train", &batch(field.clone(), &rows[..3])).unwrap();
    filler.write("train", &batch(field, &rows[3..])).unwrap();
    filler.finish().unwrap();
    let train = kit::open(Arc::new(root)).unwrap().collection("train").unwrap();
    let shards: Vec<_> = train.shards(0).map(|s| s.unwrap()).collect();
    assert_eq!(shards.iter().map(|s| s.rows).collect::<Vec<_>>(), [4, 4, 2]);
    for shard in shards {
        let parts: Vec<_> = shard.path.components().map(str::len).collect();
        assert_eq!(parts, [5, 10, 10, 10, 35]);
        assert!(shard.path.as_str().ends_with(".fb"));
        let hex = shard.path.as_str()["train/".len()..].trim_end_matches(".fb").replace('/', "");
        assert!(hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{hex}");
    }
}

#[test]
fn a_full_disk_is_an_error_at_once() {
    let field = x(DType::UInt8, &[]);
    let memory = MemoryRoot::new();
    let structure = structure(ShardType::Fb, 1);
    create(&memory, schema(vec![field.clone()]), &structure, &Object::new()).unwrap();
    let before = memory.read(&path("dataset_info.json")).unwrap();
    let faulty: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(memory.clone(), 7));
    let start = std::time::Instant::now();
    let mut filler = Filler::open(faulty, &RelPath::root(), FillerOptions::default()).unwrap();
    let one = batch(field, &[b"a"]);
    let error = (0..100).find_map(|_| filler.write("train", &one).err()).unwrap();
    assert_eq!((error.code(), error.kind()), ("io/fault", Kind::Io));
    assert!(filler.write("train", &one).is_err(), "a filler that failed takes nothing more");
    drop(filler);
    assert!(start.elapsed().as_secs() < 30);
    assert_eq!(memory.read(&path("dataset_info.json")).unwrap(), before);
}
