//! Pickles of container classes, as CPython writes them with protocol 4.
//!
//! ```text
//! PROTO 4, FRAME length, EMPTY_DICT, { field name, class }, STOP
//! class   module, name, STACK_GLOBAL      each value remembered, and recalled where it comes again
//! ```

use super::Opcode;

/// A class that tensordict puts down to say what a level of a tree was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `dict`.
    Dict,
    /// `list`.
    List,
    /// `tuple`.
    Tuple,
    /// `collections.OrderedDict`.
    OrderedDict,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Dict, Self::List, Self::Tuple, Self::OrderedDict];

    /// The name without its module, as `json_types.json` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dict => "dict",
            Self::List => "list",
            Self::Tuple => "tuple",
            Self::OrderedDict => "OrderedDict",
        }
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// The module that has it.
    pub fn module(self) -> &'static str {
        match self {
            Self::OrderedDict => "collections",
            _ => "builtins",
        }
    }
}

/// Fields that CPython puts between one mark and the next.
const BATCH: usize = 1000;
/// Bytes after which CPython begins another frame.
const FRAME_TARGET: usize = 64 << 10;

/// The pickle of a dict from field names to classes, with protocol 4, byte for byte as CPython writes it.
///
/// `None` where that would take a second batch or frame: from 1000 fields or 64 KiB on. Names must be distinct.
pub fn classes(fields: &[(&str, Class)]) -> Option<Vec<u8>> {
    if fields.len() >= BATCH {
        return None;
    }
    let mut body = Body::default();
    body.put(Opcode::EmptyDict);
    body.remember();
    match fields {
        [] => {}
        [(name, class)] => {
            body.field(name, *class)?;
            body.put(Opcode::SetItem);
        }
        fields => {
            body.put(Opcode::Mark);
            for (name, class) in fields {
                body.field(name, *class)?;
            }
            body.put(Opcode::SetItems);
        }
    }
    body.put(Opcode::Stop);
    if body.bytes.len() >= FRAME_TARGET {
        return None;
    }
    let mut pickle = vec![0x80, 4];
    if body.bytes.len() >= 4 {
        pickle.push(0x95);
        pickle.extend_from_slice(&(body.bytes.len() as u64).to_le_bytes());
    }
    pickle.extend_from_slice(&body.bytes);
    Some(pickle)
}

/// What stands in the frame, and the numbers in the memo under which CPython would find what it wrote before.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    remembered: u32,
    modules: Vec<(&'static str, u32)>,
    classes: Vec<(Class, u32)>,
}

impl Body {
    fn put(&mut self, opcode: Opcode) {
        self.bytes.push(opcode.byte());
    }

    /// Remembers the value on top; gives its number.
    fn remember(&mut self) -> u32 {
        self.put(Opcode::Memoize);
        self.remembered += 1;
        self.remembered - 1
    }

    fn recall(&mut self, index: u32) {
        match u8::try_from(index) {
            Ok(short) => self.bytes.extend([Opcode::BinGet.byte(), short]),
            Err(_) => {
                self.put(Opcode::LongBinGet);
                self.bytes.extend(index.to_le_bytes());
            }
        }
    }

    fn text(&mut self, text: &str) -> Option<u32> {
        match u8::try_from(text.len()) {
            Ok(len) => self.bytes.extend([Opcode::ShortBinUnicode.byte(), len]),
            Err(_) => {
                self.put(Opcode::BinUnicode);
                self.bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(text.as_bytes());
        Some(self.remember())
    }

    fn field(&mut self, name: &str, class: Class) -> Option<()> {
        self.text(name)?;
        if let Some((_, index)) = self.classes.iter().find(|(known, _)| *known == class) {
            self.recall(*index);
            return Some(());
        }
        match self.modules.iter().find(|(known, _)| *known == class.module()) {
            Some((_, index)) => self.recall(*index),
            None => {
                let index = self.text(class.module())?;
                self.modules.push((class.module(), index));
            }
        }
        self.text(class.name())?;
        self.put(Opcode::StackGlobal);
        let index = self.remember();
        self.classes.push((class, index));
        Some(())
    }
}
