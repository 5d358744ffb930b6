//! Writing an archive: an array for each attribute, two for those of bytes.

use packstone_container::npy;
use packstone_container::zip::{EntryOptions, Method, Writer};
use packstone_io::{AlignedBuf, Kind};

use super::super::super::codes;
use super::super::super::schema::{Compression, attribute_name};
use super::{invalid, offsets_prefix};
use crate::error::{Error, Place, Result};
use crate::model::{Batch, DType, Schema};

/// Writes the rows of `parts` as an archive.
pub fn encode(
    parts: &[Batch],
    schema: &Schema,
    compression: Compression,
    out: &mut AlignedBuf,
) -> Result<()> {
    let method = if compression == Compression::Zip { Method::Deflate } else { Method::Stored };
    let options = EntryOptions::default().with_method(method);
    let rows: usize = parts.iter().map(Batch::rows).sum();
    let prefix = offsets_prefix(schema);
    let mut archive = Vec::new();
    let mut writer = Writer::new(&mut archive);
    for (at, field) in schema.fields.iter().enumerate() {
        let name = attribute_name(field);
        let place = Place::default().field(name);
        let values = || {
            parts.iter().flat_map(move |part| {
                (0..part.rows()).map(move |row| {
                    part.columns().get(at).and_then(|c| c.bytes(row)).unwrap_or_default()
                })
            })
        };
        let mut add = |key: &str, descr: &str, shape: &[u64], data: &[u8]| {
            let mut header = Vec::new();
            npy::write_header(descr, shape, false, &mut header)
                .map_err(|e| invalid(place.clone(), e.to_string()))?;
            writer.add(&format!("{key}.npy"), &[&header, data], options).map_err(|e| {
                Error::new(Kind::Invalid, codes::NOT_WRITABLE, place.clone(), e.to_string())
            })
        };
        match field.dtype {
            DType::Bytes => {
                let blob: Vec<u8> = values().flatten().copied().collect();
                let mut end = 0i64;
                let mut offsets = end.to_le_bytes().to_vec();
                for value in values() {
                    end = end.saturating_add(i64::try_from(value.len()).unwrap_or(i64::MAX));
                    offsets.extend(end.to_le_bytes());
                }
                add(&format!("{prefix}{name}"), "<i8", &[rows as u64 + 1], &offsets)?;
                add(name, "|u1", &[1, blob.len() as u64], &blob)?;
            }
            DType::Str => {
                let texts: Vec<Vec<char>> =
                    values().map(|v| String::from_utf8_lossy(v).chars().collect()).collect();
                // NumPy has no text type of no characters.
                let longest = texts.iter().map(Vec::len).max().unwrap_or(0).max(1);
                let mut data =
                    Vec::with_capacity(longest.saturating_mul(4).saturating_mul(texts.len()));
                for text in &texts {
                    let padding = std::iter::repeat_n(&'\0', longest - text.len());
                    data.extend(
                        text.iter().chain(padding).flat_map(|c| u32::from(*c).to_le_bytes()),
                    );
                }
                add(name, &format!("<U{longest}"), &[rows as u64], &data)?;
            }
            ref dtype => {
                let data: Vec<u8> = values().flatten().copied().collect();
                let mut shape = vec![rows as u64];
                shape.extend(&field.shape);
                add(name, &dtype.numpy_str(), &shape, &data)?;
            }
        }
    }
    writer.finish().map_err(|e| invalid(Place::default(), e.to_string()))?;
    out.clear();
    Ok(out.extend_from_slice(&archive)?)
}
