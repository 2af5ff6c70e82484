//! Ops that must fail: whether each library fails as POSIX has it. The workloads of the searches consist of ops that
//! succeed, so this is where errors are compared.

use check::{Target, Task};
use disk::{Disk, OpIndex};
use libs::{Ext4Volume, FatVolume, Flash, ext4, fat, littlefs};
use vfs::{Errno, Op, Outcome, Reference};

const BEFORE: [&str; 3] = [r#"create("/f")"#, r#"mkdir("/d")"#, r#"create("/d/g")"#];

const WRONG: [&str; 21] = [
    r#"create("/f")"#,
    r#"create("/d")"#,
    r#"create("/no/f")"#,
    r#"create("/f/x")"#,
    r#"mkdir("/f")"#,
    r#"mkdir("/d")"#,
    r#"mkdir("/no/d")"#,
    r#"mkdir("/f/d")"#,
    r#"unlink("/no")"#,
    r#"unlink("/d")"#,
    r#"unlink("/f/x")"#,
    r#"rmdir("/no")"#,
    r#"rmdir("/f")"#,
    r#"rmdir("/d")"#,
    r#"rename("/no", "/x")"#,
    r#"rename("/f", "/no/x")"#,
    r#"rename("/d", "/d/x")"#,
    r#"rename("/f", "/d")"#,
    r#"rename("/d", "/f")"#,
    r#"write("/d", offset=0, len=1, fill=1)"#,
    r#"write("/f", offset=0xfffffffffffff830, len=1, fill=1)"#,
];

fn run(target: &impl Target, disk: &mut Disk, op: &Op) -> Outcome {
    let mut mounted = target.mount(disk).expect("it mounted before");
    let mut task = Task { op: op.clone(), index: OpIndex(0), choice: 0, pc: 0, registers: [0; 12] };
    target.step(&mut mounted, disk, &mut task).expect("a library does an op at once")
}

/// Where the library fails in another way than the reference, or not at all.
fn differences(target: &impl Target) -> Vec<String> {
    let mut disk = Disk::new(target.mkfs());
    let mut reference = Reference::new();
    for text in BEFORE {
        let op: Op = text.parse().unwrap();
        assert_eq!(run(target, &mut disk, &op), reference.apply(&op), "{text}");
    }
    let say = |outcome: &Outcome| outcome.as_ref().map_or_else(ToString::to_string, |_| "done".to_owned());
    let compare = |text: &&str| {
        let op: Op = text.parse().unwrap();
        let (found, expected) = (run(target, &mut disk.clone(), &op), reference.clone().apply(&op));
        (found != expected).then(|| format!("{text}: {}, not {}", say(&found), say(&expected)))
    };
    WRONG.iter().filter_map(compare).collect()
}

/// Nothing stops a directory from moving into itself: it is then in no directory that can be reached. The C library
/// that this one was translated from does the same.
#[test]
fn littlefs_lets_a_directory_vanish_into_itself() {
    assert_eq!(differences(&littlefs(Flash::default())), [r#"rename("/d", "/d/x"): done, not EINVAL"#]);
}

/// The same, and a name that is taken is an error of its own, as documented.
#[test]
fn fat_lets_a_directory_vanish_into_itself() {
    let expected = [
        r#"rename("/d", "/d/x"): done, not EINVAL"#,
        r#"rename("/f", "/d"): EEXIST, not EISDIR"#,
        r#"rename("/d", "/f"): EEXIST, not ENOTDIR"#,
    ];
    assert_eq!(differences(&fat(FatVolume::default())), expected);
}

/// Two errors have changed places.
#[test]
fn ext4_confuses_two_errors_of_rename() {
    let expected = [r#"rename("/f", "/d"): ENOTDIR, not EISDIR"#, r#"rename("/d", "/f"): EISDIR, not ENOTDIR"#];
    assert_eq!(differences(&ext4(Ext4Volume::default())), expected);
}

/// What comes of a name of so many bytes on a fresh file system.
fn create_named(target: &impl Target, bytes: usize) -> Option<Errno> {
    let op: Op = format!("create(\"/{}\")", "a".repeat(bytes)).parse().unwrap();
    run(target, &mut Disk::new(target.mkfs()), &op).err()
}

/// The longest name that a target declares is not too long, be there room for it or not, and the next one is.
fn names_have_their_limit(target: &impl Target) {
    assert_eq!(target.name_bytes_max(), Some(255));
    assert!(matches!(create_named(target, 255), None | Some(Errno::ENOSPC)));
    assert_eq!(create_named(target, 256), Some(Errno::ENAMETOOLONG));
}

#[test]
fn names_are_as_long_as_each_library_says() {
    names_have_their_limit(&littlefs(Flash { block: 512, ..Flash::default() }));
    names_have_their_limit(&fat(FatVolume { sectors: 64, ..FatVolume::default() }));
    names_have_their_limit(&ext4(Ext4Volume::default()));
}

/// One byte more, and the library says that it is too long and leaves its cache in disorder: with debug assertions, the
/// next commit panics. So only what fits is tried.
#[test]
fn in_small_blocks_of_littlefs_names_are_shorter() {
    for (block, expected) in [(128, 108), (256, 236)] {
        let target = littlefs(Flash { block, ..Flash::default() });
        assert_eq!((target.name_bytes_max(), create_named(&target, expected)), (Some(expected), None), "{block}");
    }
}
