//! Naming a set in the catalog: a revision with it, then the pointer to that.
//!
//! The pointer is replaced under the lock of the root, and only where it is still the one that was read.
//!
//! Known differences from the original: it locks a file next to the pointer, which packstone does not. A publisher of
//! either that comes between reading and replacing is noticed, except in the moment between the last look and the rename.

use std::sync::Arc;

use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::super::codes;
use super::super::super::layout::{CATALOG, fixed, revision_path};
use super::super::super::options::Policy;
use super::super::annotations::{Catalog, read_document};
use super::super::catalog::{CatalogPointer, SetReference};
use super::super::notes::Notes;
use super::super::reference::Objects;
use super::super::store::{create_document, persist_folders};
use super::AnnotationOptions;
use crate::error::{Error, Place, Result};

/// Names a set in the catalog.
///
/// # Errors
/// `collision` where another set has the name; `catalog_changed` where others without the lock come in between again and
/// again; `io/conflict` where another publisher holds the lock all the time; those of [`Catalog::read`].
pub(super) fn update_catalog(
    root: &Arc<dyn RootMut>,
    name: &str,
    reference: &SetReference,
    policy: &Policy,
    options: &AnnotationOptions,
) -> Result<()> {
    let _held = root.lock(options.patience)?;
    let readable: Arc<dyn Root> = Arc::clone(root) as _;
    let objects = Objects::new(readable, &[]);
    let pointer = fixed(CATALOG);
    for _ in 0..options.retries.max(1) {
        let catalog = Catalog::read(&objects, policy, &mut Notes::silent(Place::default()))?;
        let mut revision = catalog.revision;
        match revision.sets.get(name) {
            Some(found) if found == reference => return Ok(()),
            Some(_) => {
                let message = format!(
                    "expected a new name, found the annotation set {name:?} published with other content"
                );
                let place = Place::file(CATALOG);
                return Err(Error::new(Kind::Exists, codes::COLLISION, place, message));
            }
            None => {}
        }
        revision.sets.insert(name.to_owned(), reference.clone());
        let text = revision.text();
        let path = RelPath::new(&revision_path(text.as_bytes())).unwrap_or_default();
        create_document(root.as_ref(), &path, text.as_bytes())?;
        persist_folders(root.as_ref(), [&path].into_iter())?;
        let next = CatalogPointer { revision: path.as_str().to_owned() }.text();
        let swapped = match &catalog.path {
            None => match root.create(&pointer, next.as_bytes()) {
                Ok(()) => {
                    root.persist(&pointer)?;
                    persist_folders(root.as_ref(), [&pointer].into_iter())?;
                    true
                }
                Err(error) if error.kind() == Kind::Exists => false,
                Err(error) => return Err(error.into()),
            },
            // Nobody else may have replaced it since it was read.
            Some(old) if points_to(&objects, old, policy)? => {
                root.replace(&[(pointer.clone(), next.into_bytes())])?;
                true
            }
            Some(_) => false,
        };
        if swapped {
            return Ok(());
        }
    }
    let message =
        format!("expected the catalog to stay, found it changed {} times", options.retries);
    Err(Error::new(Kind::Conflict, codes::CATALOG_CHANGED, Place::file(CATALOG), message))
}

fn points_to(objects: &Objects, revision: &RelPath, policy: &Policy) -> Result<bool> {
    let bytes = read_document(objects, &fixed(CATALOG), policy)?;
    let mut notes = Notes::silent(Place::file(CATALOG));
    let pointer = CatalogPointer::parse(&bytes, &policy.control, &mut notes)?;
    Ok(pointer.revision == revision.as_str())
}
