//! Archives of tensordict, rebuilt from their own entries.

use std::mem::discriminant;

use packstone_io::AlignedBuf;

use super::{golden, leaf, parse, tensordict};
use crate::Limits;
use crate::zip::{
    EntryOptions, Layout, Method, Payload, Placed, Planned, WriteError, Writer, ZipError,
};

/// What tensordict would write for this file of a dataset.
fn options(name: &str, method: Method) -> EntryOptions {
    match method {
        Method::Stored if name.ends_with(".memmap") => leaf(),
        method => tensordict().with_method(method),
    }
}

/// Names, contents and methods of an archive.
fn contents(bytes: &[u8]) -> Vec<(String, AlignedBuf, Method)> {
    let directory = parse(bytes);
    let entries = 0..directory.records().len();
    let entries = entries.map(|index| {
        let entry = directory.locate(bytes, index).unwrap();
        let mut out = AlignedBuf::default();
        entry.read(bytes, &mut out, &Limits::default()).unwrap();
        (entry.name().to_owned(), out, entry.method())
    });
    entries.collect()
}

fn rebuilt(bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (name, data, method) in contents(bytes) {
        writer.add(&name, &[&data], options(&name, method)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_bytes_of_tensordict() {
    for case in [
        "tdz_stored",
        "tdz_keys",
        "tdz_pack_memmap",
        "tdz_all_dtypes",
        "tdz_lzma",
        "tdz_bzip2",
        // Small as they are, these come out of zlib-rs as they came out of zlib; that is not so in general.
        "tdz_deflate",
        "tdz_json_types",
        "tdz_pickle",
        "tdz_lazy_and_views",
        "tdz_rplus_refreshed_crc",
    ] {
        let golden = golden(case);
        assert!(rebuilt(&golden) == golden, "{case}");
    }
}

#[test]
fn payloads_can_be_prepared_apart_and_in_parts() {
    let text = b"the quick brown fox jumps over the lazy dog, ".repeat(5000);
    for method in [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma] {
        let whole: [&[u8]; 1] = [&text];
        let one = Payload::new(&whole, method).unwrap();
        let (a, b) = text.split_at(70_001);
        let pieces = [&[][..], a, &[], b, &[]];
        let many = Payload::new(&pieces, method).unwrap();
        assert_eq!((one.len(), one.crc32()), (many.len(), many.crc32()));
        assert_eq!(one.compressed_len() < one.len(), method != Method::Stored);
        let archive = |payload: &Payload<'_>| {
            let mut writer = Writer::new(Vec::new());
            writer.write("a", payload, tensordict()).unwrap();
            writer.finish().unwrap()
        };
        let bytes = archive(&one);
        let again = archive(&many);
        assert!(bytes == again, "{method}");
        for bytes in [bytes, again] {
            let read = contents(&bytes);
            assert!(*read[0].1 == *text && read[0].2 == method, "{method}");
        }
        let empty = Payload::new(&[], method).unwrap();
        assert!(empty.is_empty());
        assert!(contents(&archive(&empty))[0].1.is_empty(), "{method}");
    }
    assert!(Payload::new(&[], Method::Other(93)).is_err());
}

#[test]
fn a_layout_says_where_things_will_stand() {
    for case in ["tdz_stored", "tdz_keys", "tdz_lzma", "tdz_lazy_and_views"] {
        let bytes = golden(case);
        let directory = parse(&bytes);
        let planned = directory.records().iter().map(|record| Planned {
            name: record.name(),
            len: record.len(),
            compressed_len: record.compressed_len(),
            options: options(record.name(), record.method()),
        });
        let layout = Layout::plan(planned).unwrap();
        for (index, placed) in layout.entries.iter().enumerate() {
            let entry = directory.locate(&bytes, index).unwrap();
            let (header_offset, data_offset) = (entry.header_offset(), entry.range().start);
            assert_eq!(*placed, Placed { header_offset, data_offset }, "{case} {}", entry.name());
        }
        assert_eq!(layout.len, bytes.len() as u64, "{case}");
        assert_eq!(layout.entries.len(), directory.records().len());
    }
}

#[test]
fn padding_is_there_even_where_none_is_needed() {
    // 30 + 6 + 4 + 20 bytes and 4 more make 64.
    for (name, pad) in [("ab.mem", 4), ("ab.memmap_", 0), ("ab.memmap_1", 63)] {
        let mut writer = Writer::new(Vec::new());
        writer.add(name, &[b"x"], leaf()).unwrap();
        let bytes = writer.finish().unwrap();
        let extra = 30 + name.len();
        assert_eq!(bytes[extra..extra + 4], [0x74, 0x64, pad, 0], "{name}");
        let entry = parse(&bytes).locate(&bytes, 0).unwrap();
        assert_eq!(entry.range().start % 64, 0, "{name}");
    }
}

#[test]
fn entries_pass_through_a_window() {
    let text = b"the quick brown fox jumps over the lazy dog, ".repeat(20_000);
    for method in [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma] {
        let mut writer = Writer::new(Vec::new());
        writer.add("a", &[&text], tensordict().with_method(method)).unwrap();
        let bytes = writer.finish().unwrap();
        let entry = parse(&bytes).locate(&bytes, 0).unwrap();
        let (mut passed, mut largest) = (Vec::new(), 0);
        entry
            .stream::<ZipError>(&bytes, &mut |piece| {
                largest = largest.max(piece.len());
                passed.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        assert!(passed == text && largest <= 64 << 10, "{method}: {largest}");
        // What the receiver says stops it.
        let mut pieces = 0;
        let stopped = entry.stream(&bytes, &mut |_| {
            pieces += 1;
            Err(ZipError::Duplicate { name: "stop".to_owned() })
        });
        assert!(matches!(stopped, Err(ZipError::Duplicate { .. })) && pieces == 1, "{method}");
        // Any change is seen, here or at the end.
        let start = usize::try_from(entry.range().start).unwrap();
        let end = usize::try_from(entry.range().end).unwrap();
        for at in (start..end).step_by((end - start).div_ceil(40)) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let mut out = AlignedBuf::default();
            let read = entry.read(&changed, &mut out, &Limits::default());
            let streamed = entry.stream::<ZipError>(&changed, &mut |_| Ok(()));
            let kind = |result: Result<(), ZipError>| result.err().map(|e| discriminant(&e));
            assert_eq!(kind(read), kind(streamed), "{method} {at}");
        }
    }
}

#[test]
fn an_entry_that_is_streamed_must_be_what_was_announced() {
    let text = b"abc".repeat(1000);
    let crc = crc32fast::hash(&text);
    let write = |sums: (u32, u64)| {
        let mut writer = Writer::new(Vec::new());
        let filled = writer
            .stream::<WriteError>("a", sums, leaf(), |sink| text.chunks(7).try_for_each(sink));
        filled.and_then(|()| writer.finish())
    };
    let mut whole = Writer::new(Vec::new());
    whole.add("a", &[&text], leaf()).unwrap();
    assert!(write((crc, 3000)).unwrap() == whole.finish().unwrap());
    for sums in [(crc ^ 1, 3000), (crc, 2999), (crc, 3001)] {
        assert!(matches!(write(sums), Err(WriteError::Changed { .. })));
    }
}
