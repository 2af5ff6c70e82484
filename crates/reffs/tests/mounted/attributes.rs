//! Special files, set-id and sticky bits, and times: the same on a mounted reference and on the kernel's tmpfs.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown},
        net::UnixListener,
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
    thread::sleep,
    time::Duration,
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, makedev, mknodat, utimensat,
    },
    mount::{MountFlags, UnmountFlags, mount, unmount},
};
use tempfile::TempDir;

use super::Served;

/// Two users who are not root; each has a group of the same number.
const USERS: [u32; 2] = [65_534, 1];
/// More than a tick, which is how exactly tmpfs knows the time.
const TICK: Duration = Duration::from_millis(20);

/// A tmpfs of a test.
struct Tmpfs(TempDir);

impl Tmpfs {
    fn mount() -> Self {
        let dir = TempDir::new().unwrap();
        mount("reffs-test", dir.path(), "tmpfs", MountFlags::empty(), Some(c"mode=0755")).unwrap();
        Self(dir)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

/// Both arms must pass the same test: what it expects is what Linux does, and not our opinion of it.
fn on_both(test: impl Fn(&Path)) {
    let Some(served) = Served::start() else { return };
    test(Tmpfs::mount().0.path());
    test(served.dir.path());
}

/// Whether a command succeeds that a user gives in a directory.
fn succeeds(user: u32, dir: &Path, command: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(dir).uid(user).gid(user);
    shell.output().unwrap().status.success()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Makes a file, or gives it another mode.
fn make(path: &Path, mode: u32) {
    OpenOptions::new().append(true).create(true).open(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn special_files_are_what_they_were_made_as() {
    on_both(|dir| {
        let [pipe, null, disk, socket] = ["pipe", "null", "disk", "socket"].map(|name| dir.join(name));
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        mknodat(CWD, &null, FileType::CharacterDevice, mode, makedev(1, 3)).unwrap();
        mknodat(CWD, &disk, FileType::BlockDevice, mode, makedev(259, 70_000)).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        let kind = |path: &Path| fs::symlink_metadata(path).unwrap().file_type();
        assert!(kind(&pipe).is_fifo() && kind(&socket).is_socket());
        assert!(kind(&null).is_char_device() && kind(&disk).is_block_device());
        assert_eq!(fs::metadata(&null).unwrap().rdev(), makedev(1, 3));
        assert_eq!(fs::metadata(&disk).unwrap().rdev(), makedev(259, 70_000));
        fs::write(&null, "gone").unwrap();
        assert_eq!(fs::read(&null).unwrap(), b"");
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut reader = OpenOptions::new().read(true).custom_flags(nonblocking).open(&pipe).unwrap();
        File::options().write(true).open(&pipe).unwrap().write_all(b"through").unwrap();
        let mut bytes = [0; 8];
        assert_eq!(reader.read(&mut bytes).unwrap(), 7);
        let again = mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap_err();
        assert_eq!(again, rustix::io::Errno::EXIST);
        fs::remove_file(&pipe).unwrap();
    });
}

#[test]
fn in_a_sticky_directory_nobody_removes_what_belongs_to_others() {
    on_both(|dir| {
        let sticky = dir.join("sticky");
        fs::create_dir(&sticky).unwrap();
        fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
        let [owner, other] = USERS;
        assert!(succeeds(owner, &sticky, "echo mine > f"));
        assert!(!succeeds(other, &sticky, "rm -f f"));
        assert!(!succeeds(other, &sticky, "mv f g"));
        assert!(!succeeds(other, &sticky, "echo other > g && mv -f g f"));
        assert_eq!(fs::read(sticky.join("f")).unwrap(), b"mine\n");
        assert!(succeeds(owner, &sticky, "mv f h && rm h"));
        fs::set_permissions(&sticky, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(succeeds(owner, &sticky, "rm -f g"), "without the bit, whoever may write may remove");
    });
}

#[test]
fn a_directory_with_a_group_hands_it_down() {
    on_both(|dir| {
        let shared = dir.join("shared");
        fs::create_dir(&shared).unwrap();
        chown(&shared, None, Some(100)).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o2777)).unwrap();
        assert!(succeeds(USERS[0], &shared, "umask 022; echo > f; mkdir d; ln -s f l; mkfifo p; echo > d/g"));
        let seen = |name: &str| {
            let metadata = fs::symlink_metadata(shared.join(name)).unwrap();
            (metadata.mode() & 0o7777, metadata.uid(), metadata.gid())
        };
        assert_eq!(seen("f"), (0o644, USERS[0], 100));
        assert_eq!(seen("d"), (0o2755, USERS[0], 100), "and so on below it");
        assert_eq!(seen("l"), (0o777, USERS[0], 100));
        assert_eq!(seen("p"), (0o644, USERS[0], 100));
        assert_eq!(seen("d/g"), (0o644, USERS[0], 100));
        assert!(succeeds(USERS[0], &shared, "chmod 2755 f"));
        assert_eq!(mode(&shared.join("f")), 0o755, "nobody gives a group away that is not their own");
    });
}

#[test]
fn who_changes_a_program_takes_its_rights() {
    on_both(|dir| {
        let program = dir.join("program");
        for change in ["echo x >> program", ": > program", "truncate -s 100 program", "fallocate -l 9999 program"] {
            make(&program, 0o6777);
            assert!(succeeds(USERS[0], dir, change), "{change}");
            assert_eq!(mode(&program), 0o777, "{change}");
        }
        make(&program, 0o6777);
        File::options().append(true).open(&program).unwrap().write_all(b"by root").unwrap();
        assert_eq!(mode(&program), 0o6777, "root changes a program as it is");
        chown(&program, Some(USERS[0]), None).unwrap();
        assert_eq!(mode(&program), 0o777, "but nobody hands it to somebody else");
        make(&program, 0o2767);
        chown(&program, Some(0), None).unwrap();
        assert_eq!(mode(&program), 0o2767, "without the right to run it as a group, the bit gives none");
        let below = dir.join("below");
        fs::create_dir(&below).unwrap();
        fs::set_permissions(&below, fs::Permissions::from_mode(0o6755)).unwrap();
        chown(&below, Some(USERS[0]), Some(USERS[0])).unwrap();
        assert_eq!(mode(&below), 0o6755, "a directory is no program");
    });
}

/// Last access, last change of contents, last change of anything: seconds and nanoseconds.
fn times(path: &Path) -> [(i64, i64); 3] {
    let seen = fs::symlink_metadata(path).unwrap();
    [(seen.atime(), seen.atime_nsec()), (seen.mtime(), seen.mtime_nsec()), (seen.ctime(), seen.ctime_nsec())]
}

fn set_times(path: &Path, accessed: Timespec, modified: Timespec) {
    let times = Timestamps { last_access: accessed, last_modification: modified };
    utimensat(CWD, path, &times, AtFlags::empty()).unwrap();
}

fn there_and_back(dir: &Path) {
    fs::rename(dir.join("f"), dir.join("g")).unwrap();
    fs::rename(dir.join("g"), dir.join("f")).unwrap();
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
const OMIT: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };

#[test]
fn times_change_with_what_they_are_of() {
    /// What is done in a directory with a file `f`, and which times of the two move then: `a`, `m`, `c`.
    type Step = (&'static str, fn(&Path), &'static str, &'static str);
    let steps: [Step; 14] = [
        ("write", |dir| fs::write(dir.join("f"), "x").unwrap(), "mc", ""),
        ("read", |dir| drop(fs::read(dir.join("f")).unwrap()), "a", ""),
        ("read again", |dir| drop(fs::read(dir.join("f")).unwrap()), "", ""),
        ("chmod", |dir| make(&dir.join("f"), 0o666), "c", ""),
        ("chown", |dir| chown(dir.join("f"), None, Some(7)).unwrap(), "c", ""),
        ("truncate", |dir| File::options().write(true).open(dir.join("f")).unwrap().set_len(9).unwrap(), "mc", ""),
        ("link", |dir| fs::hard_link(dir.join("f"), dir.join("g")).unwrap(), "c", "mc"),
        ("unlink", |dir| fs::remove_file(dir.join("g")).unwrap(), "c", "mc"),
        ("rename", there_and_back, "c", "mc"),
        ("utimensat, now and omit", |dir| set_times(&dir.join("f"), OMIT, NOW), "mc", ""),
        ("utimensat, omit both", |dir| set_times(&dir.join("f"), OMIT, OMIT), "", ""),
        ("mkdir", |dir| fs::create_dir(dir.join("d")).unwrap(), "", "mc"),
        ("list", |dir| fs::read_dir(dir).unwrap().for_each(drop), "", "a"),
        ("list again", |dir| fs::read_dir(dir).unwrap().for_each(drop), "", ""),
    ];
    on_both(|dir| {
        make(&dir.join("f"), 0o644);
        for (name, act, file_moves, dir_moves) in steps {
            let before = [dir.join("f"), dir.to_owned()].map(|place| (times(&place), place));
            sleep(TICK);
            act(dir);
            for ((before, place), expected) in before.into_iter().zip([file_moves, dir_moves]) {
                let after = times(&place);
                let moved = "amc".chars().enumerate().filter(|(at, _)| after[*at] != before[*at]);
                assert_eq!(moved.map(|(_, time)| time).collect::<String>(), expected, "{name}: {}", place.display());
            }
        }
    });
}

#[test]
fn times_are_set_to_the_nanosecond_by_whoever_may() {
    on_both(|dir| {
        let file = dir.join("f");
        make(&file, 0o666);
        let (early, late) = ((-2, 500_000_000), (1 << 33, 7));
        let spec = |(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec };
        set_times(&file, spec(early), spec(late));
        assert_eq!(times(&file)[..2], [early, late]);
        set_times(&file, spec(late), OMIT);
        assert_eq!(times(&file)[..2], [late, late]);
        assert!(!succeeds(USERS[0], dir, "touch -d 2000-01-01 f"), "who may write sets no times");
        assert!(!succeeds(USERS[0], dir, "touch -a f"), "not even one of them to now");
        assert!(succeeds(USERS[0], dir, "touch f"), "but both to now");
        make(&file, 0o644);
        assert!(!succeeds(USERS[0], dir, "touch f"));
    });
}
