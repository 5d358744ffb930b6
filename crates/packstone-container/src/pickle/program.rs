//! The instructions of a pickle, one after another.

use super::opcode::Shape;
use super::{MAX_VALUES, Opcode, PickleError, PickleErrorKind as Kind};
use crate::Limits;

/// The newest protocol.
const NEWEST: u8 = 5;

/// An opcode with its argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'a> {
    pub(super) offset: usize,
    pub(super) opcode: Opcode,
    pub(super) argument: Argument<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Argument<'a> {
    Nothing,
    Number(u64),
    Signed(i32),
    Float(f64),
    /// A line without its end, or data.
    Bytes(&'a [u8]),
    Lines(&'a [u8], &'a [u8]),
}

impl<'a> Argument<'a> {
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    pub(super) fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            _ => 0,
        }
    }
}

impl Instruction<'_> {
    pub(super) fn fail(&self, kind: Kind) -> PickleError {
        PickleError { offset: self.offset, kind }
    }

    pub(super) fn bad(&self, expected: &'static str) -> PickleError {
        self.fail(Kind::Argument { opcode: self.opcode, expected })
    }

    /// The number in the memo that this instruction names.
    pub(super) fn memo_index(&self) -> Result<u64, PickleError> {
        match self.argument {
            Argument::Bytes(line) => {
                let text = std::str::from_utf8(line).ok();
                let digits = text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                digits.and_then(|text| text.parse().ok()).ok_or_else(|| self.bad("a number"))
            }
            argument => Ok(argument.number()),
        }
    }

    /// Module and name of GLOBAL and INST.
    pub(super) fn global(&self) -> (&[u8], &[u8]) {
        match self.argument {
            Argument::Lines(module, name) => (module, name),
            _ => (&[], &[]),
        }
    }
}

/// What is left of a pickle.
pub(super) struct Program<'a> {
    bytes: &'a [u8],
    /// Where the next instruction starts.
    pub(super) at: usize,
    /// Instructions read.
    pub(super) count: u64,
    /// The protocol that the pickle says it has.
    pub(super) declared: Option<u8>,
    /// The newest protocol that an opcode needs.
    pub(super) needed: u8,
}

impl<'a> Program<'a> {
    pub(super) fn new(bytes: &'a [u8], limits: &Limits) -> Result<Self, PickleError> {
        let (limit, found) = (limits.document_bytes, bytes.len() as u64);
        if found > limit {
            return Err(PickleError { offset: 0, kind: Kind::TooLarge { limit, found } });
        }
        Ok(Self { bytes, at: 0, count: 0, declared: None, needed: 0 })
    }

    /// The next instruction; frames and protocols are checked here.
    pub(super) fn next(&mut self) -> Result<Instruction<'a>, PickleError> {
        let offset = self.at;
        let fail = |kind| PickleError { offset, kind };
        if self.count == MAX_VALUES {
            return Err(fail(Kind::TooMany { what: "opcodes", limit: MAX_VALUES }));
        }
        let byte = self.bytes.get(offset).ok_or_else(|| fail(Kind::NoStop))?;
        let opcode =
            Opcode::from_byte(*byte).ok_or_else(|| fail(Kind::Unknown { found: *byte }))?;
        self.at += 1;
        self.count += 1;
        let argument = self.argument(opcode.shape());
        let argument = argument.ok_or_else(|| fail(Kind::Truncated { opcode }))?;
        self.needed = self.needed.max(opcode.protocol());
        match opcode {
            Opcode::Proto => {
                let found = u8::try_from(argument.number()).unwrap_or(u8::MAX);
                if found > NEWEST {
                    return Err(fail(Kind::Protocol { found }));
                }
                self.declared = Some(found);
            }
            Opcode::Frame => {
                let (most, found) = ((self.bytes.len() - self.at) as u64, argument.number());
                if found > most {
                    return Err(fail(Kind::Frame { most, found }));
                }
            }
            _ => {}
        }
        Ok(Instruction { offset, opcode, argument })
    }

    fn argument(&mut self, shape: Shape) -> Option<Argument<'a>> {
        Some(match shape {
            Shape::Nothing => Argument::Nothing,
            Shape::U8 => Argument::Number(u8::from_le_bytes(self.chunk()?).into()),
            Shape::U16 => Argument::Number(u16::from_le_bytes(self.chunk()?).into()),
            Shape::U32 => Argument::Number(u32::from_le_bytes(self.chunk()?).into()),
            Shape::U64 => Argument::Number(u64::from_le_bytes(self.chunk()?)),
            Shape::I32 => Argument::Signed(i32::from_le_bytes(self.chunk()?)),
            Shape::F64 => Argument::Float(f64::from_be_bytes(self.chunk()?)),
            Shape::Line => Argument::Bytes(self.line()?),
            Shape::Lines => Argument::Lines(self.line()?, self.line()?),
            Shape::Data8 => {
                let len = u8::from_le_bytes(self.chunk()?);
                Argument::Bytes(self.take(len.into())?)
            }
            Shape::DataSigned => {
                // A negative length is one that no pickle has room for.
                let len = i32::from_le_bytes(self.chunk()?);
                Argument::Bytes(self.take(usize::try_from(len).ok()?)?)
            }
            Shape::Data32 => {
                let len = u32::from_le_bytes(self.chunk()?);
                Argument::Bytes(self.take(usize::try_from(len).ok()?)?)
            }
            Shape::Data64 => {
                let len = u64::from_le_bytes(self.chunk()?);
                Argument::Bytes(self.take(usize::try_from(len).ok()?)?)
            }
        })
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let len = self.bytes.get(self.at..)?.iter().position(|byte| *byte == b'\n')?;
        let line = self.take(len)?;
        self.at += 1;
        Some(line)
    }
}
