//! The tree of a condition.

/// A part of a condition, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The byte in the text: of an operator's own sign where there is one between two sides.
    pub at: usize,
    /// What it is.
    pub what: What,
    /// Nodes on the longest way down, this one included.
    pub depth: usize,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum What {
    Literal(Literal),
    Name(Name),
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    In { value: Box<Node>, list: Vec<(usize, Literal)>, negated: bool },
    IsNull { value: Box<Node>, negated: bool },
    Arithmetic(Operator, Box<Node>, Box<Node>),
    Negate(Box<Node>),
    TextTest(TextTest, Box<Node>, Box<Node>),
    IsNan(Box<Node>),
}

/// A value in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

impl Literal {
    /// What it is, for messages.
    pub(super) fn shown(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a condition",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a double",
            Self::Text(_) => "a text",
        }
    }
}

/// A name, whole and by its parts between dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub whole: String,
    pub path: Vec<String>,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison of a sign.
    pub(super) fn parse(sign: &str) -> Option<Self> {
        Some(match sign {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same between the right side and the left.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// Whether it says nothing about order.
    pub(super) fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    /// Whether it holds between two values.
    pub(super) fn holds<T: PartialOrd<U>, U>(self, left: &T, right: &U) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

/// How two numbers make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// What is asked of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

impl TextTest {
    /// The answer.
    pub(super) fn holds(self, text: &str, part: &str) -> bool {
        match self {
            Self::StartsWith => text.starts_with(part),
            Self::EndsWith => text.ends_with(part),
            Self::Contains => text.contains(part),
        }
    }
}

impl Node {
    /// Collects the names, each once.
    pub(super) fn names<'a>(&'a self, out: &mut Vec<&'a str>) {
        match &self.what {
            What::Literal(_) => {}
            What::Name(name) => {
                if !out.contains(&name.whole.as_str()) {
                    out.push(&name.whole);
                }
            }
            What::Or(nodes) | What::And(nodes) => nodes.iter().for_each(|node| node.names(out)),
            What::Not(node)
            | What::Negate(node)
            | What::IsNan(node)
            | What::In { value: node, .. }
            | What::IsNull { value: node, .. } => node.names(out),
            What::Compare(_, left, right)
            | What::Arithmetic(_, left, right)
            | What::TextTest(_, left, right) => {
                left.names(out);
                right.names(out);
            }
        }
    }
}
