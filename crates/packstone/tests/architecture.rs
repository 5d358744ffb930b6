//! The layer rule: `model → formats → ops`, none of which names what stands above it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A source file: its path below `crates/`, and its code without comments and tests.
struct Source {
    path: String,
    code: String,
}

fn load(folder: &Path, out: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            load(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let code: Vec<_> = text.lines().filter(is_code).collect();
            let path = path.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
            out.push(Source { path, code: code.join("\n") });
        }
    }
}

/// Every path that `use` brings in and every path written out, as `crate::…` or `packstone…::…` words.
///
/// `use crate::{a::B, c}` gives `crate::a` and `crate::c`; `super` is resolved against the file.
fn names(source: &Source) -> Vec<String> {
    let module: Vec<&str> = {
        let inner = source.path.split_once("/src/").unwrap().1.trim_end_matches(".rs");
        let mut parts: Vec<&str> = inner.split('/').collect();
        if ["mod", "lib", "main"].contains(parts.last().unwrap()) {
            parts.pop();
        }
        parts
    };
    let mut found = Vec::new();
    for (at, _) in source.code.match_indices("super::").chain(source.code.match_indices("crate::"))
    {
        let before = source.code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let mut rest = &source.code[at..];
        let mut here = module.clone();
        if let Some(tail) = rest.strip_prefix("crate::") {
            here.clear();
            rest = tail;
        }
        while let Some(tail) = rest.strip_prefix("super::") {
            here.pop();
            rest = tail;
        }
        let prefix = here.iter().map(|part| format!("{part}::")).collect::<String>();
        match rest.strip_prefix('{') {
            Some(group) => {
                // Groups one level deep give their first names; what is nested lies below them.
                let mut depth = 0;
                let mut word = String::new();
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.push(format!("{prefix}{}", std::mem::take(&mut word)))
                        }
                        c if depth == 0 && !c.is_whitespace() => word.push(c),
                        _ => {}
                    }
                }
                found.push(format!("{prefix}{word}"));
            }
            None => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
                found.push(format!("{prefix}{}", &rest[..end.unwrap_or(rest.len())]));
            }
        }
    }
    found
}

fn packstone() -> Vec<Source> {
    let mut all = Vec::new();
    load(&crates().join("packstone/src"), &mut all);
    assert!(all.len() > 30, "{} sources", all.len());
    all
}

/// The files of a layer, and the names that these use.
fn uses(layer: &str) -> Vec<(String, Vec<String>)> {
    let inside = format!("packstone/src/{layer}");
    let files: Vec<_> = packstone()
        .iter()
        .filter(|s| s.path.starts_with(&format!("{inside}/")) || s.path == format!("{inside}.rs"))
        .map(|s| (s.path.clone(), names(s)))
        .collect();
    assert!(!files.is_empty(), "no source of {layer}");
    files
}

fn assert_blind(layer: &str, forbidden: &[&str]) {
    for (path, names) in uses(layer) {
        for name in names {
            let first = name.split("::").next().unwrap_or_default();
            assert!(!forbidden.contains(&first), "{path} names {name}");
        }
    }
}

#[test]
fn lower_layers_name_no_higher_one() {
    assert_blind("model", &["expr", "format", "formats", "ops", "registry", "exec"]);
    assert_blind("expr", &["format", "formats", "ops", "registry", "exec"]);
    assert_blind("error", &["format", "formats", "ops", "registry", "exec"]);
    assert_blind("order", &["format", "formats", "ops", "registry", "exec", "loader"]);
    assert_blind("exec", &["expr", "format", "formats", "ops", "registry"]);
    assert_blind("format", &["formats", "ops", "registry", "loader"]);
    assert_blind("formats", &["ops", "registry", "loader"]);
    assert_blind("ops", &["formats", "registry", "loader"]);
    assert_blind("loader", &["formats", "registry"]);
}

#[test]
fn operations_and_the_model_know_no_format_by_name() {
    for source in packstone() {
        let path = source.path.trim_start_matches("packstone/src/");
        let may = path.starts_with("formats/") || path == "registry.rs";
        assert!(may || !source.code.to_lowercase().contains("sedpack"), "{path} names a format");
    }
}

#[test]
fn formats_spawn_no_thread_and_print_nothing() {
    for source in packstone().iter().filter(|s| s.path.starts_with("packstone/src/formats/")) {
        for word in
            ["std::thread", "thread::", "println!", "print!", "eprintln!", "eprint!", "dbg!"]
        {
            assert!(!source.code.contains(word), "{} has {word}", source.path);
        }
    }
}

#[test]
fn only_the_program_prints() {
    for krate in ["packstone-io", "packstone-container", "packstone"] {
        let mut all = Vec::new();
        load(&crates().join(krate).join("src"), &mut all);
        for source in all {
            for word in ["println!", "eprintln!", "dbg!", "stdout()", "stderr()"] {
                assert!(!source.code.contains(word), "{} has {word}", source.path);
            }
        }
    }
}

#[test]
fn crates_depend_on_lower_ones_only() {
    let layers = ["packstone-io", "packstone-container", "packstone", "packstone-cli"];
    for (at, krate) in layers.iter().enumerate() {
        let manifest = std::fs::read_to_string(crates().join(krate).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
        let dependencies = dependencies.split("[dev-dependencies]").next().unwrap();
        for higher in &layers[at..] {
            let named = dependencies
                .lines()
                .any(|line| line.split(['.', ' ', '=']).next().is_some_and(|name| name == *higher));
            assert!(!named, "{krate} depends on {higher}");
        }
        let mut all = Vec::new();
        load(&crates().join(krate).join("src"), &mut all);
        for source in all.iter().filter(|_| at < 2) {
            for higher in
                ["packstone::", "packstone_cli::", "packstone_container::"].iter().take(3 - at)
            {
                assert!(!source.code.contains(higher), "{} names {higher}", source.path);
            }
        }
    }
}

#[test]
fn names_are_found_in_every_spelling() {
    let source = Source {
        path: "packstone/src/formats/sedpack/parts/tree.rs".to_owned(),
        code: "use crate::{error::Error, ops::{Scan, gather}, model};\nuse super::super::codes;\n\
               fn f() -> crate::registry::X { super::list::y() }"
            .to_owned(),
    };
    let mut found = names(&source);
    found.sort();
    assert_eq!(
        found,
        [
            "error::Error",
            "formats::sedpack::codes",
            "formats::sedpack::parts::list::y",
            "model",
            "ops::",
            "registry::X",
        ]
    );
}
