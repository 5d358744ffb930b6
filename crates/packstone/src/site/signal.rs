//! Operations on signal datasets at paths, as every front end offers them: annotation sets, and views.

use std::path::Path;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{Format, Sources};
use crate::formats::sds::Sds;
use crate::formats::sds::options::OpenOptions;
use crate::formats::sds::reader::SdsDataset;
use crate::registry;

mod annotate;
mod view;

pub use annotate::{Annotate, Annotated, Annotations, Work, annotate};
pub use view::{View, Viewed, Which, view};

/// Opens the signal dataset at `path`, to add to it or to refer to it, following references to `sources`.
///
/// # Errors
/// `site/wrong_format` for a dataset of another format; those of opening.
pub fn signal(path: &Path, sources: &Sources) -> Result<(Arc<dyn RootMut>, SdsDataset)> {
    let root = super::root(path)?;
    let format = registry::probe(root.as_ref())?;
    if format.id() != Sds.id() {
        let message = format!("expected a SignalDataset (sds), found {}", format.id());
        let place = Place::file(path.display());
        return Err(Error::new(Kind::Unsupported, "site/wrong_format", place, message));
    }
    let options = OpenOptions::within(&Limits::default()).with_sources(sources);
    let readable: Arc<dyn Root> = Arc::clone(&root) as _;
    Ok((root, SdsDataset::open_with(readable, &options)?))
}

/// The error for a request that makes no sense.
fn usage(place: Place, message: String) -> Error {
    Error::new(Kind::Invalid, "cli/usage", place, message)
}
