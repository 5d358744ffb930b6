//! `docs/json-output.md` names every type and every member that is printed.

use std::collections::BTreeSet;

use crate::support::{Look, golden, golden_of, run};

#[test]
fn every_type_and_member_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json-output.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    let new = new.to_str().unwrap();
    let [packed, unpacked] = ["x.tdz", "x"].map(|name| folder.path().join(name));
    let (packed, unpacked) = (packed.to_str().unwrap(), unpacked.to_str().unwrap());
    let (good, other) = (golden("fb_lz4"), golden("fb_gzip"));
    let bad = golden("bad/tfrec_data_crc");
    let tree = golden_of("tensordict", "everything/data");
    let pickles = golden_of("tensordict", "non_tensor_pickle/data");
    let cache = golden_of("datasetrt", "v3_basic_none/data/basic_none_s1");
    let view = folder.path().join("view.json");
    let view = view.to_str().unwrap();
    let signals = folder.path().join("signals");
    let source = golden_of("signal-dataset", "multi-shard/data");
    packstone_testkit::copy_folder(std::path::Path::new(&source), &signals);
    let lines = folder.path().join("labels.jsonl");
    std::fs::write(&lines, "{}\n".repeat(5)).unwrap();
    let [signals, lines] = [&signals, &lines].map(|path| path.to_str().unwrap());
    let seen_as = folder.path().join("seen");
    let seen_as = seen_as.to_str().unwrap();
    let records = golden_of("arrayrecord", "three_none.arrayrecord");
    let plan = run(["plan", &cache, "--json"]).lines();
    let state = folder.path().join("state");
    std::fs::write(&state, plan[1].at("state").to_string()).unwrap();
    let state = state.to_str().unwrap();
    let calls: [&[&str]; 27] = [
        &["view", signals, seen_as],
        &["annotate", signals, lines, "--name", "labels"],
        &["inspect", &records],
        &["formats"],
        &["inspect", "--sizes", &good],
        &["dump", "--values", &good],
        &["inspect", &tree],
        &["dump", "--leaves", &tree],
        &["dump", "--leaves", &pickles],
        &["verify", &bad],
        &["digest", &good],
        &["diff", &good, &other],
        &["bench", "--rounds", "1", &good],
        &["convert", &good, new, "--to", "sedpack"],
        &["convert", &good, new, "--to", "sedpack", "--part", "w"],
        &["merge", new],
        &["repair", new],
        &["select", &cache, "--save", view],
        &["dump", view],
        &["migrate", &cache, "--to", "3", "--dry-run"],
        &["pack", &tree, packed],
        &["unpack", packed, unpacked],
        &["refresh", packed],
        &["plan", &cache],
        &["state", "show", state],
        &["inspect", "no/such"],
        &["inspect", &bad, "--nosuch"],
    ];
    let mut seen = BTreeSet::new();
    for call in calls {
        for line in run(call.iter().chain(&["--json"])).lines() {
            let name = line.text("type").to_owned();
            let headed =
                page.lines().any(|l| l.starts_with("## ") && l.contains(&format!("`{name}`")));
            assert!(headed, "no section about {name}");
            for member in line.as_object().unwrap().keys() {
                let spelled = page.contains(&format!("`{member}`"))
                    || page.contains(&format!("\"{member}\":"))
                    || ["{", " "].iter().any(|before| {
                        [",", "}"]
                            .iter()
                            .any(|after| page.contains(&format!("{before}{member}{after}")))
                    });
                assert!(spelled, "{name}: no word about {member}");
            }
            seen.insert(name);
        }
    }
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let all = [
        "dataset",
        "difference",
        "digest",
        "error",
        "fidelity",
        "finding",
        "format",
        "leaf",
        "manifest",
        "rank",
        "rate",
        "sample",
        "selected",
        "state",
        "summary",
        "value",
    ];
    assert_eq!(seen, all);
}
