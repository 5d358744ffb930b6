//! Formats of trees: `inspect` and `dump --leaves`.

use packstone_testkit::good_cases;

use crate::support::{Look, clean, golden_of, run};

#[test]
fn every_leaf_has_a_line_with_the_hash_of_its_bytes() {
    let lines = clean(["dump", "--leaves", &golden_of("tensordict", "everything/data")]).lines();
    let keys: Vec<_> = lines.iter().map(|line| line.at("key").to_string()).collect();
    assert_eq!(keys[..4], [r#"["img"]"#, r#"["nt"]"#, r#"["empty"]"#, r#"["nest","k/1"]"#]);
    let nested = &lines[1];
    assert_eq!(nested.at("sizes").to_string(), "[[2,2],[1,3]]");
    let deep = &lines[3];
    assert_eq!((deep.text("type"), deep.text("node")), ("leaf", "tensordict"));
    assert_eq!((deep.text("dtype"), deep.number("nbytes")), ("int64", 16));
    assert_eq!(deep.text("sha256").len(), 64);
    let value = lines.iter().find(|line| line.text("type") == "value").unwrap();
    assert_eq!(value.at("value").as_str(), Some("inner"));
    let refused = run(["dump", "--leaves", &golden_of("sedpack", "fb_none/data")]);
    assert!(refused.code == 2 && refused.stderr.contains("[cli/usage]"), "{}", refused.stderr);
}

#[test]
fn pickles_are_shown_and_not_run() {
    let lines = clean(["dump", "--leaves", &golden_of("tensordict", "non_tensor_pickle/data")]);
    let lines = lines.lines();
    let of = |key: &str| lines.iter().find(|l| l.at("key").to_string().contains(key)).unwrap();
    assert_eq!(of("\"bytes\"").at("value").to_string(), r#"{"bytes":"00ff6162"}"#);
    assert_eq!(of("int_keys").at("value").to_string(), r#"{"dict":[[1,2],[3,[4]]]}"#);
    assert_eq!(of("\"date\"").at("globals").to_string(), r#"["datetime.date"]"#);
    assert!(of("\"date\"").get("value").is_none());
}

#[test]
fn inspect_draws_every_golden_tree() {
    let cases = good_cases("tensordict");
    assert!(cases.len() > 80, "{}", cases.len());
    for case in cases {
        let path = case.data.display().to_string();
        let shown = run(["inspect", &path]);
        assert_eq!(shown.code, 0, "{}: {}", case.name, shown.stderr);
        assert!(shown.stdout.contains("TensorDict:"), "{}", case.name);
        assert!(shown.stdout.contains("batch_size ["), "{}: {}", case.name, shown.stdout);
        let json = clean(["inspect", "--json", &path]).lines().pop().unwrap();
        assert!(json.at("tree").get("kind").is_some(), "{}", case.name);
    }
}
