//! A conversion, planned: which collections, in which words, and what the target cannot hold.

use std::sync::Arc;

use packstone_io::Kind;

use super::ConvertOptions;
use crate::error::{Error, Place, Result};
use crate::format::{Collection, Dataset, Format, Plan};
use crate::model::Fidelity;
use crate::ops::carry::{self, Carry};

/// A conversion, planned.
pub(super) struct Job {
    pub(super) collections: Vec<Arc<dyn Collection>>,
    pub(super) plan: Plan,
    pub(super) fidelity: Fidelity,
    /// `None` within a format, where what is stored moves as it is.
    pub(super) carry: Option<Carry>,
    /// The dataset, where it is written again as a whole.
    pub(super) whole: Option<Arc<dyn Dataset>>,
}

impl Job {
    pub(super) fn new(
        source: &Arc<dyn Dataset>,
        format: &dyn Format,
        options: &ConvertOptions,
    ) -> Result<Self> {
        let within = source.info().format == format.id();
        let stored = source.stored().filter(|_| within);
        let stored = stored.as_ref().unwrap_or(source);
        let all = options.collections.is_empty();
        let whole = Some(stored).filter(|s| within && all && s.rewriter().is_some()).cloned();
        let source = stored.as_ref();
        let mut collections = chosen(source, options)?;
        if !within {
            // Targets hold arrays of one shape better than arrays of any.
            for collection in &mut collections {
                if let Some(settled) = collection.settled()? {
                    *collection = settled;
                }
            }
        }
        let mut plan = wanted(source, &collections, within && format.mixes_fields())?;
        let mut carry = None;
        if within {
            plan.source = Some((source.info().format.to_owned(), source.info().native.clone()));
            plan.carried.clone_from(&source.info().carried);
            plan.documents = collections.iter().map(|c| c.document().cloned()).collect();
        } else {
            let holds = format.holds(&plan, &options.options)?;
            let made = carry::plan(&mut plan, &collections, &holds)?;
            plan.carried = Some(made.describe());
            carry = Some(made);
        }
        let mut fidelity = match whole {
            // Nothing can be lost; the options still have to make sense.
            Some(_) => format.holds(&plan, &options.options).map(|_| Fidelity::default())?,
            None => format.fidelity(&plan, &options.options)?,
        };
        match &carry {
            Some(carry) => carry.report(&mut fidelity),
            // What is stored moves as it is, also where the original could make nothing of it.
            None => {
                for collection in &collections {
                    fidelity.unreadable.extend(collection.unreadable(&options.options)?);
                }
            }
        }
        Ok(Self { collections, plan, fidelity, carry, whole })
    }
}

fn wanted(source: &dyn Dataset, collections: &[Arc<dyn Collection>], mixed: bool) -> Result<Plan> {
    let mut plan = Plan { schema: Arc::clone(source.schema()), ..Plan::default() };
    if let Some(first) = collections.first() {
        plan.schema = Arc::clone(first.schema());
        let mut others = collections.iter().filter(|_| !mixed);
        if let Some(other) = others.find(|c| c.schema() != first.schema()) {
            let message = format!(
                "expected the fields of {:?} in all collections, found others in {:?}",
                first.name(),
                other.name()
            );
            return Err(Error::new(
                Kind::Unsupported,
                "ops/schemas_differ",
                Place::default(),
                message,
            ));
        }
    }
    plan.collections = collections.iter().map(|c| (c.name().to_owned(), Some(c.len()))).collect();
    // What was carried here from a first source goes on from there.
    let own = || (source.info().format.to_owned(), source.info().native.clone());
    plan.source = Some(carry::carried_source(source.info()).unwrap_or_else(own));
    Ok(plan)
}

fn chosen(source: &dyn Dataset, options: &ConvertOptions) -> Result<Vec<Arc<dyn Collection>>> {
    let all = source.collections();
    let names = if options.collections.is_empty() { &all } else { &options.collections };
    let once =
        names.iter().enumerate().filter(|(at, name)| names.iter().take(*at).all(|n| n != *name));
    once.map(|(_, name)| source.collection(name)).collect()
}
