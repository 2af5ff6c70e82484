//! How much a search may cost, as people write it: `60s`, `10m`, `1e6states`, `4GiB`.

use std::time::Duration;

use explore::Budget;

/// One bound of a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Distinct states.
    States(u64),
    /// Time.
    Time(Duration),
    /// Memory for the search.
    Memory(u64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::States(states) => write!(f, "{states}states"),
            Self::Time(time) if time.subsec_nanos() == 0 => write!(f, "{}s", time.as_secs()),
            Self::Time(time) => write!(f, "{}ms", time.as_millis()),
            Self::Memory(bytes) => {
                let (size, unit) = BINARY.into_iter().find(|(size, _)| bytes.is_multiple_of(*size)).unwrap_or((1, "B"));
                write!(f, "{}{unit}", bytes / size)
            }
        }
    }
}

const SECONDS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const STATES: [(&str, f64); 2] = [("states", 1.0), ("state", 1.0)];
const BYTES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];
/// What memory is written in: the largest unit that leaves no remainder.
const BINARY: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// Counts up to here are exact as floating-point numbers.
const COUNT_MAX: f64 = 9_007_199_254_740_992.0;
const SECONDS_MIN: f64 = 1e-3;
/// A century: longer is a slip of the pen.
const SECONDS_MAX: f64 = 3.2e9;

impl std::str::FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit_at = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |at| at + 1);
        let (number, unit) = text.split_at(unit_at);
        let nonsense = || "a budget is a number with a unit, such as 60s, 10m, 1e6states or 4GiB".to_owned();
        let number: f64 = number.parse().map_err(|_| nonsense())?;
        let factor = |units: &[(&str, f64)]| units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        if let Some(factor) = factor(&SECONDS) {
            let seconds = number * factor;
            let in_range = (SECONDS_MIN..=SECONDS_MAX).contains(&seconds);
            let refused = || "a time is at least 1ms and at most a century".to_owned();
            // Whole milliseconds, so that the time is written as it was understood.
            let time = || whole((seconds * 1e3).round()).map(Duration::from_millis).map(Self::Time);
            return in_range.then(time).flatten().ok_or_else(refused);
        }
        if let Some(factor) = factor(&STATES) {
            return whole(number * factor).map(Self::States).ok_or_else(|| {
                let most = COUNT_MAX;
                format!("states are a whole number from 1 to {most}")
            });
        }
        if let Some(factor) = factor(&BYTES) {
            return whole((number * factor).round()).map(Self::Memory).ok_or_else(nonsense);
        }
        Err(nonsense())
    }
}

fn whole(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in the range")]
    ((1.0..=COUNT_MAX).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// All bounds together.
///
/// # Errors
/// Two bounds are of one kind.
pub fn budget(bounds: &[Bound], depth: Option<u32>) -> Result<Budget, &'static str> {
    let mut budget = Budget { depth, ..Budget::default() };
    for bound in bounds {
        let twice = match *bound {
            Bound::States(states) => budget.states.replace(states).map(|_| "states"),
            Bound::Time(time) => budget.time.replace(time).map(|_| "time"),
            Bound::Memory(bytes) => budget.memory_bytes.replace(bytes).map(|_| "memory"),
        };
        if let Some(kind) = twice {
            return Err(kind);
        }
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read() {
        let seconds = |seconds| Ok(Bound::Time(Duration::from_secs(seconds)));
        let cases = [
            ("60s", seconds(60)),
            ("10m", seconds(600)),
            ("1.5h", seconds(5400)),
            ("1e6states", Ok(Bound::States(1_000_000))),
            ("1state", Ok(Bound::States(1))),
            ("4GiB", Ok(Bound::Memory(4 << 30))),
            ("0.5KB", Ok(Bound::Memory(500))),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Bound>(), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let cases = [
            "",
            "5",
            "s",
            "-5s",
            "0s",
            "1e-9s",
            "1e300h",
            "nans",
            "infs",
            "1.5states",
            "0states",
            "1e30states",
            "4gallons",
        ];
        for text in cases {
            assert!(text.parse::<Bound>().is_err(), "{text}");
        }
    }

    #[test]
    fn bounds_are_written_as_they_are_read() {
        for text in ["60s", "1500ms", "7states", "1KiB", "1536B", "4GiB", "3MiB"] {
            assert_eq!(text.parse::<Bound>().map(|bound| bound.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn each_kind_may_be_bounded_once() {
        assert_eq!(budget(&[Bound::States(1), Bound::States(2)], None), Err("states"));
        let both = budget(&[Bound::States(1), Bound::Memory(2)], Some(3)).unwrap();
        assert_eq!(both, Budget { states: Some(1), memory_bytes: Some(2), depth: Some(3), time: None });
    }
}
