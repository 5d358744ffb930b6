//! The original's files give the original's records, in every way of reading.

use std::sync::Arc;

use packstone::format::{Format, ReadContext};
use packstone::formats::arrayrecord::ArrayRecord;
use packstone::json::Value;
use packstone::model::DType;
use packstone::ops::gather;
use packstone::{Limits, Root};

use super::files::Golden;
use super::kit::{bytes, check, open, records, root, values};

#[test]
fn records_are_those_of_the_original() {
    for golden in Golden::all() {
        let expected: Vec<Vec<u8>> = golden.records().iter().map(|r| r.to_vec()).collect();
        let dataset = open(&golden.bytes).unwrap();
        assert_eq!(dataset.collections(), ["records"], "{}", golden.name);
        let field = &dataset.schema().fields[0];
        assert_eq!((field.key.to_string(), &field.dtype), ("record".into(), &DType::Bytes));
        assert_eq!(records(dataset.as_ref(), "records").unwrap(), expected, "{}", golden.name);
        assert_eq!(check(&golden.bytes, false), [], "{}", golden.name);
        assert_eq!(check(&golden.bytes, true), []);
        let native = &dataset.info().native;
        assert_eq!(native.get("writer_options"), golden.real("writer_options"), "{}", golden.name);
        let number = |name: &str| native.get(name).and_then(Value::as_u64).unwrap();
        assert_eq!(number("records"), expected.len() as u64);
        assert_eq!(number("chunks"), golden.numbers("record_chunk_offsets").len() as u64);
        assert_eq!(number("footer_offset"), golden.number("footer_offset"));
        assert_eq!(number("file_bytes"), golden.bytes.len() as u64);
        let sum: usize = expected.iter().map(Vec::len).sum();
        assert_eq!(number("record_bytes"), sum as u64);
    }
}

#[test]
fn any_samples_are_read_by_index() {
    for golden in Golden::all() {
        let expected = golden.records();
        let dataset = open(&golden.bytes).unwrap();
        let collection = dataset.collection("records").unwrap();
        let len = collection.len();
        let mut context = ReadContext::default();
        if len > 0 {
            let indices: Vec<u64> = (0..20).map(|n| n * 7919 % len).chain([len - 1, 0]).collect();
            let batch = gather(collection.as_ref(), &indices, None, &mut context).unwrap();
            let want: Vec<Vec<u8>> =
                indices.iter().map(|i| expected[*i as usize].to_vec()).collect();
            assert_eq!(values(&batch, 0), want, "{}", golden.name);
        }
        let past = gather(collection.as_ref(), &[len], None, &mut context).unwrap_err();
        assert_eq!(past.code(), "ops/index_out_of_range");
        for from in [0, len / 3, len.saturating_sub(1), len] {
            let first = collection.shards(from).next();
            assert_eq!(first.is_some(), from < len, "{} {from}", golden.name);
            if let Some(shard) = first {
                let shard = shard.unwrap();
                assert!((shard.first..shard.first + shard.rows).contains(&from));
                let row = (from - shard.first) as usize;
                let rows = collection.read_rows(&shard, &[row, row], None, &mut context).unwrap();
                assert_eq!(values(&rows, 0), vec![expected[from as usize].to_vec(); 2]);
                assert!(
                    collection
                        .read_rows(&shard, &[shard.rows as usize], None, &mut context)
                        .is_err()
                );
                assert!(collection.stored_bytes(&shard).unwrap() <= golden.bytes.len() as u64);
            }
        }
    }
}

#[test]
fn several_files_are_one_dataset() {
    let names = ["three_zstd", "empty", "zstd_neg5_g7", "one_none"];
    let goldens = names.map(Golden::named);
    let roots: Vec<Arc<dyn Root>> = goldens.iter().map(|golden| root(&golden.bytes)).collect();
    let expected = goldens.iter().flat_map(|golden| golden.records());
    let expected: Vec<Vec<u8>> = expected.map(|record| record.to_vec()).collect();
    let dataset = ArrayRecord.open_many(roots, &Limits::default()).unwrap();
    assert_eq!(records(dataset.as_ref(), "records").unwrap(), expected);
    let collection = dataset.collection("records").unwrap();
    let last = expected.len() as u64 - 1;
    let indices = [last, 0, 3, 2, last];
    let batch = gather(collection.as_ref(), &indices, None, &mut ReadContext::default()).unwrap();
    let want: Vec<Vec<u8>> = indices.iter().map(|i| expected[*i as usize].clone()).collect();
    assert_eq!(values(&batch, 0), want);
    assert_eq!(collection.shard_count(), 4);
}

#[test]
fn files_are_recognized_by_name_or_by_how_they_begin() {
    use packstone::{MemoryRoot, RelPath, RootMut};
    use packstone_io::SoleFile;
    let golden = Golden::named("one_none").bytes;
    for (name, content, known) in [
        ("x.arrayrecord", &b""[..], true),
        ("x.array_record", b"anything", true),
        ("x.array_record-00000-of-00002", &golden, true),
        ("x.bin", &golden, true),
        ("x.bin", &golden[..63], false),
        ("arrayrecord", b"", false),
    ] {
        let path = RelPath::new(name).unwrap();
        let file = SoleFile::new(MemoryRoot::new(), path.clone(), name);
        file.create(&path, content).unwrap();
        assert_eq!(ArrayRecord.recognizes(&file).unwrap(), known, "{name}");
    }
    assert!(!ArrayRecord.recognizes(&MemoryRoot::new()).unwrap());
    let folder: Arc<dyn Root> = Arc::new(MemoryRoot::new());
    let refused = ArrayRecord.open(folder, &Limits::default()).err().unwrap();
    assert_eq!(refused.code(), "arrayrecord/not_a_file");
    assert_eq!(bytes(root(&golden).as_ref()), golden);
}
