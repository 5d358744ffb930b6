//! One axis of a pick: what a coordinate adds to the position.

/// What a coordinate adds to the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Even { len: u64, step: u64 },
    Listed(Vec<u64>),
}

impl Axis {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Even { len, .. } => *len,
            Self::Listed(at) => at.len() as u64,
        }
    }

    pub(super) fn at(&self, coordinate: u64) -> u64 {
        match self {
            Self::Even { step, .. } => step.saturating_mul(coordinate),
            Self::Listed(at) => {
                usize::try_from(coordinate).ok().and_then(|i| at.get(i)).copied().unwrap_or(0)
            }
        }
    }
}

pub(super) fn product(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim))
}

/// All elements of a batch, axis by axis.
pub(super) fn whole(batch: &[u64]) -> Result<Vec<Axis>, String> {
    let mut step = product(batch).ok_or("expected a batch whose elements fit 64 bits")?;
    let axes = batch.iter().map(|len| {
        step = step.checked_div(*len).unwrap_or(0);
        Axis::Even { len: *len, step }
    });
    Ok(axes.collect())
}
