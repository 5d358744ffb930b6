//! Conditions over the columns of a table, some rows at a time.

use packstone_container::arrow_table::{Bitmap, Column, Table, Texts, Values};

use super::Filter;
use super::bind::unknown;
use super::bound::{Any, Condition, Number, Numeric, Text};
use super::error::{mismatch, overflow};
use super::node::{Comparison, Operator};
use super::number::{self, Outcome};
use crate::error::Result;

/// Rows at a time: their numbers fit the fastest cache. A multiple of 64.
const ROWS: usize = 1024;
const BITS: usize = 64;

/// The rows for which `filter` is true.
pub(super) fn select(filter: &Filter, table: &Table) -> Result<Bitmap> {
    let mut columns = Vec::with_capacity(filter.columns.len());
    for (name, kind) in &filter.columns {
        let Some(column) = table.column(name) else {
            let known: Vec<_> =
                table.columns().map(|(name, column)| (name, column.kind())).collect();
            return Err(unknown(name, &known, 0));
        };
        if column.kind() != *kind {
            let expected = format!("{kind} in column {name:?}");
            return Err(mismatch(0, &expected, column.kind().name()));
        }
        columns.push(&**column);
    }
    let mut taken = Vec::with_capacity(table.rows().div_ceil(BITS));
    for start in (0..table.rows()).step_by(ROWS) {
        let rows = Rows { columns: &columns, start, len: ROWS.min(table.rows() - start) };
        taken.extend(rows.condition(&filter.root)?.yes);
    }
    Ok(Bitmap::from_words(table.rows(), |first, _| taken.get(first / BITS).copied().unwrap_or(0)))
}

/// Some rows of the columns that a condition reads.
struct Rows<'a> {
    columns: &'a [&'a Column],
    start: usize,
    len: usize,
}

/// One bit a row, 64 to a word. Bits past the last row mean nothing.
type Words = Vec<u64>;

/// What is known to be true; and what is known at all.
struct Truth {
    yes: Words,
    known: Words,
}

/// Numbers, and where they are known.
struct Lane {
    numbers: Numbers,
    known: Words,
}

enum Numbers {
    Int(Vec<i128>),
    Float(Vec<f64>),
}

/// Texts of these rows, and where they are known.
struct Strings<'a> {
    texts: Source<'a>,
    start: usize,
    known: Words,
}

enum Source<'a> {
    Constant(&'a str),
    Column(&'a Texts),
}

impl Rows<'_> {
    fn all(&self, bit: bool) -> Words {
        vec![if bit { u64::MAX } else { 0 }; self.len.div_ceil(BITS)]
    }

    /// The words of these rows in a bitmap.
    fn words(&self, bits: &Bitmap) -> Words {
        let first = self.start / BITS;
        let words = bits.words().get(first..first + self.len.div_ceil(BITS));
        words.map_or_else(|| self.all(false), <[u64]>::to_vec)
    }

    fn known(&self, column: &Column) -> Words {
        column.validity().map_or_else(|| self.all(true), |bits| self.words(bits))
    }

    fn condition(&self, condition: &Condition) -> Result<Truth> {
        Ok(match condition {
            Condition::Constant(value) => Truth { yes: self.all(*value), known: self.all(true) },
            Condition::Column(place) => match self.columns.get(*place) {
                Some(column) => {
                    let known = self.known(column);
                    let Values::Bool(bits) = column.values() else { return Ok(self.nothing()) };
                    Truth { yes: both(&self.words(bits), &known), known }
                }
                None => self.nothing(),
            },
            Condition::Not(inner) => {
                let Truth { yes, known } = self.condition(inner)?;
                Truth { yes: zip(&known, &yes, |known, yes| known & !yes), known }
            }
            Condition::And(parts) => {
                let start = Truth { yes: self.all(true), known: self.all(true) };
                return parts.iter().try_fold(start, |all, part| {
                    let part = self.condition(part)?;
                    let no = zip(&all.no(), &part.no(), |a, b| a | b);
                    let known = zip(&both(&all.known, &part.known), &no, |a, b| a | b);
                    Ok(Truth { yes: both(&all.yes, &part.yes), known })
                });
            }
            Condition::Or(parts) => {
                let start = Truth { yes: self.all(false), known: self.all(true) };
                return parts.iter().try_fold(start, |any, part| {
                    let part = self.condition(part)?;
                    let yes = zip(&any.yes, &part.yes, |a, b| a | b);
                    let known = zip(&both(&any.known, &part.known), &yes, |a, b| a | b);
                    Ok(Truth { yes, known })
                });
            }
            Condition::Numbers(comparison, left, right) => {
                let (left, right) = (self.numbers(left)?, self.numbers(right)?);
                let known = both(&left.known, &right.known);
                let yes = compare(*comparison, &left.numbers, &right.numbers);
                Truth { yes: both(&yes, &known), known }
            }
            Condition::Texts(comparison, left, right) => {
                self.texts(left, right, |a, b| comparison.holds(&a, &b))
            }
            Condition::TextTest(test, text, part) => {
                self.texts(text, part, |text, part| test.holds(text, part))
            }
            Condition::Same(left, right) => {
                let (left, right) = (self.condition(left)?, self.condition(right)?);
                let known = both(&left.known, &right.known);
                let same = zip(&left.yes, &right.yes, |a, b| !(a ^ b));
                Truth { yes: both(&same, &known), known }
            }
            Condition::Integers { value, list } => {
                self.test(self.numbers(value)?, |numbers| match numbers {
                    Numbers::Int(values) => bits(values, |value| list.binary_search(value).is_ok()),
                    Numbers::Float(_) => self.all(false),
                })
            }
            Condition::Doubles { value, list } => self.test(self.numbers(value)?, |numbers| {
                match numbers {
                    Numbers::Float(values) => bits(values, |value| {
                        // Adding zero makes of -0 the 0 that the list has.
                        list.binary_search_by(|other| other.total_cmp(&(value + 0.0))).is_ok()
                    }),
                    Numbers::Int(_) => self.all(false),
                }
            }),
            Condition::Words { value, list } => {
                let strings = self.strings(value);
                let yes = self.per_row(|row| {
                    let text = strings.get(row);
                    list.binary_search_by(|other| other.as_str().cmp(text)).is_ok()
                });
                Truth { yes: both(&yes, &strings.known), known: strings.known }
            }
            Condition::IsNull(value) => {
                let known = match &**value {
                    Any::Condition(condition) => self.condition(condition)?.known,
                    Any::Number(number) => self.numbers(number)?.known,
                    Any::Text(text) => self.strings(text).known,
                };
                Truth { yes: known.iter().map(|word| !word).collect(), known: self.all(true) }
            }
            Condition::IsNan(value) => self.test(self.numbers(value)?, |numbers| match numbers {
                Numbers::Float(values) => bits(values, |value| value.is_nan()),
                Numbers::Int(_) => self.all(false),
            }),
        })
    }

    /// A condition of which nothing is known.
    fn nothing(&self) -> Truth {
        Truth { yes: self.all(false), known: self.all(false) }
    }

    /// A test of numbers, false or null where they are not known.
    fn test(&self, lane: Lane, test: impl FnOnce(&Numbers) -> Words) -> Truth {
        Truth { yes: both(&test(&lane.numbers), &lane.known), known: lane.known }
    }

    fn per_row(&self, mut bit: impl FnMut(usize) -> bool) -> Words {
        let word = |first: usize| {
            let rows = first..self.len.min(first + BITS);
            rows.fold(0, |word, row| word | u64::from(bit(row)) << (row - first))
        };
        (0..self.len).step_by(BITS).map(word).collect()
    }

    fn texts(&self, left: &Text, right: &Text, test: impl Fn(&str, &str) -> bool) -> Truth {
        let (left, right) = (self.strings(left), self.strings(right));
        let known = both(&left.known, &right.known);
        let yes = self.per_row(|row| test(left.get(row), right.get(row)));
        Truth { yes: both(&yes, &known), known }
    }

    fn strings<'t>(&'t self, text: &'t Text) -> Strings<'t> {
        let start = self.start;
        let column = match text {
            Text::Constant(text) => {
                return Strings { texts: Source::Constant(text), start, known: self.all(true) };
            }
            Text::Column(place) => self.columns.get(*place),
        };
        match column.map(|column| (column.values(), column)) {
            Some((Values::Utf8(texts), column)) => {
                Strings { texts: Source::Column(texts), start, known: self.known(column) }
            }
            _ => Strings { texts: Source::Constant(""), start, known: self.all(false) },
        }
    }

    fn numbers(&self, number: &Number) -> Result<Lane> {
        Ok(match &number.what {
            Numeric::Int(value) => {
                Lane { numbers: Numbers::Int(vec![*value; self.len]), known: self.all(true) }
            }
            Numeric::Float(value) => {
                Lane { numbers: Numbers::Float(vec![*value; self.len]), known: self.all(true) }
            }
            Numeric::Column(place) => self.column(*place),
            Numeric::Negate { value, at } => {
                let Lane { numbers, known } = self.numbers(value)?;
                let numbers = match numbers {
                    Numbers::Float(values) => Numbers::Float(values.iter().map(|x| -x).collect()),
                    Numbers::Int(values) => {
                        let zeros = vec![0; values.len()];
                        return self.integers(Operator::Subtract, &zeros, &values, known, *at);
                    }
                };
                Lane { numbers, known }
            }
            Numeric::Arithmetic { operator, left, right, at } => {
                let (left, right) = (self.numbers(left)?, self.numbers(right)?);
                let known = both(&left.known, &right.known);
                match (&left.numbers, &right.numbers) {
                    (Numbers::Int(a), Numbers::Int(b)) if number.is_int => {
                        return self.integers(*operator, a, b, known, *at);
                    }
                    (a, b) => {
                        let pairs = a.doubles().into_iter().zip(b.doubles());
                        let results = pairs.map(|(a, b)| number::doubles(*operator, a, b));
                        Lane { numbers: Numbers::Float(results.collect()), known }
                    }
                }
            }
        })
    }

    fn column(&self, place: usize) -> Lane {
        let nothing = || Lane { numbers: Numbers::Int(vec![0; self.len]), known: self.all(false) };
        let Some(column) = self.columns.get(place) else { return nothing() };
        let span = self.start..self.start + self.len;
        let numbers = match column.values() {
            Values::Int64(values) => values.get(span).map(|values| {
                Numbers::Int(values.iter().map(|value| i128::from(*value)).collect())
            }),
            Values::UInt64(values) => values.get(span).map(|values| {
                Numbers::Int(values.iter().map(|value| i128::from(*value)).collect())
            }),
            Values::Float64(values) => {
                values.get(span).map(|values| Numbers::Float(values.to_vec()))
            }
            _ => None,
        };
        match numbers {
            Some(numbers) => Lane { numbers, known: self.known(column) },
            None => nothing(),
        }
    }

    /// Arithmetic on integers. Values under nulls are computed too and may be anything, so that they never fail.
    fn integers(
        &self,
        operator: Operator,
        a: &[i128],
        b: &[i128],
        mut known: Words,
        at: usize,
    ) -> Result<Lane> {
        let mut out = Vec::with_capacity(a.len());
        for (row, (a, b)) in a.iter().zip(b).enumerate() {
            let is_known = known.get(row / BITS).is_some_and(|word| word >> (row % BITS) & 1 == 1);
            out.push(match number::integers(operator, *a, *b) {
                Outcome::Is(value) => value,
                Outcome::Overflow if is_known => {
                    let error = overflow(at);
                    let place = error.place().clone().record((self.start + row) as u64);
                    return Err(error.with_place(place));
                }
                Outcome::Null | Outcome::Overflow => {
                    if let Some(word) = known.get_mut(row / BITS) {
                        *word &= !(1 << (row % BITS));
                    }
                    0
                }
            });
        }
        Ok(Lane { numbers: Numbers::Int(out), known })
    }
}

impl Strings<'_> {
    fn get(&self, row: usize) -> &str {
        match self.texts {
            Source::Constant(text) => text,
            Source::Column(texts) => texts.get(self.start + row).unwrap_or_default(),
        }
    }
}

impl Truth {
    /// What is known to be false.
    fn no(&self) -> Words {
        zip(&self.known, &self.yes, |known, yes| known & !yes)
    }
}

impl Numbers {
    /// The nearest doubles.
    fn doubles(&self) -> Vec<f64> {
        match self {
            Self::Int(values) => values.iter().map(|value| *value as f64).collect(),
            Self::Float(values) => values.clone(),
        }
    }
}

fn zip(a: &[u64], b: &[u64], each: impl Fn(u64, u64) -> u64) -> Words {
    a.iter().zip(b).map(|(a, b)| each(*a, *b)).collect()
}

fn both(a: &[u64], b: &[u64]) -> Words {
    zip(a, b, |a, b| a & b)
}

/// One bit a value.
fn bits<T>(values: &[T], test: impl Fn(&T) -> bool) -> Words {
    let word = |values: &[T]| {
        values.iter().rev().fold(0, |word, value| word << 1 | u64::from(test(value)))
    };
    values.chunks(BITS).map(word).collect()
}

/// One bit a pair.
fn pairs<T, U>(a: &[T], b: &[U], test: impl Fn(&T, &U) -> bool) -> Words {
    let word = |(a, b): (&[T], &[U])| {
        a.iter().zip(b).rev().fold(0, |word, (a, b)| word << 1 | u64::from(test(a, b)))
    };
    a.chunks(BITS).zip(b.chunks(BITS)).map(word).collect()
}

fn compare(comparison: Comparison, a: &Numbers, b: &Numbers) -> Words {
    /// One loop a comparison, so that none asks which it is.
    fn alike<T: PartialOrd>(comparison: Comparison, a: &[T], b: &[T]) -> Words {
        match comparison {
            Comparison::Equal => pairs(a, b, |a, b| a == b),
            Comparison::NotEqual => pairs(a, b, |a, b| a != b),
            Comparison::Less => pairs(a, b, |a, b| a < b),
            Comparison::LessOrEqual => pairs(a, b, |a, b| a <= b),
            Comparison::Greater => pairs(a, b, |a, b| a > b),
            Comparison::GreaterOrEqual => pairs(a, b, |a, b| a >= b),
        }
    }
    match (a, b) {
        (Numbers::Int(a), Numbers::Int(b)) => alike(comparison, a, b),
        (Numbers::Float(a), Numbers::Float(b)) => alike(comparison, a, b),
        (Numbers::Int(a), Numbers::Float(b)) => {
            pairs(a, b, |a, b| number::holds(comparison, *a, *b))
        }
        (Numbers::Float(a), Numbers::Int(b)) => {
            pairs(a, b, |a, b| number::holds(comparison.turned(), *b, *a))
        }
    }
}
