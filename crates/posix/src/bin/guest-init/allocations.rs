//! Allocations of memory that fail on request, by the kernel's `fail-nth`: of all that this process makes the kernel
//! allocate in one call, the n-th fails, once.
//!
//! Only allocations from the slab allocator count, which is where file systems allocate. A page that the slab allocator
//! itself takes now and then depends on how full its slabs are, that is on all that the kernel ever did; it would count
//! at one time and not at another. The same goes for pages of this process, which it may have touched before or not.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::{pread, pwrite, write},
    mount::{MountFlags, mount},
};

/// Which allocations may fail: also those that may wait for memory, but no pages (none are of so high an order), and
/// without a word on the console about each.
const SETTINGS: [(&str, &str); 4] = [
    ("/debug/failslab/ignore-gfp-wait", "N"),
    ("/debug/failslab/verbose", "0"),
    ("/debug/fail_page_alloc/min-order", "100"),
    ("/debug/fail_page_alloc/verbose", "0"),
];

/// More than any call makes, so that counting down from it ends before anything fails.
const NEVER: u32 = 1 << 30;

/// The allocations of one call after the other.
pub struct Allocations {
    /// The switch, if this kernel has one.
    switch: Option<OwnedFd>,
    watched: Watched,
}

/// Whether the next call is watched.
enum Watched {
    /// It is not.
    No,
    /// It is, while the allocation with this number fails, counted from 0.
    Next(Option<u32>),
    /// It was: how many allocations there were, up to the one that failed.
    Counted(u32),
}

impl Allocations {
    /// To be called before anything hides the root of init.
    pub fn prepare() -> Self {
        Self { switch: switch().ok(), watched: Watched::No }
    }

    /// Watches the next call, while the allocation with this number fails.
    pub fn watch(&mut self, failing: Option<u32>) {
        self.watched = Watched::Next(failing);
    }

    /// How many allocations there were in the call that was watched, if it came to that.
    pub fn count(&mut self) -> u32 {
        match std::mem::replace(&mut self.watched, Watched::No) {
            Watched::Counted(count) => count,
            Watched::No | Watched::Next(_) => 0,
        }
    }

    /// Makes a call, which may be the one that is watched.
    pub fn call<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let (Watched::Next(failing), Some(switch)) = (&self.watched, &self.switch) else { return call() };
        let set = failing.map_or(NEVER, |number| number.saturating_add(1));
        let is_on = pwrite(switch, set.to_string().as_bytes(), 0).is_ok();
        let result = call();
        let mut text = [0; 16];
        let read = pread(switch, &mut text, 0);
        let _ = pwrite(switch, b"0", 0);
        let left = read.ok().and_then(|len| std::str::from_utf8(&text[..len]).ok()?.trim().parse::<u32>().ok());
        self.watched = Watched::Counted(left.filter(|_| is_on).map_or(0, |left| set.saturating_sub(left)));
        result
    }
}

fn switch() -> rustix::io::Result<OwnedFd> {
    mount("none", "/proc", "proc", MountFlags::empty(), None)?;
    mount("none", "/debug", "debugfs", MountFlags::empty(), None)?;
    for (file, value) in SETTINGS {
        let file = openat(CWD, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        write(&file, value.as_bytes())?;
    }
    openat(CWD, "/proc/self/fail-nth", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}
