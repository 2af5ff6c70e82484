//! Unmounting what an op has left, on a copy: what was not given back shows at no other time.
//!
//! A copy of a kernel's memory cannot be had, so whoever goes on afterwards has to bring the state back first. That is
//! affordable where a request has failed, since every request of an op fails in turn and each of them starts from a
//! state that is brought back. Elsewhere it is done only where nothing follows. What is not given back by an op is not
//! given back by those after it either, so that the end of each way shows what happened on it. And it is no damage to
//! what the file system shows, so that the search goes on.

use crate::{
    checker::Checker,
    state::State,
    target::{Finding, Target},
    wanted::Wanted,
};

/// After which ops that met no failure a file system is unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmounted {
    /// Those after which a search does not go on, because its script ends or because it goes no deeper.
    AtTheEnd { depth: Option<u32> },
    /// All of them.
    Always,
}

impl<T: Target> Checker<'_, T> {
    /// What the target reports if the state is unmounted, where that is asked for.
    pub(crate) fn complaint_at_unmount(&self, state: &mut State<T>, wanted: Wanted<'_>) -> Option<Finding> {
        let is_hurt = state.aftermath.is_hurt();
        let by_itself = self.unmounted == Unmounted::Always || self.is_the_end(state);
        let is_asked = is_hurt || (wanted.unmounts() && by_itself);
        if !is_asked || state.aftermath.leaks() || !state.tasks.is_empty() || self.haste.leave() {
            return None;
        }
        let Finding { property, detail } = self.target.complaint_at_unmount(&state.mounted, &state.disk)?;
        if is_hurt {
            state.aftermath.leak();
        }
        Some(Finding { property, detail: format!("unmounted then: {detail}") })
    }

    fn is_the_end(&self, state: &State<T>) -> bool {
        let script_ends = || {
            let script = self.workload.script.as_ref();
            script.is_some_and(|set| set.children(state.place).next().is_none())
        };
        let is_deepest = |depth: Option<u32>| depth.is_some_and(|depth| state.ops >= depth);
        matches!(self.unmounted, Unmounted::AtTheEnd { depth } if is_deepest(depth)) || script_ends()
    }
}
