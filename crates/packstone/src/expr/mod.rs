//! Expressions on metadata: which samples to take, as a condition in text.
//!
//! ```text
//! label == 3 and snr > 0.5
//! not (split in ["test", "holdout"]) or `odd name` is null
//! startswith(path, 'a/') and (sample_id % 10) != 0
//!
//! condition = conjunction ("or" conjunction)*            lowest
//! conjunction = negation ("and" negation)*
//! negation  = "not" negation | comparison
//! comparison = sum (("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "is" "not"? "null" | "not"? "in" "[" literal, … "]")?
//! sum       = product (("+" | "-") product)*
//! product   = factor (("*" | "/" | "%") factor)*
//! factor    = "-" factor | literal | name ("." name)* | function "(" condition, … ")" | "(" condition ")"
//! literal   = 12 | 0.5 | 1e-3 | "text" | 'text' | true | false        text has the escapes \\ \" \' \n \r \t \0 \u{…} \uXXXX
//! name      = a word, or anything between backquotes, where `` is a backquote
//! function  = startswith(text, text) | endswith(text, text) | contains(text, text) | isnan(number)
//! ```
//!
//! - *Numbers* are integers of 128 bits, which all columns of integers fit, or doubles. They are compared by value, never
//!   by a rounded one: 9007199254740993 in an integer column is not
//!   `9007199254740992.0`. Arithmetic on integers is exact and
//!   one that leaves the 128 bits is an error; with a double among the operands, and for `/`, both become the nearest
//!   doubles. `%` has the sign of its right side, as in Python; the rest of an integer by 0 is null.
//! - *NaN* equals nothing and has no order, so `x != x` finds it, as does `isnan(x)`.
//! - *Null*: what is compared or computed with null is null; `and`, `or`, `not` follow: `null or true` is true, `not null`
//!   is null. A sample is taken where the condition is true, so never where it is null. `x == null` means `x is null`.
//! - *Text* is compared by code points; conditions are compared by `==` and `!=` alone.
//! - Types are known before the first row: comparing text with a number is an error at its place in the text.
//!
//! Against a [`Table`] a name is a column; `a.b` is the column of that name. Against a JSON object it is a member, `a.b`
//! also the member `b` of the object `a`; what is absent is null, and types are those of the values found.

mod bind;
mod bound;
mod error;
mod node;
mod number;
mod object;
mod parse;
mod table;
mod token;

use packstone_container::arrow_table::{Bitmap, ColumnKind, Table};
use packstone_container::json::Object;

use crate::error::Result;
use node::Node;

/// A condition as written. See [the module](self).
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    root: Node,
}

impl Expr {
    /// Reads a condition.
    ///
    /// # Errors
    /// `expr/syntax`, `expr/too_deep`, with the byte in the text.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.to_owned(), root: parse::parse(text)? })
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, each once, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// Holds names and types against columns. Where a name repeats, its first column counts.
    ///
    /// # Errors
    /// `expr/unknown_column` with the names there are, `expr/type_mismatch`, with the byte in the text.
    pub fn bind<'a>(
        &self,
        columns: impl IntoIterator<Item = (&'a str, ColumnKind)>,
    ) -> Result<Filter> {
        bind::bind(&self.root, &columns.into_iter().collect::<Vec<_>>())
    }

    /// The rows of a table for which the condition is true.
    ///
    /// # Errors
    /// As for [`Expr::bind`] and [`Filter::select`].
    pub fn select(&self, table: &Table) -> Result<Bitmap> {
        self.bind(table.columns().map(|(name, column)| (name, column.kind())))?.select(table)
    }

    /// Whether the condition is true for the metadata of one sample.
    ///
    /// # Errors
    /// `expr/type_mismatch`, `expr/overflow`, with the byte in the text.
    pub fn matches(&self, object: &Object) -> Result<bool> {
        object::matches(&self.root, object)
    }
}

/// A condition whose names are columns.
#[derive(Clone, Debug)]
pub struct Filter {
    root: bound::Condition,
    columns: Vec<(String, ColumnKind)>,
}

impl Filter {
    /// The columns that it reads, with their kinds.
    pub fn columns(&self) -> &[(String, ColumnKind)] {
        &self.columns
    }

    /// The rows of a table for which the condition is true.
    ///
    /// # Errors
    /// `expr/unknown_column`, `expr/type_mismatch` where the table has not the columns it was bound to; `expr/overflow`
    /// with the row.
    pub fn select(&self, table: &Table) -> Result<Bitmap> {
        table::select(self, table)
    }
}

#[cfg(test)]
mod tests;
