//! What a pickle would import and call, found without doing either.

use std::collections::HashSet;

use super::program::{Instruction, Program};
use super::stack::Stack;
use super::{Opcode, PickleError};
use crate::Limits;

/// Globals that are kept; further ones are counted.
const MAX_GLOBALS: usize = 256;
/// Characters of a module or name that are kept.
const MAX_NAME: usize = 256;

/// What a pickle is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// The protocol that the pickle says it has; 0 and 1 have no way to say so.
    pub declared: Option<u8>,
    /// The newest protocol that one of its opcodes needs.
    pub needed: u8,
    /// How many opcodes it has.
    pub opcodes: u64,
    /// Bytes up to and including STOP.
    pub len: usize,
    /// The globals that it names, each once, in the order of their first mention; at most 256.
    pub globals: Vec<Global>,
    /// Mentions of globals beyond those.
    pub globals_left_off: u64,
    /// Globals that are not named by text that stands in the pickle, so that only running it would tell.
    pub hidden_globals: u64,
    /// The first opcode that calls something: REDUCE, NEWOBJ, NEWOBJ_EX, OBJ or INST.
    pub calls: Option<(Opcode, usize)>,
    /// The first BUILD, which sets the state of an object.
    pub builds: Option<(Opcode, usize)>,
    /// The first opcode that asks the reader for something outside of the pickle: a persistent id, an extension code
    /// or a buffer.
    pub asks: Option<(Opcode, usize)>,
}

impl Scan {
    /// Whether nothing is imported, called or asked for, so that only plain values can come out.
    pub fn is_plain(&self) -> bool {
        self.globals.is_empty()
            && self.hidden_globals == 0
            && self.calls.is_none()
            && self.builds.is_none()
            && self.asks.is_none()
    }
}

/// A global that a pickle names. Names that are not UTF-8 or longer than 256 characters are shown as far as they go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    /// The module.
    pub module: String,
    /// The name in it, with dots where it is nested.
    pub name: String,
    /// The opcode that mentions it first.
    pub offset: usize,
}

/// Stands in for a value.
#[derive(Clone, Copy)]
enum Placeholder<'a> {
    /// Text that stands in the pickle.
    Text(&'a [u8]),
    Other,
}

/// Reads a pickle up to its STOP and builds nothing.
///
/// # Errors
/// [`PickleError`] where the pickle is cut, is no pickle, takes more from its stack or memo than there is, or exceeds
/// `limits.document_bytes` or 8 Mi opcodes.
pub fn scan(bytes: &[u8], limits: &Limits) -> Result<Scan, PickleError> {
    let mut program = Program::new(bytes, limits)?;
    let mut scanner = Scanner { scan: Scan::default(), named: HashSet::new() };
    let mut stack = Stack::new();
    loop {
        let instruction = program.next()?;
        if instruction.opcode == Opcode::Stop {
            stack.last(&instruction)?;
            break;
        }
        scanner.step(&instruction, &mut stack)?;
    }
    Ok(Scan {
        declared: program.declared,
        needed: program.needed,
        opcodes: program.count,
        len: program.at,
        ..scanner.scan
    })
}

struct Scanner {
    scan: Scan,
    /// The globals in it, to be found fast.
    named: HashSet<(String, String)>,
}

impl Scanner {
    fn step<'a>(
        &mut self,
        by: &Instruction<'a>,
        stack: &mut Stack<Placeholder<'a>>,
    ) -> Result<(), PickleError> {
        use Opcode as Op;
        let here = (by.opcode, by.offset);
        match by.opcode {
            Op::Reduce | Op::NewObj | Op::NewObjEx | Op::Obj | Op::Inst => {
                self.scan.calls.get_or_insert(here);
            }
            Op::Build => {
                self.scan.builds.get_or_insert(here);
            }
            Op::PersId
            | Op::BinPersId
            | Op::Ext1
            | Op::Ext2
            | Op::Ext4
            | Op::NextBuffer
            | Op::ReadonlyBuffer => {
                self.scan.asks.get_or_insert(here);
            }
            _ => {}
        }
        let other = Placeholder::Other;
        match by.opcode {
            Op::Proto | Op::Frame | Op::Stop => {}
            Op::Mark => stack.mark(),
            Op::Pop => stack.drop_top(by)?,
            Op::PopMark => drop(stack.take_marked(by)?),
            Op::Dup => stack.push(*stack.top(by)?),
            Op::Put | Op::BinPut | Op::LongBinPut => {
                stack.remember(Some(by.memo_index()?), by)?;
            }
            Op::Memoize => stack.remember(None, by)?,
            Op::Get | Op::BinGet | Op::LongBinGet => stack.recall(by.memo_index()?, by)?,
            Op::String
            | Op::BinString
            | Op::ShortBinString
            | Op::Unicode
            | Op::BinUnicode
            | Op::ShortBinUnicode
            | Op::BinUnicode8 => {
                stack.push(Placeholder::Text(by.argument.bytes()));
            }
            Op::Append | Op::Build => {
                stack.pop(by)?;
                stack.top(by)?;
            }
            Op::SetItem => {
                stack.take(2, by)?;
                stack.top(by)?;
            }
            Op::Appends | Op::SetItems | Op::AddItems => {
                stack.take_marked(by)?;
                stack.top(by)?;
            }
            Op::ReadonlyBuffer => drop(stack.top(by)?),
            Op::List | Op::Tuple | Op::Dict | Op::FrozenSet | Op::Obj => {
                stack.take_marked(by)?;
                stack.push(other);
            }
            Op::Inst => {
                stack.take_marked(by)?;
                let (module, name) = by.global();
                self.mention(module, name, by.offset);
                stack.push(other);
            }
            Op::Tuple1 | Op::BinPersId => stack.replace(1, other, by)?,
            Op::Tuple2 | Op::Reduce | Op::NewObj => stack.replace(2, other, by)?,
            Op::Tuple3 | Op::NewObjEx => stack.replace(3, other, by)?,
            Op::Global => {
                let (module, name) = by.global();
                self.mention(module, name, by.offset);
                stack.push(other);
            }
            Op::StackGlobal => {
                match stack.take(2, by)?[..] {
                    [Placeholder::Text(module), Placeholder::Text(name)] => {
                        self.mention(module, name, by.offset);
                    }
                    _ => self.scan.hidden_globals += 1,
                }
                stack.push(other);
            }
            Op::None
            | Op::NewTrue
            | Op::NewFalse
            | Op::Int
            | Op::BinInt
            | Op::BinInt1
            | Op::BinInt2
            | Op::Long
            | Op::Long1
            | Op::Long4
            | Op::Float
            | Op::BinFloat
            | Op::BinBytes
            | Op::ShortBinBytes
            | Op::BinBytes8
            | Op::ByteArray8
            | Op::EmptyList
            | Op::EmptyTuple
            | Op::EmptyDict
            | Op::EmptySet
            | Op::PersId
            | Op::Ext1
            | Op::Ext2
            | Op::Ext4
            | Op::NextBuffer => stack.push(other),
        }
        Ok(())
    }

    fn mention(&mut self, module: &[u8], name: &[u8], offset: usize) {
        let shown = |bytes: &[u8]| -> String {
            // A character takes at most four bytes.
            let start = bytes.get(..4 * MAX_NAME).unwrap_or(bytes);
            String::from_utf8_lossy(start).chars().take(MAX_NAME).collect()
        };
        let named = (shown(module), shown(name));
        if self.named.contains(&named) {
            return;
        }
        if self.scan.globals.len() == MAX_GLOBALS {
            self.scan.globals_left_off += 1;
            return;
        }
        let (module, name) = named.clone();
        self.scan.globals.push(Global { module, name, offset });
        self.named.insert(named);
    }
}

impl<T: Clone> Stack<T> {
    /// Puts `item` in the place of the `count` topmost values.
    fn replace(&mut self, count: usize, item: T, by: &Instruction<'_>) -> Result<(), PickleError> {
        self.take(count, by)?;
        self.push(item);
        Ok(())
    }
}
