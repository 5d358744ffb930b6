//! Archives beyond 2 and 4 GiB and beyond 65,535 entries. Their payloads are zeros that no disk ever holds.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::time::{Duration, Instant};

use packstone_io::{Buf, LocalRoot, RelPath, Root};

use super::{leaf, parse, tensordict};
use crate::zip::{Layout, Planned, Writer, ZipError};

const GIB: u64 = 1 << 30;

/// A map of an archive of entries of zeros, which is a sparse file.
fn sparse(entries: &[(&str, u64)]) -> (Buf, Layout) {
    let planned = entries.iter().map(|(name, len)| Planned {
        name,
        len: *len,
        compressed_len: *len,
        options: leaf(),
    });
    let layout = Layout::plan(planned).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::create_new(folder.path().join("a.tdz")).unwrap();
    let mut writer = Writer::new(file.try_clone().unwrap());
    for (name, len) in entries {
        writer.place(name, 0, *len, *len, leaf()).unwrap();
        file.seek(SeekFrom::Start(writer.position())).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(file.metadata().unwrap().len(), layout.len);
    let root = LocalRoot::open(folder.path()).unwrap();
    (root.read(&RelPath::new("a.tdz").unwrap()).unwrap(), layout)
}

#[test]
fn members_and_offsets_beyond_4_gib() {
    let lens = [("a.memmap", 1), ("b.memmap", 3 * GIB), ("c.memmap", 5 * GIB), ("d.memmap", 2)];
    let (bytes, layout) = sparse(&lens);
    let directory = parse(&bytes);
    for (index, (name, len)) in lens.iter().enumerate() {
        let entry = directory.locate(&bytes, index).unwrap();
        assert_eq!((entry.name(), entry.len()), (*name, *len));
        assert_eq!(entry.range().start, layout.entries[index].data_offset);
        assert_eq!(entry.view(&bytes).unwrap().len() as u64, *len);
        directory.compare_local(&bytes, index).unwrap();
    }
    assert!(layout.entries[3].header_offset > 8 * GIB);
}

#[test]
fn zip64_blocks_begin_where_zipfile_begins_them() {
    // The limit is that of a signed 32-bit number, and the block comes before the padding.
    let limit = (2 * GIB) - 1;
    for (len, sizes, offset) in
        [(limit - 200, false, false), (limit, false, true), (limit + 1, true, true)]
    {
        let (bytes, _) = sparse(&[("a", len), ("b", 0)]);
        let directory = parse(&bytes);
        let at = |index: usize| usize::try_from(directory.records()[index].at).unwrap();
        let [first, second] = [at(0), at(1)];
        assert_eq!(bytes[first + 20..first + 28] == [0xff; 8], sizes, "{len}");
        assert_eq!(bytes[first + 47] == 1, sizes, "{len}");
        assert_eq!(bytes[second + 42..second + 46] == [0xff; 4], offset, "{len}");
        assert_eq!(bytes[second + 47..second + 51] == [1, 0, 8, 0], offset, "{len}");
        let padding = second + 47 + if offset { 12 } else { 0 };
        assert_eq!(bytes[padding..padding + 2], [0x74, 0x64], "{len}");
        let end64 = bytes[bytes.len() - 98..].starts_with(b"PK\x06\x06");
        assert_eq!(end64, offset, "{len}");
    }
}

#[test]
fn many_entries_open_fast() {
    let count = 100_000;
    let mut writer = Writer::new(Vec::new());
    for index in 0..count {
        let name = format!("member/{index}/value.memmap");
        writer.add(&name, &[b"12345678"], tensordict()).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let start = Instant::now();
    let directory = parse(&bytes);
    let opened = start.elapsed();
    assert_eq!(directory.records().len(), count);
    assert_eq!(directory.duplicates().count(), 0);
    for index in [0, 65_535, 65_536, count - 1] {
        let found = directory.find(&format!("member/{index}/value.memmap")).unwrap();
        assert_eq!(found, Some(index));
        assert_eq!(directory.locate(&bytes, index).unwrap().raw(&bytes).unwrap(), b"12345678");
    }
    assert_eq!(directory.under("member/7/").count(), 1);
    assert_eq!(directory.under("member/7").count(), 11_111);
    // Comparing all pairs would take minutes; without optimisation this takes a fraction of a second.
    assert!(opened < Duration::from_secs(5), "{opened:?}");
}

#[test]
fn many_records_of_one_entry_overlap() {
    let mut writer = Writer::new(Vec::new());
    writer.add("a", &[b"payload"], tensordict()).unwrap();
    let bytes = writer.finish().unwrap();
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let end = bytes.len() - 22;
    let record = &bytes[central..end];
    let mut bomb = bytes[..central].to_vec();
    (0..60_000).for_each(|_| bomb.extend_from_slice(record));
    let size = u32::try_from(bomb.len() - central).unwrap();
    bomb.extend_from_slice(&bytes[end..]);
    let end = bomb.len() - 22;
    bomb[end + 8..end + 12].copy_from_slice(&[0x60, 0xea, 0x60, 0xea]);
    bomb[end + 12..end + 16].copy_from_slice(&size.to_le_bytes());
    let directory = parse(&bomb);
    assert_eq!(directory.duplicates().count(), 60_000);
    assert!(matches!(directory.find("a"), Err(ZipError::Duplicate { .. })));
    let usable = (0..60_000).filter(|index| directory.locate(&bomb, *index).is_ok()).count();
    assert_eq!(usable, 1);
}
