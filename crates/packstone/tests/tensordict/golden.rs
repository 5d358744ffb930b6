//! Every good case reads to the tree that the library reads.

use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::node::Node;
use packstone::formats::tensordict::parts::pickles::{Looked, Role, pickles};
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
                Ok(mut found) => {
                    if case.name == "nested_tensors_all_empty" {
                        // The library loses this key: it looks for elements where there are none.
                        let Node::TensorDict(root) = &mut found.root else {
                            panic!("{:?}", found.root)
                        };
                        let (key, nested) = root.entries.remove(0);
                        let Node::NestedTensor(nested) = nested else { panic!("{nested:?}") };
                        let parts = nested.open().unwrap();
                        assert_eq!(
                            (key.as_str(), parts.sizes.as_slice()),
                            ("nt", &[0, 3, 2, 0][..])
                        );
                    }
                    wrong.extend(difference(tree, &node(&found.root), &case.name));
                }
                Err(error) => wrong.push(format!("{}: {error}", case.name)),
            }
            read += 1;
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
    assert!(read >= 104, "read {read}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pickles_are_listed_and_never_executed() {
    let mut opaque = Vec::new();
    let mut listed = 0;
    for case in good_cases("tensordict") {
        let robust =
            case.expected.get("load").and_then(|l| l.get("robust_key")).and_then(Value::as_bool);
        let options = TreeOptions::default().with_robust_key(robust.unwrap_or(true));
        let tree = Tree::load(store(&case).unwrap(), &options).unwrap();
        let found = pickles(&tree.root);
        let due = case.expected.get("pickles").and_then(Value::as_array).unwrap();
        let mut shown: Vec<_> = found.iter().map(|p| p.to_json(&options.limits).unwrap()).collect();
        shown.sort_by_key(|p| p.get("path").unwrap().as_str().unwrap().to_owned());
        assert_eq!(shown.len(), due.len(), "{}", case.name);
        for (shown, due) in shown.iter().zip(due) {
            for name in ["path", "size", "sha256", "needs_pickle"] {
                assert_eq!(shown.get(name), due.get(name), "{} {name}", case.name);
            }
            listed += 1;
        }
        let needed = found.iter().any(|p| p.role != Role::Replaced);
        assert_eq!(
            Some(needed),
            case.expected.get("requires_pickle").and_then(Value::as_bool),
            "{}",
            case.name
        );
        for pickle in &found {
            match pickle.look(&options.limits).unwrap() {
                Looked::Plain(_) => {}
                Looked::Data(_) if pickle.role == Role::Replaced => {}
                Looked::Data(_) => opaque.push(pickle.keys.join(".")),
                other => panic!("{}: {other:?}", case.name),
            }
        }
    }
    assert!(listed >= 30, "listed {listed}");
    opaque.sort();
    opaque.dedup();
    assert_eq!(opaque, ["complex", "date", "ndarray", "np_bool", "np_int", "tensor"]);
}
