//! Names of the format that never change; a test pins each.

use packstone_container::digest::{hex, sha256};
use packstone_container::json::Style;
use packstone_io::RelPath;

/// The root document; written last, it makes a folder a dataset.
pub const ROOT_DOCUMENT: &str = "root.json";
/// The root document of a prototype that no release reads any more.
pub const PROTOTYPE_DOCUMENT: &str = "sds.json";
/// The pointer to the newest revision of the annotation sets: the one document that is replaced.
pub const CATALOG: &str = "annotations/catalog.json";
/// The file on which the original locks the pointer; it stays.
pub const CATALOG_LOCK: &str = "annotations/.catalog.json.lock";
/// What each control document calls itself.
pub const ROOT_FORMAT: &str = "signal-dataset.dataset";
/// See [`ROOT_FORMAT`].
pub const SNAPSHOT_FORMAT: &str = "signal-dataset.snapshot";
/// See [`ROOT_FORMAT`].
pub const MANIFEST_FORMAT: &str = "signal-dataset.manifest";
/// What a record's descriptor calls itself.
pub const RECORD_FORMAT: &str = "signal-dataset.record";
/// The layout of control documents and descriptors that is read and written.
pub const LAYOUT_VERSION: &str = "0.1";
/// The oldest release that can read what is written.
pub const MIN_READER_VERSION: &str = "0.3.0";
/// The release whose reading rules packstone has.
pub const READER_VERSION: &str = "0.4.0";
/// The codec of records.
pub const RECORD_CODEC: &str = "safetensors";
/// The container of records.
pub const SHARD_FORMAT: &str = "array_record";
/// The tensor that holds a record's descriptor.
pub const DESCRIPTOR: &str = "__sds_descriptor__";
/// The field of an annotation without fields.
pub const EMPTY_FIELD: &str = "__empty__";
/// The axis of that field.
pub const EMPTY_AXIS: &str = "empty";
/// The member of a carrier's metadata that holds the annotation.
pub const ANNOTATION: &str = "annotation";
/// How the writer of a shard is set up: each record a chunk of its own.
pub const WRITER_OPTIONS: &str = "group_size:1";

/// How root, snapshot and manifests are spelled.
pub const PRETTY: Style = Style {
    indent: Some(2),
    key_separator: ": ",
    sort_keys: true,
    final_newline: true,
    ..Style::COMPACT
};
/// How descriptors, metadata rows and the documents of annotations are spelled.
pub const COMPACT: Style = Style { sort_keys: true, ..Style::COMPACT };

/// `<first two characters of the digest>` and the digest of a text.
fn fan_out(text: &str) -> (String, String) {
    let digest = hex(&sha256(text.as_bytes()));
    (digest.chars().take(2).collect(), digest)
}

/// The paths of the two objects of a shard: records, and their metadata rows.
pub fn shard_paths(work_id: &str, attempt: u64) -> (String, String) {
    let (folder, name) = fan_out(&format!("{work_id}:{attempt}"));
    let path = |kind| format!("objects/{kind}/{folder}/{name}.arrayrecord");
    (path("data"), path("metadata"))
}

/// The path of a snapshot.
pub fn snapshot_path(snapshot_id: &str) -> String {
    format!("snapshots/{snapshot_id}/snapshot.json")
}

/// The path of a page of the manifest.
pub fn manifest_path(snapshot_id: &str, page: u64) -> String {
    let id = format!("{snapshot_id}-{page:08}");
    format!("manifests/{}/{id}.json", fan_out(&id).0)
}

/// The path of a revision with these bytes.
pub fn revision_path(bytes: &[u8]) -> String {
    format!("annotations/catalogs/{}.json", hex(&sha256(bytes)))
}

/// The digest in the path of a revision; `None` where it is no such path.
pub fn revision_digest(path: &str) -> Option<&str> {
    let digest = path.strip_prefix("annotations/catalogs/")?.strip_suffix(".json")?;
    (digest.len() == 64 && digest.bytes().all(is_lower_hex)).then_some(digest)
}

/// True for the digits of lower-case hex.
pub fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The folder of one publication of an annotation set.
pub fn set_folder(name: &str, publication_id: &str) -> String {
    format!("annotations/sets/{name}/{publication_id}")
}

/// The root document of one publication of an annotation set.
pub fn set_root_path(name: &str, publication_id: &str) -> String {
    format!("{}/root.json", set_folder(name, publication_id))
}

/// The publication id where none is given.
pub fn publication_id(snapshot_id: &str, name: &str) -> String {
    fan_out(&format!("{snapshot_id}:{name}")).1.chars().take(32).collect()
}

/// The path of an object of annotations that one process publishes. `content` is the digest of its payloads, each with its
/// length in front.
pub fn annotation_path(name: &str, publication_id: &str, first: u64, content: &str) -> String {
    let (folder, id) = fan_out(&format!("{publication_id}:{first}:{content}"));
    format!("{}/objects/{folder}/{id}.arrayrecord", set_folder(name, publication_id))
}

/// The path of an object of annotations that a worker writes.
pub fn worker_path(name: &str, publication_id: &str, shard_id: &str, content: &str) -> String {
    let (folder, id) = fan_out(&format!("{name}:{publication_id}:{shard_id}:{content}"));
    let id: String = id.chars().take(32).collect();
    format!("{}/objects/{folder}/{id}.arrayrecord", set_folder(name, publication_id))
}

/// The path of the pointer to the object that won a worker's shard.
pub fn pointer_path(name: &str, publication_id: &str, shard_id: &str) -> String {
    let (folder, id) = fan_out(shard_id);
    format!("{}/shards/{folder}/{id}.json", set_folder(name, publication_id))
}

/// True for an identifier that is a name everywhere: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
pub fn is_portable(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    id.len() <= 128
        && id.bytes().next().is_some_and(plain)
        && id.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// The path of a constant of this format.
pub(super) fn fixed(path: &'static str) -> RelPath {
    // The constants are paths; the test sees to it.
    RelPath::new(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_format_stay() {
        assert_eq!((ROOT_DOCUMENT, PROTOTYPE_DOCUMENT), ("root.json", "sds.json"));
        assert_eq!(fixed(CATALOG).as_str(), "annotations/catalog.json");
        assert_eq!(fixed(CATALOG_LOCK).as_str(), "annotations/.catalog.json.lock");
        assert_eq!(ROOT_FORMAT, "signal-dataset.dataset");
        assert_eq!(SNAPSHOT_FORMAT, "signal-dataset.snapshot");
        assert_eq!(MANIFEST_FORMAT, "signal-dataset.manifest");
        assert_eq!(RECORD_FORMAT, "signal-dataset.record");
        assert_eq!((LAYOUT_VERSION, MIN_READER_VERSION, READER_VERSION), ("0.1", "0.3.0", "0.4.0"));
        assert_eq!((RECORD_CODEC, SHARD_FORMAT), ("safetensors", "array_record"));
        assert_eq!((DESCRIPTOR, ANNOTATION), ("__sds_descriptor__", "annotation"));
        assert_eq!((EMPTY_FIELD, EMPTY_AXIS), ("__empty__", "empty"));
        assert_eq!(WRITER_OPTIONS, "group_size:1");
    }

    #[test]
    fn paths_are_those_of_the_original() {
        let (data, metadata) = shard_paths("0", 0);
        let name = "ac72368a586a18c19088393573ce03074b8e8a4d8c21add8729af1890a407e52";
        assert_eq!(data, format!("objects/data/ac/{name}.arrayrecord"));
        assert_eq!(metadata, format!("objects/metadata/ac/{name}.arrayrecord"));
        assert_eq!(manifest_path("s", 0), "manifests/b4/s-00000000.json");
        assert_eq!(snapshot_path("a/b"), "snapshots/a/b/snapshot.json");
        assert_eq!(publication_id("s", "labels"), "0542eec48103d906eee3aee22a19da7a");
        // Those of the golden datasets.
        let pointer = "annotations/sets/workers.v1/pub-1/shards/\
                       6d/6d3b1ed7841219c9034436460a45f2c34c3b0a0fa91dbad262d8bbb9126e7b21.json";
        assert_eq!(pointer_path("workers.v1", "pub-1", "shard-1"), pointer);
        let revision = revision_path(b"{\"sets\":{}}");
        assert_eq!(revision_digest(&revision).map(str::len), Some(64));
        assert_eq!(revision_digest(&revision.to_uppercase()), None);
        assert_eq!(revision_digest("annotations/catalogs/0.json"), None);
    }

    #[test]
    fn portable_identifiers_are_matched_as_a_whole() {
        for good in ["a", "Z-last_1", "workers.v1", &"a".repeat(128), "0"] {
            assert!(is_portable(good), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a/b", "a\n", "é", &"a".repeat(129)] {
            assert!(!is_portable(bad), "{bad}");
        }
    }
}
