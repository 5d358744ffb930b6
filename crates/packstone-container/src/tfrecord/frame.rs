//! Record framing.

/// Bytes before the data: the length and its checksum.
const HEADER: usize = 12;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where the record starts, its header included.
    pub offset: u64,
    /// The data, its checksum verified.
    pub data: &'a [u8],
}

/// A record that cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record at byte {offset}: {kind}")]
pub struct FrameError {
    /// Where the record starts.
    pub offset: u64,
    /// What is wrong with it.
    pub kind: FrameErrorKind,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameErrorKind {
    /// The length is damaged; where the next record starts is unknown.
    #[error("expected checksum {expected:08x} of the length, found {found:08x}")]
    LengthCrc {
        /// As stored.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// The data is damaged; the records after it can still be read.
    #[error("expected checksum {expected:08x} of the data, found {found:08x}")]
    DataCrc {
        /// As stored.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// The file ends inside the record.
    #[error("expected {expected} bytes of data and checksum, found {found}")]
    Truncated {
        /// Bytes needed behind the header.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// The length, its checksum in order, is larger than any file.
    #[error("expected the length of a record, found {found}")]
    Length {
        /// The length.
        found: u64,
    },
    /// The file ends in a few bytes that are no record header. TensorFlow ignores them: a finding rather than a loss.
    #[error("expected a record or the end, found {len} stray bytes")]
    Stray {
        /// How many.
        len: u64,
    },
}

/// The records of a file, in order.
///
/// Goes on after [`FrameErrorKind::DataCrc`]; any other error is the last item.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Frames<'a> {
    /// Reads records from `bytes`, a whole file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, offset: 0 }
    }

    /// The data of the record at the start of `rest`, its stored checksum, and what follows.
    fn split(rest: &'a [u8]) -> Result<(&'a [u8], u32, &'a [u8]), FrameErrorKind> {
        let stray = FrameErrorKind::Stray { len: wide(rest.len()) };
        let (length, after) = rest.split_first_chunk::<8>().ok_or(stray)?;
        let (checksum, after) = after.split_first_chunk().ok_or(stray)?;
        let (expected, found) = (u32::from_le_bytes(*checksum), masked_crc(length));
        if expected != found {
            return Err(FrameErrorKind::LengthCrc { expected, found });
        }
        let length = u64::from_le_bytes(*length);
        let needed = length.checked_add(4).ok_or(FrameErrorKind::Length { found: length })?;
        let cut = FrameErrorKind::Truncated { expected: needed, found: wide(after.len()) };
        let length = usize::try_from(length).map_err(|_| cut)?;
        let (data, after) = after.split_at_checked(length).ok_or(cut)?;
        let (checksum, rest) = after.split_first_chunk().ok_or(cut)?;
        Ok((data, u32::from_le_bytes(*checksum), rest))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (offset, before) = (self.offset, self.rest.len());
        let (data, expected, rest) = match Self::split(self.rest) {
            Ok(parts) => parts,
            Err(kind) => {
                self.rest = &[];
                return Some(Err(FrameError { offset, kind }));
            }
        };
        self.rest = rest;
        self.offset += wide(before - rest.len());
        let found = masked_crc(data);
        if expected != found {
            let kind = FrameErrorKind::DataCrc { expected, found };
            return Some(Err(FrameError { offset, kind }));
        }
        Some(Ok(Frame { offset, data }))
    }
}

impl std::iter::FusedIterator for Frames<'_> {}

/// Appends `data` as one record.
pub fn write_frame(data: &[u8], out: &mut Vec<u8>) {
    let length = wide(data.len()).to_le_bytes();
    out.reserve(data.len().saturating_add(HEADER + 4));
    out.extend_from_slice(&length);
    out.extend_from_slice(&masked_crc(&length).to_le_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(&masked_crc(data).to_le_bytes());
}

/// CRC-32C, turned and shifted so that a checksum of bytes that hold checksums stays meaningful.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The records `abc` and the empty one, checksums from a bitwise CRC-32C.
    const TWO: &[u8] = b"\x03\0\0\0\0\0\0\0\
        \xb0\x99\x49\x0eabc\x6e\x57\xf1\x21\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2";

    fn kinds(bytes: &[u8]) -> Vec<Result<&[u8], FrameErrorKind>> {
        Frames::new(bytes).map(|f| f.map(|f| f.data).map_err(|e| e.kind)).collect()
    }

    #[test]
    fn literal_records() {
        assert_eq!(kinds(TWO), [Ok(&b"abc"[..]), Ok(b"")]);
        let offsets: Vec<u64> = Frames::new(TWO).map(|f| f.unwrap().offset).collect();
        assert_eq!(offsets, [0, 19]);
        let mut out = Vec::new();
        write_frame(b"abc", &mut out);
        write_frame(b"", &mut out);
        assert_eq!(out, TWO);
        assert_eq!(kinds(b""), []);
    }

    #[test]
    fn damage_has_its_kind_and_place() {
        let with = |at: usize, value: u8| {
            let mut bytes = TWO.to_vec();
            bytes[at] = value;
            Frames::new(&bytes).map(|f| f.map(|f| f.offset)).collect::<Vec<_>>()
        };
        let length = with(0, 4);
        assert!(matches!(
            length[..],
            [Err(FrameError { offset: 0, kind: FrameErrorKind::LengthCrc { .. } })]
        ));
        let checksum = with(30, 4);
        assert!(matches!(
            checksum[..],
            [Ok(0), Err(FrameError { offset: 19, kind: FrameErrorKind::LengthCrc { .. } })]
        ));
        for at in 12..19 {
            let data = with(at, 0x77);
            assert!(matches!(
                data[..],
                [Err(FrameError { offset: 0, kind: FrameErrorKind::DataCrc { .. } }), Ok(19)]
            ));
        }
    }

    #[test]
    fn every_truncation_is_noticed() {
        for len in 0..TWO.len() {
            let last = kinds(&TWO[..len]).pop();
            match len {
                0 | 19 => assert!(matches!(last, None | Some(Ok(_)))),
                1..12 => assert_eq!(last, Some(Err(FrameErrorKind::Stray { len: len as u64 }))),
                20..31 => {
                    assert_eq!(last, Some(Err(FrameErrorKind::Stray { len: len as u64 - 19 })))
                }
                _ => assert!(matches!(last, Some(Err(FrameErrorKind::Truncated { .. }))), "{len}"),
            }
        }
    }

    #[test]
    fn hostile_lengths() {
        for (length, kind) in [
            (u64::MAX, FrameErrorKind::Length { found: u64::MAX }),
            (u64::MAX - 4, FrameErrorKind::Truncated { expected: u64::MAX, found: 7 }),
            (1 << 40, FrameErrorKind::Truncated { expected: (1 << 40) + 4, found: 7 }),
            (7, FrameErrorKind::Truncated { expected: 11, found: 7 }),
        ] {
            let length = length.to_le_bytes();
            let bytes = [&length[..], &masked_crc(&length).to_le_bytes(), &[0; 7]].concat();
            assert_eq!(kinds(&bytes), [Err(kind)]);
        }
    }

    proptest! {
        #[test]
        fn round_trip(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let mut bytes = Vec::new();
            records.iter().for_each(|record| write_frame(record, &mut bytes));
            prop_assert!(Frames::new(&bytes).map(|f| f.unwrap().data).eq(records.iter()));
        }

        #[test]
        fn no_flipped_bit_passes(at in 0..TWO.len(), bit in 0..8) {
            let mut bytes = TWO.to_vec();
            bytes[at] ^= 1u8 << bit;
            prop_assert!(Frames::new(&bytes).any(|f| f.is_err()));
        }
    }
}
