//! Medians of several runs, as JSON lines.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use packstone::Result;
use packstone::json::{Object, Style, Value, write};
use tempfile::TempDir;

/// What to measure of one dataset.
#[derive(Default)]
pub(crate) struct Request {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// What the lines call it.
    pub(crate) set: String,
    /// How it is stored.
    pub(crate) stored: String,
    /// Runs of each mode.
    pub(crate) runs: usize,
    /// The figures.
    pub(crate) what: Vec<String>,
}

/// What one run did.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// Samples that were handled.
    pub(crate) samples: u64,
    /// Bytes that were handled.
    pub(crate) bytes: u64,
    /// Seconds, where the run timed a part of itself.
    pub(crate) seconds: Option<f64>,
}

impl Done {
    /// The same with the seconds since `start`.
    pub(crate) fn since(self, start: Instant) -> Self {
        Self { seconds: Some(start.elapsed().as_secs_f64()), ..self }
    }
}

impl Request {
    /// True where the figure is asked for.
    pub(crate) fn wants(&self, what: &str) -> bool {
        self.what.iter().any(|wanted| wanted == what)
    }

    /// True where a figure of the loader is asked for, or of the Python package, whose base rates are measured here.
    pub(crate) fn wants_load(&self) -> bool {
        self.what.iter().any(|wanted| wanted.starts_with("load-") || wanted.starts_with("package-"))
    }

    /// Measures a figure, where it is asked for, in all modes, which are numbers of threads, and prints the best by its
    /// median.
    pub(crate) fn figure(
        &self,
        what: &str,
        modes: &[usize],
        mut run: impl FnMut(usize) -> Result<Done>,
    ) -> Result<()> {
        if !self.wants(what) {
            return Ok(());
        }
        let mut best: Option<(f64, usize, Vec<f64>, Done)> = None;
        for threads in modes {
            let mut seconds = Vec::new();
            let mut last = Done::default();
            for _ in 0..self.runs {
                let start = Instant::now();
                last = run(*threads)?;
                seconds.push(last.seconds.unwrap_or(start.elapsed().as_secs_f64()));
            }
            let median = median(&seconds);
            if best.as_ref().is_none_or(|(before, ..)| median < *before) {
                best = Some((median, *threads, seconds, last));
            }
        }
        if let Some((seconds, threads, runs, done)) = best {
            let mode = if modes.len() > 1 { format!("threads {threads}") } else { String::new() };
            self.line(what, seconds, &done, &mode, &runs, false);
        }
        Ok(())
    }

    /// Measures memory, where it is asked for: of `run` in a process of its own, to which this one is told by
    /// the name of the figure alone.
    pub(crate) fn memory<T>(&self, what: &str, run: impl Fn() -> Result<T>) -> Result<()> {
        const INSIDE: &str = "PACKSTONE_BENCH_INSIDE";
        if !self.wants(what) {
            return Ok(());
        }
        if std::env::var_os(INSIDE).is_some() {
            let before = status("VmRSS:");
            let kept = run()?;
            let _ = write!(std::io::stdout(), "{}", status("VmRSS:").saturating_sub(before));
            drop(kept);
            return Ok(());
        }
        let own = std::env::args().next().unwrap_or_default();
        let format = std::env::args().nth(1).unwrap_or_default();
        let mut child = Command::new(own);
        child.env(INSIDE, "1").args([&format, "--set", &self.set, "--stored", &self.stored]);
        child.arg("--path").arg(&self.path).args(["--what", what]);
        let mut runs = Vec::new();
        for _ in 0..self.runs {
            let output =
                child.output().map_err(|e| packstone_io::IoError::os("run", "itself", e))?;
            let text = String::from_utf8_lossy(&output.stdout);
            runs.push(text.parse().unwrap_or(f64::NAN));
        }
        let mut line = self.head(what, &Done::default(), "", &runs);
        line.insert("memory", median(&runs));
        print(line);
        Ok(())
    }

    /// Prints one line of seconds.
    pub(crate) fn line(
        &self,
        what: &str,
        seconds: f64,
        done: &Done,
        mode: &str,
        runs: &[f64],
        base: bool,
    ) {
        let mut line = self.head(what, done, mode, runs);
        line.insert("seconds", seconds);
        line.insert("base", base);
        print(line);
    }

    /// What every line begins with.
    pub(crate) fn head(&self, what: &str, done: &Done, mode: &str, runs: &[f64]) -> Object {
        let mut line = Object::new();
        line.insert("what", what);
        line.insert("set", self.set.as_str());
        line.insert("stored", self.stored.as_str());
        line.insert("samples", done.samples);
        line.insert("bytes", done.bytes);
        line.insert("mode", mode);
        line.insert("runs", runs.iter().map(|run| Value::from(*run)).collect::<Vec<_>>());
        line
    }

    /// A folder beside the dataset that is gone afterwards.
    pub(crate) fn scratch(&self) -> Result<TempDir> {
        let parent = self.path.parent().unwrap_or(&self.path);
        Ok(tempfile::tempdir_in(parent)
            .map_err(|e| packstone_io::IoError::os("create", "a folder", e))?)
    }
}

/// Prints a line.
pub(crate) fn print(line: Object) {
    let text = write(&Value::Object(line), &Style::COMPACT);
    // Who reads the lines may be gone.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The middle value.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What the system says about the memory of this process, in bytes. `VmRSS:` counts what it has touched of mapped files.
pub(crate) fn status(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

/// The rows of a random gather, the same on both sides: a walk in steps of 2⁶⁴ over the golden ratio.
pub(crate) fn indices(step: u64, count: u64, rows: u64) -> Vec<u64> {
    let first = step * rows;
    (first..first + rows).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count).collect()
}
