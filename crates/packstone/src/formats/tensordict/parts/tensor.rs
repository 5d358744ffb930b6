//! A tensor as it is seen through stacks, indices and views.
//!
//! ```text
//! Plain ── bytes of a leaf          Picked ── a Pick over the leading dimensions of another
//! Stacked ── members along a dimension that none of them has
//! ```
//!
//! What is asked for are blocks: the elements below a position in the leading dimensions. A block of a leaf is one
//! piece of its bytes, so every row is copied once, whatever lies between.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{AlignedBuf, Buf, Kind};

use super::super::codes;
use super::node::Bytes;
use super::pick::Pick;
use crate::error::{Error, Place, Result};
use crate::model::DType;

/// A tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<u64>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Plain(Bytes),
    Picked { of: Arc<Tensor>, rank: usize, pick: Arc<Pick> },
    Stacked { dim: usize, members: Arc<[Tensor]> },
}

/// The product of sizes; the shapes here were checked to have one.
fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1u64, |n, dim| n.saturating_mul(*dim))
}

impl Tensor {
    /// A leaf itself.
    pub fn plain(dtype: DType, shape: Vec<u64>, bytes: Bytes) -> Self {
        Self { dtype, shape, source: Source::Plain(bytes) }
    }

    /// What `pick` shows of the first `rank` dimensions of a tensor.
    pub fn picked(of: Self, rank: usize, pick: &Arc<Pick>) -> Self {
        let mut shape = pick.shape().to_vec();
        shape.extend(of.shape.iter().skip(rank));
        let dtype = of.dtype.clone();
        let source = Source::Picked { of: Arc::new(of), rank, pick: Arc::clone(pick) };
        Self { dtype, shape, source }
    }

    /// Tensors of one type and shape along a new dimension; `None` where they are not, or there are none.
    pub fn stacked(dim: usize, members: Vec<Self>) -> Option<Self> {
        let first = members.first()?;
        let alike = members.iter().all(|m| m.dtype == first.dtype && m.shape == first.shape);
        if !alike || dim > first.shape.len() {
            return None;
        }
        let (dtype, mut shape) = (first.dtype.clone(), first.shape.clone());
        shape.insert(dim, members.len() as u64);
        let source = Source::Stacked { dim, members: members.into() };
        Some(Self { dtype, shape, source })
    }

    /// Bytes of an element.
    fn item(&self) -> u64 {
        self.dtype.size().unwrap_or(1)
    }

    /// Bytes of a block below `depth` dimensions.
    pub fn block(&self, depth: usize) -> u64 {
        self.item().saturating_mul(product(self.shape.get(depth..).unwrap_or_default()))
    }

    /// The bytes of the leaf itself, where nothing lies between.
    pub fn leaf(&self) -> Option<&Bytes> {
        match &self.source {
            Source::Plain(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of the leaf itself, where nothing lies between and they can stay where they are.
    pub fn mapped(&self) -> Option<&Bytes> {
        self.leaf().filter(|bytes| !bytes.is_fleeting())
    }

    /// All elements in C order: those of a leaf as they are, all else copied.
    ///
    /// # Errors
    /// Those of the leaves; `too_large` beyond `limits.decoded_bytes`.
    pub fn read(&self, limits: &Limits) -> Result<Buf> {
        match self.mapped() {
            Some(bytes) => bytes.open(),
            None => self.blocks(0, &[0], limits),
        }
    }

    /// Blocks below `depth` dimensions, one after another.
    ///
    /// # Errors
    /// As for [`Tensor::read`].
    pub fn blocks(&self, depth: usize, positions: &[u64], limits: &Limits) -> Result<Buf> {
        let need = self.block(depth).saturating_mul(positions.len() as u64);
        if need == 0 {
            return Ok(Buf::default());
        }
        let room = usize::try_from(need).ok().filter(|_| need <= limits.decoded_bytes);
        let room = room.ok_or_else(|| {
            let message =
                format!("expected at most {} bytes of a view, found {need}", limits.decoded_bytes);
            Error::new(Kind::Limit, codes::TOO_LARGE, Place::default(), message)
        })?;
        let mut out = AlignedBuf::with_capacity(room)?;
        self.gather(depth, positions, &mut out)?;
        Ok(Buf::from(out))
    }

    fn gather(&self, depth: usize, positions: &[u64], out: &mut AlignedBuf) -> Result<()> {
        match &self.source {
            Source::Plain(bytes) => copy(bytes, self.block(depth), positions, out),
            Source::Picked { of, rank, pick } => {
                let shown = pick.shape().len();
                // Either the pick reaches deeper than what is asked for, or less deep.
                let inner = product(self.shape.get(depth..shown).unwrap_or_default());
                let below = product(self.shape.get(shown..depth).unwrap_or_default());
                let deep = *rank + depth.saturating_sub(shown);
                let found = |p: u64| {
                    let first = p.saturating_mul(inner);
                    let at = move |p: u64| {
                        let block = pick.at(p.checked_div(below).unwrap_or(0));
                        block
                            .saturating_mul(below)
                            .saturating_add(p.checked_rem(below).unwrap_or(0))
                    };
                    (first..first.saturating_add(inner)).map(at)
                };
                in_portions(positions.iter().flat_map(|p| found(*p)), |found| {
                    of.gather(deep, found, out)
                })
            }
            Source::Stacked { dim, members } => {
                let inner = product(self.shape.get(depth..=*dim).unwrap_or_default());
                let deep = depth.max(dim + 1);
                let post = product(self.shape.get(dim + 1..deep).unwrap_or_default()).max(1);
                let count = (members.len() as u64).max(1);
                let all = positions.iter().flat_map(|p| {
                    let first = p.saturating_mul(inner);
                    first..first.saturating_add(inner)
                });
                // Neighbours are often of one member: they go together.
                let mut run: (usize, Vec<u64>) = (0, Vec::new());
                for p in all {
                    let member = usize::try_from(p / post % count).unwrap_or(usize::MAX);
                    let position = (p / post / count).saturating_mul(post).saturating_add(p % post);
                    if member != run.0 || run.1.len() >= PORTION {
                        flush(members, deep, &mut run, out)?;
                        run.0 = member;
                    }
                    run.1.push(position);
                }
                flush(members, deep, &mut run, out)
            }
        }
    }
}

fn flush(
    members: &[Tensor],
    deep: usize,
    run: &mut (usize, Vec<u64>),
    out: &mut AlignedBuf,
) -> Result<()> {
    if !run.1.is_empty()
        && let Some(member) = members.get(run.0)
    {
        member.gather(deep - 1, &run.1, out)?;
    }
    run.1.clear();
    Ok(())
}

/// Positions that are worked on at once.
const PORTION: usize = 4096;

fn in_portions(
    all: impl Iterator<Item = u64>,
    mut work: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut portion = Vec::with_capacity(64);
    for position in all {
        portion.push(position);
        if portion.len() == PORTION {
            work(&portion)?;
            portion.clear();
        }
    }
    if portion.is_empty() { Ok(()) } else { work(&portion) }
}

/// Copies blocks of a leaf, neighbours together.
fn copy(bytes: &Bytes, block: u64, positions: &[u64], out: &mut AlignedBuf) -> Result<()> {
    let data = bytes.open()?;
    let outside = || {
        let message = format!(
            "expected {} blocks of {block} bytes in the leaf, found fewer",
            positions.len()
        );
        Error::new(Kind::Corrupt, codes::BAD_INDEX, Place::default(), message)
    };
    let mut rest = positions.iter().peekable();
    while let Some(first) = rest.next() {
        let mut end = first.saturating_add(1);
        while rest.next_if(|next| **next == end).is_some() {
            end = end.saturating_add(1);
        }
        let bound = |n: u64| n.checked_mul(block).and_then(|n| usize::try_from(n).ok());
        let piece = bound(*first).zip(bound(end)).and_then(|(start, end)| data.get(start..end));
        out.extend_from_slice(piece.ok_or_else(outside)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::index::Index;
    use super::super::view::ViewOp;
    use super::*;

    fn count(shape: &[u64], from: u8) -> Tensor {
        let n = u8::try_from(product(shape)).unwrap();
        let bytes: Vec<u8> = (0..n).map(|i| from + i).collect();
        Tensor::plain(DType::UInt8, shape.to_vec(), Bytes::Given(Buf::from(bytes)))
    }

    fn all(tensor: &Tensor) -> Vec<u8> {
        tensor.read(&Limits::default()).unwrap().to_vec()
    }

    #[test]
    fn stacks_interleave_their_members() {
        let stack =
            |dim| Tensor::stacked(dim, vec![count(&[2, 2], 0), count(&[2, 2], 10)]).unwrap();
        assert_eq!(all(&stack(0)), [0, 1, 2, 3, 10, 11, 12, 13]);
        assert_eq!(all(&stack(1)), [0, 1, 10, 11, 2, 3, 12, 13]);
        assert_eq!(all(&stack(2)), [0, 10, 1, 11, 2, 12, 3, 13]);
        let limits = Limits::default();
        assert_eq!(stack(1).blocks(1, &[1], &limits).unwrap().to_vec(), [2, 3, 12, 13]);
        assert_eq!(stack(0).blocks(2, &[3, 0], &limits).unwrap().to_vec(), [12, 13, 0, 1]);
        assert_eq!(stack(0).blocks(3, &[5, 2], &limits).unwrap().to_vec(), [11, 2]);
        assert!(Tensor::stacked(0, vec![count(&[2], 0), count(&[3], 0)]).is_none());
        assert!(Tensor::stacked(2, vec![count(&[2], 0)]).is_none());
    }

    #[test]
    fn picks_read_blocks_at_any_depth() {
        // torch.arange(24).view(2, 3, 4).transpose(0, 1)
        let pick = Arc::new(Pick::view(&[2, 3], &ViewOp::Transpose(0, 1)).unwrap());
        let seen = Tensor::picked(count(&[2, 3, 4], 0), 2, &pick);
        assert_eq!(seen.shape, [3, 2, 4]);
        let want: Vec<u8> = (0..3)
            .flat_map(|j| (0..2).flat_map(move |i| (0..4).map(move |k| i * 12 + j * 4 + k)))
            .collect();
        assert_eq!(all(&seen), want);
        let limits = Limits::default();
        assert_eq!(seen.blocks(1, &[2], &limits).unwrap().to_vec(), want[16..]);
        assert_eq!(seen.blocks(2, &[3], &limits).unwrap().to_vec(), want[12..16]);
        assert_eq!(seen.blocks(3, &[13, 1], &limits).unwrap().to_vec(), [want[13], want[1]]);
    }

    #[test]
    fn picks_and_stacks_go_through_one_another() {
        let stack =
            Tensor::stacked(1, vec![count(&[2, 2], 0), count(&[2, 2], 10), count(&[2, 2], 20)])
                .unwrap();
        let pick = Arc::new(Pick::index(&[2, 3], &Index::Tuple(vec![Index::At(1)])).unwrap());
        let row = Tensor::picked(stack, 2, &pick);
        assert_eq!((row.shape.as_slice(), all(&row)), (&[3, 2][..], vec![2, 3, 12, 13, 22, 23]));
        let both = Tensor::stacked(0, vec![row.clone(), row]).unwrap();
        assert_eq!(
            both.blocks(1, &[1], &Limits::default()).unwrap().to_vec(),
            [2, 3, 12, 13, 22, 23]
        );
    }

    #[test]
    fn nothing_larger_than_the_limit_is_copied() {
        let at = vec![0; 1000];
        let index = Index::Positions { shape: vec![1000], at };
        let pick = Arc::new(Pick::index(&[2], &index).unwrap());
        let seen = Tensor::picked(count(&[2, 4], 0), 1, &pick);
        let error = seen.read(&Limits::default().with_decoded_bytes(3999)).unwrap_err();
        assert_eq!(error.code(), codes::TOO_LARGE);
        assert_eq!(seen.read(&Limits::default().with_decoded_bytes(4000)).unwrap().len(), 4000);
    }
}
