//! The header: parsed strictly, without the data.

use super::METADATA;
use super::dtype::TensorType;
use super::error::SafeTensorsError;
use crate::Limits;
use crate::json::{At, ReadOptions, read};

/// Bytes of the length before the header.
pub(super) const PREFIX: usize = 8;
/// The original refuses longer headers.
const LONGEST: u64 = 100_000_000;

/// What a header says about one tensor. The offsets lie within the data and fit type and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: TensorType,
    /// Elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// Its first byte in the data.
    pub start: u64,
    /// The byte after its last in the data.
    pub end: u64,
}

/// A header whose tensors tile the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    tensors: Vec<TensorInfo>,
    /// Positions in `tensors`, ordered by name.
    by_name: Vec<usize>,
    metadata: Option<Vec<(String, String)>>,
    data_offset: u64,
}

impl Header {
    /// Reads the header at the start of `bytes`, where a buffer of `len` bytes begins. The data need not be there.
    ///
    /// # Errors
    /// [`SafeTensorsError`]; [`SafeTensorsError::Truncated`] says how many bytes the header takes.
    pub fn parse(bytes: &[u8], len: u64, limits: &Limits) -> Result<Self, SafeTensorsError> {
        let found = len.min(bytes.len() as u64);
        let (prefix, rest) = bytes
            .split_first_chunk::<PREFIX>()
            .filter(|_| len >= PREFIX as u64)
            .ok_or(SafeTensorsError::Truncated { expected: 0, found })?;
        let header_len = u64::from_le_bytes(*prefix);
        let limit = LONGEST.min(limits.document_bytes);
        if header_len > limit {
            return Err(SafeTensorsError::HeaderTooLong { limit, found: header_len });
        }
        let data_offset = header_len + PREFIX as u64;
        let text = usize::try_from(header_len)
            .ok()
            .and_then(|end| rest.get(..end))
            .filter(|_| data_offset <= len)
            .ok_or(SafeTensorsError::Truncated { expected: header_len, found })?;
        let options = ReadOptions::default().with_limits(*limits).with_refused_duplicates(true);
        let document = read(text, &options)?.value;
        let mut header =
            Self { tensors: Vec::new(), by_name: Vec::new(), metadata: None, data_offset };
        for (name, at) in At::root(&document).entries()? {
            match name {
                METADATA => header.metadata = metadata(at)?,
                _ => header.tensors.push(tensor(name, at)?),
            }
        }
        let (limit, found) = (limits.entries, header.tensors.len() as u64);
        if found > limit {
            return Err(SafeTensorsError::TooMany { limit, found });
        }
        header.check_tiles(len - data_offset)?;
        header.by_name = (0..header.tensors.len()).collect();
        let tensors = &header.tensors;
        header.by_name.sort_by_key(|at| tensors.get(*at).map(|tensor| tensor.name.as_str()));
        Ok(header)
    }

    /// Holds the tensors, in the order of their offsets, against each other and against the end of the data.
    fn check_tiles(&self, data_len: u64) -> Result<(), SafeTensorsError> {
        let mut ordered: Vec<&TensorInfo> = self.tensors.iter().collect();
        ordered.sort_by_key(|tensor| (tensor.start, tensor.end));
        let mut expected = 0;
        for tensor in ordered {
            let (name, found) = (tensor.name.clone(), tensor.start);
            if found < expected {
                return Err(SafeTensorsError::Overlap { name, expected, found });
            }
            if found > expected {
                return Err(SafeTensorsError::Gap { name, expected, found });
            }
            expected = tensor.end;
        }
        match expected == data_len {
            true => Ok(()),
            false => Err(SafeTensorsError::Data { expected, found: data_len }),
        }
    }

    /// The tensors, in the order of the header.
    #[must_use]
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor of a name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        let tensor = |at: &usize| self.tensors.get(*at);
        let place = self
            .by_name
            .partition_point(|at| tensor(at).is_some_and(|tensor| tensor.name.as_str() < name));
        self.by_name.get(place).and_then(tensor).filter(|tensor| tensor.name == name)
    }

    /// The texts about the file, in the order of the header; `None` where it has none.
    #[must_use]
    pub fn metadata(&self) -> Option<&[(String, String)]> {
        self.metadata.as_deref()
    }

    /// Where the data begins in the buffer.
    #[must_use]
    pub fn data_offset(&self) -> u64 {
        self.data_offset
    }
}

fn metadata(at: At<'_>) -> Result<Option<Vec<(String, String)>>, SafeTensorsError> {
    if at.value().is_null() {
        return Ok(None);
    }
    let pairs = at.entries()?.map(|(name, text)| Ok((name.to_owned(), text.str()?.to_owned())));
    pairs.collect::<Result<_, SafeTensorsError>>().map(Some)
}

fn tensor(name: &str, at: At<'_>) -> Result<TensorInfo, SafeTensorsError> {
    let name = name.to_owned();
    let word = at.field("dtype")?.str()?;
    let Some(dtype) = TensorType::parse(word) else {
        return Err(SafeTensorsError::Type { name, found: word.chars().take(64).collect() });
    };
    let shape: Vec<u64> = at.field("shape")?.items()?.map(At::u64).collect::<Result<_, _>>()?;
    let offsets = at.field("data_offsets")?;
    let (start, end) = match offsets.array()? {
        [_, _] => (offsets.index(0)?.u64()?, offsets.index(1)?.u64()?),
        _ => return Err(offsets.unexpected("an array of two offsets").into()),
    };
    let Some(found) = end.checked_sub(start) else {
        return Err(SafeTensorsError::Reversed { name, start, end });
    };
    match dtype.byte_len(&shape) {
        None => Err(SafeTensorsError::Size { name }),
        Some(expected) if expected != found => {
            Err(SafeTensorsError::Length { name, expected, found })
        }
        Some(_) => Ok(TensorInfo { name, dtype, shape, start, end }),
    }
}
