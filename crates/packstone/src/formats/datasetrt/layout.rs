//! Names and numbers of the format that never change; a test pins each.

/// What makes a folder a complete cache.
pub const MANIFEST: &str = "manifest.json";
/// The metadata of all samples, one row each.
pub const METADATA: &str = "metadata.arrow";
/// Where each sample's record lies.
pub const INDEX: &str = "index.bin";
/// The folder of the shards.
pub const SHARDS: &str = "shards";
/// The folder beside the caches in which they are made.
pub const STAGING: &str = "tmp";
/// Manifest versions that are read.
pub const VERSIONS: [u64; 2] = [2, 3];
/// Bytes of a row of the index: shard, offset and length of the record.
pub const INDEX_ROW: usize = 24;
/// Bytes in front of a record's metadata, which tell their length.
pub const ENVELOPE: u64 = 8;
/// Bytes in front of an LZ4 block, which tell the length of its content.
pub const LZ4_PREFIX: usize = 4;
/// Default of `max_shard_bytes`.
pub const DEFAULT_SHARD_BYTES: u64 = 64 << 20;
/// Columns that the original's table adds itself.
pub const RESERVED: [&str; 3] = ["cache_id", "sample_id", "weight"];
/// Start of the names of the original's manifests in the making.
pub const MANIFEST_TEMPORARY: &str = ".dataset-rt-manifest-";
/// The member of a manifest in which packstone says what samples of another format were.
pub const EXTENSION: &str = "packstone";

/// The name of the shard of this number.
pub fn shard_name(number: u64) -> String {
    format!("{number:06}.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_format_stay() {
        assert_eq!([MANIFEST, METADATA, INDEX], ["manifest.json", "metadata.arrow", "index.bin"]);
        assert_eq!([SHARDS, STAGING, EXTENSION], ["shards", "tmp", "packstone"]);
        assert_eq!((INDEX_ROW, ENVELOPE, LZ4_PREFIX, VERSIONS), (24, 8, 4, [2, 3]));
        assert_eq!((DEFAULT_SHARD_BYTES, RESERVED.len()), (67_108_864, 3));
        assert_eq!(shard_name(0), "000000.bin");
        assert_eq!(shard_name(1_000_000), "1000000.bin");
        assert_eq!(MANIFEST_TEMPORARY, ".dataset-rt-manifest-");
    }
}
