//! Numbers by powers of two: zero, each power itself, and what lies above and below it.
//!
//! File systems think in powers of two, and go wrong beside them. Between two powers, the numbers nearer to the lower
//! one are above it (`2^12+`), the others below the higher one (`2^13-`), so that each number is in one partition.

use std::{fmt, str::FromStr};

use super::random::Random;

/// A set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NumberPart {
    /// Zero alone.
    Zero,
    /// This power of two.
    Exact(u8),
    /// Above this power, nearer to it than to the next.
    Above(u8),
    /// Below this power, nearer to it than to the one before.
    Below(u8),
}

/// Beyond this, numbers are no longer signed ones of 64 bits.
const POWER_MAX: u8 = 62;

impl NumberPart {
    /// The partition of a number.
    pub fn of(number: u64) -> Self {
        let Some(power) = number.checked_ilog2().and_then(|power| u8::try_from(power).ok()) else { return Self::Zero };
        if number.is_power_of_two() {
            Self::Exact(power)
        } else if number < middle(power) || power == 1 {
            Self::Above(power)
        } else {
            Self::Below(power + 1)
        }
    }

    /// Every partition that has a number up to `max`, from small to large.
    pub fn up_to(max: u64) -> Vec<Self> {
        let around = |power: u8| [Self::Below(power), Self::Exact(power), Self::Above(power)];
        let all = std::iter::once(Self::Zero).chain((0..=POWER_MAX).flat_map(around));
        all.filter(|part| part.range().is_some_and(|(first, _)| first <= max)).collect()
    }

    /// The first and the last number in it; `None` if there is none.
    fn range(self) -> Option<(u64, u64)> {
        let (first, last) = match self {
            Self::Zero => (0, 0),
            Self::Exact(power) => (1 << power, 1 << power),
            Self::Above(0) | Self::Below(0..=2) => return None,
            Self::Above(1) => (3, 3),
            Self::Above(power) => ((1 << power) + 1, middle(power) - 1),
            Self::Below(power) => (middle(power - 1), (1 << power) - 1),
        };
        (first <= last).then_some((first, last))
    }

    /// A number in it, at most `max`: every other time the one right beside the power.
    pub fn draw(self, random: &mut Random, max: u64) -> u64 {
        let Some((first, last)) = self.range() else { return 0 };
        let last = last.min(max);
        let beside = if matches!(self, Self::Below(_)) { last } else { first };
        if random.happens(0.5) { beside } else { first + random.below(last - first + 1) }
    }
}

/// Half way from a power to the next.
fn middle(power: u8) -> u64 {
    3 << (power - 1).min(POWER_MAX)
}

impl fmt::Display for NumberPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("0"),
            Self::Exact(power) => write!(f, "2^{power}"),
            Self::Above(power) => write!(f, "2^{power}+"),
            Self::Below(power) => write!(f, "2^{power}-"),
        }
    }
}

impl FromStr for NumberPart {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "0" {
            return Ok(Self::Zero);
        }
        let rest = text.strip_prefix("2^").ok_or(())?;
        let (digits, part): (&str, fn(u8) -> Self) = match (rest.strip_suffix('+'), rest.strip_suffix('-')) {
            (Some(digits), _) => (digits, Self::Above),
            (_, Some(digits)) => (digits, Self::Below),
            _ => (rest, Self::Exact),
        };
        let part = digits.parse().ok().filter(|power| *power <= POWER_MAX).map(part).ok_or(())?;
        part.range().map(|_| part).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_the_partition_of_its_name() {
        let cases = [
            (0, "0"),
            (1, "2^0"),
            (2, "2^1"),
            (3, "2^1+"),
            (4, "2^2"),
            (5, "2^2+"),
            (6, "2^3-"),
            (7, "2^3-"),
            (8, "2^3"),
            (4095, "2^12-"),
            (4096, "2^12"),
            (4097, "2^12+"),
            (6143, "2^12+"),
            (6144, "2^13-"),
        ];
        for (number, name) in cases {
            assert_eq!(NumberPart::of(number).to_string(), name, "{number}");
            assert_eq!(name.parse(), Ok(NumberPart::of(number)));
        }
        for nonsense in ["1", "2^", "2^0+", "2^2-", "2^63", "3^2", "2^x"] {
            assert_eq!(nonsense.parse::<NumberPart>(), Err(()), "{nonsense}");
        }
    }

    #[test]
    fn what_is_drawn_is_in_the_partition_and_not_too_large() {
        let mut random = Random::new(7);
        for max in [0, 1, 5, 4096, 65_536, 70_000] {
            let parts = NumberPart::up_to(max);
            assert!(parts.is_sorted_by_key(|part| part.range()), "{max}");
            for part in parts {
                for _ in 0..50 {
                    let number = part.draw(&mut random, max);
                    assert_eq!(NumberPart::of(number), part, "{number}");
                    assert!(number <= max);
                }
            }
        }
    }
}
