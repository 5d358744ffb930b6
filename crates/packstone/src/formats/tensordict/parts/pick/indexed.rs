//! What an index shows of a batch, item by item.

use super::super::index::{Index, range};
use super::Pick;
use super::arrays::broadcast;
use super::axis::{Axis, whole};

impl Pick {
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
