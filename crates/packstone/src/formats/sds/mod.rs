//! SignalDataset (SDS), layout 0.1: records of arrays with axes, in ArrayRecord shards, published once and for all.
//!
//! ```text
//! root.json                                                   which dataset; written last
//! snapshots/<snapshot>/snapshot.json                          how many records; the pages of the manifest
//! manifests/<2 hex>/<snapshot>-<8 digits>.json                a page: shards, or records of other datasets' shards
//! objects/data/<2 hex>/<sha256>.arrayrecord                   records, one SafeTensors buffer each
//! objects/metadata/<2 hex>/<sha256>.arrayrecord               their rows: all but the values, as JSON
//! annotations/catalog.json                                    the newest revision; the one document that changes
//! annotations/catalogs/<sha256>.json                          revisions: annotation sets by name
//! annotations/sets/<name>/<publication>/root.json             a set: one annotation a record
//! annotations/sets/<name>/<publication>/objects/<2 hex>/<id>.arrayrecord
//! annotations/sets/<name>/<publication>/shards/<2 hex>/<sha256>.json      which worker was first
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | records, rows, annotations | all of layout 0.1 | byte by byte as the original |
//! | control documents | all of layout 0.1, generations ignored | byte by byte as the original |
//! | views | relative; absolute with consent | relative inside of their folder, else absolute |
//! | dtypes | bool, (u)int8…64, float16…64, complex64 | the same |
//!
//! Nothing is found by listing: readers follow references from the root on, and what none leads to is ignored. Rules are
//! those of the public format document; where the original library (0.4.0) differs, the modules say so.

pub mod audit;
pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;

/// The format's name.
const ID: &str = "sds";
