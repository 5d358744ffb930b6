//! Sedpack: shards of examples, listed in a tree of JSON files, hashed as a Merkle tree.
//!
//! ```text
//! dataset_info.json                     schema, compression, shard type, checksum algorithms; one pointer a split
//! train/shards_list.json                shards of this folder, pointers to the lists below; counts at every level
//! train/<10 hex>/shards_list.json
//! train/<10 hex>/<10 hex>/<10 hex>/shards_list.json
//! train/<10 hex>/<10 hex>/<10 hex>/<32 hex>.fb|npz|tfrec
//! ```
//!
//! | | fb | npz | tfrec |
//! | --- | --- | --- | --- |
//! | compressions | none, BZ2, GZIP, LZMA, LZ4, ZLIB (as gzip), ZSTD | none, ZIP | none, GZIP, ZLIB |
//! | dtypes | all | all | int8, uint8, int32, int64, int, float16, float32, str, bytes |
//!
//! Rules are those of the public specification; where the original library differs, the modules say so.

pub mod codes;
pub mod document;
pub mod layout;
pub mod parts;
pub mod reader;
pub mod schema;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Plan, RepairOptions, RepairReport, Writer, Written,
};
use crate::model::Fidelity;

/// The format, see [the module](self).
#[derive(Debug)]
pub struct Sedpack;

impl Format for Sedpack {
    fn id(&self) -> &'static str {
        "sedpack"
    }

    fn title(&self) -> &'static str {
        "Sedpack: sharded examples with a Merkle tree of lists"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("shard_type", "fb (default), npz or tfrec"),
            ("compression", "\"\" (default for npz and tfrec), BZ2, GZIP, LZMA, LZ4 (default for fb), ZIP, ZLIB, ZSTD"),
            ("hashes", "checksum algorithms, sha256 by default"),
            ("examples_per_shard", "examples in a full shard, 256 by default"),
            ("sedpack_version", "the version that readers must have, 0.2.0 by default; 0.1.4 has the same layout"),
        ]
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        match root.len(&reader::root_document()?) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(reader::SedpackDataset::open(root, limits)?))
    }

    fn fidelity(&self, _plan: &Plan, _options: &Object) -> Result<Fidelity> {
        Err(unfinished())
    }

    fn create(&self, _root: Arc<dyn RootMut>, _plan: &Plan, _options: &Object) -> Result<Box<dyn Writer>> {
        Err(unfinished())
    }

    fn audit(&self, _root: Arc<dyn Root>, _options: &AuditOptions) -> Result<Audit> {
        Err(unfinished())
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        Err(unfinished())
    }

    fn repair(&self, _root: Arc<dyn RootMut>, _options: &RepairOptions) -> Result<RepairReport> {
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Kind::Unsupported, "sedpack/unfinished", Place::default(), "not built yet")
}
