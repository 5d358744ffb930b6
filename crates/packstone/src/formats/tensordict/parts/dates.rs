//! Dates as archives store them: two seconds a step, from 1980 to 2107, without a zone.
//!
//! ```text
//! date u16: year - 1980 (7 bits), month (4), day (5)        time u16: hour (5), minute (6), second / 2 (5)
//! ```

use super::super::options::invalid;
use crate::error::Result;

/// 1980-01-01 00:00:00, so that equal trees give equal archives.
pub const EPOCH: u32 = 0x0021_0000;

/// Reads `YYYY-MM-DD`, alone or with `HH:MM:SS` behind a space or a `T`: the time in the low half, the date in the high
/// half. Odd seconds are those before them.
///
/// # Errors
/// `option_invalid`.
pub fn parse(text: &str) -> Result<u32> {
    read(text).ok_or_else(|| {
        invalid(format!(
            "expected a date from 1980 to 2107 such as 2024-05-17 08:30:00, found {text:?}"
        ))
    })
}

fn read(text: &str) -> Option<u32> {
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = three(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = three(time, ':', [2, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let valid = (1980..=2107).contains(&year)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let date = (year.wrapping_sub(1980) << 9) | (month << 5) | day;
    valid.then_some((date << 16) | (hour << 11) | (minute << 5) | (second / 2))
}

fn three(text: &str, between: char, digits: [usize; 3]) -> Option<[u32; 3]> {
    let mut parts = text.split(between);
    let mut out = [0; 3];
    for (to, digits) in out.iter_mut().zip(digits) {
        let part = parts.next()?;
        let plain = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        *to = part.parse().ok().filter(|_| plain)?;
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_packed_as_dos_packs_them() {
        for (text, want) in [
            ("1980-01-01", EPOCH),
            ("1980-01-01 00:00:01", EPOCH),
            ("2024-02-29T23:59:58", 0x585d_bf7d),
            ("2107-12-31 12:30:44", 0xff9f_63d6),
        ] {
            assert_eq!(parse(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "1979-12-31",
            "2108-01-01",
            "2023-02-29",
            "2100-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-04-31",
            "2024-5-17",
            "2024-05-17 24:00:00",
            "2024-05-17 00:60:00",
            "2024-05-17 00:00",
            "2024-05-17 00:00:00Z",
            "+024-05-17",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
