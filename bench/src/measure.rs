//! Medians of several runs, as JSON lines.

use std::io::Write;
use std::time::Instant;

use packstone::Result;
use packstone::json::{Style, Value, write};
use packstone_container::json;

use crate::figures::Set;

/// What one run did.
pub(crate) struct Done {
    /// Samples that were handled.
    pub(crate) samples: u64,
    /// Bytes that were handled.
    pub(crate) bytes: u64,
    /// Seconds, where the run timed a part of itself.
    pub(crate) seconds: Option<f64>,
}

/// One run in one mode, which is a number of threads.
pub(crate) type Figure = fn(&Set, usize) -> Result<Done>;

/// Measures a figure in all modes and prints the best by its median.
pub(crate) fn figure(set: &Set, what: &str, runs: usize, figure: Figure) -> Result<()> {
    let mut best: Option<(f64, usize, Vec<f64>, Done)> = None;
    for threads in [0, 1, 2, 3] {
        let mut seconds = Vec::new();
        let mut last = None;
        for _ in 0..runs {
            let start = Instant::now();
            let done = figure(set, threads)?;
            seconds.push(done.seconds.unwrap_or(start.elapsed().as_secs_f64()));
            last = Some(done);
        }
        let median = median(&mut seconds.clone());
        if let Some(done) = last
            && best.as_ref().is_none_or(|(before, ..)| median < *before)
        {
            best = Some((median, threads, seconds, done));
        }
    }
    if let Some((seconds, threads, runs, done)) = best {
        line(set, what, seconds, &done, &format!("threads {threads}"), &runs);
    }
    Ok(())
}

/// Prints one line.
pub(crate) fn line(set: &Set, what: &str, seconds: f64, done: &Done, mode: &str, runs: &[f64]) {
    let runs: Vec<Value> = runs.iter().map(|s| Value::from(*s)).collect();
    let line = json!({
        "what": what,
        "set": set.name.as_str(),
        "compression": set.compression(),
        "seconds": seconds,
        "samples": done.samples,
        "bytes": done.bytes,
        "mode": mode,
        "runs": runs,
    });
    let text = write(&line, &Style::COMPACT);
    // Who reads the lines may be gone.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The middle value.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
