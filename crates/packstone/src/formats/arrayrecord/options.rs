//! How a new file is written.

use packstone_container::array_record::WriterOptions;
use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place, Result};
use crate::format::Plan;

/// The options of a new file with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    ("writer_options", "all of them as the original spells them: \"group_size:1,zstd:3\""),
    ("group_size", "records in a chunk; 1, or as the source"),
    (
        "compression",
        "none, or zstd, brotli or snappy, perhaps with a level: zstd:19; zstd, or as the source",
    ),
    ("pad_to_block_boundary", "true to begin each chunk at a block of 64 KiB"),
];

/// What `options` ask for, and by default what the source is like where it is of this format.
///
/// # Errors
/// `option_invalid`.
pub fn write_options(plan: &Plan, options: &Object) -> Result<WriterOptions> {
    let known = |name: &str| NAMES.iter().any(|(known, _)| *known == name);
    if let Some(name) = options.keys().find(|name| !name.as_str().is_some_and(known)) {
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        return Err(invalid(format!("expected an option of {}, found {name}", names.join(", "))));
    }
    let native = plan.source.as_ref().filter(|(id, _)| id == super::ID).map(|(_, native)| native);
    let stated = native.and_then(|native| native.get("writer_options")?.as_str()?.parse().ok());
    let mut made: WriterOptions = stated.unwrap_or_default();
    // Chunks are written whole, whatever those of the source were.
    (made.transpose, made.transpose_bucket_size) = (false, None);
    let value = Value::Object(options.clone());
    read(At::root(&value), &mut made).map_err(|error| invalid(error.to_string()))?;
    if made.transpose {
        return Err(invalid("expected no option transpose, found it".to_owned()));
    }
    Ok(made)
}

fn read(at: At<'_>, made: &mut WriterOptions) -> Result<(), ShapeError> {
    let parse = |at: At<'_>, text: &str| {
        text.parse::<WriterOptions>().map_err(|error| at.unexpected(error.to_string()))
    };
    if let Some(at) = at.optional("writer_options")? {
        *made = parse(at, at.str()?)?;
    }
    if let Some(at) = at.optional("group_size")? {
        made.group_size = parse(at, &format!("group_size:{}", at.u64()?))?.group_size;
    }
    if let Some(at) = at.optional("compression")? {
        let text = at.str()?.to_ascii_lowercase();
        let text = if ["", "none"].contains(&text.as_str()) { "uncompressed" } else { &text };
        let codec = text.split([':', ',']).next().unwrap_or_default();
        if !["uncompressed", "zstd", "brotli", "snappy"].contains(&codec) {
            return Err(at.unexpected("none, zstd, brotli or snappy, perhaps with a level"));
        }
        made.compression = parse(at, text)?.compression;
    }
    if let Some(at) = at.optional("pad_to_block_boundary")? {
        made.pad_to_block_boundary = at.bool()?;
    }
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::OPTION_INVALID, Place::default(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(options: &[(&str, Value)], source: Option<&str>) -> Result<String> {
        let native = |text: &str| Object::from_iter([("writer_options", text)]);
        let source = source.map(|text| ("arrayrecord".to_owned(), native(text)));
        let plan = Plan { source, ..Plan::default() };
        let options = options.iter().map(|(name, value)| (*name, value.clone())).collect();
        let stored = write_options(&plan, &options)?.stored();
        Ok(stored.replace("transpose:false,pad_to_block_boundary:false,", ""))
    }

    #[test]
    fn options_come_from_the_source_and_are_overruled() {
        let usual = "group_size:1,zstd:3,window_log:20,max_parallelism:1";
        assert_eq!(made(&[], None).unwrap(), usual);
        let source = Some("group_size:7,transpose:true,brotli:9");
        assert_eq!(made(&[], source).unwrap(), "group_size:7,brotli:9,max_parallelism:1");
        let given = [("compression", "none".into()), ("group_size", 3.into())];
        assert_eq!(made(&given, source).unwrap(), "group_size:3,uncompressed,max_parallelism:1");
        let given = [("writer_options", "group_size:2,snappy".into()), ("compression", "".into())];
        assert_eq!(made(&given, None).unwrap(), "group_size:2,uncompressed,max_parallelism:1");
        let given = [("compression", "ZSTD:19".into())];
        assert!(made(&given, None).unwrap().contains("zstd:19"));
    }

    #[test]
    fn what_the_grammar_does_not_have_is_refused() {
        for (name, value) in [
            ("level", 3.into()),
            ("group_size", 0.into()),
            ("group_size", "1".into()),
            ("compression", "gzip".into()),
            ("compression", "zstd:99".into()),
            ("compression", "zstd,snappy".into()),
            ("compression", "group_size:4".into()),
            ("writer_options", "transpose:true".into()),
            ("writer_options", "zstd,zstd".into()),
            ("pad_to_block_boundary", 1.into()),
        ] {
            assert_eq!(made(&[(name, value)], None).unwrap_err().code(), codes::OPTION_INVALID);
        }
    }
}
