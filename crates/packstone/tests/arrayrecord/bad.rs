//! Damage is found and called what it is; nothing panics, whatever is cut or flipped.

use packstone::model::Severity;
use packstone_testkit::{cut_points, flip_points};

use super::files::{Bad, Golden};
use super::kit::{check, open, records};

/// Damaged files by what opening them, or reading all of their records, is refused with.
const REFUSED: &[(&str, &str)] = &[
    (
        "file_size",
        "append_1 trunc_0 trunc_100 trunc_65535 trunc_65536 trunc_minus_1 trunc_minus_4096",
    ),
    (
        "postscript_damaged",
        "append_block post_block_header post_chunk_header post_data_copy1 post_data_copy3 post_prev_chunk post_zero",
    ),
    (
        "postscript_invalid",
        "sealed_magic_all sealed_magic_first sealed_magic_missing sealed_post_no_footer_offset sealed_post_not_proto",
    ),
    ("footer_damaged", "footer_data footer_data_none footer_hdr sealed_footer_offset_off_by_1"),
    (
        "footer_offset",
        "sealed_footer_offset_0 sealed_footer_offset_beyond sealed_footer_offset_block_header sealed_footer_offset_postscript swap_middle",
    ),
    ("metadata_invalid", "sealed_footer_offset_record sealed_meta_empty sealed_meta_garbage"),
    ("version", "sealed_version_0 sealed_version_2"),
    ("index_group", "sealed_entry_group_0 sealed_entry_group_2"),
    ("index_offset", "sealed_entry_offset_beyond sealed_entry_offset_swapped"),
    ("index_count", "sealed_num_chunks_0 sealed_num_chunks_2 sealed_num_chunks_4"),
    ("index_records", "sealed_num_records_2 sealed_num_records_5"),
    ("block_header_hash", "block_header_in_data block_header_unrelated block_prev_in_data"),
    ("chunk_data_hash", "data_first data_last_none data_middle large_data tr_data"),
    (
        "chunk_header_hash",
        "hdr_data_hash hdr_data_size hdr_hash hdr_num_records hdr_type sealed_entry_offset_wrong",
    ),
    ("chunk_records", "sealed_chunk_has_2 sealed_num_records_0_chunk"),
    ("chunk_empty", "sealed_data_empty"),
    ("chunk_type", "sealed_type_unknown"),
    ("compression_type", "sealed_compression_unknown"),
    (
        "record_sizes",
        "sealed_decoded_size_wrong sealed_sizes_extra sealed_sizes_too_big sealed_sizes_too_small",
    ),
    ("record_values", "sealed_values_extra"),
];

/// Files that can be read, by the warning of a check.
const ODD: &[(&str, &str)] = &[
    ("padding_damaged", "padding_data post_padding"),
    ("entry_size", "sealed_entry_size_wrong"),
    ("postscript_copies", "sealed_magic_others sealed_post_one_copy"),
    ("signature_damaged", "sig_block_header sig_chunk_header sig_type"),
];

fn expected<'t>(table: &[(&'t str, &'t str)], name: &str) -> Option<&'t str> {
    let of = |(_, names): &&(&str, &str)| names.split(' ').any(|known| known == name);
    table.iter().find(of).map(|(code, _)| *code)
}

#[test]
fn every_damaged_file_has_its_code() {
    for bad in Bad::all() {
        let read = open(&bad.bytes).and_then(|dataset| records(dataset.as_ref(), "records"));
        let found = check(&bad.bytes, false);
        let errors: Vec<&str> = found
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.code.strip_prefix("arrayrecord/").unwrap())
            .collect();
        match (expected(REFUSED, &bad.name), expected(ODD, &bad.name)) {
            (Some(code), None) => {
                let error = read.unwrap_err();
                assert_eq!(error.code(), format!("arrayrecord/{code}"), "{}", bad.name);
                assert_eq!(error.place().file.as_deref(), Some("x.arrayrecord"));
                assert_eq!(errors, [code], "{}", bad.name);
            }
            (None, Some(code)) => {
                let whole = Golden::named(&bad.base).records();
                assert!(
                    read.unwrap().iter().eq(whole
                        .iter()
                        .map(|r| r.to_vec())
                        .collect::<Vec<_>>()
                        .iter())
                );
                let codes: Vec<&str> = found.iter().map(|finding| finding.code).collect();
                assert_eq!(codes, [format!("arrayrecord/{code}")], "{}", bad.name);
                assert!(errors.is_empty());
            }
            _ => panic!("no verdict, or two, for {}", bad.name),
        }
        let quick = check(&bad.bytes, true);
        assert_eq!(quick.is_empty(), open(&bad.bytes).is_ok(), "{}", bad.name);
    }
}

#[test]
fn damage_harms_its_own_chunk_alone() {
    let bad = Bad::named("hdr_hash");
    let dataset = open(&bad.bytes).unwrap();
    let collection = dataset.collection("records").unwrap();
    let mut context = packstone::format::ReadContext::default();
    let mut one = |index| packstone::ops::gather(collection.as_ref(), &[index], None, &mut context);
    let lost = one(1).unwrap_err();
    assert_eq!((lost.code(), lost.place().record), ("arrayrecord/chunk_header_hash", Some(1)));
    assert_eq!(one(0).unwrap().columns()[0].bytes(0), Some(&b"hello"[..]));
    assert_eq!(one(2).unwrap().columns()[0].bytes(0), Some(&b"ArrayRecord!"[..]));
}

#[test]
fn cut_files_are_refused() {
    for name in ["three_brotli", "large_zstd", "tr_mixed_brotli"] {
        let whole = Golden::named(name).bytes;
        for cut in cut_points(whole.len(), 24) {
            let found = check(&whole[..cut], false);
            assert_eq!(found[0].code, "arrayrecord/file_size", "{name} cut at {cut}");
            assert!(open(&whole[..cut]).is_err());
        }
    }
}

#[test]
fn flipped_bytes_are_found_wherever_they_are() {
    for name in ["three_snappy", "tr_nonproto_zstd", "pad_true_zstd"] {
        let golden = Golden::named(name);
        let footer = golden.number("footer_offset") as usize;
        let around = (footer.saturating_sub(20)..footer + 60).chain(65536..65636);
        for at in flip_points(golden.bytes.len(), 90).into_iter().chain(around) {
            let mut bytes = golden.bytes.clone();
            bytes[at] ^= 0x10;
            assert!(!check(&bytes, false).is_empty(), "{name} flipped at {at}");
            // What can be read is right: no damage passes as other records.
            if let Ok(found) = open(&bytes).and_then(|d| records(d.as_ref(), "records")) {
                let whole: Vec<Vec<u8>> = golden.records().iter().map(|r| r.to_vec()).collect();
                assert_eq!(found, whole, "{name} flipped at {at}");
            }
        }
    }
}
