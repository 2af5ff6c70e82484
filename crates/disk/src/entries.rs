//! The entries of a log: a list whose clones share all that they have in common.
//!
//! A search clones a disk at every state and adds a few entries to each clone. With links from newer to older ones, a
//! clone costs a reference count and an addition costs one link, however long the log is.
//!
//! Each entry comes with what a reader sees after it. Most images that anyone asks for are one of these, so a write is
//! done to an image once, however often its crash states are listed.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{Entry, Image};

/// An entry that was done.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) entry: Entry,
    /// What a reader sees after it.
    pub(crate) visible: Image,
}

/// Entries, oldest first. Short logs need no allocation.
pub(crate) type OldestFirst<'a> = SmallVec<[&'a Done; 16]>;

/// A shared list of entries.
#[derive(Clone, Default)]
pub(crate) struct Entries {
    newest: Option<Arc<Link>>,
    len: usize,
}

struct Link {
    done: Done,
    older: Option<Arc<Link>>,
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, done: Done) {
        let older = self.newest.take();
        self.newest = Some(Arc::new(Link { done, older }));
        self.len += 1;
    }

    pub(crate) fn newest(&self) -> Option<&Done> {
        self.newest.as_deref().map(|link| &link.done)
    }

    fn newest_first(&self) -> impl Iterator<Item = &Done> {
        std::iter::successors(self.newest.as_deref(), |link| link.older.as_deref()).map(|link| &link.done)
    }

    /// The first `count` entries.
    pub(crate) fn oldest_first(&self, count: usize) -> OldestFirst<'_> {
        let mut entries: OldestFirst<'_> = self.newest_first().skip(self.len - count).collect();
        entries.reverse();
        entries
    }

    /// The entry after `older` older ones.
    pub(crate) fn get(&self, older: usize) -> Option<&Done> {
        self.newest_first().nth(self.len.checked_sub(older + 1)?)
    }

    /// Keeps the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        while self.len > count {
            let older = self.newest.as_ref().and_then(|link| link.older.clone());
            self.newest = older;
            self.len -= 1;
        }
    }

    /// All but the first `count`.
    pub(crate) fn without_oldest(&self, count: usize) -> Self {
        let mut rest = Self::default();
        for done in &self.oldest_first(self.len)[count..] {
            rest.push((*done).clone());
        }
        rest
    }
}

/// Link by link: the drop that the compiler derives would recurse once for each.
impl Drop for Entries {
    fn drop(&mut self) {
        let mut next = self.newest.take();
        while let Some(link) = next {
            next = Arc::into_inner(link).and_then(|link| link.older);
        }
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.oldest_first(self.len).iter().map(|done| &done.entry)).finish()
    }
}
