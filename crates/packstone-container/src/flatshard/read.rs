//! One checked pass over a shard: where does each value lie?

/// Where the values of a shard lie: `spans[example * attributes + attribute]` is a start and a length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Number of examples.
    pub examples: usize,
    /// Number of attributes of each example.
    pub attributes: usize,
    spans: Vec<(u32, u32)>,
}

impl Index {
    /// Start and length of a value in the buffer that was read; both were checked against it.
    pub fn span(&self, example: usize, attribute: usize) -> Option<(usize, usize)> {
        if attribute >= self.attributes {
            return None;
        }
        let at = example.checked_mul(self.attributes)?.checked_add(attribute)?;
        let (start, len) = *self.spans.get(at)?;
        Some((usize::try_from(start).ok()?, usize::try_from(len).ok()?))
    }

    /// The spans of one attribute over all examples.
    pub fn column(&self, attribute: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.examples).filter_map(move |example| self.span(example, attribute))
    }
}

/// Why bytes are no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatError {
    /// The file is empty.
    #[error("expected a flatbuffer, found an empty file")]
    Empty,
    /// More than 32-bit offsets can address.
    #[error("expected at most 4 GiB of flatbuffer, found {0} bytes")]
    TooLarge(u64),
    /// An offset or length leads out of the buffer.
    #[error("expected {what} inside the {len} bytes of the shard, found it at {at}")]
    Outside {
        /// What was looked for.
        what: &'static str,
        /// Where it would lie; can be below zero.
        at: i64,
        /// Bytes of the shard.
        len: usize,
    },
    /// A vtable is shorter than its own header, or its field lies outside of the table.
    #[error(
        "expected a vtable of at least 4 bytes with its fields inside the table, found {size} bytes, field at {field}"
    )]
    Vtable {
        /// Where the vtable lies.
        at: usize,
        /// Its size.
        size: u16,
        /// Its first field's offset.
        field: u16,
    },
    /// An example has another number of attributes than the schema.
    #[error("expected {expected} attributes, found {found}")]
    AttributeCount {
        /// The example.
        example: usize,
        /// Attributes of the schema.
        expected: usize,
        /// Attributes that are stored.
        found: usize,
    },
    /// An example that was asked for is not there.
    #[error("expected at least {} examples, found {count}", .row + 1)]
    NoExample {
        /// Its number.
        row: usize,
        /// Examples of the shard.
        count: usize,
    },
    /// More values, or more bytes of values, than the buffer can hold: they overlap.
    #[error("expected values that do not overlap, found {found} bytes of values in {len} bytes")]
    Overlap {
        /// Sum over all values.
        found: u64,
        /// Bytes of the shard.
        len: usize,
    },
}

impl FlatError {
    /// The example at fault, where it is one.
    pub fn example(&self) -> Option<usize> {
        match self {
            FlatError::AttributeCount { example, .. } => Some(*example),
            _ => None,
        }
    }

    /// The byte offset at fault, where it lies inside the buffer.
    pub fn offset(&self) -> Option<u64> {
        match self {
            FlatError::Outside { at, .. } => u64::try_from(*at).ok(),
            FlatError::Vtable { at, .. } => u64::try_from(*at).ok(),
            _ => None,
        }
    }
}

/// Checks a whole shard whose examples have `attributes` attributes each, and notes where the values lie.
///
/// Absent vectors are empty, bytes that nothing refers to are ignored, alignment is not asked for. There is no limit on
/// tables other than what the buffer holds.
///
/// # Errors
/// The first [`FlatError`] met, in order of the examples.
pub fn read(bytes: &[u8], attributes: usize) -> Result<Index, FlatError> {
    let mut reader = Reader::new(bytes)?;
    let (list, count) = reader.examples()?;
    reader.index(list, count, attributes, count, 0..count)
}

/// Checks only the examples of the given numbers and notes where their values lie; the rest of the shard is not touched.
/// Also returns how many examples the shard holds.
///
/// # Errors
/// As for [`read`]; [`FlatError::NoExample`].
pub fn read_rows(
    bytes: &[u8],
    attributes: usize,
    rows: &[usize],
) -> Result<(Index, usize), FlatError> {
    let mut reader = Reader::new(bytes)?;
    let (list, count) = reader.examples()?;
    if let Some(row) = rows.iter().copied().find(|row| *row >= count) {
        return Err(FlatError::NoExample { row, count });
    }
    let index = reader.index(list, rows.len(), attributes, count, rows.iter().copied())?;
    Ok((index, count))
}

/// Examples whose first bytes are asked for at once.
const AHEAD: usize = 32;

struct Reader<'a> {
    bytes: &'a [u8],
    /// The vtable read last: nearly all tables of a file share one.
    vtable: usize,
    /// Its table size and the offset of field 0.
    shape: (u16, u16),
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, FlatError> {
        if bytes.is_empty() {
            return Err(FlatError::Empty);
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(FlatError::TooLarge(bytes.len() as u64));
        }
        Ok(Self { bytes, vtable: usize::MAX, shape: (0, 0) })
    }

    /// Reads a byte of each of the coming examples. They lie far apart in a large shard; asked for at once, their cache
    /// lines and pages arrive together instead of one after another.
    fn touch(&self, list: usize, rows: impl Iterator<Item = usize>) {
        let first = |number: usize| {
            let at = list.saturating_add(number.saturating_mul(4));
            let step = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<4>())?;
            let step = usize::try_from(u32::from_le_bytes(*step)).ok()?;
            self.bytes.get(at.saturating_add(step)).copied()
        };
        let seen = rows.fold(0u8, |seen, number| seen ^ first(number).unwrap_or(0));
        std::hint::black_box(seen);
    }

    /// Where the list of examples starts, and how many there are.
    fn examples(&mut self) -> Result<(usize, usize), FlatError> {
        let shard = self.follow(0, "the root table")?;
        Ok(self.vector_of(shard, 4, "the list of examples")?.unwrap_or_default())
    }

    /// The places of all values of `rows`, which are `wanted` of the `count` examples listed at `list`.
    fn index(
        &mut self,
        list: usize,
        wanted: usize,
        attributes: usize,
        count: usize,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Result<Index, FlatError> {
        let len = self.bytes.len();
        // Each value needs at least its entry in a vector, so this bounds what is allocated below.
        let fits = count.checked_mul(attributes).is_some_and(|n| n <= len);
        let values = wanted.checked_mul(attributes).filter(|_| fits);
        let overlap = |found| FlatError::Overlap { found, len };
        let mut spans = Vec::with_capacity(values.ok_or_else(|| overlap(u64::MAX))?);
        let mut sum = 0u64;
        let mut ahead = rows.clone();
        for (turn, number) in rows.enumerate() {
            if turn % AHEAD == 0 {
                self.touch(list, ahead.by_ref().take(AHEAD));
            }
            let example = self.follow(list + number * 4, "an example")?;
            let (list, found) = self.vector_of(example, 4, "the attributes")?.unwrap_or_default();
            if found != attributes {
                return Err(FlatError::AttributeCount {
                    example: number,
                    expected: attributes,
                    found,
                });
            }
            for position in 0..found {
                let attribute = self.follow(list + position * 4, "an attribute")?;
                let value = self.vector_of(attribute, 1, "the bytes of an attribute")?;
                let (start, len) = value.unwrap_or_default();
                sum += len as u64;
                // Both fit: the buffer has less than 4 GiB.
                spans.push((u32::try_from(start).unwrap_or(0), u32::try_from(len).unwrap_or(0)));
            }
        }
        if sum > len as u64 && wanted <= count {
            return Err(overlap(sum));
        }
        Ok(Index { examples: wanted, attributes, spans })
    }

    fn outside(&self, what: &'static str, at: i64) -> FlatError {
        FlatError::Outside { what, at, len: self.bytes.len() }
    }

    fn take<const N: usize>(&self, at: usize, what: &'static str) -> Result<[u8; N], FlatError> {
        let found = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
        found.copied().ok_or_else(|| self.outside(what, i64::try_from(at).unwrap_or(i64::MAX)))
    }

    /// The target of the forward offset that stands at `at`.
    fn follow(&self, at: usize, what: &'static str) -> Result<usize, FlatError> {
        let step = u32::from_le_bytes(self.take(at, what)?);
        let target = at.saturating_add(usize::try_from(step).unwrap_or(usize::MAX));
        if target >= self.bytes.len() {
            return Err(self.outside(what, i64::try_from(target).unwrap_or(i64::MAX)));
        }
        Ok(target)
    }

    /// Elements and count of the vector in field 0 of `table`; `None` where the field is absent.
    fn vector_of(
        &mut self,
        table: usize,
        element: usize,
        what: &'static str,
    ) -> Result<Option<(usize, usize)>, FlatError> {
        let back = i64::from(i32::from_le_bytes(self.take(table, what)?));
        let at = i64::try_from(table).unwrap_or(i64::MAX).saturating_sub(back);
        let vtable = usize::try_from(at).map_err(|_| self.outside("a vtable", at))?;
        if vtable != self.vtable {
            self.shape = self.vtable_at(vtable)?;
            self.vtable = vtable;
        }
        let (size, field) = self.shape;
        if table.saturating_add(usize::from(size)) > self.bytes.len() {
            return Err(self.outside(what, i64::try_from(table).unwrap_or(i64::MAX)));
        }
        if field == 0 {
            return Ok(None);
        }
        let start = self.follow(table.saturating_add(usize::from(field)), what)?;
        let count = u32::from_le_bytes(self.take(start, what)?);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let first = start.saturating_add(4);
        let end = count.checked_mul(element).and_then(|n| n.checked_add(first));
        match end {
            Some(end) if end <= self.bytes.len() => Ok(Some((first, count))),
            _ => Err(self.outside(what, i64::try_from(start).unwrap_or(i64::MAX))),
        }
    }

    fn vtable_at(&self, at: usize) -> Result<(u16, u16), FlatError> {
        let head: [u8; 4] = self.take(at, "a vtable")?;
        let [size_low, size_high, table_low, table_high] = head;
        let size = u16::from_le_bytes([size_low, size_high]);
        let table = u16::from_le_bytes([table_low, table_high]);
        let field = match size {
            0..4 => return Err(FlatError::Vtable { at, size, field: 0 }),
            4..6 => 0,
            _ => u16::from_le_bytes(self.take(at + 4, "a vtable")?),
        };
        let inside = at.saturating_add(usize::from(size)) <= self.bytes.len();
        // A field of 4 bytes behind the 4 of the table's own offset.
        let placed =
            field == 0 || (field >= 4 && table.checked_sub(4).is_some_and(|last| field <= last));
        if !inside || !placed || table < 4 {
            return Err(FlatError::Vtable { at, size, field });
        }
        Ok((table, field))
    }
}
