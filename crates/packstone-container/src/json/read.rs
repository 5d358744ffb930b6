//! Reading a document into a tree.
//!
//! The grammar is RFC 8259 and nothing else, unless the options allow more. The reader does not recurse: open
//! arrays and objects are frames on its own stack, and the finished values of all of them share one vector, from which
//! a container takes exactly its part when it closes.

use super::document::{Document, Note, NoteKind, ReadOptions};
use super::encoding::{Encoding, Recoded};
use super::error::{JsonError, JsonErrorKind as Kind};
use super::key::Key;
use super::number::Number;
use super::object::{self, Object};
use super::path;
use super::scan::{self, BadNumber};
use super::value::Value;

/// Nesting that no limit can exceed, because what handles a [`Value`] later (writing it, dropping it) recurses.
///
/// CPython's own reader stops near 1000 levels, too.
const MAX_DEPTH: usize = 1024;

/// Notes that are kept; further ones are counted.
const MAX_NOTES: usize = 256;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads one JSON value that makes up the whole document, white space aside.
///
/// # Errors
///
/// The document is not JSON in UTF-8 (or another encoding, where the options allow it), or exceeds a limit of the
/// options. Offsets count bytes of the document in its own encoding.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Document, JsonError> {
    let fail = |offset, kind| Err(JsonError::new(bytes, offset, kind));
    let (limit, found) =
        (options.limits.document_bytes, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    if found > limit {
        return fail(0, Kind::TooLarge { limit, found });
    }
    let encoding = if options.any_encoding { Encoding::detect(bytes) } else { Encoding::Utf8 };
    match std::str::from_utf8(bytes) {
        Ok(text) if encoding == Encoding::Utf8 => Reader::read(text, options, Vec::new()),
        Err(error) if !options.any_encoding => fail(error.valid_up_to(), Kind::InvalidUtf8),
        _ => recoded(&Recoded::new(bytes, encoding)?, encoding, options),
    }
}

/// Reads a document that had to be brought to UTF-8.
fn recoded(
    document: &Recoded<'_>,
    encoding: Encoding,
    options: &ReadOptions,
) -> Result<Document, JsonError> {
    let kind = NoteKind::Encoding(encoding);
    let note = Note { kind, path: path::ROOT.to_owned(), offset: 0 };
    match Reader::read(&document.text, options, vec![note]) {
        Ok(mut read) => {
            document.locate(read.notes.iter_mut().map(|note| &mut note.offset));
            Ok(read)
        }
        Err(mut error) => {
            document.locate(std::iter::once(&mut error.offset));
            Err(error)
        }
    }
}

/// An array or object that is not closed yet.
struct Frame {
    is_object: bool,
    /// Where its values begin in [`Reader::values`].
    values: usize,
    /// Where its names begin in [`Reader::keys`].
    keys: usize,
}

struct Reader<'a> {
    text: &'a str,
    place: usize,
    options: &'a ReadOptions,
    depth: usize,
    frames: Vec<Frame>,
    /// Finished values of all open containers, outermost first.
    values: Vec<Value>,
    /// Names of all open objects with their offsets. While a member's value is being read, its name is the last.
    keys: Vec<(Key, usize)>,
    count: usize,
    notes: Vec<Note>,
    notes_left_off: usize,
}

impl<'a> Reader<'a> {
    /// Reads all of `text`, a byte order mark included; `notes` are those on the document as a whole.
    fn read(
        text: &'a str,
        options: &'a ReadOptions,
        notes: Vec<Note>,
    ) -> Result<Document, JsonError> {
        let mut reader = Reader {
            text,
            place: 0,
            options,
            depth: options.limits.depth.min(MAX_DEPTH),
            frames: Vec::new(),
            values: Vec::new(),
            keys: Vec::new(),
            count: 0,
            notes,
            notes_left_off: 0,
        };
        if text.starts_with(BYTE_ORDER_MARK) {
            if !options.allow_bom && !options.any_encoding {
                return Err(reader.fail(0, Kind::ByteOrderMark));
            }
            reader.note(NoteKind::ByteOrderMark, path::ROOT.to_owned(), 0);
            reader.place = BYTE_ORDER_MARK.len_utf8();
        }
        let value = reader.document()?;
        Ok(Document { value, notes: reader.notes, notes_left_off: reader.notes_left_off })
    }

    fn document(&mut self) -> Result<Value, JsonError> {
        loop {
            self.skip_white_space();
            // Nothing is finished yet where a container with something in it has just been opened.
            let Some(mut value) = self.begin_value()? else { continue };
            loop {
                let Some(is_object) = self.frames.last().map(|frame| frame.is_object) else {
                    return self.end_document(value);
                };
                self.values.push(value);
                self.skip_white_space();
                match (self.peek(), is_object) {
                    (Some(b','), false) => {
                        self.place += 1;
                        break;
                    }
                    (Some(b','), true) => {
                        self.place += 1;
                        self.skip_white_space();
                        self.member_name("a member name")?;
                        break;
                    }
                    (Some(b']'), false) | (Some(b'}'), true) => {
                        self.place += 1;
                        value = self.close()?;
                    }
                    (_, false) => return Err(self.unexpected("a comma or the end of the array")),
                    (_, true) => return Err(self.unexpected("a comma or the end of the object")),
                }
            }
        }
    }

    fn end_document(&mut self, value: Value) -> Result<Value, JsonError> {
        self.skip_white_space();
        match self.rest().chars().next() {
            None => Ok(value),
            Some(found) => Err(self.fail(self.place, Kind::TrailingText { found })),
        }
    }

    /// Reads a scalar or an empty container, or opens a container and reads up to its first value.
    fn begin_value(&mut self) -> Result<Option<Value>, JsonError> {
        if self.count == self.options.max_values {
            return Err(
                self.fail(self.place, Kind::TooManyValues { limit: self.options.max_values })
            );
        }
        self.count += 1;
        let value = match self.peek() {
            Some(b'"') => match self.string()? {
                Text::Plain(text) => Value::String(text.to_owned()),
                Text::Units(units) => Value::from_utf16(&units),
            },
            Some(b'{') => return self.open(true),
            Some(b'[') => return self.open(false),
            Some(b'0'..=b'9') => self.number()?,
            Some(b'-') if self.rest().starts_with("-I") => self.non_finite("-Infinity")?,
            Some(b'-') => self.number()?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'N') => self.non_finite("NaN")?,
            Some(b'I') => self.non_finite("Infinity")?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Some(value))
    }

    fn open(&mut self, is_object: bool) -> Result<Option<Value>, JsonError> {
        if self.frames.len() >= self.depth {
            return Err(self.fail(self.place, Kind::TooDeep { limit: self.depth }));
        }
        self.place += 1;
        self.skip_white_space();
        match (self.peek(), is_object) {
            (Some(b']'), false) => {
                self.place += 1;
                return Ok(Some(Value::Array(Vec::new())));
            }
            (Some(b'}'), true) => {
                self.place += 1;
                return Ok(Some(Value::Object(Object::new())));
            }
            _ => self.frames.push(Frame {
                is_object,
                values: self.values.len(),
                keys: self.keys.len(),
            }),
        }
        if is_object {
            self.member_name("a member name or the end of the object")?;
        }
        Ok(None)
    }

    /// Takes the innermost container off the stacks.
    fn close(&mut self) -> Result<Value, JsonError> {
        let Some(frame) = self.frames.pop() else { return Ok(Value::Null) };
        let first_value = frame.values.min(self.values.len());
        if !frame.is_object {
            return Ok(Value::Array(self.values.split_off(first_value)));
        }
        let first_key = frame.keys.min(self.keys.len());
        let names = self.keys.iter().skip(first_key);
        let duplicates = object::duplicates(names.map(|(key, _)| key));
        let distinct = duplicates.is_empty();
        for place in duplicates {
            let Some((key, offset)) = self.keys.get(first_key + place) else { continue };
            let offset = *offset;
            let mut path = self.path(first_value, first_key);
            path::push_key(&mut path, key);
            if self.options.refuse_duplicates {
                return Err(self.fail(offset, Kind::DuplicateKey { path }));
            }
            self.note(NoteKind::DuplicateKey, path, offset);
        }
        let names = self.keys.drain(first_key..).map(|(key, _)| key);
        let members = names.zip(self.values.drain(first_value..));
        Ok(Value::Object(match distinct {
            true => Object::of_distinct(members),
            false => members.collect(),
        }))
    }

    /// Reads a name and its colon.
    fn member_name(&mut self, expected: &'static str) -> Result<(), JsonError> {
        let offset = self.place;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(expected));
        }
        let key = match self.string()? {
            Text::Plain(text) => Key::from(text),
            Text::Units(units) => Key::from_utf16(&units),
        };
        self.keys.push((key, offset));
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("a colon"));
        }
        self.place += 1;
        Ok(())
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        let matched = self
            .rest()
            .bytes()
            .zip(word.bytes())
            .take_while(|(found, wanted)| found == wanted)
            .count();
        self.place += matched;
        if matched == word.len() { Ok(value) } else { Err(self.unexpected(word)) }
    }

    fn non_finite(&mut self, token: &'static str) -> Result<Value, JsonError> {
        let offset = self.place;
        let value = self.word(token, Value::Number(Number::from_checked(token)))?;
        if !self.options.allow_nan {
            return Err(self.fail(offset, Kind::NonFinite { token }));
        }
        let path = self.path(self.values.len(), self.keys.len());
        self.note(NoteKind::NonFinite, path, offset);
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = self.rest();
        match scan::number(rest.as_bytes()) {
            Ok(length) => {
                self.place += length;
                Ok(Value::Number(Number::from_checked(rest.get(..length).unwrap_or_default())))
            }
            Err(BadNumber::NoDigit(length)) => {
                self.place += length;
                Err(self.unexpected("a digit"))
            }
            Err(BadNumber::LeadingZero(length)) => {
                Err(self.fail(self.place + length, Kind::LeadingZero))
            }
        }
    }

    /// Reads a string, from its opening to behind its closing quote.
    fn string(&mut self) -> Result<Text<'a>, JsonError> {
        self.place += 1;
        let rest = self.rest();
        let length = scan::plain_run(rest.as_bytes());
        self.place += length;
        if self.peek() == Some(b'"') {
            self.place += 1;
            return Ok(Text::Plain(rest.get(..length).unwrap_or_default()));
        }
        let mut units: Vec<u16> = rest.get(..length).unwrap_or_default().encode_utf16().collect();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.place += 1;
                    return Ok(Text::Units(units));
                }
                Some(b'\\') => {
                    self.place += 1;
                    units.push(self.escape()?);
                }
                Some(found @ ..0x20) => {
                    return Err(
                        self.fail(self.place, Kind::ControlCharacter { found: char::from(found) })
                    );
                }
                Some(_) => {
                    let rest = self.rest();
                    let length = scan::plain_run(rest.as_bytes());
                    units.extend(rest.get(..length).unwrap_or_default().encode_utf16());
                    self.place += length;
                }
                None => return Err(self.unexpected("the end of the string")),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<u16, JsonError> {
        let unit = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.place += 1;
                return self.four_digits();
            }
            _ => return Err(self.unexpected("one of \"\\/bfnrtu")),
        };
        self.place += 1;
        Ok(u16::from(unit))
    }

    fn four_digits(&mut self) -> Result<u16, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self
                .peek()
                .and_then(|byte| char::from(byte).to_digit(16))
                .and_then(|d| u16::try_from(d).ok());
            let Some(digit) = digit else { return Err(self.unexpected("a hexadecimal digit")) };
            unit = unit << 4 | digit;
            self.place += 1;
        }
        Ok(unit)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.place).copied()
    }

    fn skip_white_space(&mut self) {
        // Compact documents have none, and then the call is not worth it.
        if matches!(self.peek(), Some(..=b' ')) {
            self.place += scan::white_space(self.rest().as_bytes());
        }
    }

    /// The path of the value that begins where so many values and names are on the stacks.
    fn path(&self, values: usize, keys: usize) -> String {
        let mut path = path::ROOT.to_owned();
        let ends = self.frames.iter().skip(1).map(|frame| (frame.values, frame.keys));
        let ends = ends.chain([(values, keys)]);
        for (frame, (values, keys)) in self.frames.iter().zip(ends) {
            if !frame.is_object {
                path::push_index(&mut path, values.saturating_sub(frame.values));
            } else if let Some((key, _)) = keys.checked_sub(1).and_then(|last| self.keys.get(last))
            {
                path::push_key(&mut path, key);
            }
        }
        path
    }

    fn note(&mut self, kind: NoteKind, path: String, offset: usize) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { kind, path, offset });
        } else {
            self.notes_left_off += 1;
        }
    }

    /// The error that something else than what was expected is at the present place.
    #[cold]
    fn unexpected(&self, expected: &'static str) -> JsonError {
        let kind = match self.rest().chars().next() {
            Some(found) => Kind::Unexpected { expected, found },
            None => Kind::Truncated { expected },
        };
        self.fail(self.place, kind)
    }

    #[cold]
    fn fail(&self, offset: usize, kind: Kind) -> JsonError {
        JsonError::new(self.text.as_bytes(), offset, kind)
    }
}

/// The content of a string token.
enum Text<'a> {
    /// Without escapes, as it stands in the document.
    Plain(&'a str),
    /// With escapes, which denote UTF-16 units.
    Units(Vec<u16>),
}
