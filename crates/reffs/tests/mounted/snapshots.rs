//! Saving and restoring, as another program sees it.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use memmap2::MmapMut;
use reffs::Client;
use rustix::{
    fs::{FileType, Mode},
    io::Errno,
};
use tempfile::TempDir;

use super::Served;

pub fn start() -> Option<(Served, Client)> {
    let served = Served::start()?;
    let client = Client::open(served.dir.path()).unwrap();
    Some((served, client))
}

#[expect(unsafe_code, reason = "a mapping is what the test is about")]
pub fn map(file: &File) -> MmapMut {
    // SAFETY: the file changes under the mapping, which is what is looked at; nothing relies on its bytes.
    unsafe { MmapMut::map_mut(file) }.unwrap()
}

fn errno(error: &std::io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}

#[test]
fn everything_is_as_it_was() {
    let Some((served, client)) = start() else { return };
    let path = |name: &str| served.path(name);
    fs::create_dir(path("d")).unwrap();
    for name in ["d/kept", "d/removed", "d/renamed", "d/changed"] {
        fs::write(path(name), name).unwrap();
    }
    let times = fs::metadata(path("d/kept")).unwrap();
    client.save(7).unwrap();

    fs::remove_file(path("d/removed")).unwrap();
    fs::rename(path("d/renamed"), path("elsewhere")).unwrap();
    fs::write(path("d/changed"), "other contents, and longer").unwrap();
    fs::set_permissions(path("d/kept"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(path("d/new")).unwrap();
    assert!(!path("d/removed").exists(), "the kernel remembers that it is gone");

    client.restore(7).unwrap();
    let mut names: Vec<_> = fs::read_dir(path("d")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["changed", "kept", "removed", "renamed"]);
    assert!(!path("elsewhere").exists());
    for name in ["d/kept", "d/removed", "d/renamed", "d/changed"] {
        assert_eq!(fs::read_to_string(path(name)).unwrap(), name);
    }
    let restored = fs::metadata(path("d/kept")).unwrap();
    assert_eq!((restored.mode(), restored.ctime_nsec()), (times.mode(), times.ctime_nsec()));
}

#[test]
fn files_that_are_open_or_mapped_show_the_restored_contents() {
    let Some((served, client)) = start() else { return };
    fs::write(served.path("f"), [1; 10_000]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(served.path("f")).unwrap();
    let mut mapped = map(&file);
    client.save(1).unwrap();
    file.write_all_at(&[2; 100], 0).unwrap();
    mapped[5000] = 3;
    assert_eq!((mapped[0], mapped[5000]), (2, 3));
    client.restore(1).unwrap();
    assert_eq!((mapped[0], mapped[5000]), (1, 1), "stored before the restore, it does not come back after it");
    mapped.flush().unwrap();
    assert_eq!(fs::read(served.path("f")).unwrap(), [1; 10_000]);
    let gone = File::create(served.path("g")).unwrap();
    client.restore(1).unwrap();
    let stale = gone.write_all_at(b"x", 0).unwrap_err();
    assert_eq!(errno(&stale), Some(Errno::STALE));
}

#[test]
fn a_file_that_was_open_without_a_name_is_there_again_for_whoever_has_it_open() {
    let Some((served, client)) = start() else { return };
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(served.path("f")).unwrap();
    file.write_all_at(b"before", 0).unwrap();
    fs::remove_file(served.path("f")).unwrap();
    client.save(1).unwrap();
    file.write_all_at(b"after!", 0).unwrap();
    client.restore(1).unwrap();
    let mut bytes = [0; 6];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"before");
}

#[test]
fn keys_are_kept_replaced_and_discarded() {
    let Some((served, client)) = start() else { return };
    assert_eq!(client.restore(1).unwrap_err().kind(), ErrorKind::NotFound);
    client.save(1).unwrap();
    fs::write(served.path("f"), "").unwrap();
    client.save(2).unwrap();
    client.restore(1).unwrap();
    assert!(!served.path("f").exists());
    client.restore(2).unwrap();
    assert!(served.path("f").exists());
    client.save(1).unwrap();
    client.restore(1).unwrap();
    assert!(served.path("f").exists(), "replaced");
    client.discard(1).unwrap();
    assert_eq!(client.discard(1).unwrap_err().kind(), ErrorKind::NotFound);
    let elsewhere = TempDir::new().unwrap();
    let refused = Client::open(elsewhere.path()).unwrap().save(1).unwrap_err();
    assert_eq!(errno(&refused), Some(Errno::NOTTY));
}

#[test]
fn a_state_can_be_carried_to_another_mount() {
    let (Some((served, client)), Some((other, other_client))) = (start(), start()) else { return };
    fs::create_dir(served.path("d")).unwrap();
    fs::write(served.path("d/f"), [9; 9000]).unwrap();
    let kept = TempDir::new().unwrap();
    let file = kept.path().join("state");
    client.save(3).unwrap();
    client.pickle(3, &file).unwrap();
    assert_eq!(client.pickle(4, &file).unwrap_err().kind(), ErrorKind::NotFound);
    fs::write(other.path("lost"), "").unwrap();
    other_client.load(&file).unwrap();
    assert_eq!(fs::read(other.path("d/f")).unwrap(), [9; 9000]);
    assert!(!other.path("lost").exists());
    fs::write(&file, "no state").unwrap();
    assert_eq!(errno(&other_client.load(&file).unwrap_err()), Some(Errno::BADMSG));
    assert_eq!(errno(&other_client.load("relative").unwrap_err()), Some(Errno::INVAL));
    assert_eq!(fs::read(other.path("d/f")).unwrap(), [9; 9000], "what failed changed nothing");
}

#[test]
fn what_is_no_file_is_neither_loaded_nor_replaced() {
    let Some((served, client)) = start() else { return };
    fs::write(served.path("f"), "here").unwrap();
    client.save(1).unwrap();
    let kept = TempDir::new().unwrap();
    let pipe = kept.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for path in [&*pipe, kept.path(), "/dev/zero".as_ref(), "/dev/tty".as_ref()] {
        let loaded = errno(&client.load(path).unwrap_err());
        assert!([Some(Errno::INVAL), Some(Errno::NXIO)].contains(&loaded), "{}: {loaded:?}", path.display());
        assert_eq!(errno(&client.pickle(1, path).unwrap_err()), Some(Errno::INVAL), "{}", path.display());
    }
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(fs::read(served.path("f")).unwrap(), b"here");
}

#[test]
fn a_file_that_is_damaged_is_not_loaded_however_large_it_is() {
    let Some((served, client)) = start() else { return };
    fs::write(served.path("f"), [1; 9000]).unwrap();
    let kept = TempDir::new().unwrap();
    let file = kept.path().join("state");
    client.save(1).unwrap();
    client.pickle(1, &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut unknown = bytes.clone();
    unknown[0] ^= 1;
    let mut many = bytes.clone();
    many[16..20].fill(0xff);
    for (what, damaged) in [
        ("empty", &[][..]),
        ("cut off", &bytes[..bytes.len() - 100]),
        ("of another kind", &unknown),
        ("too many nodes", &many),
    ] {
        for len in [damaged.len() as u64, 1 << 40] {
            fs::write(&file, damaged).unwrap();
            // With nothing but a hole behind it: what is read of that is read before it is known to be wrong.
            OpenOptions::new().write(true).open(&file).unwrap().set_len(len).unwrap();
            assert_eq!(errno(&client.load(&file).unwrap_err()), Some(Errno::BADMSG), "{what}, {len} bytes");
        }
    }
    fs::write(&file, bytes).unwrap();
    client.load(&file).unwrap();
}

#[test]
fn restoring_while_others_work_stops_nobody() {
    let Some((served, client)) = start() else { return };
    fs::write(served.path("shared"), [0; 8192]).unwrap();
    client.save(1).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (served, is_over) = (&served, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    // Whatever is open or named may be gone the next moment: only a hang would be wrong.
                    let _ = fs::write(served.path(&format!("f{thread}")), [thread; 5000]);
                    let _ = fs::read(served.path("shared"));
                    if let Ok(file) = OpenOptions::new().read(true).write(true).open(served.path("shared")) {
                        let mut mapped = map(&file);
                        mapped[usize::from(thread)] = thread;
                    }
                    let _ = fs::rename(served.path(&format!("f{thread}")), served.path("target"));
                    let _ = fs::read_dir(served.dir.path()).map(Iterator::count);
                }
            });
        }
        for _ in 0..200 {
            client.restore(1).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    client.restore(1).unwrap();
    assert_eq!(fs::read(served.path("shared")).unwrap(), [0; 8192]);
    assert_eq!(fs::read_dir(served.dir.path()).unwrap().count(), 1);
}
