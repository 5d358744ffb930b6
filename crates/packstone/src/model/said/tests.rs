//! Rows of tables and objects, moved from batch to batch and looked at in the end.

use packstone_container::json::Object;

use super::super::row_table::tests::{objects, table};
use super::*;

fn object(n: i64) -> Arc<Object> {
    Arc::new(Object::from_iter([("n", n)]))
}

/// Rows 0 and 1 with an object, rows 2 to 4 of a table, row 5 with nothing.
fn mixed() -> Said {
    let mut said = Said::objects(vec![(2, object(7))]);
    said.extend(&Said::table(table()), 0..3);
    said.pass(1);
    said
}

fn shown(said: &Said) -> Vec<Object> {
    (0..said.rows()).map(|row| said.get(row).unwrap().as_ref().clone()).collect()
}

/// What [`mixed`] says about its rows.
fn want() -> Vec<Object> {
    let [one, two, three] = objects();
    vec![object(7).as_ref().clone(), object(7).as_ref().clone(), one, two, three, Object::new()]
}

#[test]
fn objects_tables_and_gaps_stand_together() {
    let said = mixed();
    assert_eq!(shown(&said), want());
    assert!(said.get(6).is_none());
    assert_eq!((said.rows(), said.runs.len(), said.sources.len()), (6, 3, 3));
    let runs: Vec<_> = said.runs().map(|(rows, object)| (rows, object.as_ref().clone())).collect();
    let want = want();
    let starts = [0..2, 2..3, 3..4, 4..5, 5..6];
    let expected = starts.map(|rows| (rows.clone(), want[rows.start].clone()));
    assert_eq!(runs, expected);
}

#[test]
fn rows_in_order_are_one_run_wherever_they_come_from() {
    let whole = Said::table(table());
    let mut joined = Said::default();
    joined.extend(&whole, 0..1);
    joined.extend(&whole, 1..3);
    assert_eq!((joined.runs.len(), joined.sources.len()), (1, 1));
    let again = joined.select(&[1, 2]);
    assert_eq!((again.runs.len(), again.sources.len()), (1, 1));
    // The same object wherever it is looked at.
    assert!(Arc::ptr_eq(again.get(0).unwrap(), whole.get(1).unwrap()));
    joined.extend(&whole, 1..2);
    assert_eq!((joined.runs.len(), joined.sources.len()), (2, 1));
    assert_eq!(shown(&joined)[3], objects()[1]);
}

#[test]
fn every_part_says_what_the_whole_says() {
    let (said, want) = (mixed(), want());
    for start in 0..=6 {
        for end in start..=6 {
            let mut part = Said::default();
            part.extend(&said, start..end);
            assert_eq!(shown(&part), want[start..end], "{start}..{end}");
        }
    }
    let order = [5, 3, 3, 0, 4, 2, 1, 0];
    assert_eq!(shown(&said.select(&order)), order.map(|row| want[row].clone()));
    assert!(said.select(&[]).is_empty() && Said::default().select(&[0]).is_empty());
    // Nothing is said about rows past the end.
    let mut past = Said::default();
    past.extend(&said, 4..8);
    assert_eq!(shown(&past), [want[4].clone(), Object::new(), Object::new(), Object::new()]);
}

#[test]
fn rows_reach_their_slots_in_any_order() {
    let (said, want) = (mixed(), want());
    let mut slots = SaidSlots::default();
    slots.put(&Said::default(), &[(0, 0)], 8);
    assert!(slots.finish(None).is_empty());
    slots.put(&said, &[(4, 1), (0, 0), (3, 2), (2, 7), (4, 3)], 8);
    slots.put(&Said::objects(vec![(1, object(9))]), &[(0, 5)], 8);
    let found = slots.finish(None);
    let (nothing, nine) = (Object::new(), object(9));
    let expected = [&want[0], &want[4], &want[3], &want[4], &nothing, &*nine, &nothing, &want[2]];
    assert_eq!(shown(&found).iter().collect::<Vec<_>>(), expected);
    assert!(Arc::ptr_eq(found.get(1).unwrap(), said.get(4).unwrap()));
    let kept = slots.finish(Some(&[1, 2, 4, 7]));
    assert_eq!(shown(&kept).iter().collect::<Vec<_>>(), [&want[4], &want[3], &nothing, &want[2]]);
}

#[test]
fn slots_in_order_are_one_run_of_their_table() {
    let said = Said::table(table());
    let mut slots = SaidSlots::default();
    slots.put(&said, &[(0, 0), (1, 1), (2, 2)], 3);
    let found = slots.finish(None);
    assert_eq!((found.runs.len(), found.sources.len()), (1, 1));
    assert_eq!(shown(&found), objects());
    // Kept are neighbours in the table, too.
    let found = slots.finish(Some(&[1, 2]));
    assert_eq!((found.runs.len(), shown(&found)), (1, objects()[1..].to_vec()));
}

#[test]
fn runs_of_no_rows_stay() {
    let said = Said::objects(vec![(0, object(1)), (2, object(2))]);
    let runs: Vec<_> = said.runs().map(|(rows, object)| (rows, object.as_ref().clone())).collect();
    assert_eq!(runs, [(0..0, object(1).as_ref().clone()), (0..2, object(2).as_ref().clone())]);
    let none = RowTable::new(Arc::default(), Vec::new(), 0).unwrap();
    assert!(Said::table(none).is_empty());
}
