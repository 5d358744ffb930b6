//! Checked access to the FlatBuffers that Arrow keeps its schemas and batches in.
//!
//! ```text
//! table   i32 (how far the vtable lies before it) │ fields
//! vtable  u16 its size │ u16 size of the table │ u16 a field: where it lies in the table, 0 for absent
//! vector  u32 elements │ elements                    reference  u32 (how far its target lies behind it)
//! ```
//! Nothing is looked up but what lies inside of the bytes; alignment is not asked for.

/// What was looked for does not lie inside of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {what} inside the {len} bytes of the flatbuffer, found it at {at}")]
pub struct FlatError {
    /// What was looked for.
    pub what: &'static str,
    /// Where it would begin; can be below zero.
    pub at: i64,
    /// Bytes of the flatbuffer.
    pub len: usize,
}

/// A table.
#[derive(Clone, Copy)]
pub(super) struct Flat<'a> {
    bytes: &'a [u8],
    at: usize,
    vtable: usize,
    /// Bytes of the vtable, and of the table.
    sizes: (usize, usize),
}

/// Elements of one size, one after another.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    first: usize,
    size: usize,
    count: usize,
}

fn outside(bytes: &[u8], what: &'static str, at: usize) -> FlatError {
    FlatError { what, at: i64::try_from(at).unwrap_or(i64::MAX), len: bytes.len() }
}

fn take<const N: usize>(bytes: &[u8], at: usize, what: &'static str) -> Result<[u8; N], FlatError> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or_else(|| outside(bytes, what, at))
}

/// Where the reference at `at` leads.
fn follow(bytes: &[u8], at: usize, what: &'static str) -> Result<usize, FlatError> {
    let step = usize::try_from(u32::from_le_bytes(take(bytes, at, what)?)).unwrap_or(usize::MAX);
    let target = at.saturating_add(step);
    if target < bytes.len() { Ok(target) } else { Err(outside(bytes, what, target)) }
}

impl<'a> Flat<'a> {
    /// The outermost table.
    pub(super) fn root(bytes: &'a [u8], what: &'static str) -> Result<Self, FlatError> {
        Self::at(bytes, follow(bytes, 0, what)?, what)
    }

    fn at(bytes: &'a [u8], at: usize, what: &'static str) -> Result<Self, FlatError> {
        let back = i64::from(i32::from_le_bytes(take(bytes, at, what)?));
        let place = i64::try_from(at).unwrap_or(i64::MAX).saturating_sub(back);
        let broken = FlatError { what: "a vtable", at: place, len: bytes.len() };
        let vtable = usize::try_from(place).map_err(|_| broken)?;
        let size = |at| Ok(usize::from(u16::from_le_bytes(take(bytes, at, "a vtable")?)));
        let sizes = (size(vtable)?, size(vtable.saturating_add(2))?);
        let inside = |start: usize, len| start.checked_add(len).is_some_and(|e| e <= bytes.len());
        if sizes.0 < 4 || sizes.1 < 4 || !inside(vtable, sizes.0) || !inside(at, sizes.1) {
            return Err(broken);
        }
        Ok(Self { bytes, at, vtable, sizes })
    }

    /// Where the field in a slot lies, if it is there and its first `len` bytes lie inside of the table.
    fn field(
        &self,
        slot: usize,
        len: usize,
        what: &'static str,
    ) -> Result<Option<usize>, FlatError> {
        let entry = 4 + 2 * slot;
        if entry + 2 > self.sizes.0 {
            return Ok(None);
        }
        let offset = usize::from(u16::from_le_bytes(take(self.bytes, self.vtable + entry, what)?));
        match offset {
            0 => Ok(None),
            4.. if offset + len <= self.sizes.1 => Ok(Some(self.at + offset)),
            _ => Err(outside(self.bytes, what, self.at + offset)),
        }
    }

    fn scalar<const N: usize>(
        &self,
        slot: usize,
        what: &'static str,
    ) -> Result<Option<[u8; N]>, FlatError> {
        self.field(slot, N, what)?.map(|at| take(self.bytes, at, what)).transpose()
    }

    /// A byte; absent, it is zero.
    pub(super) fn u8(&self, slot: usize, what: &'static str) -> Result<u8, FlatError> {
        Ok(self.scalar::<1>(slot, what)?.map_or(0, u8::from_le_bytes))
    }

    /// A short integer; absent, it is zero.
    pub(super) fn i16(&self, slot: usize, what: &'static str) -> Result<i16, FlatError> {
        Ok(self.scalar::<2>(slot, what)?.map_or(0, i16::from_le_bytes))
    }

    /// An integer; absent, it is zero.
    pub(super) fn i32(&self, slot: usize, what: &'static str) -> Result<i32, FlatError> {
        Ok(self.scalar::<4>(slot, what)?.map_or(0, i32::from_le_bytes))
    }

    /// A long integer; absent, it is zero.
    pub(super) fn i64(&self, slot: usize, what: &'static str) -> Result<i64, FlatError> {
        Ok(self.scalar::<8>(slot, what)?.map_or(0, i64::from_le_bytes))
    }

    /// Whether a field is there at all.
    pub(super) fn has(&self, slot: usize, what: &'static str) -> Result<bool, FlatError> {
        Ok(self.field(slot, 0, what)?.is_some())
    }

    /// A table that this one refers to.
    pub(super) fn table(&self, slot: usize, what: &'static str) -> Result<Option<Self>, FlatError> {
        let Some(at) = self.field(slot, 4, what)? else { return Ok(None) };
        Self::at(self.bytes, follow(self.bytes, at, what)?, what).map(Some)
    }

    /// A vector of elements of `size` bytes; absent, it is empty.
    pub(super) fn elements(
        &self,
        slot: usize,
        size: usize,
        what: &'static str,
    ) -> Result<Elements<'a>, FlatError> {
        let Some(at) = self.field(slot, 4, what)? else {
            return Ok(Elements { bytes: self.bytes, first: 0, size, count: 0 });
        };
        let start = follow(self.bytes, at, what)?;
        let count = u32::from_le_bytes(take(self.bytes, start, what)?);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let first = start.saturating_add(4);
        let end = count.checked_mul(size).and_then(|n| n.checked_add(first));
        if end.is_none_or(|end| end > self.bytes.len()) {
            return Err(outside(self.bytes, what, start));
        }
        Ok(Elements { bytes: self.bytes, first, size, count })
    }

    /// The bytes of a string; absent, it is empty.
    pub(super) fn text(&self, slot: usize, what: &'static str) -> Result<&'a [u8], FlatError> {
        let letters = self.elements(slot, 1, what)?;
        let span = letters.first..letters.first.saturating_add(letters.count);
        letters.bytes.get(span).ok_or_else(|| outside(self.bytes, what, letters.first))
    }
}

impl<'a> Elements<'a> {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn place(&self, number: usize) -> Option<usize> {
        (number < self.count).then(|| number.checked_mul(self.size)?.checked_add(self.first))?
    }

    /// Two long integers that begin an element.
    pub(super) fn pair(&self, number: usize, what: &'static str) -> Result<(i64, i64), FlatError> {
        Ok((self.i64(number, 0, what)?, self.i64(number, 8, what)?))
    }

    /// The long integer at byte `within` of an element.
    pub(super) fn i64(
        &self,
        number: usize,
        within: usize,
        what: &'static str,
    ) -> Result<i64, FlatError> {
        let at = self.place(number).and_then(|at| at.checked_add(within)).unwrap_or(usize::MAX);
        Ok(i64::from_le_bytes(take(self.bytes, at, what)?))
    }

    /// The integer at byte `within` of an element.
    pub(super) fn i32(
        &self,
        number: usize,
        within: usize,
        what: &'static str,
    ) -> Result<i32, FlatError> {
        let at = self.place(number).and_then(|at| at.checked_add(within)).unwrap_or(usize::MAX);
        Ok(i32::from_le_bytes(take(self.bytes, at, what)?))
    }

    /// The table that an element refers to.
    pub(super) fn table(&self, number: usize, what: &'static str) -> Result<Flat<'a>, FlatError> {
        let at = self.place(number).unwrap_or(usize::MAX);
        Flat::at(self.bytes, follow(self.bytes, at, what)?, what)
    }
}
