//! Names become columns, types are checked.

use packstone_container::arrow_table::ColumnKind;

use super::Filter;
use super::bound::{Any, Condition, Number, Numeric, Text};
use super::error::{UNKNOWN_COLUMN, error, mismatch};
use super::node::{Comparison, Literal, Node, Operator, What};
use super::number;
use crate::error::{Error, Result};

/// Names shown where one is not found.
const SHOWN: usize = 20;

/// Holds a condition against columns.
pub(super) fn bind(root: &Node, columns: &[(&str, ColumnKind)]) -> Result<Filter> {
    let mut binder = Binder { columns, used: Vec::new() };
    let root = binder.condition(root)?;
    Ok(Filter { root, columns: binder.used })
}

struct Binder<'a> {
    columns: &'a [(&'a str, ColumnKind)],
    used: Vec<(String, ColumnKind)>,
}

impl Binder<'_> {
    fn any(&mut self, node: &Node) -> Result<Any> {
        Ok(match &node.what {
            What::Literal(literal) => match literal {
                Literal::Bool(value) => Any::Condition(Condition::Constant(*value)),
                Literal::Int(value) => number(true, Numeric::Int(*value)),
                Literal::Float(value) => number(false, Numeric::Float(*value)),
                Literal::Text(text) => Any::Text(Text::Constant(text.clone())),
            },
            What::Name(name) => self.column(&name.whole, node.at)?,
            What::Negate(inner) => {
                let value = self.number(inner)?;
                let is_int = value.is_int;
                number(is_int, Numeric::Negate { value: Box::new(value), at: node.at })
            }
            What::Arithmetic(operator, left, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                let is_int = left.is_int && right.is_int && *operator != Operator::Divide;
                let (left, right) = (Box::new(left), Box::new(right));
                let at = node.at;
                number(is_int, Numeric::Arithmetic { operator: *operator, left, right, at })
            }
            What::Or(nodes) => Any::Condition(Condition::Or(self.conditions(nodes)?)),
            What::And(nodes) => Any::Condition(Condition::And(self.conditions(nodes)?)),
            What::Not(inner) => Any::Condition(not(self.condition(inner)?)),
            What::Compare(comparison, left, right) => {
                Any::Condition(self.comparison(*comparison, left, right, node.at)?)
            }
            What::In { value, list, negated } => {
                let found = self.list(value, list)?;
                Any::Condition(if *negated { not(found) } else { found })
            }
            What::IsNull { value, negated } => {
                let found = Condition::IsNull(Box::new(self.any(value)?));
                Any::Condition(if *negated { not(found) } else { found })
            }
            What::TextTest(test, text, part) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                Any::Condition(Condition::TextTest(*test, text, part))
            }
            What::IsNan(inner) => Any::Condition(Condition::IsNan(self.number(inner)?)),
        })
    }

    fn column(&mut self, name: &str, at: usize) -> Result<Any> {
        let Some((_, kind)) = self.columns.iter().find(|(other, _)| *other == name) else {
            return Err(unknown(name, self.columns, at));
        };
        let place = match self.used.iter().position(|(other, _)| other == name) {
            Some(place) => place,
            None => {
                self.used.push((name.to_owned(), *kind));
                self.used.len() - 1
            }
        };
        Ok(match kind {
            ColumnKind::Bool => Any::Condition(Condition::Column(place)),
            ColumnKind::Utf8 => Any::Text(Text::Column(place)),
            ColumnKind::Float64 => number(false, Numeric::Column(place)),
            ColumnKind::Int64 | ColumnKind::UInt64 => number(true, Numeric::Column(place)),
        })
    }

    fn conditions(&mut self, nodes: &[Node]) -> Result<Vec<Condition>> {
        nodes.iter().map(|node| self.condition(node)).collect()
    }

    fn condition(&mut self, node: &Node) -> Result<Condition> {
        match self.any(node)? {
            Any::Condition(condition) => Ok(condition),
            other => Err(mismatch(node.at, "a condition", other.shown())),
        }
    }

    fn number(&mut self, node: &Node) -> Result<Number> {
        match self.any(node)? {
            Any::Number(number) => Ok(number),
            other => Err(mismatch(node.at, "a number", other.shown())),
        }
    }

    fn text(&mut self, node: &Node) -> Result<Text> {
        match self.any(node)? {
            Any::Text(text) => Ok(text),
            other => Err(mismatch(node.at, "a text", other.shown())),
        }
    }

    fn comparison(
        &mut self,
        comparison: Comparison,
        left: &Node,
        right: &Node,
        at: usize,
    ) -> Result<Condition> {
        Ok(match self.any(left)? {
            Any::Number(left) => {
                let right = self.number(right)?;
                let (left, right) = alike(left, right);
                Condition::Numbers(comparison, left, right)
            }
            Any::Text(left) => Condition::Texts(comparison, left, self.text(right)?),
            Any::Condition(left) => {
                let right = self.condition(right)?;
                if !comparison.is_equality() {
                    return Err(mismatch(at, "== or != between conditions", "an order"));
                }
                let same = Condition::Same(Box::new(left), Box::new(right));
                if comparison == Comparison::Equal { same } else { not(same) }
            }
        })
    }

    fn list(&mut self, value: &Node, list: &[(usize, Literal)]) -> Result<Condition> {
        match self.any(value)? {
            Any::Number(value) if value.is_int => {
                let mut integers = Vec::with_capacity(list.len());
                for (at, literal) in list {
                    match literal {
                        Literal::Int(value) => integers.push(*value),
                        // A double between two integers equals none.
                        Literal::Float(value) => integers.extend(number::whole(*value)),
                        other => return Err(mismatch(*at, "a number", other.shown())),
                    }
                }
                integers.sort_unstable();
                Ok(Condition::Integers { value, list: integers })
            }
            Any::Number(value) => {
                let mut doubles = Vec::with_capacity(list.len());
                for (at, literal) in list {
                    match literal {
                        // An integer between two doubles equals none.
                        Literal::Int(value) => doubles.extend(number::exact(*value)),
                        Literal::Float(value) => doubles.push(*value + 0.0),
                        other => return Err(mismatch(*at, "a number", other.shown())),
                    }
                }
                doubles.sort_unstable_by(f64::total_cmp);
                Ok(Condition::Doubles { value, list: doubles })
            }
            Any::Text(value) => {
                let mut words = Vec::with_capacity(list.len());
                for (at, literal) in list {
                    match literal {
                        Literal::Text(text) => words.push(text.clone()),
                        other => return Err(mismatch(*at, "a text", other.shown())),
                    }
                }
                words.sort_unstable();
                Ok(Condition::Words { value, list: words })
            }
            Any::Condition(_) => Err(mismatch(value.at, "a number or a text", "a condition")),
        }
    }
}

fn number(is_int: bool, what: Numeric) -> Any {
    Any::Number(Number { is_int, what })
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

/// An integer in the text that is compared with doubles becomes one where it has the same value.
fn alike(left: Number, right: Number) -> (Number, Number) {
    let to_double = |number: Number, other_is_int: bool| match number.what {
        Numeric::Int(value) if !other_is_int => match number::exact(value) {
            Some(double) => Number { is_int: false, what: Numeric::Float(double) },
            None => number,
        },
        _ => number,
    };
    let (left_is_int, right_is_int) = (left.is_int, right.is_int);
    (to_double(left, right_is_int), to_double(right, left_is_int))
}

/// A name that no column has.
pub(super) fn unknown(name: &str, columns: &[(&str, ColumnKind)], at: usize) -> Error {
    let mut names: Vec<_> = columns.iter().take(SHOWN).map(|(name, _)| short(name)).collect();
    if columns.len() > SHOWN {
        names.push(format!("{} more", columns.len() - SHOWN));
    }
    let names = names.join(", ");
    error(UNKNOWN_COLUMN, at, format!("expected one of the columns {names}, found {}", short(name)))
}

fn short(name: &str) -> String {
    format!("{:?}", name.chars().take(64).collect::<String>())
}
