//! `plan` and `state`: who reads what, and where a loader stands.

use packstone_testkit::copy_folder;

use crate::support::{Look, clean, golden, golden_of, run};

/// A sedpack dataset with several collections, and one of them.
fn train() -> String {
    format!("{}#train", golden("fb_lz4"))
}

fn cache() -> String {
    golden_of("datasetrt", "v3_basic_none/data/basic_none_s1")
}

#[test]
fn all_ranks_together_read_everything_once() {
    let address = train();
    let alone = clean(["plan", &address, "--json"]).lines();
    let samples = alone.last().unwrap().number("len");
    assert!(samples > 3);
    for order in ["sequential", "shuffled", "blocks"] {
        let arguments = ["plan", &address, "--world-size", "3", "--batch", "1", "--order", order];
        let lines = clean(arguments.iter().chain(&["--seed", "5", "--json"])).lines();
        let (summary, ranks) = lines.split_last().unwrap();
        assert_eq!(ranks.len(), 3);
        assert_eq!(ranks.iter().map(|rank| rank.number("samples")).sum::<u64>(), samples);
        let steps = summary.number("steps");
        assert_eq!(steps, samples.div_ceil(3));
        assert!(ranks.iter().all(|rank| rank.number("steps") == steps));
        let state = summary.at("state");
        assert_eq!(state.at("order").text("name"), order);
        assert_eq!((state.number("epoch"), state.number("position")), (0, 0));
        let text = clean(arguments).stdout;
        assert!(text.contains(order) && text.contains("first samples"), "{text}");
    }
}

#[test]
fn orders_that_go_by_metadata_or_a_file_say_what_they_need() {
    let cache = cache();
    let native = clean(["plan", &cache, "--order", "native", "--seed", "42", "--json"]).lines();
    assert_eq!(native[1].at("state").at("order").text("name"), "datasetrt");
    for order in ["weighted", "balanced", "indices", "distinct"] {
        assert_eq!(run(["plan", &cache, "--order", order]).code, 2);
    }
    let weighted = ["plan", &cache, "--order", "weighted", "--weights", "flag", "--draws", "500"];
    let lines = clean(weighted.iter().chain(&["--json"])).lines();
    assert_eq!((lines[0].number("samples"), lines[0].number("shards")), (500, 1));
    let kinds = ["plan", &cache, "--order", "balanced", "--key", "flag", "--stop", "first"];
    assert!(clean(kinds.iter().chain(&["--json"])).lines()[0].number("samples") > 0);
    let wrong = run(["plan", &cache, "--order", "distinct", "--weights", "rank", "--json"]);
    assert_eq!(wrong.line().text("code"), "loader/weight_invalid");
    let wrong = run(["plan", &cache, "--order", "distinct", "--weights", "label", "--json"]);
    assert_eq!(wrong.line().text("code"), "loader/column_invalid");
    let wrong = run(["plan", &cache, "--order", "weighted", "--weights", "nosuch", "--json"]);
    assert_eq!(wrong.line().text("code"), "loader/column_invalid");
    let wrong = run(["plan", &train(), "--order", "native", "--json"]);
    assert_eq!(wrong.line().text("code"), "loader/no_native_order");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("indices");
    let path = file.to_str().unwrap();
    let with = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(["plan", &cache, "--order", "indices", "--indices", path, "--json"]).lines()
    };
    assert_eq!(with("2 0\n2\n")[0].at("first").to_string(), "[2,0,2]");
    assert_eq!(with("2 x")[0].text("code"), "cli/usage");
    assert_eq!(with("99999")[0].text("code"), "loader/index_out_of_range");
    let wrong = run(["plan", &cache, "--order", "indices", "--indices", "no/such", "--json"]);
    assert_eq!(wrong.line().text("code"), "io/not_found");
    assert_eq!(
        run(["plan", &cache, "--batch", "0", "--json"]).line().text("code"),
        "loader/share_invalid"
    );
}

/// A SignalDataset of five records, each with an annotation that has one of these weights, as JSON spells them.
fn weighing(folder: &std::path::Path, weights: [&str; 5]) -> String {
    let target = folder.join("weighing");
    copy_folder(golden_of("signal-dataset", "multi-shard/data").as_ref(), &target);
    let values = weights.map(|weight| format!(r#"{{"values": {{"w": {weight}}}}}"#));
    let lines = folder.join("weights.jsonl");
    std::fs::write(&lines, values.join("\n")).unwrap();
    let (target, lines) = (target.to_str().unwrap(), lines.to_str().unwrap());
    clean(["annotate", target, lines, "--name", "weights"]);
    format!("{target}#annotations/weights")
}

#[test]
fn weights_of_every_kind_are_taken_or_refused_by_sample() {
    let drawn = |weights: [&str; 5], order: &str| {
        let folder = tempfile::tempdir().unwrap();
        let dataset = weighing(folder.path(), weights);
        let name = "annotation.values.w";
        run(["plan", &dataset, "--order", order, "--weights", name, "--json"]).lines()
    };
    // Zero never comes, denormal numbers do as any others.
    let light = ["0", "5e-324", "0.0", "5e-324", "-0.0"];
    let first = drawn(light, "distinct")[0].at("first").to_string();
    assert!(["[1,3]", "[3,1]"].contains(&first.as_str()), "{first}");
    let first = drawn(light, "weighted")[0].at("first").as_array().unwrap().to_vec();
    let expected = |sample: &packstone::json::Value| ["1", "3"].contains(&&*sample.to_string());
    assert!(first.len() == 5 && first.iter().all(expected), "{first:?}");
    let all = drawn(["1", "5e-324", "1e308", "1e-310", "3"], "distinct")[0].at("first").clone();
    assert_eq!(all.as_array().unwrap().len(), 5);
    for (weights, code, sample) in [
        (["1", "-5e-324", "2", "0", "0"], "loader/weight_invalid", 1),
        (["1", "1", "1", "1", "-1"], "loader/weight_invalid", 4),
        (["1", "1", "null", "1", "1"], "loader/column_invalid", 2),
    ] {
        for order in ["weighted", "distinct"] {
            let error = drawn(weights, order).remove(0);
            assert_eq!((error.text("code"), error.number("record")), (code, sample));
        }
    }
    let error = drawn(["0", "-0.0", "0", "0.0", "0"], "weighted").remove(0);
    assert_eq!(error.text("code"), "loader/weights_zero");
    // What JSON has no word for, a table has: 1.5, NaN, infinity, minus infinity, minus zero.
    let cache = golden_of("datasetrt", "v3_nonfinite/data/nonfinite_s1");
    let plan = ["plan", &cache, "--order", "weighted", "--weights", "x", "--json"];
    let error = run(plan).line();
    assert_eq!((error.text("code"), error.number("record")), ("loader/weight_invalid", 1));
    assert!(error.text("message").contains("NaN"));
}

#[test]
fn a_state_is_shown_moved_and_gone_on_with() {
    let address = train();
    let shuffled = ["plan", &address, "--order", "shuffled", "--seed", "5", "--batch", "2"];
    let lines = clean(shuffled.iter().chain(&["--json"])).lines();
    let summary = lines.last().unwrap();
    let (first, len) = (lines[0].at("first").as_array().unwrap().to_vec(), summary.number("len"));
    let folder = tempfile::tempdir().unwrap();
    let [state, later] = ["state", "later"].map(|name| folder.path().join(name));
    let (state, later) = (state.to_str().unwrap(), later.to_str().unwrap());
    std::fs::write(state, summary.at("state").to_string()).unwrap();

    let skipped = clean(["state", "skip", state, "2"]).stdout;
    assert!(skipped.len() < 1000);
    std::fs::write(later, &skipped).unwrap();
    assert_eq!(clean(["state", "show", later, "--json"]).line().at("state").number("position"), 2);
    let shown = clean(["state", "show", later]).stdout;
    assert!(shown.contains("shuffled") && shown.contains("position   2 of"), "{shown}");
    let back = clean(["state", "rewind", later, "2"]).stdout;
    assert_eq!(back.trim(), summary.at("state").to_string());
    let wrapped = clean(["state", "skip", state, &len.to_string(), "--json"]).line();
    let wrapped = wrapped.at("state");
    assert_eq!((wrapped.number("epoch"), wrapped.number("position")), (1, 0));

    let resumed = clean(shuffled.iter().chain(&["--state", later, "--json"])).lines();
    let again = resumed[0].at("first").as_array().unwrap().to_vec();
    assert!(again.len() > 1);
    assert_eq!(again, first[2..]);
    assert_eq!(resumed.last().unwrap().number("from"), 2);

    let refused = |arguments: &[&str]| {
        let run = run(arguments.iter().chain(&["--state", later, "--json"]));
        assert_eq!(run.code, 2);
        run.line().text("code").to_owned()
    };
    assert_eq!(refused(&["plan", &address]), "loader/state_order");
    assert_eq!(refused(&["plan", &address, "--order", "shuffled"]), "loader/state_order");
    assert_eq!(refused(&["plan", &cache()]), "loader/state_dataset");
    std::fs::write(
        later,
        skipped.replace("\"version\":1,\"dataset\"", "\"version\":9,\"dataset\""),
    )
    .unwrap();
    assert_eq!(refused(&["plan", &address]), "loader/state_version");
    let wrong = run(["state", "rewind", state, "1", "--json"]).line();
    assert_eq!(wrong.text("code"), "loader/state_position");
    std::fs::write(later, "{}").unwrap();
    let wrong = run(["state", "show", later, "--json"]).line();
    assert_eq!((wrong.text("code"), wrong.text("file")), ("loader/state_invalid", later));
}

#[test]
fn several_datasets_are_planned_as_a_mixture() {
    let (one, other) = (train(), format!("{}#train", golden("fb_none")));
    let mixed = ["plan", &one, &other, "--mix", "0.75,0.25", "--order", "shuffled", "--batch", "2"];
    let lines = clean(mixed.iter().chain(&["--world-size", "2", "--json"])).lines();
    let (summary, ranks) = lines.split_last().unwrap();
    let sources = summary.at("sources").as_array().unwrap();
    assert_eq!((sources[0].number("ratio"), sources[1].number("ratio")), (75, 25));
    let drawn: Vec<u64> = sources.iter().map(|source| source.number("drawn")).collect();
    assert_eq!(drawn.iter().sum::<u64>(), summary.number("len"));
    assert!(sources.iter().zip(&drawn).all(|(source, drawn)| *drawn <= source.number("samples")));
    let alone = clean(["plan", &one, "--json"]).lines();
    // The second dataset's samples and shards are counted behind those of the first.
    let behind = alone.last().unwrap().number("len");
    assert!(summary.number("shards") > alone.last().unwrap().number("shards"));
    let first: Vec<u64> = ranks
        .iter()
        .flat_map(|rank| rank.at("first").as_array().unwrap())
        .map(|sample| sample.as_u64().unwrap())
        .collect();
    assert!(first.iter().any(|sample| *sample < behind));
    assert!(first.iter().any(|sample| *sample >= behind), "{first:?}");
    let state = summary.at("state");
    assert_eq!(state.at("order").text("name"), "mixture");
    assert_eq!(state.at("dataset").text("collection"), "train+train");

    // A state of the mixture is gone on with, and refused by another one.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let path = file.to_str().unwrap();
    std::fs::write(&file, clean(["state", "skip", &saved(&file, state), "2"]).stdout).unwrap();
    let resumed = clean(mixed.iter().chain(&["--state", path, "--json"])).lines();
    assert_eq!(resumed.last().unwrap().number("from"), 2);
    let turned = ["plan", &other, &one, "--mix", "3,1", "--order", "shuffled", "--state", path];
    assert_eq!(run(turned.iter().chain(&["--json"])).line().text("code"), "loader/state_dataset");
    let ratios = ["plan", &one, &other, "--mix", "1,1", "--order", "shuffled", "--state", path];
    assert_eq!(run(ratios.iter().chain(&["--json"])).line().text("code"), "loader/state_order");

    let text = clean(mixed).stdout;
    assert!(text.contains("mixture") && text.contains("ratio 75"), "{text}");
    let bench = ["bench", &one, &other, "--mix", "3,1", "--order", "shuffled", "--rounds", "1"];
    let rates = clean(bench.iter().chain(&["--threads", "1", "--json"])).lines();
    assert!(rates.iter().any(|rate| rate.to_string().contains("batches of 256, mixture")));

    for wrong in [
        vec!["plan", &one, &other],
        vec!["plan", &one, &other, "--mix", "1"],
        vec!["plan", &one, "--mix", "1,2"],
        vec!["plan", &one, &other, "--mix", "1,x"],
        vec!["plan", &one, &other, "--mix", "1,0"],
        vec!["bench", &one, &other],
    ] {
        assert_eq!(run(wrong).code, 2);
    }
    let apart = ["plan", &one, &cache(), "--mix", "1,1", "--json"];
    assert_eq!(run(apart).line().text("code"), "loader/schemas_differ");
}

/// A state in a file; the file's path.
fn saved(file: &std::path::Path, state: &packstone::json::Value) -> String {
    std::fs::write(file, state.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}
