//! From words to a tree.

use super::error::{TOO_DEEP, error, syntax};
use super::node::{Comparison, Literal, Name, Node, Operator, TextTest, What};
use super::token::{Lexeme, Token, tokens};
use crate::error::{Error, Result};

/// Nodes on one way down, and open brackets, signs and `not`s at one time.
const MAX_DEPTH: usize = 100;

/// Words that are no names.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "is", "null", "true", "false"];

/// Reads a whole condition.
pub(super) fn parse(text: &str) -> Result<Node> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, place: 0, open: 0 };
    let node = parser.condition()?;
    match parser.what() {
        Lexeme::End => Ok(node),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    place: usize,
    open: usize,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Option<&'a Token<'a>> {
        self.tokens.get(self.place)
    }

    fn what(&self) -> &'a Lexeme<'a> {
        self.token().map_or(&Lexeme::End, |token| &token.what)
    }

    fn at(&self) -> usize {
        self.token().or(self.tokens.last()).map_or(0, |token| token.at)
    }

    fn unexpected(&self, expected: &str) -> Error {
        syntax(self.at(), expected, &self.what().shown())
    }

    fn next_word(&mut self, word: &str) -> bool {
        let found = *self.what() == Lexeme::Word(word);
        self.place += usize::from(found);
        found
    }

    fn next_sign(&mut self, sign: &'static str) -> bool {
        let found = *self.what() == Lexeme::Sign(sign);
        self.place += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &'static str) -> Result<()> {
        if self.next_sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("{sign:?}"))) }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.open >= MAX_DEPTH {
            return Err(too_deep(self.at()));
        }
        self.open += 1;
        let result = inner(self);
        self.open -= 1;
        result
    }

    fn condition(&mut self) -> Result<Node> {
        self.list("or", Self::conjunction, What::Or)
    }

    fn conjunction(&mut self) -> Result<Node> {
        self.list("and", Self::negation, What::And)
    }

    /// Parts joined by `word`, as one flat node.
    fn list(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Node>,
        what: fn(Vec<Node>) -> What,
    ) -> Result<Node> {
        let at = self.at();
        let first = part(self)?;
        if *self.what() != Lexeme::Word(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.next_word(word) {
            parts.push(part(self)?);
        }
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        node(at, depth, what(parts))
    }

    fn negation(&mut self) -> Result<Node> {
        let at = self.at();
        if !self.next_word("not") {
            return self.comparison();
        }
        let inner = self.deeper(Self::negation)?;
        node(at, inner.depth, What::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Node> {
        let left = self.sum()?;
        let (at, depth) = (self.at(), left.depth);
        if let Lexeme::Sign(sign) = self.what()
            && let Some(comparison) = Comparison::parse(sign)
        {
            self.place += 1;
            if comparison.is_equality() && self.next_word("null") {
                let negated = comparison == Comparison::NotEqual;
                return node(at, depth, What::IsNull { value: Box::new(left), negated });
            }
            let right = self.sum()?;
            let depth = depth.max(right.depth);
            return node(at, depth, What::Compare(comparison, Box::new(left), Box::new(right)));
        }
        if self.next_word("is") {
            let negated = self.next_word("not");
            if !self.next_word("null") {
                return Err(self.unexpected("null"));
            }
            return node(at, depth, What::IsNull { value: Box::new(left), negated });
        }
        let negated = self.next_word("not");
        if self.next_word("in") {
            let list = self.literals()?;
            return node(at, depth, What::In { value: Box::new(left), list, negated });
        }
        if negated { Err(self.unexpected("in")) } else { Ok(left) }
    }

    /// The values of a list in brackets.
    fn literals(&mut self) -> Result<Vec<(usize, Literal)>> {
        self.expect_sign("[")?;
        let mut list = Vec::new();
        while !self.next_sign("]") {
            if !list.is_empty() {
                self.expect_sign(",")?;
                // A comma may end the list.
                if self.next_sign("]") {
                    break;
                }
            }
            let (at, negative) = (self.at(), self.next_sign("-"));
            let literal = match self.what() {
                Lexeme::Int(value) => Literal::Int(if negative { -value } else { *value }),
                Lexeme::Float(value) => Literal::Float(if negative { -value } else { *value }),
                Lexeme::Text(text) if !negative => Literal::Text(text.clone()),
                _ => return Err(self.unexpected("a number or a text")),
            };
            self.place += 1;
            list.push((at, literal));
        }
        Ok(list)
    }

    fn sum(&mut self) -> Result<Node> {
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(&signs, Self::product)
    }

    fn product(&mut self) -> Result<Node> {
        let signs =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.chain(&signs, Self::factor)
    }

    /// Parts joined by `signs`, from left to right.
    fn chain(
        &mut self,
        signs: &[(&'static str, Operator)],
        part: fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let mut left = part(self)?;
        loop {
            let at = self.at();
            let Some((_, operator)) = signs.iter().find(|(sign, _)| self.next_sign(sign)) else {
                return Ok(left);
            };
            let right = part(self)?;
            let depth = left.depth.max(right.depth);
            let what = What::Arithmetic(*operator, Box::new(left), Box::new(right));
            left = node(at, depth, what)?;
        }
    }

    fn factor(&mut self) -> Result<Node> {
        let at = self.at();
        if self.next_sign("-") {
            let inner = self.deeper(Self::factor)?;
            return match inner.what {
                What::Literal(Literal::Int(value)) => leaf(at, Literal::Int(-value)),
                What::Literal(Literal::Float(value)) => leaf(at, Literal::Float(-value)),
                _ => node(at, inner.depth, What::Negate(Box::new(inner))),
            };
        }
        if self.next_sign("(") {
            let inner = self.deeper(Self::condition)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        let what = self.what();
        let literal = match what {
            Lexeme::Int(value) => Literal::Int(*value),
            Lexeme::Float(value) => Literal::Float(*value),
            Lexeme::Text(text) => Literal::Text(text.clone()),
            Lexeme::Word("true") => Literal::Bool(true),
            Lexeme::Word("false") => Literal::Bool(false),
            Lexeme::Word("null") => {
                return Err(syntax(at, "a value", "null, which only \"is null\" asks for"));
            }
            Lexeme::Word(word) if !KEYWORDS.contains(word) => {
                let next = self.tokens.get(self.place + 1).map(|token| &token.what);
                return match next {
                    Some(Lexeme::Sign("(")) => self.call(word),
                    _ => self.name(),
                };
            }
            Lexeme::Quoted(_) => return self.name(),
            _ => return Err(self.unexpected("a name or a value")),
        };
        self.place += 1;
        leaf(at, literal)
    }

    fn name(&mut self) -> Result<Node> {
        let at = self.at();
        let mut path = Vec::new();
        loop {
            match self.what() {
                Lexeme::Word(word) if !KEYWORDS.contains(word) => path.push((*word).to_owned()),
                Lexeme::Quoted(name) => path.push(name.clone()),
                _ => return Err(self.unexpected("a name")),
            }
            self.place += 1;
            if !self.next_sign(".") {
                return node(at, 0, What::Name(Name { whole: path.join("."), path }));
            }
        }
    }

    fn call(&mut self, function: &str) -> Result<Node> {
        let at = self.at();
        let test = match function {
            "startswith" => Some(TextTest::StartsWith),
            "endswith" => Some(TextTest::EndsWith),
            "contains" => Some(TextTest::Contains),
            "isnan" => None,
            _ => return Err(self.unexpected("one of startswith, endswith, contains, isnan")),
        };
        self.place += 1;
        self.expect_sign("(")?;
        let first = self.deeper(Self::condition)?;
        let made = match test {
            None => node(at, first.depth, What::IsNan(Box::new(first))),
            Some(test) => {
                self.expect_sign(",")?;
                let second = self.deeper(Self::condition)?;
                let depth = first.depth.max(second.depth);
                node(at, depth, What::TextTest(test, Box::new(first), Box::new(second)))
            }
        };
        self.expect_sign(")")?;
        made
    }
}

fn leaf(at: usize, literal: Literal) -> Result<Node> {
    node(at, 0, What::Literal(literal))
}

/// A node above others, the deepest of which has `below` nodes on its way down.
fn node(at: usize, below: usize, what: What) -> Result<Node> {
    match below < MAX_DEPTH {
        true => Ok(Node { at, what, depth: below + 1 }),
        false => Err(too_deep(at)),
    }
}

fn too_deep(at: usize) -> Error {
    error(TOO_DEEP, at, format!("expected at most {MAX_DEPTH} levels, found more"))
}
