//! The files of values that are no tensors, beside the documents that have the others.

use packstone_io::{Buf, RelPath};

use super::super::super::codes;
use super::super::super::layout::{FIELDS_PICKLE, JSON_TYPES, STACK_PICKLE, TENSORDICT};
use super::super::files::Body;
use super::super::node::{
    FieldFiles, FieldValue, NonTensor, NonTensorStack, StackValues, TensorClass,
};
use super::super::{json_types, stack};
use super::Planner;
use crate::error::Result;
use crate::model::{Finding, Severity};

impl Planner<'_> {
    pub(super) fn non_tensor(&mut self, folder: &RelPath, node: &NonTensor) -> Result<()> {
        // A value that JSON holds now has no use for the pickle of an older one.
        let plain = matches!(node.value, FieldValue::Json(_));
        let files = if plain { &FieldFiles::default() } else { &node.files };
        self.fields(folder, files, &[("data", &node.value)])
    }

    pub(super) fn tensorclass(&mut self, folder: &RelPath, node: &TensorClass) -> Result<()> {
        let fields: Vec<_> =
            node.fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
        self.fields(folder, &node.files, &fields)?;
        self.hidden(folder, TENSORDICT, &node.tensordict)
    }

    /// The files beside the document where values are in them.
    fn fields(
        &mut self,
        folder: &RelPath,
        files: &FieldFiles,
        fields: &[(&str, &FieldValue)],
    ) -> Result<()> {
        let mut classes = Vec::new();
        for (name, value) in fields {
            match value {
                FieldValue::Faulty(fault) => return Err(fault.error()),
                FieldValue::Pickled if files.pickle.is_none() => {
                    let message = format!(
                        "expected a value that JSON holds as {name:?}, or the pickle that has it, found neither"
                    );
                    return self.refuse(folder, codes::VALUE_NOT_STORABLE, message);
                }
                FieldValue::Container(class) => classes.push((*name, *class)),
                FieldValue::Json(_) | FieldValue::Pickled => {}
            }
        }
        if let Some(pickle) = &files.pickle {
            self.copy(folder, FIELDS_PICKLE, pickle)?;
            return files
                .types
                .as_ref()
                .map_or(Ok(()), |types| self.copy(folder, JSON_TYPES, types));
        }
        if classes.is_empty() {
            return Ok(());
        }
        let Some((pickle, types)) = json_types::files(&classes) else {
            let message =
                format!("expected fewer fields that are classes, found {}", classes.len());
            return self.refuse(folder, codes::VALUE_NOT_STORABLE, message);
        };
        self.put(folder, FIELDS_PICKLE, pickle.len() as u64, Body::Given(Buf::from(pickle)))?;
        self.text(folder, JSON_TYPES, types)
    }

    pub(super) fn non_tensor_stack(
        &mut self,
        folder: &RelPath,
        node: &NonTensorStack,
        parent: &[u64],
    ) -> Result<()> {
        match &node.values {
            StackValues::Json(values) => {
                let seen = stack::batch_size(values);
                if !seen.starts_with(parent) {
                    let message =
                        format!("expected values for a batch of {parent:?}, found {seen:?}");
                    return self.refuse(folder, codes::BATCH_MISMATCH, message);
                }
                if seen.len() > node.batch_size.len().max(1) {
                    let message = format!(
                        "expected values that are no lists of one length, which readers take for dimensions: {:?} becomes {seen:?}",
                        node.batch_size
                    );
                    let place = self.place(folder);
                    let code = codes::AMBIGUOUS_VALUES;
                    self.out.notes.push(Finding::new(Severity::Warning, code, place, message));
                }
                Ok(())
            }
            StackValues::Pickled(pickle) => self.copy(folder, STACK_PICKLE, pickle),
            StackValues::Members(members) => self.members(folder, members),
            StackValues::Faulty(fault) => Err(fault.error()),
        }
    }
}
