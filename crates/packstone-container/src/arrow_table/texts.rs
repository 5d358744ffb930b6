//! Many texts in one.

use super::error::TableError;

/// One text a row, one after another in a single string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Where each row ends.
    ends: Vec<u64>,
    text: String,
}

impl Texts {
    /// Texts that end at `ends` within `bytes`; what follows the last one is left off.
    ///
    /// # Errors
    /// [`TableError::Utf8`], [`TableError::TextEnd`].
    pub fn new(ends: Vec<u64>, mut bytes: Vec<u8>) -> Result<Self, TableError> {
        if let Some(last) = ends.last().and_then(|end| usize::try_from(*end).ok()) {
            bytes.truncate(last);
        } else {
            bytes.clear();
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| TableError::Utf8 { at: error.utf8_error().valid_up_to() })?;
        let mut before = 0;
        for (row, &end) in ends.iter().enumerate() {
            let whole = usize::try_from(end).is_ok_and(|end| text.is_char_boundary(end));
            if end < before || !whole {
                return Err(TableError::TextEnd { row });
            }
            before = end;
        }
        Ok(Self { ends, text })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of a row; `None` past the end.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        let end = usize::try_from(*self.ends.get(row)?).ok()?;
        let start = match row.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        self.text.get(start..end)
    }

    /// The texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = usize::try_from(*end).unwrap_or(start);
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            text
        })
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len() as u64);
    }

    /// Appends the texts of another column.
    pub fn extend(&mut self, other: &Self) {
        let base = self.text.len() as u64;
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// Where each row ends, in bytes of [`Self::text`].
    #[must_use]
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// All texts one after another.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut out = Self::default();
        texts.into_iter().for_each(|text| out.push(text.as_ref()));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let texts = Texts::new(vec![1, 1, 3, 7], "aé😀rest".into()).unwrap();
        assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "é", "😀"]);
        assert_eq!(texts, ["a", "", "é", "😀"].iter().collect());
        assert_eq!(texts.get(2), Some("é"));
        assert_eq!(texts.get(4), None);
        let mut twice = texts.clone();
        twice.extend(&texts);
        assert_eq!(twice.len(), 8);
        assert_eq!(twice.get(7), Some("😀"));
        assert!(Texts::new(vec![], b"left off".to_vec()).unwrap().is_empty());
    }

    #[test]
    fn broken_ends_and_bytes_are_refused() {
        let ends = |ends: &[u64]| Texts::new(ends.to_vec(), "aé".into()).map(|_| ());
        assert_eq!(ends(&[1, 3]), Ok(()));
        assert_eq!(ends(&[2, 3]), Err(TableError::TextEnd { row: 0 }));
        assert_eq!(ends(&[3, 1, 3]), Err(TableError::TextEnd { row: 1 }));
        assert_eq!(ends(&[1, 4]), Err(TableError::TextEnd { row: 1 }));
        assert_eq!(ends(&[u64::MAX]), Err(TableError::TextEnd { row: 0 }));
        assert_eq!(ends(&[1, 2]), Err(TableError::Utf8 { at: 1 }));
        assert_eq!(Texts::new(vec![2], vec![b'a', 0xff]), Err(TableError::Utf8 { at: 1 }));
    }
}
