//! The machine that builds plain values and refuses all else.

use super::program::{Argument, Instruction, Program};
use super::stack::Stack;
use super::tree::{Content, Item, Nodes};
use super::{Opcode, PickleError, PickleErrorKind as Kind, Value, integer, text};
use crate::Limits;
use crate::json::Number;

/// A pickle of plain data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// What it stands for.
    pub value: Value,
    /// The protocol that it says it has; 0 and 1 have no way to say so.
    pub declared: Option<u8>,
    /// Bytes up to and including STOP; Python ignores what follows.
    pub len: usize,
}

/// Builds the value of a pickle that holds nothing but None, booleans, numbers, text, bytes, lists, tuples, dicts and
/// sets.
///
/// Nothing is imported or called. Pickles of protocols below 3 hold bytes, and those below 4 sets, by way of a call;
/// they are refused like any other.
///
/// # Errors
/// [`PickleErrorKind::Refused`](Kind::Refused) names the first opcode that is not plain. Others say that the pickle is
/// damaged, contains itself, nests deeper than `limits.depth`, or exceeds `limits.document_bytes` or 8 Mi values, as it
/// stands or once nothing is shared.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Decoded, PickleError> {
    let mut program = Program::new(bytes, limits)?;
    let mut machine = Machine { stack: Stack::new(), nodes: Nodes::default() };
    let root = loop {
        let instruction = program.next()?;
        if instruction.opcode == Opcode::Stop {
            break machine.stack.last(&instruction)?;
        }
        machine.step(&instruction)?;
    };
    let value = machine.nodes.finish(root, limits)?;
    Ok(Decoded { value, declared: program.declared, len: program.at })
}

struct Machine {
    stack: Stack<Item>,
    nodes: Nodes,
}

impl Machine {
    fn step(&mut self, by: &Instruction<'_>) -> Result<(), PickleError> {
        use Opcode as Op;
        let stack = &mut self.stack;
        match by.opcode {
            Op::Proto | Op::Frame | Op::Stop => {}
            Op::Mark => stack.mark(),
            Op::Pop => stack.drop_top(by)?,
            Op::PopMark => drop(stack.take_marked(by)?),
            Op::Dup => stack.push(stack.top(by)?.clone()),
            Op::Put | Op::BinPut | Op::LongBinPut => {
                stack.remember(Some(by.memo_index()?), by)?;
            }
            Op::Memoize => stack.remember(None, by)?,
            Op::Get | Op::BinGet | Op::LongBinGet => stack.recall(by.memo_index()?, by)?,
            Op::EmptyList => self.make(Content::List(Vec::new()), by),
            Op::EmptyTuple => self.make(Content::Tuple(Vec::new()), by),
            Op::EmptyDict => self.make(Content::Dict(Vec::new()), by),
            Op::EmptySet => self.make(Content::Set(Vec::new()), by),
            Op::List => {
                let items = stack.take_marked(by)?;
                self.make(Content::List(items), by);
            }
            Op::FrozenSet => {
                let items = stack.take_marked(by)?;
                self.make(Content::FrozenSet(items), by);
            }
            Op::Tuple => {
                let items = stack.take_marked(by)?;
                self.make(Content::Tuple(items), by);
            }
            Op::Tuple1 | Op::Tuple2 | Op::Tuple3 => {
                let count = match by.opcode {
                    Op::Tuple1 => 1,
                    Op::Tuple2 => 2,
                    _ => 3,
                };
                let items = stack.take(count, by)?;
                self.make(Content::Tuple(items), by);
            }
            Op::Dict => {
                let items = stack.take_marked(by)?;
                self.make(Content::Dict(pairs(items, by)?), by);
            }
            Op::Append => {
                let items = stack.take(1, by)?;
                self.nodes.extend_list(stack.top(by)?, items, by)?;
            }
            Op::Appends => {
                let items = stack.take_marked(by)?;
                self.nodes.extend_list(stack.top(by)?, items, by)?;
            }
            Op::SetItem => {
                let items = stack.take(2, by)?;
                self.nodes.extend_dict(stack.top(by)?, pairs(items, by)?, by)?;
            }
            Op::SetItems => {
                let items = stack.take_marked(by)?;
                self.nodes.extend_dict(stack.top(by)?, pairs(items, by)?, by)?;
            }
            Op::AddItems => {
                let items = stack.take_marked(by)?;
                self.nodes.extend_set(stack.top(by)?, items, by)?;
            }
            Op::Global | Op::Inst => {
                let (module, name) = by.global();
                let lossy = String::from_utf8_lossy;
                return Err(refused(by, Some(format!("{} {}", lossy(module), lossy(name)))));
            }
            Op::StackGlobal => {
                let named = match &stack.take(2, by)?[..] {
                    [Item::Value(Value::Str(module)), Item::Value(Value::Str(name))] => {
                        Some(format!("{module} {name}"))
                    }
                    _ => None,
                };
                return Err(refused(by, named));
            }
            _ => stack.push(Item::Value(scalar(by)?)),
        }
        Ok(())
    }

    fn make(&mut self, content: Content, by: &Instruction<'_>) {
        let item = self.nodes.add(content, by.offset);
        self.stack.push(item);
    }
}

/// Keys and values that lie alternately.
fn pairs(items: Vec<Item>, by: &Instruction<'_>) -> Result<Vec<(Item, Item)>, PickleError> {
    let mut pairs = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let Some(key) = items.next() {
        let value = items.next().ok_or_else(|| by.fail(Kind::Underflow { opcode: by.opcode }))?;
        pairs.push((key, value));
    }
    Ok(pairs)
}

fn refused(by: &Instruction<'_>, global: Option<String>) -> PickleError {
    by.fail(Kind::Refused { opcode: by.opcode, global })
}

/// The value that one instruction is.
fn scalar(by: &Instruction<'_>) -> Result<Value, PickleError> {
    use Opcode as Op;
    let bytes = by.argument.bytes();
    let value = match (by.opcode, by.argument) {
        (Op::None, _) => Some(Value::None),
        (Op::NewTrue, _) => Some(Value::Bool(true)),
        (Op::NewFalse, _) => Some(Value::Bool(false)),
        // The booleans of protocols 0 and 1.
        (Op::Int, _) if matches!(bytes, b"00" | b"01") => Some(Value::Bool(bytes == b"01")),
        (Op::Int, _) => integer::from_digits(bytes).map(Value::Int),
        (Op::Long, _) => {
            let digits = bytes.strip_suffix(b"L").unwrap_or(bytes);
            integer::from_digits(digits).map(Value::Int)
        }
        (Op::BinInt, Argument::Signed(value)) => Some(Value::Int(Number::from(value))),
        (Op::BinInt1 | Op::BinInt2, argument) => Some(Value::Int(argument.number().into())),
        (Op::Long1 | Op::Long4, _) => integer::from_twos_complement(bytes).map(Value::Int),
        (Op::BinFloat, Argument::Float(value)) => Some(Value::Float(value)),
        (Op::Float, _) => text::float(bytes).map(Value::Float),
        (Op::String, _) => text::from_quoted(bytes),
        (Op::BinString | Op::ShortBinString, _) => text::from_ascii(bytes),
        (Op::Unicode, _) => text::from_raw_escapes(bytes),
        (Op::BinUnicode | Op::ShortBinUnicode | Op::BinUnicode8, _) => text::from_utf8(bytes),
        (Op::BinBytes | Op::ShortBinBytes | Op::BinBytes8, _) => Some(Value::Bytes(bytes.into())),
        (Op::ByteArray8, _) => Some(Value::ByteArray(bytes.into())),
        _ => return Err(refused(by, None)),
    };
    value.ok_or_else(|| {
        by.bad(match by.opcode {
            Op::Int | Op::Long | Op::Long1 | Op::Long4 => "an integer of at most 4932 digits",
            Op::Float => "a float",
            Op::String | Op::BinString | Op::ShortBinString => "ASCII text without escapes",
            Op::Unicode => "text with whole escapes",
            _ => "UTF-8",
        })
    })
}
