//! A column: values of one kind, some of which may be null.

use std::fmt;

use super::bitmap::Bitmap;
use super::error::TableError;
use super::texts::Texts;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Arrow's")]
pub enum ColumnKind {
    Bool,
    Int64,
    UInt64,
    Float64,
    Utf8,
}

impl ColumnKind {
    /// The name for messages: `bool`, `int64`, `uint64`, `float64`, `utf8`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::Float64 => "float64",
            Self::Utf8 => "utf8",
        }
    }
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The values of a column, one a row.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are Arrow's")]
pub enum Values {
    Bool(Bitmap),
    Int64(Vec<i64>),
    UInt64(Vec<u64>),
    Float64(Vec<f64>),
    Utf8(Texts),
}

impl Values {
    /// No values of a kind.
    #[must_use]
    pub fn empty(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Bool => Self::Bool(Bitmap::default()),
            ColumnKind::Int64 => Self::Int64(Vec::new()),
            ColumnKind::UInt64 => Self::UInt64(Vec::new()),
            ColumnKind::Float64 => Self::Float64(Vec::new()),
            ColumnKind::Utf8 => Self::Utf8(Texts::default()),
        }
    }

    /// What they are.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        match self {
            Self::Bool(_) => ColumnKind::Bool,
            Self::Int64(_) => ColumnKind::Int64,
            Self::UInt64(_) => ColumnKind::UInt64,
            Self::Float64(_) => ColumnKind::Float64,
            Self::Utf8(_) => ColumnKind::Utf8,
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(bits) => bits.len(),
            Self::Int64(values) => values.len(),
            Self::UInt64(values) => values.len(),
            Self::Float64(values) => values.len(),
            Self::Utf8(texts) => texts.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, row: usize) -> Option<Cell<'_>> {
        Some(match self {
            Self::Bool(bits) => Cell::Bool(bits.get(row)?),
            Self::Int64(values) => Cell::Int64(*values.get(row)?),
            Self::UInt64(values) => Cell::UInt64(*values.get(row)?),
            Self::Float64(values) => Cell::Float64(*values.get(row)?),
            Self::Utf8(texts) => Cell::Utf8(texts.get(row)?),
        })
    }

    /// Appends a value; a null leaves the kind's zero.
    fn push(&mut self, cell: Cell<'_>) -> Result<(), TableError> {
        match (self, cell) {
            (Self::Bool(bits), Cell::Bool(bit)) => bits.push(bit),
            (Self::Int64(values), Cell::Int64(value)) => values.push(value),
            (Self::UInt64(values), Cell::UInt64(value)) => values.push(value),
            (Self::Float64(values), Cell::Float64(value)) => values.push(value),
            (Self::Utf8(texts), Cell::Utf8(text)) => texts.push(text),
            (Self::Bool(bits), Cell::Null) => bits.push(false),
            (Self::Int64(values), Cell::Null) => values.push(0),
            (Self::UInt64(values), Cell::Null) => values.push(0),
            (Self::Float64(values), Cell::Null) => values.push(0.0),
            (Self::Utf8(texts), Cell::Null) => texts.push(""),
            (values, cell) => {
                let (expected, found) = (values.kind(), cell.kind().unwrap_or(values.kind()));
                return Err(TableError::Kind { expected, found });
            }
        }
        Ok(())
    }

    fn extend(&mut self, other: &Self) -> Result<(), TableError> {
        match (self, other) {
            (Self::Bool(to), Self::Bool(from)) => from.iter().for_each(|bit| to.push(bit)),
            (Self::Int64(to), Self::Int64(from)) => to.extend_from_slice(from),
            (Self::UInt64(to), Self::UInt64(from)) => to.extend_from_slice(from),
            (Self::Float64(to), Self::Float64(from)) => to.extend_from_slice(from),
            (Self::Utf8(to), Self::Utf8(from)) => to.extend(from),
            (to, from) => return Err(TableError::Kind { expected: to.kind(), found: from.kind() }),
        }
        Ok(())
    }

    fn select(&self, rows: &[usize]) -> Option<Self> {
        fn each<T: Copy>(values: &[T], rows: &[usize]) -> Option<Vec<T>> {
            rows.iter().map(|row| values.get(*row).copied()).collect()
        }
        Some(match self {
            Self::Bool(bits) => {
                Self::Bool(rows.iter().map(|row| bits.get(*row)).collect::<Option<_>>()?)
            }
            Self::Int64(values) => Self::Int64(each(values, rows)?),
            Self::UInt64(values) => Self::UInt64(each(values, rows)?),
            Self::Float64(values) => Self::Float64(each(values, rows)?),
            Self::Utf8(texts) => {
                Self::Utf8(rows.iter().map(|row| texts.get(*row)).collect::<Option<_>>()?)
            }
        })
    }
}

/// One value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are Arrow's")]
pub enum Cell<'a> {
    Null,
    Bool(bool),
    Int64(i64),
    UInt64(u64),
    Float64(f64),
    Utf8(&'a str),
}

impl Cell<'_> {
    /// What it is; `None` for a null, which fits all.
    #[must_use]
    pub fn kind(self) -> Option<ColumnKind> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => ColumnKind::Bool,
            Self::Int64(_) => ColumnKind::Int64,
            Self::UInt64(_) => ColumnKind::UInt64,
            Self::Float64(_) => ColumnKind::Float64,
            Self::Utf8(_) => ColumnKind::Utf8,
        })
    }
}

/// Values, and which of them count.
///
/// `==` is that of the stored values, also of those under nulls: NaN differs from itself, -0 equals 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    values: Values,
    /// Set where the value is no null. Absent where there is no null, though one may be present without.
    validity: Option<Bitmap>,
}

impl Column {
    /// A column without nulls.
    #[must_use]
    pub fn new(values: Values) -> Self {
        Self { values, validity: None }
    }

    /// A column whose values are null where `validity` is not set.
    ///
    /// # Errors
    /// [`TableError::Rows`] where the lengths differ.
    pub fn with_validity(values: Values, validity: Bitmap) -> Result<Self, TableError> {
        if values.len() != validity.len() {
            return Err(TableError::Rows { expected: values.len(), found: validity.len() });
        }
        Ok(Self { values, validity: Some(validity) })
    }

    /// A column without rows, to [`push`](Self::push) to.
    #[must_use]
    pub fn empty(kind: ColumnKind) -> Self {
        Self::new(Values::empty(kind))
    }

    /// What its values are.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        self.values.kind()
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, those under nulls included.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Set where the value counts; absent where all do.
    #[must_use]
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// How many rows are null.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.validity.as_ref().map_or(0, |bits| bits.len() - bits.ones())
    }

    /// The value of a row; `None` past the end.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Cell<'_>> {
        let valid = self.validity.as_ref().is_none_or(|bits| bits.get(row) != Some(false));
        if valid { self.values.get(row) } else { Some(Cell::Null) }
    }

    /// Appends a value or a null.
    ///
    /// # Errors
    /// [`TableError::Kind`]; the column is as before then.
    pub fn push(&mut self, cell: Cell<'_>) -> Result<(), TableError> {
        let before = self.len();
        self.values.push(cell)?;
        let valid = cell != Cell::Null;
        if !valid && self.validity.is_none() {
            self.validity = Some(Bitmap::filled(before, true));
        }
        if let Some(validity) = &mut self.validity {
            validity.push(valid);
        }
        Ok(())
    }

    /// Appends all rows of another column.
    ///
    /// # Errors
    /// [`TableError::Kind`]; the column is as before then.
    pub fn extend(&mut self, other: &Self) -> Result<(), TableError> {
        let before = self.len();
        self.values.extend(&other.values)?;
        match (&mut self.validity, &other.validity) {
            (None, None) => {}
            (to, from) => {
                let to = to.get_or_insert_with(|| Bitmap::filled(before, true));
                match from {
                    Some(from) => from.iter().for_each(|bit| to.push(bit)),
                    None => (0..other.len()).for_each(|_| to.push(true)),
                }
            }
        }
        Ok(())
    }

    /// The given rows in the given order; rows may repeat. `None` where one is past the end.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Option<Self> {
        let validity = match &self.validity {
            Some(bits) => Some(rows.iter().map(|row| bits.get(*row)).collect::<Option<_>>()?),
            None => None,
        };
        Some(Self { values: self.values.select(rows)?, validity })
    }
}

impl From<Values> for Column {
    fn from(values: Values) -> Self {
        Self::new(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Column> {
        vec![
            Values::Bool([true, false, true].into_iter().collect()).into(),
            Values::Int64(vec![i64::MIN, 0, 7]).into(),
            Values::UInt64(vec![u64::MAX, 0, 7]).into(),
            Values::Float64(vec![-0.0, f64::MAX, 5e-324]).into(),
            Values::Utf8(["", "é", "a"].iter().collect()).into(),
        ]
    }

    #[test]
    fn every_kind_is_pushed_extended_and_selected() {
        for column in all() {
            assert_eq!(column.len(), 3);
            let mut copy = Column::empty(column.kind());
            for row in 0..3 {
                copy.push(column.get(row).unwrap()).unwrap();
            }
            assert_eq!(copy, column);
            assert_eq!(column.get(3), None);
            copy.push(Cell::Null).unwrap();
            assert_eq!((copy.nulls(), copy.get(3)), (1, Some(Cell::Null)));
            let mut both = column.clone();
            both.extend(&copy).unwrap();
            assert_eq!((both.len(), both.nulls(), both.get(6)), (7, 1, Some(Cell::Null)));
            both.extend(&column).unwrap();
            assert_eq!((both.len(), both.nulls(), both.get(8)), (10, 1, column.get(1)));
            let picked = both.select(&[6, 1, 1]).unwrap();
            assert_eq!((picked.get(0), picked.get(2)), (Some(Cell::Null), column.get(1)));
            assert_eq!(both.select(&[10]), None);
        }
    }

    #[test]
    fn another_kind_changes_nothing() {
        for (at, mut column) in all().into_iter().enumerate() {
            let before = column.clone();
            let other = &all()[(at + 1) % 5];
            let expected = TableError::Kind { expected: column.kind(), found: other.kind() };
            assert_eq!(column.push(other.get(0).unwrap()), Err(expected.clone()));
            assert_eq!(column.extend(other), Err(expected));
            assert_eq!(column, before);
        }
        let short = Column::with_validity(Values::Int64(vec![1]), Bitmap::default());
        assert_eq!(short, Err(TableError::Rows { expected: 1, found: 0 }));
    }
}
