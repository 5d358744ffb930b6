//! Names and numbers of the format that never change; a test pins each.

/// The root document; its presence alone makes a folder a Sedpack dataset.
pub const ROOT_DOCUMENT: &str = "dataset_info.json";
/// The list of shards of a folder.
pub const SHARDS_LIST: &str = "shards_list.json";
/// The splits there can be.
pub const SPLITS: [&str; 3] = ["train", "test", "holdout"];
/// The member of the custom metadata that says what is stored in other words than its source had.
pub const CARRIED: &str = "packstone";
/// The newest release whose datasets packstone reads, and the version that it writes.
pub const LATEST: &str = "0.2.0";
/// Folder levels between a writer's path and its shards.
pub const LEVELS: usize = 3;
/// Lists below one another that readers follow; the original makes five.
pub const MAX_DEPTH: usize = 64;
/// Entries a generated folder holds at most.
pub const MAX_BRANCHING: u64 = 1000;
/// Hexadecimal digits of a generated folder's name.
pub const FOLDER_DIGITS: usize = 10;
/// Hexadecimal digits of a shard's name.
pub const SHARD_DIGITS: usize = 32;
/// Alignment of text and bytes in an fb shard.
pub const VARIABLE_ALIGN: usize = 16;
/// Tables that the original's Rust reader accepts in an fb shard.
pub const TABLE_LIMIT: u64 = 1_000_000;
/// Prefix of the original's files in the making, which readers ignore.
pub const LIBRARY_TEMPORARY: &str = "update_";
/// Start of the name of a worker's part file in the root.
pub const PART_PREFIX: &str = "packstone-part-";
/// Start of its name once it is merged.
pub const MERGED_PREFIX: &str = "packstone-merged-";
/// What a publication is about to rename, written before and removed after.
pub const INTENT: &str = ".packstone-publish.json";
/// End of the name of a worker's part file.
pub const PART_SUFFIX: &str = ".json";
/// Default license of a dataset.
pub const DEFAULT_LICENSE: &str = "https://creativecommons.org/licenses/by/4.0/";
/// Default `examples_per_shard`.
pub const DEFAULT_EXAMPLES_PER_SHARD: i64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_format_stay() {
        assert_eq!((ROOT_DOCUMENT, SHARDS_LIST), ("dataset_info.json", "shards_list.json"));
        assert_eq!((SPLITS, CARRIED), (["train", "test", "holdout"], "packstone"));
        assert_eq!((LATEST, LEVELS, MAX_BRANCHING, MAX_DEPTH), ("0.2.0", 3, 1000, 64));
        assert_eq!((FOLDER_DIGITS, SHARD_DIGITS, VARIABLE_ALIGN), (10, 32, 16));
        assert_eq!((TABLE_LIMIT, LIBRARY_TEMPORARY), (1_000_000, "update_"));
        assert_eq!((PART_PREFIX, PART_SUFFIX), ("packstone-part-", ".json"));
        assert_eq!((DEFAULT_EXAMPLES_PER_SHARD, DEFAULT_LICENSE.len()), (256, 44));
    }
}
