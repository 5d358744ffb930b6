//! Sizes, rates, counts and times for people: binary units throughout.

use std::time::Duration;

const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

fn scaled(mut amount: f64, end: &str) -> String {
    let mut units = UNITS.iter().peekable();
    while let Some(unit) = units.next() {
        // 1023.95 and more would be shown as 1024.0
        if amount < 1023.95 || units.peek().is_none() {
            return match *unit {
                "B" => format!("{amount:.0} B{end}"),
                unit => format!("{amount:.1} {unit}{end}"),
            };
        }
        amount /= 1024.0;
    }
    String::new()
}

/// `1536` as `1.5 KiB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(crate) fn size(bytes: u64) -> String {
    scaled(bytes as f64, "")
}

/// Bytes in a time as `1.2 GiB/s`; `-` where no time passed.
pub(crate) fn rate(bytes: u64, time: Duration) -> String {
    per_second(bytes, time).map_or_else(|| "-".to_owned(), |rate| scaled(rate, "/s"))
}

/// Things in a time as `12,345/s`; `-` where no time passed.
pub(crate) fn frequency(count: u64, time: Duration) -> String {
    let shown = |rate: f64| format!("{}/s", group(&format!("{rate:.0}")));
    per_second(count, time).map_or_else(|| "-".to_owned(), shown)
}

/// The quotient in units a second; `None` where no time passed.
#[expect(clippy::cast_precision_loss, reason = "a rate has no use for 53 bits")]
pub(crate) fn per_second(count: u64, time: Duration) -> Option<f64> {
    let seconds = time.as_secs_f64();
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    group(&number.to_string())
}

/// `1 sample`, `2 samples`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {thing}{end}", count(number))
}

/// `0.012 s`, `3.4 s`, `2 min 5 s`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        return format!("{seconds:.3} s");
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_575, "1.0 MiB"),
            (64 << 20, "64.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn rates_counts_and_times() {
        assert_eq!(rate(3 << 20, Duration::from_secs(2)), "1.5 MiB/s");
        assert_eq!(rate(3, Duration::ZERO), "-");
        assert_eq!(frequency(2_469_135, Duration::from_secs(2)), "1,234,568/s");
        assert_eq!((count(0), count(999), count(1000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!(counted(1, "shard"), "1 shard");
        assert_eq!(counted(12_000, "sample"), "12,000 samples");
        assert_eq!(time(Duration::from_millis(12)), "0.012 s");
        assert_eq!(time(Duration::from_secs(125)), "2 min 5 s");
    }
}
