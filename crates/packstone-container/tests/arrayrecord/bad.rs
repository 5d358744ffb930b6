//! Every damaged file gets its due verdict: what it is called, where it is noticed, and what can still be read.

use packstone_container::json::Value;

use crate::kit::{Bad, Golden, all, findings, open};

/// The file; why it does not open, or which of its records cannot be read and why; what verifying it reports.
#[rustfmt::skip]
const VERDICTS: &[(&str, &str, &str)] = &[
    ("append_1", "open file_size", "file_size chunk_outside"),
    ("append_block", "open postscript_damaged", "postscript_damaged block_header_hash"),
    ("block_header_in_data", "0 block_header_hash", "block_header_hash"),
    ("block_header_unrelated", "2 block_header_hash", "block_header_hash"),
    ("block_prev_in_data", "0 block_header_hash", "block_header_hash"),
    ("data_first", "2 chunk_data_hash", "chunk_data_hash"),
    ("data_last_none", "2 chunk_data_hash", "chunk_data_hash"),
    ("data_middle", "2 chunk_data_hash", "chunk_data_hash"),
    ("footer_data", "open footer_damaged", "footer_damaged chunk_data_hash"),
    ("footer_data_none", "open footer_damaged", "footer_damaged chunk_data_hash"),
    ("footer_hdr", "open footer_damaged", "footer_damaged chunk_header_hash"),
    ("hdr_data_hash", "1 chunk_header_hash", "chunk_header_hash"),
    ("hdr_data_size", "1 chunk_header_hash", "chunk_header_hash"),
    ("hdr_hash", "1 chunk_header_hash", "chunk_header_hash"),
    ("hdr_num_records", "1 chunk_header_hash", "chunk_header_hash"),
    ("hdr_type", "1 chunk_header_hash", "chunk_header_hash"),
    ("large_data", "0 chunk_data_hash", "chunk_data_hash"),
    ("padding_data", "", "padding_damaged"),
    ("post_block_header", "open postscript_damaged", "postscript_damaged block_header_hash"),
    ("post_chunk_header", "open postscript_damaged", "postscript_damaged chunk_header_hash"),
    ("post_data_copy1", "open postscript_damaged", "postscript_damaged chunk_data_hash"),
    ("post_data_copy3", "open postscript_damaged", "postscript_damaged chunk_data_hash"),
    ("post_padding", "", "padding_damaged"),
    ("post_prev_chunk", "open postscript_damaged", "postscript_damaged block_header_hash"),
    ("post_zero", "open postscript_damaged", "postscript_damaged block_header_hash"),
    ("sealed_chunk_has_2", "0 chunk_records", "chunk_records"),
    ("sealed_compression_unknown", "0 compression_type", "compression_type"),
    ("sealed_data_empty", "0 chunk_empty", "chunk_empty"),
    ("sealed_decoded_size_wrong", "0 record_sizes", "record_sizes"),
    ("sealed_entry_group_0", "open index_group", "index_group"),
    ("sealed_entry_group_2", "open index_group", "index_group"),
    ("sealed_entry_offset_beyond", "open index_offset", "index_offset"),
    ("sealed_entry_offset_swapped", "open index_offset", "index_offset"),
    ("sealed_entry_offset_wrong", "1 chunk_header_hash", "chunk_unindexed chunk_header_hash"),
    ("sealed_entry_size_wrong", "", "entry_size"),
    ("sealed_footer_offset_0", "open footer_offset", "footer_offset"),
    ("sealed_footer_offset_beyond", "open footer_offset", "footer_offset"),
    ("sealed_footer_offset_block_header", "open footer_offset", "footer_offset"),
    ("sealed_footer_offset_off_by_1", "open footer_damaged", "footer_damaged"),
    ("sealed_footer_offset_postscript", "open footer_offset", "footer_offset"),
    ("sealed_footer_offset_record", "open metadata_invalid", "metadata_invalid"),
    ("sealed_magic_all", "open postscript_invalid", "postscript_invalid"),
    ("sealed_magic_first", "open postscript_invalid", "postscript_invalid"),
    ("sealed_magic_missing", "open postscript_invalid", "postscript_invalid"),
    ("sealed_magic_others", "", "postscript_copies"),
    ("sealed_meta_empty", "open metadata_invalid", "metadata_invalid"),
    ("sealed_meta_garbage", "open metadata_invalid", "metadata_invalid"),
    ("sealed_num_chunks_0", "open index_count", "index_count"),
    ("sealed_num_chunks_2", "open index_count", "index_count"),
    ("sealed_num_chunks_4", "open index_count", "index_count"),
    ("sealed_num_records_0_chunk", "0 chunk_records", "chunk_records"),
    ("sealed_num_records_2", "open index_records", "index_records"),
    ("sealed_num_records_5", "open index_records", "index_records"),
    ("sealed_post_no_footer_offset", "open postscript_invalid", "postscript_invalid"),
    ("sealed_post_not_proto", "open postscript_invalid", "postscript_invalid"),
    ("sealed_post_one_copy", "", "postscript_copies"),
    ("sealed_sizes_extra", "0 record_sizes", "record_sizes"),
    ("sealed_sizes_too_big", "0 record_sizes", "record_sizes"),
    ("sealed_sizes_too_small", "0 record_sizes", "record_sizes"),
    ("sealed_type_unknown", "0 chunk_type", "chunk_type"),
    ("sealed_values_extra", "0 record_values", "record_values"),
    ("sealed_version_0", "open version", "version"),
    ("sealed_version_2", "open version", "version"),
    ("sig_block_header", "", "signature_damaged"),
    ("sig_chunk_header", "", "signature_damaged"),
    ("sig_type", "", "signature_damaged"),
    ("swap_middle", "open footer_offset", "footer_offset block_header_link chunk_header_hash"),
    ("tr_data", "30-39 chunk_data_hash", "chunk_data_hash"),
    ("trunc_0", "open file_size", "file_size"),
    ("trunc_100", "open file_size", "file_size chunk_outside"),
    ("trunc_65535", "open file_size", "file_size chunk_outside"),
    ("trunc_65536", "open file_size", "file_size"),
    ("trunc_minus_1", "open file_size", "file_size chunk_outside"),
    ("trunc_minus_4096", "open file_size", "file_size chunk_outside"),
];

/// What becomes of a file; records that can be read must be those of the whole file.
fn verdict(bad: &Bad) -> String {
    let reader = match open(&bad.bytes) {
        Ok(reader) => reader,
        Err(error) => return format!("open {}", error.code()),
    };
    let records = Golden::named(&bad.base).records();
    assert_eq!(reader.len(), records.len() as u64, "{}", bad.name);
    let mut decoder = reader.decoder();
    let mut lost: Vec<(u64, &str)> = Vec::new();
    for (number, record) in (0..).zip(&records) {
        match reader.record(number, &mut decoder) {
            Ok(found) => assert_eq!(&found, record, "{} {number}", bad.name),
            Err(error) => lost.push((number, error.code())),
        }
    }
    match lost[..] {
        [] => String::new(),
        [(only, code)] => format!("{only} {code}"),
        [(first, code), .., (last, _)] => {
            assert!(lost.iter().all(|(_, other)| *other == code));
            assert_eq!(lost.len() as u64, last - first + 1);
            format!("{first}-{last} {code}")
        }
    }
}

#[test]
fn damage_is_called_what_it_is() {
    let bad = Bad::all();
    let names = bad.iter().map(|bad| &bad.name);
    assert!(names.eq(VERDICTS.iter().map(|(name, ..)| name)));
    for (bad, (name, expected, reported)) in bad.iter().zip(VERDICTS) {
        assert_eq!(verdict(bad), *expected, "{name}");
        let found: Vec<&str> = findings(&bad.bytes).iter().map(|finding| finding.code()).collect();
        assert_eq!(found.join(" "), *reported, "{name}");
    }
}

#[test]
fn findings_know_their_place_and_whether_records_are_lost() {
    for (bad, (name, expected, _)) in Bad::all().iter().zip(VERDICTS) {
        let found = findings(&bad.bytes);
        assert!(found.iter().all(|finding| finding.offset().is_some()), "{name}");
        assert_eq!(
            found.iter().any(|finding| finding.unreadable()),
            !expected.is_empty(),
            "{name}"
        );
    }
}

/// What the original reads without complaint is read here, too, unless it reads what is not there.
#[test]
fn nothing_is_refused_that_the_original_reads_right() {
    let made_up = ["sealed_chunk_has_2", "sealed_num_records_0_chunk"];
    for bad in Bad::all() {
        let same = |name| bad.real.get(name).and_then(Value::as_str) == Some("same");
        let read = same("sequential") && same("by_index");
        if read && !made_up.contains(&&*bad.name) {
            let records = all(&open(&bad.bytes).unwrap()).unwrap();
            assert_eq!(records, Golden::named(&bad.base).records(), "{}", bad.name);
        }
    }
}

/// Reading one after another goes on behind damage, and so does gathering for those who ask for others.
#[test]
fn damage_costs_only_the_records_of_its_chunk() {
    for name in ["data_middle", "hdr_hash", "block_header_unrelated", "tr_data"] {
        let bad = Bad::named(name);
        let records = Golden::named(&bad.base).records();
        let reader = open(&bad.bytes).unwrap();
        let mut decoder = reader.decoder();
        let mut number = 0;
        let read: Vec<_> = reader.records(0..reader.len(), &mut decoder).unwrap().collect();
        for item in read {
            match item {
                Ok(record) => {
                    assert_eq!(record, records[number], "{name} {number}");
                    number += 1;
                }
                Err(packstone_container::array_record::ArrayRecordError::Chunk {
                    records, ..
                }) => {
                    assert_eq!(records.start, number as u64, "{name}");
                    number = records.end as usize;
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
        assert_eq!(number, records.len(), "{name}");
        assert!(
            reader.gather(&[0, 1, 2, reader.len() - 1], &mut decoder).is_err() || name == "tr_data"
        );
        let whole: Vec<u64> =
            (0..reader.len()).filter(|n| reader.record(*n, &mut decoder).is_ok()).collect();
        let gathered = reader.gather(&whole, &mut decoder).unwrap();
        assert!(gathered.iter().eq(whole.iter().map(|n| &records[*n as usize])), "{name}");
    }
}
