//! The three Protocol Buffers messages: fields may be missing, unknown ones are passed over, the last one counts.

use super::index::Entry;
use crate::wire::{Field, Reader, Span, Value, WireError, put_bytes, put_varint_field};

/// What marks a postscript.
pub(super) const MAGIC: u64 = 0x7193_0e70_4fda_e05e;
/// The version of the format.
pub(super) const VERSION: u64 = 1;

/// The end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Postscript {
    pub(super) footer_offset: Option<u64>,
    pub(super) magic: Option<u64>,
}

impl Postscript {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut found = Self::default();
        for field in Reader::new(Span::new(bytes)) {
            match field? {
                Field { number: 1, value: Value::Varint(n) } => found.footer_offset = Some(n),
                Field { number: 2, value: Value::Varint(n) } => found.magic = Some(n),
                _ => {}
            }
        }
        Ok(found)
    }

    pub(super) fn encode(footer_offset: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint_field(1, footer_offset, &mut out);
        put_varint_field(2, MAGIC, &mut out);
        out
    }
}

/// What the first record of a footer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) version: u64,
    pub(super) chunks: u64,
    pub(super) records: u64,
    pub(super) writer_options: Option<String>,
    /// A field that packstone alone knows, beside the original's.
    pub(super) note: Option<Vec<u8>>,
}

/// The number of the field with a note, far from those that the original gives out.
const NOTE: u32 = 50_700;

impl Metadata {
    /// `None` where the message has none.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let (mut found, mut note): (Option<Self>, _) = (None, None);
        for field in Reader::new(Span::new(bytes)) {
            match field? {
                Field { number: 1, value: Value::Bytes(inner) } => {
                    found.get_or_insert_default().merge(inner)?;
                }
                Field { number: NOTE, value: Value::Bytes(inner) } => {
                    note = Some(inner.bytes.to_vec());
                }
                _ => {}
            }
        }
        Ok(found.map(|found| Self { note, ..found }))
    }

    fn merge(&mut self, message: Span<'_>) -> Result<(), WireError> {
        for field in Reader::new(message) {
            match field? {
                Field { number: 1, value: Value::Varint(n) } => self.version = n,
                Field { number: 2, value: Value::Varint(n) } => self.chunks = n,
                Field { number: 3, value: Value::Varint(n) } => self.records = n,
                Field { number: 4, value: Value::Bytes(text) } => {
                    let text = String::from_utf8_lossy(text.bytes).into_owned();
                    self.writer_options = Some(text);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut inner = Vec::new();
        put_varint_field(1, self.version, &mut inner);
        put_varint_field(2, self.chunks, &mut inner);
        put_varint_field(3, self.records, &mut inner);
        if let Some(options) = &self.writer_options {
            put_bytes(4, options.as_bytes(), &mut inner);
        }
        let mut out = Vec::new();
        put_bytes(1, &inner, &mut out);
        if let Some(note) = &self.note {
            put_bytes(NOTE, note, &mut out);
        }
        out
    }
}

/// One chunk in the index: its offset, where one is stated, decoded size and records.
pub(super) fn parse_entry(bytes: &[u8]) -> Result<(Option<u64>, u64, u64), WireError> {
    let (mut offset, mut decoded_size, mut records) = (None, 0, 0);
    for field in Reader::new(Span::new(bytes)) {
        match field? {
            Field { number: 1, value: Value::Varint(n) } => offset = Some(n),
            Field { number: 2, value: Value::Varint(n) } => decoded_size = n,
            Field { number: 3, value: Value::Varint(n) } => records = n,
            _ => {}
        }
    }
    Ok((offset, decoded_size, records))
}

/// Appends the message of one chunk.
pub(super) fn put_entry(entry: &Entry, out: &mut Vec<u8>) {
    put_varint_field(1, entry.offset, out);
    put_varint_field(2, entry.decoded_size, out);
    put_varint_field(3, entry.records, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a file of the original: `hello` alone.
    #[test]
    fn messages_of_the_original_go_both_ways() {
        let postscript = b"\x08\x70\x10\xde\xc0\xeb\xfe\x84\xce\xc3\xc9\x71";
        assert_eq!(Postscript::encode(112), postscript);
        let found = Postscript::parse(postscript).unwrap();
        assert_eq!((found.footer_offset, found.magic), (Some(112), Some(MAGIC)));

        let options = "group_size:1,transpose:false,pad_to_block_boundary:false,uncompressed,max_parallelism:1";
        let metadata = [b"\x0a\x5f\x08\x01\x10\x01\x18\x01\x22\x57", options.as_bytes()].concat();
        let found = Metadata::parse(&metadata).unwrap().unwrap();
        assert_eq!((found.version, found.chunks, found.records), (1, 1, 1));
        assert_eq!(found.writer_options.as_deref(), Some(options));
        assert_eq!(found.encode(), metadata);

        let noted = Metadata { note: Some(b"mine".to_vec()), ..found };
        assert_eq!(Metadata::parse(&noted.encode()).unwrap(), Some(noted));

        let entry = b"\x08\x40\x10\x05\x18\x01";
        let mut out = Vec::new();
        put_entry(&Entry { offset: 64, decoded_size: 5, records: 1 }, &mut out);
        assert_eq!(out, entry);
        assert_eq!(parse_entry(entry).unwrap(), (Some(64), 5, 1));
    }

    #[test]
    fn fields_may_be_missing_and_others_are_passed_over() {
        assert_eq!(Postscript::parse(b"").unwrap(), Postscript::default());
        let known = Postscript::parse(b"\x1a\x01x\x08\x05\x08\x07\x12\x00").unwrap();
        assert_eq!((known.footer_offset, known.magic), (Some(7), None));
        assert_eq!(Metadata::parse(b"\x08\x01").unwrap(), None);
        let twice = Metadata::parse(b"\x0a\x02\x08\x01\x0a\x04\x10\x02\x28\x09").unwrap().unwrap();
        assert_eq!((twice.version, twice.chunks, twice.writer_options), (1, 2, None));
        assert_eq!(parse_entry(b"\x18\x02").unwrap(), (None, 0, 2));
        assert!(Postscript::parse(b"\xff\xff\xff").is_err());
        assert!(Metadata::parse(b"\x0a\x02\x08").is_err());
        assert!(parse_entry(b"\x08").is_err());
    }
}
