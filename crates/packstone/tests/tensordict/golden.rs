//! Every good case reads to the tree that the library reads.

use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone_container::json::Value;
use packstone_testkit::{Snapshot, good_cases};

use crate::canonical::{difference, node};
use crate::kit::store;

#[test]
fn every_good_case_reads_to_the_tree_of_the_library() {
    let cases = good_cases("tensordict");
    let mut wrong = Vec::new();
    let mut read = 0;
    for case in &cases {
        let before = Snapshot::of(&case.data);
        let mut loads = vec![&case.expected];
        loads.extend(case.expected.get("also").and_then(Value::as_array).into_iter().flatten());
        for expected in loads {
            let robust =
                expected.get("load").and_then(|l| l.get("robust_key")).and_then(Value::as_bool);
            let options = TreeOptions::default().with_robust_key(robust.unwrap_or(true));
            let Some(tree) = expected.get("tree") else { continue };
            match store(case).and_then(|store| Tree::load(store, &options)) {
                Ok(found) => wrong.extend(difference(tree, &node(&found.root), &case.name)),
                Err(error) => wrong.push(format!("{}: {error}", case.name)),
            }
            read += 1;
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
    assert!(read >= 104, "read {read}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
