//! Named columns of one length.

use std::sync::Arc;

use super::column::Column;
use super::error::TableError;

/// Named columns of one length. Cloning shares the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Arc<Column>)>,
    rows: usize,
}

impl Table {
    /// A table of columns in this order. Names may repeat.
    ///
    /// # Errors
    /// [`TableError::Rows`] where the lengths differ.
    pub fn new<C: Into<Arc<Column>>>(
        columns: impl IntoIterator<Item = (String, C)>,
    ) -> Result<Self, TableError> {
        let columns: Vec<(String, Arc<Column>)> =
            columns.into_iter().map(|(name, column)| (name, column.into())).collect();
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        match columns.iter().find(|(_, column)| column.len() != rows) {
            Some((_, column)) => Err(TableError::Rows { expected: rows, found: column.len() }),
            None => Ok(Self { columns, rows }),
        }
    }

    /// Number of rows; zero without columns.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, &Arc<Column>)> + Clone {
        self.columns.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// The first column of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Arc<Column>> {
        self.columns().find_map(|(other, column)| (other == name).then_some(column))
    }

    /// The given rows in the given order; rows may repeat.
    ///
    /// # Errors
    /// [`TableError::NoRow`].
    pub fn select(&self, rows: &[usize]) -> Result<Self, TableError> {
        if let Some(&row) = rows.iter().find(|row| **row >= self.rows) {
            return Err(TableError::NoRow { rows: self.rows, row });
        }
        let columns = self
            .columns
            .iter()
            .filter_map(|(name, column)| Some((name.clone(), Arc::new(column.select(rows)?))));
        Ok(Self { columns: columns.collect(), rows: rows.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_table::{Cell, Values};

    #[test]
    fn columns_keep_their_order_and_names_may_repeat() {
        let first = Column::new(Values::Int64(vec![1, 2]));
        let second = Column::new(Values::Utf8(["x", "y"].iter().collect()));
        let table =
            Table::new([("b".to_owned(), first.clone()), ("b".to_owned(), second)]).unwrap();
        assert_eq!(table.rows(), 2);
        assert_eq!(table.columns().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "b"]);
        assert_eq!(**table.column("b").unwrap(), first);
        assert!(table.column("a").is_none());
        let picked = table.select(&[1, 0, 1]).unwrap();
        assert_eq!(picked.rows(), 3);
        assert_eq!(picked.columns().nth(1).unwrap().1.get(2), Some(Cell::Utf8("y")));
        assert_eq!(table.select(&[2]), Err(TableError::NoRow { rows: 2, row: 2 }));
    }

    #[test]
    fn columns_of_other_lengths_are_refused() {
        let columns = [
            ("a".to_owned(), Column::new(Values::Int64(vec![1]))),
            ("b".to_owned(), Column::new(Values::UInt64(vec![]))),
        ];
        assert_eq!(Table::new(columns), Err(TableError::Rows { expected: 1, found: 0 }));
        assert_eq!(Table::default().rows(), 0);
    }
}
