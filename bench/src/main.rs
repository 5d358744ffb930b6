//! The packstone side of the benchmarks: the same figures on the same data as the original's side, and the base rates
//! of the machine beside them.
//!
//! Prints one JSON line a figure, as `bench/harness.py` does. `bench/run.py` calls both and prints the table.

mod arrayrecord;
mod base;
mod datasetrt;
mod load;
mod measure;
mod sds;
mod sedpack;
mod tensordict;

use packstone::{Error, Kind, Result};

use measure::Request;

fn main() -> Result<()> {
    let (format, request) = arguments();
    load::measure(&request)?;
    match format.as_str() {
        "sds" => sds::measure(&request),
        "sedpack" => sedpack::measure(&request),
        "tensordict" => tensordict::measure(&request),
        "arrayrecord" => arrayrecord::measure(&request),
        "datasetrt" => datasetrt::measure(&request),
        _ => {
            let message = format!(
                "expected sedpack, tensordict, datasetrt, arrayrecord or sds, found {format:?}"
            );
            Err(Error::new(Kind::Invalid, "bench/format", Default::default(), message))
        }
    }
}

/// Reads `FORMAT --path DATASET --set NAME --stored HOW --runs N --what NAME…`.
fn arguments() -> (String, Request) {
    let mut request = Request::default();
    let (mut format, mut option) = (String::new(), String::new());
    for word in std::env::args().skip(1) {
        match (option.as_str(), word.starts_with("--")) {
            (_, true) => option = word,
            ("--path", _) => request.path = word.into(),
            ("--set", _) => request.set = word,
            ("--stored", _) => request.stored = word,
            ("--runs", _) => request.runs = word.parse().unwrap_or(3).max(1),
            ("--what", _) => request.what.push(word),
            _ => format = word,
        }
    }
    (format, request)
}
