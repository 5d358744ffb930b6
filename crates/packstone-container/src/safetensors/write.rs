//! Writing, byte by byte as the original library does.

use std::collections::HashSet;

use super::METADATA;
use super::dtype::TensorType;
use super::error::SafeTensorsError;
use super::header::PREFIX;
use crate::json::{Object, Style, Value, write_to};

/// The header's length is a multiple of this.
const ALIGN: usize = 8;

/// What to say about a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its elements.
    pub dtype: TensorType,
    /// Elements along each axis; empty for a scalar.
    pub shape: &'a [u64],
}

/// In which order tensors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The original's: the highest rank of types first, then by the bytes of names.
    #[default]
    Canonical,
    /// As given.
    Given,
}

/// What comes before the data, and how the data follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The header with its length, to be written first.
    pub head: Vec<u8>,
    /// The tensors by their positions in the list given, in the order in which their bytes follow without gaps.
    pub order: Vec<usize>,
    /// Bytes of each tensor in the list given.
    pub lengths: Vec<u64>,
}

impl Layout {
    /// Plans a buffer of `tensors`, with texts about it where given. `None` and no texts are not the same.
    ///
    /// # Errors
    /// [`SafeTensorsError::Size`], [`SafeTensorsError::Repeated`], [`SafeTensorsError::Reserved`].
    pub fn new(
        tensors: &[TensorSpec<'_>],
        metadata: Option<&[(String, String)]>,
        order: Order,
    ) -> Result<Self, SafeTensorsError> {
        let mut names = HashSet::with_capacity(tensors.len());
        let mut lengths = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            let name = || tensor.name.to_owned();
            if tensor.name == METADATA {
                return Err(SafeTensorsError::Reserved);
            }
            if !names.insert(tensor.name) {
                return Err(SafeTensorsError::Repeated { name: name() });
            }
            let length = tensor.dtype.byte_len(tensor.shape);
            lengths.push(length.ok_or_else(|| SafeTensorsError::Size { name: name() })?);
        }
        let mut ordered: Vec<_> = tensors.iter().zip(&lengths).enumerate().collect();
        if order == Order::Canonical {
            ordered.sort_by(|(_, (a, _)), (_, (b, _))| {
                b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(b.name))
            });
        }
        let head = head(ordered.iter().map(|(_, pair)| *pair), metadata)?;
        let order = ordered.into_iter().map(|(place, _)| place).collect();
        Ok(Self { head, order, lengths })
    }
}

/// The header with its length.
fn head<'a>(
    tensors: impl Iterator<Item = (&'a TensorSpec<'a>, &'a u64)>,
    metadata: Option<&[(String, String)]>,
) -> Result<Vec<u8>, SafeTensorsError> {
    let mut text = String::from("{");
    if let Some(texts) = metadata {
        let mut seen = HashSet::with_capacity(texts.len());
        if let Some((name, _)) = texts.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(SafeTensorsError::Repeated { name: name.clone() });
        }
        let texts: Object = texts.iter().map(|(name, text)| (name, text)).collect();
        text.push_str("\"__metadata__\":");
        write_to(&mut text, &Value::Object(texts), &Style::COMPACT);
    }
    let mut start = 0u64;
    for (tensor, length) in tensors {
        let too_long = || SafeTensorsError::Size { name: tensor.name.to_owned() };
        let end = start.checked_add(*length).ok_or_else(too_long)?;
        if text.len() > 1 {
            text.push(',');
        }
        write_to(&mut text, &Value::from(tensor.name), &Style::COMPACT);
        text.push_str(&format!(":{{\"dtype\":\"{}\",\"shape\":", tensor.dtype));
        write_to(&mut text, &Value::from(tensor.shape), &Style::COMPACT);
        text.push_str(&format!(",\"data_offsets\":[{start},{end}]}}"));
        start = end;
    }
    text.push('}');
    while !text.len().is_multiple_of(ALIGN) {
        text.push(' ');
    }
    let mut head = Vec::with_capacity(PREFIX + text.len());
    head.extend_from_slice(&(text.len() as u64).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    Ok(head)
}

/// A whole buffer of tensors with their bytes.
///
/// # Errors
/// As [`Layout::new`], and [`SafeTensorsError::Length`] where bytes do not fit type and shape.
pub fn serialize(
    tensors: &[(TensorSpec<'_>, &[u8])],
    metadata: Option<&[(String, String)]>,
    order: Order,
) -> Result<Vec<u8>, SafeTensorsError> {
    let specs: Vec<_> = tensors.iter().map(|(spec, _)| *spec).collect();
    let layout = Layout::new(&specs, metadata, order)?;
    for ((spec, bytes), &expected) in tensors.iter().zip(&layout.lengths) {
        let found = bytes.len() as u64;
        if found != expected {
            return Err(SafeTensorsError::Length { name: spec.name.to_owned(), expected, found });
        }
    }
    let mut out = layout.head;
    let ordered = layout.order.iter().filter_map(|place| tensors.get(*place));
    ordered.for_each(|(_, bytes)| out.extend_from_slice(bytes));
    Ok(out)
}
