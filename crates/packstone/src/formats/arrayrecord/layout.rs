//! Names of the format that never change; a test pins each.

/// Endings of file names, without the dot.
pub const ENDINGS: [&str; 2] = ["arrayrecord", "array_record"];
/// The field that a plain record is.
pub const RECORD: &str = "record";
/// Bytes that all files begin with: the header of the first block, and the chunk that says what follows.
pub const SIGNATURE: [u8; 64] = *b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0\
    \x40\0\0\0\0\0\0\0\x91\xba\xc2\x3c\x92\x87\xe1\xa9\
    \0\0\0\0\0\0\0\0\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72\
    \x73\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

#[cfg(test)]
mod tests {
    use packstone_container::array_record::{Writer, WriterOptions};

    use super::*;
    use crate::model::own::{MEMBER, RECORDS};

    #[test]
    fn names_of_the_format_stay() {
        assert_eq!((ENDINGS, RECORD), (["arrayrecord", "array_record"], "record"));
        assert_eq!((MEMBER, RECORDS), ("packstone", "records"));
        let written = Writer::new(Vec::new(), &WriterOptions::default()).unwrap().finish().unwrap();
        assert_eq!(written.out[..64], SIGNATURE);
    }
}
