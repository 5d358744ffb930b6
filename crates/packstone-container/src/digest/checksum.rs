//! Checksums inside containers.

/// CRC-32 (IEEE), as in ZIP and gzip.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// CRC-32C (Castagnoli).
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// CRC-32C as TFRecord files store it: rotated right by 15 and shifted by a constant, so that a checksum over bytes
/// that hold checksums stays useful.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_are_the_published_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!((crc32(b""), crc32c(b""), masked_crc32c(b"")), (0, 0, 0xa282_ead8));
    }

    /// Length and length checksum of the first record of a file that TensorFlow wrote.
    #[test]
    fn the_mask_is_that_of_tensorflow() {
        assert_eq!(masked_crc32c(&363u64.to_le_bytes()).to_le_bytes(), [0x81, 0xbf, 0x37, 0x09]);
    }
}
