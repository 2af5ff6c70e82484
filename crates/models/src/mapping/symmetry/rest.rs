//! Blocks that no file and no op leads to.
//!
//! They are numbered by what a description says of them. Two of which it says the same may change places, unless some
//! of these blocks point to each other; then it is tried what comes of starting with each.

use smallvec::SmallVec;

use super::{Least, describe::Said, names::Names, scene::Scene};
use crate::mapping::{FileMapping, layout::Layout};

impl<L: Layout> FileMapping<L> {
    /// Numbers the rest of the blocks in every way that may matter, and offers what comes of each: first the blocks
    /// that point to each other, then the others.
    pub(super) fn describe_with_rest(&self, scene: &Scene<'_>, mut names: Names<'_>, least: &mut Least<'_>) {
        let mut chained = self.chained(scene, &names);
        if chained.is_empty() {
            self.number_unchained(scene, &mut names);
            least.offer(|bytes| self.describe(scene, &names, bytes));
            return;
        }
        chained.sort_unstable();
        let first = chained[0].0.clone();
        for (_, block) in chained.iter().take_while(|(said, _)| *said == first) {
            let mut names = names.clone();
            let from = names.blocks.order.len();
            names.blocks.meet(*block);
            self.follow(scene, from, &mut names);
            self.describe_with_rest(scene, names, least);
        }
    }

    /// The blocks of the rest that point to blocks of the rest or are pointed to by them, and what is said of each.
    fn chained(&self, scene: &Scene<'_>, names: &Names<'_>) -> SmallVec<[(Said, u8); 4]> {
        let (mut from, mut to) = (0u16, 0u16);
        for block in names.blocks.rest() {
            let links = scene.versions.at(self.layout.link_place(block)).flatten();
            for pointer in links.filter(|pointer| names.blocks.lacks(**pointer)) {
                from |= 1 << block;
                to |= 1 << pointer;
            }
        }
        let chained = names.blocks.rest().filter(|block| (from | to) & 1 << block != 0);
        let described = chained.map(|block| {
            let mut said = self.describe_alone(scene, names, block);
            said.extend([from, to].map(|bits| u8::from(bits & 1 << block != 0)));
            (said, block)
        });
        described.collect()
    }

    fn number_unchained(&self, scene: &Scene<'_>, names: &mut Names<'_>) {
        let rest = names.blocks.rest().map(|block| (self.describe_alone(scene, names, block), block));
        let mut rest: SmallVec<[(Said, u8); 16]> = rest.collect();
        rest.sort_unstable();
        rest.iter().for_each(|(_, block)| names.blocks.meet(*block));
    }
}
