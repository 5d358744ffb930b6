//! Help, manual pages, completions.

use crate::support::{clean, run};

const COMMANDS: [&str; 18] = [
    "formats",
    "inspect",
    "head",
    "dump",
    "select",
    "verify",
    "convert",
    "merge",
    "migrate",
    "repair",
    "digest",
    "diff",
    "bench",
    "plan",
    "state",
    "demo",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_and_a_manual_page() {
    let help = clean(["--help"]).stdout;
    let page = clean(["man"]).stdout;
    assert!(page.contains(".TH packstone 1"), "{page}");
    for command in COMMANDS {
        assert!(help.contains(&format!("  {command} ")), "{command}: {help}");
        assert!(page.contains(&format!("packstone\\-{command}(1)")), "{command}: {page}");
        let own = clean([command, "--help"]).stdout;
        assert!(own.contains("Usage: packstone"), "{command}: {own}");
        let own = clean(["man", command]).stdout;
        assert!(own.contains(".SH SYNOPSIS"), "{command}: {own}");
    }
    assert_eq!(run(["man", "nosuch"]).code, 2);
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = clean(["completions", shell]).stdout;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(run(["completions", "nosuch"]).code, 2);
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(clean(["--version"]).stdout, format!("packstone {}\n", env!("CARGO_PKG_VERSION")));
}
