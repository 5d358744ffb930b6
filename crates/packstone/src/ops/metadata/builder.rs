//! Columns in the making, a row at a time: one for each name that any sample has.

use std::collections::HashMap;
use std::sync::Arc;

use packstone_container::json::Object;

use super::member::Member;
use super::{MetadataTable, STEP, made, too_large};
use crate::error::Result;

/// Cells that a table may have, whatever is in them.
const FREE_CELLS: u64 = 1 << 24;
/// Cells for each that is not null, beyond these.
const CELLS_PER_VALUE: u64 = 256;

/// Columns in the making.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) rows: u64,
    values: u64,
    /// Names of the container, then of metadata, each with its place in `members`.
    names: [HashMap<String, usize>; 2],
    members: Vec<(usize, String, Member)>,
}

impl Builder {
    pub(super) fn push(&mut self, identity: &Object, metadata: &Object) -> Result<()> {
        for (group, object) in [(0, identity), (1, metadata)] {
            for (key, value) in object.iter() {
                let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                let rows = self.rows;
                let Some(member) = self.member(group, name) else { continue };
                // Of a null the column is left all the same.
                if !value.is_null() {
                    member.push(rows, value)?;
                    self.values = self.values.saturating_add(1);
                }
            }
        }
        self.rows = self.rows.saturating_add(1);
        if self.rows.is_multiple_of(STEP) {
            self.check()?;
        }
        Ok(())
    }

    fn member(&mut self, group: usize, name: String) -> Option<&mut Member> {
        let next = self.members.len();
        let known = self.names.get_mut(group)?;
        let place = match known.get(&name) {
            Some(place) => *place,
            None => {
                known.insert(name.clone(), next);
                self.members.push((group, name, Member::default()));
                next
            }
        };
        self.members.get_mut(place).map(|(_, _, member)| member)
    }

    /// Few objects with many names each of their own must not become a huge table of nulls.
    fn check(&self) -> Result<()> {
        let cells = self.rows.saturating_mul(self.members.len() as u64);
        let most = FREE_CELLS.max(self.values.saturating_mul(CELLS_PER_VALUE));
        match cells > most {
            true => Err(too_large(format!("at most {most} cells, found {cells}, mostly null"))),
            false => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> Result<MetadataTable> {
        self.check()?;
        let rows = self.rows;
        // A name of the container gives way to the same one in the metadata, as in conditions.
        let [_, own] = &self.names;
        let taken = |group: usize, name: &String| group == 0 && own.contains_key(name);
        let mut kept: Vec<_> = std::mem::take(&mut self.members)
            .into_iter()
            .filter(|(group, name, _)| !taken(*group, name))
            .collect();
        kept.sort_by_key(|(group, _, _)| *group);
        let json = kept.iter().map(|(_, _, member)| member.json).collect();
        let columns = kept.into_iter().map(|(_, name, mut member)| {
            member.fill(rows)?;
            Ok((name, Arc::new(member.column)))
        });
        Ok(MetadataTable { table: made(columns.collect::<Result<_>>()?)?, rows, json })
    }
}
