//! Saved selections as collections: any order, repeats, several caches, random access.

use std::path::Path;
use std::sync::Arc;

use packstone::expr::Expr;
use packstone::format::{Dataset, ReadContext, Selected};
use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::parts::table::Identity;
use packstone::formats::datasetrt::parts::view::View;
use packstone::model::Batch;
use packstone::ops::{Find, Scan, gather};
use packstone::{Limits, site};

use crate::runtime_kit::{metadata, payload, write};

/// Two caches, one compressed, some shards each, and their ids.
fn data(folder: &Path) -> [u64; 2] {
    write(folder, "a", 60, Algo::None, 700);
    write(folder, "b", 25, Algo::Lz4, 300);
    ["a", "b"].map(|name| {
        let text = std::fs::read_to_string(folder.join(name).join("manifest.json")).unwrap();
        let id = text.split("\"cache_id\": ").nth(1).unwrap().split(',').next().unwrap();
        id.parse().unwrap()
    })
}

/// Saves a selection by indices into both caches, and opens it.
fn selection(folder: &Path, indices: &[u64]) -> Arc<dyn Dataset> {
    let paths = [folder.join("a"), folder.join("b")];
    let opened = site::open_all(&paths, &Limits::default()).unwrap();
    let selected = Selected { collection: "all", samples: indices, condition: None };
    let file = folder.join(format!("{}.json", indices.len()));
    site::save_selection(opened.dataset.as_ref(), &selected, &file).unwrap();
    site::open(&file).unwrap()
}

/// The numbers of samples of a batch, whose values are as they were written.
fn numbers(batch: &Batch) -> Vec<(u64, u64)> {
    let samples = batch.samples().map(|sample| {
        let identity = sample.identity().unwrap();
        let id = |name: &str| identity.get(name).unwrap().as_u64().unwrap();
        let number = id("sample_id");
        assert_eq!(sample.get("data").unwrap().bytes, payload(number));
        assert_eq!(**sample.metadata().unwrap(), metadata(number));
        (id("cache_id"), number)
    });
    samples.collect()
}

#[test]
fn samples_come_in_the_order_of_the_selection_from_any_place_on() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = data(folder.path());
    let scattered: Vec<u64> = (0..200).map(|n| n * 37 % 85).collect();
    let runs: Vec<u64> = (0..60).chain(10..50).chain(60..85).chain([0, 0, 84, 3]).collect();
    for indices in [scattered, runs, vec![84], (0..85).collect()] {
        let want: Vec<(u64, u64)> =
            indices.iter().map(|i| if *i < 60 { (a, *i) } else { (b, *i - 60) }).collect();
        let dataset = selection(folder.path(), &indices);
        let all = dataset.collection("all").unwrap();
        assert_eq!(all.len(), indices.len() as u64);
        let mut context = ReadContext { identities: true, ..ReadContext::default() };
        let last = indices.len() as u64 - 1;
        for from in [0, 1, 7, last / 2, last].into_iter().filter(|from| *from <= last) {
            let shards: Vec<_> = all.shards(from).map(Result::unwrap).collect();
            assert!(shards[0].first <= from && from < shards[0].first + shards[0].rows);
            let mut found = Vec::new();
            for shard in &shards {
                let batch = all.read(shard, None, &mut context).unwrap();
                found.extend(numbers(&batch));
                let last = batch.rows() - 1;
                let rows = all.read_rows(shard, &[last, 0], None, &mut context).unwrap();
                let place = shard.first as usize;
                assert_eq!(numbers(&rows), [want[place + last], want[place]]);
            }
            assert_eq!(found, want[shards[0].first as usize..]);
        }
        assert_eq!(all.shards(all.len()).count(), 0);
        assert_eq!(all.shards(0).count() as u64, all.shard_count());
        let scanned = Scan::new(Arc::clone(&all)).threads(2).identities(true).shards();
        let scanned: Vec<_> = scanned.flat_map(|shard| numbers(&shard.unwrap().batch)).collect();
        assert_eq!(scanned, want);
        let some: Vec<u64> = (0..all.len()).rev().step_by(3).collect();
        let gathered = gather(all.as_ref(), &some, None, &mut context).unwrap();
        for (row, index) in some.iter().enumerate() {
            assert_eq!(gathered.columns()[0].bytes(row).unwrap(), payload(want[*index as usize].1));
        }
        let table = all.table().unwrap().unwrap();
        let ids: Vec<_> = (0..indices.len()).map(|row| table.identity(row)).collect();
        assert_eq!(ids[0].get("sample_id").unwrap().as_u64(), Some(want[0].1));
        let condition = Expr::parse("label == 4").unwrap();
        let found = Find::new(all).condition(Some(condition)).matches().unwrap();
        let found: Vec<u64> = found.map(|found| found.unwrap().index).collect();
        let expected = want.iter().enumerate().filter(|(_, (_, number))| number % 10 == 4);
        assert_eq!(found, expected.map(|(at, _)| at as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_selection_of_what_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [a, _] = data(folder.path());
    let paths = [folder.path().join("a"), folder.path().join("b")];
    let opened = site::open_all(&paths, &Limits::default()).unwrap();
    let file = folder.path().join("view.json");
    let save = |samples: &[u64], collection: &str| {
        let selected = Selected { collection, samples, condition: None };
        site::save_selection(opened.dataset.as_ref(), &selected, &file).map_err(|e| e.code())
    };
    assert_eq!(save(&[85], "all"), Err(codes::UNKNOWN_SAMPLE));
    assert_eq!(save(&[0], "nosuch"), Err(codes::UNKNOWN_COLLECTION));
    assert!(!file.exists());
    assert_eq!(save(&[0, 1], "all"), Ok(()));
    assert_eq!(save(&[0, 1], "all"), Err("site/exists"));
    let text = std::fs::read_to_string(&file).unwrap();
    let view = View::parse(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(view.identity(1), Some(Identity { cache_id: a, sample_id: 1 }));
    assert_eq!(view.caches().iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    // Every cut of the document is refused, or is no selection at all.
    let open = |text: &str| {
        std::fs::write(&file, text).unwrap();
        site::open(&file).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!(open(&text), Ok(()));
    for cut in (0..text.len() - 2).step_by(3) {
        assert!(open(&text[..cut]).is_err(), "{cut}");
    }
    for (from, to, code) in [
        ("\"datasetrt\"", "\"nosuch\"", "format/unknown"),
        ("\"datasetrt\"", "\"sedpack\"", "format/no_selections"),
        ("\"datasetrt\"", "7", "site/selection"),
        ("\"version\":1", "\"version\":2", codes::VIEW_VERSION),
        ("\"rows\":2", "\"rows\":3", codes::VIEW_INVALID),
        ("\"path\":\"b\"", "\"path\":\"a\"", codes::DUPLICATE_CACHE_ID),
        ("\"path\":\"b\"", "\"path\":\"nosuch\"", "io/not_found"),
        ("\"path\":\"b\"", "\"path\":\".\"", codes::MANIFEST_MISSING),
        ("\"sample_count\":25", "\"sample_count\":26", codes::VIEW_STALE),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(open(&text.replacen(from, to, 1)), Err(code), "{from} {to}");
    }
    // A file that only looks like one is what it is.
    assert_eq!(open("{\"format\":\"packstone.viewer\"}"), Err("format/unrecognized"));
}
