//! Numbers as people read them.

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that need not be exact: `1234567` as `1.23 M`.
pub fn about(number: f64) -> String {
    let (size, unit) = match number {
        small if small < 1e4 => return format!("{small:.0}"),
        medium if medium < 1e6 => (medium / 1e3, "k"),
        large if large < 1e9 => (large / 1e6, "M"),
        huge => (huge / 1e9, "G"),
    };
    let decimals = if size < 10.0 { 2 } else { usize::from(size < 100.0) };
    format!("{size:.decimals$} {unit}")
}

/// `1536` as `1.5 KiB`.
pub fn bytes(number: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = number as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{size:.1} {}", units[unit]) }
}

/// `1 time`, `2 times`; regular plurals only.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// A duration with as many digits as matter.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        short if short < 1.0 => format!("{:.0} ms", short * 1e3),
        medium if medium < 100.0 => format!("{medium:.1} s"),
        long => format!("{} min {:.0} s", (long / 60.0).floor(), long % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([9_999.0, 12_345.0, 1_234_567.0, 2e9].map(about), ["9999", "12.3 k", "1.23 M", "2.00 G"]);
        assert_eq!([512, 1536, 5 << 30].map(bytes), ["512 B", "1.5 KiB", "5.0 GiB"]);
        assert_eq!([0.25, 12.34, 125.0].map(seconds), ["250 ms", "12.3 s", "2 min 5 s"]);
        assert_eq!([1, 2000].map(|number| plural(number, "time")), ["1 time", "2,000 times"]);
    }
}
