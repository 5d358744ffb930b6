//! The fields of the rows of a node, with what reads them.

use packstone_container::Limits;

use super::field::FieldReader;
use super::flat::each_seen;
use super::node::Node;
use crate::model::Field;

/// Fields, and the reader of each.
pub type Readers = (Vec<Field>, Vec<FieldReader>);

/// The fields of everything below a node, in tree order.
pub fn readers(node: &Node, limits: &Limits) -> Readers {
    let (batch, room) = (node.batch_size(), room(node));
    let (mut fields, mut readers) = (Vec::with_capacity(room), Vec::with_capacity(room));
    each_seen(node, &mut |path, seen| {
        let (field, reader) = FieldReader::new(path, seen, batch, limits);
        fields.push(field);
        readers.push(reader);
    });
    (fields, readers)
}

/// About how many there are: of thousands, none is to be moved for another.
fn room(node: &Node) -> usize {
    match node {
        Node::TensorDict(mapping) => mapping.entries.iter().map(|(_, node)| room(node)).sum(),
        _ => 1,
    }
}
