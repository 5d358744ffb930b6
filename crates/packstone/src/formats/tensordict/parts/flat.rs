//! A tree without its nesting: paths of keys, and what is seen there, through stacks, indices and views.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use packstone_io::Kind;

use super::super::codes;
use super::node::{
    Fault, FieldFiles, FieldValue, LazyStack, NestedTensor, Node, NonTensorStack, Source,
    StackValues,
};
use super::pick::Pick;
use super::stack;
use super::tensor::Tensor;
use super::values::Values;
use crate::error::Place;

/// What is seen at a path of keys.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A tensor.
    Tensor(Tensor),
    /// Tensors along the first dimension that have shapes of their own.
    Ragged(Vec<Tensor>),
    /// A nested tensor.
    Nested(NestedTensor),
    /// Values that are no tensors.
    Values(Values),
    /// Pickled values of a whole stack.
    Pickle(Arc<dyn Source>),
    /// Something that cannot be shown.
    Broken(Fault),
}

/// A path of keys.
pub type KeyPath = Arc<[String]>;

/// Everything below a node that is no mapping, in tree order.
pub fn flatten(node: &Node) -> Vec<(KeyPath, Seen)> {
    let mut found = Vec::new();
    each_seen(node, &mut |path, seen| found.push((path, seen)));
    found
}

/// The same, one after another to `out`.
pub fn each_seen(node: &Node, out: &mut impl FnMut(KeyPath, Seen)) {
    walk(node, &mut Vec::new(), out);
}

fn walk<'a>(node: &'a Node, path: &mut Vec<&'a str>, out: &mut impl FnMut(KeyPath, Seen)) {
    let owned = |path: &[&str]| path.iter().map(|key| (*key).to_owned()).collect();
    let seen = match node {
        Node::TensorDict(node) => {
            for (key, child) in &node.entries {
                path.push(key);
                walk(child, path, out);
                path.pop();
            }
            return;
        }
        Node::TensorClass(node) => {
            walk(&node.tensordict, path, out);
            for (name, value) in &node.fields {
                path.push(name);
                let (value, files) = (value.clone(), node.files.clone());
                out(owned(path), Seen::Values(Values::Same { value, files }));
                path.pop();
            }
            return;
        }
        Node::LazyStack(stack) => return prefixed(stacked(stack), path, out),
        Node::SubTensorDict(node) => {
            let batch = node.source.batch_size();
            let pick = Pick::index(batch, &node.index);
            return prefixed(picked(&node.source, pick), path, out);
        }
        Node::LazyView(node) => {
            let pick = Pick::view(node.source.batch_size(), &node.op);
            return prefixed(picked(&node.source, pick), path, out);
        }
        Node::Leaf(leaf) => {
            Seen::Tensor(Tensor::plain(leaf.dtype.clone(), leaf.shape.clone(), leaf.data.clone()))
        }
        Node::NestedTensor(nested) => Seen::Nested(nested.clone()),
        Node::NonTensor(node) => {
            Seen::Values(Values::Same { value: node.value.clone(), files: node.files.clone() })
        }
        Node::NonTensorStack(node) => non_tensor_stack(node),
        Node::Broken(fault) => Seen::Broken(fault.clone()),
    };
    out(owned(path), seen);
}

fn prefixed(found: Vec<(KeyPath, Seen)>, path: &[&str], out: &mut impl FnMut(KeyPath, Seen)) {
    for (inner, seen) in found {
        let outer = path.iter().map(|key| (*key).to_owned());
        out(outer.chain(inner.iter().cloned()).collect(), seen);
    }
}

fn non_tensor_stack(node: &NonTensorStack) -> Seen {
    match &node.values {
        StackValues::Json(values) => {
            let flat = stack::flatten(values, node.batch_size.len());
            let values = Arc::new(flat.into_iter().cloned().collect());
            Seen::Values(Values::Each { shape: node.batch_size.clone(), values })
        }
        StackValues::Pickled(pickle) => Seen::Pickle(Arc::clone(pickle)),
        StackValues::Members(members) => {
            let members = members.iter().map(|member| match flatten(member).pop() {
                Some((_, Seen::Values(values))) => values,
                _ => {
                    let message = "expected members of a NonTensorStack that are values";
                    faulty(Fault::new(
                        Kind::Invalid,
                        codes::MALFORMED_META,
                        Place::default(),
                        message,
                    ))
                }
            });
            let (members, shape) = (members.collect(), node.batch_size.clone());
            Seen::Values(Values::Stacked { dim: 0, shape, members })
        }
        StackValues::Faulty(fault) => Seen::Values(faulty(fault.clone())),
    }
}

fn faulty(fault: Fault) -> Values {
    Values::Same { value: FieldValue::Faulty(fault), files: FieldFiles::default() }
}

/// What all members of a stack have, stacked.
fn stacked(node: &LazyStack) -> Vec<(KeyPath, Seen)> {
    let dim = usize::try_from(node.stack_dim).unwrap_or(0);
    let mut members = node.members.iter().map(flatten);
    let Some(first) = members.next() else { return Vec::new() };
    let others: Vec<HashMap<KeyPath, Seen>> =
        members.map(|found| found.into_iter().collect()).collect();
    let mut out = Vec::new();
    for (path, seen) in first {
        let rest: Option<Vec<&Seen>> = others.iter().map(|other| other.get(&path)).collect();
        // Keys that not all members have are no keys of the stack.
        let Some(rest) = rest else { continue };
        let all: Vec<&Seen> = std::iter::once(&seen).chain(rest).collect();
        let seen = join(&all, dim, &node.batch_size);
        out.push((path, seen));
    }
    out
}

fn join(all: &[&Seen], dim: usize, batch: &[u64]) -> Seen {
    let broken = |message: &str| {
        let place = Place::default();
        Seen::Broken(Fault::new(Kind::Unsupported, codes::NO_COMMON_FORM, place, message))
    };
    if let Some(fault) = all.iter().find_map(|seen| match seen {
        Seen::Broken(fault) => Some(fault),
        _ => None,
    }) {
        return Seen::Broken(fault.clone());
    }
    let tensors: Option<Vec<Tensor>> = all
        .iter()
        .map(|seen| match seen {
            Seen::Tensor(tensor) => Some(tensor.clone()),
            _ => None,
        })
        .collect();
    if let Some(tensors) = tensors {
        let kinds: HashSet<_> = tensors.iter().map(|t| (t.dtype.clone(), t.shape.len())).collect();
        return match Tensor::stacked(dim, tensors.clone()) {
            Some(stack) => Seen::Tensor(stack),
            None if dim == 0 && kinds.len() == 1 => Seen::Ragged(tensors),
            None => broken(
                "expected tensors of one dtype and rank in all members of a stack, found others",
            ),
        };
    }
    let values: Option<Vec<Values>> = all
        .iter()
        .map(|seen| match seen {
            Seen::Values(values) => Some(values.clone()),
            _ => None,
        })
        .collect();
    match values {
        Some(members) => Seen::Values(Values::Stacked { dim, shape: batch.to_vec(), members }),
        None => broken("expected values of one kind in all members of a stack, found several"),
    }
}

/// What an index or a view shows of everything in its source.
fn picked(source: &Node, pick: Result<Pick, String>) -> Vec<(KeyPath, Seen)> {
    let batch = source.batch_size();
    let unsupported = |message: String| {
        Seen::Broken(Fault::new(
            Kind::Unsupported,
            codes::NO_COMMON_FORM,
            Place::default(),
            message,
        ))
    };
    let pick = match pick {
        Ok(pick) => Arc::new(pick),
        Err(message) => return vec![(KeyPath::default(), unsupported(message))],
    };
    let show = |seen: Seen| match seen {
        Seen::Tensor(tensor) if tensor.shape.starts_with(batch) => {
            Seen::Tensor(Tensor::picked(tensor, batch.len(), &pick))
        }
        Seen::Tensor(tensor) => {
            let message = format!(
                "expected a shape that starts with {batch:?} behind a view, found {:?}",
                tensor.shape
            );
            Seen::Broken(Fault::new(
                Kind::Invalid,
                codes::BATCH_MISMATCH,
                Place::default(),
                message,
            ))
        }
        Seen::Ragged(tensors) if batch.len() == 1 && pick.shape().len() == 1 => {
            let count = pick.shape().first().copied().unwrap_or(0);
            let at =
                |row| usize::try_from(pick.at(row)).ok().and_then(|at| tensors.get(at)).cloned();
            Seen::Ragged((0..count).filter_map(at).collect())
        }
        Seen::Values(values) => {
            Seen::Values(Values::Picked { of: Arc::new(values), pick: Arc::clone(&pick) })
        }
        Seen::Ragged(_) => {
            unsupported("expected tensors of one shape behind a view, found several".to_owned())
        }
        Seen::Nested(_) => {
            unsupported("expected a tensor behind a view, found a nested one".to_owned())
        }
        Seen::Pickle(_) => unsupported("expected values behind a view, found a pickle".to_owned()),
        Seen::Broken(fault) => Seen::Broken(fault),
    };
    flatten(source).into_iter().map(|(path, seen)| (path, show(seen))).collect()
}
