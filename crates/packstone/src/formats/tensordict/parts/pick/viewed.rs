//! What a view shows of a batch, its dimensions rearranged.

use super::super::view::ViewOp;
use super::Pick;
use super::axis::{Axis, product, whole};

impl Pick {
    /// What a view shows of a batch.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn view(batch: &[u64], op: &ViewOp) -> Result<Self, String> {
        let mut axes = whole(batch)?;
        let rank = batch.len();
        match op {
            ViewOp::Permute(dims) => {
                let order =
                    dims.iter().map(|dim| dimension(*dim, rank)).collect::<Result<Vec<_>, _>>()?;
                let mut sorted = order.clone();
                sorted.sort_unstable();
                if !sorted.into_iter().eq(0..rank) {
                    return Err(format!("expected each of {rank} dimensions once, found {dims:?}"));
                }
                axes = order.into_iter().filter_map(|dim| axes.get(dim).cloned()).collect();
            }
            ViewOp::Transpose(one, other) => {
                axes.swap(dimension(*one, rank)?, dimension(*other, rank)?)
            }
            ViewOp::Unsqueeze(dim) => {
                axes.insert(dimension(*dim, rank + 1)?, Axis::Even { len: 1, step: 0 })
            }
            ViewOp::Squeeze(Some(dim)) => {
                let dim = dimension(*dim, rank)?;
                if batch.get(dim) == Some(&1) {
                    axes.remove(dim);
                }
            }
            ViewOp::Squeeze(None) => axes.retain(|axis| axis.len() != 1),
            ViewOp::View(size) => {
                let mut pick = Self::of(0, axes)?;
                pick.shape = viewed(batch, size)?;
                return Ok(pick);
            }
        }
        Self::of(0, axes)
    }
}

/// A dimension counted from the front or, if negative, from the end.
fn dimension(dim: i64, rank: usize) -> Result<usize, String> {
    let wide = i64::try_from(rank).unwrap_or(i64::MAX);
    let found = if dim < 0 { dim.saturating_add(wide) } else { dim };
    let found = usize::try_from(found).ok().filter(|found| *found < rank);
    found.ok_or_else(|| format!("expected a dimension of {rank}, found {dim}"))
}

/// The sizes of a view of `batch`; one of them may be -1.
fn viewed(batch: &[u64], size: &[i64]) -> Result<Vec<u64>, String> {
    let wrong = || format!("expected sizes for the elements of {batch:?}, found {size:?}");
    let total = product(batch).ok_or_else(wrong)?;
    let known: Vec<u64> = size.iter().filter_map(|n| u64::try_from(*n).ok()).collect();
    let open = size.iter().filter(|n| **n == -1).count();
    if open > 1 || known.len() + open != size.len() {
        return Err(wrong());
    }
    let product = product(&known).ok_or_else(wrong)?;
    let missing = if open == 1 { total.checked_div(product).ok_or_else(wrong)? } else { 1 };
    if product.checked_mul(missing) != Some(total) {
        return Err(wrong());
    }
    Ok(size.iter().map(|n| u64::try_from(*n).unwrap_or(missing)).collect())
}
