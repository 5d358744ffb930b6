//! The few Python literals that a header is made of. Nothing nests, so nothing recurses.

use super::NpyError;

/// Reads literals from header text.
pub(super) struct Literals<'a> {
    rest: &'a [u8],
    /// Where `rest` ends, counted from the start of the array.
    end: u64,
}

impl<'a> Literals<'a> {
    pub(super) fn new(text: &'a [u8], end: u64) -> Self {
        Self { rest: text, end }
    }

    pub(super) fn error(&self, expected: &'static str) -> NpyError {
        let left = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        NpyError::Syntax { expected, offset: self.end.saturating_sub(left) }
    }

    /// Passes white space and looks at the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some((b' ' | b'\t' | b'\n' | b'\r' | 0x0c, rest)) = self.rest.split_first() {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Passes `mark` if it is next.
    pub(super) fn take(&mut self, mark: u8) -> bool {
        let found = self.peek() == Some(mark);
        if found {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        found
    }

    pub(super) fn need(&mut self, mark: u8, expected: &'static str) -> Result<(), NpyError> {
        if self.take(mark) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// A string of plain ASCII without escapes, in either kind of quotes.
    pub(super) fn string(&mut self) -> Result<&'a str, NpyError> {
        let bad = self.error("a string without escapes");
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Err(self.error("a string")) };
        let body = self.rest.get(1..).unwrap_or_default();
        let end = body.iter().position(|&b| b == quote).ok_or(bad)?;
        let (text, rest) = body.split_at_checked(end).unwrap_or_default();
        if text.iter().any(|&b| b == b'\\' || !(b' '..=b'~').contains(&b)) {
            return Err(self.error("a string without escapes"));
        }
        self.rest = rest.get(1..).unwrap_or_default();
        std::str::from_utf8(text).map_err(|_| self.error("a string"))
    }

    pub(super) fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.error("True or False"))
    }

    /// A tuple of non-negative integers; a single one needs its comma, as in Python.
    pub(super) fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        self.need(b'(', "a tuple of integers")?;
        let mut shape = Vec::new();
        while !self.take(b')') {
            shape.push(self.integer()?);
            let comma = self.take(b',');
            if !comma && (shape.len() == 1 || self.peek() != Some(b')')) {
                return Err(self.error("a comma"));
            }
        }
        Ok(shape)
    }

    /// Digits below 2⁶⁴; Python 2 put an `L` behind long ones.
    fn integer(&mut self) -> Result<u64, NpyError> {
        self.peek();
        let bad = self.error("a non-negative integer below 2⁶⁴");
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (text, rest) = self.rest.split_at_checked(digits).unwrap_or_default();
        // Python has no leading zeros, so no value has two spellings.
        if text.len() > 1 && text.first() == Some(&b'0') {
            return Err(bad);
        }
        let value = std::str::from_utf8(text).ok().and_then(|s| s.parse().ok()).ok_or(bad)?;
        self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
        Ok(value)
    }
}
