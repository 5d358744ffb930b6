//! Standard output: one locked, buffered writer, for people or as JSON Lines.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use packstone::json::{Object, Style, Value, write_to};

use crate::failure::Failure;
use crate::sanitize;

/// A look that helps the eye and carries no meaning of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// Good.
    Green,
    /// Worth a look.
    Yellow,
    /// Bad.
    Red,
    /// Names.
    Cyan,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Red => "31",
            Self::Cyan => "36",
        }
    }

    /// `text` in this look where `colour` is wanted.
    pub(crate) fn on(self, colour: bool, text: impl Display) -> String {
        if colour { format!("\x1b[{}m{text}\x1b[0m", self.code()) } else { text.to_string() }
    }
}

/// True where a stream is a terminal that colours may be used on.
pub(crate) fn colours(terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Where a command writes its data.
pub(crate) struct Out {
    sink: BufWriter<StdoutLock<'static>>,
    json: bool,
    terminal: bool,
    colour: bool,
    line: String,
}

impl Out {
    /// Standard output, locked; `json` for JSON Lines.
    pub(crate) fn new(json: bool) -> Self {
        let stdout = io::stdout().lock();
        let terminal = stdout.is_terminal();
        let colour = colours(terminal);
        let sink = BufWriter::with_capacity(64 << 10, stdout);
        Self { sink, json, terminal, colour, line: String::new() }
    }

    /// True where JSON Lines are asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// True where a person looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Text from data as it may be shown: escaped on a terminal, as it is elsewhere.
    pub(crate) fn data<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.terminal { sanitize::escape(text) } else { Cow::Borrowed(text) }
    }

    /// `text` in a look, where colours are wanted.
    pub(crate) fn paint(&self, paint: Paint, text: impl Display) -> String {
        paint.on(self.colour, text)
    }

    /// Writes a line for people.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        writeln!(self.sink, "{text}").map_err(Failure::Output)
    }

    /// Writes one JSON line.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Failure> {
        self.line.clear();
        write_to(&mut self.line, value, &Style::LINES);
        self.line.push('\n');
        let line =
            if self.terminal { sanitize::escape_json(&self.line) } else { (&self.line).into() };
        self.sink.write_all(line.as_bytes()).map_err(Failure::Output)
    }

    /// Writes a report of the library as one versioned JSON line of type `kind`.
    pub(crate) fn versioned(&mut self, kind: &str, report: Value) -> Result<(), Failure> {
        self.json(&Value::Object(restated([("type", kind.into())], report)))
    }

    /// Writes the report that ends the output of `command` as one JSON line.
    pub(crate) fn summary(&mut self, command: &str, report: Value) -> Result<(), Failure> {
        let head = [("type", "summary".into()), ("command", command.into())];
        self.json(&Value::Object(restated(head, report)))
    }

    /// Writes finished JSON lines.
    pub(crate) fn json_lines(&mut self, lines: &str) -> Result<(), Failure> {
        let lines = if self.terminal { sanitize::escape_json(lines) } else { lines.into() };
        self.sink.write_all(lines.as_bytes()).map_err(Failure::Output)
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.sink.write_all(bytes).map_err(Failure::Output)
    }

    /// Hands everything over.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush().map_err(Failure::Output)
    }
}

/// The members of `report` with others before them and its version.
fn restated<const N: usize>(head: [(&str, Value); N], report: Value) -> Object {
    let mut out: Object = head.into_iter().collect();
    out.insert("schema_version", 1);
    if let Value::Object(report) = report {
        for (name, value) in report {
            if name != *"type" {
                out.insert(name, value);
            }
        }
    }
    out
}

/// Writes a line for people to standard error; where nobody can hear it, nothing is to be done.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Text from data as it may be shown on standard error.
pub(crate) fn note_data(text: &str) -> Cow<'_, str> {
    if io::stderr().is_terminal() { sanitize::escape(text) } else { Cow::Borrowed(text) }
}
