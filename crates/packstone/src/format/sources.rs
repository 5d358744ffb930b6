//! The roots that a dataset is read from, and where its references may lead.

use std::fmt;
use std::sync::Arc;

use packstone_io::{Kind, Root};

use crate::error::{Error, Place, Result};

/// Where references that lead out of a dataset may lead: texts that they start with, and what lies there.
#[derive(Clone, Default)]
pub struct Sources(pub Vec<(String, Arc<dyn Root>)>);

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(start, _)| start)).finish()
    }
}

/// The one root there is, for formats that do not read several as one.
pub(crate) fn only(id: &str, roots: Vec<Arc<dyn Root>>) -> Result<Arc<dyn Root>> {
    let [root] = <[_; 1]>::try_from(roots).map_err(|roots| {
        let message =
            format!("expected one {id} dataset, found {} that cannot be read as one", roots.len());
        Error::new(Kind::Unsupported, "format/one_root", Place::default(), message)
    })?;
    Ok(root)
}
