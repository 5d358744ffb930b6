//! The operations of lazy views, on batch dimensions only.
//!
//! ```text
//! permute {"dims"}   transpose {"dim0", "dim1"}   view {"size"}   unsqueeze {"dim"}   squeeze {"dim"} or {}
//! ```
//!
//! Nothing else is an operation here: no name is ever looked up. `inv_op` and its arguments are not needed; for permute
//! they are not even the inverse.

use packstone_container::json::{Object, Value};

/// An operation with its arguments as stored; negative dimensions count from the end of the batch dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewOp {
    /// Dimensions in another order.
    Permute(Vec<i64>),
    /// Two dimensions swapped.
    Transpose(i64, i64),
    /// Another batch size of as many elements; one size may be -1.
    View(Vec<i64>),
    /// A new dimension of size 1.
    Unsqueeze(i64),
    /// One dimension of size 1 taken away, or all of them.
    Squeeze(Option<i64>),
}

impl ViewOp {
    /// Reads `custom_op` and `custom_op_kwargs`.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn parse(name: &Value, arguments: &Value) -> Result<Self, String> {
        let name =
            name.as_str().ok_or_else(|| format!("expected an operation, found {}", name.kind()))?;
        let arguments = arguments.as_object().ok_or_else(|| {
            format!("expected an object of arguments, found {}", arguments.kind())
        })?;
        let known: &[&str] = match name {
            "permute" => &["dims"],
            "transpose" => &["dim0", "dim1"],
            "view" => &["size"],
            "unsqueeze" | "squeeze" => &["dim"],
            _ => {
                let known = "permute, transpose, view, unsqueeze, squeeze";
                return Err(format!("expected one of {known}, found {name:?}"));
            }
        };
        let missing = |argument: &&&str| !(arguments.contains_key(argument) || name == "squeeze");
        let unknown =
            arguments.keys().any(|key| !key.as_str().is_some_and(|key| known.contains(&key)));
        if unknown || known.iter().any(|argument| missing(&argument)) {
            return Err(format!(
                "expected the arguments {} of {name}, found others",
                known.join(", ")
            ));
        }
        let integer = |argument: &str| {
            let value = arguments.get(argument).unwrap_or(&Value::Null);
            value
                .as_i64()
                .ok_or_else(|| format!("expected an integer as {argument}, found {}", value.kind()))
        };
        let list = |argument: &str| {
            let wrong = || format!("expected a list of integers as {argument}");
            let items = arguments.get(argument).and_then(Value::as_array).ok_or_else(wrong)?;
            items.iter().map(|item| item.as_i64().ok_or_else(wrong)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match name {
            "permute" => Self::Permute(list("dims")?),
            "transpose" => Self::Transpose(integer("dim0")?, integer("dim1")?),
            "view" => Self::View(list("size")?),
            "unsqueeze" => Self::Unsqueeze(integer("dim")?),
            _ if arguments.get("dim").is_none_or(Value::is_null) => Self::Squeeze(None),
            _ => Self::Squeeze(Some(integer("dim")?)),
        })
    }

    /// The name as it stands in `custom_op`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Permute(_) => "permute",
            Self::Transpose(..) => "transpose",
            Self::View(_) => "view",
            Self::Unsqueeze(_) => "unsqueeze",
            Self::Squeeze(_) => "squeeze",
        }
    }

    /// The arguments as they stand in `custom_op_kwargs`.
    pub fn arguments(&self) -> Object {
        let mut out = Object::new();
        match self {
            Self::Permute(dims) => drop(out.insert("dims", dims.as_slice())),
            Self::Transpose(one, other) => {
                out.insert("dim0", *one);
                out.insert("dim1", *other);
            }
            Self::View(size) => drop(out.insert("size", size.as_slice())),
            Self::Unsqueeze(dim) | Self::Squeeze(Some(dim)) => drop(out.insert("dim", *dim)),
            Self::Squeeze(None) => {}
        }
        out
    }

    /// What the library notes as the inverse over a source of this batch size, for documents only.
    pub fn inverse(&self, source: &[u64]) -> (Value, Object) {
        let same = || (Value::from(self.name()), self.arguments());
        match self {
            Self::Permute(_) | Self::Transpose(..) => same(),
            Self::View(_) => {
                let mut size = Object::new();
                size.insert("size", source);
                (Value::from("view"), size)
            }
            Self::Unsqueeze(_) => (Value::from("squeeze"), self.arguments()),
            Self::Squeeze(Some(_)) => (Value::from("unsqueeze"), self.arguments()),
            Self::Squeeze(None) => (Value::Null, Object::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn parse(name: &str, arguments: &str) -> Result<ViewOp, String> {
        let arguments =
            json::read(arguments.as_bytes(), &json::ReadOptions::default()).unwrap().value;
        ViewOp::parse(&Value::from(name), &arguments)
    }

    #[test]
    fn each_operation_is_read_and_written() {
        for (name, arguments, op) in [
            ("permute", r#"{"dims":[2,-3,1]}"#, ViewOp::Permute(vec![2, -3, 1])),
            ("transpose", r#"{"dim0":0,"dim1":-1}"#, ViewOp::Transpose(0, -1)),
            ("view", r#"{"size":[-1,2]}"#, ViewOp::View(vec![-1, 2])),
            ("unsqueeze", r#"{"dim":-1}"#, ViewOp::Unsqueeze(-1)),
            ("squeeze", r#"{"dim":0}"#, ViewOp::Squeeze(Some(0))),
            ("squeeze", "{}", ViewOp::Squeeze(None)),
        ] {
            assert_eq!(parse(name, arguments), Ok(op.clone()));
            assert_eq!(
                (op.name(), Value::Object(op.arguments()).to_string().as_str()),
                (name, arguments)
            );
        }
    }

    #[test]
    fn nothing_else_is_an_operation() {
        for (name, arguments) in [
            ("apply_", r#"{"fn":"x"}"#),
            ("__class__", "{}"),
            ("permute", "{}"),
            ("permute", r#"{"dims":1}"#),
            ("permute", r#"{"dims":["a"]}"#),
            ("permute", r#"{"dims":[0],"fn":1}"#),
            ("transpose", r#"{"dim0":0}"#),
            ("view", r#"{"size":[1.5]}"#),
            ("unsqueeze", r#"{"dim":null}"#),
            ("squeeze", r#"{"dims":0}"#),
            ("squeeze", "[]"),
        ] {
            assert!(parse(name, arguments).is_err(), "{name} {arguments}");
        }
    }
}
