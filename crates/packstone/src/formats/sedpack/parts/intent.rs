//! The intent of a publication: lists and the root document, see [`crate::intent`].

use packstone_io::RelPath;

use super::super::codes;
use super::super::layout::{INTENT, ROOT_DOCUMENT, SHARDS_LIST};
use crate::intent::Intent;

/// Where it stands, and what it may speak of.
pub const PUBLICATION: Intent<'static> = Intent {
    file: INTENT,
    may: is_document,
    allowed: "a list or the root document",
    malformed: codes::SCHEMA_INVALID,
    only_begun: false,
};

fn is_document(path: &RelPath) -> bool {
    path.name() == SHARDS_LIST || path.as_str() == ROOT_DOCUMENT
}
