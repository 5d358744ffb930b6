//! Tables for people: no lines, a head in bold, numbers to the right.

use comfy_table::{Cell, CellAlignment, Table as Grid, presets};

use crate::failure::Outcome;
use crate::output::{Out, Paint};

/// Rows in the making. A head that starts with `>` has its column to the right.
pub(crate) struct Table {
    grid: Grid,
    indent: &'static str,
    head: bool,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(heads: &[&str]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        grid.set_header(heads.iter().map(|head| {
            let (text, side) = match head.strip_prefix('>') {
                Some(text) => (text, CellAlignment::Right),
                None => (*head, CellAlignment::Left),
            };
            Cell::new(text).set_alignment(side)
        }));
        for (column, head) in grid.column_iter_mut().zip(heads) {
            if head.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self { grid, indent: "", head: true }
    }

    /// An empty table without a head.
    pub(crate) fn headless() -> Self {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        Self { grid, indent: "", head: false }
    }

    /// True before the first row.
    pub(crate) fn is_empty(&self) -> bool {
        self.grid.is_empty()
    }

    /// The same table, moved to the right.
    pub(crate) fn indented(mut self) -> Self {
        self.indent = "  ";
        self
    }

    /// Appends a row; text from data has been through [`Out::data`].
    pub(crate) fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.grid.add_row(cells.into_iter().map(|cell| Cell::new(cell)));
    }

    /// Writes the table; one without rows is left out.
    pub(crate) fn print(mut self, out: &mut Out) -> Outcome<()> {
        if self.grid.is_empty() {
            return Ok(());
        }
        for column in self.grid.column_iter_mut() {
            column.set_padding((0, 2));
        }
        for (number, line) in self.grid.lines().enumerate() {
            let line = format!("{}{}", self.indent, line.trim_end());
            let line = if self.head && number == 0 { out.paint(Paint::Bold, line) } else { line };
            out.line(line)?;
        }
        Ok(())
    }

    /// Writes the table and an empty line; one without rows is left out.
    pub(crate) fn print_with_gap(self, out: &mut Out) -> Outcome<()> {
        if self.grid.is_empty() {
            return Ok(());
        }
        self.print(out)?;
        out.line("")
    }
}
