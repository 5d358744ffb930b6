//! The order in which a format's own library draws.

use std::sync::Arc;

use packstone_io::Kind;

use super::{Order, codes};
use crate::error::{Error, Place, Result};
use crate::format::Collection;

/// The draws of the format's own library, see [`Collection::draws`].
///
/// # Errors
/// `loader/no_native_order` for a format whose library draws nothing; those of [`Collection::draws`].
pub fn native(
    collection: &dyn Collection,
    seed: u64,
    weights: Option<&[f64]>,
) -> Result<Arc<dyn Order>> {
    collection.draws(seed, weights)?.ok_or_else(|| {
        let message = format!(
            "expected a format whose own library draws samples, found that of {:?}",
            collection.name()
        );
        Error::new(Kind::Unsupported, codes::NO_NATIVE_ORDER, Place::default(), message)
    })
}
