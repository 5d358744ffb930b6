//! Objects of annotations in the making: one payload a record, named when the last is written.

use packstone_container::array_record::{Writer, WriterOptions};
use packstone_container::digest::{Algorithm, Hasher};
use packstone_io::{RelPath, RootMut};

use super::super::super::layout::WRITER_OPTIONS;
use super::super::super::options::Policy;
use super::super::carrier::Annotation;
use super::super::reference::ObjectReference;
use super::super::store::Object;
use super::super::write::failed;
use crate::error::Result;
use crate::exec::Retry;

/// An object of annotations in the making.
pub(super) struct SetObject<'r> {
    writer: Writer<Object<'r>>,
    content: Hasher,
    folder: RelPath,
}

impl<'r> SetObject<'r> {
    pub(super) fn start(root: &'r dyn RootMut, folder: &RelPath) -> Result<Self> {
        // The text is one of its grammar.
        let options: WriterOptions = WRITER_OPTIONS.parse().unwrap_or_default();
        let writer = Writer::new(Object::start(root, folder)?, &options);
        let writer = writer.map_err(|error| failed(error, folder))?;
        let content = Hasher::new(Algorithm::Sha256);
        Ok(Self { writer, content, folder: folder.clone() })
    }

    pub(super) fn push(&mut self, annotation: &Annotation, policy: &Policy) -> Result<()> {
        let payload = annotation.encode(&policy.records)?;
        self.content.update(&(payload.len() as u64).to_le_bytes());
        self.content.update(&payload);
        self.writer.write(&payload).map_err(|error| failed(error, &self.folder))
    }

    /// Gives it the name that `name` makes of its content.
    pub(super) fn finish(
        self,
        retry: &Retry,
        name: impl FnOnce(&str) -> String,
    ) -> Result<(ObjectReference, u64)> {
        let path = name(&self.content.finish_hex());
        let path = RelPath::new(&path).unwrap_or_default();
        let mut written = self.writer.finish().map_err(|error| failed(error, &path))?;
        let records = written.records;
        written.out.seal()?;
        let (bytes, _) = retry.run(|| written.out.publish(&path))?;
        Ok((ObjectReference::new(path, bytes), records))
    }
}
