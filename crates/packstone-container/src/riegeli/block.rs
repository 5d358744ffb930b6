//! Where block headers stand, and where chunks may begin and must end.
//!
//! ```text
//! block header = │ hash of the next 16 bytes u64 │ previous: block - chunk begin u64 │ next: chunk end - block u64 │
//! ```

use super::error::{ChunkError, ChunkErrorKind};
use super::hash;

/// Bytes from one block header to the next.
pub const BLOCK: u64 = 1 << 16;
/// Bytes of a block header.
pub(super) const HEADER: u64 = 24;
/// The same, where memory is counted.
pub(super) const HEADER_LEN: usize = 24;
/// Bytes of a block that chunks can use.
const USABLE: u64 = BLOCK - HEADER;

/// Whether a chunk can begin at byte `at` of a file: at a block, or somewhere after a block header, not right behind it.
pub fn can_begin(at: u64) -> bool {
    matches!(at % BLOCK, 0 | 25..)
}

/// Where the content of a chunk that begins at `begin` ends after `size` bytes, block headers counted in.
pub(super) fn after(begin: u64, size: u64) -> Option<u64> {
    let blocks = size.checked_add((begin.checked_add(USABLE - 1)?) % BLOCK)? / USABLE;
    begin.checked_add(size)?.checked_add(blocks.checked_mul(HEADER)?)
}

/// Where a chunk ends that begins at `begin` and has `size` bytes of header and data: after them, at least `records`
/// bytes after its begin, and never inside or right behind a block header. `None` where no file is that long.
pub fn chunk_end(begin: u64, size: u64, records: u64) -> Option<u64> {
    let least = begin.checked_add(records)?;
    let left = least.wrapping_neg() % BLOCK;
    let least = least.checked_add(left.saturating_sub(USABLE - 1))?;
    Some(after(begin, size)?.max(least))
}

/// Bytes from `at` to the next block header.
pub(super) fn to_next(at: u64) -> u64 {
    BLOCK - at % BLOCK
}

/// The header of the block at `block`, inside or at the start of the chunk from `begin` to `end`.
pub(super) fn header(block: u64, begin: u64, end: u64) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    let links = [block.wrapping_sub(begin).to_le_bytes(), end.wrapping_sub(block).to_le_bytes()];
    let links = links.as_flattened();
    let fields = hash(links).to_le_bytes().into_iter().chain(links.iter().copied());
    bytes.iter_mut().zip(fields).for_each(|(to, byte)| *to = byte);
    bytes
}

/// Checks hash and first link of a block header; gives the chunk end that it states.
pub(super) fn check(bytes: &[u8; HEADER_LEN], block: u64, begin: u64) -> Result<u64, ChunkError> {
    let fail = |kind| ChunkError { chunk: begin, kind };
    let (words, _) = bytes.as_chunks::<8>();
    let [stored, previous, next] = *words else { return Err(fail(ChunkErrorKind::Begin)) };
    let expected = u64::from_le_bytes(stored);
    let found = hash([previous, next].as_flattened());
    if expected != found {
        return Err(fail(ChunkErrorKind::BlockHash { block, expected, found }));
    }
    let found = block.wrapping_sub(u64::from_le_bytes(previous));
    if found != begin {
        return Err(fail(ChunkErrorKind::BlockLink {
            block,
            what: "begin",
            expected: begin,
            found,
        }));
    }
    Ok(block.wrapping_add(u64::from_le_bytes(next)))
}

/// Checks the second link of a block header.
pub(super) fn check_next(block: u64, begin: u64, end: u64, found: u64) -> Result<(), ChunkError> {
    if found == end {
        return Ok(());
    }
    let kind = ChunkErrorKind::BlockLink { block, what: "end", expected: end, found };
    Err(ChunkError { chunk: begin, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_header_is_that_of_every_file() {
        let bytes = header(0, 0, 64);
        assert_eq!(bytes[..8], [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f]);
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(check(&bytes, 0, 0).unwrap(), 64);
    }

    #[test]
    fn chunks_begin_at_blocks_or_behind_their_headers() {
        for at in [0, 25, 64, 65_535, 65_536, 65_561, 131_072] {
            assert!(can_begin(at), "{at}");
        }
        for at in [1, 8, 24, 65_537, 65_560, 131_073] {
            assert!(!can_begin(at), "{at}");
        }
    }

    /// Walks byte by byte, as the definition does: a header stands wherever content meets a block.
    fn walked(begin: u64, size: u64) -> u64 {
        (0..size).fold(begin, |at, _| if at % BLOCK == 0 { at + HEADER + 1 } else { at + 1 })
    }

    #[test]
    fn ends_are_those_of_a_walk() {
        for begin in [0, 25, 64, 1000, 65_495, 65_496, 65_497, 65_511, 65_512, 65_535, 65_536] {
            for size in [40, 41, 65_471, 65_472, 65_473, 65_511, 65_512, 65_513, 131_024, 200_000] {
                assert_eq!(chunk_end(begin, size, 0), Some(walked(begin, size)), "{begin} {size}");
                assert!(can_begin(walked(begin, size)), "{begin} {size}");
            }
        }
    }

    /// The numbers are those of files of the original.
    #[test]
    fn chunks_are_as_long_as_they_have_records() {
        assert_eq!(chunk_end(64, 65, 1000), Some(1064));
        assert_eq!(chunk_end(64, 200, 1000), Some(1064));
        assert_eq!(chunk_end(64, 40, 39), Some(104));
        // A least end inside or right behind a block header moves behind it.
        for records in 65_472..=65_496 {
            let end = chunk_end(64, 40, records).unwrap();
            assert_eq!(end, if records == 65_472 { 65_536 } else { 65_561 }, "{records}");
        }
        assert_eq!(chunk_end(64, 40, 65_498), Some(65_562));
        assert_eq!(chunk_end(64, u64::MAX - 10, 0), None);
        assert_eq!(chunk_end(u64::MAX - 10, 40, 0), None);
        assert_eq!(chunk_end(64, 40, u64::MAX), None);
    }
}
