//! The tree of a collection of samples: where each field is, and what its node says.
//!
//! | a field | is |
//! | --- | --- |
//! | of one shape | a leaf `[N, …]`; without elements, its entry alone |
//! | of varying shape | a nested tensor of N parts; a leaf without elements where there are no samples |
//! | text, JSON | a NonTensorStack of N values |
//! | at a nested key | the same, in tensordicts of batch size `[N]` |

use packstone_container::json::Value;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::class::Class;
use super::node::{Bytes, Leaf, NestedTensor, Node, NonTensorStack, StackValues, TensorDict};
use crate::error::{Error, Place, Result};
use crate::model::{Field, Key, Schema};

/// The node of a field over so many samples, without its values.
pub fn node(field: &Field, rows: u64) -> Node {
    let nothing = || Bytes::Given(Buf::default());
    let dtype = field.dtype.clone();
    if field.is_variable() {
        return Node::NonTensorStack(stack(rows));
    }
    let rank = field.shape.len() as u64;
    if field.varying && rank > 0 && rows > 0 {
        let (sizes, data) = (nothing(), nothing());
        return Node::NestedTensor(NestedTensor { dtype, extent: (rows, rank), sizes, data });
    }
    let inner = field.shape.iter().map(|dim| if field.varying { 0 } else { *dim });
    let shape = std::iter::once(rows).chain(inner).collect();
    Node::Leaf(Leaf { dtype, shape, data: nothing() })
}

/// A stack of so many values, without them.
pub fn stack(rows: u64) -> NonTensorStack {
    NonTensorStack {
        class: Class::exported("NonTensorStack"),
        batch_size: vec![rows],
        stack_dim: 0,
        device: None,
        values: StackValues::Json(Vec::new()),
        document: None,
    }
}

/// The tree of all fields over so many samples.
///
/// # Errors
/// `name_collision` where a field is at the key of another or below it.
pub fn tree(schema: &Schema, rows: u64) -> Result<TensorDict> {
    let mut root = TensorDict::new(vec![rows], Vec::new());
    for field in &schema.fields {
        place(&mut root, &field.key, field.key.parts(), node(field, rows), rows)?;
    }
    Ok(root)
}

/// The tree of one sample with something in each place, which makes all the files that any number of samples makes.
///
/// # Errors
/// As for [`tree`].
pub fn sample(schema: &Schema) -> Result<TensorDict> {
    let mut root = tree(schema, 1)?;
    fill(&mut root);
    Ok(root)
}

fn fill(dict: &mut TensorDict) {
    for (_, node) in &mut dict.entries {
        match node {
            Node::TensorDict(inner) => fill(inner),
            Node::NonTensorStack(stack) => stack.values = StackValues::Json(vec![Value::Null]),
            Node::NestedTensor(nested) => {
                let rank = usize::try_from(nested.extent.1).unwrap_or(0);
                nested.sizes = Bytes::Given(Buf::from(vec![0; rank.saturating_mul(8)]));
            }
            _ => {}
        }
    }
}

fn place(dict: &mut TensorDict, key: &Key, parts: &[String], node: Node, rows: u64) -> Result<()> {
    let taken = || {
        let message =
            "expected each field at a key of its own, found another at this one or above it";
        let place = Place::default().field(key.to_string());
        Error::new(Kind::Invalid, codes::NAME_COLLISION, place, message)
    };
    let Some((first, rest)) = parts.split_first() else { return Err(taken()) };
    let found = dict.entries.iter_mut().find(|(name, _)| name == first);
    match (found, rest) {
        (None, []) => dict.entries.push((first.clone(), node)),
        (None, rest) => {
            let mut inner = TensorDict::new(vec![rows], Vec::new());
            place(&mut inner, key, rest, node, rows)?;
            dict.entries.push((first.clone(), Node::TensorDict(inner)));
        }
        (Some((_, Node::TensorDict(inner))), rest) if !rest.is_empty() => {
            place(inner, key, rest, node, rows)?;
        }
        _ => return Err(taken()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::document;
    use super::*;
    use crate::model::DType;

    fn at(parts: &[&str], dtype: DType, shape: &[u64]) -> Field {
        let key = Key::nested(parts.iter().map(|part| (*part).to_owned()).collect());
        Field::at(key, dtype, shape)
    }

    #[test]
    fn fields_become_nodes() {
        let schema = Schema::new(vec![
            at(&["a"], DType::Int16, &[2]),
            at(&["n", "b"], DType::Float32, &[]),
            Field::varying(Key::nested(vec!["n".to_owned(), "v".to_owned()]), DType::UInt8, 2),
            at(&["t"], DType::Str, &[]),
        ]);
        let entries = |rows| {
            let root = tree(&schema, rows).unwrap();
            let Some(Node::TensorDict(inner)) = root.get("n") else { unreachable!() };
            let all = root.entries.iter().chain(&inner.entries);
            all.map(|(key, node)| {
                format!("{key} {}", packstone_container::json::Value::from(document::entry(node)))
            })
            .collect::<Vec<_>>()
        };
        let leaf = |key: &str, shape: &str, dtype: &str, nested: bool| {
            format!(
                r#"{key} {{"device":"cpu","shape":[{shape}],"dtype":"torch.{dtype}","is_nested":{nested}}}"#
            )
        };
        let want = |nested: String, rows: u64| {
            vec![
                leaf("a", &format!("{rows},2"), "int16", false),
                r#"n {"type":"TensorDict"}"#.to_owned(),
                r#"t {"type":"NonTensorStack"}"#.to_owned(),
                leaf("b", &rows.to_string(), "float32", false),
                nested,
            ]
        };
        assert_eq!(entries(3), want(leaf("v", "3,2", "uint8", true), 3));
        assert_eq!(entries(0), want(leaf("v", "0,0,0", "uint8", false), 0));
    }

    #[test]
    fn no_field_is_at_or_below_the_key_of_another() {
        for keys in
            [[&["a"][..], &["a"]], [&["a"], &["a", "b"]], [&["a", "b"], &["a"]], [&[], &["a"]]]
        {
            let fields = keys.map(|key| at(key, DType::Int8, &[]));
            let error = tree(&Schema::new(fields.to_vec()), 1).unwrap_err();
            assert_eq!(error.code(), codes::NAME_COLLISION, "{keys:?}");
        }
    }
}
