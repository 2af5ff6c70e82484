//! While the power stays on, every library does what POSIX says of the ops that it offers.

use check::Checkable;
use disk::CrashMode;
use libs::{Erase, Ext4Volume, FatVolume, Flash, ext4, fat, littlefs};

use crate::searching::{search, violated};

fn assert_right(name: &str, target: &impl Checkable, depth: u32, ops_min: u64) {
    let report = search(target, CrashMode::Off, depth);
    assert_eq!(violated(&report), Vec::<&str>::new(), "{name}");
    assert!(report.work.ops >= ops_min, "{name}: a search of {} ops shows little", report.work.ops);
}

#[test]
fn littlefs_is_right_on_every_kind_of_flash() {
    let flash = Flash::default();
    let flashes = [
        ("as it comes", flash, 4),
        ("no erase", Flash { erase: Erase::Nothing, ..flash }, 3),
        ("moves metadata at every erase", Flash { cycles: Some(1), ..flash }, 3),
        ("smallest blocks", Flash { block: 128, ..flash }, 3),
        ("large pages", Flash { page: 64, ..flash }, 3),
        ("two directories", Flash { dirs: 2, ..flash }, 3),
    ];
    for (name, flash, depth) in flashes {
        assert_right(name, &littlefs(flash), depth, 60);
    }
}

#[test]
fn fat_is_right() {
    assert_right("fat", &fat(FatVolume::default()), 5, 300);
}

#[test]
fn ext4_is_right() {
    assert_right("ext4", &ext4(Ext4Volume::default()), 3, 100);
}
