//! Saved selections: written, read, refused.

use packstone::Limits;
use packstone::expr::Expr;
use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::parts::table::Identity;
use packstone::formats::datasetrt::parts::view::{CacheStamp, View};

use crate::golden::one_cache;

fn stamp(path: &str, cache_id: u64, samples: u64) -> CacheStamp {
    let metadata_sha256 = format!("{:064x}", cache_id ^ samples);
    CacheStamp { path: path.to_owned(), cache_id, samples, metadata_sha256 }
}

fn caches() -> Vec<CacheStamp> {
    vec![stamp("../a", 9, 40), stamp("b", u64::MAX, 2)]
}

fn ids(list: &[(u64, u64)]) -> Vec<Identity> {
    list.iter().map(|&(cache_id, sample_id)| Identity { cache_id, sample_id }).collect()
}

fn view(list: &[(u64, u64)]) -> View {
    View::new(caches(), Some("label == 3".to_owned()), ids(list)).unwrap()
}

fn parse(text: &str) -> packstone::Result<View> {
    View::parse(text.as_bytes(), &Limits::default())
}

#[test]
fn a_view_is_written_in_runs_and_comes_back() {
    let list: Vec<_> = [(9, 0), (9, 4)]
        .into_iter()
        .chain((7..19).map(|id| (9, id)))
        .chain([(9, 2), (9, 2), (9, 3), (u64::MAX, 0), (u64::MAX, 1), (9, 39), (9, 38)])
        .collect();
    let made = view(&list);
    assert_eq!(
        made.text(),
        "{\"format\":\"packstone.view\",\"version\":1,\"dataset\":\"datasetrt\",\"expression\":\"label == 3\",\
         \"caches\":[{\"path\":\"../a\",\"cache_id\":9,\"sample_count\":40,\"metadata_sha256\":\
         \"0000000000000000000000000000000000000000000000000000000000000021\"},\
         {\"path\":\"b\",\"cache_id\":18446744073709551615,\"sample_count\":2,\"metadata_sha256\":\
         \"000000000000000000000000000000000000000000000000fffffffffffffffd\"}],\"rows\":21,\
         \"samples\":[{\"cache_id\":9,\"ids\":[0,4,[7,12],2,2,3]},\
         {\"cache_id\":18446744073709551615,\"ids\":[0,1]},{\"cache_id\":9,\"ids\":[39,38]}]}\n"
    );
    let read = parse(&made.text()).unwrap();
    assert_eq!(read, made);
    assert_eq!(read.identities().collect::<Vec<_>>(), ids(&list));
    assert_eq!(read.rows(), 21);
    for (row, id) in ids(&list).into_iter().enumerate() {
        assert_eq!(read.identity(row as u64), Some(id));
    }
    assert_eq!(read.identity(21), None);
    assert_eq!((read.expression(), read.caches()), (Some("label == 3"), &*caches()));
    let empty = View::new(caches(), None, []).unwrap();
    assert_eq!(parse(&empty.text()).unwrap(), empty);
    assert_eq!((empty.rows(), empty.identity(0), empty.expression()), (0, None, None));
}

#[test]
fn a_million_samples_in_a_row_are_a_few_bytes() {
    let table = one_cache(1_000_000);
    let expr = Expr::parse("n >= 250000 and n < 750000").unwrap();
    let taken = expr.select(&table.to_table().unwrap()).unwrap();
    let samples = taken.rows().map(|row| table.identity(row as u64).unwrap());
    let stamp = stamp("a", 7, 1_000_000);
    let made = View::new(vec![stamp], Some(expr.text().to_owned()), samples).unwrap();
    assert!(
        made.text().ends_with(
            "\"rows\":500000,\"samples\":[{\"cache_id\":7,\"ids\":[[250000,500000]]}]}\n"
        )
    );
    assert_eq!(parse(&made.text()).unwrap().identity(499_999).unwrap().sample_id, 749_999);
}

#[test]
fn a_dataset_that_changed_is_refused_by_name() {
    let made = view(&[(9, 1)]);
    made.check(&caches()).unwrap();
    let moved: Vec<_> =
        caches().into_iter().map(|cache| CacheStamp { path: "/x".to_owned(), ..cache }).collect();
    made.check(&moved).unwrap();
    let refused = |found: &[CacheStamp]| {
        let error = made.check(found).unwrap_err();
        assert_eq!(error.code(), codes::VIEW_STALE);
        error.to_string()
    };
    let mut swapped = caches();
    swapped.reverse();
    assert!(
        refused(&swapped)
            .starts_with("b: expected the cache 9, found 18446744073709551615: the dataset is not")
    );
    let mut longer = caches();
    longer[0].samples = 41;
    assert!(refused(&longer).starts_with("../a: expected 40 samples, found 41"));
    let mut changed = caches();
    changed[1].metadata_sha256 = "0".repeat(64);
    assert!(refused(&changed).starts_with("b: expected metadata of sha256 0000"));
    assert!(refused(&caches()[..1]).starts_with("b: expected 2 caches, found 1"));
    let mut more = caches();
    more.push(stamp("c", 1, 1));
    assert!(refused(&more).starts_with("c: expected 2 caches, found 3"));
}

#[test]
fn what_is_no_view_is_refused_with_its_reason() {
    let text = view(&[(9, 0), (9, 1), (9, 2), (9, 7)]).text();
    let cases = [
        (
            "\"packstone.view\"",
            "\"other\"",
            "$.format: expected \"packstone.view\", found \"other\"",
        ),
        (
            "\"dataset\":\"datasetrt\"",
            "\"dataset\":\"sds\"",
            "$.dataset: expected \"datasetrt\", found \"sds\"",
        ),
        ("\"rows\":4", "\"rows\":5", "$.samples: expected 5 samples, found 4"),
        ("\"rows\":4", "\"rowz\":4", "$.rowz: expected the members format"),
        ("\"rows\":4,", "", "$.rows: expected this member, found none"),
        ("\"rows\":4", "\"rows\":4,\"rows\":4", "expected distinct member names"),
        ("\"label == 3\"", "3", "$.expression: expected a string, found 3"),
        ("[0,3]", "[0,41]", "$.samples[0].ids[0]: expected samples of cache 9, found others"),
        ("[0,3]", "[0,0]", "$.samples[0].ids[0]: expected samples of cache 9, found others"),
        ("[0,3]", "[0,18446744073709551615]", "$.samples[0].ids[0]: expected samples"),
        ("[0,3]", "[5,18446744073709551615]", "$.samples[0].ids[0]: expected samples"),
        ("[0,3]", "[0,3,1]", "$.samples[0].ids[0]: expected samples"),
        ("[0,3]", "[0]", "$.samples[0].ids[0][1]: expected this member"),
        ("[0,3]", "-1", "$.samples[0].ids[0]: expected a non-negative 64-bit integer, found -1"),
        (",7]", ",40]", "$.samples[0].ids[1]: expected samples of cache 9, found others"),
        (
            "{\"cache_id\":9,\"ids\"",
            "{\"cache_id\":8,\"ids\"",
            "$.samples[0].ids[0]: expected samples of cache 8",
        ),
        ("18446744073709551615", "9", "$.caches: expected caches of distinct ids"),
        (
            "\"sample_count\":2",
            "\"sample_count\":18446744073709551615",
            "$.caches: expected caches of distinct ids whose samples fit 64 bits",
        ),
        ("000021\"", "00021\"", "$.caches[0].metadata_sha256: expected 64 hexadecimal digits"),
        ("000021\"", "00002g\"", "$.caches[0].metadata_sha256: expected 64 hexadecimal digits"),
        ("\"path\":\"b\",", "", "$.caches[1].path: expected this member"),
    ];
    for (from, to, says) in cases {
        assert!(text.contains(from), "{from}");
        let error = parse(&text.replacen(from, to, 1)).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), codes::VIEW_INVALID, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let error = parse(&text.replace("\"version\":1", "\"version\":2")).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), codes::VIEW_VERSION);
    assert!(error.to_string().contains("expected a view of version 1, found 2"));
    for len in 0..text.len() - 1 {
        assert!(parse(&text[..len]).is_err(), "cut at {len}");
    }
    let other = View::new(caches(), None, ids(&[(9, 0), (9, 40)])).unwrap_err();
    assert_eq!((other.code(), other.place().record), (codes::UNKNOWN_IDENTITY, Some(1)));
}

#[test]
fn huge_runs_take_no_memory() {
    let whole = stamp("a", 1, u64::MAX);
    let text = View::new(vec![whole], None, ids(&[(1, 0), (1, 1), (1, 2)])).unwrap().text();
    let text = text
        .replace("[0,3]", &format!("[0,{}]", u64::MAX))
        .replace("\"rows\":3", &format!("\"rows\":{}", u64::MAX));
    let read = parse(&text).unwrap();
    assert_eq!(read.rows(), u64::MAX);
    assert_eq!(read.identity(u64::MAX - 1).unwrap().sample_id, u64::MAX - 1);
    let twice = text.replace("]]}", "],0]}");
    assert!(parse(&twice).unwrap_err().to_string().contains("fits 64 bits"));
}
