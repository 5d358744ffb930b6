//! Writing values in the spelling of an original library.

use super::escape;
use super::key::Key;
use super::value::Value;

/// How a document is laid out. A dialect is a constant of this type.
///
/// Numbers are written with the text they have, in every style. Empty containers are `[]` and `{}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// One item or member a line, indented by so many spaces a level; `None` for all on one line.
    pub indent: Option<usize>,
    /// Between items and between members, before the line end if there is one.
    pub item_separator: &'static str,
    /// Between a name and its value.
    pub key_separator: &'static str,
    /// Escapes everything but U+0020..=U+007E.
    pub ascii: bool,
    /// Orders members by the code points of their names.
    pub sort_keys: bool,
    /// What becomes of `NaN`, `Infinity` and `-Infinity`.
    pub non_finite: NonFinite,
    /// Ends the document with a line feed.
    pub final_newline: bool,
}

/// What a writer makes of a number that JSON has no word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// Writes the bare token, as Python's `json`; the document is then not JSON.
    Token,
    /// Writes `null`, as pydantic and orjson.
    Null,
    /// Writes the token as text: `"NaN"`.
    Text,
}

impl Style {
    /// Pydantic's `model_dump_json(indent=2)`.
    pub const PYDANTIC: Self = Self { indent: Some(2), key_separator: ": ", ..Self::COMPACT };

    /// No spaces and no line ends.
    pub const COMPACT: Self = Self {
        indent: None,
        item_separator: ",",
        key_separator: ":",
        ascii: false,
        sort_keys: false,
        non_finite: NonFinite::Null,
        final_newline: false,
    };

    /// For lines that programs read: JSON that loses nothing.
    pub const LINES: Self = Self { non_finite: NonFinite::Text, ..Self::COMPACT };

    /// Python's `json.dumps` with its defaults.
    pub const PYTHON: Self = Self {
        item_separator: ", ",
        key_separator: ": ",
        ascii: true,
        non_finite: NonFinite::Token,
        ..Self::COMPACT
    };
}

/// Writes a value as a document.
#[must_use]
pub fn write(value: &Value, style: &Style) -> String {
    let mut out = String::new();
    write_to(&mut out, value, style);
    out
}

/// Appends a value as a document.
///
/// Recurses as deep as the value nests.
pub fn write_to(out: &mut String, value: &Value, style: &Style) {
    Writer { out, style }.value(value, 0);
    if style.final_newline {
        out.push('\n');
    }
}

struct Writer<'a> {
    out: &'a mut String,
    style: &'a Style,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, level: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if !number.is_standard() => match self.style.non_finite {
                NonFinite::Token => self.out.push_str(number.text()),
                NonFinite::Null => self.out.push_str("null"),
                NonFinite::Text => {
                    self.out.push('"');
                    self.out.push_str(number.text());
                    self.out.push('"');
                }
            },
            Value::Number(number) => self.out.push_str(number.text()),
            Value::String(text) => {
                self.out.push('"');
                escape::text(self.out, text, self.style.ascii);
                self.out.push('"');
            }
            Value::Wide(text) => {
                self.out.push('"');
                escape::wide(self.out, text, self.style.ascii);
                self.out.push('"');
            }
            Value::Array(items) => self.list(['[', ']'], items.iter(), level, Self::value),
            Value::Object(object) if self.style.sort_keys => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_by_key(|(key, _)| *key);
                self.members(members.into_iter(), level);
            }
            Value::Object(object) => self.members(object.iter(), level),
        }
    }

    fn members<'v>(
        &mut self,
        members: impl ExactSizeIterator<Item = (&'v Key, &'v Value)>,
        level: usize,
    ) {
        self.list(['{', '}'], members, level, |writer, (key, value), level| {
            writer.out.push('"');
            key.escape_into(writer.out, writer.style.ascii);
            writer.out.push('"');
            writer.out.push_str(writer.style.key_separator);
            writer.value(value, level);
        });
    }

    fn list<T>(
        &mut self,
        [open, close]: [char; 2],
        items: impl ExactSizeIterator<Item = T>,
        level: usize,
        one: impl Fn(&mut Self, T, usize),
    ) {
        let filled = items.len() > 0;
        self.out.push(open);
        for (place, item) in items.enumerate() {
            if place > 0 {
                self.out.push_str(self.style.item_separator);
            }
            self.line(level + 1);
            one(self, item, level + 1);
        }
        if filled {
            self.line(level);
        }
        self.out.push(close);
    }

    /// Starts an indented line, if the style has lines.
    fn line(&mut self, level: usize) {
        const SPACES: &str = "                                ";
        let Some(indent) = self.style.indent else { return };
        self.out.push('\n');
        let mut width = indent.saturating_mul(level);
        while width > SPACES.len() {
            self.out.push_str(SPACES);
            width -= SPACES.len();
        }
        self.out.push_str(SPACES.get(..width).unwrap_or(SPACES));
    }
}
