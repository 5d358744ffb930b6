//! Values that are no tensors, over a batch: one for all of it, or one each.

use std::sync::Arc;

use packstone_container::json::Value;

use super::node::{FieldFiles, FieldValue};
use super::pick::Pick;

/// Values over a batch.
#[derive(Clone, Debug)]
pub enum Values {
    /// The same everywhere.
    Same {
        /// The value.
        value: FieldValue,
        /// The files of its node, for who looks into pickles.
        files: FieldFiles,
    },
    /// One an element of the batch.
    Each {
        /// The batch size.
        shape: Vec<u64>,
        /// The values in C order.
        values: Arc<Vec<Value>>,
    },
    /// What an index or a view shows of values.
    Picked {
        /// The values.
        of: Arc<Values>,
        /// What it shows.
        pick: Arc<Pick>,
    },
    /// Values stacked along a dimension.
    Stacked {
        /// The dimension.
        dim: usize,
        /// The batch size, with that dimension.
        shape: Vec<u64>,
        /// The values along it.
        members: Vec<Values>,
    },
}

impl Values {
    /// The value at a position of the batch, in C order.
    pub fn at(&self, position: u64) -> Option<FieldValue> {
        match self {
            Self::Same { value, .. } => Some(value.clone()),
            Self::Each { values, .. } => usize::try_from(position)
                .ok()
                .and_then(|at| values.get(at))
                .cloned()
                .map(FieldValue::Json),
            Self::Picked { of, pick } => of.at(pick.at(position)),
            Self::Stacked { dim, shape, members } => {
                let post = shape.iter().skip(dim + 1).product::<u64>().max(1);
                let count = members.len() as u64;
                let member = usize::try_from((position / post).checked_rem(count)?).ok()?;
                let before = (position / post).checked_div(count)?;
                members.get(member)?.at(before.saturating_mul(post).saturating_add(position % post))
            }
        }
    }

    /// The batch size; empty for one value for all of it.
    pub fn batch_size(&self) -> Vec<u64> {
        match self {
            Self::Same { .. } => Vec::new(),
            Self::Each { shape, .. } | Self::Stacked { shape, .. } => shape.clone(),
            Self::Picked { pick, .. } => pick.shape().to_vec(),
        }
    }

    /// The value and the files of its node, where every element of the batch has the same.
    pub fn same(&self) -> Option<(&FieldValue, &FieldFiles)> {
        match self {
            Self::Same { value, files } => Some((value, files)),
            Self::Picked { of, .. } => of.same(),
            Self::Each { .. } | Self::Stacked { .. } => None,
        }
    }
}
