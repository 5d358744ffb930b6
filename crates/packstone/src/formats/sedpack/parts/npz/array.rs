//! An array as it was read: its header, and its elements as they lie in the archive or were decompressed.

use packstone_container::npy::{self, Header, Item, NpyError};
use packstone_io::{AlignedBuf, Buf};

use super::invalid;
use crate::error::{Place, Result};

/// An array as read: its header, and its bytes in the archive or decompressed.
pub(super) struct Array {
    pub(super) header: Header,
    pub(super) item: Item,
    pub(super) file: Buf,
}

impl Array {
    /// The elements in C order, little-endian; a view where they lie so already.
    pub(super) fn little_endian(&self, place: &Place) -> Result<Buf> {
        let broken = |e: NpyError| invalid(place.clone(), e.to_string());
        let data = self.header.data(&self.file, self.item.size).map_err(broken)?;
        if !self.header.fortran_order && !self.item.big_endian {
            return Ok(self.file.slice(self.header.data_offset..).unwrap_or_default());
        }
        let mut out = AlignedBuf::with_capacity(data.len())?;
        out.set_len(data.len())?;
        npy::to_little_endian_c_order(&self.header, &self.item, data, &mut out).map_err(broken)?;
        Ok(out.into())
    }
}

/// The length of the first axis, and the others.
pub(super) fn rows_of(array: &Array, place: &Place) -> Result<(usize, Vec<u64>)> {
    let (first, inner) = array.header.shape.split_first().ok_or_else(|| {
        invalid(
            place.clone(),
            "expected an array with an axis for the examples, found a scalar".to_owned(),
        )
    })?;
    let rows = usize::try_from(*first).ok();
    // Elements without bytes could be any number; columns of them do not exist.
    let real = rows.filter(|rows| *rows <= array.file.len());
    let rows = real.ok_or_else(|| {
        invalid(place.clone(), format!("expected examples that are stored, found {first}"))
    })?;
    Ok((rows, inner.to_vec()))
}
