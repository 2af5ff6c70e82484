//! The dining philosophers: not a file system, but the yardstick by which the search is compared with other checkers.
//!
//! A philosopher takes one fork, takes the other, eats, puts the first back, puts the second back. If all take
//! their left fork first they can all wait for each other; if the last one takes the right fork first they cannot.

use explore::{Property, Step, System};

/// The most philosophers that fit into a state.
pub const PHILOSOPHERS_MAX: u32 = 32;

/// Everybody waits for somebody.
pub const DEADLOCK: Property = Property::critical("deadlock");

/// Who takes which fork first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkOrder {
    /// Everybody takes the left fork first: can deadlock.
    LeftFirst,
    /// The last philosopher takes the right fork first: cannot.
    LastRightFirst,
}

/// A round table.
#[derive(Clone, Copy, Debug)]
pub struct Philosophers {
    seats: u32,
    order: ForkOrder,
}

/// Who holds the first and the second fork of their own, one bit a philosopher. Forks follow from hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hands {
    first: u32,
    second: u32,
}

impl Philosophers {
    /// A table for 2 to [`PHILOSOPHERS_MAX`].
    pub fn new(seats: u32, order: ForkOrder) -> Option<Self> {
        (2..=PHILOSOPHERS_MAX).contains(&seats).then_some(Self { seats, order })
    }

    fn last(self) -> u32 {
        1 << (self.seats - 1)
    }

    /// Everybody, one bit each.
    fn all(self) -> u32 {
        u32::MAX >> (32 - self.seats)
    }

    /// The forks that lie on the left of these philosophers, by the bit of the fork: fork `p` lies left of `p`.
    fn left(hands: u32) -> u32 {
        hands
    }

    /// The forks on the right: that of the next philosopher, at a round table.
    fn right(self, hands: u32) -> u32 {
        (hands << 1 | hands >> (self.seats - 1)) & self.all()
    }

    /// The forks that stand first (or, with `first` false, second) in the order of these philosophers.
    #[inline]
    fn forks(self, hands: u32, first: bool) -> u32 {
        let reversed = match self.order {
            ForkOrder::LeftFirst => 0,
            ForkOrder::LastRightFirst => self.last(),
        };
        let (to_left, to_right) = (hands & !reversed, hands & reversed);
        if first { Self::left(to_left) | self.right(to_right) } else { self.right(to_left) | Self::left(to_right) }
    }

    /// Who of `hands` would find the fork free.
    #[inline]
    fn finds_free(self, hands: u32, first: bool, taken: u32) -> u32 {
        let reversed = match self.order {
            ForkOrder::LeftFirst => 0,
            ForkOrder::LastRightFirst => self.last(),
        };
        // Philosopher p's right fork is fork p + 1, so "taken" is turned back by one place.
        let right_taken = (taken >> 1 | taken << (self.seats - 1)) & self.all();
        let (one, other) = if first { (taken, right_taken) } else { (right_taken, taken) };
        hands & !(one & !reversed | other & reversed)
    }
}

impl System for Philosophers {
    type State = Hands;
    /// Which philosopher moves; each has at most one move.
    type Action = u8;
    type Evidence = String;

    fn initial(&self) -> Vec<Hands> {
        vec![Hands { first: 0, second: 0 }]
    }

    #[inline]
    fn actions(&self, hands: &Hands, actions: &mut Vec<u8>) {
        let Hands { first, second } = *hands;
        let taken = self.forks(first, true) | self.forks(second, false);
        let thinking = self.all() & !first & !second;
        let takes_first = self.finds_free(thinking, true, taken);
        let takes_second = self.finds_free(first & !second, false, taken);
        let mut movers = takes_first | takes_second | second;
        while movers != 0 {
            #[expect(clippy::cast_possible_truncation, reason = "below 32")]
            actions.push(movers.trailing_zeros() as u8);
            movers &= movers - 1;
        }
    }

    #[inline]
    fn apply(&self, hands: &Hands, philosopher: &u8, step: &mut Step<'_, Self>) {
        let me = 1u32 << philosopher;
        let Hands { first, second } = *hands;
        step.leads_to(match (first & me != 0, second & me != 0) {
            (false, false) => Hands { first: first | me, second },
            (true, false) => Hands { first, second: second | me },
            (true, true) => Hands { first: first & !me, second },
            (false, true) => Hands { first, second: second & !me },
        });
    }

    #[inline]
    fn encode(&self, hands: &Hands, bytes: &mut Vec<u8>) {
        let packed = u64::from(hands.first) | u64::from(hands.second) << self.seats;
        bytes.extend_from_slice(&packed.to_le_bytes()[..(self.seats as usize * 2).div_ceil(8)]);
    }

    fn inspect(&self, hands: &Hands, enabled: usize, step: &mut Step<'_, Self>) {
        if enabled == 0 {
            step.violated(DEADLOCK, || format!("all {} hold one fork: {:b}", self.seats, hands.first));
        }
    }
}
