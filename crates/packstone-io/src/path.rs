//! Relative paths that cannot leave their root.

use std::fmt;

/// A `/`-separated path below a root: no `..`, no absolute path, no drive, no backslash, no NUL.
///
/// `.` components and doubled or trailing slashes are dropped, so equal paths compare equal. The empty path is the
/// root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath(String);

/// Why a text is not a [`RelPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It starts with `/`.
    #[error("absolute path")]
    Absolute,
    /// A component is `..`.
    #[error("path with a `..` component")]
    Parent,
    /// It starts with a drive such as `C:`.
    #[error("path with a drive prefix")]
    Drive,
    /// It holds a backslash.
    #[error("path with a backslash")]
    Backslash,
    /// It holds a NUL byte.
    #[error("path with a NUL byte")]
    Nul,
}

impl RelPath {
    /// Checks and normalizes `text`.
    ///
    /// # Errors
    /// The first rule that `text` breaks.
    pub fn new(text: &str) -> Result<Self, PathError> {
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        if text.contains('\\') {
            return Err(PathError::Backslash);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        let mut chars = text.chars();
        if chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':') {
            return Err(PathError::Drive);
        }
        let mut out = String::with_capacity(text.len());
        for part in text.split('/').filter(|p| !p.is_empty() && *p != ".") {
            if part == ".." {
                return Err(PathError::Parent);
            }
            if !out.is_empty() {
                out.push('/');
            }
            out.push_str(part);
        }
        Ok(Self(out))
    }

    /// The root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The text, `/`-separated.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// This path with `more` below it.
    ///
    /// # Errors
    /// As for [`RelPath::new`].
    pub fn join(&self, more: &str) -> Result<Self, PathError> {
        Ok(self.below(&Self::new(more)?))
    }

    /// This path with another checked path below it.
    pub fn below(&self, more: &Self) -> Self {
        match (self.is_root(), more.is_root()) {
            (true, _) => more.clone(),
            (_, true) => self.clone(),
            _ => Self(format!("{}/{}", self.0, more.0)),
        }
    }

    /// The folder that holds this path; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map(|(head, _)| head.to_owned()).unwrap_or_default()))
    }

    /// The last component; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(_, name)| name)
    }

    /// The components, outermost first.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|p| !p.is_empty())
    }

    /// True where `self` is `other` or lies below it.
    pub fn starts_with(&self, other: &Self) -> bool {
        other.is_root()
            || self.0.strip_prefix(&other.0).is_some_and(|r| r.is_empty() || r.starts_with('/'))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_leaves_the_root() {
        use PathError::*;
        for (text, why) in [
            ("/etc/passwd", Absolute),
            ("a/../b", Parent),
            ("..", Parent),
            ("C:/x", Drive),
            ("c:x", Drive),
            ("a\\b", Backslash),
            ("a\0b", Nul),
        ] {
            assert_eq!(RelPath::new(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn normalizes_dots_and_slashes() {
        for (text, want) in
            [("./a//b/", "a/b"), (".", ""), ("", ""), ("a/./b", "a/b"), ("~/x", "~/x")]
        {
            assert_eq!(RelPath::new(text).unwrap().as_str(), want);
        }
    }

    #[test]
    fn knows_parents_and_names() {
        let path = RelPath::new("a/b/c").unwrap();
        assert_eq!(path.parent().unwrap().as_str(), "a/b");
        assert_eq!(path.name(), "c");
        assert!(path.starts_with(&RelPath::new("a/b").unwrap()));
        assert!(!RelPath::new("ab").unwrap().starts_with(&RelPath::new("a").unwrap()));
        assert_eq!(RelPath::new("a").unwrap().parent(), Some(RelPath::root()));
        assert_eq!(RelPath::root().parent(), None);
    }
}
