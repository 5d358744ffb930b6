//! The nodes and how they act.
//!
//! ```text
//! tag        │ reads            │ puts in front
//! 0          │                  │ nothing
//! 1          │ length, bytes    │ the bytes: a whole record that is no message; ends the record
//! 2          │                  │ tag and length of the submessage that was put since it ended
//! 3          │                  │ nothing: ends a record that is a message
//! .. type 6  │                  │ nothing: a submessage ends here, under the tag less 4
//! .. type 0  │ 1 to 10 bytes    │ tag, varint; subtype 0 to 9 says how many, 10 to 137 is the varint itself plus 10
//! .. type 1  │ 8 bytes          │ tag, bytes
//! .. type 5  │ 4 bytes          │ tag, bytes
//! .. type 2  │ length and bytes │ tag, length, bytes
//! .. 3 and 4 │                  │ tag
//! ```
//!
//! After a node its successor acts, where that is implicit; else the low bits of a transition say for how many nodes
//! nothing more is read, the high bits how far to jump from the base.

use super::TransposedError;
use super::backward::{Backward, Full};
use super::plan::Plan;
use crate::riegeli::error::ChunkErrorKind;
use crate::riegeli::header::ChunkHeader;
use crate::riegeli::records::Records;
use crate::wire::split_varint;

/// A tag in front of a varint, both as long as can be.
const LONGEST: usize = 15;

/// One node.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) action: Action,
    pub(super) tag: u32,
    /// The successor, or the base that transitions count from.
    pub(super) next: u32,
    pub(super) buffer: u32,
    /// Whether `next` acts without a transition.
    pub(super) implicit: bool,
    /// The bytes of the tag, and of an inline varint behind it.
    spelled: [u8; 6],
    spelled_len: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    NonProto,
    SubmessageStart,
    MessageStart,
    SubmessageEnd,
    Tag,
    Inline(u8),
    Varint(u8),
    Fixed(u8),
    Bytes,
}

impl Action {
    /// What a tag asks for; `subtype` counts for varints only.
    pub(super) fn new(tag: u32, subtype: u8) -> Option<Self> {
        Some(match (tag, tag & 7) {
            (0, _) => Self::Nothing,
            (1, _) => Self::NonProto,
            (2, _) => Self::SubmessageStart,
            (3, _) => Self::MessageStart,
            (..8, _) => return None,
            (_, 0) => match subtype {
                0..10 => Self::Varint(subtype + 1),
                10..138 => Self::Inline(subtype - 10),
                138.. => return None,
            },
            (_, 1) => Self::Fixed(8),
            (_, 2) => Self::Bytes,
            (_, 3 | 4) => Self::Tag,
            (_, 5) => Self::Fixed(4),
            (_, 6) => Self::SubmessageEnd,
            _ => return None,
        })
    }

    /// Whether the node reads a buffer.
    pub(super) fn reads(self) -> bool {
        matches!(self, Self::NonProto | Self::Varint(_) | Self::Fixed(_) | Self::Bytes)
    }
}

impl Node {
    pub(super) fn new(tag: u32) -> Self {
        let action = Action::Nothing;
        let (next, buffer, implicit, spelled, spelled_len) = Default::default();
        Self { action, tag, next, buffer, implicit, spelled, spelled_len }
    }

    /// Spells the tag out, once the action is known.
    pub(super) fn spell(&mut self) {
        // The end of a submessage has the tag of a string with 4 added.
        let tag = if self.action == Action::SubmessageEnd { self.tag - 4 } else { self.tag };
        let inline = if let Action::Inline(value) = self.action { Some(value) } else { None };
        let mut room = self.spelled.iter_mut();
        let (len, bytes) = varint(tag);
        for (to, byte) in room.by_ref().zip(bytes.into_iter().take(len).chain(inline)) {
            *to = byte;
            self.spelled_len += 1;
        }
    }

    fn spelled(&self) -> &[u8] {
        self.spelled.get(..self.spelled_len.into()).unwrap_or_default()
    }
}

/// The bytes of a varint of 32 bits, and how many there are.
fn varint(value: u32) -> (usize, [u8; 5]) {
    let mut len = 0;
    let mut rest = value;
    let bytes = [(); 5].map(|()| {
        let [low, ..] = rest.to_le_bytes();
        let more = rest >= 0x80;
        len += usize::from(len == 0 || rest > 0);
        rest >>= 7;
        low & 0x7f | u8::from(more) << 7
    });
    (len, bytes)
}

struct Run<'r, 'p> {
    content: &'r [u8],
    /// What is left of each buffer.
    buffers: Vec<(usize, usize)>,
    out: Backward<'p>,
    /// Submessages that ended and did not start yet: how many bytes were put before.
    open: Vec<(usize, u32)>,
    /// How many bytes were put when each record was complete, the last record first.
    boundaries: Vec<usize>,
    header: &'r ChunkHeader,
}

pub(super) fn run(
    plan: &Plan<'_>,
    content: &[u8],
    buffers: Vec<(usize, usize)>,
    transitions: &[u8],
    header: &ChunkHeader,
    out: Backward<'_>,
) -> Result<Records, ChunkErrorKind> {
    let mut run = Run { content, buffers, out, open: Vec::new(), boundaries: Vec::new(), header };
    let mut steps = budget(plan, transitions, header);
    let mut transitions = transitions.iter();
    let nodes = &plan.nodes;
    let mut at = plan.first;
    let mut free = u8::from(nodes.get(at).is_some_and(|node| node.implicit));
    while let Some(node) = nodes.get(at) {
        steps = steps.checked_sub(1).ok_or(TransposedError::Idle(header.decoded_size))?;
        run.act(node)?;
        at = usize::try_from(node.next).unwrap_or(usize::MAX);
        let implicit = |at: usize| nodes.get(at).is_some_and(|node| node.implicit);
        if free > 0 {
            free -= u8::from(!implicit(at));
            continue;
        }
        let Some(transition) = transitions.next() else { return run.finish() };
        at = at.saturating_add(usize::from(transition >> 2));
        if at >= nodes.len() {
            let (limit, found) = (nodes.len() as u64, at as u64);
            return Err(TransposedError::Index { what: "a node", limit, found }.into());
        }
        free = (transition & 3) + u8::from(implicit(at));
    }
    let (limit, found) = (nodes.len() as u64, at as u64);
    Err(TransposedError::Index { what: "a node", limit, found }.into())
}

/// More steps than any machine needs: every node but one that does nothing, ends a submessage or ends a record puts at
/// least a byte, and those that do nothing lie between others, one at a time.
fn budget(plan: &Plan<'_>, transitions: &[u8], header: &ChunkHeader) -> u64 {
    let output = header.decoded_size.saturating_add(header.records).saturating_mul(4);
    let input = (transitions.len() as u64).saturating_mul(16);
    output.saturating_add(input).saturating_add(plan.nodes.len() as u64).saturating_add(16)
}

impl Run<'_, '_> {
    fn act(&mut self, node: &Node) -> Result<(), ChunkErrorKind> {
        match node.action {
            Action::Nothing => Ok(()),
            Action::NonProto => {
                let last = self.buffers.len().wrapping_sub(1);
                let (len, _) = self.length(last, "the length of a record")?;
                let bytes = self.take(node.buffer, len, "a record")?;
                self.put(bytes)?;
                self.boundary()
            }
            Action::MessageStart => self.boundary(),
            Action::SubmessageEnd => {
                // Each one open puts at least two bytes when it starts.
                let room = self.header.decoded_size.saturating_sub(self.out.len() as u64);
                if self.open.len() as u64 > room / 2 {
                    return Err(TransposedError::Nesting.into());
                }
                self.open.push((self.out.len(), node.tag - 4));
                Ok(())
            }
            Action::SubmessageStart => {
                let (before, tag) = self.open.pop().ok_or(TransposedError::Nesting)?;
                let len = u32::try_from(self.out.len() - before);
                let (len, bytes) = varint(len.map_err(|_| TransposedError::Nesting)?);
                self.put(bytes.get(..len).unwrap_or_default())?;
                let (len, bytes) = varint(tag);
                self.put(bytes.get(..len).unwrap_or_default())
            }
            Action::Tag | Action::Inline(_) => self.put(node.spelled()),
            Action::Fixed(len) => {
                let bytes = self.take(node.buffer, len.into(), "a number")?;
                self.put_both(node.spelled(), bytes)
            }
            Action::Varint(len) => {
                let bytes = self.take(node.buffer, len.into(), "a varint")?;
                let mut whole = [0; 10];
                let (whole, _) = whole.split_at_mut_checked(bytes.len()).unwrap_or_default();
                whole.copy_from_slice(bytes);
                if let Some((last, others)) = whole.split_last_mut() {
                    *last &= 0x7f;
                    others.iter_mut().for_each(|byte| *byte |= 0x80);
                }
                self.put_both(node.spelled(), whole)
            }
            Action::Bytes => {
                let buffer = usize::try_from(node.buffer).unwrap_or(usize::MAX);
                let (len, stored) = self.length(buffer, "the length of a string")?;
                let bytes = self.take(node.buffer, len, "a string")?;
                self.put(bytes)?;
                self.put_both(node.spelled(), stored)
            }
        }
    }
}

impl<'r> Run<'r, '_> {
    /// A length of 32 bits from a buffer, and its bytes there.
    fn length(
        &mut self,
        buffer: usize,
        what: &'static str,
    ) -> Result<(usize, &'r [u8]), TransposedError> {
        let fail = TransposedError::Value(what);
        let (start, end) = self.buffers.get_mut(buffer).ok_or(fail)?;
        let bytes = self.content.get(*start..*end).ok_or(fail)?;
        let (value, rest) = split_varint(bytes).map_err(|_| fail)?;
        let stored = bytes.get(..bytes.len() - rest.len()).unwrap_or_default();
        *start += stored.len();
        let value = u32::try_from(value).ok().filter(|_| stored.len() <= 5).ok_or(fail)?;
        Ok((usize::try_from(value).unwrap_or(usize::MAX), stored))
    }

    /// The next `len` bytes of a buffer.
    fn take(
        &mut self,
        buffer: u32,
        len: usize,
        what: &'static str,
    ) -> Result<&'r [u8], TransposedError> {
        let fail = TransposedError::Value(what);
        let buffer = usize::try_from(buffer).unwrap_or(usize::MAX);
        let (start, end) = self.buffers.get_mut(buffer).ok_or(fail)?;
        let stop = start.checked_add(len).filter(|stop| stop <= end).ok_or(fail)?;
        let bytes = self.content.get(*start..stop).ok_or(fail)?;
        *start = stop;
        Ok(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ChunkErrorKind> {
        self.out.put(bytes).map_err(|full| match full {
            Full::Limit(error) => ChunkErrorKind::Transposed(error),
            Full::Memory(error) => ChunkErrorKind::Io(error),
        })
    }

    /// Puts two short pieces, `first` in front.
    fn put_both(&mut self, first: &[u8], second: &[u8]) -> Result<(), ChunkErrorKind> {
        let mut both = [0; LONGEST];
        let len = first.len() + second.len();
        for (to, byte) in both.iter_mut().zip(first.iter().chain(second)) {
            *to = *byte;
        }
        self.put(both.get(..len).unwrap_or_default())
    }

    fn boundary(&mut self) -> Result<(), ChunkErrorKind> {
        if !self.open.is_empty() {
            return Err(TransposedError::Nesting.into());
        }
        if self.boundaries.len() as u64 == self.header.records {
            return Err(records("records", self.header.records, self.header.records + 1));
        }
        self.boundaries.push(self.out.len());
        Ok(())
    }

    fn finish(self) -> Result<Records, ChunkErrorKind> {
        let total = self.out.len();
        if !self.open.is_empty() {
            return Err(TransposedError::Nesting.into());
        }
        let header = self.header;
        for (what, expected, found) in [
            ("records", header.records, self.boundaries.len() as u64),
            ("decoded size", header.decoded_size, total as u64),
            ("bytes of records", total as u64, self.boundaries.last().map_or(0, |n| *n as u64)),
        ] {
            if expected != found {
                return Err(records(what, expected, found));
            }
        }
        // Record k from the end starts where the boundary of the one after it, k - 1, was.
        let mut ends = self.boundaries;
        ends.pop();
        ends.reverse();
        ends.iter_mut().for_each(|put| *put = total - *put);
        if header.records > 0 {
            ends.push(total);
        }
        Ok(Records::new(self.out.finish(), ends))
    }
}

fn records(what: &'static str, expected: u64, found: u64) -> ChunkErrorKind {
    TransposedError::Records { what, expected, found }.into()
}
