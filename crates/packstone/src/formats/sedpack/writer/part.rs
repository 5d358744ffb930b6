//! A filler of one part, which stands beside others until all are merged.

use std::sync::Arc;

use packstone_io::RootMut;

use super::super::options::FillerOptions;
use super::super::parts::merge;
use super::Filler;
use crate::error::Result;
use crate::format::{Writer, Written};
use crate::model::Batch;

/// A filler whose end is a part file.
pub struct PartFiller {
    filler: Filler,
    name: String,
}

impl PartFiller {
    /// Writes below `<split>/<name>`; the name may be a path of several folders.
    ///
    /// # Errors
    /// As for [`Filler::open`]; `path_escape` where the name leads elsewhere; `parts_invalid` where somebody used it
    /// before, finished or not.
    pub fn open(root: Arc<dyn RootMut>, name: &str, options: FillerOptions) -> Result<Self> {
        let relative = merge::part_folder(name)?;
        merge::check_unused(root.as_ref(), name)?;
        Ok(Self { filler: Filler::open(root, &relative, options)?, name: name.to_owned() })
    }
}

impl Writer for PartFiller {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        self.filler.write(collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        self.filler.finish_part(&self.name)
    }
}
