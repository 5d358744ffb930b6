//! DatasetRT: immutable caches of samples, each some bytes with a row of metadata.
//!
//! ```text
//! BASE/
//! ├── NAME/                     a cache
//! │   ├── manifest.json         what it holds, with checksums; it alone makes the cache complete
//! │   ├── metadata.arrow        one row a sample: bool, int, float, string columns
//! │   ├── index.bin             one row a sample: shard, offset, length of its record
//! │   └── shards/000000.bin …   records: length of metadata, metadata again as JSON, payload (as it is, or LZ4)
//! └── tmp/NAME/                 a cache in the making
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | manifest version 2 (releases 0.3) | yes | no |
//! | manifest version 3 (releases 0.4) | yes | yes |
//! | payloads | none, lz4 | none, lz4 |
//!
//! A sample has the one field `data`; the metadata columns are what is said about it. Rules are those of the public
//! specification; where the original library differs, the modules say so.

pub mod audit;
pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;
pub mod schema;
