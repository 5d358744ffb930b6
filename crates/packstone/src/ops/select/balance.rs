//! Interleaving groups of shards so that about as many samples of each have been seen at any time.
//!
//! ```text
//! shards ─ first key ─► groups ─ second key ─► groups ─► … ─► shards in their order
//!            heap of (samples seen, group)       heap
//! ```
//!
//! On each level the group with the fewest samples seen is next, among equals the one that appeared first; a shard adds
//! its samples divided by its weight. A group without further shards drops out. This is the order of the original's
//! balanced iterator.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use packstone_container::json::Value;
use packstone_io::Kind;

use crate::error::{Error, Place, Result};
use crate::format::ShardRef;
use crate::model::canonical;

type Group = dyn Fn(&ShardRef) -> Value + Send + Sync;
type Weight = dyn Fn(&ShardRef) -> f64 + Send + Sync;

/// One level of balancing: what puts shards into one group, and what a sample of a shard weighs.
#[derive(Clone)]
pub struct BalanceKey {
    group: Arc<Group>,
    weight: Option<Arc<Weight>>,
}

impl BalanceKey {
    /// Shards with equal values of `group` form a group. Values are equal that are spelled equal with sorted keys.
    pub fn new(group: impl Fn(&ShardRef) -> Value + Send + Sync + 'static) -> Self {
        Self { group: Arc::new(group), weight: None }
    }

    /// Groups by the member `name` of the shards' metadata; shards without it form a group.
    pub fn metadata(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(move |shard| shard.metadata.get(&name).cloned().unwrap_or_default())
    }

    /// A sample of a shard counts for `1 / weight`: twice the weight, twice as many of these shards.
    #[must_use]
    pub fn weight(mut self, weight: impl Fn(&ShardRef) -> f64 + Send + Sync + 'static) -> Self {
        self.weight = Some(Arc::new(weight));
        self
    }
}

/// The given shards in a balanced order, see [`Balanced`]. With `repeat` each group starts again at its end, so that
/// the balance holds for ever; without any shards the iterator still ends.
///
/// # Errors
/// `ops/balance_weight` where a weight is not a number above zero.
pub fn balanced(shards: Vec<ShardRef>, keys: &[BalanceKey], repeat: bool) -> Result<Balanced> {
    let all = (0..shards.len()).collect();
    let root = Node::new(&shards, all, keys, repeat)?;
    Ok(Balanced { shards, root })
}

/// Shards in a balanced order, see [`balanced`].
pub struct Balanced {
    shards: Vec<ShardRef>,
    root: Node,
}

impl Iterator for Balanced {
    type Item = Result<ShardRef>;

    fn next(&mut self) -> Option<Self::Item> {
        let position = self.root.next(&self.shards)?;
        self.shards.get(position).cloned().map(Ok)
    }
}

enum Node {
    /// Positions of shards, in order, and the next one.
    Shards { positions: Vec<usize>, at: usize, repeat: bool },
    /// The groups of one key.
    Groups { key: BalanceKey, groups: Vec<Node>, heap: BinaryHeap<Reverse<Turn>> },
}

impl Node {
    fn new(
        shards: &[ShardRef],
        positions: Vec<usize>,
        keys: &[BalanceKey],
        repeat: bool,
    ) -> Result<Self> {
        let Some((key, keys)) = keys.split_first() else {
            return Ok(Self::Shards { positions, at: 0, repeat });
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for position in positions {
            let Some(shard) = shards.get(position) else { continue };
            check_weight(key, shard)?;
            let next = members.len();
            let place = *places.entry(canonical::value(&(key.group)(shard))).or_insert(next);
            match members.get_mut(place) {
                Some(group) => group.push(position),
                None => members.push(vec![position]),
            }
        }
        let groups = members.into_iter().map(|group| Node::new(shards, group, keys, repeat));
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let heap = (0..groups.len()).map(|group| Reverse(Turn { seen: 0.0, group })).collect();
        Ok(Self::Groups { key: key.clone(), groups, heap })
    }

    fn next(&mut self, shards: &[ShardRef]) -> Option<usize> {
        match self {
            Self::Shards { positions, at, repeat } => {
                if *repeat && *at >= positions.len() {
                    *at = 0;
                }
                let position = positions.get(*at).copied()?;
                *at += 1;
                Some(position)
            }
            Self::Groups { key, groups, heap } => {
                while let Some(Reverse(Turn { seen, group })) = heap.pop() {
                    let Some(position) = groups.get_mut(group).and_then(|node| node.next(shards))
                    else {
                        continue;
                    };
                    let shard = shards.get(position)?;
                    let each = key.weight.as_ref().map_or(1.0, |weight| 1.0 / weight(shard));
                    let seen = seen + each * shard.rows as f64;
                    heap.push(Reverse(Turn { seen, group }));
                    return Some(position);
                }
                None
            }
        }
    }
}

fn check_weight(key: &BalanceKey, shard: &ShardRef) -> Result<()> {
    let Some(weight) = &key.weight else { return Ok(()) };
    let weight = weight(shard);
    if weight.is_finite() && weight > 0.0 {
        return Ok(());
    }
    let message = format!("expected a weight above zero, found {weight}");
    Err(Error::new(Kind::Invalid, "ops/balance_weight", Place::file(&shard.path), message))
}

/// A group in its heap, the fewest samples first.
struct Turn {
    seen: f64,
    group: usize,
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        self.seen.total_cmp(&other.seen).then(self.group.cmp(&other.group))
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Turn {}
