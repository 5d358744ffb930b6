//! The entries of a tensordict: which names their files take, and what readers would mistake.

use packstone_io::{Kind, RelPath};

use super::super::super::codes;
use super::super::super::layout::{KEPT_KEYS, LEAF, LOST_KEYS, SIZES};
use super::super::super::options::KeyNames;
use super::super::files::name_of;
use super::super::leaf::{Entry, classify};
use super::super::names;
use super::super::node::{Node, TensorDict};
use super::super::outputs::Outputs;
use super::Planner;
use crate::error::{Error, Result};
use crate::model::{Finding, Severity};

impl Planner<'_> {
    pub(super) fn tensordict(&mut self, folder: &RelPath, node: &TensorDict) -> Result<()> {
        self.check_names(folder, node)?;
        let mut outputs = Outputs::new();
        for (key, child) in &node.entries {
            self.keys.push(key.clone());
            self.entry(folder, node, key, child, &mut outputs)?;
            self.keys.pop();
        }
        self.check_lookups(folder, node, &outputs)?;
        for (one, other) in outputs.look_alikes() {
            let message = format!(
                "expected names that differ in more than case, found {one:?} and {other:?}"
            );
            let place = self.place(folder);
            self.out.notes.push(Finding::new(
                Severity::Warning,
                codes::NAME_COLLISION,
                place,
                message,
            ));
        }
        Ok(())
    }

    /// A reader looks for the encoded name first: with keys as names, that must not be the file of another key.
    fn check_lookups(&self, folder: &RelPath, node: &TensorDict, outputs: &Outputs) -> Result<()> {
        let raw = self.options.key_names == KeyNames::Raw;
        let mut keys = node.entries.iter().map(|(key, _)| key.as_str()).filter(|_| raw);
        let taken = keys.find_map(|key| {
            let encoded = names::encode(key);
            let all = ["", LEAF, SIZES].map(|suffix| format!("{encoded}{suffix}"));
            let other = all.iter().find_map(|name| outputs.key_of(name))?;
            (other != key).then(|| (key.to_owned(), other.to_owned()))
        });
        match taken {
            None => Ok(()),
            Some((key, other)) => {
                let message = format!(
                    "expected a key whose encoded name no other key has, found {key:?} and {other:?}"
                );
                self.refuse(folder, codes::NAME_COLLISION, message)
            }
        }
    }

    fn check_names(&self, folder: &RelPath, node: &TensorDict) -> Result<()> {
        let Some(names) = &node.names else { return Ok(()) };
        let mut given: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        given.sort_unstable();
        let twice = given.windows(2).any(|pair| pair.first() == pair.last());
        if names.len() == node.batch_size.len() && !twice {
            return Ok(());
        }
        let message =
            format!("expected {} names, each once or null, found {names:?}", node.batch_size.len());
        self.refuse(folder, codes::BAD_NAMES, message)
    }

    fn entry(
        &mut self,
        folder: &RelPath,
        parent: &TensorDict,
        key: &str,
        node: &Node,
        outputs: &mut Outputs,
    ) -> Result<()> {
        // What stands in the document already is no worse for being written again.
        let old = parent.document.as_ref().and_then(|document| document.get(key));
        let kept = old.is_some_and(|value| !matches!(classify(value), Entry::Other));
        let reserved = LOST_KEYS.contains(&key) || KEPT_KEYS.contains(&key);
        if reserved && !kept && !self.options.allow_lossy_keys {
            let what = match LOST_KEYS.contains(&key) {
                true => "whose values readers lose",
                false => "in whose place readers look for something else",
            };
            let message = format!("expected another key than {key:?}, {what}");
            return self.refuse(folder, codes::RESERVED_KEY, message);
        }
        let collection = !matches!(node, Node::Leaf(_) | Node::NestedTensor(_));
        let name = match name_of(key, collection, self.options.key_names) {
            Ok(name) => name,
            Err(message) => return self.refuse(folder, codes::PATH_ESCAPE, message),
        };
        let take = |outputs: &mut Outputs, name: String| {
            outputs.take(key, name).map_err(|(code, message)| {
                Error::new(Kind::Invalid, code, self.place(folder), message)
            })
        };
        match node {
            Node::Leaf(leaf) => {
                let file = take(outputs, name + LEAF)?;
                self.leaf(folder, parent, kept, &file, leaf)
            }
            Node::NestedTensor(nested) => {
                let file = take(outputs, format!("{name}{LEAF}"))?;
                let sizes = take(outputs, name + SIZES)?;
                self.nested(folder, kept, [&file, &sizes], nested)
            }
            other => {
                let inner = take(outputs, name)?;
                let inner = self.folder(folder, &inner)?;
                self.node(&inner, other, &parent.batch_size)
            }
        }
    }
}
