//! The texts in which tests are looked for.

use std::fs;
use std::path::Path;

/// The folders that hold tests.
const FOLDERS: [&str; 4] = ["crates", "tests/python", "fuzz", "bench"];

/// Every Rust and Python file, by its path from the root with `/` between the parts.
pub(super) struct Sources(Vec<(String, String)>);

impl Sources {
    /// Reads the sources of the repository.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        for folder in FOLDERS {
            let path = root.join(folder);
            if path.is_dir() {
                walk(&path, folder, &mut files).map_err(|error| format!("{folder}: {error}"))?;
            }
        }
        Ok(Self(files))
    }

    #[cfg(test)]
    pub(super) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        Self(files.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec())
    }

    /// Looks for `file::function`; the error says what is wrong with it.
    pub(super) fn find(&self, test: &str) -> Result<(), String> {
        let (file, function) = test
            .rsplit_once("::")
            .ok_or_else(|| format!("expected `file::test`, found `{test}`"))?;
        let mut outcome = Err(format!("no source file {file}"));
        for (path, text) in &self.0 {
            let ends = path.strip_suffix(file);
            if !ends.is_some_and(|before| before.is_empty() || before.ends_with('/')) {
                continue;
            }
            let here =
                if path.ends_with(".py") { python(text, function) } else { rust(text, function) };
            match here {
                Ok(()) => return Ok(()),
                Err(what) => outcome = Err(what.replace("{file}", file)),
            }
        }
        outcome
    }
}

fn python(text: &str, function: &str) -> Result<(), String> {
    let start = format!("def {function}(");
    let found = function.starts_with("test_")
        && text.lines().any(|line| line.trim_start().starts_with(&start));
    if found { Ok(()) } else { Err(format!("no test `{function}` in {{file}}")) }
}

fn rust(text: &str, function: &str) -> Result<(), String> {
    let start = format!("fn {function}(");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with(&start))
        .ok_or_else(|| format!("no test `{function}` in {{file}}"))?;
    let mut is_test = false;
    for line in lines.iter().take(at).rev() {
        match *line {
            "#[test]" => is_test = true,
            line if line.starts_with("#[ignore") => {
                return Err(format!("`{function}` in {{file}} is ignored"));
            }
            line if line.starts_with("#[") || line.starts_with("//") => {}
            _ => break,
        }
    }
    if is_test { Ok(()) } else { Err(format!("`{function}` in {{file}} is no test")) }
}

fn walk(folder: &Path, name: &str, files: &mut Vec<(String, String)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            walk(&path, &name, files)?;
        } else if name.ends_with(".rs") || name.ends_with(".py") {
            files.push((name, fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
