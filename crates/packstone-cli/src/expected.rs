//! Commands that take one format alone: another one is refused by its name, before anything of it is read.

use std::path::Path;

use packstone::format::Format;
use packstone::{Error, Kind, Place, Result, Root, registry};

/// Refuses what is a dataset of another format than `format`; `takes` says in words what `command` takes. What is no
/// dataset at all is left to the command, which knows better what is missing.
///
/// # Errors
/// `code`; I/O faults.
pub(crate) fn format(
    (command, takes): (&str, &str),
    format: &dyn Format,
    (path, root): (&Path, &dyn Root),
    code: &'static str,
) -> Result<()> {
    let found = match registry::probe(root) {
        Ok(found) if found.id() == format.id() => return Ok(()),
        Ok(found) => found,
        Err(error) if error.code() == "format/unrecognized" => return Ok(()),
        Err(error) => return Err(error),
    };
    let message = format!(
        "expected {takes}, which {command} takes, found a dataset of another format, {} ({})",
        found.id(),
        found.title()
    );
    Err(Error::new(Kind::Unsupported, code, Place::file(path.display()), message))
}

/// The code of all commands but `migrate`.
pub(crate) const WRONG_FORMAT: &str = "cli/wrong_format";

/// The same for commands that take a tensordict.
pub(crate) fn tensordict(command: &str, takes: &str, path: &Path, root: &dyn Root) -> Result<()> {
    let expected = &packstone::formats::tensordict::TensorDict;
    format((command, takes), expected, (path, root), WRONG_FORMAT)
}
