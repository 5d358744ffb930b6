//! What to do about an error, where one sentence can say it.

use packstone::Error;

/// What to say where nothing meets a condition.
pub(crate) const NULL_NAME: &str =
    "hint: a name that no sample has is null; `packstone head` shows the names there are";

/// The hint for an error.
pub(crate) fn hint(error: &Error) -> Option<&'static str> {
    about(error.code())
}

/// The hint for a code.
pub(crate) fn about(code: &str) -> Option<&'static str> {
    let name = code.split_once('/').map_or("", |(_, name)| name);
    Some(match name {
        "unrecognized" => "`packstone formats` lists the formats and the file that marks each",
        "exists" => "choose a path that does not exist yet; packstone overwrites nothing",
        "collision" => {
            "nothing published is replaced: choose another name, or, for a set that was cut off, another `--publication-id`"
        }
        "conflict" => "another process writes there; wait for it and try again",
        "hash_mismatch" | "count_mismatch" | "decompress_error" | "missing_file" => {
            "`packstone verify PATH` lists everything that is wrong with the dataset"
        }
        "version_too_new" => "a newer packstone may read it",
        "unknown_split" => "`packstone inspect PATH` lists the collections",
        "path_absolute" => {
            "`--follow DIR` reads what references name below DIR; only where you trust both"
        }
        "no_demo_data" => "run it in the repository, or say `--data DIR`",
        "would_lose" | "unreadable" => "leave `--strict` out to convert all the same",
        "wrong_format" => "`packstone convert` writes a dataset in another format",
        "usage" => "`packstone help` shows how each command is called",
        _ => return None,
    })
}
