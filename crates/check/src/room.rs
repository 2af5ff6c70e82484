//! Room after recovery: what is lost in a crash must not be room.
//!
//! A full disk is an excuse for most ops (`legal.rs`), after a recovery too. But not for what the same file system has
//! room for if it is unmounted and mounted where the power was cut: then recovery has lost the room. The two are
//! compared only if they show the same tree, that from before the move in which the power was cut. Where recovery goes
//! back further, or shows half of an op, nobody can say how much room there ought to be: what took it may be gone.
//!
//! How much room the same files leave is not exact either, where it depends on how they lie: a file system that writes
//! to logs may need a cleaning more or less. So there is a margin. What was lost is the room for the first op of a
//! trial, before anything was granted, while the other has room for the whole trial.

use std::cell::OnceCell;

use crate::{
    options::CheckOptions,
    probe::{self, Refused, USABLE},
    recovery::Recovered,
    state::State,
    target::{Finding, Target},
};

/// A file system before a move, and what it would have room for without a power cut, found out when it is first asked.
pub(crate) struct RoomBefore<'a, T: Target> {
    before: &'a State<T>,
    refused: OnceCell<Option<Vec<Refused>>>,
}

impl<'a, T: Target> RoomBefore<'a, T> {
    pub fn new(before: &'a State<T>) -> Self {
        Self { before, refused: OnceCell::new() }
    }

    /// What a recovery has no room for, though there would be room without a crash.
    pub fn lost_by(&self, target: &T, options: &CheckOptions, recovered: &Recovered<T>) -> Option<Finding> {
        let (_, tree) = recovered.file_system.as_ref().filter(|_| !recovered.refused.is_empty())?;
        if !self.before.tasks.is_empty() || !tree.same_as(&self.before.reference.tree()) {
            return None;
        }
        let otherwise = self.refused.get_or_init(|| refused_after_remount(target, &self.before.awake(target, options)));
        let has_room =
            |list: usize| otherwise.as_ref().is_some_and(|refused| refused.iter().all(|one| one.list != list));
        let lost = recovered.refused.iter().find(|refused| refused.first && has_room(refused.list));
        lost.map(|Refused { op, errno, .. }| {
            let failed = format!("after recovery, {op} failed with {errno} ({})", errno.meaning());
            let detail = format!("{failed}; unmounted and mounted instead of crashed, it has room for that and more");
            Finding { property: USABLE, detail }
        })
    }
}

/// What a file system has no room for when it was unmounted and mounted; `None` if something else is wrong with it.
fn refused_after_remount<T: Target>(target: &T, before: &State<T>) -> Option<Vec<Refused>> {
    let (mut mounted, mut disk) = (before.mounted.clone(), before.disk.clone());
    target.unmount(&mut mounted, &mut disk).ok()?;
    let mounted = target.mount(&mut disk).ok()?;
    let tree = before.reference.tree();
    let tried = probe::try_all(target, &mounted, &disk, &tree, |_| {});
    tried.wrong.is_none().then_some(tried.refused)
}
