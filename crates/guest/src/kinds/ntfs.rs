//! ntfs, by the code called ntfs3.

use vfs::{Conventions, DirLinks, OwnAttributes};

use super::{ALL_OPS, ALL_WAYS, ATTRIBUTES, Checking, FALLOCATE, Kind, Making, clean_or_wrong};
use crate::program::Program;

const MKNTFS: Program = Program { name: "mkntfs", package: "ntfs-3g" };
const NTFSFIX: Program = Program { name: "ntfsfix", package: "ntfs-3g" };

/// Large clusters, because mkntfs makes as many records as one cluster holds and the kernel does not add the first.
pub(super) const NTFS3: Kind = Kind {
    name: "ntfs3",
    kib_min: 4 << 10,
    making: Making::Program {
        program: MKNTFS,
        arguments: &["-q", "-F", "-s", "512", "-p", "0", "-H", "0", "-S", "0", "-c", "65536"],
        finish: None,
    },
    checking: Some(Checking {
        program: NTFSFIX,
        look: &["-n"],
        repair: Some(&["-d"]),
        verdict: clean_or_wrong,
        chatter: &["Mounting volume", "Processing of"],
    }),
    mount_options: "",
    hidden: &[],
    emptied: &[],
    ways: ALL_WAYS,
    exchanges: false,
    ops: ALL_OPS.without(ATTRIBUTES).without(FALLOCATE),
    fallocate: &[],
    conventions: Conventions {
        dir_links: DirLinks::AlwaysOne,
        own_attributes: OwnAttributes::Named(&["$LXUID", "$LXGID", "$LXMOD"]),
        ..Conventions::POSIX
    },
};
