//! A set of ops by number, as bits.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpSet(Vec<u64>);

impl OpSet {
    /// An empty set that can hold `count` ops.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub fn insert(&mut self, op: usize) {
        self.0[op / 64] |= 1 << (op % 64);
    }

    pub fn contains(&self, op: usize) -> bool {
        self.0[op / 64] & 1 << (op % 64) != 0
    }

    /// Adds the ops of another set of the same size.
    pub fn extend(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Whether some op is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::OpSet;

    #[test]
    fn sets_reach_beyond_one_word() {
        let (mut one, mut two) = (OpSet::new(130), OpSet::new(130));
        one.insert(129);
        two.insert(64);
        assert!(one.contains(129) && !one.contains(128));
        assert!(!one.meets(&two));
        one.extend(&two);
        assert!(one.meets(&two) && one.contains(64) && !two.contains(129));
    }
}
