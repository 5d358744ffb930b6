//! Where a loader stands: one JSON object of less than 1 kB.
//!
//! ```text
//! {"format":"packstone.loader","version":1,
//!  "dataset":{"format":"sedpack","collection":"train","samples":1000,"digest":"…"},       Fingerprint
//!  "order":{"name":"shuffled","version":1,"len":1000,"params":{"seed":7}},                OrderId
//!  "epoch":2,"position":384,"remainder":"pad"}
//! ```
//!
//! `position` counts the positions of the epoch that all ranks together have been handed, so one state serves every rank,
//! and another number of ranks or workers goes on with it. It is valid between any two steps; at the end of an epoch it
//! is the length of the order, which is the same place as position 0 of the next epoch. Nothing is computed to go on:
//! any position of an order is found at once.

use packstone_container::Limits;
use packstone_container::json::{self, At, Object, ReadOptions, ShapeError, Style, Value};
use packstone_io::Kind;

use super::codes;
use super::fingerprint::Fingerprint;
use super::order::{Order, OrderId};
use super::share::Remainder;
use crate::error::{Error, Place, Result};

/// What a state says it is.
const FORMAT: &str = "packstone.loader";
/// The version of this object.
const VERSION: u64 = 1;
/// The longest text that is read as a state.
const LONGEST: usize = 4096;
/// Members that a state has, and no others.
const MEMBERS: [&str; 7] =
    ["format", "version", "dataset", "order", "epoch", "position", "remainder"];

/// Where a loader stands.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What is loaded.
    pub dataset: Fingerprint,
    /// In which order.
    pub order: OrderId,
    /// The epoch.
    pub epoch: u64,
    /// Positions of the epoch that were handed out.
    pub position: u64,
    /// What happens where the last step has too few positions.
    pub remainder: Remainder,
}

impl State {
    /// The beginning of the first epoch.
    #[must_use]
    pub fn new(dataset: Fingerprint, order: &dyn Order, remainder: Remainder) -> Self {
        Self { dataset, order: OrderId::of(order), epoch: 0, position: 0, remainder }
    }

    /// The same at another place.
    #[must_use]
    pub fn at(&self, epoch: u64, position: u64) -> Self {
        Self { epoch, position, ..self.clone() }
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let mut out = Object::new();
        out.insert("format", FORMAT);
        out.insert("version", VERSION);
        out.insert("dataset", Value::Object(self.dataset.to_json()));
        out.insert("order", Value::Object(self.order.to_json()));
        out.insert("epoch", self.epoch);
        out.insert("position", self.position);
        out.insert("remainder", self.remainder.name());
        out
    }

    /// Reads a state.
    ///
    /// # Errors
    /// `loader/state_invalid` for what is none, with the JSON path; `loader/state_version` for one of another release;
    /// `loader/state_position` for a position past the end.
    pub fn parse(text: &[u8]) -> Result<Self> {
        if text.len() > LONGEST {
            let message =
                format!("expected a state of at most {LONGEST} bytes, found {}", text.len());
            return Err(invalid(Place::default(), message));
        }
        let options =
            ReadOptions::default().with_limits(Limits::default()).with_refused_duplicates(true);
        let document = json::read(text, &options).map_err(|error| {
            invalid(Place::default(), format!("expected a state, found none: {error}"))
        })?;
        Self::from_json(&document.value)
    }

    /// The state that a value is.
    ///
    /// # Errors
    /// As for [`State::parse`].
    pub fn from_json(value: &Value) -> Result<Self> {
        let at = At::root(value);
        let format = text(at, "format")?;
        if format != FORMAT {
            return Err(wrong("$.format", format!("expected {FORMAT:?}, found {format:?}")));
        }
        let version = number(at, "version")?;
        if version != VERSION {
            let message = format!("expected a loader state of version {VERSION}, found {version}");
            let place = Place::default().json("$.version");
            return Err(Error::new(Kind::Unsupported, codes::STATE_VERSION, place, message));
        }
        for (name, _) in at.entries().map_err(shape)? {
            if !MEMBERS.contains(&name) {
                let known = MEMBERS.join(", ");
                return Err(wrong("$", format!("expected the members {known}, found {name:?}")));
            }
        }
        let dataset = at.field("dataset").map_err(shape)?;
        let dataset = Fingerprint {
            format: text(dataset, "format")?.to_owned(),
            collection: text(dataset, "collection")?.to_owned(),
            samples: number(dataset, "samples")?,
            digest: text(dataset, "digest")?.to_owned(),
        };
        let order = at.field("order").map_err(shape)?;
        let order = OrderId {
            name: text(order, "name")?.to_owned(),
            version: number(order, "version")?,
            len: number(order, "len")?,
            params: order.field("params").and_then(At::object).map_err(shape)?.clone(),
        };
        let remainder = text(at, "remainder")?;
        let remainder = Remainder::from_name(remainder).ok_or_else(|| {
            let message = format!("expected pad, drop or repeat, found {remainder:?}");
            wrong("$.remainder", message)
        })?;
        let (epoch, position) = (number(at, "epoch")?, number(at, "position")?);
        if position > order.len {
            let message = format!("expected a position up to {}, found {position}", order.len);
            let place = Place::default().json("$.position");
            return Err(Error::new(Kind::Invalid, codes::STATE_POSITION, place, message));
        }
        Ok(Self { dataset, order, epoch, position, remainder })
    }

    /// Refuses to go on with another dataset or in another order than those of the state.
    ///
    /// # Errors
    /// `loader/state_dataset`, `loader/state_order`, `loader/state_version`, each with what was expected and found.
    pub fn check(&self, dataset: &Fingerprint, order: &dyn Order) -> Result<()> {
        if self.dataset != *dataset {
            let message = format!("expected a state of {dataset}, found one of {}", self.dataset);
            let place = Place::default().json("$.dataset");
            return Err(Error::new(Kind::Conflict, codes::STATE_DATASET, place, message));
        }
        let order = OrderId::of(order);
        let differs = |member: &str, expected: &str, found: &str| {
            let message = format!("expected a state of {expected}, found one of {found}");
            let place = Place::default().json(format!("$.order{member}"));
            Err(Error::new(Kind::Conflict, codes::STATE_ORDER, place, message))
        };
        let (own, name) = (&self.order, &order.name);
        if own.name != *name {
            return differs(".name", &format!("order {name:?}"), &format!("{:?}", own.name));
        }
        if own.version != order.version {
            let (expected, found) = (order.version, own.version);
            let message = format!(
                "expected version {expected} of order {name:?}, found a state of version {found}"
            );
            let place = Place::default().json("$.order.version");
            return Err(Error::new(Kind::Unsupported, codes::STATE_VERSION, place, message));
        }
        if own.len != order.len {
            let expected = format!("order {name:?} with {} positions", order.len);
            return differs(".len", &expected, &own.len.to_string());
        }
        let (expected, found) = (order.params_text(), own.params_text());
        if expected != found {
            return differs(".params", &format!("order {name:?} with {expected}"), &found);
        }
        Ok(())
    }

    /// The state so many positions later, in this epoch or one after it.
    ///
    /// # Errors
    /// `loader/state_position` where there is no such epoch.
    pub fn skip(&self, positions: u64) -> Result<Self> {
        self.moved(|now| now.checked_add(u128::from(positions)), positions, "after")
    }

    /// The state so many positions earlier.
    ///
    /// # Errors
    /// `loader/state_position` before the beginning of the first epoch.
    pub fn rewind(&self, positions: u64) -> Result<Self> {
        self.moved(|now| now.checked_sub(u128::from(positions)), positions, "before")
    }

    fn moved(&self, to: impl Fn(u128) -> Option<u128>, positions: u64, side: &str) -> Result<Self> {
        if positions == 0 {
            return Ok(self.clone());
        }
        let len = u128::from(self.order.len);
        let now = u128::from(self.epoch) * len + u128::from(self.position);
        let place =
            to(now).and_then(|place| Some((place.checked_div(len)?, place.checked_rem(len)?)));
        let place = place.and_then(|(epoch, position)| {
            Some((u64::try_from(epoch).ok()?, u64::try_from(position).ok()?))
        });
        place.map(|(epoch, position)| self.at(epoch, position)).ok_or_else(|| {
            let message = format!(
                "expected a place inside the epochs, found {positions} positions {side} epoch {}, position {}",
                self.epoch, self.position
            );
            Error::new(Kind::Invalid, codes::STATE_POSITION, Place::default(), message)
        })
    }
}

/// The state as one line of JSON.
impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&json::write(&Value::Object(self.to_json()), &Style::COMPACT))
    }
}

fn text<'a>(at: At<'a>, name: &str) -> Result<&'a str> {
    at.field(name).and_then(At::str).map_err(shape)
}

fn number(at: At<'_>, name: &str) -> Result<u64> {
    at.field(name).and_then(At::u64).map_err(shape)
}

fn shape(error: ShapeError) -> Error {
    // The place says the path.
    let (path, message) = (error.path(), error.to_string());
    let message = message.strip_prefix(&format!("{path}: ")).unwrap_or(&message).to_owned();
    invalid(Place::default().json(path), message)
}

fn wrong(path: &str, message: String) -> Error {
    invalid(Place::default().json(path), message)
}

fn invalid(place: Place, message: String) -> Error {
    Error::new(Kind::Invalid, codes::STATE_INVALID, place, message)
}
