//! What the real library reads from its files is read from them, in every way there is.

use packstone_container::digest::{Algorithm, Hasher, hex, sha256};
use packstone_container::json::Value;
use packstone_io::Buf;

use crate::kit::{Golden, all, findings};

fn digest(records: &[Buf]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    for record in records {
        hasher.update(&(record.len() as u64).to_le_bytes());
        hasher.update(record);
    }
    hasher.finish_hex()
}

#[test]
fn records_are_those_of_the_original() {
    for golden in Golden::all() {
        let name = &golden.name;
        let reader = golden.reader();
        let records = all(&reader).unwrap();
        assert_eq!(
            golden.real("records_digest").unwrap().as_str().unwrap(),
            digest(&records),
            "{name}"
        );
        let chars = golden.real("sha256_chars").unwrap().as_u64().unwrap() as usize;
        let described = golden.real("records").and_then(Value::as_array).unwrap();
        assert_eq!(described.len(), records.len(), "{name}");
        for (described, record) in described.iter().zip(&records) {
            let described = described.as_array().unwrap();
            assert_eq!(described[0].as_u64(), Some(record.len() as u64), "{name}");
            assert_eq!(described[1].as_str(), Some(&hex(&sha256(record))[..chars]), "{name}");
        }
    }
}

#[test]
fn the_index_is_that_of_the_original() {
    for golden in Golden::all() {
        let name = &golden.name;
        let reader = golden.reader();
        assert_eq!(reader.len(), golden.real("num_records").unwrap().as_u64().unwrap(), "{name}");
        assert_eq!(reader.is_empty(), name == "empty");
        assert_eq!(
            reader.writer_options(),
            golden.real("writer_options").unwrap().as_str(),
            "{name}"
        );
        assert_eq!(reader.footer_offset(), golden.number("footer_offset"), "{name}");
        assert_eq!(reader.file_len() - 65_536, golden.number("postscript_offset"), "{name}");
        let entries: Vec<_> = (0..reader.chunk_count()).map(|n| reader.entry(n).unwrap()).collect();
        let offsets: Vec<u64> = entries.iter().map(|entry| entry.offset).collect();
        assert_eq!(offsets, golden.numbers("record_chunk_offsets"), "{name}");
        assert_eq!(entries.iter().map(|entry| entry.records).sum::<u64>(), reader.len(), "{name}");
        assert_eq!(reader.entry(reader.chunk_count()), None);
    }
}

#[test]
fn all_ways_of_reading_agree() {
    for golden in Golden::all() {
        let name = &golden.name;
        let reader = golden.reader();
        let records = all(&reader).unwrap();
        let mut decoder = reader.decoder();
        for (number, record) in (0..).zip(&records) {
            assert_eq!(&reader.record(number, &mut decoder).unwrap(), record, "{name} {number}");
        }
        // Backwards, the ends once more, and every third twice.
        let count = reader.len();
        let thirds = (0..count).step_by(3).flat_map(|number| [number, number]);
        let ends = [0, count.saturating_sub(1)].into_iter().filter(|_| count > 0);
        let asked: Vec<u64> = (0..count).rev().chain(ends).chain(thirds).collect();
        let gathered = reader.gather(&asked, &mut decoder).unwrap();
        let wanted = asked.iter().map(|number| &records[*number as usize]);
        assert!(gathered.iter().eq(wanted), "{name}");
        // In runs, the last one first, as a pool of threads might.
        for bytes in [0, 1000, 1 << 20] {
            let mut runs: Vec<_> = reader.runs(0, bytes).collect();
            assert_eq!(
                runs.iter().map(|run| run.end - run.start).sum::<u64>(),
                reader.chunk_count()
            );
            runs.reverse();
            for run in runs {
                let span = reader.load(run.clone()).unwrap();
                assert_eq!(span.chunks(), run);
                for chunk in run {
                    let decoded = span.decode(chunk, &mut decoder).unwrap();
                    assert_eq!(decoded.first, reader.records_of(chunk).start, "{name} {chunk}");
                    let first = decoded.first as usize;
                    let expected = records[first..first + decoded.records.len()].iter();
                    assert!(
                        decoded.records.iter().eq(expected.map(|record| &record[..])),
                        "{name}"
                    );
                }
            }
        }
        // From the middle on.
        let some = reader.records(count / 2..count, &mut decoder).unwrap();
        assert!(
            some.map(Result::unwrap).eq(records[records.len() / 2..].iter().cloned()),
            "{name}"
        );
    }
}

#[test]
fn records_that_do_not_exist_are_errors() {
    for golden in Golden::all() {
        let reader = golden.reader();
        let mut decoder = reader.decoder();
        for index in [reader.len(), reader.len() + 1, u64::MAX] {
            let error = reader.record(index, &mut decoder).unwrap_err();
            assert_eq!((error.code(), error.offset()), ("record_index", None), "{error}");
            assert!(reader.gather(&[0, index], &mut decoder).is_err());
            assert!(reader.chunk(index, &mut decoder).is_err());
        }
        let beyond = reader.records(0..reader.len() + 1, &mut decoder).err().unwrap();
        assert_eq!(beyond.code(), "record_index");
    }
}

#[test]
fn golden_files_are_clean() {
    for golden in Golden::all() {
        let found = findings(&golden.bytes);
        assert!(found.is_empty(), "{}: {}", golden.name, found[0]);
    }
}

/// Uncompressed records are slices of the file wherever no block header lies in them.
#[test]
fn uncompressed_records_are_not_copied() {
    for name in ["three_none", "large_none"] {
        let golden = Golden::named(name);
        let file = Buf::from(golden.bytes);
        let reader = packstone_container::array_record::Reader::over(
            file.clone(),
            &Default::default(),
            Default::default(),
        )
        .unwrap();
        let range = file.as_ptr_range();
        for record in all(&reader).unwrap().iter().filter(|record| !record.is_empty()) {
            assert_eq!(range.contains(&record.as_ptr()), record.len() < 65_536, "{name}");
        }
    }
}
