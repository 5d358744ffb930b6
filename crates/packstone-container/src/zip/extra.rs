//! The zip64 block of an extra field.
//!
//! ```text
//! extra = { id u16, length u16, data }*      zip64: id 1, data = one u64 for each saturated field, in field order
//! ```

use super::{SATURATED, u16_at, u64_at};

const ZIP64: u16 = 1;

/// Hands out the zip64 values of one header in the order of its fields.
pub(super) struct Zip64<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Zip64<'a> {
    /// Finds the zip64 block in `extra`; fewer than four bytes at the end are padding.
    pub(super) fn new(extra: &'a [u8]) -> Self {
        let mut rest = extra;
        while let (Some(id), Some(len)) = (u16_at(rest, 0), u16_at(rest, 2)) {
            let Some((_, body)) = rest.split_at_checked(4) else { break };
            let Some((data, next)) = body.split_at_checked(usize::from(len)) else { break };
            if id == ZIP64 {
                return Self { rest: Some(data) };
            }
            rest = next;
        }
        Self { rest: None }
    }

    /// The true value of a field: itself, or the next zip64 value where it is saturated; `None` where that is missing.
    pub(super) fn widen(&mut self, field: u32) -> Option<u64> {
        if field != SATURATED {
            return Some(u64::from(field));
        }
        let rest = self.rest?;
        let value = u64_at(rest, 0)?;
        self.rest = rest.get(8..);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_field_order_and_only_for_saturated_fields() {
        let extra = [&[0x74, 0x64, 2, 0, 0, 0][..], &[1, 0, 16, 0], &[7; 8], &[9; 8]].concat();
        let mut zip64 = Zip64::new(&extra);
        assert_eq!(zip64.widen(5), Some(5));
        assert_eq!(zip64.widen(SATURATED), Some(0x0707_0707_0707_0707));
        assert_eq!(zip64.widen(SATURATED), Some(0x0909_0909_0909_0909));
        assert_eq!(zip64.widen(SATURATED), None);
    }

    #[test]
    fn missing_or_cut_blocks_give_nothing() {
        for extra in [&[][..], &[1, 0], &[1, 0, 8, 0, 1, 2], &[1, 0, 4, 0, 1, 2, 3, 4], &[0, 0, 0]]
        {
            assert_eq!(Zip64::new(extra).widen(SATURATED), None, "{extra:?}");
            assert_eq!(Zip64::new(extra).widen(3), Some(3));
        }
    }
}
