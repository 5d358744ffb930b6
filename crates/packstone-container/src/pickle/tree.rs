//! Containers while they are filled, and the tree that they make.
//!
//! Instructions change containers that the memo and others may refer to, so until STOP they are nodes that refer to each
//! other by number, as objects in Python do.

use std::sync::Arc;

use super::program::Instruction;
use super::{MAX_VALUES, PickleError, PickleErrorKind as Kind, Value};
use crate::Limits;

/// Nesting that no limit can exceed, because dropping and comparing a [`Value`] recurses.
const MAX_DEPTH: usize = 1024;

/// A finished value, or a container by its number.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Value(Value),
    Node(usize),
}

#[derive(Debug)]
pub(super) enum Content {
    List(Vec<Item>),
    Tuple(Vec<Item>),
    Set(Vec<Item>),
    FrozenSet(Vec<Item>),
    Dict(Vec<(Item, Item)>),
}

impl Content {
    fn child(&self, at: usize) -> Option<&Item> {
        match self {
            Self::List(items) | Self::Tuple(items) | Self::Set(items) | Self::FrozenSet(items) => {
                items.get(at)
            }
            Self::Dict(pairs) => {
                let (key, value) = pairs.get(at / 2)?;
                Some(if at.is_multiple_of(2) { key } else { value })
            }
        }
    }
}

#[derive(Debug)]
struct Node {
    content: Content,
    /// The instruction that made it.
    offset: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    New,
    /// Its children are being finished.
    Open,
    Done(Done),
}

/// A finished value, and what it amounts to where nothing is shared.
#[derive(Clone, Debug)]
struct Done {
    value: Value,
    height: usize,
    values: u64,
    bytes: u64,
    /// Why it cannot be a key.
    unhashable: Option<&'static str>,
}

impl Done {
    fn scalar(value: Value) -> Self {
        let bytes = match &value {
            Value::Str(text) => text.len(),
            Value::Wide(wide) => wide.units().len().saturating_mul(2),
            Value::Bytes(bytes) | Value::ByteArray(bytes) => bytes.len(),
            Value::Int(number) => number.text().len(),
            _ => 0,
        } as u64;
        let unhashable = matches!(value, Value::ByteArray(_)).then(|| value.kind());
        Self { value, height: 0, values: 1, bytes, unhashable }
    }
}

/// All containers of a pickle.
#[derive(Default)]
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    pub(super) fn add(&mut self, content: Content, offset: usize) -> Item {
        self.0.push(Node { content, offset, state: State::New });
        Item::Node(self.0.len() - 1)
    }

    fn content(&mut self, item: &Item) -> Option<&mut Content> {
        match item {
            Item::Node(at) => self.0.get_mut(*at).map(|node| &mut node.content),
            Item::Value(_) => None,
        }
    }

    pub(super) fn extend_list(
        &mut self,
        target: &Item,
        more: Vec<Item>,
        by: &Instruction<'_>,
    ) -> Result<(), PickleError> {
        match self.content(target) {
            Some(Content::List(items)) => items.extend(more),
            _ => return Err(wrong(by, "a list")),
        }
        Ok(())
    }

    pub(super) fn extend_set(
        &mut self,
        target: &Item,
        more: Vec<Item>,
        by: &Instruction<'_>,
    ) -> Result<(), PickleError> {
        match self.content(target) {
            Some(Content::Set(items)) => items.extend(more),
            _ => return Err(wrong(by, "a set")),
        }
        Ok(())
    }

    pub(super) fn extend_dict(
        &mut self,
        target: &Item,
        more: Vec<(Item, Item)>,
        by: &Instruction<'_>,
    ) -> Result<(), PickleError> {
        match self.content(target) {
            Some(Content::Dict(pairs)) => pairs.extend(more),
            _ => return Err(wrong(by, "a dict")),
        }
        Ok(())
    }

    /// The tree below `root`, children before parents and every node once.
    pub(super) fn finish(mut self, root: Item, limits: &Limits) -> Result<Value, PickleError> {
        let first = match root {
            Item::Value(value) => return Ok(value),
            Item::Node(at) => at,
        };
        let mut bounds =
            Bounds { depth: limits.depth.min(MAX_DEPTH), bytes: limits.document_bytes };
        // Nodes under way, each with the number of its children that are finished.
        let mut open = vec![(first, 0)];
        while let Some((at, child)) = open.pop() {
            let Some(node) = self.0.get_mut(at) else { break };
            match node.content.child(child) {
                Some(Item::Node(below)) => {
                    let (below, offset) = (*below, node.offset);
                    node.state = State::Open;
                    match self.0.get(below).map(|node| &node.state) {
                        Some(State::Open) => {
                            return Err(PickleError { offset, kind: Kind::Cycle });
                        }
                        Some(State::New) => open.extend([(at, child), (below, 0)]),
                        _ => open.push((at, child + 1)),
                    }
                }
                Some(Item::Value(_)) => open.push((at, child + 1)),
                None => {
                    let content = std::mem::replace(&mut node.content, Content::List(Vec::new()));
                    let offset = node.offset;
                    let done = self.close(content, offset, &mut bounds)?;
                    if let Some(node) = self.0.get_mut(at) {
                        node.state = State::Done(done);
                    }
                }
            }
        }
        match self.0.into_iter().nth(first).map(|node| node.state) {
            Some(State::Done(done)) => Ok(done.value),
            _ => Ok(Value::None),
        }
    }

    /// A container whose children are finished.
    fn close(
        &self,
        content: Content,
        offset: usize,
        bounds: &mut Bounds,
    ) -> Result<Done, PickleError> {
        let fail = |kind| PickleError { offset, kind };
        let mut sum = Done { value: Value::None, height: 1, values: 1, bytes: 0, unhashable: None };
        let mut take = |item: Item, is_key: bool| {
            let done = match item {
                Item::Value(value) => Done::scalar(value),
                Item::Node(at) => match self.0.get(at).map(|node| &node.state) {
                    Some(State::Done(done)) => done.clone(),
                    _ => return Err(fail(Kind::Cycle)),
                },
            };
            if let Some(found) = done.unhashable.filter(|_| is_key) {
                return Err(fail(Kind::Unhashable { found }));
            }
            sum.height = sum.height.max(done.height.saturating_add(1));
            sum.values = sum.values.saturating_add(done.values);
            sum.bytes = sum.bytes.saturating_add(done.bytes);
            sum.unhashable = sum.unhashable.or(done.unhashable);
            Ok(done.value)
        };
        let mut all = |items: Vec<Item>, keys: bool| -> Result<Arc<[Value]>, PickleError> {
            items.into_iter().map(|item| take(item, keys)).collect()
        };
        let value = match content {
            Content::List(items) => Value::List(all(items, false)?),
            Content::Tuple(items) => Value::Tuple(all(items, false)?),
            Content::Set(items) => Value::Set(all(items, true)?),
            Content::FrozenSet(items) => Value::FrozenSet(all(items, true)?),
            Content::Dict(pairs) => {
                let pairs = pairs.into_iter().map(|(key, value)| {
                    Ok::<_, PickleError>((take(key, true)?, take(value, false)?))
                });
                Value::Dict(pairs.collect::<Result<_, _>>()?)
            }
        };
        bounds.check(&sum).map_err(fail)?;
        if matches!(value, Value::List(_) | Value::Set(_) | Value::Dict(_)) {
            sum.unhashable = Some(value.kind());
        }
        sum.value = value;
        Ok(sum)
    }
}

fn wrong(by: &Instruction<'_>, expected: &'static str) -> PickleError {
    by.fail(Kind::Target { opcode: by.opcode, expected })
}

/// What a value may amount to.
struct Bounds {
    depth: usize,
    bytes: u64,
}

impl Bounds {
    fn check(&self, done: &Done) -> Result<(), Kind> {
        if done.height > self.depth {
            return Err(Kind::TooDeep { limit: self.depth });
        }
        if done.values > MAX_VALUES {
            return Err(Kind::TooMany { what: "values", limit: MAX_VALUES });
        }
        if done.bytes > self.bytes {
            return Err(Kind::TooMany { what: "bytes of text and data", limit: self.bytes });
        }
        Ok(())
    }
}
