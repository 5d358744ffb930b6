//! The id that a new cache gets from the name of its source.

use packstone_container::digest::sha256;

/// The first eight bytes of the SHA-256 of the name, big-endian, without the highest bit. The name is taken as it is:
/// equal names give equal ids, and a composed letter is another one than its parts.
pub fn cache_id(source_name: &str) -> u64 {
    let digest = sha256(source_name.as_bytes());
    let head = digest.first_chunk::<8>().copied().unwrap_or_default();
    u64::from_be_bytes(head) & (u64::MAX >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What release 0.4.8 gives these names.
    #[test]
    fn ids_are_those_of_the_original() {
        for (name, id) in [
            ("", 7183457195969485844),
            ("a", 5374906597990186442),
            ("source", 4742122821122130104),
            ("\u{e9}", 5375421630974772051),
            ("e\u{301}", 4544825244877739698),
            ("train_records_v1", 4127359618335148892),
            ("new-cache", 1336417375658547502),
            ("tmp", 5697286536161194493),
            ("a/", 3737325468852538995),
            ("a\\b", 5053063868695065395),
            (" ", 3938934374763561727),
            ("CON", 2583875098342171333),
            ("漢字-cache", 67402156224026416),
            ("😀", 8089654826421384519),
            ("\u{dc}n\u{ef}code.v1", 2586904381523680149),
            (&"x".repeat(255), 5919429593120609644),
        ] {
            assert_eq!(cache_id(name), id, "{name:?}");
        }
    }
}
