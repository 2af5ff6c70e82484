//! Which states count as one.

use check::{CheckOptions, Equality};
use disk::CrashMode;
use vfs::contract::Contract;

use crate::{
    searching::{options, search},
    toy::{NOTE, Toy, set},
};

/// Notes which file was made last, which no user sees.
const NOTES: Toy = Toy {
    create: |disk, file| {
        set(disk, file, 1)?;
        set(disk, NOTE, u8::try_from(file.0).unwrap_or(u8::MAX) + 1)
    },
    any_order: true,
    ..Toy::RIGHT
};

#[test]
fn trees_take_states_together_whose_disks_differ_and_are_never_complete() {
    let off = options(CrashMode::Off, Contract::Mountable);
    let full = search(&NOTES, off);
    let trees = search(&NOTES, CheckOptions { equality: Equality::Tree, ..off });
    assert_eq!((full.states, full.complete), (5, true), "two ways to both files, told apart by the note");
    assert_eq!((trees.states, trees.complete), (4, false), "no file, either, both");
    assert_eq!(trees.work.ops, full.work.ops, "every op is still done, and compared");
}
