//! A whole buffer.

use packstone_io::Buf;

use super::error::SafeTensorsError;
use super::header::{Header, TensorInfo};
use crate::Limits;

/// A buffer with its header; tensors are views of it.
#[derive(Clone, Debug)]
pub struct SafeTensors {
    header: Header,
    buffer: Buf,
}

impl SafeTensors {
    /// Checks the header of a whole buffer against it.
    ///
    /// # Errors
    /// As [`Header::parse`].
    pub fn parse(buffer: Buf, limits: &Limits) -> Result<Self, SafeTensorsError> {
        let header = Header::parse(&buffer, buffer.len() as u64, limits)?;
        Ok(Self { header, buffer })
    }

    /// What the header says.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The tensors with their bytes, in the order of the header.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&TensorInfo, Buf)> {
        self.header.tensors().iter().map(|tensor| (tensor, self.bytes(tensor)))
    }

    /// The tensor of a name with its bytes.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&TensorInfo, Buf)> {
        self.header.tensor(name).map(|tensor| (tensor, self.bytes(tensor)))
    }

    /// The bytes of a tensor of this header, without a copy.
    fn bytes(&self, tensor: &TensorInfo) -> Buf {
        let at = |offset: u64| usize::try_from(self.header.data_offset() + offset).ok();
        let span = at(tensor.start).zip(at(tensor.end));
        span.and_then(|(start, end)| self.buffer.slice(start..end)).unwrap_or_default()
    }
}
