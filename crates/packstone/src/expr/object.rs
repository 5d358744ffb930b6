//! Conditions over the metadata of one sample.

use packstone_container::json::{Object, Value};

use super::error::{mismatch, overflow};
use super::node::{Comparison, Literal, Name, Node, Operator, What};
use super::number::{self, Outcome};
use crate::error::Result;

/// A value of the text or of the metadata.
#[derive(Clone, Copy, Debug)]
enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a str),
    /// What has no place in a condition, with its name.
    Other(&'static str),
}

impl Scalar<'_> {
    /// What it is, for messages.
    fn shown(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a condition",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a double",
            Self::Text(_) => "a text",
            Self::Other(name) => name,
        }
    }
}

/// Whether the condition is true.
pub(super) fn matches(root: &Node, object: &Object) -> Result<bool> {
    Ok(Sample(object).condition(root)? == Some(true))
}

struct Sample<'a>(&'a Object);

impl<'a> Sample<'a> {
    fn scalar(&self, node: &'a Node) -> Result<Scalar<'a>> {
        Ok(match &node.what {
            What::Literal(literal) => constant(literal),
            What::Name(name) => self.member(name),
            What::Negate(inner) => match self.number(inner)? {
                Scalar::Float(value) => Scalar::Float(-value),
                Scalar::Int(value) => {
                    arithmetic(Operator::Subtract, Scalar::Int(0), Scalar::Int(value), node.at)?
                }
                _ => Scalar::Null,
            },
            What::Arithmetic(operator, left, right) => {
                arithmetic(*operator, self.number(left)?, self.number(right)?, node.at)?
            }
            _ => self.condition(node)?.map_or(Scalar::Null, Scalar::Bool),
        })
    }

    /// The member of a name: of the whole, or of its parts one inside the other.
    fn member(&self, name: &Name) -> Scalar<'a> {
        let inside = || {
            let (first, rest) = name.path.split_first()?;
            rest.iter().try_fold(self.0.get(first)?, |value, part| value.get(part))
        };
        match self.0.get(&name.whole).or_else(inside) {
            None | Some(Value::Null) => Scalar::Null,
            Some(Value::Bool(value)) => Scalar::Bool(*value),
            Some(Value::String(text)) => Scalar::Text(text),
            Some(Value::Number(number)) => {
                let integer = number.is_integer().then(|| number.text().parse().ok()).flatten();
                integer.map_or_else(|| Scalar::Float(number.to_f64()), Scalar::Int)
            }
            Some(other) => Scalar::Other(other.kind()),
        }
    }

    /// True, false or null; `None` for null.
    fn condition(&self, node: &'a Node) -> Result<Option<bool>> {
        Ok(match &node.what {
            // Both sides are looked at, so that what is wrong in one does not depend on the other.
            What::Or(nodes) => self.conditions(nodes, true)?,
            What::And(nodes) => self.conditions(nodes, false)?,
            What::Not(inner) => self.condition(inner)?.map(|value| !value),
            What::IsNull { value, negated } => {
                let is_null = matches!(self.scalar(value)?, Scalar::Null);
                Some(is_null != *negated)
            }
            What::Compare(comparison, left, right) => {
                compare(*comparison, self.scalar(left)?, self.scalar(right)?, left, right, node.at)?
            }
            What::In { value, list, negated } => {
                self.list(value, list)?.map(|found| found != *negated)
            }
            What::TextTest(test, text, part) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                text.zip(part).map(|(text, part)| test.holds(text, part))
            }
            What::IsNan(inner) => match self.number(inner)? {
                Scalar::Float(value) => Some(value.is_nan()),
                Scalar::Int(_) => Some(false),
                _ => None,
            },
            _ => match self.scalar(node)? {
                Scalar::Null => None,
                Scalar::Bool(value) => Some(value),
                other => return Err(mismatch(node.at, "a condition", other.shown())),
            },
        })
    }

    /// `decisive` where any part is, null where one is null, and the opposite else.
    fn conditions(&self, nodes: &'a [Node], decisive: bool) -> Result<Option<bool>> {
        let mut result = Some(!decisive);
        for node in nodes {
            match self.condition(node)? {
                Some(value) if value == decisive => result = Some(decisive),
                None if result != Some(decisive) => result = None,
                _ => {}
            }
        }
        Ok(result)
    }

    /// A number or null.
    fn number(&self, node: &'a Node) -> Result<Scalar<'a>> {
        match self.scalar(node)? {
            found @ (Scalar::Int(_) | Scalar::Float(_) | Scalar::Null) => Ok(found),
            other => Err(mismatch(node.at, "a number", other.shown())),
        }
    }

    /// A text; `None` for null.
    fn text(&self, node: &'a Node) -> Result<Option<&'a str>> {
        match self.scalar(node)? {
            Scalar::Text(text) => Ok(Some(text)),
            Scalar::Null => Ok(None),
            other => Err(mismatch(node.at, "a text", other.shown())),
        }
    }

    fn list(&self, value: &'a Node, list: &'a [(usize, Literal)]) -> Result<Option<bool>> {
        let found = self.scalar(value)?;
        let mut any = false;
        for (at, literal) in list {
            let literal = constant(literal);
            any |= match (found, literal) {
                (Scalar::Null, _) => false,
                (Scalar::Text(a), Scalar::Text(b)) => a == b,
                (Scalar::Text(_), other) => return Err(mismatch(*at, "a text", other.shown())),
                (Scalar::Int(_) | Scalar::Float(_), Scalar::Int(_) | Scalar::Float(_)) => {
                    numbers(Comparison::Equal, found, literal) == Some(true)
                }
                (Scalar::Int(_) | Scalar::Float(_), other) => {
                    return Err(mismatch(*at, "a number", other.shown()));
                }
                (other, _) => return Err(mismatch(value.at, "a number or a text", other.shown())),
            };
        }
        match found {
            Scalar::Null => Ok(None),
            Scalar::Bool(_) | Scalar::Other(_) => {
                Err(mismatch(value.at, "a number or a text", found.shown()))
            }
            _ => Ok(Some(any)),
        }
    }
}

fn constant(literal: &Literal) -> Scalar<'_> {
    match literal {
        Literal::Bool(value) => Scalar::Bool(*value),
        Literal::Int(value) => Scalar::Int(*value),
        Literal::Float(value) => Scalar::Float(*value),
        Literal::Text(text) => Scalar::Text(text),
    }
}

/// A comparison of two numbers; `None` where one is none.
fn numbers(comparison: Comparison, left: Scalar<'_>, right: Scalar<'_>) -> Option<bool> {
    Some(match (left, right) {
        (Scalar::Int(a), Scalar::Int(b)) => comparison.holds(&a, &b),
        (Scalar::Float(a), Scalar::Float(b)) => comparison.holds(&a, &b),
        (Scalar::Int(a), Scalar::Float(b)) => number::holds(comparison, a, b),
        (Scalar::Float(a), Scalar::Int(b)) => number::holds(comparison.turned(), b, a),
        _ => return None,
    })
}

fn compare<'a>(
    comparison: Comparison,
    left: Scalar<'a>,
    right: Scalar<'a>,
    left_node: &Node,
    right_node: &Node,
    at: usize,
) -> Result<Option<bool>> {
    let expected = match (left, right) {
        (Scalar::Other(name), _) => return Err(mismatch(left_node.at, "a value", name)),
        (_, Scalar::Other(name)) => return Err(mismatch(right_node.at, "a value", name)),
        (Scalar::Bool(_), Scalar::Bool(_) | Scalar::Null) | (Scalar::Null, Scalar::Bool(_))
            if !comparison.is_equality() =>
        {
            return Err(mismatch(at, "== or != between conditions", "an order"));
        }
        (Scalar::Null, _) | (_, Scalar::Null) => return Ok(None),
        (Scalar::Bool(a), Scalar::Bool(b)) => return Ok(Some(comparison.holds(&a, &b))),
        (Scalar::Text(a), Scalar::Text(b)) => return Ok(Some(comparison.holds(&a, &b))),
        (Scalar::Int(_) | Scalar::Float(_), Scalar::Int(_) | Scalar::Float(_)) => {
            return Ok(numbers(comparison, left, right));
        }
        (Scalar::Bool(_), _) => "a condition",
        (Scalar::Text(_), _) => "a text",
        _ => "a number",
    };
    Err(mismatch(right_node.at, expected, right.shown()))
}

fn arithmetic<'a>(
    operator: Operator,
    left: Scalar<'a>,
    right: Scalar<'a>,
    at: usize,
) -> Result<Scalar<'a>> {
    let double = |scalar| match scalar {
        Scalar::Int(value) => value as f64,
        Scalar::Float(value) => value,
        _ => f64::NAN,
    };
    Ok(match (left, right) {
        (Scalar::Null, _) | (_, Scalar::Null) => Scalar::Null,
        (Scalar::Int(a), Scalar::Int(b)) if operator != Operator::Divide => {
            match number::integers(operator, a, b) {
                Outcome::Is(value) => Scalar::Int(value),
                Outcome::Null => Scalar::Null,
                Outcome::Overflow => return Err(overflow(at)),
            }
        }
        _ => Scalar::Float(number::doubles(operator, double(left), double(right))),
    })
}
