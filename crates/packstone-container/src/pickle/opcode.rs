//! The instructions of all protocols, under the names that Python's `pickletools` gives them.

use std::fmt;

/// How an argument stands behind its opcode. Numbers are little-endian, but for the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Nothing,
    U8,
    U16,
    I32,
    U32,
    U64,
    /// A big-endian double.
    F64,
    /// Bytes up to a line feed.
    Line,
    /// Two lines.
    Lines,
    /// Bytes, their number as a `u8` before them.
    Data8,
    /// Bytes, their number as an `i32` before them.
    DataSigned,
    /// Bytes, their number as a `u32` before them.
    Data32,
    /// Bytes, their number as a `u64` before them.
    Data64,
}

macro_rules! opcodes {
    ($($variant:ident $byte:literal $name:literal $protocol:literal $shape:ident,)*) => {
        /// An instruction of a pickle.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "pickletools explains each")]
        #[non_exhaustive]
        pub enum Opcode {
            $($variant,)*
        }

        impl Opcode {
            /// The opcode of that byte.
            pub fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The byte that stands for it.
            pub fn byte(self) -> u8 {
                match self {
                    $(Self::$variant => $byte,)*
                }
            }

            /// The name that `pickletools` prints.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The protocol that brought it.
            pub fn protocol(self) -> u8 {
                match self {
                    $(Self::$variant => $protocol,)*
                }
            }

            pub(super) fn shape(self) -> Shape {
                match self {
                    $(Self::$variant => Shape::$shape,)*
                }
            }
        }
    };
}

opcodes! {
    Mark 0x28 "MARK" 0 Nothing,
    Stop 0x2e "STOP" 0 Nothing,
    Pop 0x30 "POP" 0 Nothing,
    PopMark 0x31 "POP_MARK" 1 Nothing,
    Dup 0x32 "DUP" 0 Nothing,
    Float 0x46 "FLOAT" 0 Line,
    Int 0x49 "INT" 0 Line,
    BinInt 0x4a "BININT" 1 I32,
    BinInt1 0x4b "BININT1" 1 U8,
    Long 0x4c "LONG" 0 Line,
    BinInt2 0x4d "BININT2" 1 U16,
    None 0x4e "NONE" 0 Nothing,
    PersId 0x50 "PERSID" 0 Line,
    BinPersId 0x51 "BINPERSID" 1 Nothing,
    Reduce 0x52 "REDUCE" 0 Nothing,
    String 0x53 "STRING" 0 Line,
    BinString 0x54 "BINSTRING" 1 DataSigned,
    ShortBinString 0x55 "SHORT_BINSTRING" 1 Data8,
    Unicode 0x56 "UNICODE" 0 Line,
    BinUnicode 0x58 "BINUNICODE" 1 Data32,
    Append 0x61 "APPEND" 0 Nothing,
    Build 0x62 "BUILD" 0 Nothing,
    Global 0x63 "GLOBAL" 0 Lines,
    Dict 0x64 "DICT" 0 Nothing,
    EmptyDict 0x7d "EMPTY_DICT" 1 Nothing,
    Appends 0x65 "APPENDS" 1 Nothing,
    Get 0x67 "GET" 0 Line,
    BinGet 0x68 "BINGET" 1 U8,
    Inst 0x69 "INST" 0 Lines,
    LongBinGet 0x6a "LONG_BINGET" 1 U32,
    List 0x6c "LIST" 0 Nothing,
    EmptyList 0x5d "EMPTY_LIST" 1 Nothing,
    Obj 0x6f "OBJ" 1 Nothing,
    Put 0x70 "PUT" 0 Line,
    BinPut 0x71 "BINPUT" 1 U8,
    LongBinPut 0x72 "LONG_BINPUT" 1 U32,
    SetItem 0x73 "SETITEM" 0 Nothing,
    Tuple 0x74 "TUPLE" 0 Nothing,
    EmptyTuple 0x29 "EMPTY_TUPLE" 1 Nothing,
    SetItems 0x75 "SETITEMS" 1 Nothing,
    BinFloat 0x47 "BINFLOAT" 1 F64,
    Proto 0x80 "PROTO" 2 U8,
    NewObj 0x81 "NEWOBJ" 2 Nothing,
    Ext1 0x82 "EXT1" 2 U8,
    Ext2 0x83 "EXT2" 2 U16,
    Ext4 0x84 "EXT4" 2 I32,
    Tuple1 0x85 "TUPLE1" 2 Nothing,
    Tuple2 0x86 "TUPLE2" 2 Nothing,
    Tuple3 0x87 "TUPLE3" 2 Nothing,
    NewTrue 0x88 "NEWTRUE" 2 Nothing,
    NewFalse 0x89 "NEWFALSE" 2 Nothing,
    Long1 0x8a "LONG1" 2 Data8,
    Long4 0x8b "LONG4" 2 DataSigned,
    BinBytes 0x42 "BINBYTES" 3 Data32,
    ShortBinBytes 0x43 "SHORT_BINBYTES" 3 Data8,
    ShortBinUnicode 0x8c "SHORT_BINUNICODE" 4 Data8,
    BinUnicode8 0x8d "BINUNICODE8" 4 Data64,
    BinBytes8 0x8e "BINBYTES8" 4 Data64,
    EmptySet 0x8f "EMPTY_SET" 4 Nothing,
    AddItems 0x90 "ADDITEMS" 4 Nothing,
    FrozenSet 0x91 "FROZENSET" 4 Nothing,
    NewObjEx 0x92 "NEWOBJ_EX" 4 Nothing,
    StackGlobal 0x93 "STACK_GLOBAL" 4 Nothing,
    Memoize 0x94 "MEMOIZE" 4 Nothing,
    Frame 0x95 "FRAME" 4 U64,
    ByteArray8 0x96 "BYTEARRAY8" 5 Data64,
    NextBuffer 0x97 "NEXT_BUFFER" 5 Nothing,
    ReadonlyBuffer 0x98 "READONLY_BUFFER" 5 Nothing,
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
