//! Taking over what another writer left, where it wrote the same.

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::Kind;

use super::super::codes;
use super::super::options::WriterOptions;
use super::super::parts::journal::{self, Head};
use super::super::parts::resume::{Left, clear};
use super::super::parts::rows::Rows;
use super::super::parts::stage::Stage;
use crate::error::{Error, Place, Result};

/// What a writer does, once its columns are known.
pub(super) fn head(
    stage: &Stage,
    rows: &Rows,
    carried: &Option<Object>,
    options: &WriterOptions,
) -> Option<Head> {
    Some(Head {
        name: stage.source_name.clone(),
        options: options.fingerprint(),
        json: rows.is_json(),
        columns: rows.columns()?.specs.clone(),
        descriptor: rows.descriptor(carried.clone()).to_value(),
    })
}

/// Takes over what was left in a stage; `None` where that is nothing, and then it is removed.
pub(super) fn resume(
    stage: &Stage,
    rows: &mut Rows,
    carried: &Option<Object>,
    options: &WriterOptions,
) -> Result<Option<Left>> {
    let left = Left::find(stage, &Limits::default())?.filter(|left| !left.shards.is_empty());
    let Some(left) = left else {
        clear(stage, &[], false)?;
        for journal in journal::journals(stage.root.as_ref(), &stage.folder)? {
            stage.root.remove(&journal)?;
        }
        return Ok(None);
    };
    rows.restore(left.head.columns.clone(), left.values.clone(), left.head.json)?;
    if head(stage, rows, carried, options).as_ref() != Some(&left.head) {
        let message =
            "expected the cache that was begun with the same fields and options, found another";
        let place = Place::file(&stage.folder);
        return Err(Error::new(Kind::Conflict, codes::STAGE_DIFFERS, place, message));
    }
    clear(stage, &left.closed(), false)?;
    Ok(Some(left))
}
