//! `--mix`: several datasets in one order, by ratio.

use std::str::FromStr;
use std::sync::Arc;

use packstone::format::Collection;
use packstone::json::{Object, Value};
use packstone::loader::{Fingerprint, Mixture, Order, Source};
use packstone::{Error, Kind, Place, Result};

use crate::address::{Address, Opened};
use crate::order::{OrderArgs, StopKind};
use crate::output::Out;
use crate::units;

/// Digits behind the point; ratios are whole numbers in the end.
const DIGITS: usize = 9;

/// Ratios as whole numbers, in the proportions that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ratios(Vec<u64>);

impl FromStr for Ratios {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = |part: &str| {
            format!(
                "expected ratios like 7,3 or 0.7,0.3 with at most {DIGITS} digits behind the point, found {part:?}"
            )
        };
        let parts: Vec<(&str, &str)> = text
            .split(',')
            .map(|part| part.trim().split_once('.').unwrap_or((part.trim(), "")))
            .collect();
        let digits = parts.iter().map(|(_, behind)| behind.len()).max().unwrap_or(0);
        let whole = |(before, behind): &(&str, &str)| {
            let digit = |byte: u8| byte.is_ascii_digit();
            let spelled = before.bytes().chain(behind.bytes()).all(digit) && !before.is_empty();
            let text = format!("{before}{behind:0<digits$}");
            let number = text.parse().ok().filter(|_| spelled && digits <= DIGITS);
            number.ok_or_else(|| wrong(&format!("{before}.{behind}")))
        };
        parts.iter().map(whole).collect::<std::result::Result<_, _>>().map(Self)
    }
}

/// How several datasets are mixed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MixArgs {
    /// Mix several datasets in these proportions, one for each: `0.7,0.3` or `7,3`. The order is that of each dataset.
    #[arg(long, value_name = "RATIOS")]
    mix: Option<Ratios>,
    /// With `--mix`: when an epoch ends, before the first dataset would begin anew, or when the last was read.
    #[arg(long, value_enum, default_value_t = StopKind::First)]
    mix_stop: StopKind,
}

/// A dataset, and the collection that is read of it.
type Part = (Opened, Arc<dyn Collection>);

/// What is loaded, from one dataset or several.
pub(crate) struct Loaded {
    /// The datasets, with the collection that is read of each.
    pub(crate) parts: Vec<Part>,
    /// What a state remembers of them.
    pub(crate) fingerprint: Fingerprint,
    /// The order.
    pub(crate) order: Arc<dyn Order>,
    /// What each dataset of a mixture contributes; nothing for one dataset.
    shares: Vec<Share>,
}

/// A dataset of a mixture.
struct Share {
    /// As it was named.
    dataset: String,
    samples: u64,
    ratio: u64,
    /// Samples in an epoch.
    drawn: u64,
}

impl MixArgs {
    /// Opens `addresses` and brings their samples into an order; `pick` says which collection of a dataset is meant.
    ///
    /// # Errors
    /// `cli/usage` where there are not as many ratios as datasets; those of the order and the mixture.
    pub(crate) fn load(
        &self,
        addresses: &[Address],
        order: &OrderArgs,
        threads: usize,
        pick: impl Fn(Vec<Arc<dyn Collection>>) -> Result<Arc<dyn Collection>>,
    ) -> Result<Loaded> {
        let ratios = match (&self.mix, addresses) {
            (None, [_]) => None,
            (Some(Ratios(ratios)), _) if ratios.len() == addresses.len() => Some(ratios),
            (mix, _) => {
                let found = mix.as_ref().map_or(0, |Ratios(ratios)| ratios.len());
                let message = format!(
                    "expected --mix with a ratio for each of {} datasets, found {found}",
                    addresses.len()
                );
                return Err(Error::new(Kind::Invalid, "cli/usage", Place::default(), message));
            }
        };
        let open = |address: &Address| {
            let opened = address.open()?;
            let collection = pick(opened.collections(std::slice::from_ref(address), &[])?)?;
            Ok((opened, collection))
        };
        let parts = addresses.iter().map(open).collect::<Result<Vec<_>>>()?;
        let orders = parts.iter().map(|(_, collection)| order.build(collection, threads));
        let mut orders = orders.collect::<Result<Vec<_>>>()?;
        let prints = parts.iter().map(|(opened, collection)| {
            Fingerprint::of(opened.dataset.as_ref(), collection.as_ref())
        });
        let mut prints = prints.collect::<Result<Vec<_>>>()?;
        let (Some(ratios), true) = (ratios, parts.len() > 1) else {
            let (Some(order), Some(fingerprint)) = (orders.pop(), prints.pop()) else {
                let message = "expected a dataset, found none";
                return Err(Error::new(Kind::Invalid, "cli/usage", Place::default(), message));
            };
            return Ok(Loaded { parts, fingerprint, order, shares: Vec::new() });
        };
        let sources =
            orders.into_iter().zip(&parts).zip(ratios).map(|((order, (_, collection)), ratio)| {
                Source { order, samples: collection.len(), ratio: *ratio }
            });
        let mixture = Mixture::new(sources.collect(), self.mix_stop.stop(), order.seed())?;
        let mut shares = Vec::with_capacity(parts.len());
        let counts = ratios.iter().zip(mixture.counts());
        for ((address, (_, collection)), (ratio, drawn)) in addresses.iter().zip(&parts).zip(counts)
        {
            let (dataset, samples) = (address.to_string(), collection.len());
            shares.push(Share { dataset, samples, ratio: *ratio, drawn });
        }
        let fingerprint = Fingerprint::joined(&prints);
        Ok(Loaded { parts, fingerprint, order: Arc::new(mixture), shares })
    }
}

impl Loaded {
    /// The collections.
    pub(crate) fn collections(&self) -> Vec<Arc<dyn Collection>> {
        self.parts.iter().map(|(_, collection)| Arc::clone(collection)).collect()
    }

    /// What each dataset of a mixture contributes, as lines for people; none for one dataset.
    pub(crate) fn lines(&self, out: &Out) -> Vec<String> {
        let line = |Share { dataset, samples, ratio, drawn }: &Share| {
            let (name, of) = (out.data(dataset).into_owned(), units::count(*samples));
            format!("{} of {of} from {name}, ratio {ratio}", units::counted(*drawn, "sample"))
        };
        self.shares.iter().map(line).collect()
    }

    /// The same as JSON.
    pub(crate) fn sources(&self) -> Option<Value> {
        let source = |Share { dataset, samples, ratio, drawn }: &Share| {
            let mut about = Object::new();
            about.insert("dataset", dataset.as_str());
            about.insert("samples", *samples);
            about.insert("ratio", *ratio);
            about.insert("drawn", *drawn);
            Value::Object(about)
        };
        (!self.shares.is_empty()).then(|| Value::Array(self.shares.iter().map(source).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_as_they_are_written() {
        let whole = |text: &str| text.parse::<Ratios>().ok().map(|ratios| ratios.0);
        assert_eq!(whole("0.7,0.3"), Some(vec![7, 3]));
        assert_eq!(whole("1"), Some(vec![1]));
        assert_eq!(whole("2, 0.25,1."), Some(vec![200, 25, 100]));
        for text in ["", "1,", ",1", "-1,2", "1e3,1", ".5,.5", "0.1234567891,1", "x", "1.2.3,1"] {
            assert_eq!(whole(text), None, "{text:?}");
        }
    }
}
