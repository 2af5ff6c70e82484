//! How a state came about: every op with what each side said, and some of the states on the way.
//!
//! A side may be one that does not do the same twice, so what it said is written down when it says it; doing the ops
//! again may tell another story. Of the states on the way the last is kept, and of those before it the fewer the
//! further they lie back: a search has as many states as memory allows, and a walk of 200 ops is tried again from half
//! a dozen places.

use std::sync::Arc;

use smallvec::SmallVec;
use vfs::{Op, Outcome};

use super::state::Moment;

/// What led to a state.
#[derive(Clone, Default)]
pub(super) struct Past {
    log: Log,
    /// The nearest first.
    saved: SmallVec<[Arc<Moment>; 6]>,
}

/// The ops, the last one first, shared with all states that have begun alike.
#[derive(Clone, Default)]
struct Log(Option<Arc<Entry>>);

struct Entry {
    earlier: Log,
    op: Op,
    said: Vec<Outcome>,
}

impl Past {
    /// One op further, from the state that this is the past of.
    pub fn and(&self, now: &Arc<Moment>, op: &Op, said: &[Outcome]) -> Self {
        let entry = Entry { earlier: self.log.clone(), op: op.clone(), said: said.to_vec() };
        let mut saved: SmallVec<[Arc<Moment>; 6]> = SmallVec::new();
        saved.push(Arc::clone(now));
        // After 199 ops these are the states after 198, 196, 192, 128 and none: each has one binary digit less.
        let mut ops = now.ops;
        while ops > 0 {
            ops &= ops - 1;
            saved.extend(self.saved.iter().find(|moment| moment.ops == ops).cloned());
        }
        Self { log: Log(Some(Arc::new(entry))), saved }
    }

    /// All ops, the first one first, and what each side said to each.
    pub fn ops(&self) -> (Vec<Op>, Vec<Vec<Outcome>>) {
        let mut last = &self.log;
        let mut all = Vec::new();
        while let Some(entry) = &last.0 {
            all.push((entry.op.clone(), entry.said.clone()));
            last = &entry.earlier;
        }
        all.into_iter().rev().unzip()
    }

    /// The states that were kept, the nearest first.
    pub fn saved(&self) -> &[Arc<Moment>] {
        &self.saved
    }
}

impl Drop for Log {
    /// One by one: a log may be longer than the stack is deep.
    fn drop(&mut self) {
        let mut last = self.0.take();
        while let Some(mut entry) = last.and_then(Arc::into_inner) {
            last = entry.earlier.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use vfs::{Tree, Value};

    use super::*;
    use crate::comparison::state::Compared;

    fn after(ops: u32) -> Compared {
        let tree: Tree = vfs::Reference::new().tree();
        (0..ops).fold(Compared::fresh(SmallVec::new(), tree.clone()), |state, _| {
            state.after(&Op::Sync, &[Ok(Value::Done)], &Ok(Value::Done), (SmallVec::new(), tree.clone()))
        })
    }

    #[test]
    fn near_states_are_kept_and_few_that_lie_far_back() {
        let saved = |ops: u32| after(ops).past.saved().iter().map(|moment| moment.ops).collect::<Vec<_>>();
        assert_eq!(saved(0), [0; 0]);
        assert_eq!(saved(1), [0]);
        assert_eq!(saved(5), [4, 0]);
        assert_eq!(saved(200), [199, 198, 196, 192, 128, 0]);
    }

    #[test]
    fn every_op_is_logged_and_a_long_log_can_be_dropped() {
        let state = after(100_000);
        let (ops, said) = state.past.ops();
        assert_eq!((ops.len(), said.len()), (100_000, 100_000));
        assert_eq!(said[0], [Ok(Value::Done)]);
    }
}
