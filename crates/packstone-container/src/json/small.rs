//! Short immutable text without an allocation: number texts and member names.
//!
//! Control documents are made of short words repeated many times, so a tree with one heap block for each would
//! spend its time in the allocator. Up to [`INLINE`] bytes sit in the value itself; longer text goes to the heap.

/// Longest text, in bytes, that is stored in place. Chosen so that a `Small` has the size of a `String`.
const INLINE: usize = 22;

/// UTF-8 text; equal texts have equal representations, so comparison and hashing can be derived.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Small {
    /// `len` bytes of UTF-8, the rest zero.
    Inline { len: u8, bytes: [u8; INLINE] },
    /// More than [`INLINE`] bytes.
    Heap(Box<str>),
}

impl Small {
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(text.as_bytes());
                Self::Inline { len, bytes }
            }
            _ => Self::Heap(text.into()),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Self::Heap(text) => text.as_bytes(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            // Always valid, as `new` took it from a `str`; checking again costs less than it would to forgo safety.
            Self::Inline { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Self::Heap(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_no_larger_than_a_string() {
        assert_eq!(size_of::<Small>(), size_of::<String>());
    }

    #[test]
    fn keeps_text_of_every_length_around_the_border() {
        for length in 0..64 {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let small = Small::new(&text);
            assert_eq!(small.as_str(), text);
            assert_eq!(small.as_bytes(), text.as_bytes());
            assert_eq!(matches!(small, Small::Heap(_)), length > INLINE, "{length}");
            assert!(small == Small::new(&text));
            assert!(small != Small::new(&(text + "\0")));
        }
    }
}
