//! Ready-made distributions over a list of partitions, the first of which is the most usual one.

use crate::nearest::Suggestion;

/// How weights go down, or up, along a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// All the same.
    Uniform,
    /// The n-th has one n-th of the weight of the first, as words in a language have.
    Rank,
    /// The other way round: what is rarely used is tried most.
    InverseRank,
    /// Each has nine tenths of the weight of the one before.
    Decay,
    /// Each has nine tenths of the weight of the one behind.
    InverseDecay,
}

const DECAY: f64 = 0.9;

impl Distribution {
    const NAMED: [(&str, Self); 5] = [
        ("uniform", Self::Uniform),
        ("rank", Self::Rank),
        ("inverse-rank", Self::InverseRank),
        ("decay", Self::Decay),
        ("inverse-decay", Self::InverseDecay),
    ];

    /// The one of that name; if there is none, the one that may be meant.
    pub fn from_name(name: &str) -> Result<Self, Suggestion> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, distribution)| *distribution);
        found.ok_or_else(|| Suggestion::of(name, Self::NAMED.iter().map(|(known, _)| *known)))
    }

    /// The weight of the partition at this place of so many; the largest is 1.
    pub fn weight(self, place: usize, of: usize) -> f64 {
        let from_the_end = of.saturating_sub(place + 1);
        let power = |place: usize| DECAY.powi(i32::try_from(place).unwrap_or(i32::MAX));
        match self {
            Self::Uniform => 1.0,
            Self::Rank => 1.0 / (place + 1) as f64,
            Self::InverseRank => 1.0 / (from_the_end + 1) as f64,
            Self::Decay => power(place),
            Self::InverseDecay => power(from_the_end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_go_down_from_the_usual_end() {
        let weights = |name: &str| {
            let distribution = Distribution::from_name(name).unwrap();
            [0, 1, 2].map(|place| format!("{:.2}", distribution.weight(place, 3))).join(" ")
        };
        assert_eq!(weights("uniform"), "1.00 1.00 1.00");
        assert_eq!(weights("rank"), "1.00 0.50 0.33");
        assert_eq!(weights("inverse-rank"), "0.33 0.50 1.00");
        assert_eq!(weights("decay"), "1.00 0.90 0.81");
        assert_eq!(weights("inverse-decay"), "0.81 0.90 1.00");
        assert_eq!(Distribution::from_name("invers-rank").unwrap_err().word(), Some("inverse-rank"));
    }
}
