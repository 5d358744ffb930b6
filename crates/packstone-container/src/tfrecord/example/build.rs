//! Writing examples: packed lists, features in the order given.

use crate::wire::{bytes_field_len, put_bytes, put_len, put_varint, wide};

/// Collects the features of one example, then of the next.
#[derive(Debug, Default)]
pub struct ExampleBuilder {
    /// The map entries so far.
    entries: Vec<u8>,
    values: Vec<u8>,
}

impl ExampleBuilder {
    /// Adds a list of byte strings.
    pub fn bytes<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v [u8]>) {
        self.values.clear();
        values.into_iter().for_each(|value| put_bytes(1, value, &mut self.values));
        self.entry(name, 1, false);
    }

    /// Adds a list of floats.
    pub fn floats(&mut self, name: &str, values: impl IntoIterator<Item = f32>) {
        self.values.clear();
        values.into_iter().for_each(|value| self.values.extend_from_slice(&value.to_le_bytes()));
        self.entry(name, 2, true);
    }

    /// Adds a list of integers; negative ones take ten bytes.
    pub fn int64s(&mut self, name: &str, values: impl IntoIterator<Item = i64>) {
        self.values.clear();
        values.into_iter().for_each(|v| put_varint(v.cast_unsigned(), &mut self.values));
        self.entry(name, 3, true);
    }

    /// Appends the message to `out` and starts the next example.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        put_bytes(1, &self.entries, out);
        self.entries.clear();
    }

    /// Wraps the collected values from the inside out: list, feature, map entry.
    fn entry(&mut self, name: &str, kind: u32, packed: bool) {
        let values = wide(self.values.len());
        let packed = packed && values > 0;
        let list = if packed { bytes_field_len(1, values) } else { values };
        let feature = bytes_field_len(kind, list);
        let entry = bytes_field_len(1, wide(name.len())) + bytes_field_len(2, feature);
        let out = &mut self.entries;
        put_len(1, entry, out);
        put_bytes(1, name.as_bytes(), out);
        put_len(2, feature, out);
        put_len(kind, list, out);
        if packed {
            put_len(1, values, out);
        }
        out.extend_from_slice(&self.values);
    }
}
