//! What is written here is what the original writes.

use packstone_container::array_record::{Encoder, Placer, WriteError, Writer, WriterOptions};
use packstone_container::riegeli::{Compression, EncodedChunk};
use packstone_io::{Buf, Kind};

use crate::kit::{Golden, all, findings, open};

fn options(golden: &Golden) -> WriterOptions {
    golden.text("options").parse().unwrap()
}

pub(crate) fn written(records: &[Buf], options: &WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), options).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    assert_eq!(writer.records(), records.len() as u64);
    let written = writer.finish().unwrap();
    assert_eq!((written.len, written.records), (written.out.len() as u64, records.len() as u64));
    written.out
}

/// Whether the compressed bytes depend on the library.
pub(crate) fn exact(compression: Compression) -> bool {
    matches!(compression, Compression::None | Compression::Zstd { .. })
}

#[test]
fn files_of_the_original_are_written_again() {
    let mut exactly = 0;
    for golden in Golden::all() {
        let options = options(&golden);
        assert_eq!(Some(&*options.stored()), golden.real("writer_options").unwrap().as_str());
        if options.transpose {
            continue;
        }
        let records = golden.records();
        let ours = written(&records, &options);
        if exact(options.compression) {
            assert!(ours == golden.bytes, "{}", golden.name);
            exactly += 1;
        }
        assert_eq!(all(&open(&ours).unwrap()).unwrap(), records, "{}", golden.name);
        assert!(findings(&ours).is_empty(), "{}", golden.name);
    }
    assert_eq!(exactly, 13);
}

/// Chunks made on several threads, in any order, and placed in theirs.
#[test]
fn chunks_can_be_made_on_several_threads() {
    for name in ["zstd_neg5_g7", "edges_none", "pad_true_zstd", "zstd19_g1000"] {
        let golden = Golden::named(name);
        let options = options(&golden);
        let records = golden.records();
        let groups: Vec<&[Buf]> = records.chunks(options.group_size as usize).collect();
        let chunks: Vec<EncodedChunk> = std::thread::scope(|scope| {
            let made = groups.iter().rev().map(|group| {
                let mut encoder = Encoder::new(&options).unwrap();
                scope.spawn(move || {
                    let group: Vec<&[u8]> = group.iter().map(|record| &record[..]).collect();
                    let mut chunk = EncodedChunk::default();
                    encoder.encode(&group, &mut chunk).unwrap();
                    chunk
                })
            });
            let made: Vec<_> = made.collect();
            made.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
        });
        let mut placer = Placer::new(Vec::new(), &options).unwrap();
        chunks.iter().for_each(|chunk| placer.place(chunk).unwrap());
        assert_eq!(placer.records(), records.len() as u64);
        assert!(placer.finish().unwrap().out == golden.bytes, "{name}");
    }
}

#[test]
fn only_the_last_group_can_be_smaller() {
    let options = WriterOptions::default().with_group_size(3);
    let mut encoder = Encoder::new(&options).unwrap();
    let mut placer = Placer::new(Vec::new(), &options).unwrap();
    let mut chunk = EncodedChunk::default();
    for (records, good) in [(3, true), (0, false), (4, false), (2, true)] {
        let result = encoder.encode(&vec![&b"x"[..]; records], &mut chunk);
        assert_eq!(result.is_ok(), good, "{records}");
        if good {
            placer.place(&chunk).unwrap();
        }
    }
    let error = placer.place(&chunk).unwrap_err();
    assert!(matches!(error, WriteError::Group { expected: 3, found: 2 }), "{error}");
    assert_eq!(error.kind(), Kind::Invalid);
    let file = placer.finish().unwrap();
    assert_eq!((file.records, open(&file.out).unwrap().len()), (5, 5));
    // A chunk of another file's group size.
    Encoder::new(&options.clone().with_group_size(9))
        .unwrap()
        .encode(&[&b""[..]; 9], &mut chunk)
        .unwrap();
    let mut placer = Placer::new(Vec::new(), &options).unwrap();
    assert!(matches!(placer.place(&chunk), Err(WriteError::Group { expected: 3, found: 9 })));
}

#[test]
fn transposed_files_are_refused_at_once() {
    let options: WriterOptions = "group_size:10,transpose".parse().unwrap();
    let errors = [
        Encoder::new(&options).err().unwrap(),
        Placer::new(Vec::new(), &options).err().unwrap(),
        Writer::new(Vec::new(), &options).err().unwrap(),
    ];
    assert!(errors.iter().all(|error| error.kind() == Kind::Unsupported));
}

#[test]
fn a_target_that_fails_says_so() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let golden = Golden::named("edges_none");
    let options = options(&golden);
    let records = golden.records();
    let write = |room| -> Result<u64, WriteError> {
        let mut writer = Writer::new(Full(room), &options)?;
        records.iter().try_for_each(|record| writer.write(record))?;
        Ok(writer.finish()?.len)
    };
    let len = golden.bytes.len();
    assert_eq!(write(len).unwrap(), len as u64);
    for room in [0, 10, 63, 100, 65_540, len - 65_000, len - 1] {
        assert!(matches!(write(room), Err(WriteError::Io(_))), "{room}");
    }
}
