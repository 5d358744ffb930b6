//! Which batch elements of its source an index or a view shows, in which order.
//!
//! ```text
//! source batch [4, 2]  ── [2:, [1, 0]] ──►  shape [2, 2], element (i, j) is 4 + 2 i + listed[j]
//! ```
//!
//! Every operation here is separable: the position in the source is a base and, for each axis, a multiple of the
//! coordinate or a listed number. Nothing of the size of the batch is ever held in memory.

use super::index::{Index, range};
use super::view::ViewOp;

/// Elements of a batch in some order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    shape: Vec<u64>,
    base: u64,
    axes: Vec<Axis>,
}

/// What a coordinate adds to the position.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Axis {
    Even { len: u64, step: u64 },
    Listed(Vec<u64>),
}

impl Axis {
    fn len(&self) -> u64 {
        match self {
            Self::Even { len, .. } => *len,
            Self::Listed(at) => at.len() as u64,
        }
    }

    fn at(&self, coordinate: u64) -> u64 {
        match self {
            Self::Even { step, .. } => step.saturating_mul(coordinate),
            Self::Listed(at) => {
                usize::try_from(coordinate).ok().and_then(|i| at.get(i)).copied().unwrap_or(0)
            }
        }
    }
}

fn product(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim))
}

/// All elements of a batch, axis by axis.
fn whole(batch: &[u64]) -> Result<Vec<Axis>, String> {
    let mut step = product(batch).ok_or("expected a batch whose elements fit 64 bits")?;
    let axes = batch.iter().map(|len| {
        step = step.checked_div(*len).unwrap_or(0);
        Axis::Even { len: *len, step }
    });
    Ok(axes.collect())
}

impl Pick {
    fn of(base: u64, axes: Vec<Axis>) -> Result<Self, String> {
        let shape: Vec<u64> = axes.iter().map(Axis::len).collect();
        product(&shape).ok_or("expected an index whose elements fit 64 bits")?;
        Ok(Self { shape, base, axes })
    }

    /// The batch size that is left.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The position in the source of the element at `position`, both in C order.
    pub fn at(&self, position: u64) -> u64 {
        let (mut rest, mut found) = (position, self.base);
        for axis in self.axes.iter().rev() {
            let len = axis.len().max(1);
            found = found.saturating_add(axis.at(rest % len));
            rest /= len;
        }
        found
    }

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

    /// What an index shows of a batch, by the rules of torch: integers first, then slices, then arrays together.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn index(batch: &[u64], index: &Index) -> Result<Self, String> {
        let single = std::slice::from_ref(index);
        let items = if let Index::Tuple(items) = index { items.as_slice() } else { single };
        let taken: usize = items.iter().map(takes).sum();
        let rest = batch.len().checked_sub(taken).ok_or_else(|| {
            format!(
                "expected an index for at most {} dimensions, found one for {taken}",
                batch.len()
            )
        })?;
        if items.iter().filter(|item| **item == Index::Ellipsis).count() > 1 {
            return Err("expected one ellipsis at most, found more".to_owned());
        }
        let mut source = whole(batch)?.into_iter();
        let mut work = Work::default();
        for item in items {
            match item {
                Index::Ellipsis => work.axes.extend(source.by_ref().take(rest).map(Some)),
                Index::NewAxis => work.axes.push(Some(Axis::Even { len: 1, step: 0 })),
                Index::Tuple(_) => {
                    return Err("expected a flat index, found a tuple inside a tuple".to_owned());
                }
                item => {
                    let axes: Vec<Axis> = source.by_ref().take(takes(item)).collect();
                    work.take(item, &axes)?;
                }
            }
        }
        work.axes.extend(source.map(Some));
        work.finish()
    }
}

/// Dimensions of the source that an item takes.
fn takes(item: &Index) -> usize {
    match item {
        Index::NewAxis | Index::Ellipsis | Index::Tuple(_) => 0,
        Index::At(_) | Index::Slice { .. } | Index::Range { .. } | Index::Positions { .. } => 1,
        Index::Mask { shape, .. } => shape.len(),
    }
}

/// The axes made so far; `None` stands where an array was.
#[derive(Default)]
struct Work {
    base: u64,
    axes: Vec<Option<Axis>>,
    arrays: Vec<(Vec<u64>, Vec<u64>)>,
}

impl Work {
    fn take(&mut self, item: &Index, axes: &[Axis]) -> Result<(), String> {
        let axis = axes.first();
        let len = axis.map_or(0, Axis::len);
        let scaled = |position: u64| axis.map_or(0, |axis| axis.at(position));
        match item {
            Index::At(at) => self.base = self.base.saturating_add(scaled(inside(*at, len)?)),
            // A tensor without dimensions is an integer.
            Index::Positions { shape, at } if shape.is_empty() => {
                let at = at.first().copied().unwrap_or(0);
                self.base = self.base.saturating_add(scaled(inside(at, len)?));
            }
            Index::Slice { start, stop, step } => {
                let step = step.unwrap_or(1);
                let step = u64::try_from(step).ok().filter(|step| *step > 0);
                let step = step.ok_or_else(|| "expected a step above 0".to_owned())?;
                let start = start.map_or(0, |n| clamp(n, len));
                let stop = stop.map_or(len, |n| clamp(n, len));
                let count = stop.saturating_sub(start).div_ceil(step);
                self.base = self.base.saturating_add(scaled(start));
                self.axes.push(Some(Axis::Even { len: count, step: scaled(step) }));
            }
            Index::Positions { shape, at } => {
                let positions = at.iter().map(|at| Ok(scaled(inside(*at, len)?)));
                let positions = positions.collect::<Result<Vec<_>, String>>()?;
                self.array(shape.clone(), positions);
            }
            Index::Range { start, stop, step } => {
                let at = range(*start, *stop, *step)?;
                let positions = at.into_iter().map(|at| Ok(scaled(inside(at, len)?)));
                let positions = positions.collect::<Result<Vec<_>, String>>()?;
                self.array(vec![positions.len() as u64], positions);
            }
            Index::Mask { shape, flags } => self.mask(shape, flags, axes)?,
            Index::NewAxis | Index::Ellipsis | Index::Tuple(_) => {}
        }
        Ok(())
    }

    fn array(&mut self, shape: Vec<u64>, positions: Vec<u64>) {
        self.axes.push(None);
        self.arrays.push((shape, positions));
    }

    fn mask(&mut self, shape: &[u64], flags: &[bool], axes: &[Axis]) -> Result<(), String> {
        let found: Vec<u64> = axes.iter().map(Axis::len).collect();
        if shape.is_empty() || found != shape {
            return Err(format!("expected a mask of shape {found:?}, found {shape:?}"));
        }
        let at = |flat: usize| {
            let mut rest = flat as u64;
            axes.iter().rev().fold(0u64, |sum, axis| {
                let len = axis.len().max(1);
                let part = axis.at(rest % len);
                rest /= len;
                sum.saturating_add(part)
            })
        };
        let set = flags.iter().enumerate().filter(|(_, flag)| **flag);
        let positions: Vec<u64> = set.map(|(flat, _)| at(flat)).collect();
        self.array(vec![positions.len() as u64], positions);
        Ok(())
    }

    fn finish(self) -> Result<Pick, String> {
        let Self { base, axes, arrays } = self;
        if arrays.is_empty() {
            return Pick::of(base, axes.into_iter().flatten().collect());
        }
        let (shape, listed) = broadcast(&arrays)?;
        // Arrays that stand together stay where they are; apart, their dimensions come first.
        let places: Vec<usize> =
            axes.iter().enumerate().filter(|(_, axis)| axis.is_none()).map(|(at, _)| at).collect();
        let together = places.windows(2).all(|pair| matches!(pair, [a, b] if *b == a + 1));
        let at = if together { places.first().copied().unwrap_or(0) } else { 0 };
        let mut kept: Vec<Axis> = axes.into_iter().flatten().collect();
        let at = at.min(kept.len());
        let mut out: Vec<u64> = kept.iter().map(Axis::len).collect();
        out.splice(at..at, shape);
        kept.insert(at, Axis::Listed(listed));
        let mut pick = Pick::of(base, kept)?;
        pick.shape = out;
        Ok(pick)
    }
}

/// The sums of arrays, stretched to a common shape.
fn broadcast(arrays: &[(Vec<u64>, Vec<u64>)]) -> Result<(Vec<u64>, Vec<u64>), String> {
    let rank = arrays.iter().map(|(shape, _)| shape.len()).max().unwrap_or(0);
    let padded = |shape: &[u64]| {
        let mut out = vec![1; rank - shape.len()];
        out.extend(shape);
        out
    };
    let shapes: Vec<Vec<u64>> = arrays.iter().map(|(shape, _)| padded(shape)).collect();
    let mut common = vec![1u64; rank];
    for shape in &shapes {
        for (to, from) in common.iter_mut().zip(shape) {
            match (*to, *from) {
                (a, b) if a == b || b == 1 => {}
                (1, b) => *to = b,
                (a, b) => {
                    return Err(format!(
                        "expected arrays of one shape, found {a} and {b} in one dimension"
                    ));
                }
            }
        }
    }
    const MOST: u64 = 1 << 26;
    let count = product(&common).filter(|n| *n <= MOST);
    let count =
        count.ok_or_else(|| format!("expected at most {MOST} positions, found {common:?}"))?;
    let mut sums = Vec::new();
    for flat in 0..count {
        let mut sum = 0u64;
        for (shape, (_, at)) in shapes.iter().zip(arrays) {
            let (mut rest, mut place, mut step) = (flat, 0u64, 1u64);
            for (len, common) in shape.iter().zip(&common).rev() {
                if *len > 1 {
                    place = place.saturating_add((rest % (*common).max(1)).saturating_mul(step));
                }
                rest /= (*common).max(1);
                step = step.saturating_mul(*len);
            }
            let found = usize::try_from(place).ok().and_then(|place| at.get(place));
            sum = sum.saturating_add(found.copied().unwrap_or(0));
        }
        sums.push(sum);
    }
    Ok((common, sums))
}

/// A dimension counted from the front or, if negative, from the end.
fn dimension(dim: i64, rank: usize) -> Result<usize, String> {
    let wide = i64::try_from(rank).unwrap_or(i64::MAX);
    let found = if dim < 0 { dim.saturating_add(wide) } else { dim };
    let found = usize::try_from(found).ok().filter(|found| *found < rank);
    found.ok_or_else(|| format!("expected a dimension of {rank}, found {dim}"))
}

/// A position counted from the front or, if negative, from the end.
fn inside(at: i64, len: u64) -> Result<u64, String> {
    let found = i128::from(at) + if at < 0 { i128::from(len) } else { 0 };
    let found = u64::try_from(found).ok().filter(|found| *found < len);
    found.ok_or_else(|| format!("expected a position in a dimension of {len}, found {at}"))
}

/// An end of a slice, as Python takes it.
fn clamp(at: i64, len: u64) -> u64 {
    let found = i128::from(at) + if at < 0 { i128::from(len) } else { 0 };
    u64::try_from(found.max(0)).unwrap_or(u64::MAX).min(len)
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

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn positions(pick: &Pick) -> Vec<u64> {
        (0..product(pick.shape()).unwrap()).map(|i| pick.at(i)).collect()
    }

    fn index(batch: &[u64], text: &str) -> Result<(Vec<u64>, Vec<u64>), String> {
        let value = json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value;
        let pick = Pick::index(batch, &Index::parse(&value).unwrap())?;
        Ok((pick.shape().to_vec(), positions(&pick)))
    }

    #[test]
    fn indices_pick_what_torch_picks() {
        // torch.arange(12).view(3, 4)[…] and torch.arange(12).view(3, 2, 2)[…]
        for (batch, text, shape, want) in [
            (&[3, 4][..], "[1]", &[4][..], &[4, 5, 6, 7][..]),
            (&[3, 4], "-1", &[4], &[8, 9, 10, 11]),
            (
                &[3, 4],
                r#"[["slice",{"start":1,"stop":9,"step":null}],["slice",{"start":null,"stop":-1,"step":2}]]"#,
                &[2, 2],
                &[4, 6, 8, 10],
            ),
            (&[3, 4], "null", &[1, 3, 4], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            (&[3, 4], r#"[["ellipsis"],2]"#, &[3], &[2, 6, 10]),
            (&[3, 4], r#"[["tensor",[2,0,2],"cpu"],1]"#, &[3], &[9, 1, 9]),
            (&[3, 4], r#"[["tensor",[2,0],"cpu"],["tensor",[1,3],"cpu"]]"#, &[2], &[9, 3]),
            (
                &[3, 4],
                r#"[["tensor",[[2],[0]],"cpu"],["tensor",[1,3],"cpu"]]"#,
                &[2, 2],
                &[9, 11, 1, 3],
            ),
            (
                &[3, 4],
                r#"["tensor",[true,false,true],"cpu"]"#,
                &[2, 4],
                &[0, 1, 2, 3, 8, 9, 10, 11],
            ),
            (&[2, 2], r#"["tensor",[[true,false],[true,true]],"cpu"]"#, &[3], &[0, 2, 3]),
            (
                &[3, 2, 2],
                r#"[["tensor",[2],"cpu"],["slice",{}],["tensor",[1],"cpu"]]"#,
                &[1, 2],
                &[9, 11],
            ),
            (
                &[3, 2, 2],
                r#"[["slice",{}],["tensor",[1,0],"cpu"]]"#,
                &[3, 2, 2],
                &[2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9],
            ),
            (&[3, 2, 2], r#"[0,["slice",{}],["tensor",[1,0],"cpu"]]"#, &[2, 2], &[1, 0, 3, 2]),
            (&[3, 2, 2], r#"[["tensor",[2,1],"cpu"],0,["tensor",[1,0],"cpu"]]"#, &[2], &[9, 4]),
            (&[3], r#"["range",{"start":0,"stop":3,"step":2}]"#, &[2], &[0, 2]),
            (&[3], r#"["slice",{"start":2,"stop":1}]"#, &[0], &[]),
            (&[0, 2], r#"["slice",{}]"#, &[0, 2], &[]),
            (&[], "[]", &[], &[0]),
        ] {
            assert_eq!(index(batch, text), Ok((shape.to_vec(), want.to_vec())), "{text}");
        }
    }

    #[test]
    fn indices_out_of_range_are_refused() {
        for (batch, text) in [
            (&[3, 4][..], "3"),
            (&[3, 4], "-4"),
            (&[3, 4], "[0,0,0]"),
            (&[3, 4], r#"["tensor",[0,3],"cpu"]"#),
            (&[3, 4], r#"["tensor",[true,false],"cpu"]"#),
            (&[3, 4], r#"["tensor",true,"cpu"]"#),
            (&[3, 4], r#"[["tensor",[0,1],"cpu"],["tensor",[0,1,2],"cpu"]]"#),
            (&[3, 4], r#"["slice",{"step":-1}]"#),
            (&[3, 4], r#"["slice",{"step":0}]"#),
            (&[3, 4], r#"[["ellipsis"],["ellipsis"]]"#),
            (&[3, 4], "[[0],1]"),
            (&[], "0"),
        ] {
            assert!(index(batch, text).is_err(), "{text}");
        }
    }

    #[test]
    fn views_rearrange_batch_dimensions() {
        let view = |batch: &[u64], op: &ViewOp| {
            Pick::view(batch, op).map(|pick| (pick.shape().to_vec(), positions(&pick)))
        };
        for (batch, op, shape, want) in [
            (&[2, 3][..], ViewOp::Permute(vec![1, 0]), &[3, 2][..], &[0, 3, 1, 4, 2, 5][..]),
            (&[2, 3], ViewOp::Permute(vec![-1, 0]), &[3, 2], &[0, 3, 1, 4, 2, 5]),
            (&[2, 1, 3], ViewOp::Transpose(0, -1), &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
            (&[2, 3], ViewOp::View(vec![3, -1]), &[3, 2], &[0, 1, 2, 3, 4, 5]),
            (&[2, 3], ViewOp::Unsqueeze(-1), &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
            (&[1, 3, 1], ViewOp::Squeeze(None), &[3], &[0, 1, 2]),
            (&[1, 3, 1], ViewOp::Squeeze(Some(0)), &[3, 1], &[0, 1, 2]),
            (&[2, 3], ViewOp::Squeeze(Some(0)), &[2, 3], &[0, 1, 2, 3, 4, 5]),
        ] {
            assert_eq!(view(batch, &op), Ok((shape.to_vec(), want.to_vec())), "{op:?}");
        }
        for op in [
            ViewOp::Permute(vec![0]),
            ViewOp::Permute(vec![0, 0]),
            ViewOp::Permute(vec![0, 2]),
            ViewOp::Transpose(0, 2),
            ViewOp::View(vec![4]),
            ViewOp::View(vec![-1, -1]),
            ViewOp::View(vec![-2, 3]),
            ViewOp::View(vec![0, -1]),
            ViewOp::Unsqueeze(3),
            ViewOp::Unsqueeze(-4),
            ViewOp::Squeeze(Some(2)),
        ] {
            assert!(view(&[2, 3], &op).is_err(), "{op:?}");
        }
        assert!(Pick::view(&[u64::MAX, 2], &ViewOp::Squeeze(None)).is_err());
    }
}
