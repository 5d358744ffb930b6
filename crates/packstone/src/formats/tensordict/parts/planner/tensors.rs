//! The files of tensors and nested tensors.

use packstone_io::{Kind, RelPath};

use super::super::super::codes;
use super::super::super::schema::{self, Support};
use super::super::files::Body;
use super::super::node::{Bytes, Leaf, NestedTensor, TensorDict};
use super::Planner;
use crate::error::{Error, Result};
use crate::model::DType;

impl Planner<'_> {
    fn check_dtype(&self, folder: &RelPath, kept: bool, dtype: &DType) -> Result<()> {
        let told = match schema::support(dtype) {
            Support::Full => return Ok(()),
            Support::WriteOnly if kept || self.options.allow_unloadable_dtypes => return Ok(()),
            Support::WriteOnly => "which the original library writes and cannot load",
            Support::Foreign => "which torch has not",
        };
        let message = format!("expected a type that readers load, found {dtype}, {told}");
        let place = self.place(folder);
        Err(Error::new(Kind::Unsupported, codes::UNSUPPORTED_DTYPE, place, message))
    }

    pub(super) fn leaf(
        &mut self,
        folder: &RelPath,
        parent: &TensorDict,
        kept: bool,
        name: &str,
        leaf: &Leaf,
    ) -> Result<()> {
        self.check_dtype(folder, kept, &leaf.dtype)?;
        if !kept && !leaf.shape.starts_with(&parent.batch_size) {
            let message = format!(
                "expected a shape that starts with {:?}, found {:?}",
                parent.batch_size, leaf.shape
            );
            return self.refuse(folder, codes::BATCH_MISMATCH, message);
        }
        let size = leaf.dtype.size().unwrap_or(1);
        let need = leaf.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
        let Some(need) = need.filter(|need| i64::try_from(*need).is_ok()) else {
            let message =
                format!("expected a shape whose bytes fit 63 bits, found {:?}", leaf.shape);
            return self.refuse(folder, codes::BAD_SHAPE, message);
        };
        if need == 0 {
            return Ok(());
        }
        if self.zeros {
            return self.put(folder, name, need, Body::Zeros);
        }
        if let Bytes::Faulty(fault) = &leaf.data {
            return Err(fault.error());
        }
        let found = leaf.data.len().unwrap_or(0);
        if found != need {
            let message = format!("expected {need} bytes for {:?}, found {found}", leaf.shape);
            return self.refuse(folder, codes::BAD_SHAPE, message);
        }
        self.put(folder, name, need, Body::Leaf(leaf.data.clone()))
    }

    pub(super) fn nested(
        &mut self,
        folder: &RelPath,
        kept: bool,
        [name, sizes]: [&str; 2],
        nested: &NestedTensor,
    ) -> Result<()> {
        self.check_dtype(folder, kept, &nested.dtype)?;
        let (parts, rank) = nested.extent;
        if parts == 0 || rank == 0 {
            let message = format!(
                "expected a nested tensor of at least one part and one dimension, found {parts} and {rank}"
            );
            return self.refuse(folder, codes::BAD_SHAPE, message);
        }
        let found = if self.zeros { nested.sized()? } else { nested.open()?.data.len() as u64 };
        let body = if self.zeros { Body::Zeros } else { Body::Elements(Box::new(nested.clone())) };
        // The library leaves the file away where all parts are empty, and then loses the key.
        self.put(folder, name, found, body)?;
        let len = nested.sizes.len().unwrap_or(0);
        self.put(folder, sizes, len, Body::Leaf(nested.sizes.clone()))
    }
}
