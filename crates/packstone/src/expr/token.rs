//! Words of the text.

use super::error::{SYNTAX, error, syntax};
use crate::error::Result;

/// One word with its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    /// The byte it starts at.
    pub at: usize,
    /// What it is.
    pub what: Lexeme<'a>,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lexeme<'a> {
    /// A name, or a keyword or function where one may stand.
    Word(&'a str),
    /// A name between backquotes.
    Quoted(String),
    /// An integer.
    Int(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A text.
    Text(String),
    /// An operator, bracket, comma or dot.
    Sign(&'static str),
    /// The end of the text.
    End,
}

impl Lexeme<'_> {
    /// The word for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("{:?}", word.chars().take(64).collect::<String>()),
            Self::Quoted(_) => "a name".to_owned(),
            Self::Int(_) | Self::Float(_) => "a number".to_owned(),
            Self::Text(_) => "a text".to_owned(),
            Self::Sign(sign) => format!("{sign:?}"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Longer signs before those that they begin with.
const SIGNS: [&str; 17] =
    ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", "."];

/// Signs of other languages, with what they are here.
const FOREIGN: [(&str, &str); 5] =
    [("=", "=="), ("&", "and"), ("|", "or"), ("!", "not"), ("~", "not")];

/// All words of `text`, the end last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            out.push(Token { at, what: Lexeme::End });
            return Ok(out);
        };
        let (what, len) = match first {
            '"' | '\'' => quoted(text, at, first)?,
            '`' => name(text, at)?,
            '0'..='9' => number(rest, at)?,
            c if c == '_' || c.is_alphabetic() => {
                let word = |c: char| c == '_' || c.is_alphanumeric();
                let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
                (Lexeme::Word(rest.get(..len).unwrap_or_default()), len)
            }
            c => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Lexeme::Sign(sign), sign.len()),
                None => {
                    let known = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign));
                    let expected = known.map_or("a name, a value or an operator", |(_, here)| here);
                    return Err(syntax(at, expected, &format!("{c:?}")));
                }
            },
        };
        out.push(Token { at, what });
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// A number at the start of `rest`, with its length.
fn number(rest: &str, at: usize) -> Result<(Lexeme<'_>, usize)> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is = |place: usize, set: &[u8]| bytes.get(place).is_some_and(|byte| set.contains(byte));
    let whole = digits(0);
    let mut len = whole;
    if is(len, b".") && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
    }
    if is(len, b"eE") {
        let sign = usize::from(is(len + 1, b"+-"));
        if digits(len + 1 + sign) > 0 {
            len += 1 + sign + digits(len + 1 + sign);
        }
    }
    let text = rest.get(..len).unwrap_or_default();
    let follows = rest.get(len..).and_then(|tail| tail.chars().next());
    if let Some(c) = follows.filter(|c| *c == '_' || c.is_alphanumeric()) {
        return Err(syntax(at + len, "the end of a number", &format!("{c:?}")));
    }
    if len == whole {
        let value = text
            .parse()
            .map_err(|_| syntax(at, "an integer of at most 128 bits", "a larger one"))?;
        return Ok((Lexeme::Int(value), len));
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Lexeme::Float(value), len)),
        _ => Err(syntax(at, "a number within the doubles", "a larger one")),
    }
}

/// A name between backquotes, with its length.
fn name(text: &str, at: usize) -> Result<(Lexeme<'_>, usize)> {
    let mut name = String::new();
    let mut chars = text.get(at..).unwrap_or_default().char_indices().skip(1).peekable();
    while let Some((place, c)) = chars.next() {
        if c != '`' {
            name.push(c);
        } else if chars.next_if(|(_, next)| *next == '`').is_some() {
            name.push('`');
        } else {
            return Ok((Lexeme::Quoted(name), place + 1));
        }
    }
    Err(syntax(text.len(), "a closing \"`\"", "the end"))
}

/// A text in quotes, with its length.
fn quoted(text: &str, at: usize, quote: char) -> Result<(Lexeme<'_>, usize)> {
    let mut out = String::new();
    let mut chars = text.get(at..).unwrap_or_default().char_indices().skip(1);
    while let Some((place, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((Lexeme::Text(out), place + 1)),
            '\\' => out.push(escape(&mut chars, at + place)?),
            c => out.push(c),
        }
    }
    Err(syntax(text.len(), &format!("a closing {quote:?}"), "the end"))
}

/// The character of an escape, whose backslash is at byte `at`.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>, at: usize) -> Result<char> {
    let wrong = || {
        error(
            SYNTAX,
            at,
            "expected one of the escapes \\\\ \\\" \\' \\n \\r \\t \\0 \\u{…} \\uXXXX",
        )
    };
    Ok(match chars.next().map(|(_, c)| c) {
        Some(c @ ('\\' | '"' | '\'')) => c,
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('0') => '\0',
        Some('u') => {
            let mut digits = chars.map(|(_, c)| c);
            let hex: String = match digits.next() {
                Some('{') => digits.take_while(|c| *c != '}').take(7).collect(),
                Some(first) => std::iter::once(first).chain(digits.take(3)).collect(),
                None => return Err(wrong()),
            };
            let only_hex = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
            let code = only_hex.then(|| u32::from_str_radix(&hex, 16).ok()).flatten();
            code.and_then(char::from_u32).ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    })
}
