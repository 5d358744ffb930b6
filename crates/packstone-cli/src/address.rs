//! `path#collection`: which dataset, and which of its collections.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use packstone::error::Place;
use packstone::format::{Collection, Dataset, Format, Sources};
use packstone::{Error, Kind, Limits, Result, Root, RootMut, registry, site};

/// A path, and a collection where one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The folder of the dataset.
    pub(crate) path: PathBuf,
    /// The collection.
    pub(crate) collection: Option<String>,
}

impl FromStr for Address {
    type Err = Infallible;

    /// The last `#` divides, unless the whole text is a path that exists.
    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        let (path, collection) = site::split_address(text);
        Ok(Self { path, collection })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.collection.iter().try_for_each(|name| write!(f, "#{name}"))
    }
}

/// An open dataset with where it lies.
pub(crate) struct Opened {
    /// Its folder or file; the first where several are read as one.
    pub(crate) root: Arc<dyn Root>,
    /// Its format.
    pub(crate) format: &'static dyn Format,
    /// The dataset.
    pub(crate) dataset: Arc<dyn Dataset>,
}

/// Folders that references out of a dataset may lead to.
static FOLLOWED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Notes what `--follow` allows; once, before anything is opened.
pub(crate) fn follow(folders: &[PathBuf]) {
    // Set by nobody else.
    let _ = FOLLOWED.set(folders.to_vec());
}

/// The folders that `--follow` names, opened.
pub(crate) fn sources() -> Result<Sources> {
    site::followed(FOLLOWED.get().map(Vec::as_slice).unwrap_or_default())
}

/// Opens all addresses as one dataset; the first one may name a collection.
pub(crate) fn open_all(addresses: &[Address]) -> Result<Opened> {
    addresses.iter().skip(1).try_for_each(|address| address.whole().map(|_| ()))?;
    let paths: Vec<PathBuf> = addresses.iter().map(|address| address.path.clone()).collect();
    let site::Opened { roots, format, dataset } =
        site::open_following(&paths, &Limits::default(), &sources()?)?;
    let root = roots.into_iter().next().ok_or_else(|| {
        Error::new(Kind::Invalid, "cli/usage", Place::default(), "expected a path, found none")
    })?;
    Ok(Opened { root, format, dataset })
}

impl Address {
    /// Where it lies and the format of what lies there.
    pub(crate) fn probe(&self) -> Result<(Arc<dyn RootMut>, &'static dyn Format)> {
        let root = site::root(&self.path)?;
        let format = registry::probe(root.as_ref())?;
        Ok((root, format))
    }

    /// Opens the dataset.
    pub(crate) fn open(&self) -> Result<Opened> {
        open_all(std::slice::from_ref(self))
    }

    /// Refuses a collection where a whole dataset is meant.
    pub(crate) fn whole(&self) -> Result<&Self> {
        match &self.collection {
            None => Ok(self),
            Some(name) => {
                let message = format!("expected the path of a dataset, found collection {name:?}");
                Err(Error::new(
                    Kind::Invalid,
                    "cli/usage",
                    Place::file(self.path.display()),
                    message,
                ))
            }
        }
    }
}

impl Opened {
    /// The collections that are named in the address and by `more`, or all.
    pub(crate) fn collections(
        &self,
        addresses: &[Address],
        more: &[String],
    ) -> Result<Vec<Arc<dyn Collection>>> {
        let named = addresses.iter().filter_map(|address| address.collection.as_ref());
        let mut names: Vec<String> = named.chain(more).cloned().collect();
        if names.is_empty() {
            names = self.dataset.collections();
        }
        names.iter().map(|name| self.dataset.collection(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hash_divides() {
        let parse = |text: &str| {
            let Ok(address) = text.parse::<Address>();
            (address.path.display().to_string(), address.collection)
        };
        assert_eq!(parse("no/such"), ("no/such".into(), None));
        assert_eq!(parse("no/such#train"), ("no/such".into(), Some("train".into())));
        assert_eq!(parse("a#b#c"), ("a#b".into(), Some("c".into())));
        assert_eq!(parse("#c"), ("#c".into(), None));
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("run#7");
        std::fs::create_dir(&odd).unwrap();
        let odd = odd.display().to_string();
        assert_eq!(parse(&odd), (odd.clone(), None));
        assert_eq!(parse(&format!("{odd}#test")), (odd, Some("test".into())));
    }
}
