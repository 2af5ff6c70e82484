//! Which partition comes next: by the weights alone, or by what is still due of them.
//!
//! What is drawn by the weights alone comes close to them with the square root of the number of draws only, and a
//! partition of one value in a thousand takes an hour of a kernel's time to be right within some percent. So what was
//! counted is looked at: who is behind by one value is twice as likely, who is ahead by one is not drawn. The counts
//! then stay within about one value of what was asked, however rare that is, and draws are still random.

use super::{argument::Partition, coverage::Counted, random::Random};

/// What was counted so far, if draws are to go by it.
#[derive(Clone, Copy)]
pub(super) struct Due<'a>(pub Option<&'a Counted>);

/// How many times as likely as asked something can get. What a target rarely has stays behind for ever, and must not
/// crowd out the rest.
const CATCH_UP_MAX: f64 = 4.0;

impl Due<'_> {
    /// How likely the partition at this place is to be next; for flags, to be set.
    pub fn share(self, place: usize, Partition { asked, .. }: &Partition) -> f64 {
        let Some(counted) = self.0 else { return *asked };
        let (values, count) = counted.count_of(place);
        let behind = asked * values as f64 - count as f64;
        asked * (1.0 + behind).clamp(0.0, CATCH_UP_MAX)
    }

    /// The place of the partition that is next.
    pub fn draw(self, partitions: &[Partition], random: &mut Random) -> usize {
        let share = |(place, partition)| self.share(place, partition);
        let all: f64 = partitions.iter().enumerate().map(share).sum();
        let mut left = random.share() * all;
        let mut possible = 0;
        for (place, partition) in partitions.iter().enumerate() {
            let share = self.share(place, partition);
            if share > 0.0 {
                possible = place;
                if left < share {
                    break;
                }
                left -= share;
            }
        }
        possible
    }
}

#[cfg(test)]
mod tests {
    use super::{super::argument::Seen, *};

    fn partitions(asked: &[f64]) -> Vec<Partition> {
        asked.iter().map(|asked| Partition { name: asked.to_string(), asked: *asked }).collect()
    }

    #[test]
    fn counts_stay_within_a_few_values_of_what_was_asked() {
        let asked = [0.5, 0.3, 0.199, 0.001];
        let partitions = partitions(&asked);
        let counted = Counted::new(&partitions);
        let mut random = Random::new(11);
        for values in 1..=20_000 {
            let place = Due(Some(&counted)).draw(&partitions, &mut random);
            counted.value(&Seen::Word(partitions[place].name.clone()));
            for (place, asked) in asked.iter().enumerate() {
                let behind = asked * f64::from(values) - counted.count_of(place).1 as f64;
                assert!(behind.abs() < 8.0, "partition {place} is behind by {behind} of {values}");
            }
        }
    }

    #[test]
    fn what_is_behind_catches_up_and_what_is_ahead_waits() {
        let partitions = partitions(&[0.9, 0.1]);
        let counted = Counted::new(&partitions);
        (0..10_000).for_each(|_| counted.value(&Seen::Word("0.9".to_owned())));
        assert!(Due(Some(&counted)).share(0, &partitions[0]).abs() < 1e-9, "what is ahead waits");
        let share = Due(Some(&counted)).share(1, &partitions[1]);
        assert!((share - 0.4).abs() < 1e-9, "{share}");
    }
}
