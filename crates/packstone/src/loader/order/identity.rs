//! What a state knows of an order: name, version and parameters, in few bytes.

use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::Object;

use super::Order;
use crate::model::canonical;

/// Parameters that take more bytes as JSON are kept as their digest.
const MOST: usize = 320;
/// Names that take more bytes as JSON are cut.
const NAME: usize = 48;

/// Which order it is. Equal ones give equal sequences.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderId {
    /// [`Order::name`].
    pub name: String,
    /// [`Order::version`].
    pub version: u64,
    /// Positions of an epoch.
    pub len: u64,
    /// [`Order::params`] in the canonical spelling, or the member `digest` alone with the XXH3-128 of it.
    pub params: Object,
}

impl OrderId {
    /// That of `order`.
    #[must_use]
    pub fn of(order: &dyn Order) -> Self {
        let mut params = order.params();
        let text = canonical::object(&params);
        if text.len() > MOST {
            params =
                Object::from_iter([("digest", digest_hex(Algorithm::Xxh128, text.as_bytes()))]);
        }
        let name = cut(order.name(), NAME).to_owned();
        Self { name, version: order.version(), len: order.len(), params }
    }

    /// The parameters in one spelling.
    #[must_use]
    pub fn params_text(&self) -> String {
        canonical::object(&self.params)
    }

    /// As an object: name, version, len, params.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let mut out = Object::new();
        out.insert("name", self.name.as_str());
        out.insert("version", self.version);
        out.insert("len", self.len);
        out.insert("params", self.params.clone());
        out
    }
}

/// As much of a text as takes so many bytes in JSON, whatever is escaped.
pub(in crate::loader) fn cut(text: &str, most: usize) -> &str {
    let mut bytes = 0;
    let end = text.char_indices().find(|(_, c)| {
        bytes += match c {
            ' '..='~' if !matches!(c, '"' | '\\') => 1,
            c => 6 * c.len_utf16(),
        };
        bytes > most
    });
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
