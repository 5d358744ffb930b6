//! A larger dataset, made through the library: 4,096 signals of 8,192 numbers with their labels, 64 MiB.

use std::path::Path;
use std::sync::Arc;

use packstone::error::Place;
use packstone::format::Plan;
use packstone::json::Object;
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Error, Kind, LocalRoot, Result, registry};
use packstone_io::Buf;

use crate::interrupt;

const SAMPLES: usize = 4096;
const POINTS: usize = 8192;
/// Points in a row with one value; a divisor of the points.
const HELD: usize = 8;
/// Samples that are made at once.
const ROWS: usize = 256;

/// Writes the dataset, uncompressed.
pub(super) fn dataset(path: &Path) -> Result<()> {
    let fields = vec![
        Field::new("signal", DType::Int16, [POINTS as u64]),
        Field::new("label", DType::Int32, []),
    ];
    let schema = Arc::new(Schema::new(fields));
    let plan = Plan {
        schema: Arc::clone(&schema),
        collections: vec![("train".to_owned(), Some(SAMPLES as u64))],
        ..Plan::default()
    };
    let options: Object = [("shard_type", "fb"), ("compression", "")].into_iter().collect();
    let root = Arc::new(LocalRoot::create(path)?);
    let mut writer = registry::format("sedpack")?.create(root, &plan, &options)?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    for first in (0..SAMPLES).step_by(ROWS) {
        interrupt::check()?;
        writer.write("train", &batch(&schema, first, &mut noise)?)?;
    }
    writer.finish()?;
    Ok(())
}

fn batch(schema: &Arc<Schema>, first: usize, noise: &mut Noise) -> Result<Batch> {
    let mut signals = Vec::with_capacity(ROWS * POINTS * 2);
    let mut labels = Vec::with_capacity(ROWS * 4);
    for label in (first..).take(ROWS) {
        // A triangle wave whose slope tells the label, with two bits of noise, held for some points: it compresses
        // as measurements do.
        let step = i64::try_from(label % 13).unwrap_or_default() + 1;
        for point in (0i64..).step_by(HELD).take(POINTS / HELD) {
            let wave = (point * step % 4096 - 2048).abs() - 1024;
            let value = i16::try_from(wave + noise.bits()).unwrap_or_default();
            (0..HELD).for_each(|_| signals.extend_from_slice(&value.to_le_bytes()));
        }
        labels.extend_from_slice(&i32::try_from(label % 13).unwrap_or_default().to_le_bytes());
    }
    let columns = [(signals, POINTS * 2), (labels, 4)]
        .map(|(bytes, width)| Column::dense(Buf::from(bytes), width, ROWS));
    let columns: Option<Vec<Column>> = columns.into_iter().collect();
    let columns = columns.ok_or_else(|| {
        let message = "expected whole rows, found others";
        Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
    })?;
    Batch::new(Arc::clone(schema), ROWS, columns)
}

/// A small generator (xorshift), the same in every run.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 >> 62).unwrap_or_default()
    }
}
