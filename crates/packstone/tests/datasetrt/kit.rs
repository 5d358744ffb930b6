//! What the tests share: opening golden caches, expectations as values, and caches made by hand.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use packstone::format::{AuditOptions, ReadContext};
use packstone::formats::datasetrt::audit::audit_many;
use packstone::formats::datasetrt::options::OpenOptions;
use packstone::formats::datasetrt::parts::joint::Joint;
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::json::{Object, Value};
use packstone::model::{Finding, Severity};
use packstone::{Error, Limits, LocalRoot, Root};
use packstone_testkit::Case;

pub(crate) fn local(folder: &Path) -> Arc<dyn Root> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

/// The paths that a case names, in order, as roots.
pub(crate) fn roots(case: &Case, paths: &[String]) -> Vec<Arc<dyn Root>> {
    let folder = case.data.parent().unwrap();
    paths.iter().map(|path| local(&folder.join(path))).collect()
}

pub(crate) fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// The paths of a good case.
pub(crate) fn paths(case: &Case) -> Vec<String> {
    let caches = case.expected.get("caches").unwrap().as_array().unwrap();
    caches.iter().map(|c| c.get("path").unwrap().as_str().unwrap().to_owned()).collect()
}

pub(crate) fn open_roots(roots: Vec<Arc<dyn Root>>) -> Result<Joint, Error> {
    let opened = DatasetRtDataset::open_many(roots, &OpenOptions::default(), &Limits::default())?;
    Ok(opened.joint().unwrap().clone())
}

pub(crate) fn open(case: &Case) -> Joint {
    open_roots(roots(case, &paths(case))).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

/// A value as `expected.json` has it, where floats are the bits of their doubles.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(number) if !number.is_integer() => {
            let bits = number.to_f64().to_bits();
            // One NaN is as good as another.
            let bits = if number.to_f64().is_nan() { f64::NAN.to_bits() } else { bits };
            Value::Object(Object::from_iter([("f64", Value::from(format!("{bits:016x}")))]))
        }
        other => other.clone(),
    }
}

pub(crate) fn canonical_object(object: &Object) -> Object {
    object.iter().map(|(key, value)| (key.clone(), canonical(value))).collect()
}

/// Everything that a check of these caches finds.
pub(crate) fn check(roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Vec<Finding> {
    let audit = match audit_many(roots, options) {
        Ok(audit) => audit,
        Err(error) => return vec![error.into()],
    };
    let mut found = audit.findings;
    let mut context = ReadContext::default();
    audit.tasks.into_iter().for_each(|task| found.extend((task.run)(&mut context)));
    found
}

/// The codes of a full check with their severities.
pub(crate) fn verdict(roots: Vec<Arc<dyn Root>>) -> BTreeSet<(Severity, &'static str)> {
    let found = check(roots, &AuditOptions::default());
    found.into_iter().map(|f| (f.severity, f.code)).collect()
}
