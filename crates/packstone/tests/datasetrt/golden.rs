//! Every golden cache reads to exactly what its `expected.json` says.

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone::format::{Collection, ReadContext};
use packstone::formats::datasetrt::parts::float;
use packstone::formats::datasetrt::parts::joint::Joint;
use packstone::json::Value;
use packstone::ops::Scan;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_testkit::{Case, Snapshot, good_cases};

use crate::kit::{self, canonical_object};

/// Identity, metadata and digest of the payload of every sample, read in order.
type Samples = Vec<(u64, u64, String, String)>;

fn read(joint: &Joint, threads: usize) -> Samples {
    let mut out = Vec::new();
    let mut context = ReadContext { identities: true, ..ReadContext::default() };
    for shard in joint.shards(0) {
        let shard = shard.unwrap();
        assert_eq!(shard.first, out.len() as u64);
        let batch = joint.read(&shard, None, &mut context).unwrap();
        assert_eq!(batch.rows() as u64, shard.rows);
        for sample in batch.samples() {
            let identity = sample.identity().unwrap();
            let id = |name: &str| identity.get(name).unwrap().as_u64().unwrap();
            let metadata = Value::Object(canonical_object(sample.metadata().unwrap()));
            let payload = digest_hex(Algorithm::Sha256, sample.get("data").unwrap().bytes);
            out.push((id("cache_id"), id("sample_id"), metadata.to_string(), payload));
        }
    }
    let scanned = Scan::new(Arc::new(joint.clone())).threads(threads).verify(true);
    let rows: usize = scanned.shards().map(|shard| shard.unwrap().batch.rows()).sum();
    assert_eq!(rows, out.len());
    out
}

fn expected(samples: &Value) -> Samples {
    let samples = samples.as_array().unwrap().iter();
    let one = |sample: &Value| {
        let id = |name: &str| sample.get(name).unwrap().as_u64().unwrap();
        let payload = sample.get("payload").unwrap().get("sha256").unwrap().as_str().unwrap();
        let metadata = sample.get("metadata").unwrap().to_string();
        (id("cache_id"), id("sample_id"), metadata, payload.to_owned())
    };
    samples.map(one).collect()
}

/// What a case says of its samples, wherever it says so.
fn samples_of(case: &Case) -> Samples {
    let dataset = case.expected.get("dataset").unwrap();
    if let Some(samples) = dataset.get("samples").or(case.expected.get("samples")) {
        return expected(samples);
    }
    // The library cannot read these back: what it stored stands in two lists.
    let part = |name: &str| case.expected.get(name).unwrap().as_array().unwrap();
    let rows = part("table").iter().zip(part("records"));
    let one = |(row, record): (&Value, &Value)| {
        let id = |name: &str| row.get(name).unwrap().as_u64().unwrap();
        let mut metadata = row.as_object().unwrap().clone();
        let (cache_id, sample_id) = (id("cache_id"), id("sample_id"));
        for name in ["cache_id", "sample_id", "weight"] {
            metadata.remove(name);
        }
        let payload = record.get("payload").unwrap().as_str().unwrap().as_bytes();
        let payload = digest_hex(Algorithm::Sha256, payload);
        (cache_id, sample_id, Value::Object(metadata).to_string(), payload)
    };
    rows.map(one).collect()
}

#[test]
fn every_good_case_reads_to_its_expectation() {
    let cases = good_cases("datasetrt");
    assert!(cases.len() >= 24, "found {} cases", cases.len());
    for case in &cases {
        let before = Snapshot::of(&case.data);
        let joint = kit::open(case);
        let want = samples_of(case);
        assert_eq!(joint.len(), want.len() as u64, "{}", case.name);
        for threads in [0, 3] {
            assert_eq!(read(&joint, threads), want, "{}", case.name);
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
}

#[test]
fn every_sample_is_found_by_its_identity_and_by_its_position() {
    let mut context = ReadContext { identities: true, ..ReadContext::default() };
    for case in good_cases("datasetrt") {
        let joint = kit::open(&case);
        let want = samples_of(&case);
        let mut last = BTreeMap::new();
        for (position, (cache_id, sample_id, _, payload)) in want.iter().enumerate() {
            let found = joint.get(*cache_id, *sample_id, &mut context).unwrap();
            let bytes = found.sample(0).unwrap().get("data").unwrap().bytes;
            assert_eq!(&digest_hex(Algorithm::Sha256, bytes), payload, "{}", case.name);
            let same = joint.get_at(position as u64, &mut context).unwrap();
            assert_eq!(same.identity(0), found.identity(0));
            last.insert(*cache_id, *sample_id);
        }
        for (cache_id, sample_id) in last {
            let past = joint.get(cache_id, sample_id + 1, &mut context).unwrap_err();
            assert_eq!(past.code(), "datasetrt/unknown_sample");
        }
        assert!(joint.get(u64::MAX - 5, 0, &mut context).is_err());
        assert!(joint.get_at(joint.len(), &mut context).is_err());
    }
}

#[test]
fn other_orders_of_a_list_give_other_ids_to_version_2_alone() {
    let mut checked = 0;
    for case in good_cases("datasetrt") {
        let Some(orders) = case.expected.get("reordered") else { continue };
        for order in orders.as_array().unwrap() {
            let paths = kit::texts(order.get("paths").unwrap());
            let joint = kit::open_roots(kit::roots(&case, &paths)).unwrap();
            let found: Vec<String> =
                read(&joint, 0).iter().map(|s| format!("[{},{}]", s.0, s.1)).collect();
            let want = order.get("identities").unwrap().as_array().unwrap();
            assert_eq!(found, want.iter().map(Value::to_string).collect::<Vec<_>>());
            checked += 1;
        }
    }
    assert_eq!(checked, 3);
}

/// `peer_record_metadata` is what the library made of the copies in the shards.
#[test]
fn the_model_of_the_library_reads_floats_as_it_does() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_lossy_floats").unwrap();
    let joint = kit::open(&case);
    let samples = case.expected.get("dataset").unwrap().get("samples").unwrap();
    let (mut differ, mut saved) = (0, 0);
    for (position, sample) in samples.as_array().unwrap().iter().enumerate() {
        let (cache, number) = joint.locate(position as u64).unwrap();
        let (_, shard, record) = cache.record(number).unwrap();
        let copy = std::str::from_utf8(&shard[record.metadata]).unwrap();
        let text = copy.strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap();
        let bits = |from: &Value| {
            let bits = from.get("x").unwrap().get("f64").unwrap().as_str().unwrap();
            f64::from_bits(u64::from_str_radix(bits, 16).unwrap())
        };
        let exact = bits(sample.get("metadata").unwrap());
        let theirs = sample.get("peer_record_metadata").map_or(exact, bits);
        assert_eq!(float::peer_reads(text), Some(theirs), "{text}");
        assert_eq!(text.parse(), Ok(exact));
        if theirs != exact {
            differ += 1;
            saved += usize::from(float::peer_reads(&float::peer_exact(exact)) == Some(exact));
        }
    }
    assert!(differ > 3 && saved == differ, "{saved} of {differ}");
}
