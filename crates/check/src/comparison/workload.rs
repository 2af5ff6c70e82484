//! Which ops a comparison tries: what every side has, and unmounting in between.

use vfs::{
    Op, OpKind, Path,
    generate::{InputCounts, ObjectBounds, OpSet, WritePlaces, object_ops},
    open::OpenFiles,
};

use super::{Comparison, Side, state::Compared};
use crate::{legal, lost_and_found, size::fits, workload::Workload};

impl Comparison {
    /// The kinds of ops that every side has.
    pub(super) fn common_ops(&self) -> OpSet {
        self.sides().map(Side::ops).fold(OpSet::ALL, OpSet::intersection)
    }

    /// Appends the ops that may come next, given what of the inputs was done.
    pub(super) fn propose(
        &self,
        state: &Compared,
        (workload, bounds): (&Workload, &ObjectBounds),
        done: Option<&InputCounts>,
        ops: &mut Vec<Op>,
    ) {
        let offered = |op: &Op| self.all_offer(op, state);
        match (&workload.script, &workload.weighted, done) {
            (Some(set), ..) => ops.extend(set.children(state.place).map(|(op, _)| op.clone())),
            (None, Some(weighted), Some(done)) if weighted.by_step => {
                ops.extend(weighted.draw_due(&state.now.tree, done, offered));
            }
            (None, Some(weighted), _) => ops.extend(weighted.draw(&state.now.tree, state.now.ops, offered)),
            (None, None, _) => {
                let possible = object_ops(&state.now.tree, &OpenFiles::new(), bounds);
                ops.extend(possible.into_iter().filter(|op| self.all_offer(op, state)));
            }
        }
    }

    /// Whether every side has an op, with these arguments.
    pub(super) fn all_offer(&self, op: &Op, state: &Compared) -> bool {
        let is_left_open =
            legal::depends_on_block_size(op, state.slot_of(op)) || legal::opens_dir_directly(op, &state.now.tree);
        let has_its_own = || state.now.sides.iter().any(|side| side.made_with_lost_and_found);
        let is_of_fsck = lost_and_found::is_about(op) && has_its_own();
        !is_left_open
            && !is_of_fsck
            && self.sides().all(|side| {
                let short_enough = |path: &&Path| {
                    let bytes_max = side.name_bytes_max().unwrap_or(usize::MAX);
                    path.as_str().split('/').all(|name| name.len() <= bytes_max)
                };
                side.ops().contains(op.kind())
                    && op.paths().iter().all(short_enough)
                    && side.offers(op, &state.now.tree)
                    && fits(op, &state.now.tree, side.file_bytes_max())
            })
    }

    /// How far the workload goes: no further than any side would by itself. Where the user names no ops it is those
    /// that find most in the fewest states, and remounts, which show what caches hide.
    pub(super) fn bounds(&self, workload: &Workload) -> ObjectBounds {
        let own =
            self.sides().filter(|side| !side.adopts()).map(Side::bounds).reduce(|one, other| narrower(one, &other));
        let common = own.unwrap_or_else(|| self.side(0).bounds());
        let whole = OpSet::of(&[OpKind::Remount]);
        let all_have = self.sides().map(Side::ops).fold(OpSet::ALL, OpSet::intersection);
        let ops = common.ops.union(whole).intersection(OpSet::DEFAULT.union(whole)).intersection(all_have);
        workload.within(&ObjectBounds { ops, ..common }, all_have)
    }
}

/// What lies within the bounds of both.
fn narrower(one: ObjectBounds, other: &ObjectBounds) -> ObjectBounds {
    let size_max = one.size_max.min(other.size_max);
    let block = one.block.max(other.block);
    let common: Vec<_> = one.names.iter().filter(|name| other.names.contains(name)).cloned().collect();
    let names = if common.is_empty() { one.names } else { common };
    ObjectBounds {
        ops: one.ops.intersection(other.ops),
        files_max: one.files_max.min(other.files_max),
        dirs_max: one.dirs_max.min(other.dirs_max),
        depth_max: one.depth_max.min(other.depth_max),
        size_max,
        // A block of one that is more than a file of the other can hold becomes as much as it can hold.
        block: if block.get() > size_max { size_max.try_into().unwrap_or(block) } else { block },
        names,
        slots_max: one.slots_max.min(other.slots_max),
        open_flags: one.open_flags.into_iter().filter(|flags| other.open_flags.contains(flags)).collect(),
        write_places: if one.write_places == other.write_places { one.write_places } else { WritePlaces::End },
        write_via: one.write_via.into_iter().filter(|via| other.write_via.contains(via)).collect(),
        fallocate: one.fallocate.into_iter().filter(|how| other.fallocate.contains(how)).collect(),
        rename: one.rename.into_iter().filter(|how| other.rename.contains(how)).collect(),
    }
}
