//! Names and numbers of the format that never change; a test pins each.

/// The document of every node that is a folder; at the root it alone makes a folder or archive a dataset.
pub const META: &str = "meta.json";
/// End of the file of a leaf.
pub const LEAF: &str = ".memmap";
/// End of the file with the sizes of a nested tensor's parts.
pub const SIZES: &str = ".shape.memmap";
/// Pickled fields that JSON cannot hold.
pub const FIELDS_PICKLE: &str = "other.pickle";
/// The pickled values of a NonTensorStack; also the text of its `data` then.
pub const STACK_PICKLE: &str = "pickle.pkl";
/// What the pickled fields are where all of them are container classes.
pub const JSON_TYPES: &str = "json_types.json";
/// The folder of the tensordict of a tensorclass.
pub const TENSORDICT: &str = "_tensordict";
/// The folder of what a view or a sub-tensordict looks at.
pub const SOURCE: &str = "_source";
/// The newest version of the format that packstone reads, and the one that it writes.
pub const VERSION: u64 = 1;
/// End of the name of an archive, case-sensitive.
pub const ARCHIVE: &str = ".tdz";
/// Keys whose entry the tensordict's own entry of that name replaces.
pub const LOST_KEYS: [&str; 3] = ["shape", "device", "_type"];
/// Keys whose entry replaces the tensordict's own entry of that name.
pub const KEPT_KEYS: [&str; 3] = ["_format_version", "_class", "_names"];
/// Both: keys that readers lose, or that make readers lose something else.
pub const RESERVED_KEYS: [&str; 6] =
    ["shape", "device", "_type", "_format_version", "_class", "_names"];
/// The longest name that file systems take, in bytes.
pub const NAME_BYTES: usize = 255;
/// The entry, a text, in which packstone's writer says what the tree means; other readers skip it.
pub const EXTENSION: &str = "_packstone";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_format() {
        let names = [
            META,
            LEAF,
            SIZES,
            FIELDS_PICKLE,
            STACK_PICKLE,
            JSON_TYPES,
            TENSORDICT,
            SOURCE,
            ARCHIVE,
        ];
        assert_eq!(
            names.join(" "),
            "meta.json .memmap .shape.memmap other.pickle pickle.pkl json_types.json _tensordict _source .tdz"
        );
        assert_eq!(
            LOST_KEYS.join(" ") + " " + &KEPT_KEYS.join(" "),
            "shape device _type _format_version _class _names"
        );
        assert_eq!([&LOST_KEYS[..], &KEPT_KEYS].concat(), RESERVED_KEYS);
        assert_eq!((VERSION, NAME_BYTES, EXTENSION), (1, 255, "_packstone"));
    }
}
