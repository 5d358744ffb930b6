//! Files that lost their end get one again.

use packstone::format::{Format, RepairOptions};
use packstone::formats::arrayrecord::ArrayRecord;

use super::files::{Bad, Golden};
use super::kit::{bytes, check, empty, open, records};

/// What a repair says, and the file after it.
fn repaired(damaged: &[u8], dry_run: bool) -> (packstone::format::RepairReport, Vec<u8>) {
    let root = empty();
    root.create(root.sole_file().unwrap(), damaged).unwrap();
    let options = RepairOptions { dry_run, ..RepairOptions::default() };
    let report = ArrayRecord.repair(root.clone(), &options).unwrap();
    (report, bytes(root.as_ref()))
}

#[test]
fn whole_chunks_of_a_cut_file_are_read_again() {
    for name in ["three_zstd", "zstd_neg5_g7", "large_none", "tr_proto_zstd_g10"] {
        let golden = Golden::named(name);
        let expected: Vec<Vec<u8>> = golden.records().iter().map(|r| r.to_vec()).collect();
        for cut in
            [0, 30, 64, 100, 150, golden.number("footer_offset") as usize, golden.bytes.len() - 1]
        {
            let damaged = &golden.bytes[..cut.min(golden.bytes.len())];
            let (planned, untouched) = repaired(damaged, true);
            assert_eq!(untouched, damaged);
            let (report, file) = repaired(damaged, false);
            assert_eq!(report.salvaged, planned.salvaged);
            assert!(report.left.is_empty(), "{:?}", report.left);
            assert_eq!(check(&file, false), [], "{name} cut at {cut}");
            let found = records(open(&file).unwrap().as_ref(), "records").unwrap();
            assert_eq!(found.len() as u64, report.salvaged[0].1);
            assert_eq!(found, expected[..found.len()]);
            // The level of the codec is not in the chunks, and new files are not transposed.
            if ["three_zstd", "large_none"].contains(&name)
                && cut >= golden.number("footer_offset") as usize
            {
                assert!(file == golden.bytes, "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn files_that_open_and_files_with_damage_inside_are_left_alone() {
    let whole = Golden::named("three_none").bytes;
    let (report, file) = repaired(&whole, false);
    assert_eq!((report.salvaged, file), (Vec::new(), whole));
    // A damaged chunk and no footer: what follows could still be read by hand.
    let mut torn = Bad::named("data_middle").bytes;
    torn.truncate(65536);
    let (report, file) = repaired(&torn, false);
    assert_eq!(report.salvaged, []);
    let (left, text) = repaired(b"no such file", false);
    assert_eq!(left.left.last().unwrap().code, "arrayrecord/signature_damaged");
    assert_eq!((left.salvaged.len(), &text[..]), (0, &b"no such file"[..]));
    let codes: Vec<&str> = report.left.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["arrayrecord/file_size", "arrayrecord/chunk_data_hash"]);
    assert_eq!(file, torn);
}
