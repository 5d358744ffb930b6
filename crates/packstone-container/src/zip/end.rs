//! Finding the central directory from the end of the file.

use std::ops::Range;

use super::{
    END, END_LEN, END64, END64_LEN, LOCATOR64, LOCATOR64_LEN, SATURATED, ZipError, u16_at, u32_at,
    u64_at, wide,
};

/// Where the central directory is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Central records announced.
    pub count: u64,
    /// Bytes of the central directory in the file.
    pub directory: Range<usize>,
    /// Bytes before the archive; every offset in it counts from their end.
    pub prefix: u64,
    /// Bytes after the archive.
    pub trailing: u64,
    /// The archive comment.
    pub comment: Range<usize>,
}

/// The fields of an end record, short or zip64.
struct Fields {
    disks: [u32; 2],
    counts: [u64; 2],
    size: u64,
    offset: u64,
}

pub(super) fn find(bytes: &[u8]) -> Result<End, ZipError> {
    let (at, comment) = search(bytes)?;
    let truncated = || ZipError::Truncated { what: "end record", offset: wide(at) };
    let short = short_fields(bytes, at).ok_or_else(truncated)?;
    let (fields, end) = match locate64(bytes, at)? {
        Some(at64) => {
            let what = "zip64 end record";
            let long =
                long_fields(bytes, at64).ok_or(ZipError::Truncated { what, offset: wide(at64) })?;
            agree(&short, &long)?;
            (long, at64)
        }
        None => (short, at),
    };
    let [this_disk, directory_disk] = fields.disks;
    let [here, count] = fields.counts;
    if this_disk != 0 || directory_disk != 0 || here != count {
        return Err(ZipError::MultiDisk);
    }
    let outside =
        ZipError::DirectoryOutside { size: fields.size, offset: fields.offset, end: wide(end) };
    let start = usize::try_from(fields.size).ok().and_then(|size| end.checked_sub(size));
    let Some(start) = start else { return Err(outside) };
    let Some(prefix) = wide(start).checked_sub(fields.offset) else { return Err(outside) };
    let trailing = wide(bytes.len().saturating_sub(comment.end));
    Ok(End { count, directory: start..end, prefix, trailing, comment })
}

/// The last end record whose comment ends the file; failing that, the last one whose comment fits.
fn search(bytes: &[u8]) -> Result<(usize, Range<usize>), ZipError> {
    let reach = END_LEN + usize::from(u16::MAX);
    let none = ZipError::NoEnd { searched: wide(bytes.len().min(reach)) };
    let Some(last) = bytes.len().checked_sub(END_LEN) else { return Err(none) };
    let mut followed = None;
    for at in (bytes.len().saturating_sub(reach)..=last).rev() {
        if u32_at(bytes, at) != Some(END) {
            continue;
        }
        let Some(len) = u16_at(bytes, at + 20) else { continue };
        let comment = at + END_LEN..at + END_LEN + usize::from(len);
        if comment.end == bytes.len() {
            return Ok((at, comment));
        }
        if comment.end < bytes.len() && followed.is_none() {
            followed = Some((at, comment));
        }
    }
    followed.ok_or(none)
}

fn short_fields(bytes: &[u8], at: usize) -> Option<Fields> {
    let half = |o: usize| u16_at(bytes, at + o);
    Some(Fields {
        disks: [half(4)?.into(), half(6)?.into()],
        counts: [half(8)?.into(), half(10)?.into()],
        size: u32_at(bytes, at + 12)?.into(),
        offset: u32_at(bytes, at + 16)?.into(),
    })
}

fn long_fields(bytes: &[u8], at: usize) -> Option<Fields> {
    Some(Fields {
        disks: [u32_at(bytes, at + 16)?, u32_at(bytes, at + 20)?],
        counts: [u64_at(bytes, at + 24)?, u64_at(bytes, at + 32)?],
        size: u64_at(bytes, at + 40)?,
        offset: u64_at(bytes, at + 48)?,
    })
}

/// Where the zip64 end record is, if the end record at `end` has a locator before it.
///
/// The usual record stands right before its locator; longer ones are found by the offset in the locator.
fn locate64(bytes: &[u8], end: usize) -> Result<Option<usize>, ZipError> {
    let Some(locator) = end.checked_sub(LOCATOR64_LEN) else { return Ok(None) };
    if u32_at(bytes, locator) != Some(LOCATOR64) {
        return Ok(None);
    }
    if u32_at(bytes, locator + 4) != Some(0) || u32_at(bytes, locator + 16).is_some_and(|n| n > 1) {
        return Err(ZipError::MultiDisk);
    }
    let fills = |at: &usize| {
        u32_at(bytes, *at) == Some(END64)
            && u64_at(bytes, at + 4).is_some_and(|n| n.checked_add(12) == Some(wide(locator - at)))
    };
    let told = u64_at(bytes, locator + 8).unwrap_or(u64::MAX);
    let before = locator.checked_sub(END64_LEN).filter(fills);
    let at_told = || usize::try_from(told).ok().filter(|at| *at < locator).filter(fills);
    let found = before.or_else(at_told);
    found.map(Some).ok_or(ZipError::Truncated { what: "zip64 end record", offset: told })
}

/// Each short field must be saturated or say what the long one says.
fn agree(short: &Fields, long: &Fields) -> Result<(), ZipError> {
    let count_max = u64::from(u16::MAX);
    let word_max = u64::from(SATURATED);
    let fields = [
        ("entry count", short.counts[1], long.counts[1], count_max),
        ("directory size", short.size, long.size, word_max),
        ("directory offset", short.offset, long.offset, word_max),
    ];
    for (field, expected, found, saturated) in fields {
        if expected != saturated && expected != found {
            return Err(ZipError::Zip64End { field, expected, found });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    fn with_comment(comment: &[u8]) -> Vec<u8> {
        let mut bytes = EMPTY.to_vec();
        bytes[20..22].copy_from_slice(&u16::try_from(comment.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(comment);
        bytes
    }

    #[test]
    fn an_empty_archive() {
        let end = find(EMPTY).unwrap();
        assert_eq!(end, End { count: 0, directory: 0..0, prefix: 0, trailing: 0, comment: 22..22 });
    }

    #[test]
    fn comments_prefixes_and_trailing_bytes() {
        assert_eq!(find(&with_comment(b"hello")).unwrap().comment, 22..27);
        let longest = vec![b'c'; 65535];
        assert_eq!(find(&with_comment(&longest)).unwrap().comment, 22..22 + 65535);
        let prefixed = [b"#!/bin/sh\n", EMPTY].concat();
        assert_eq!(find(&prefixed).unwrap().prefix, 10);
        let followed = [EMPTY, b"junk"].concat();
        assert_eq!(find(&followed).unwrap().trailing, 4);
        // An end record inside a comment does not hide the real one behind it.
        let nested = with_comment(&[EMPTY, b"x"].concat());
        assert_eq!(find(&nested).unwrap().comment, 22..45);
    }

    #[test]
    fn no_end_record() {
        for bytes in [&b""[..], b"PK", &EMPTY[..21], &[0; 70_000]] {
            assert!(matches!(find(bytes), Err(ZipError::NoEnd { .. })));
        }
    }

    #[test]
    fn several_disks_and_lying_directories() {
        for at in [4, 6, 8, 10] {
            let mut bytes = EMPTY.to_vec();
            bytes[at] = 1;
            assert!(matches!(find(&bytes), Err(ZipError::MultiDisk)), "byte {at}");
        }
        for at in [12, 15, 16, 19] {
            let mut bytes = EMPTY.to_vec();
            bytes[at] = 1;
            assert!(matches!(find(&bytes), Err(ZipError::DirectoryOutside { .. })), "byte {at}");
        }
    }

    fn zip64(extensible: &[u8], offset: u64) -> Vec<u8> {
        let mut bytes = b"PK\x06\x06".to_vec();
        bytes.extend_from_slice(&(44 + extensible.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&[45, 0, 45, 0]);
        bytes.extend_from_slice(&[0; 40]);
        bytes.extend_from_slice(extensible);
        bytes.extend_from_slice(b"PK\x06\x07\0\0\0\0");
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&[1, 0, 0, 0]);
        bytes.extend_from_slice(EMPTY);
        bytes
    }

    #[test]
    fn zip64_end_records() {
        assert_eq!(find(&zip64(&[], 0)).unwrap().count, 0);
        assert_eq!(find(&zip64(&[9; 5], 0)).unwrap().directory, 0..0);
        // A wrong offset does not matter where the record stands in its usual place.
        assert_eq!(find(&zip64(&[], 1 << 40)).unwrap().count, 0);
        for offset in [3, 1 << 40, u64::MAX] {
            assert!(matches!(find(&zip64(&[9; 5], offset)), Err(ZipError::Truncated { .. })));
        }
    }

    #[test]
    fn zip64_and_short_fields_agree() {
        let mut bytes = zip64(&[], 0);
        bytes[24] = 1;
        bytes[32] = 1;
        assert!(matches!(find(&bytes), Err(ZipError::Zip64End { field: "entry count", .. })));
        let end = bytes.len() - 22;
        bytes[end + 8..end + 12].fill(0xff);
        assert_eq!(find(&bytes).unwrap().count, 1);
        bytes[40..48].fill(0xff);
        bytes[end + 12..end + 16].fill(0xff);
        assert!(matches!(find(&bytes), Err(ZipError::DirectoryOutside { .. })));
    }
}
