//! The tree of a condition whose names are columns and whose types are known.

use super::node::{Comparison, Operator, TextTest};

/// What is true, false or null.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Constant(bool),
    /// A column of bools.
    Column(usize),
    Or(Vec<Condition>),
    And(Vec<Condition>),
    Not(Box<Condition>),
    Numbers(Comparison, Number, Number),
    Texts(Comparison, Text, Text),
    /// Whether both are the same.
    Same(Box<Condition>, Box<Condition>),
    Integers {
        value: Number,
        /// Sorted.
        list: Vec<i128>,
    },
    Doubles {
        value: Number,
        /// Sorted, without NaN; zeros are positive.
        list: Vec<f64>,
    },
    Words {
        value: Text,
        /// Sorted.
        list: Vec<String>,
    },
    IsNull(Box<Any>),
    TextTest(TextTest, Text, Text),
    IsNan(Number),
}

/// What is a number or null.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Whether its values are integers; doubles else.
    pub is_int: bool,
    pub what: Numeric,
}

/// How a number comes about.
#[derive(Clone, Debug)]
pub(super) enum Numeric {
    Int(i128),
    Float(f64),
    /// A column of any numbers.
    Column(usize),
    Negate {
        value: Box<Number>,
        at: usize,
    },
    Arithmetic {
        operator: Operator,
        left: Box<Number>,
        right: Box<Number>,
        at: usize,
    },
}

/// What is a text or null.
#[derive(Clone, Debug)]
pub(super) enum Text {
    Constant(String),
    /// A column of texts.
    Column(usize),
}

/// Any value.
#[derive(Clone, Debug)]
pub(super) enum Any {
    Condition(Condition),
    Number(Number),
    Text(Text),
}

impl Any {
    /// What it is, for messages.
    pub(super) fn shown(&self) -> &'static str {
        match self {
            Self::Condition(_) => "a condition",
            Self::Number(number) if number.is_int => "an integer",
            Self::Number(_) => "a double",
            Self::Text(_) => "a text",
        }
    }
}
