//! What packstone's own writer leaves in the root's metadata, see [`crate::model::own`].

use packstone_container::json::{At, Object};

use super::text::said;
use crate::error::{Error, Place};
pub use crate::model::own::{MEMBER, Own, RECORDS};

/// Why a member is not what the writer leaves; for `verify`.
pub fn fault(metadata: &Object, records: u64) -> Option<Error> {
    let value = metadata.get(MEMBER)?;
    let place = |path: &str| {
        super::super::document::root_place().json(path.replacen('$', "$.metadata.packstone", 1))
    };
    let odd = |place: Place, message: String| {
        let kind = packstone_io::Kind::Corrupt;
        Some(Error::new(kind, super::super::codes::METADATA_LOOSE, place, message))
    };
    match Own::parse(At::root(value)) {
        Err(error) => odd(place(error.path()), said(&error)),
        Ok(_) if Own::of(metadata, records).is_none() => odd(
            place("$.collections"),
            format!("expected collections of {records} records in all, found others"),
        ),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DType, Field, Schema};

    #[test]
    fn what_does_not_fit_is_told() {
        let own = Own {
            schema: Schema::new(vec![Field::new("x", DType::Float32, vec![3])]),
            collections: vec![("train".to_owned(), 3)],
            ..Own::default()
        };
        let metadata = Object::from_iter([(MEMBER, own.to_value())]);
        assert!(fault(&metadata, 3).is_none());
        assert!(fault(&metadata, 4).is_some());
        assert!(fault(&Object::from_iter([(MEMBER, 7)]), 0).is_some());
    }
}
