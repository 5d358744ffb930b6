//! At a terminal: colours, and names from data that must not reach it as they are.
//!
//! Python's `pty` gives the program a terminal; the same Python runs the interoperability tests.

use std::process::Command;

use packstone_testkit::copy_folder;

use crate::support::{clean, golden};

/// What the program shows at a terminal.
fn at_terminal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let output = Command::new("python3")
        .args(["-c", spawn, env!("CARGO_BIN_EXE_packstone")])
        .args(arguments)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn colours_are_for_terminals_and_can_be_refused() {
    let path = golden("fb_lz4");
    assert!(at_terminal(&["inspect", &path], &[]).contains("\x1b[1m"));
    let plain = at_terminal(&["inspect", &path], &[("NO_COLOR", "1")]);
    assert!(plain.contains("float32[3]") && !plain.contains('\x1b'), "{plain}");
    assert!(!at_terminal(&["inspect", &path], &[("TERM", "dumb")]).contains('\x1b'));
}

#[test]
fn hostile_names_are_escaped_at_a_terminal_and_raw_on_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(golden("fb_lz4").as_ref(), folder.path());
    let info = folder.path().join("dataset_info.json");
    let text = std::fs::read_to_string(&info).unwrap();
    let hostile = text.replacen("\"name\": \"x\"", r#""name": "x\u001b[2J\u202ey\u200b""#, 1);
    assert_ne!(hostile, text);
    std::fs::write(&info, hostile).unwrap();
    let path = folder.path().to_str().unwrap();
    for command in ["inspect", "head"] {
        let shown = at_terminal(&[command, path], &[("NO_COLOR", "1")]);
        assert!(shown.contains(r"x\u{1b}[2J\u{202e}y\u{200b}"), "{command}: {shown}");
        assert!(!shown.contains(['\x1b', '\u{202e}', '\u{200b}']), "{command}: {shown}");
        let piped = clean([command, path]).stdout;
        assert!(piped.contains("x\x1b[2J\u{202e}y\u{200b}"), "{command}: {piped}");
    }
    let json = clean(["inspect", path, "--json"]).stdout;
    assert!(json.contains("x\\u001b[2J\u{202e}y\u{200b}"), "{json}");
    // Errors too: the message quotes the collection that was asked for.
    let asked = format!("{path}#\u{202e}evil");
    let shown = at_terminal(&["dump", &asked], &[("NO_COLOR", "1")]);
    assert!(shown.contains(r"\u{202e}evil") && !shown.contains('\u{202e}'), "{shown}");
}
