//! Windows, their rows, and their state.

use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::parts::draws::Population;
use packstone::formats::datasetrt::parts::sampler::{Order, Sampler, Window};
use packstone::formats::datasetrt::parts::table::ActiveTable;
use packstone::json::{self, ReadOptions, Value};

use crate::golden::{double, golden, list, number, numbers, one_cache};

/// The table and the sampler of a golden case.
fn setting(case: &Value) -> (ActiveTable, Sampler) {
    let mut table = one_cache(number(case, "population"));
    if !case.get("rows").unwrap().is_null() {
        let rows: Vec<_> =
            numbers(case.get("rows").unwrap()).iter().map(|row| *row as usize).collect();
        table = table.select(&rows).unwrap();
    }
    if !case.get("weights").unwrap().is_null() {
        table = table.reweighted(list(case, "weights").iter().map(double).collect()).unwrap();
    }
    let order = match case.get("shuffle").and_then(Value::as_bool).unwrap() {
        true => Order::Shuffled(number(case, "seed")),
        false => Order::Table,
    };
    let sampler = Sampler::new(table.population(), order).unwrap();
    (table, sampler)
}

fn samples(table: &ActiveTable, window: Window) -> Vec<u64> {
    window.map(|row| table.identity(row).unwrap().sample_id).collect()
}

/// Through its text, as it would be kept in a file.
fn again(state: &Value) -> Value {
    json::read(state.to_string().as_bytes(), &ReadOptions::default()).unwrap().value
}

#[test]
fn every_sequence_of_the_original_is_reproduced() {
    let golden = golden();
    let mut epochs = 0;
    for case in list(&golden, "cases") {
        let (table, mut sampler) = setting(case);
        for (len, expected) in list(case, "epoch_lens").iter().zip(list(case, "epochs")) {
            sampler.set_epoch_len(len.as_u64().unwrap()).unwrap();
            assert_eq!(samples(&table, sampler.reserve()), numbers(expected), "{case}");
            epochs += 1;
        }
    }
    assert_eq!(epochs, 86);
}

#[test]
fn every_sequence_is_resumed_at_every_tenth_position() {
    let golden = golden();
    let mut resumed = 0;
    for case in list(&golden, "cases") {
        let (table, mut sampler) = setting(case);
        let lens = numbers(case.get("epoch_lens").unwrap());
        let epochs: Vec<_> = list(case, "epochs").iter().map(numbers).collect();
        for (epoch, len) in lens.iter().enumerate() {
            sampler.set_epoch_len(*len).unwrap();
            let whole = sampler.reserve();
            for position in (0..=*len).step_by(10) {
                let mut window = whole.clone();
                window.by_ref().take(position as usize).for_each(drop);
                let state = again(&sampler.state(Some(&window)).unwrap());
                let (mut sampler, window) = Sampler::restore(&state, table.population()).unwrap();
                assert_eq!(samples(&table, window.unwrap()), epochs[epoch][position as usize..]);
                // And what comes after goes on as if nothing had been.
                for later in epoch + 1..lens.len() {
                    sampler.set_epoch_len(lens[later]).unwrap();
                    assert_eq!(samples(&table, sampler.reserve()), epochs[later]);
                }
                resumed += 1;
            }
            for (at, row) in epochs[epoch].iter().enumerate().rev() {
                let row_of_sample = whole.row(at as u64).and_then(|row| table.identity(row));
                assert_eq!(row_of_sample.unwrap().sample_id, *row);
            }
            assert_eq!(whole.row(*len), None);
        }
    }
    assert!(resumed > 450, "{resumed}");
}

#[test]
fn a_window_counts_in_full_even_if_it_is_abandoned() {
    let shuffled = |len: u64| {
        let mut sampler = Sampler::new(Population::Equal(10), Order::Shuffled(5)).unwrap();
        sampler.set_epoch_len(len).unwrap();
        sampler
    };
    let all: Vec<_> = shuffled(30).reserve().collect();
    let mut sampler = shuffled(10);
    let mut first = sampler.reserve();
    assert_eq!(first.next(), Some(all[0]));
    assert_eq!(sampler.reserve().collect::<Vec<_>>(), all[10..20]);
    // A longer epoch later does not move where it starts.
    sampler.set_epoch_len(5).unwrap();
    assert_eq!(sampler.reserve().collect::<Vec<_>>(), all[20..25]);
    // The first is still what it was.
    assert_eq!(first.collect::<Vec<_>>(), all[1..10]);
}

#[test]
fn seeking_ends_where_the_window_does() {
    let mut sampler = Sampler::new(Population::Equal(4), Order::Table).unwrap();
    sampler.set_epoch_len(6).unwrap();
    let mut window = sampler.reserve();
    window.seek(4);
    assert_eq!((window.size_hint(), window.position()), ((2, Some(2)), 4));
    assert_eq!(window.by_ref().collect::<Vec<_>>(), [0, 1]);
    window.seek(u64::MAX);
    assert_eq!((window.position(), window.next()), (6, None));
    assert_eq!(sampler.reserve().next(), Some(2));
}

#[test]
fn epochs_beyond_64_bits_of_draws_and_rows_do_not_break() {
    for order in [Order::Table, Order::Shuffled(1)] {
        let mut sampler = Sampler::new(Population::Equal(3), order).unwrap();
        sampler.set_epoch_len(u64::MAX).unwrap();
        sampler.reserve();
        let mut window = sampler.reserve();
        window.seek(u64::MAX - 1);
        assert!(window.next().is_some() && window.next().is_none());
        assert!(sampler.reserve().row(u64::MAX - 1).is_some());
    }
}

#[test]
fn a_replaced_table_starts_anew_and_epochs_have_samples() {
    let mut sampler = Sampler::new(Population::Equal(5), Order::Table).unwrap();
    sampler.set_epoch_len(3).unwrap();
    sampler.reserve();
    sampler.replace(Population::Equal(7)).unwrap();
    assert_eq!(sampler.epoch_len(), 7);
    assert_eq!(sampler.reserve().next(), Some(0));
    let code = |error: packstone::Error| error.code();
    assert_eq!(sampler.set_epoch_len(0).map_err(code), Err(codes::SAMPLING_INVALID));
    assert_eq!(sampler.replace(Population::Equal(0)).map_err(code), Err(codes::SAMPLING_INVALID));
    assert_eq!(sampler.epoch_len(), 7);
}

#[test]
fn another_state_is_refused_by_name() {
    let table = one_cache(4);
    let mut sampler = Sampler::new(table.population(), Order::Shuffled(u64::MAX)).unwrap();
    let mut window = sampler.reserve();
    window.next();
    let state = sampler.state(Some(&window)).unwrap();
    assert_eq!(
        state.to_string(),
        "{\"format\":\"packstone.datasetrt.sampler\",\"version\":1,\"seed\":18446744073709551615,\"rows\":4,\
         \"weights\":null,\"epoch_len\":4,\"sequential_offset\":0,\"draw_offset\":4,\
         \"window\":{\"first\":0,\"len\":4,\"position\":1}}"
    );
    let refused = |name: &str, value: Value| {
        let mut state = state.clone();
        state.as_object_mut().unwrap().insert(name, value);
        let error = Sampler::restore(&state, table.population()).map(|_| ()).unwrap_err();
        (error.code(), error.to_string())
    };
    let (code, text) = refused("version", 2.into());
    assert_eq!(code, codes::STATE_VERSION);
    assert!(text.contains("expected a sampler state of version 1, found 2"), "{text}");
    let window = |first: u64, len: u64, position: u64| packstone_container::json!({ "first": first, "len": len, "position": position });
    for (name, value, says) in [
        ("format", "other".into(), "found \"other\""),
        ("version", 1.5.into(), "$.version"),
        ("seed", (-1).into(), "$.seed"),
        ("rows", 5.into(), "expected a table of 5 rows, found 4"),
        (
            "weights",
            "00".into(),
            "expected a table with weights, found one that was never replaced",
        ),
        ("epoch_len", 0.into(), "expected at least 1, found 0"),
        ("sequential_offset", 4.into(), "expected a row below 4, found 4"),
        ("draw_offset", Value::Null, "$.draw_offset"),
        ("window", window(0, 4, 5), "expected a position up to 4, found 5"),
        ("window", 3.into(), "expected an object, found 3"),
    ] {
        let (code, text) = refused(name, value);
        assert_eq!(code, codes::STATE_INVALID, "{name}");
        assert!(text.contains(says), "{text}");
    }
    assert!(Sampler::restore(&Value::Null, table.population()).is_err());
    for name in ["seed", "rows", "weights", "window", "epoch_len"] {
        let mut state = state.clone();
        state.as_object_mut().unwrap().remove(name);
        let error = Sampler::restore(&state, table.population()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(&format!("$.{name}: expected this member")), "{error}");
    }
}

#[test]
fn a_state_belongs_to_its_weights() {
    let table = one_cache(3);
    let weighted = |weights: [f64; 3]| table.reweighted(weights.to_vec()).unwrap().population();
    let sampler = Sampler::new(weighted([1.0, 2.0, 3.0]), Order::Shuffled(1)).unwrap();
    let state = sampler.state(None).unwrap();
    assert!(Sampler::restore(&state, weighted([1.0, 2.0, 3.0])).unwrap().1.is_none());
    let refused =
        |population| Sampler::restore(&state, population).map(|_| ()).unwrap_err().to_string();
    assert!(
        refused(weighted([1.0, 3.0, 2.0]))
            .contains("expected the weights of the state, found others")
    );
    assert!(refused(table.population()).contains("found one that was never replaced"));
    let untouched = Sampler::new(table.population(), Order::Shuffled(1)).unwrap();
    let error = Sampler::restore(&untouched.state(None).unwrap(), weighted([1.0; 3])).map(|_| ());
    assert!(error.unwrap_err().to_string().contains("found one with weights"));
    // A window of before the table was replaced cannot be saved with what came after.
    let mut sampler = untouched;
    let window = sampler.reserve();
    sampler.replace(weighted([1.0; 3])).unwrap();
    assert_eq!(sampler.state(Some(&window)).unwrap_err().code(), codes::STATE_INVALID);
}
