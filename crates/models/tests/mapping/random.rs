//! A small deterministic source of choices (the sequence of `SplitMix64`).

/// What is left of the sequence.
pub struct Choices(pub u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        u8::try_from(self.next() % u64::from(end)).expect("it is below a byte")
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.below(u8::try_from(from.len()).expect("there are few")))]
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// A random order of the numbers below `end`.
    pub fn order(&mut self, end: u8) -> Vec<u8> {
        let mut rest: Vec<u8> = (0..end).collect();
        (1..=end).rev().map(|left| rest.remove(usize::from(self.below(left)))).collect()
    }
}
