//! Caches made by hand, record by record, without packstone's own writer.

use packstone::RootMut;
use packstone_container::arrow_table::{ArrowError, Column, Table, Values, write_file};
use packstone_container::digest::{Algorithm, digest_hex};

use packstone::MemoryRoot;

use crate::kit::path;

/// A cache with one int column `i`.
#[derive(Clone)]
pub(crate) struct Made {
    /// Bytes of each shard, and whether it is LZ4.
    pub(crate) shards: Vec<(Vec<u8>, bool)>,
    /// Shard, offset and length of each record.
    pub(crate) index: Vec<[u64; 3]>,
    /// The value of each sample.
    pub(crate) values: Vec<i64>,
    /// Names of the shards, where they are not numbered.
    pub(crate) names: Vec<String>,
}

/// A record with this metadata and payload.
pub(crate) fn record(metadata: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = (metadata.len() as u64).to_le_bytes().to_vec();
    out.extend(metadata.as_bytes());
    out.extend(payload);
    out
}

impl Made {
    /// One shard of these payloads; sample `n` has value `n`.
    pub(crate) fn of(payloads: &[&[u8]]) -> Self {
        let mut made = Self {
            shards: vec![(Vec::new(), false)],
            index: vec![],
            values: vec![],
            names: vec![],
        };
        for (n, payload) in payloads.iter().enumerate() {
            made.push(0, &format!("{{\"i\":{n}}}"), payload, n as i64);
        }
        made
    }

    pub(crate) fn push(&mut self, shard: usize, metadata: &str, payload: &[u8], value: i64) {
        let record = record(metadata, payload);
        let offset = self.shards[shard].0.len() as u64;
        self.index.push([shard as u64, offset, record.len() as u64]);
        self.shards[shard].0.extend(&record);
        self.values.push(value);
    }

    pub(crate) fn arrow(&self) -> Vec<u8> {
        let column = Column::new(Values::Int64(self.values.clone()));
        let table = Table::new([("i".to_owned(), column)]).unwrap();
        let mut out = Vec::new();
        write_file::<ArrowError>(&table, usize::MAX, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        out
    }

    pub(crate) fn index_bytes(&self) -> Vec<u8> {
        self.index.iter().flatten().flat_map(|n| n.to_le_bytes()).collect()
    }

    fn name(&self, number: usize) -> String {
        self.names.get(number).cloned().unwrap_or_else(|| format!("{number:06}.bin"))
    }

    pub(crate) fn manifest(&self) -> String {
        let sum = |bytes: &[u8]| digest_hex(Algorithm::Sha256, bytes);
        let shards: Vec<String> = self
            .shards
            .iter()
            .enumerate()
            .map(|(number, (bytes, packed))| {
                let (name, algo) = (self.name(number), if *packed { "lz4" } else { "none" });
                format!(
                    r#"{{"name": "{name}", "uncompressed_byte_len": 0, "byte_len": {}, "compression":
                       {{"algo": "{algo}", "ratio": 1.0}}, "sha256": "{}"}}"#,
                    bytes.len(),
                    sum(bytes)
                )
            })
            .collect();
        format!(
            r#"{{"format_version": 3, "cache_id": 1, "source_name": "made", "sample_count": {},
               "metadata_schema": [{{"name": "i", "kind": "int"}}], "metadata_sha256": "{}",
               "index_sha256": "{}", "shards": [{}]}}"#,
            self.index.len(),
            sum(&self.arrow()),
            sum(&self.index_bytes()),
            shards.join(",")
        )
    }

    /// The files by their path.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![
            ("manifest.json".to_owned(), self.manifest().into_bytes()),
            ("metadata.arrow".to_owned(), self.arrow()),
            ("index.bin".to_owned(), self.index_bytes()),
        ];
        for (number, (bytes, _)) in self.shards.iter().enumerate() {
            files.push((format!("shards/{}", self.name(number)), bytes.clone()));
        }
        files
    }

    pub(crate) fn root(&self) -> MemoryRoot {
        let root = MemoryRoot::new();
        for (name, bytes) in self.files() {
            root.replace(&[(path(&name), bytes)]).unwrap();
        }
        root
    }

    pub(crate) fn write(&self, folder: &std::path::Path) {
        std::fs::create_dir_all(folder.join("shards")).unwrap();
        for (name, bytes) in self.files() {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}
