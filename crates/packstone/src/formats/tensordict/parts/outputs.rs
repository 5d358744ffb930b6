//! The names of one folder that is to be written: each once, and none that a file system refuses.

use std::collections::HashMap;

use super::super::codes;
use super::super::layout::{META, NAME_BYTES};

/// Names with the keys that they come from.
#[derive(Debug, Default)]
pub struct Outputs {
    taken: HashMap<String, String>,
}

impl Outputs {
    /// No names but that of the document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a name for a key, and gives it back.
    ///
    /// # Errors
    /// The code and what is wrong with the name.
    pub fn take(&mut self, key: &str, name: String) -> Result<String, (&'static str, String)> {
        if name.len() > NAME_BYTES {
            let message = format!(
                "expected a file name of at most {NAME_BYTES} bytes, found {} for this key",
                name.len()
            );
            return Err((codes::NAME_TOO_LONG, message));
        }
        if name == META {
            let message =
                format!("expected a key whose folder is not called {META}, as the document is");
            return Err((codes::NAME_COLLISION, message));
        }
        if let Some(other) = self.taken.insert(name.clone(), key.to_owned()) {
            let message =
                format!("expected a file for each key, found {name:?} for {other:?} and {key:?}");
            return Err((codes::NAME_COLLISION, message));
        }
        Ok(name)
    }

    /// The key that a name was taken for.
    pub fn key_of(&self, name: &str) -> Option<&str> {
        self.taken.get(name).map(String::as_str)
    }

    /// Names that are one where upper and lower case are, in pairs.
    pub fn look_alikes(&self) -> Vec<(String, String)> {
        let mut names: Vec<(String, &String)> =
            self.taken.keys().map(|name| (name.to_lowercase(), name)).collect();
        names.sort_unstable();
        let alike = names.windows(2).filter_map(|pair| match pair {
            [(a, one), (b, other)] if a == b => Some(((*one).clone(), (*other).clone())),
            _ => None,
        });
        alike.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_taken_once() {
        let mut outputs = Outputs::new();
        outputs.take("nt", "nt.memmap".to_owned()).unwrap();
        outputs.take("nt", "nt.shape.memmap".to_owned()).unwrap();
        let (code, message) = outputs.take("nt.shape", "nt.shape.memmap".to_owned()).unwrap_err();
        assert_eq!(code, codes::NAME_COLLISION);
        assert!(message.contains("\"nt\" and \"nt.shape\""), "{message}");
        assert_eq!(
            outputs.take("meta.json", META.to_owned()).unwrap_err().0,
            codes::NAME_COLLISION
        );
    }

    #[test]
    fn names_have_a_length() {
        let mut outputs = Outputs::new();
        assert!(outputs.take("a", "a".repeat(255)).is_ok());
        assert_eq!(outputs.take("b", "é".repeat(128)).unwrap_err().0, codes::NAME_TOO_LONG);
    }

    #[test]
    fn names_that_differ_in_case_are_told() {
        let mut outputs = Outputs::new();
        for name in ["Ab", "ab", "aB", "É", "é", "x"] {
            outputs.take(name, name.to_owned()).unwrap();
        }
        assert_eq!(outputs.look_alikes().len(), 3);
    }
}
