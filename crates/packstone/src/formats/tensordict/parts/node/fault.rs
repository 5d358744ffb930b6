//! Why something could not be read.

use std::sync::Arc;

use packstone_io::Kind;

use crate::error::{Error, Place};
use crate::model::{Finding, Severity};

/// Why something could not be read: an error that can be told more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Arc<(Kind, &'static str, Place, String)>);

impl Fault {
    /// A fault with its stable code.
    pub fn new(kind: Kind, code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self(Arc::new((kind, code, place, message.into())))
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.1
    }

    /// As an error.
    pub fn error(&self) -> Error {
        let (kind, code, place, message) = self.0.as_ref();
        Error::new(*kind, code, place.clone(), message.clone())
    }

    /// As a finding.
    pub fn finding(&self) -> Finding {
        let (_, code, place, message) = self.0.as_ref();
        Finding::new(Severity::Error, code, place.clone(), message.clone())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error.code(), error.place().clone(), error.message())
    }
}
