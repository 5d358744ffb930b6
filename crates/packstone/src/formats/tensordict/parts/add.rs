//! A leaf or collection added to a saved tree.
//!
//! ```text
//! 1. the files of the new entry, on the disk       no document names them
//! 2. the document of the tensordict, in one go     the new entry comes last, as the library puts it
//! ```

use std::sync::Arc;
use std::time::Duration;

use packstone_container::Limits;
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::layout::{LEAF, META, SIZES};
use super::super::options::{SaveOptions, TreeOptions};
use super::super::reader::open_store;
use super::super::{codes, document};
use super::append::{APPENDING, below, folder_of};
use super::files::{Files, OutFile, name_of};
use super::node::{Node, TensorDict};
use super::outputs::Outputs;
use super::tree::Tree;
use super::{rewrite, save};
use crate::error::{Error, Place, Result};

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds `node` under a new key of the tensordict at a path of keys of the tree in the folder `root`. What an older save
/// left under its names is replaced.
///
/// # Errors
/// `io/exists` where the key is there already; `unknown_collection` where there is no tensordict at that path;
/// `not_appendable` for an archive; those of [`Files::of`]; `Conflict` where another writer works there; `Io`. Then
/// readers see what they saw before.
pub fn add(
    root: &Arc<dyn RootMut>,
    keys: &[&str],
    key: &str,
    node: &Node,
    limits: &Limits,
    options: &SaveOptions,
) -> Result<()> {
    if root.sole_file().is_some() {
        let message = "expected a folder, found an archive, to which nothing can be added";
        let kind = Kind::Unsupported;
        return Err(Error::new(kind, codes::NOT_APPENDABLE, Place::default(), message));
    }
    let _lock = root.lock(PATIENCE)?;
    APPENDING.complete(root.as_ref(), limits)?;
    let below_root: Arc<dyn Root> = Arc::clone(root) as _;
    let reading = TreeOptions::default().with_limits(*limits);
    let mut tree = Tree::load(open_store(below_root, limits)?.store(), &reading)?;
    let (folder, dict) = enter(root.as_ref(), &mut tree.root, keys)?;
    let place = || Place::file(below(&folder, META).unwrap_or_default()).field(key);
    if dict.get(key).is_some() {
        let message = "expected a key that is not there yet, found one that is";
        return Err(Error::new(Kind::Exists, "io/exists", place(), message));
    }
    // Planned beside what is there, so that it shares no name with it.
    let mut outputs = Outputs::new();
    for (key, node) in
        dict.entries.iter().map(|(key, node)| (key.as_str(), node)).chain([(key, node)])
    {
        names(key, node, options, &mut outputs)
            .map_err(|(code, message)| Error::new(Kind::Invalid, code, place(), message))?;
    }
    let alone = TensorDict::new(dict.batch_size.clone(), vec![(key.to_owned(), node.clone())]);
    let mut files = Files::of(&Node::TensorDict(alone), options)?;
    // Its own document is not that of the tensordict that it comes into.
    files.files.pop();
    write(root, &folder, node, files, options)?;
    dict.entries.push((key.to_owned(), node.clone()));
    let dict = Node::TensorDict(dict.clone());
    let text = document::text(&dict, &rewrite::of(&dict).unwrap_or_default());
    Ok(root.replace(&[(below(&folder, META)?, text.into_bytes())])?)
}

/// The tensordict at a path of keys, with its folder.
fn enter<'n>(
    root: &dyn RootMut,
    node: &'n mut Node,
    keys: &[&str],
) -> Result<(RelPath, &'n mut TensorDict)> {
    let (mut folder, mut node) = (RelPath::root(), node);
    let missing = || {
        let message = "expected the keys of a tensordict, found something else";
        let place = Place::default().field(keys.join("."));
        Error::new(Kind::NotFound, codes::UNKNOWN_COLLECTION, place, message)
    };
    for key in keys {
        let Node::TensorDict(dict) = node else { return Err(missing()) };
        folder = folder_of(root, &folder, key)?;
        let found = dict.entries.iter_mut().find(|(name, _)| name == key);
        node = found.map(|(_, child)| child).ok_or_else(missing)?;
    }
    match node {
        Node::TensorDict(dict) => Ok((folder, dict)),
        _ => Err(missing()),
    }
}

/// Takes the names that an entry has.
fn names(
    key: &str,
    node: &Node,
    options: &SaveOptions,
    outputs: &mut Outputs,
) -> Result<(), (&'static str, String)> {
    let tensor = matches!(node, Node::Leaf(_) | Node::NestedTensor(_));
    let name = name_of(key, !tensor, options.key_names)
        .map_err(|message| (codes::PATH_ESCAPE, message))?;
    match node {
        Node::Leaf(_) => outputs.take(key, name + LEAF).map(drop),
        Node::NestedTensor(_) => {
            outputs.take(key, format!("{name}{LEAF}"))?;
            outputs.take(key, name + SIZES).map(drop)
        }
        _ => outputs.take(key, name).map(drop),
    }
}

/// Writes the files of an entry into the folder of its tensordict.
fn write(
    root: &Arc<dyn RootMut>,
    folder: &RelPath,
    node: &Node,
    files: Files,
    options: &SaveOptions,
) -> Result<()> {
    if let Node::Leaf(_) | Node::NestedTensor(_) = node {
        for file in files.files {
            let mut draft = root.draft(&folder.below(&file.path))?;
            file.open()?.iter().try_for_each(|piece| draft.write(piece))?;
            draft.publish()?;
        }
        return Ok(());
    }
    let Some(top) = files.folders.first().cloned() else { return Ok(()) };
    let inside = |path: &RelPath| {
        let rest = path.as_str().get(top.as_str().len()..).unwrap_or_default();
        RelPath::new(&format!("./{rest}")).unwrap_or_default()
    };
    let moved = |file: OutFile| OutFile { path: inside(&file.path), ..file };
    let own = Files {
        folders: files.folders.iter().skip(1).map(inside).collect(),
        files: files.files.into_iter().map(moved).collect(),
        notes: files.notes,
    };
    let options = options.clone().with_replace(true);
    save::write(root, &folder.below(&top), own, &options, None).map(drop)
}
