//! The packstone side of the benchmarks: the same figures on the same data as the original's side, and the base rates
//! of the machine beside them.
//!
//! Prints one JSON line a figure, as `sedpack_side.py` does. `bench/run.py` calls both and prints the table.

mod base;
mod figures;
mod measure;

use std::path::PathBuf;

use packstone::Result;

/// What to measure.
struct Chosen {
    data: PathBuf,
    sets: Vec<String>,
    compressions: Vec<String>,
    runs: usize,
    what: Vec<String>,
}

fn main() -> Result<()> {
    let chosen = arguments();
    for set in &chosen.sets {
        for compression in &chosen.compressions {
            let set = figures::Set::open(&chosen.data, set, compression)?;
            let wanted =
                |what: &str| chosen.what.is_empty() || chosen.what.iter().any(|w| w == what);
            if wanted("base") {
                base::measure(&set, chosen.runs)?;
            }
            for (what, figure) in figures::ALL {
                if wanted(what) {
                    measure::figure(&set, what, chosen.runs, *figure)?;
                }
            }
        }
    }
    Ok(())
}

/// Reads `--data DIR --sets NAME… --compressions NAME… --runs N [--what NAME…] [--scale X]`; the data on the disk has its
/// scale already.
fn arguments() -> Chosen {
    let mut chosen =
        Chosen { data: PathBuf::new(), sets: vec![], compressions: vec![], runs: 3, what: vec![] };
    let mut option = String::new();
    for word in std::env::args().skip(1) {
        match (option.as_str(), word.starts_with("--")) {
            (_, true) => option = word,
            ("--data", _) => chosen.data = word.into(),
            ("--sets", _) => chosen.sets.push(word),
            ("--compressions", _) => chosen.compressions.push(word),
            ("--runs", _) => chosen.runs = word.parse().unwrap_or(3).max(1),
            ("--what", _) => chosen.what.push(word),
            _ => {}
        }
    }
    chosen
}
