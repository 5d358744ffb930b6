//! Files of the original library read and written, other layouts, and hostile bytes.

use packstone_io::Buf;

use super::*;

/// Two bools, one text, one integer and one double column, as DatasetRT's library writes them.
fn golden(case: &str) -> Vec<u8> {
    let root =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datasetrt");
    std::fs::read(root.join(case).join("metadata.arrow")).unwrap()
}

fn file(bytes: impl Into<Vec<u8>>) -> Result<ArrowFile, ArrowError> {
    ArrowFile::read(Buf::from(bytes.into()))
}

fn written(table: &Table, batch_rows: usize) -> Vec<u8> {
    let mut out = Vec::new();
    write_file::<ArrowError>(table, batch_rows, &mut |bytes| {
        out.extend_from_slice(bytes);
        Ok(())
    })
    .unwrap();
    out
}

const WHOLE: [&str; 10] = [
    "v3_basic_none/data/basic_none_s1",
    "v3_basic_lz4/data/basic_lz4_s1",
    "v3_many_columns/data/many_columns_s1",
    "v3_many_rows/data/many_rows_s1",
    "v3_single_sample/data/single_sample_s1",
    "v3_type_edges/data/type_edges_s1",
    "v3_nonfinite/data/nonfinite_s1",
    "v3_unicode/data/cache with space",
    "v3_one_per_shard/data/one_per_shard_s1",
    "v2_shards_lz4/data/shards_lz4_s1",
];

#[test]
fn files_of_the_library_are_written_again_byte_for_byte() {
    for case in WHOLE {
        let bytes = golden(case);
        let read = file(bytes.clone()).unwrap();
        let table = read.table().unwrap();
        assert_eq!(table.rows() as u64, read.rows(), "{case}");
        assert!(read.fields().iter().all(|field| !field.nullable), "{case}");
        assert!(written(&table, usize::MAX) == bytes, "{case}");
    }
}

#[test]
fn values_are_those_of_the_library() {
    let read = file(golden("v3_basic_none/data/basic_none_s1")).unwrap();
    let fields: Vec<_> = read.fields().iter().map(|f| (f.name.as_str(), f.kind)).collect();
    use ColumnKind::*;
    assert_eq!(fields, [("flag", Bool), ("label", Utf8), ("rank", Int64), ("score", Float64)]);
    assert_eq!((read.rows(), read.batches()), (6, 1));
    assert_eq!(read.cell(0, 5), Ok(Cell::Bool(true)));
    assert_eq!(read.cell(1, 1), Ok(Cell::Utf8("Füchse1")));
    assert_eq!(read.cell(2, 1), Ok(Cell::Int64(-562054347199)));
    assert_eq!(read.cell(3, 5), Ok(Cell::Float64(f64::from_bits(0xc063d59000000000))));
    for (column, row) in [(4, 0), (0, 6), (0, u64::MAX)] {
        assert_eq!(read.cell(column, row), Err(ArrowError::NoCell { column, row }));
    }
}

#[test]
fn other_layouts_hold_the_same_columns() {
    let want = file(golden("v3_basic_none/data/basic_none_s1")).unwrap().table().unwrap();
    for (name, batches) in
        [("other_writer", 1), ("three_batches", 3), ("nullable_schema", 1), ("schema_metadata", 2)]
    {
        let read = file(golden(&format!("v3_arrow_variants/data/{name}"))).unwrap();
        assert_eq!(read.batches(), batches, "{name}");
        assert_eq!(read.table().unwrap(), want, "{name}");
        assert!((0..4).all(|column| read.nulls(column) == Ok(0)), "{name}");
        assert_eq!(read.fields()[0].nullable, name == "nullable_schema");
    }
    assert_eq!(file(golden("v3_zero_samples/data/empty")).unwrap().rows(), 0);
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    for (case, message) in [
        ("arrow_empty", "expected an Arrow IPC file, found no bytes"),
        ("arrow_stream", "expected an Arrow IPC file, found an IPC stream"),
        ("arrow_truncated", "expected an Arrow IPC file, found one that does not end in ARROW1"),
        ("arrow_lz4_buffers", "expected plain columns, found compressed buffers"),
        (
            "arrow_wrong_type",
            "expected a column of bool, int64, uint64, float64 or utf8, found a 32-bit integer in \"rank\"",
        ),
    ] {
        let error = file(golden(&format!("bad/{case}/data/cache"))).unwrap_err();
        assert_eq!(error.to_string(), message, "{case}");
    }
    let null = file(golden("bad/arrow_null/data/cache")).unwrap();
    assert_eq!(null.nulls(2), Ok(1));
    assert_eq!(null.cell(2, 0), Ok(Cell::Null));
    assert_eq!(null.table().unwrap().column("rank").unwrap().nulls(), 1);
}

/// A file with every kind, nulls, and batches that end between the bits of a byte.
fn mixed() -> Table {
    let valid: Bitmap = (0..21).map(|row| row % 5 != 1).collect();
    let numbers: Vec<u64> = (0..21).map(|n| u64::MAX - n).collect();
    Table::new([
        ("".to_owned(), Column::new(Values::Bool((0..21).map(|n| n % 3 == 0).collect()))),
        ("u".to_owned(), Column::with_validity(Values::UInt64(numbers), valid).unwrap()),
        ("f".to_owned(), Column::new(Values::Float64((0..21).map(f64::from).collect()))),
        ("i".to_owned(), Column::new(Values::Int64((-10..11).collect()))),
        ("😀".to_owned(), Column::new(Values::Utf8((0..21).map(|n| "é".repeat(n)).collect()))),
    ])
    .unwrap()
}

#[test]
fn what_is_written_reads_back_in_batches_of_any_size() {
    let table = mixed();
    for rows in [1, 3, 8, 20, 21, 1000] {
        let read = file(written(&table, rows)).unwrap();
        assert_eq!(read.batches(), 21usize.div_ceil(rows));
        let back = read.table().unwrap();
        for ((name, want), (other, found)) in table.columns().zip(back.columns()) {
            assert_eq!(name, other);
            assert!((0..21).all(|row| want.get(row) == found.get(row)), "{name} by {rows}");
        }
        assert_eq!(read.nulls(1), Ok(4));
        assert!(read.fields()[1].nullable && !read.fields()[0].nullable);
    }
    let none = Table::new([("a".to_owned(), Column::empty(ColumnKind::Utf8))]).unwrap();
    let read = file(written(&none, 10)).unwrap();
    assert_eq!((read.rows(), read.batches(), read.fields().len()), (0, 1, 1));
}

#[test]
fn rows_are_selected_from_one_batch_or_many() {
    let table = mixed();
    let orders: [&[u64]; 6] = [&[], &[20], &[0, 1, 2, 3], &[7, 3, 3, 20, 0], &[9, 8], &[1, 6]];
    for batch_rows in [3, 8, 1000] {
        let read = file(written(&table, batch_rows)).unwrap();
        for rows in orders {
            for number in 0..5 {
                let selected = read.select(number, rows).unwrap();
                assert_eq!(
                    (selected.len(), selected.kind()),
                    (rows.len(), read.fields()[number].kind)
                );
                for (at, row) in rows.iter().enumerate() {
                    assert_eq!(selected.get(at), read.cell(number, *row).ok());
                }
            }
        }
        for rows in [&[21][..], &[0, 21], &[u64::MAX]] {
            let row = *rows.last().unwrap();
            assert_eq!(read.select(3, rows), Err(ArrowError::NoCell { column: 3, row }));
        }
        assert_eq!(read.select(5, &[0]), Err(ArrowError::NoCell { column: 5, row: 0 }));
        assert_eq!(read.select(5, &[]), Err(ArrowError::NoCell { column: 5, row: 0 }));
    }
}

fn each(column: &Column) -> Vec<Cell<'_>> {
    (0..column.len()).filter_map(|row| column.get(row)).collect()
}

/// Looks at everything that a file has.
fn look(bytes: &[u8]) {
    if let Ok(read) = file(bytes) {
        let rows = read.rows().min(1000);
        for column in 0..read.fields().len() {
            let _ = read.nulls(column);
            for row in 0..rows {
                let _ = read.cell(column, row);
            }
            let some: Vec<u64> = (0..rows).rev().step_by(2).collect();
            let cells: Result<Vec<_>, _> = some.iter().map(|row| read.cell(column, *row)).collect();
            let selected = read.select(column, &some);
            let selected = selected.as_ref().map(each);
            // Not by value: NaN differs from itself.
            assert_eq!(format!("{selected:?}"), format!("{:?}", cells.as_ref()));
        }
        let _ = read.table();
    }
}

#[test]
fn every_cut_is_refused_and_no_flip_does_harm() {
    for bytes in [written(&mixed(), 8), golden("v3_arrow_variants/data/three_batches")] {
        for len in 0..bytes.len() {
            assert!(file(&bytes[..len]).is_err(), "cut to {len}");
        }
        for at in 0..bytes.len() {
            for mask in [1, 0x80, 0xff] {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                look(&flipped);
            }
        }
    }
}

#[test]
fn a_batch_that_is_listed_many_times_is_refused() {
    let bytes = written(&mixed(), 21);
    let read = file(bytes.clone()).unwrap();
    assert_eq!(read.batches(), 1);
    // The file with a footer that lists its one batch a hundred thousand times.
    let footer_len = i32::from_le_bytes(bytes[bytes.len() - 10..][..4].try_into().unwrap());
    let start = bytes.len() - 10 - footer_len as usize;
    let block: [u8; 24] = bytes[bytes.len() - 42..][..24].try_into().unwrap();
    let footer = write::footer(&mixed(), &vec![block; 100_000]);
    let mut hostile = bytes[..start].to_vec();
    hostile.extend(&footer);
    hostile.extend(i32::try_from(footer.len()).unwrap().to_le_bytes());
    hostile.extend(b"ARROW1");
    let error = file(hostile).unwrap_err().to_string();
    assert!(error.contains("expected batches that do not overlap"), "{error}");
}

#[test]
fn bits_of_validity_count_also_where_the_batch_counts_no_null() {
    let mut bytes = golden("v3_basic_none/data/basic_none_s1");
    assert_eq!(bytes[0x2c0], 0xff);
    bytes[0x2c0] = 0b1111_0111;
    assert_eq!(file(bytes.clone()).unwrap().nulls(0), Ok(1));
    // Beyond the six rows they do not.
    bytes[0x2c0] = 0b0011_1111;
    assert_eq!(file(bytes).unwrap().nulls(0), Ok(0));
}

#[test]
fn a_text_is_checked_when_it_is_asked_for() {
    let mut bytes = golden("v3_basic_none/data/basic_none_s1");
    assert_eq!(&bytes[0x3c0..0x3c4], b"cat0");
    bytes[0x3c1] = 0xff;
    let read = file(bytes).unwrap();
    assert_eq!(read.cell(1, 0), Err(ArrowError::Text { column: 1, row: 0 }));
    assert_eq!(read.cell(1, 1), Ok(Cell::Utf8("Füchse1")));
    assert!(read.table().is_err());
    assert_eq!(read.select(1, &[1, 2, 0, 0]), Err(ArrowError::Text { column: 1, row: 0 }));
    assert_eq!(read.select(1, &[2, 1]).unwrap().get(1), Some(Cell::Utf8("Füchse1")));
    // Both ends of a character that a text's end cuts in two.
    let mut bytes = golden("v3_basic_none/data/basic_none_s1");
    let ends = 0x3c0 - 64;
    assert_eq!(&bytes[ends..ends + 8], [0, 0, 0, 0, 4, 0, 0, 0]);
    bytes[ends + 4] = 6;
    let read = file(bytes).unwrap();
    assert_eq!(read.select(1, &[0, 1]), Err(ArrowError::Text { column: 1, row: 0 }));
}

/// A table that was changed, as the library tells it to its workers.
#[test]
fn wider_reading_takes_halved_numbers_and_large_texts() {
    let bytes = golden("bundles/replaced");
    let found = file(bytes.clone()).unwrap_err();
    assert_eq!(
        found,
        ArrowError::Type { column: "label".to_owned(), found: "large utf8" },
        "strict reading takes none of these"
    );
    let read = ArrowFile::read_wider(Buf::from(bytes.clone())).unwrap();
    use Cell::*;
    let row = |row| (7..15).map(|column| read.cell(column, row).unwrap()).collect::<Vec<_>>();
    let last = |value: f32| Float64(value.into());
    let (least, most) = (Int64(i32::MIN.into()), UInt64(u32::MAX.into()));
    let first = [Utf8("a"), Int64(1), Bool(true), UInt64(1), Float64(1.5), least, most, last(0.1)];
    assert_eq!(row(0), first);
    assert_eq!(row(1), [Null, Int64(2), Null, UInt64(2), Null, Null, UInt64(0), Null]);
    assert_eq!(row(2)[..3], [Utf8("é"), Null, Bool(false)]);
    assert_eq!(row(4)[5..], [Int64(i32::MAX.into()), UInt64(1), last(0.0)]);
    assert_eq!(read.cell(3, 3), Ok(Utf8("dog1")));
    let table = read.table().unwrap();
    assert_eq!((table.rows(), table.columns().len()), (5, 15));
    // Written again, they are of the full width.
    assert_eq!(
        file(written(&table, 3)).unwrap().table().unwrap().column("u32"),
        table.column("u32")
    );
    for cut in 0..bytes.len() {
        if let Ok(read) = ArrowFile::read_wider(Buf::from(bytes[..cut].to_vec())) {
            let _ = read.table();
        }
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x81;
        if let Ok(read) = ArrowFile::read_wider(Buf::from(changed)) {
            let _ = read.table();
        }
    }
}
