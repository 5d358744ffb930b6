//! Attributes and how shards store them: types, compressions, and which of them go together.

use packstone_container::codec::Codec;
use packstone_container::json::Object;
use packstone_io::Kind;

use super::codes;
use super::layout::{SPLITS, VARIABLE_ALIGN};
use crate::error::{Error, Place, Result};
use crate::model::{DType, Field, Holds, Schema};

/// The format of shard files, which is also their extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardType {
    /// FlatBuffers.
    Fb,
    /// NumPy archives.
    Npz,
    /// TFRecord files.
    Tfrec,
}

impl ShardType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fb, Self::Npz, Self::Tfrec];

    /// The name in `shard_file_type` and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fb => "fb",
            Self::Npz => "npz",
            Self::Tfrec => "tfrec",
        }
    }

    /// By name, case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

/// The compression of shard files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the format's")]
pub enum Compression {
    None,
    Bz2,
    Gzip,
    Lzma,
    Lz4,
    Zip,
    Zlib,
    Zstd,
}

impl Compression {
    /// All of them, in the order of the specification.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Bz2,
        Self::Gzip,
        Self::Lzma,
        Self::Lz4,
        Self::Zip,
        Self::Zlib,
        Self::Zstd,
    ];

    /// The name in `compression`; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bz2 => "BZ2",
            Self::Gzip => "GZIP",
            Self::Lzma => "LZMA",
            Self::Lz4 => "LZ4",
            Self::Zip => "ZIP",
            Self::Zlib => "ZLIB",
            Self::Zstd => "ZSTD",
        }
    }

    /// By name, case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// True where shards of this type can have this compression; the original implements no other pair.
    pub fn fits(self, shard_type: ShardType) -> bool {
        match shard_type {
            ShardType::Fb => self != Self::Zip,
            ShardType::Npz => matches!(self, Self::None | Self::Zip),
            ShardType::Tfrec => matches!(self, Self::None | Self::Gzip | Self::Zlib),
        }
    }

    /// What the file of a shard is wrapped in as a whole. `ZLIB` is gzip in fb and zlib in tfrec; `ZIP` compresses inside.
    pub fn codec(self, shard_type: ShardType) -> Codec {
        match self {
            Self::None | Self::Zip => Codec::None,
            Self::Bz2 => Codec::Bzip2,
            Self::Zlib if shard_type == ShardType::Tfrec => Codec::Zlib,
            Self::Gzip | Self::Zlib => Codec::Gzip,
            Self::Lzma => Codec::Xz,
            Self::Lz4 => Codec::Lz4Frame,
            Self::Zstd => Codec::Zstd,
        }
    }
}

/// The model's field of an attribute.
///
/// # Errors
/// `sedpack/unknown_dtype` where no reader could make sense of it.
pub fn field(
    name: &str,
    dtype: &str,
    shape: Vec<u64>,
    metadata: Object,
    place: &Place,
) -> Result<Field> {
    let refuse = |found: String| {
        let message =
            format!("expected a dtype with fixed bytes, str, bytes or int, found {found}");
        Error::new(Kind::Invalid, codes::UNKNOWN_DTYPE, place.clone().field(name), message)
    };
    let parsed = match dtype {
        "int" if shape.is_empty() => DType::Int,
        "int" => return Err(refuse(format!("int of shape {shape:?}"))),
        "str" => DType::Str,
        "bytes" => DType::Bytes,
        other => DType::from_numpy(other).ok_or_else(|| refuse(format!("{other:?}")))?,
    };
    let field = Field { metadata, ..Field::new(name, parsed, shape) };
    if !field.varies() && field.value_bytes().is_none_or(|n| n > i64::MAX.unsigned_abs()) {
        let message =
            format!("expected a value size that fits 64 bits, found shape {:?}", field.shape);
        return Err(Error::new(
            Kind::Invalid,
            codes::SCHEMA_INVALID,
            place.clone().field(name),
            message,
        ));
    }
    Ok(field)
}

/// The name of an attribute.
pub fn attribute_name(field: &Field) -> &str {
    field.key.parts().first().map_or("", String::as_str)
}

/// The `dtype` text that a new dataset gives a field.
pub fn attribute_dtype(dtype: &DType) -> String {
    match dtype {
        DType::DateTime(_) | DType::TimeDelta(_) => {
            dtype.name().replacen("<M8", "datetime64", 1).replacen("<m8", "timedelta64", 1)
        }
        other => other.name().trim_start_matches(['<', '|']).to_owned(),
    }
}

/// Alignment of a field's values in an fb shard, as the original's builder takes it.
pub fn align(field: &Field) -> usize {
    match field.dtype {
        DType::Str | DType::Bytes => VARIABLE_ALIGN,
        ref other => other.size().and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
    }
}

/// True for dtypes that tfrec shards keep.
fn tfrec_keeps(dtype: &DType) -> bool {
    use DType::*;
    matches!(dtype, Int8 | UInt8 | Int32 | Int64 | Int | Float32 | Float16 | Str)
}

/// True for dtypes of NumPy, and Python's integers and bytes, which fb and npz shards keep.
fn numpy_keeps(dtype: &DType) -> bool {
    *dtype == DType::Int || *dtype == DType::Bytes || DType::from_numpy(&dtype.name()).is_some()
}

/// What attributes can be made of. Metadata belong to shards: only those of another Sedpack dataset come in runs.
pub fn holds(shard_type: ShardType, from_sedpack: bool) -> Holds {
    Holds {
        nested: false,
        varying: false,
        json: false,
        metadata: from_sedpack,
        empty_arrays: false,
        empty_collections: false,
        dtype: if shard_type == ShardType::Tfrec { tfrec_keeps } else { numpy_keeps },
        reserved: if shard_type == ShardType::Npz { &["file", "allow_pickle"] } else { &[] },
        collections: Some(&SPLITS),
        ..Holds::ALL
    }
}

/// Checks that shards of this type can be written and read back with these fields.
///
/// # Errors
/// `sedpack/not_writable`, naming the field and the reason.
pub fn check_writable(schema: &Schema, shard_type: ShardType) -> Result<()> {
    let mut seen = Vec::new();
    let longest =
        schema.fields.iter().map(|f| attribute_name(f).chars().count()).max().unwrap_or(0);
    let prefix = format!("len{}", "_".repeat(longest));
    if schema.fields.is_empty() && shard_type == ShardType::Npz {
        let message = "expected attributes, found none: an npz shard without columns has no number of examples";
        return Err(Error::new(Kind::Unsupported, codes::NOT_WRITABLE, Place::default(), message));
    }
    for field in &schema.fields {
        let name = attribute_name(field);
        let refuse = |why: String| {
            Err(Error::new(
                Kind::Unsupported,
                codes::NOT_WRITABLE,
                Place::default().field(name),
                why,
            ))
        };
        if field.key.parts().len() != 1 {
            return refuse("expected a field without nesting, found a nested key".to_owned());
        }
        if seen.contains(&name) {
            return refuse("expected each attribute name once, found it twice".to_owned());
        }
        if field.shape.contains(&0) {
            return refuse(format!(
                "expected dimensions above zero, found shape {:?}",
                field.shape
            ));
        }
        if matches!(field.dtype, DType::Str | DType::Int) && !field.shape.is_empty() {
            return refuse(format!(
                "expected a scalar {}, found shape {:?}",
                field.dtype, field.shape
            ));
        }
        let plain = matches!(field.dtype, DType::Str | DType::Bytes | DType::Int);
        if !plain && DType::from_numpy(&field.dtype.name()).is_none() {
            return refuse(format!("expected a dtype that NumPy knows, found {}", field.dtype));
        }
        if field.varying {
            let rank = field.shape.len();
            return refuse(format!("expected one shape, found {rank} dimensions that vary"));
        }
        match shard_type {
            ShardType::Fb => {}
            ShardType::Npz if ["file", "allow_pickle"].contains(&name) => {
                return refuse(
                    "expected a name that NumPy's writer can take, found one of its parameters"
                        .to_owned(),
                );
            }
            // The offsets array of another attribute would have this name.
            ShardType::Npz
                if name.strip_prefix(&prefix).is_some_and(|n| schema.position(n).is_some()) =>
            {
                return refuse(
                    "expected a name apart from the offsets arrays, found one of theirs".to_owned(),
                );
            }
            ShardType::Npz => {}
            ShardType::Tfrec => {
                let kept = match field.dtype {
                    DType::Bytes => field.shape.is_empty(),
                    ref other => tfrec_keeps(other),
                };
                if !kept {
                    let found = format!("{} of shape {:?}", field.dtype, field.shape);
                    return refuse(format!(
                        "expected a dtype that tfrec shards keep, found {found}"
                    ));
                }
            }
        }
        seen.push(name);
    }
    Ok(())
}
