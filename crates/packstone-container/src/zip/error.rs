//! What can be wrong with an archive.

use packstone_io::IoError;

use super::Method;

/// Why an archive or one of its entries was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// No end record: not an archive, or cut.
    #[error("expected a zip end record, found none in the last {searched} bytes")]
    NoEnd {
        /// How many bytes were looked at.
        searched: u64,
    },
    /// A structure does not fit where it stands.
    #[error("expected {what} at byte {offset}, found too few bytes")]
    Truncated {
        /// Which structure.
        what: &'static str,
        /// Where it starts.
        offset: u64,
    },
    /// A structure does not start with its signature.
    #[error("expected {what} at byte {offset}, found signature {found:#010x}")]
    Signature {
        /// Which structure.
        what: &'static str,
        /// Where it starts.
        offset: u64,
        /// The four bytes there, little-endian.
        found: u32,
    },
    /// The central directory reaches outside the file.
    #[error(
        "expected a central directory that ends at byte {end}, found {size} bytes from {offset}"
    )]
    DirectoryOutside {
        /// Announced size in bytes.
        size: u64,
        /// Announced offset.
        offset: u64,
        /// Where the directory must end.
        end: u64,
    },
    /// The central directory holds another number of records.
    #[error("expected {expected} central records, found {found}")]
    Count {
        /// Announced by the end record.
        expected: u64,
        /// Present, or at most possible.
        found: u64,
    },
    /// Part of an archive that spans several files.
    #[error("expected an archive in one file, found one that spans several")]
    MultiDisk,
    /// The end record and its zip64 form disagree.
    #[error(
        "expected {field} {expected} as in the end record, found {found} in the zip64 end record"
    )]
    Zip64End {
        /// Which field.
        field: &'static str,
        /// Value of the end record.
        expected: u64,
        /// Value of the zip64 end record.
        found: u64,
    },
    /// A saturated field without its zip64 value, or an extra field that overruns.
    #[error(
        "expected a zip64 block with {field} in the extra field of the record at byte {offset}"
    )]
    Zip64Extra {
        /// The value that is missing.
        field: &'static str,
        /// Where the record starts.
        offset: u64,
    },
    /// A name is flagged as UTF-8 and is not.
    #[error("expected a UTF-8 name in the central record at byte {offset}")]
    Name {
        /// Where the record starts.
        offset: u64,
    },
    /// Two entries have one name.
    #[error("expected distinct names, found {name:?} twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The entry needs a password.
    #[error("cannot read encrypted entry {name:?}")]
    Encrypted {
        /// The entry.
        name: String,
    },
    /// The entry reaches into the central directory or past the file.
    #[error("expected entry {name:?} to end by byte {limit}, found an end at {end}")]
    Outside {
        /// The entry.
        name: String,
        /// Where its payload would end.
        end: u64,
        /// Where entries must end.
        limit: u64,
    },
    /// Two entries share bytes.
    #[error("expected entries apart, found {first:?} and {second:?} overlapping at byte {offset}")]
    Overlap {
        /// The entry that starts first.
        first: String,
        /// The entry that starts inside it.
        second: String,
        /// Where the second starts.
        offset: u64,
    },
    /// The local header carries another name.
    #[error("expected the local header of {name:?} at byte {offset} to repeat its name")]
    LocalName {
        /// The entry.
        name: String,
        /// Where the local header starts.
        offset: u64,
    },
    /// The local header disagrees with the central record.
    #[error("expected {field} {expected} in the local header of {name:?}, found {found}")]
    LocalField {
        /// The entry.
        name: String,
        /// Which field.
        field: &'static str,
        /// Value of the central record.
        expected: u64,
        /// Value of the local header.
        found: u64,
    },
    /// The local header carries another CRC-32.
    #[error("expected CRC-32 {expected:08x} in the local header of {name:?}, found {found:08x}")]
    LocalCrc {
        /// The entry.
        name: String,
        /// Value of the central record.
        expected: u32,
        /// Value of the local header.
        found: u32,
    },
    /// The payload is compressed by a method that this reader does not decode.
    #[error("cannot decode entry {name:?} with {method}")]
    Unsupported {
        /// The entry.
        name: String,
        /// Its method.
        method: Method,
    },
    /// The compressed stream is damaged.
    #[error(
        "expected a whole {method} stream in entry {name:?}, found damage after {decoded} decoded bytes"
    )]
    Damaged {
        /// The entry.
        name: String,
        /// Its method.
        method: Method,
        /// Bytes decoded before the damage.
        decoded: u64,
    },
    /// No data descriptor follows a payload whose local header announces one.
    #[error("expected the data descriptor of entry {name:?} at byte {offset}, found none")]
    Descriptor {
        /// The entry.
        name: String,
        /// Where its payload ends.
        offset: u64,
    },
    /// The payload has another length than announced.
    #[error("expected {expected} bytes of {what} in entry {name:?}, found {found}")]
    Length {
        /// The entry.
        name: String,
        /// `data`, or the kind of compressed stream.
        what: &'static str,
        /// The announced length.
        expected: u64,
        /// The length found; one too many stands for any excess.
        found: u64,
    },
    /// No stream of this size decodes to that many bytes.
    #[error("expected at most {most} bytes from entry {name:?}, found {announced} announced")]
    Implausible {
        /// The entry.
        name: String,
        /// The most that its payload can decode to.
        most: u64,
        /// The announced length.
        announced: u64,
    },
    /// The decoded bytes have another CRC-32.
    #[error("expected CRC-32 {expected:08x} of entry {name:?}, found {found:08x}")]
    Crc {
        /// The entry.
        name: String,
        /// As stored.
        expected: u32,
        /// As computed.
        found: u32,
    },
    /// The archive asks for more than the caller allows.
    #[error("expected at most {limit} {what}, found {found}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the archive asks for.
        found: u64,
    },
    /// Memory could not be had.
    #[error(transparent)]
    Memory(#[from] IoError),
}
