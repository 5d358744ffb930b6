//! The files of one node: looked up by key, and counted, so that what no entry names is known at the end.

use std::sync::Arc;

use packstone_io::Kind;

use super::super::codes;
use super::names;
use super::node::Fault;
use super::store::{Item, ItemKind, Store, join};
use crate::error::{Place, Result};

/// The entries of a node's folder.
pub struct Listing {
    /// The folder.
    pub folder: Arc<str>,
    /// By name, with how often each was taken.
    items: Vec<(Item, u32)>,
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
pub enum Found<'a> {
    /// The entry, and whether something else has been found under this name before.
    Item(&'a Item, bool),
    /// Nothing.
    Nothing,
}

impl Listing {
    /// Lists a folder.
    ///
    /// # Errors
    /// Those of [`Store::list`].
    pub fn of(store: &dyn Store, folder: &str) -> Result<Self> {
        let mut items: Vec<_> = store.list(folder)?.into_iter().map(|item| (item, 0)).collect();
        items.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        Ok(Self { folder: folder.into(), items })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.items.binary_search_by(|(item, _)| item.name.as_str().cmp(name)).ok()
    }

    /// The entry of exactly this name.
    pub fn take(&mut self, name: &str) -> Option<&Item> {
        let at = self.position(name)?;
        let (item, uses) = self.items.get_mut(at)?;
        *uses = uses.saturating_add(1);
        Some(item)
    }

    /// Whether there is an entry of this name, and of which kind.
    pub fn kind(&self, name: &str) -> Option<ItemKind> {
        self.items.get(self.position(name)?).map(|(item, _)| item.kind)
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
    ) -> Result<Found<'_>, Fault> {
        let name = if robust {
            let encoded = names::encode(key);
            let is_key = encoded == key;
            let encoded = [encoded.as_ref(), suffix].concat();
            let there = match self.kind(&encoded) {
                Some(kind) => !collection || kind != ItemKind::File,
                None => false,
            };
            let settled = is_key || there || !names::is_safe(key, collection);
            if settled { encoded } else { [key, suffix].concat() }
        } else {
            let leads = key.contains(['/', '\\']) || (collection && matches!(key, "" | "." | ".."));
            if leads {
                let message = format!("expected a key that is one path component, found {key:?}");
                let place = Place::file(join(&self.folder, super::super::layout::META));
                return Err(Fault::new(Kind::Denied, codes::PATH_ESCAPE, place, message));
            }
            [key, suffix].concat()
        };
        Ok(match self.position(&name).and_then(|at| self.items.get_mut(at)) {
            Some((item, uses)) => {
                let again = *uses > 0;
                *uses = uses.saturating_add(1);
                Found::Item(item, again)
            }
            None => Found::Nothing,
        })
    }

    /// The folders with numbers for names: how many there are from 0 on without a gap, and the lowest one behind it.
    pub fn numbered(&self) -> (usize, Option<String>) {
        let number = |name: &str| {
            let digits =
                name.bytes().all(|b| b.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
            name.parse::<usize>().ok().filter(|_| digits && !name.is_empty())
        };
        let folders = self.items.iter().filter(|(item, _)| item.kind != ItemKind::File);
        let mut numbers: Vec<usize> = folders.filter_map(|(item, _)| number(&item.name)).collect();
        numbers.sort_unstable();
        let count = numbers.iter().enumerate().take_while(|(at, number)| at == *number).count();
        (count, numbers.get(count).map(usize::to_string))
    }

    /// What nothing took, by name.
    pub fn orphans(self) -> Vec<Orphan> {
        let Self { folder, items } = self;
        let unused = items.into_iter().filter(|(_, uses)| *uses == 0);
        unused
            .map(|(item, _)| Orphan { path: join(&folder, &item.name), kind: item.kind })
            .collect()
    }
}
