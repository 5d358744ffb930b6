//! The files of one node: looked up by key, and counted, so that what no entry names is known at the end.

use std::sync::Arc;

use packstone_io::Kind;

use super::super::codes;
use super::names;
use super::node::{Fault, Source};
use super::store::{Elements, Folder, Item, ItemKind, join};
use crate::error::{Place, Result};

/// The entries of a node's folder.
pub struct Listing {
    /// The folder.
    pub folder: Arc<dyn Folder>,
    /// How often each of its entries was taken.
    uses: Vec<u32>,
    /// What follows the entry that was taken last: documents mostly name files in the order of their names.
    next: usize,
}

/// An entry that nothing names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its path.
    pub path: String,
    /// What it is.
    pub kind: ItemKind,
}

/// What was found under a name.
pub struct Taken<'a> {
    folder: &'a Arc<dyn Folder>,
    at: usize,
    /// The entry.
    pub item: &'a Item,
    /// Whether something else has been found under this name before.
    pub again: bool,
}

impl Taken<'_> {
    /// The file that it is, see [`Folder::file`].
    pub fn file(&self, elements: Elements) -> Arc<dyn Source> {
        Arc::clone(self.folder).file(self.at, elements)
    }
}

impl Listing {
    /// The entries of `folder`.
    pub fn of(folder: Arc<dyn Folder>) -> Self {
        let uses = vec![0; folder.items().len()];
        Self { folder, uses, next: 0 }
    }

    /// The place of `stem` with `suffix` among the entries.
    fn position(&self, stem: &str, suffix: &str) -> Option<usize> {
        let items = self.folder.items();
        let is_it = |item: &Item| item.name.strip_prefix(stem) == Some(suffix);
        if items.get(self.next).is_some_and(is_it) {
            return Some(self.next);
        }
        let name = [stem, suffix].concat();
        items.binary_search_by(|item| item.name.as_str().cmp(&name)).ok()
    }

    fn taken(&mut self, at: usize) -> Option<Taken<'_>> {
        let (item, uses) = (self.folder.items().get(at)?, self.uses.get_mut(at)?);
        let again = *uses > 0;
        *uses = uses.saturating_add(1);
        self.next = at.saturating_add(1);
        Some(Taken { folder: &self.folder, at, item, again })
    }

    /// The entry of exactly this name.
    pub fn take(&mut self, name: &str) -> Option<Taken<'_>> {
        let at = self.position(name, "")?;
        self.taken(at)
    }

    fn kind_at(&self, at: usize) -> Option<ItemKind> {
        self.folder.items().get(at).map(|item| item.kind)
    }

    /// Whether there is an entry of this name, and of which kind.
    pub fn kind(&self, name: &str) -> Option<ItemKind> {
        self.kind_at(self.position(name, "")?)
    }

    /// The entry of a key: under its encoded name or, where that is not there and the key is safe, under the key
    /// itself. Without `robust`, under the key only, which then has to be one path component.
    ///
    /// # Errors
    /// `path_escape`.
    pub fn find(
        &mut self,
        key: &str,
        suffix: &str,
        collection: bool,
        robust: bool,
    ) -> Result<Option<Taken<'_>>, Fault> {
        let at = if robust {
            let name = names::encode(key);
            let encoded = self.position(&name, suffix);
            let there = encoded
                .and_then(|at| self.kind_at(at))
                .is_some_and(|kind| !collection || kind != ItemKind::File);
            let settled = there || name == key || !names::is_safe(key, collection);
            if settled { encoded } else { self.position(key, suffix) }
        } else {
            let leads = key.contains(['/', '\\']) || (collection && matches!(key, "" | "." | ".."));
            if leads {
                let message = format!("expected a key that is one path component, found {key:?}");
                let place = Place::file(join(self.folder.path(), super::super::layout::META));
                return Err(Fault::new(Kind::Denied, codes::PATH_ESCAPE, place, message));
            }
            self.position(key, suffix)
        };
        Ok(at.and_then(|at| self.taken(at)))
    }

    /// The folders with numbers for names: how many there are from 0 on without a gap, and the lowest one behind it.
    pub fn numbered(&self) -> (usize, Option<String>) {
        let number = |name: &str| {
            let digits =
                name.bytes().all(|b| b.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
            name.parse::<usize>().ok().filter(|_| digits && !name.is_empty())
        };
        let folders = self.folder.items().iter().filter(|item| item.kind != ItemKind::File);
        let mut numbers: Vec<usize> = folders.filter_map(|item| number(&item.name)).collect();
        numbers.sort_unstable();
        let count = numbers.iter().enumerate().take_while(|(at, number)| at == *number).count();
        (count, numbers.get(count).map(usize::to_string))
    }

    /// What nothing took, by name.
    pub fn orphans(&self) -> Vec<Orphan> {
        let unused = self.folder.items().iter().zip(&self.uses).filter(|(_, uses)| **uses == 0);
        let path = |item: &Item| join(self.folder.path(), &item.name);
        unused.map(|(item, _)| Orphan { path: path(item), kind: item.kind }).collect()
    }
}
