//! What a power cut brings to light in each library. A test that fails here after an update is good or bad news, and a
//! change to `docs/findings.md` either way.

use disk::CrashMode;
use libs::{Erase, Ext4Volume, FatVolume, Flash, ext4, fat, littlefs};

use crate::searching::{ops_to, search, violated};

/// A rename out of a directory is two commits. Between them the old directory hides the entry that is moving, and its
/// neighbour as well.
#[test]
fn littlefs_hides_the_neighbour_of_an_interrupted_move() {
    for crash in [CrashMode::Prefix, CrashMode::Subsets] {
        let report = search(&littlefs(Flash::default()), crash, 3);
        assert_eq!(violated(&report), ["pinned-name"], "{crash}");
        let expected = [r#"create("/a", mode=0644)"#, r#"mkdir("/b", mode=0755)"#, r#"rename("/a", "/b/a")"#];
        assert_eq!(ops_to(&report, "pinned-name"), expected, "{crash}");
    }
}

#[test]
fn littlefs_keeps_its_promise_where_nothing_moves_between_directories() {
    let flash = Flash { dirs: 0, ..Flash::default() };
    // A device that reorders may still take each block for itself, if it gets a block at once.
    let by_block = Flash { cache: flash.block, ..flash };
    let cases = [
        (flash, CrashMode::Prefix, 4),
        (Flash { cycles: Some(1), ..flash }, CrashMode::Prefix, 3),
        (by_block, CrashMode::Subsets, 4),
        (Flash { erase: Erase::Nothing, ..by_block }, CrashMode::Subsets, 4),
    ];
    for (flash, crash, depth) in cases {
        let report = search(&littlefs(flash), crash, depth);
        assert_eq!(violated(&report), Vec::<&str>::new(), "{flash:?} under {crash}");
        assert!(report.work.crash_states > 1000, "{flash:?} under {crash}: {}", report.work.crash_states);
    }
}

/// What was programmed before a power cut, behind a gap, completes a commit of the next attempt that begins alike.
#[test]
fn littlefs_brings_a_commit_back_where_one_block_is_written_out_of_order() {
    let flash = Flash { dirs: 0, erase: Erase::Nothing, ..Flash::default() };
    let report = search(&littlefs(flash), CrashMode::Subsets, 4);
    assert_eq!(violated(&report), ["contents", "pinned-size"]);
}

/// The library writes a directory entry, and marks the volume dirty, in pieces.
#[test]
fn fat_shows_half_written_entries() {
    let report = search(&fat(FatVolume::default()), CrashMode::Prefix, 2);
    assert!(violated(&report).contains(&"recovery-fails"), "{:?}", violated(&report));
}

/// The unmount lets a superblock that says «clean» reach the disk before the rest of the checkpoint.
#[test]
fn ext4_is_marked_clean_too_early() {
    let report = search(&ext4(Ext4Volume::default()), CrashMode::Prefix, 2);
    assert_eq!(violated(&report), ["recovery-fails"]);
    assert_eq!(ops_to(&report, "recovery-fails").len(), 2);
}
