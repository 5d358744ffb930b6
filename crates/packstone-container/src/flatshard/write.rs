//! Builds a shard from its end towards its start, byte for byte as the original's builder does.

use packstone_io::{AlignedBuf, IoError};

/// The only vtable of a file: 6 bytes long, tables of 8 bytes, field 0 at 4.
const VTABLE: [u8; 6] = [6, 0, 8, 0, 4, 0];

/// Writes a shard of `examples` examples to `out`, which is cleared first.
///
/// `aligns` has the alignment of each attribute in schema order: the item size of its dtype, 16 for text and bytes;
/// `value(example, attribute)` gives the bytes.
///
/// # Errors
/// `Limit` where the memory cannot be had or the shard would pass the 2 GiB that FlatBuffers can address.
pub fn write<'v>(
    examples: usize,
    aligns: &[usize],
    value: impl Fn(usize, usize) -> &'v [u8],
    out: &mut AlignedBuf,
) -> Result<(), IoError> {
    // Nothing is copied in the first pass: it only finds out how long the result is.
    let mut measure = Builder::default();
    let mut offsets = Offsets::default();
    measure.shard(examples, aligns, &value, &mut offsets);
    let total = measure.len;
    if i32::try_from(total).is_err() {
        let detail = format!("expected at most 2 GiB for an fb shard, found {total} bytes");
        return Err(IoError::new(packstone_io::Kind::Limit, "encode", "shard", detail));
    }
    out.clear();
    out.set_len(total)?;
    let mut fill = Builder { target: Some(out), ..Builder::default() };
    fill.shard(examples, aligns, &value, &mut offsets);
    Ok(())
}

/// Places of finished objects, reused between examples.
#[derive(Default)]
struct Offsets {
    attributes: Vec<usize>,
    examples: Vec<usize>,
}

/// Counts bytes from the end of the buffer and, where it has one, fills it.
#[derive(Default)]
struct Builder<'t> {
    target: Option<&'t mut [u8]>,
    len: usize,
    largest: usize,
    vtable: Option<usize>,
}

impl Builder<'_> {
    fn shard<'v>(
        &mut self,
        examples: usize,
        aligns: &[usize],
        value: &impl Fn(usize, usize) -> &'v [u8],
        offsets: &mut Offsets,
    ) {
        offsets.examples.clear();
        for example in 0..examples {
            offsets.attributes.clear();
            for (attribute, align) in aligns.iter().enumerate() {
                let bytes = value(example, attribute);
                self.align(4, bytes.len());
                self.align(*align, bytes.len());
                self.put(bytes);
                let vector = self.put_count(bytes.len());
                offsets.attributes.push(self.table(vector));
            }
            let vector = self.vector(&offsets.attributes);
            let table = self.table(vector);
            offsets.examples.push(table);
        }
        let vector = self.vector(&offsets.examples);
        let table = self.table(vector);
        self.align(self.largest, 4);
        self.put_offset(table);
    }

    /// Puts zeros so that after `more` bytes the length is a multiple of `size`, by the original's mask arithmetic:
    /// item sizes that are no power of two give what it gives.
    fn align(&mut self, size: usize, more: usize) {
        self.largest = self.largest.max(size);
        let zeros = 0usize.wrapping_sub(self.len + more) & size.wrapping_sub(1);
        const ZEROS: [u8; 64] = [0; 64];
        let mut left = zeros;
        while left > 0 {
            let step = left.min(ZEROS.len());
            self.put(ZEROS.get(..step).unwrap_or_default());
            left -= step;
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        if let Some(target) = &mut self.target {
            let start = target.len().wrapping_sub(self.len);
            if let Some(to) = target.get_mut(start..).and_then(|t| t.get_mut(..bytes.len())) {
                to.copy_from_slice(bytes);
            }
        }
    }

    fn put_u32(&mut self, n: usize) {
        // Anything larger was refused after the first pass.
        self.put(&u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn put_count(&mut self, n: usize) -> usize {
        self.put_u32(n);
        self.len
    }

    fn put_offset(&mut self, to: usize) {
        self.put_u32(self.len + 4 - to);
    }

    fn vector(&mut self, elements: &[usize]) -> usize {
        self.align(4, elements.len() * 4);
        for element in elements.iter().rev() {
            self.put_offset(*element);
        }
        self.put_count(elements.len())
    }

    fn table(&mut self, vector: usize) -> usize {
        self.align(4, 0);
        self.put_offset(vector);
        let table = self.len + 4;
        let vtable = *self.vtable.get_or_insert(table + VTABLE.len());
        let back = i64::try_from(vtable).unwrap_or(0) - i64::try_from(table).unwrap_or(0);
        self.put(&i32::try_from(back).unwrap_or(0).to_le_bytes());
        if vtable == table + VTABLE.len() {
            self.put(&VTABLE);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlatError, Index, read};
    use super::*;

    fn built(rows: &[&[&[u8]]], aligns: &[usize]) -> AlignedBuf {
        let mut out = AlignedBuf::default();
        write(rows.len(), aligns, |e, a| rows[e][a], &mut out).unwrap();
        out
    }

    fn values(bytes: &[u8], index: &Index) -> Vec<Vec<Vec<u8>>> {
        let value = |e, a| {
            let (start, len) = index.span(e, a).unwrap();
            bytes[start..start + len].to_vec()
        };
        (0..index.examples).map(|e| (0..index.attributes).map(|a| value(e, a)).collect()).collect()
    }

    const ROWS: [&[&[u8]]; 3] = [
        &[b"\x01\0\0\0", b"text"],
        &[b"\x02\0\0\0", b""],
        &[b"\x03\0\0\0", b"longer text than before"],
    ];

    #[test]
    fn what_is_written_reads_back() {
        let bytes = built(&ROWS, &[4, 16]);
        let index = read(&bytes, 2).unwrap();
        assert_eq!(
            values(&bytes, &index),
            ROWS.map(|r| r.iter().map(|v| v.to_vec()).collect::<Vec<_>>())
        );
        assert!(index.column(0).all(|(start, len)| len == 4 && start % 4 == 0));
        let (some, count) = super::super::read_rows(&bytes, 2, &[2, 0]).unwrap();
        assert_eq!(
            (some.span(0, 1), some.span(1, 1), count),
            (index.span(2, 1), index.span(0, 1), 3)
        );
        assert!(super::super::read_rows(&bytes, 2, &[3]).is_err());
        assert_eq!(index.span(3, 0), None);
        assert_eq!(index.span(0, 2), None);
    }

    #[test]
    fn no_examples_and_no_attributes_are_fine() {
        assert_eq!(read(&built(&[], &[4]), 1).unwrap().examples, 0);
        assert_eq!(read(&built(&[&[], &[]], &[]), 0).unwrap().examples, 2);
    }

    #[test]
    fn another_number_of_attributes_is_named() {
        let error = read(&built(&ROWS, &[4, 16]), 3).unwrap_err();
        assert_eq!(error, FlatError::AttributeCount { example: 0, expected: 3, found: 2 });
    }

    #[test]
    fn every_cut_and_every_flip_ends_well() {
        let bytes = built(&ROWS, &[4, 16]);
        assert_eq!(read(&[], 2), Err(FlatError::Empty));
        for len in 1..bytes.len() {
            // A cut may pass only where all that is referred to is still there, which it never is at the front.
            if let Ok(index) = read(&bytes[..len], 2) {
                values(&bytes[..len], &index);
            }
        }
        for at in 0..bytes.len() {
            for flip in [1u8, 0x80, 0xff] {
                let mut changed = bytes.to_vec();
                changed[at] ^= flip;
                if let Ok(index) = read(&changed, 2) {
                    values(&changed, &index);
                }
            }
        }
    }

    #[test]
    fn one_example_listed_a_million_times_is_refused() {
        // root → shard → a vector whose entries all lead to one example with one attribute of 1000 bytes
        let mut bytes = built(&[&[&[7u8; 1000]]], &[1]).to_vec();
        let example = {
            let shard = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
            let vector = shard
                + 4
                + u32::from_le_bytes(bytes[shard + 4..shard + 8].try_into().unwrap()) as usize;
            vector
                + 4
                + u32::from_le_bytes(bytes[vector + 4..vector + 8].try_into().unwrap()) as usize
        };
        // Offsets lead forward only, so the repeated list stands in front.
        let count = 100_000usize;
        let front = 24 + 4 * count;
        let mut hostile = Vec::new();
        hostile.extend(12u32.to_le_bytes());
        hostile.extend([0, 0, 6, 0, 8, 0, 4, 0]);
        hostile.extend(6i32.to_le_bytes()); // table at 12, vtable at 6
        hostile.extend(4u32.to_le_bytes());
        hostile.extend(u32::try_from(count).unwrap().to_le_bytes());
        for n in 0..count {
            hostile.extend(u32::try_from(front + example - (24 + 4 * n)).unwrap().to_le_bytes());
        }
        hostile.append(&mut bytes);
        assert!(matches!(read(&hostile, 1), Err(FlatError::Overlap { .. })));
    }
}
