//! Checks a dataset: the structure first, then all independent tasks on all threads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use packstone_container::json::{Object, Value};
use packstone_io::{BufferPool, Root};

use crate::error::Result;
use crate::exec::{Pipeline, Progress, default_threads, keep_going};
use crate::format::{AuditOptions, AuditTask, Format, ReadContext};
use crate::model::{Finding, Severity};

/// How to check.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// What is checked.
    pub audit: AuditOptions,
    /// Threads that read and hash; 0 works where it is called.
    pub threads: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { audit: AuditOptions::default(), threads: default_threads() }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// The format's id.
    pub format: &'static str,
    /// All findings once each, by file, record and code.
    pub findings: Vec<Finding>,
    /// Control documents that were read.
    pub documents: u64,
    /// Tasks that were done, usually one a shard.
    pub tasks: u64,
    /// Samples that the tasks cover, as listed.
    pub samples: u64,
    /// Bytes that the tasks read, as listed.
    pub bytes: u64,
    /// Wall time.
    pub seconds: f64,
}

impl VerifyReport {
    /// The worst severity among the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// True without any warning or error.
    pub fn is_clean(&self) -> bool {
        self.worst().is_none_or(|worst| worst < Severity::Warning)
    }

    /// Number of findings of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// For JSON output: the summary; findings have [lines of their own](Finding::to_json).
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("verify"));
        out.insert("format", Value::from(self.format));
        out.insert("clean", Value::Bool(self.is_clean()));
        out.insert("errors", Value::from(self.count(Severity::Error)));
        out.insert("warnings", Value::from(self.count(Severity::Warning)));
        out.insert("infos", Value::from(self.count(Severity::Info)));
        out.insert("documents", Value::from(self.documents));
        out.insert("tasks", Value::from(self.tasks));
        out.insert("samples", Value::from(self.samples));
        out.insert("bytes", Value::from(self.bytes));
        out.insert("seconds", Value::from(self.seconds));
        Value::Object(out)
    }
}

/// Checks the dataset in `root`, see [`verify_many`].
///
/// # Errors
/// Those of [`Format::audit`]; `ops/cancelled`.
pub fn verify(
    format: &dyn Format,
    root: Arc<dyn Root>,
    options: &VerifyOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<VerifyReport> {
    verify_many(format, vec![root], options, progress)
}

/// Checks the dataset that `roots` are together.
///
/// A task that panics is a finding, `exec/thread_died`, and ends no other task.
///
/// # Errors
/// Those of [`Format::audit`] and [`Format::audit_many`]; `ops/cancelled`.
pub fn verify_many(
    format: &dyn Format,
    roots: Vec<Arc<dyn Root>>,
    options: &VerifyOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<VerifyReport> {
    let start = Instant::now();
    let audit = match <[_; 1]>::try_from(roots) {
        Ok([only]) => format.audit(only, &options.audit)?,
        Err(roots) => format.audit_many(roots, &options.audit)?,
    };
    let mut report = VerifyReport {
        format: format.id(),
        findings: audit.findings,
        documents: audit.documents,
        tasks: audit.tasks.len() as u64,
        ..VerifyReport::default()
    };
    for task in &audit.tasks {
        report.bytes = report.bytes.saturating_add(task.bytes);
        report.samples = report.samples.saturating_add(task.samples);
    }
    if let Some(progress) = progress {
        progress.total(report.bytes);
    }
    run(audit.tasks, options, progress, &mut report.findings)?;
    arrange(&mut report.findings);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

fn run(
    tasks: Vec<AuditTask>,
    options: &VerifyOptions,
    progress: Option<&Arc<dyn Progress>>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let window = options.threads.saturating_add(2);
    let pool = BufferPool::new(window);
    let limits = options.audit.limits;
    let make = || {
        let pool = pool.clone();
        let kept: Mutex<Option<ReadContext>> = Mutex::new(None);
        move |task: AuditTask| {
            // A context that was in use when its task panicked is not used again.
            let taken = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut context = taken.unwrap_or_else(|| ReadContext::new(pool.clone(), limits, true));
            let mut found = (task.run)(&mut context);
            found.append(&mut context.notes);
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
            found
        }
    };
    let mut pipeline = Pipeline::new(options.threads, window, make);
    let mut waiting = tasks.into_iter();
    let mut running = std::collections::VecDeque::new();
    loop {
        while pipeline.has_room() {
            let Some(task) = waiting.next() else { break };
            running.push_back(task.bytes);
            pipeline.submit(task);
        }
        match pipeline.next_result() {
            None => return Ok(()),
            Some(Ok(found)) => findings.extend(found),
            Some(Err(error)) => findings.push(error.into()),
        }
        let bytes = running.pop_front().unwrap_or(0);
        if let Some(progress) = progress {
            progress.advance(bytes);
        }
        keep_going(progress)?;
    }
}

/// Sorts findings, whatever thread was first, and drops those said twice.
fn arrange(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let place = |f: &Finding| (f.place.file.clone(), f.place.record);
        let rest = |f: &Finding| (f.place.offset, f.place.field.clone(), f.place.json_path.clone());
        place(a)
            .cmp(&place(b))
            .then_with(|| a.code.cmp(b.code))
            .then_with(|| rest(a).cmp(&rest(b)))
            .then_with(|| a.message.cmp(&b.message))
            .then_with(|| b.severity.cmp(&a.severity))
    });
    findings.dedup();
}
