//! What a dataset is, whatever its format: typed fields, rows, batches, and what is said about them.

mod about;
mod batch;
pub mod canonical;
mod column;
mod dtype;
mod fidelity;
mod finding;
mod holds;
mod outline;
pub mod own;
mod row_table;
mod said;
pub mod sample_table;
mod schema;
mod slots;
mod value;

pub use about::{ABOUT_FIELDS, about_fields, with_about_fields};
pub use batch::{Batch, BatchBuilder, Sample};
pub use column::Column;
pub use dtype::{DType, TimeUnit};
pub use fidelity::{Fidelity, Loss, Unreadable};
pub use finding::{Finding, Severity};
pub use holds::Holds;
pub use outline::Outline;
pub(crate) use row_table::RowTable;
pub use sample_table::SampleTable;
pub use schema::{Field, Key, Schema};
pub use slots::{BatchSlots, RowSlot};
pub use value::ValueRef;
