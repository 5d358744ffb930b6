//! The fields of the rows of a node, with what reads them.

use packstone_container::Limits;

use super::field::FieldReader;
use super::flat::{KeyPath, Seen, flatten, walk_entries};
use super::node::Node;
use crate::error::Result;
use crate::exec::{default_threads, map};
use crate::model::Field;

/// So many nodes are worth a second thread.
const MANY: usize = 1024;

/// Fields, and the reader of each.
pub type Readers = (Vec<Field>, Vec<FieldReader>);

/// The fields of everything below a node, in tree order; those of a large mapping are made at once.
///
/// # Errors
/// `exec/thread_died`.
pub fn readers(node: &Node, limits: &Limits) -> Result<Readers> {
    let batch = node.batch_size();
    let reader = |path: KeyPath, seen: Seen| FieldReader::new(path, seen, batch, limits);
    let Node::TensorDict(mapping) = node else {
        return Ok(flatten(node).into_iter().map(|(path, seen)| reader(path, seen)).unzip());
    };
    let threads = if count(&mapping.entries) >= MANY { default_threads() } else { 1 };
    let parts = map(&mapping.entries, threads, |part| {
        let (mut fields, mut readers) =
            (Vec::with_capacity(count(part)), Vec::with_capacity(count(part)));
        walk_entries(part, &mut Vec::new(), &mut |path, seen| {
            let (field, reader) = reader(path, seen);
            fields.push(field);
            readers.push(reader);
        });
        (fields, readers)
    })?;
    let join = |(mut fields, mut readers): Readers, (mut more, mut of_them): Readers| {
        fields.append(&mut more);
        readers.append(&mut of_them);
        (fields, readers)
    };
    Ok(parts.into_iter().reduce(join).unwrap_or_default())
}

/// The nodes among the entries of a mapping, one level of collections opened up.
fn count(entries: &[(String, Node)]) -> usize {
    let inside = |node: &Node| match node {
        Node::TensorDict(mapping) => mapping.entries.len(),
        _ => 1,
    };
    entries.iter().map(|(_, node)| inside(node)).sum()
}
