//! The index of a sub-tensordict.
//!
//! ```text
//! 3   null   ["ellipsis"]   ["slice", {"start", "stop", "step"}]   ["range", {"start", "stop", "step"}]
//! ["tensor", nested list, device]   ["list", […]]   ["tuple", […]]   […] is an old tuple
//! ```
//!
//! Positions lost their dtype: lists of booleans are masks, all else are positions. Masks that were stored as `uint8`
//! therefore read as positions, in the library and here.

use packstone_container::json::{Object, Value};

/// What an index picks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// One position; the dimension goes away.
    At(i64),
    /// A new dimension of size 1.
    NewAxis,
    /// All dimensions that nothing else takes.
    Ellipsis,
    /// Positions from a start to before a stop.
    Slice {
        /// The first position; from the beginning where not given.
        start: Option<i64>,
        /// The end; to the end where not given.
        stop: Option<i64>,
        /// The distance; 1 where not given.
        step: Option<i64>,
    },
    /// Positions in an array of any shape.
    Positions {
        /// Its shape.
        shape: Vec<u64>,
        /// The positions in C order.
        at: Vec<i64>,
    },
    /// Positions at even distances, which may be negative.
    Range {
        /// The first position.
        start: i64,
        /// The end.
        stop: i64,
        /// The distance; not 0.
        step: i64,
    },
    /// Flags for as many dimensions as the shape has.
    Mask {
        /// Its shape.
        shape: Vec<u64>,
        /// The flags in C order.
        flags: Vec<bool>,
    },
    /// One index after another.
    Tuple(Vec<Index>),
}

/// Positions in an index, in all of its parts.
const MOST: usize = 1 << 26;
/// Tuples inside one another; the library writes one.
const DEEPEST: usize = 8;

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    /// What was expected and found.
    pub fn parse(value: &Value) -> Result<Self, String> {
        Self::nested(value, DEEPEST)
    }

    fn nested(value: &Value, depth: usize) -> Result<Self, String> {
        let wrong =
            || format!("expected an integer, null or a tagged list, found {}", value.kind());
        match value {
            Value::Null => return Ok(Self::NewAxis),
            Value::Number(_) => return value.as_i64().map(Self::At).ok_or_else(wrong),
            Value::Array(_) => {}
            _ => return Err(wrong()),
        }
        let items = value.as_array().unwrap_or_default();
        let tag = items.first().and_then(Value::as_str);
        let argument = items.get(1);
        let tuple = |items: &[Value]| {
            let Some(depth) = depth.checked_sub(1) else {
                return Err(format!("expected at most {DEEPEST} tuples inside one another"));
            };
            items.iter().map(|item| Self::nested(item, depth)).collect::<Result<Vec<_>, _>>()
        };
        let list = || {
            let list = argument.and_then(Value::as_array);
            list.ok_or_else(|| format!("expected a list after {:?}", tag.unwrap_or_default()))
        };
        let bounds = || {
            let object = argument.and_then(Value::as_object);
            object.ok_or_else(|| format!("expected an object after {:?}", tag.unwrap_or_default()))
        };
        match tag {
            None => Ok(Self::Tuple(tuple(items)?)),
            Some("ellipsis") => Ok(Self::Ellipsis),
            Some("tuple") => Ok(Self::Tuple(tuple(list()?)?)),
            Some("slice") => {
                let object = bounds()?;
                let [start, stop, step] = ["start", "stop", "step"].map(|name| bound(object, name));
                Ok(Self::Slice { start: start?, stop: stop?, step: step? })
            }
            Some("range") => {
                let object = bounds()?;
                let [start, stop, step] = ["start", "stop", "step"].map(|name| bound(object, name));
                let (start, stop, step) =
                    (start?.unwrap_or(0), stop?.unwrap_or(0), step?.unwrap_or(1));
                range(start, stop, step).map(|_| Self::Range { start, stop, step })
            }
            Some("tensor") => argument.ok_or_else(wrong).and_then(array),
            Some("list") => {
                let list = list()?;
                // A list with anything but numbers in it is a tuple, as in NumPy.
                let plain =
                    list.iter().all(|item| matches!(item, Value::Number(_) | Value::Bool(_)));
                match argument.filter(|_| plain) {
                    Some(value) => array(value),
                    None => Ok(Self::Tuple(tuple(list)?)),
                }
            }
            Some(tag) => Err(format!(
                "expected one of slice, tensor, tuple, list, range, ellipsis, found {tag:?}"
            )),
        }
    }

    /// As the library writes it, positions as a tensor on the host.
    pub fn to_json(&self) -> Value {
        match self {
            Self::At(position) => Value::from(*position),
            Self::NewAxis => Value::Null,
            Self::Ellipsis => Value::from(["ellipsis"]),
            Self::Slice { start, stop, step } => bounded("slice", [start, stop, step].map(|n| *n)),
            Self::Range { start, stop, step } => bounded("range", [*start, *stop, *step].map(Some)),
            Self::Positions { shape, at } => tensor(shape, at),
            Self::Mask { shape, flags } => tensor(shape, flags),
            Self::Tuple(items) => {
                let items = items.iter().map(Self::to_json).collect();
                Value::Array(vec![Value::from("tuple"), Value::Array(items)])
            }
        }
    }
}

fn bounded(tag: &str, bounds: [Option<i64>; 3]) -> Value {
    let names = ["start", "stop", "step"];
    let object: Object = names.into_iter().zip(bounds).collect();
    Value::Array(vec![Value::from(tag), Value::Object(object)])
}

fn bound(object: &Object, name: &str) -> Result<Option<i64>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let wrong = || format!("expected an integer or null as {name}, found {}", value.kind());
            value.as_i64().map(Some).ok_or_else(wrong)
        }
    }
}

/// The positions of a range.
///
/// # Errors
/// What was expected and found.
pub fn range(start: i64, stop: i64, step: i64) -> Result<Vec<i64>, String> {
    let wide = |n: i64| i128::from(n);
    let distance = if step > 0 { wide(stop) - wide(start) } else { wide(start) - wide(stop) };
    let count = match wide(step).abs() {
        0 => return Err("expected a step other than 0".to_owned()),
        step => (distance + step - 1).max(0) / step,
    };
    let count = usize::try_from(count).ok().filter(|n| *n <= MOST);
    let count = count.ok_or_else(|| format!("expected at most {MOST} positions"))?;
    let position = |at: i64| start.saturating_add(step.saturating_mul(at));
    Ok((0i64..).take(count).map(position).collect())
}

/// Reads nested lists of numbers, or of flags.
fn array(value: &Value) -> Result<Index, String> {
    let mut shape = Vec::new();
    let mut inner = value;
    while let Value::Array(items) = inner {
        shape.push(items.len() as u64);
        let Some(first) = items.first() else { break };
        inner = first;
    }
    let (mut at, mut flags) = (Vec::new(), Vec::new());
    collect(value, &shape, &mut at, &mut flags)?;
    match (at.is_empty(), flags.is_empty()) {
        (_, true) => Ok(Index::Positions { shape, at }),
        (true, false) => Ok(Index::Mask { shape, flags }),
        _ => Err("expected only integers or only booleans in a tensor".to_owned()),
    }
}

fn collect(
    value: &Value,
    shape: &[u64],
    at: &mut Vec<i64>,
    flags: &mut Vec<bool>,
) -> Result<(), String> {
    match (value, shape.split_first()) {
        (Value::Array(items), Some((len, inner))) if items.len() as u64 == *len => {
            items.iter().try_for_each(|item| collect(item, inner, at, flags))
        }
        (Value::Bool(flag), None) => {
            flags.push(*flag);
            Ok(())
        }
        (Value::Number(_), None) => {
            let wrong = || "expected integers of 64 bits in a tensor".to_owned();
            at.push(value.as_i64().ok_or_else(wrong)?);
            Ok(())
        }
        _ => Err("expected lists of equal lengths, of integers or booleans".to_owned()),
    }
}

fn tensor<T: Copy + Into<Value>>(shape: &[u64], items: &[T]) -> Value {
    Value::Array(vec![Value::from("tensor"), nest(shape, items), Value::from("cpu")])
}

fn nest<T: Copy + Into<Value>>(shape: &[u64], items: &[T]) -> Value {
    let Some((len, inner)) = shape.split_first() else {
        return items.first().map_or(Value::Null, |item| (*item).into());
    };
    let each = usize::try_from(*len).ok().and_then(|len| items.len().checked_div(len)).unwrap_or(0);
    match each {
        0 => Value::Array(Vec::new()),
        each => items.chunks(each).map(|part| nest(inner, part)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn parse(text: &str) -> Result<Index, String> {
        Index::parse(&json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value)
    }

    #[test]
    fn each_form_is_read() {
        use Index::*;
        let positions = |at: &[i64]| Positions { shape: vec![at.len() as u64], at: at.to_vec() };
        for (text, want) in [
            ("3", At(3)),
            ("null", NewAxis),
            (r#"["ellipsis"]"#, Ellipsis),
            (
                r#"["slice",{"start":1,"stop":null,"step":2}]"#,
                Slice { start: Some(1), stop: None, step: Some(2) },
            ),
            (r#"["tensor",[2,0],"cpu"]"#, positions(&[2, 0])),
            (r#"["tensor",2,"cpu"]"#, Positions { shape: vec![], at: vec![2] }),
            (r#"["tensor",[],"cpu"]"#, positions(&[])),
            (
                r#"["tensor",[[1,2],[3,4]],"cpu"]"#,
                Positions { shape: vec![2, 2], at: vec![1, 2, 3, 4] },
            ),
            (r#"["tensor",[true,false],"cpu"]"#, Mask { shape: vec![2], flags: vec![true, false] }),
            (r#"["tuple",[0,null]]"#, Tuple(vec![At(0), NewAxis])),
            ("[0,1]", Tuple(vec![At(0), At(1)])),
            ("[]", Tuple(vec![])),
            (r#"["list",[1,0]]"#, positions(&[1, 0])),
            (r#"["list",[1,null]]"#, Tuple(vec![At(1), NewAxis])),
            (r#"["range",{"start":0,"stop":4,"step":2}]"#, Range { start: 0, stop: 4, step: 2 }),
        ] {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn ranges_are_those_of_python() {
        for (start, stop, step, want) in
            [(0, 4, 2, &[0, 2][..]), (3, 0, -2, &[3, 1]), (3, 0, 1, &[]), (-2, 1, 1, &[-2, -1, 0])]
        {
            assert_eq!(range(start, stop, step).unwrap(), want);
        }
        assert!(range(0, 1, 0).is_err() && range(i64::MIN, i64::MAX, 1).is_err());
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in [
            "1.5",
            "true",
            "{}",
            "\"x\"",
            r#"["slice"]"#,
            r#"["slice",{"start":"a"}]"#,
            r#"["range",{"start":0,"stop":4,"step":0}]"#,
            r#"["range",{"start":0,"stop":9000000000000000000,"step":1}]"#,
            r#"["tensor"]"#,
            r#"["tensor",[1,true],"cpu"]"#,
            r#"["tensor",[[1],[2,3]],"cpu"]"#,
            r#"["tensor",[1.5],"cpu"]"#,
            r#"["tensor",["a"],"cpu"]"#,
            r#"["call","x"]"#,
            "[[[[[[[[[[0]]]]]]]]]]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_written_as_the_library_writes_it() {
        for text in [
            r#"["tuple",[["slice",{"start":0,"stop":2,"step":null}],["tensor",[1,0],"cpu"]]]"#,
            r#"["tuple",[["tensor",[[true],[false]],"cpu"],null,-1,["ellipsis"]]]"#,
            r#"["slice",{"start":null,"stop":-1,"step":3}]"#,
            r#"["range",{"start":0,"stop":-4,"step":-1}]"#,
        ] {
            assert_eq!(parse(text).unwrap().to_json().to_string(), text);
        }
    }
}
