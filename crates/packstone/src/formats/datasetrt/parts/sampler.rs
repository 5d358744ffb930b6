//! The order of samples: windows of a cyclic table or of an endless sequence of draws.
//!
//! ```text
//! ordered    rows 0 1 2 3 4 0 1 2 …     [── window ──][── window ──]
//! shuffled   draws 0 1 2 3 4 5 6 7 …    each window is one epoch, reserved when reading starts
//! ```
//!
//! A window belongs to whoever reserved it: the next one starts after it even if it is never read to its end. Any
//! position of a window is computed directly. A [`Sampler`] and a window with its position can be saved as a small JSON
//! value and restored exactly, which the original cannot.

use packstone_container::json::{At, ShapeError, Value};
use packstone_io::Kind;

use super::super::codes;
use super::draws::Population;
use super::shape::shape_error;
use crate::error::{Error, Place, Result};

/// What the state of a sampler says it is.
const FORMAT: &str = "packstone.datasetrt.sampler";
/// The version of that state.
const VERSION: u64 = 1;

/// In which order samples come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As in the table, over and over; weights do not count.
    Table,
    /// Drawn by a seed.
    Shuffled(u64),
}

/// Hands out windows of one epoch each.
#[derive(Clone, Debug)]
pub struct Sampler {
    order: Order,
    population: Population,
    epoch_len: u64,
    next_row: u64,
    next_draw: u64,
}

impl Sampler {
    /// A sampler at its beginning, whose epoch is as long as the table.
    ///
    /// # Errors
    /// [`codes::SAMPLING_INVALID`] where there are no rows.
    pub fn new(population: Population, order: Order) -> Result<Self> {
        let epoch_len = population.rows();
        if epoch_len == 0 {
            return Err(invalid("expected at least one row to sample from, found none".to_owned()));
        }
        Ok(Self { order, population, epoch_len, next_row: 0, next_draw: 0 })
    }

    /// Samples from another table from now on: the epoch is as long as it, and windows begin anew.
    ///
    /// # Errors
    /// [`codes::SAMPLING_INVALID`] where there are no rows; nothing changes then.
    pub fn replace(&mut self, population: Population) -> Result<()> {
        *self = Self::new(population, self.order)?;
        Ok(())
    }

    /// Samples of an epoch.
    #[must_use]
    pub fn epoch_len(&self) -> u64 {
        self.epoch_len
    }

    /// Sets the samples of the epochs to come; what was reserved keeps its length, and the next one starts where it
    /// would have.
    ///
    /// # Errors
    /// [`codes::SAMPLING_INVALID`] for 0.
    pub fn set_epoch_len(&mut self, samples: u64) -> Result<()> {
        if samples == 0 {
            return Err(invalid("expected an epoch of at least one sample, found 0".to_owned()));
        }
        self.epoch_len = samples;
        Ok(())
    }

    /// What is sampled from.
    #[must_use]
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The order of samples.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Reserves the next window. To be called when reading starts, not before.
    pub fn reserve(&mut self) -> Window {
        let (window, next) = (self.ahead(0), self.ahead(1).first);
        match self.order {
            Order::Table => self.next_row = next,
            Order::Shuffled(_) => self.next_draw = next,
        }
        window
    }

    /// The window that is next after so many others of the present length; none is reserved.
    #[must_use]
    pub fn ahead(&self, windows: u64) -> Window {
        let len = self.epoch_len;
        let first = match self.order {
            Order::Table => {
                let rows = u128::from(self.population.rows());
                let samples =
                    (u128::from(windows) * u128::from(len)).checked_rem(rows).unwrap_or(0);
                let first = (u128::from(self.next_row) + samples).checked_rem(rows).unwrap_or(0);
                u64::try_from(first).unwrap_or(0)
            }
            Order::Shuffled(_) => self.next_draw.wrapping_add(windows.wrapping_mul(len)),
        };
        Window { order: self.order, population: self.population.clone(), first, len, position: 0 }
    }

    /// Everything that the windows to come depend on, save the table; and a window that is being read, if any.
    ///
    /// # Errors
    /// [`codes::STATE_INVALID`] where the window is of a table that was replaced since.
    pub fn state(&self, window: Option<&Window>) -> Result<Value> {
        let window = match window {
            Some(window) if !self.is_same(&window.population) => {
                let message = "expected a window of the present table, found one of a table that was replaced";
                return Err(Error::new(
                    Kind::Invalid,
                    codes::STATE_INVALID,
                    Place::default(),
                    message,
                ));
            }
            Some(window) => packstone_container::json!({
                "first": window.first,
                "len": window.len,
                "position": window.position,
            }),
            None => Value::Null,
        };
        let seed = match self.order {
            Order::Table => None,
            Order::Shuffled(seed) => Some(seed),
        };
        Ok(packstone_container::json!({
            "format": FORMAT,
            "version": VERSION,
            "seed": seed,
            "rows": self.population.rows(),
            "weights": digest(&self.population),
            "epoch_len": self.epoch_len,
            "sequential_offset": self.next_row,
            "draw_offset": self.next_draw,
            "window": window,
        }))
    }

    /// A sampler, and the window that was being read, as they were saved. The table must be the one of then.
    ///
    /// # Errors
    /// [`codes::STATE_VERSION`] for the state of another release, [`codes::STATE_INVALID`] for what is no state or
    /// belongs to another table.
    pub fn restore(state: &Value, population: Population) -> Result<(Self, Option<Window>)> {
        let at = At::root(state);
        let format = at.field("format").and_then(At::str).map_err(shape)?;
        if format != FORMAT {
            return Err(wrong("$.format", format!("expected {FORMAT:?}, found {format:?}")));
        }
        let version = at.field("version").and_then(At::u64).map_err(shape)?;
        if version != VERSION {
            let message = format!("expected a sampler state of version {VERSION}, found {version}");
            let place = Place::default().json("$.version");
            return Err(Error::new(Kind::Unsupported, codes::STATE_VERSION, place, message));
        }
        let number = |name: &str| at.field(name).and_then(At::u64).map_err(shape);
        let rows = number("rows")?;
        if rows != population.rows() {
            let found = population.rows();
            return Err(wrong("$.rows", format!("expected a table of {rows} rows, found {found}")));
        }
        let weights = at.field("weights").map_err(shape)?;
        let weights =
            if weights.value().is_null() { None } else { Some(weights.str().map_err(shape)?) };
        if weights != digest(&population) {
            let message = match (weights, digest(&population)) {
                (None, _) => "expected a table that was never replaced, found one with weights",
                (_, None) => "expected a table with weights, found one that was never replaced",
                _ => "expected the weights of the state, found others",
            };
            return Err(wrong("$.weights", message.to_owned()));
        }
        let seed = at.field("seed").map_err(shape)?;
        let order = match seed.value().is_null() {
            true => Order::Table,
            false => Order::Shuffled(seed.u64().map_err(shape)?),
        };
        let mut sampler = Self::new(population, order)?;
        sampler.epoch_len = number("epoch_len")?;
        sampler.next_row = number("sequential_offset")?;
        sampler.next_draw = number("draw_offset")?;
        if sampler.epoch_len == 0 {
            return Err(wrong("$.epoch_len", "expected at least 1, found 0".to_owned()));
        }
        if sampler.next_row >= rows {
            let message = format!("expected a row below {rows}, found {}", sampler.next_row);
            return Err(wrong("$.sequential_offset", message));
        }
        let window = at.field("window").map_err(shape)?;
        let window = if window.value().is_null() { None } else { Some(sampler.window(window)?) };
        Ok((sampler, window))
    }

    fn window(&self, at: At<'_>) -> Result<Window> {
        let number = |name: &str| at.field(name).and_then(At::u64).map_err(shape);
        let (first, len, position) = (number("first")?, number("len")?, number("position")?);
        if position > len {
            let message = format!("expected a position up to {len}, found {position}");
            return Err(wrong("$.window.position", message));
        }
        Ok(Window { order: self.order, population: self.population.clone(), first, len, position })
    }

    fn is_same(&self, other: &Population) -> bool {
        self.population.rows() == other.rows() && digest(&self.population) == digest(other)
    }
}

/// One epoch: an iterator over rows of the table, which need not begin at the start.
#[derive(Clone, Debug)]
pub struct Window {
    order: Order,
    population: Population,
    first: u64,
    len: u64,
    position: u64,
}

impl Window {
    /// Samples in all.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.len
    }

    /// Samples handed out so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes to a sample of the window; past its end, to the end.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.len);
    }

    /// The row of a sample, whatever was read before; `None` past the end.
    #[must_use]
    pub fn row(&self, sample: u64) -> Option<u64> {
        if sample >= self.len {
            return None;
        }
        match self.order {
            Order::Table => {
                let place = u128::from(self.first) + u128::from(sample);
                let row = place.checked_rem(u128::from(self.population.rows()))?;
                u64::try_from(row).ok()
            }
            Order::Shuffled(seed) => {
                Some(self.population.draw(seed, self.first.wrapping_add(sample)))
            }
        }
    }
}

impl Iterator for Window {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let row = self.row(self.position)?;
        self.position += 1;
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.len - self.position);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

fn digest(population: &Population) -> Option<&str> {
    match population {
        Population::Equal(_) => None,
        Population::Weighted(weights) => Some(weights.digest()),
    }
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::SAMPLING_INVALID, Place::default(), message)
}

fn wrong(path: &str, message: String) -> Error {
    Error::new(Kind::Invalid, codes::STATE_INVALID, Place::default().json(path), message)
}

fn shape(error: ShapeError) -> Error {
    shape_error(error, codes::STATE_INVALID)
}
