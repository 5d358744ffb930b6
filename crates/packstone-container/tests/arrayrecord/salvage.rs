//! Files whose end is lost get a new one.

use packstone_container::array_record::{Placer, WriteError, WriterOptions};

use crate::kit::{Bad, Golden, all, open, salvage};
use crate::rewrite::exact;

/// The file with a new end.
fn mended(bytes: &[u8], options: Option<&WriterOptions>) -> Result<Vec<u8>, WriteError> {
    let salvaged = salvage(bytes);
    let options = options.unwrap_or(&salvaged.options).clone();
    let start = bytes[..salvaged.end as usize].to_vec();
    Ok(Placer::resume(start, &options, salvaged)?.finish()?.out)
}

#[test]
fn whole_files_are_found_whole() {
    for golden in Golden::all() {
        let reader = golden.reader();
        let salvaged = salvage(&golden.bytes);
        assert!(salvaged.damage.is_none());
        assert_eq!(salvaged.records(), reader.len());
        let entries: Vec<_> = (0..reader.chunk_count()).map(|n| reader.entry(n).unwrap()).collect();
        assert_eq!(salvaged.entries, entries, "{}", golden.name);
        assert_eq!(salvaged.end, reader.footer_offset(), "{}", golden.name);
        assert_eq!(salvaged.options.stored(), reader.writer_options().unwrap());
        let transpose = salvaged.options.transpose;
        match mended(&golden.bytes, None) {
            Ok(bytes) => {
                let same = bytes == golden.bytes;
                assert!(same || !exact(salvaged.options.compression), "{}", golden.name);
                assert_eq!(all(&open(&bytes).unwrap()).unwrap(), golden.records());
            }
            Err(error) => assert!(matches!(error, WriteError::Transpose) && transpose),
        }
    }
}

#[test]
fn a_lost_end_is_made_again() {
    let golden = Golden::named("three_zstd");
    for name in [
        "post_zero",
        "post_chunk_header",
        "footer_data",
        "footer_hdr",
        "trunc_65536",
        "append_block",
    ] {
        assert!(mended(&Bad::named(name).bytes, None).unwrap() == golden.bytes, "{name}");
    }
    let golden = Golden::named("three_none");
    for name in
        ["sealed_magic_all", "sealed_num_chunks_0", "sealed_entry_group_2", "footer_data_none"]
    {
        assert!(mended(&Bad::named(name).bytes, None).unwrap() == golden.bytes, "{name}");
    }
    // Without a footer, groups and padding are known by their looks, levels are not.
    for name in ["pad_true_zstd", "zstd_neg5_g7"] {
        let golden = Golden::named(name);
        let footer = golden.number("footer_offset") as usize;
        let bytes = mended(&golden.bytes[..footer], None).unwrap();
        assert_eq!(all(&open(&bytes).unwrap()).unwrap(), golden.records(), "{name}");
        let options = golden.text("options").parse().unwrap();
        assert!(mended(&golden.bytes[..footer], Some(&options)).unwrap() == golden.bytes, "{name}");
    }
}

#[test]
fn whatever_is_whole_in_front_of_damage_is_kept() {
    let golden = Golden::named("zstd_neg5_g7");
    let reader = golden.reader();
    let records = golden.records();
    for len in 0..1200 {
        let bytes = &golden.bytes[..len];
        let salvaged = salvage(bytes);
        let ends = (0..reader.chunk_count()).filter(|n| {
            let next = reader.entry(n + 1).map_or(reader.footer_offset(), |entry| entry.offset);
            next <= len as u64
        });
        assert_eq!(salvaged.entries.len(), ends.count(), "{len}");
        let whole = len < 64 || salvaged.end == len as u64;
        assert_eq!(salvaged.damage.is_none(), whole, "{len}");
        if len >= 64 {
            let options = salvaged.options.clone();
            let kept = salvaged.records() as usize;
            let mended = mended(bytes, Some(&options)).unwrap();
            assert_eq!(all(&open(&mended).unwrap()).unwrap(), records[..kept], "{len}");
        }
    }
    let options = WriterOptions::default().with_group_size(5);
    assert!(matches!(
        mended(&golden.bytes, Some(&options)),
        Err(WriteError::Group { expected: 5, found: 7 })
    ));
}
