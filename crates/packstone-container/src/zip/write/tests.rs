use super::super::testdata::{ABOVE_2_GIB, SAVEZ, hex};
use super::super::{Archive, Method};
use super::{EntryOptions, WriteError, Writer};
use crate::Limits;

#[test]
fn the_bytes_of_numpy_savez() {
    let golden = hex(SAVEZ);
    let archive = Archive::parse(&golden, &Limits::default()).unwrap();
    let mut writer = Writer::new(Vec::new());
    for entry in archive.entries() {
        let (header, data) = entry.raw(&golden).unwrap().split_at(128);
        writer.add(entry.name(), &[header, data], EntryOptions::default()).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), golden);
}

/// Keeps what is written from a position on.
struct Tail {
    at: u64,
    from: u64,
    kept: Vec<u8>,
}

impl std::io::Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let skip = usize::try_from(self.from.saturating_sub(self.at)).unwrap().min(bytes.len());
        self.kept.extend_from_slice(&bytes[skip..]);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_bytes_of_zipfile_above_2_gib() {
    let mebibyte = vec![0; 1 << 20];
    let parts = vec![&mebibyte[..]; 2049];
    let mut writer = Writer::new(Tail { at: 0, from: 2049 << 20, kept: Vec::new() });
    writer.add("big", &parts, EntryOptions::default()).unwrap();
    writer.add("late", &[], EntryOptions::default()).unwrap();
    assert_eq!(writer.finish().unwrap().kept, hex(ABOVE_2_GIB));
}

#[test]
fn more_than_65535_entries() {
    for (count, end_len) in [(65_535, 22), (65_536, 22 + 20 + 56)] {
        let mut writer = Writer::new(Vec::new());
        for i in 0..count {
            writer.add(&i.to_string(), &[], EntryOptions::default()).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let archive = Archive::parse(&bytes, &Limits::default()).unwrap();
        assert_eq!(archive.entries().len(), count);
        assert_eq!(archive.find("65534").unwrap().raw_name(), b"65534");
        let last = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        assert_eq!(bytes.len() - last, 46 + 5 + end_len);
    }
}

#[test]
fn refused_entries_leave_the_archive_whole() {
    let mut writer = Writer::new(Vec::new());
    let options = EntryOptions::default();
    writer.add("a", &[b"1"], options).unwrap();
    let twice = writer.add("a", &[b"2"], options);
    assert!(matches!(twice, Err(WriteError::Duplicate { .. })));
    let long = writer.add(&"n".repeat(65_536), &[], options);
    assert!(matches!(long, Err(WriteError::NameLength { len: 65_536 })));
    let method = writer.add("b", &[], options.with_method(Method::Other(93)));
    assert!(matches!(method, Err(WriteError::Unsupported(Method::Other(93)))));
    let bytes = writer.finish().unwrap();
    assert_eq!(Archive::parse(&bytes, &Limits::default()).unwrap().entries().len(), 1);
}

#[test]
fn a_failing_target_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let added = Writer::new(Full).add("a", &[b"1"], EntryOptions::default());
    assert!(matches!(added, Err(WriteError::Io(_))));
    assert!(matches!(Writer::new(Full).finish(), Err(WriteError::Io(_))));
}
