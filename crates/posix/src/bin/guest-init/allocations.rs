//! Allocations of memory that fail on request, by the kernel's `fail-nth`: of all that this process makes the kernel
//! allocate from now on, the n-th fails, once.
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

/// More than any op makes, so that counting down from it ends before anything fails.
const NEVER: u32 = 1 << 30;

/// The switch, if this kernel has one.
pub struct Allocations(Option<OwnedFd>);

impl Allocations {
    /// To be called before anything hides the root of init.
    pub fn prepare() -> Self {
        Self(switch().ok())
    }

    /// Does some work while the allocation with this number fails, counted from 0; the work's result, and how many
    /// allocations there were, up to the one that failed.
    pub fn watch<R>(&self, failing: Option<u32>, work: impl FnOnce() -> R) -> (R, u32) {
        let Some(switch) = &self.0 else { return (work(), 0) };
        let set = failing.map_or(NEVER, |number| number.saturating_add(1));
        let is_on = pwrite(switch, set.to_string().as_bytes(), 0).is_ok();
        let result = work();
        let mut text = [0; 16];
        let read = pread(switch, &mut text, 0);
        let _ = pwrite(switch, b"0", 0);
        let left = read.ok().and_then(|len| std::str::from_utf8(&text[..len]).ok()?.trim().parse::<u32>().ok());
        (result, left.filter(|_| is_on).map_or(0, |left| set.saturating_sub(left)))
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
