//! What a dataset is made of, as a tree for people and programs.

use packstone_container::json::{Object, Value};

/// A node of a tree: a leaf, or something with parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// Its name among its siblings; empty for the whole.
    pub name: String,
    /// What it is: a class or the type of a leaf.
    pub kind: String,
    /// What is said about it: batch size, shape, device, in the order of the format.
    pub facts: Object,
    /// Its parts.
    pub parts: Vec<Outline>,
}

impl Outline {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("name", self.name.as_str());
        out.insert("kind", self.kind.as_str());
        for (name, value) in self.facts.iter() {
            out.insert(name.clone(), value.clone());
        }
        if !self.parts.is_empty() {
            out.insert("parts", self.parts.iter().map(Self::to_json).collect::<Vec<_>>());
        }
        Value::Object(out)
    }

    /// Calls `visit` for each node, the whole first, with the lines that lead to it: `├── `, `│   `.
    ///
    /// # Errors
    /// The first that `visit` returns.
    pub fn walk<E>(&self, visit: &mut impl FnMut(&str, &Self) -> Result<(), E>) -> Result<(), E> {
        visit("", self)?;
        // A stack and not recursion: trees of data can be deep.
        let mut open = vec![(String::new(), self.parts.iter())];
        while let Some((lead, parts)) = open.last_mut() {
            let Some(part) = parts.next() else {
                open.pop();
                continue;
            };
            let last = parts.len() == 0;
            let (branch, below) =
                if last { ("└── ", "    ") } else { ("├── ", "│   ") };
            visit(&format!("{lead}{branch}"), part)?;
            let below = format!("{lead}{below}");
            open.push((below, part.parts.iter()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_drawn_with_its_branches() {
        let leaf = |name: &str| Outline { name: name.to_owned(), ..Outline::default() };
        let mut inner = leaf("a");
        inner.parts = vec![leaf("b"), leaf("c")];
        let tree = Outline { parts: vec![inner, leaf("d")], ..leaf("") };
        let mut lines = Vec::new();
        let walked: Result<(), ()> = tree.walk(&mut |lead, node| {
            lines.push(format!("{lead}{}", node.name));
            Ok(())
        });
        assert_eq!(walked, Ok(()));
        assert_eq!(lines, ["", "├── a", "│   ├── b", "│   └── c", "└── d"]);
    }
}
