//! Builds FlatBuffers from their end towards their start, byte for byte as Arrow's own builder does.
//!
//! Fields are laid out in the order in which they are added, the first at the end of its table; equal vtables are
//! shared. Places are counted in bytes from the end of the buffer.

/// A finished object: how many bytes before the end of the buffer it begins.
pub(super) type Place = usize;

#[derive(Default)]
pub(super) struct Builder {
    /// The buffer, its last byte first.
    reversed: Vec<u8>,
    largest: usize,
    /// Places of all vtables.
    vtables: Vec<Place>,
}

/// The fields of a table in the making.
pub(super) struct Fields<'b> {
    builder: &'b mut Builder,
    tail: usize,
    /// Slot and place.
    placed: Vec<(usize, Place)>,
}

impl Builder {
    fn used(&self) -> usize {
        self.reversed.len()
    }

    /// Puts zeros so that after `more` bytes the length is a multiple of `size`.
    fn align(&mut self, more: usize, size: usize) {
        self.largest = self.largest.max(size);
        let end = self.used() + more;
        let zeros = end.next_multiple_of(size.max(1)) - end;
        self.reversed.resize(self.used() + zeros, 0);
    }

    /// Puts bytes in front of what is there.
    fn put(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    fn scalar<const N: usize>(&mut self, bytes: [u8; N]) -> Place {
        self.align(N, N);
        self.put(&bytes);
        self.used()
    }

    fn count(&mut self, count: usize) -> Place {
        // The caller keeps to what 32 bits can address.
        self.scalar(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes())
    }

    fn reference(&mut self, to: Place) -> Place {
        self.align(4, 4);
        self.count(self.used() + 4 - to)
    }

    pub(super) fn text(&mut self, text: &str) -> Place {
        self.align(text.len() + 1, 4);
        self.put(&[0]);
        self.put(text.as_bytes());
        self.count(text.len())
    }

    /// A vector of references.
    pub(super) fn references(&mut self, to: &[Place]) -> Place {
        self.align(to.len() * 4, 4);
        for place in to.iter().rev() {
            self.reference(*place);
        }
        self.count(to.len())
    }

    /// A vector of structs of `N` bytes that hold 64-bit numbers.
    pub(super) fn structs<const N: usize>(&mut self, items: &[[u8; N]]) -> Place {
        self.align(items.len() * N, 8);
        for item in items.iter().rev() {
            self.put(item);
        }
        self.count(items.len())
    }

    /// Starts a table.
    pub(super) fn table(&mut self) -> Fields<'_> {
        let tail = self.used();
        Fields { builder: self, tail, placed: Vec::new() }
    }

    /// The bytes, with a reference to the outermost table in front.
    pub(super) fn finish(mut self, root: Place) -> Vec<u8> {
        self.align(4, self.largest);
        self.reference(root);
        self.reversed.reverse();
        self.reversed
    }
}

impl Fields<'_> {
    pub(super) fn u8(mut self, slot: usize, value: u8) -> Self {
        if value != 0 {
            let place = self.builder.scalar([value]);
            self.placed.push((slot, place));
        }
        self
    }

    pub(super) fn i16(mut self, slot: usize, value: i16) -> Self {
        if value != 0 {
            let place = self.builder.scalar(value.to_le_bytes());
            self.placed.push((slot, place));
        }
        self
    }

    pub(super) fn i32(mut self, slot: usize, value: i32) -> Self {
        if value != 0 {
            let place = self.builder.scalar(value.to_le_bytes());
            self.placed.push((slot, place));
        }
        self
    }

    pub(super) fn i64(mut self, slot: usize, value: i64) -> Self {
        if value != 0 {
            let place = self.builder.scalar(value.to_le_bytes());
            self.placed.push((slot, place));
        }
        self
    }

    pub(super) fn to(mut self, slot: usize, target: Place) -> Self {
        let place = self.builder.reference(target);
        self.placed.push((slot, place));
        self
    }

    pub(super) fn finish(self) -> Place {
        let Self { builder, tail, placed } = self;
        builder.align(4, 4);
        let table = builder.used() + 4;
        let slots = placed.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut vtable = vec![0; 4 + 2 * slots];
        let mut set = |at: usize, value: usize| {
            let bytes = u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes();
            if let Some(to) = vtable.get_mut(at..at + 2) {
                to.copy_from_slice(&bytes);
            }
        };
        set(0, 4 + 2 * slots);
        set(2, table - tail);
        for (slot, place) in &placed {
            set(4 + 2 * slot, table - place);
        }
        let same = |place: &Place| {
            let known = builder.reversed.get(place.saturating_sub(vtable.len())..*place);
            known.is_some_and(|known| known.iter().rev().eq(&vtable))
        };
        let known = builder.vtables.iter().copied().find(same);
        let at = known.unwrap_or(table + vtable.len());
        let back = i64::try_from(at).unwrap_or(0) - i64::try_from(table).unwrap_or(0);
        builder.put(&i32::try_from(back).unwrap_or(0).to_le_bytes());
        if known.is_none() {
            builder.put(&vtable);
            builder.vtables.push(at);
        }
        table
    }
}
