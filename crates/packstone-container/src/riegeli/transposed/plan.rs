//! The header of transposed data: buckets, buffers and nodes, all numbers checked.

use super::TransposedError;
use super::machine::{Action, Node};
use crate::Limits;
use crate::riegeli::error::ChunkErrorKind;
use crate::riegeli::header::ChunkHeader;
use crate::wire::split_varint;

/// The longest varint of 32 bits.
const LONGEST: usize = 5;
/// More than this a record cannot take in buffers besides its own bytes: the varint of its length.
const BESIDE_RECORDS: u64 = 10;
/// Tags below this are no tags of fields.
const FIRST_TAG: u32 = 8;

/// What the header says.
pub(super) struct Plan<'a> {
    /// The stored bytes of each bucket.
    pub(super) buckets: Vec<&'a [u8]>,
    /// The length of each buffer.
    buffers: Vec<usize>,
    /// Their sum.
    pub(super) content: u64,
    /// The nodes.
    pub(super) nodes: Vec<Node>,
    /// The first of them to act.
    pub(super) first: usize,
}

impl<'a> Plan<'a> {
    /// Takes the decompressed header and what follows it in the chunk; also gives the stream of transitions.
    pub(super) fn parse(
        front: &[u8],
        mut rest: &'a [u8],
        chunk: &ChunkHeader,
        limits: &Limits,
    ) -> Result<(Self, &'a [u8]), ChunkErrorKind> {
        let mut numbers = Numbers { rest: front, memory: limits.decoded_bytes };
        let buckets = numbers.count("the number of buckets")?;
        let buffers = numbers.count("the number of buffers")?;
        numbers.charge(buckets, size_of::<(&[u8], usize)>(), limits)?;
        numbers.charge(buffers, size_of::<(usize, usize, usize)>(), limits)?;
        let mut stored = Vec::new();
        for _ in 0..buckets {
            let len = numbers.long("the length of a bucket")?;
            let what = "a bucket within its chunk";
            let (bucket, after) = usize::try_from(len)
                .ok()
                .and_then(|len| rest.split_at_checked(len))
                .ok_or(TransposedError::Buffers { what, found: len })?;
            stored.push(bucket);
            rest = after;
        }
        let most = chunk.records.saturating_mul(BESIDE_RECORDS).saturating_add(chunk.decoded_size);
        let most = most.min(limits.decoded_bytes);
        let mut content = 0u64;
        let mut lengths = Vec::new();
        for _ in 0..buffers {
            let len = numbers.long("the length of a buffer")?;
            content = content.saturating_add(len);
            if content > most {
                let what = "buffers no larger than the records";
                return Err(TransposedError::Buffers { what, found: content }.into());
            }
            lengths.push(usize::try_from(len).unwrap_or(usize::MAX));
        }
        if buckets == 0 && buffers > 0 {
            let what = "buckets for the buffers";
            return Err(TransposedError::Buffers { what, found: content }.into());
        }
        let (nodes, first) = numbers.nodes(lengths.len(), limits)?;
        let plan = Self { buckets: stored, buffers: lengths, content, nodes, first };
        Ok((plan, rest))
    }

    /// Where each buffer starts and ends in the joined buckets, whose ends are given.
    ///
    /// A buffer lies within one bucket, and a bucket is used up before the next one.
    pub(super) fn cut(
        &self,
        bucket_ends: &[usize],
    ) -> Result<Vec<(usize, usize)>, TransposedError> {
        let mut buffers = Vec::with_capacity(self.buffers.len());
        let mut ends = bucket_ends.iter().copied();
        let (mut at, mut bucket_end) = (0usize, ends.next().unwrap_or(0));
        for len in &self.buffers {
            while at == bucket_end && *len > 0 {
                let what = "a bucket for each buffer";
                let none = TransposedError::Buffers { what, found: at as u64 };
                bucket_end = ends.next().ok_or(none)?;
            }
            let end = at.saturating_add(*len);
            if end > bucket_end {
                let what = "a buffer within its bucket";
                return Err(TransposedError::Buffers { what, found: (end - bucket_end) as u64 });
            }
            buffers.push((at, end));
            at = end;
        }
        let all = bucket_ends.last().copied().unwrap_or(0);
        if at != all {
            let what = "buckets without bytes of no buffer";
            return Err(TransposedError::Buffers { what, found: all.abs_diff(at) as u64 });
        }
        Ok(buffers)
    }
}

/// The numbers of the header, from the front.
struct Numbers<'h> {
    rest: &'h [u8],
    /// Bytes of memory that may still be taken: a header can be as repetitive as it likes.
    memory: u64,
}

impl Numbers<'_> {
    fn long(&mut self, what: &'static str) -> Result<u64, TransposedError> {
        let (value, rest) = split_varint(self.rest).map_err(|_| TransposedError::Header(what))?;
        self.rest = rest;
        Ok(value)
    }

    fn short(&mut self, what: &'static str) -> Result<u32, TransposedError> {
        let before = self.rest.len();
        let value = u32::try_from(self.long(what)?).map_err(|_| TransposedError::Header(what))?;
        if before - self.rest.len() > LONGEST {
            Err(TransposedError::Header(what))
        } else {
            Ok(value)
        }
    }

    /// A number of things of which each takes at least a byte of what follows.
    fn count(&mut self, what: &'static str) -> Result<u32, TransposedError> {
        let count = self.short(what)?;
        let fits = usize::try_from(count).is_ok_and(|count| count <= self.rest.len());
        if fits { Ok(count) } else { Err(TransposedError::Header(what)) }
    }

    fn charge(&mut self, count: u32, size: usize, limits: &Limits) -> Result<(), ChunkErrorKind> {
        let bytes = u64::from(count).saturating_mul(size as u64);
        self.memory = self.memory.checked_sub(bytes).ok_or(ChunkErrorKind::Limit {
            what: "bytes of memory for the header of transposed data",
            limit: limits.decoded_bytes,
            found: bytes,
        })?;
        Ok(())
    }

    fn byte(&mut self, what: &'static str) -> Result<u8, TransposedError> {
        let (byte, rest) = self.rest.split_first().ok_or(TransposedError::Header(what))?;
        self.rest = rest;
        Ok(*byte)
    }

    /// The nodes and the first one.
    fn nodes(
        &mut self,
        buffers: usize,
        limits: &Limits,
    ) -> Result<(Vec<Node>, usize), ChunkErrorKind> {
        let count = self.count("the number of nodes")?;
        self.charge(count, size_of::<Node>() + size_of::<u32>(), limits)?;
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(Node::new(self.short("the tag of a node")?));
        }
        for node in &mut nodes {
            let next = self.short("the next of a node")?;
            node.implicit = next >= count;
            node.next = if node.implicit { next - count } else { next };
            below("a node", node.next, count)?;
        }
        for (number, node) in (0u32..).zip(&mut nodes) {
            let subtype = match node.tag {
                FIRST_TAG.. if node.tag & 7 == 0 => self.byte("the subtype of a node")?,
                _ => 0,
            };
            node.action = Action::new(node.tag, subtype)
                .ok_or(TransposedError::Tag { node: number, tag: node.tag })?;
            node.spell();
        }
        for node in nodes.iter_mut().filter(|node| node.action.reads()) {
            node.buffer = self.short("the buffer of a node")?;
            below("a buffer", node.buffer, u32::try_from(buffers).unwrap_or(u32::MAX))?;
        }
        let first = self.short("the first node")?;
        below("a node", first, count)?;
        if !self.rest.is_empty() {
            return Err(TransposedError::HeaderEnd(self.rest.len() as u64).into());
        }
        acyclic(&nodes)?;
        Ok((nodes, usize::try_from(first).unwrap_or(usize::MAX)))
    }
}

fn below(what: &'static str, found: u32, limit: u32) -> Result<(), TransposedError> {
    if found < limit {
        return Ok(());
    }
    Err(TransposedError::Index { what, limit: limit.into(), found: found.into() })
}

/// Refuses nodes that lead to each other without ever asking for a transition.
fn acyclic(nodes: &[Node]) -> Result<(), TransposedError> {
    // The walk that saw a node, counted from 1; an earlier walk ended well.
    let mut seen = vec![0u32; nodes.len()];
    for (start, walk) in (0..nodes.len()).zip(1u32..) {
        let mut at = start;
        while let (Some(node), Some(mark)) = (nodes.get(at), seen.get_mut(at)) {
            if *mark == walk {
                return Err(TransposedError::Cycle(u32::try_from(at).unwrap_or(u32::MAX)));
            }
            if *mark != 0 || !node.implicit {
                break;
            }
            *mark = walk;
            at = usize::try_from(node.next).unwrap_or(usize::MAX);
        }
    }
    Ok(())
}
