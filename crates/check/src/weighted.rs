//! Ops drawn at random by the user's weights, as a workload.

use vfs::{
    Op, Reference, Tree,
    generate::{InputCounts, Weights},
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Weights, and from what the draws of a state follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// The weights.
    pub weights: Weights,
    /// What all draws start from.
    pub seed: u64,
    /// Whether a state has other ops each time that it is come to. Walks need that, since most of what they come to
    /// they have seen; in a search each state is expanded once, and the same ops each time let it be resumed and
    /// replayed.
    pub by_step: bool,
}

impl Weighted {
    /// The next op of a walk: one that brings what was done closer to what was asked. It follows from what all walks
    /// have done so far, so that whoever wants to know the op later has to write it down.
    pub(crate) fn draw_due(&self, tree: &Tree, done: &InputCounts, offered: impl Fn(&Op) -> bool) -> Option<Op> {
        let mut state = tree.fingerprint().to_le_bytes().to_vec();
        state.extend_from_slice(&done.ops_done().to_le_bytes());
        self.weights.draw_due(xxh3_64_with_seed(&state, self.seed), done, offered)
    }

    /// The ops of a state that looks like this, after so many ops. What is not `offered` is drawn again.
    pub(crate) fn draw(&self, tree: &Tree, ops: u32, offered: impl Fn(&Op) -> bool) -> Vec<Op> {
        let mut state = tree.fingerprint().to_le_bytes().to_vec();
        if self.by_step {
            state.extend_from_slice(&ops.to_le_bytes());
        }
        let seed = xxh3_64_with_seed(&state, self.seed);
        let mut drawn = self.weights.draw(seed, &offered);
        if !self.by_step {
            let more = (1..ROUNDS_MAX).map(|round| self.weights.draw(seed.wrapping_add(round), &offered));
            let before = Reference::from_tree(tree);
            for more in more {
                if drawn.iter().any(|op| leads_on(&before, op)) {
                    break;
                }
                drawn.extend(more);
            }
        }
        drawn
    }
}

/// How often as many ops are drawn again for a state from which none leads on, before it is left at that.
const ROUNDS_MAX: u64 = 64;

/// Whether an op is likely to lead to another state. In a search, a state all of whose ops fail is the end; what an op
/// really does is up to the targets.
fn leads_on(before: &Reference, op: &Op) -> bool {
    let mut after = before.clone();
    after.apply(op).is_ok() && !after.tree().same_as(&before.tree())
}
