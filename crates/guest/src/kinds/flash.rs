//! File systems for flash memory: jffs2, ubifs.
//!
//! Their flash is the disk, to which all that an op has written goes when it returns, in the order of its pages. Real
//! flash has what is written at once, and in the order in which it was asked for. So only power cuts between ops are
//! those of real flash, and there are no others here.

use posix::message::Medium;
use vfs::{Conventions, OpKind, WriteVia, generate::OpSet};

use super::{ALL_OPS, FALLOCATE, Kind, Making};

/// One log, which is read as a whole at every mount. An erased flash is an empty file system.
pub(super) const JFFS2: Kind = Kind {
    name: "jffs2",
    kib_min: 1 << 10,
    making: Making::FirstMount(Medium::Flash),
    checking: None,
    mount_options: "",
    hidden: &[],
    emptied: &[],
    // It can be mapped for reading only, and has no way around the page cache.
    ways: &[WriteVia::Buffered],
    exchanges: false,
    ops: ALL_OPS.without(FALLOCATE).without(OpSet::of(&[OpKind::Msync])),
    fallocate: &[],
    conventions: Conventions::POSIX,
};

/// A tree, a journal, and UBI below it, which wears all blocks evenly.
pub(super) const UBIFS: Kind = Kind {
    name: "ubifs",
    kib_min: 4 << 10,
    making: Making::FirstMount(Medium::FlashVolume),
    ways: &[WriteVia::Buffered, WriteVia::Mmap],
    exchanges: true,
    ops: ALL_OPS.without(FALLOCATE),
    ..JFFS2
};
