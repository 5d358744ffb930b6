//! The files of a stored tree as they are, for whoever moves them: from folder to folder, into an archive, into another.
//!
//! Documents, pickles and names stay byte for byte, whatever version or spelling. Leaves stay too, but for what is longer
//! than its elements. What no document names is left behind, unless it is asked for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use packstone_io::{Kind, RelPath, RootMut, TEMPORARY};

use super::super::codes;
use super::super::layout::META;
use super::super::options::SaveOptions;
use super::files::{Body, Files, OutFile};
use super::node::{Bytes, Fault, FieldValue, NestedTensor, Node, StackValues};
use super::pack;
use super::save::{self, Saved};
use super::store::{Elements, Item, ItemKind, Store, join};
use super::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;

/// The files of `tree`, which is stored in `store`; with `stray`, also those that no document names.
///
/// # Errors
/// The fault of a node or leaf that could not be read: what is damaged is not passed on. `symlink` for a link that
/// nothing names, where `stray` asks for it.
pub fn files(store: &Arc<dyn Store>, tree: &Tree, stray: bool) -> Result<Files> {
    if let Some(fault) = first_fault(&tree.root) {
        return Err(fault.error());
    }
    let mut shorter = HashMap::new();
    shortened(&tree.root, &mut shorter)?;
    let orphans = tree.orphans.iter().map(|orphan| orphan.path.as_str());
    let left = if stray { HashSet::new() } else { orphans.collect() };
    let mut walk = Walk { store, shorter, left, out: Files::default() };
    walk.folder("")?;
    Ok(walk.out)
}

/// Writes the files of a stored tree again, to a root that is an empty folder or a file that is not there yet.
///
/// # Errors
/// Those of [`files`], [`save::write`] and [`pack::write`]; then nothing has changed.
pub fn copy(
    store: &Arc<dyn Store>,
    tree: &Tree,
    target: &Arc<dyn RootMut>,
    options: &SaveOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Saved> {
    let files = files(store, tree, false)?;
    match target.sole_file().cloned() {
        Some(path) => pack::write(target, &path, files, options, progress),
        None => save::write(target, &RelPath::root(), files, options, progress),
    }
}

/// All files of a store, whether a document names them or not.
///
/// # Errors
/// `symlink` for a link.
pub fn all(store: &Arc<dyn Store>) -> Result<Files> {
    let (shorter, left) = (HashMap::new(), HashSet::new());
    let mut walk = Walk { store, shorter, left, out: Files::default() };
    walk.folder("")?;
    Ok(walk.out)
}

struct Walk<'a> {
    store: &'a Arc<dyn Store>,
    /// What is written of files that are longer than their elements.
    shorter: HashMap<String, (u64, Body)>,
    /// What is left behind.
    left: HashSet<&'a str>,
    out: Files,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &str) -> Result<()> {
        let folder = self.store.folder(folder)?;
        let mut items: Vec<(usize, &Item)> = folder.items().iter().enumerate().collect();
        // The document comes after everything that it names.
        items.sort_by_key(|(_, item)| item.name == META && item.kind == ItemKind::File);
        for (at, item) in items {
            let path = join(folder.path(), &item.name);
            // Nor is what a writer has in the making, or left when it was killed.
            if self.left.contains(path.as_str()) || item.name.starts_with(TEMPORARY) {
                continue;
            }
            let checked = RelPath::new(&format!("./{path}")).map_err(|why| {
                let place = Place::file(&path);
                Error::new(Kind::Denied, codes::PATH_ESCAPE, place, why.to_string())
            })?;
            match item.kind {
                ItemKind::Folder => {
                    self.out.folders.push(checked);
                    self.folder(&path)?;
                }
                ItemKind::File => {
                    let whole = || {
                        let file = Arc::clone(&folder).file(at, Elements::NONE);
                        (file.len(), Body::Copy(file))
                    };
                    let (len, body) = self.shorter.remove(&path).unwrap_or_else(whole);
                    self.out.files.push(OutFile { path: checked, len, body });
                }
                ItemKind::Link => {
                    let message = "expected a file or folder, found a link or a device";
                    return Err(Error::new(
                        Kind::Denied,
                        codes::SYMLINK,
                        Place::file(path),
                        message,
                    ));
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with a tree, if anything is.
pub fn first_fault(node: &Node) -> Option<Fault> {
    let faulty = |bytes: &Bytes| match bytes {
        Bytes::Faulty(fault) => Some(fault.clone()),
        _ => None,
    };
    let field = |value: &FieldValue| match value {
        FieldValue::Faulty(fault) => Some(fault.clone()),
        _ => None,
    };
    match node {
        Node::Broken(fault) => Some(fault.clone()),
        Node::Leaf(leaf) => faulty(&leaf.data),
        Node::NestedTensor(nested) => {
            // Nothing is missing where there is nothing.
            let needed = || nested.sized().map_or(true, |bytes| bytes > 0);
            faulty(&nested.sizes).or_else(|| faulty(&nested.data).filter(|_| needed()))
        }
        Node::NonTensor(node) => field(&node.value),
        Node::NonTensorStack(stack) => match &stack.values {
            StackValues::Faulty(fault) => Some(fault.clone()),
            _ => node.children().into_iter().find_map(|(_, child)| first_fault(child)),
        },
        Node::TensorClass(node) => {
            let own = node.fields.iter().find_map(|(_, value)| field(value));
            own.or_else(|| first_fault(&node.tensordict))
        }
        other => other.children().into_iter().find_map(|(_, child)| first_fault(child)),
    }
}

/// Finds files that are longer than their elements.
fn shortened(node: &Node, out: &mut HashMap<String, (u64, Body)>) -> Result<()> {
    match node {
        Node::Leaf(leaf) => shorten(&leaf.data, out),
        Node::NestedTensor(nested) => {
            shorten(&nested.sizes, out);
            shorten_elements(nested, out)?;
        }
        other => {
            for (_, child) in other.children() {
                shortened(child, out)?;
            }
        }
    }
    Ok(())
}

fn shorten(bytes: &Bytes, out: &mut HashMap<String, (u64, Body)>) {
    if let Bytes::Stored { file, len } = bytes
        && file.len() != *len
    {
        out.insert(file.path(), (*len, Body::Leaf(bytes.clone())));
    }
}

fn shorten_elements(nested: &NestedTensor, out: &mut HashMap<String, (u64, Body)>) -> Result<()> {
    if let Bytes::Stored { file, .. } = &nested.data {
        let needed = nested.shapes()?.ends.last().copied().unwrap_or(0) as u64;
        if file.len() != needed {
            out.insert(file.path(), (needed, Body::Elements(Box::new(nested.clone()))));
        }
    }
    Ok(())
}
