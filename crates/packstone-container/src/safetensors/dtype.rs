//! Element types.

use std::fmt;

macro_rules! types {
    ($($name:ident = $word:literal, $bits:literal;)+) => {
        /// The type of an element, from the lowest rank to the highest: writers put higher ranks first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names are those of the format")]
        #[non_exhaustive]
        pub enum TensorType { $($name),+ }

        impl TensorType {
            /// All types, the lowest rank first.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in headers, such as `F8_E4M3`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// Bits of one element; 4 and 6 for packed types.
            #[must_use]
            pub fn bits(self) -> u64 {
                match self { $(Self::$name => $bits),+ }
            }

            /// The type of a name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($word => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

types! {
    Bool = "BOOL", 8;
    F4 = "F4", 4;
    F6E2M3 = "F6_E2M3", 6;
    F6E3M2 = "F6_E3M2", 6;
    U8 = "U8", 8;
    I8 = "I8", 8;
    F8E5M2 = "F8_E5M2", 8;
    F8E4M3 = "F8_E4M3", 8;
    F8E8M0 = "F8_E8M0", 8;
    F8E4M3Fnuz = "F8_E4M3FNUZ", 8;
    F8E5M2Fnuz = "F8_E5M2FNUZ", 8;
    I16 = "I16", 16;
    U16 = "U16", 16;
    F16 = "F16", 16;
    BF16 = "BF16", 16;
    I32 = "I32", 32;
    U32 = "U32", 32;
    F32 = "F32", 32;
    C64 = "C64", 64;
    F64 = "F64", 64;
    I64 = "I64", 64;
    U64 = "U64", 64;
}

impl TensorType {
    /// Bytes of a tensor of this type and shape; `None` where they are beyond 64 bits or no whole number.
    ///
    /// Like in the original, a zero among the sizes does not excuse what overflows before it.
    #[must_use]
    pub fn byte_len(self, shape: &[u64]) -> Option<u64> {
        let elements = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
        let bits = elements.checked_mul(self.bits())?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
