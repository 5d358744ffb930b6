//! Pickles that CPython wrote, and pickles made to do harm.

mod classes;
mod golden;
mod hostile;
mod refused;
mod vectors;

use super::{Decoded, PickleError, Scan, Value, decode, scan};
use crate::Limits;

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: char| u8::try_from(c.to_digit(16).unwrap()).unwrap();
    let digits: Vec<u8> = text.chars().map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn decoded(bytes: &[u8]) -> Result<Decoded, PickleError> {
    decode(bytes, &Limits::default())
}

fn scanned(bytes: &[u8]) -> Result<Scan, PickleError> {
    scan(bytes, &Limits::default())
}

fn text(text: &str) -> Value {
    Value::Str(text.into())
}

fn int(value: i64) -> Value {
    Value::Int(value.into())
}

fn list(items: impl Into<Vec<Value>>) -> Value {
    Value::List(items.into().into())
}

fn tuple(items: impl Into<Vec<Value>>) -> Value {
    Value::Tuple(items.into().into())
}

fn dict(entries: impl Into<Vec<(Value, Value)>>) -> Value {
    Value::Dict(entries.into().into())
}

fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.into())
}
