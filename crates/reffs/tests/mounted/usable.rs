//! What programs rely on, one property a test.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    mem::MaybeUninit,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    thread,
};

use rustix::fs::{
    CWD, FallocateFlags, OFlags, RawDir, RenameFlags, SeekFrom, XattrFlags, fallocate, getxattr, renameat_with, seek,
    setxattr, statvfs,
};

use super::Served;

fn names(served: &Served) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(served.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn names_are_bytes_and_come_back_as_they_were() {
    let Some(served) = Served::start() else { return };
    let odd = OsStr::from_bytes(b"\xff not text \xc3");
    fs::write(served.dir.path().join(odd), "odd").unwrap();
    fs::write(served.path(&"n".repeat(255)), "long").unwrap();
    let too_long = fs::write(served.path(&"n".repeat(256)), "").unwrap_err();
    assert_eq!(too_long.kind(), ErrorKind::InvalidFilename);
    assert_eq!(names(&served), [OsStr::new(&"n".repeat(255)), odd]);
    assert_eq!(fs::read(served.dir.path().join(odd)).unwrap(), b"odd");
}

#[test]
fn renames_replace_refuse_and_exchange() {
    let Some(served) = Served::start() else { return };
    let (a, b) = (served.path("a"), served.path("b"));
    fs::write(&a, "a").unwrap();
    fs::create_dir(&b).unwrap();
    let refused = renameat_with(CWD, &a, CWD, &b, RenameFlags::NOREPLACE).unwrap_err();
    assert_eq!(refused, rustix::io::Errno::EXIST);
    renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
    assert!(a.is_dir());
    assert_eq!(fs::read(&b).unwrap(), b"a");
    fs::write(a.join("inside"), "").unwrap();
    assert_eq!(fs::rename(&b, &a).unwrap_err().kind(), ErrorKind::IsADirectory);
    fs::rename(&b, a.join("inside")).unwrap();
    assert_eq!(fs::read(a.join("inside")).unwrap(), b"a");
}

#[test]
fn a_directory_can_be_read_from_any_position_while_it_changes() {
    let Some(served) = Served::start() else { return };
    let all: Vec<String> = (0..1000).map(|number| format!("f{number:04}")).collect();
    all.iter().for_each(|name| fs::write(served.path(name), "").unwrap());
    let dir = File::open(served.dir.path()).unwrap();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut listed = |from: u64| {
        seek(&dir, SeekFrom::Start(from)).unwrap();
        let mut raw = RawDir::new(&dir, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = raw.next() {
            let entry = entry.unwrap();
            entries.push((entry.file_name().to_str().unwrap().to_owned(), entry.next_entry_cookie()));
        }
        entries
    };
    let first = listed(0);
    assert_eq!(first.len(), 1002, "with the dots");
    let (name, cookie) = &first[500];
    all[..100].iter().for_each(|name| fs::remove_file(served.path(name)).unwrap());
    let rest: Vec<String> = listed(*cookie).into_iter().map(|(name, _)| name).collect();
    assert_eq!(rest, first[501..].iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), "behind {name}");
    assert_eq!(listed(0).len(), 902, "from the start, it is as it is now");
}

#[test]
fn a_position_of_one_handle_is_good_for_another() {
    let Some(served) = Served::start() else { return };
    (0..20).for_each(|number| fs::write(served.path(&format!("f{number:02}")), "").unwrap());
    let listed = |from: u64| {
        let dir = File::open(served.dir.path()).unwrap();
        seek(&dir, SeekFrom::Start(from)).unwrap();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut raw = RawDir::new(&dir, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = raw.next() {
            let entry = entry.unwrap();
            entries.push((entry.file_name().to_owned(), entry.next_entry_cookie()));
        }
        entries
    };
    let all = listed(0);
    assert_eq!(all.len(), 22, "with the dots");
    for (index, (_, cookie)) in all.iter().enumerate() {
        assert_eq!(listed(*cookie), all[index + 1..]);
    }
}

#[test]
fn holes_take_no_room_and_can_be_found() {
    let Some(served) = Served::start() else { return };
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(served.path("f")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(b"data", 1 << 30).unwrap();
    assert_eq!(file.metadata().unwrap().blocks(), 8);
    assert_eq!(seek(&file, SeekFrom::Data(0)), Ok(1 << 30));
    assert_eq!(seek(&file, SeekFrom::Hole(1 << 30)), Ok((1 << 30) + 4096));
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 1 << 30, 4096).unwrap();
    assert_eq!(seek(&file, SeekFrom::Data(0)), Err(rustix::io::Errno::NXIO));
    assert_eq!(file.metadata().unwrap().blocks(), 0);
    fallocate(&file, FallocateFlags::empty(), 0, 8192).unwrap();
    assert_eq!(file.metadata().unwrap().blocks(), 16);
}

#[test]
fn a_full_file_system_says_so_and_recovers() {
    let Some(served) = Served::with(64 << 10, 4) else { return };
    let free = || statvfs(served.dir.path()).map(|stat| (stat.f_bfree * stat.f_frsize, stat.f_ffree)).unwrap();
    assert_eq!(free(), (64 << 10, 3), "the root is one");
    let mut file = File::create(served.path("f")).unwrap();
    file.write_all(&vec![1; 60 << 10]).unwrap();
    assert_eq!(file.write(&[2; 8 << 10]).unwrap(), 4 << 10, "what fits is written");
    assert_eq!(file.write(&[3]).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(free().0, 0);
    fs::write(served.path("g"), "").unwrap();
    fs::create_dir(served.path("d")).unwrap();
    assert_eq!(File::create(served.path("h")).unwrap_err().kind(), ErrorKind::StorageFull, "no inode is left");
    drop(file);
    fs::remove_file(served.path("f")).unwrap();
    super::wait_until("the kernel has let go of the file", || free() == (64 << 10, 1));
}

#[test]
fn a_file_without_a_name_lives_while_it_is_open() {
    let Some(served) = Served::start() else { return };
    let path = served.path("f");
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    file.write_all(b"still here").unwrap();
    assert_eq!((file.metadata().unwrap().nlink(), file.metadata().unwrap().len()), (0, 10));
    let mut bytes = [0; 10];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"still here");
    assert!(!path.exists());
}

#[test]
fn direct_io_and_cached_io_see_each_other() {
    let Some(served) = Served::start() else { return };
    let path = served.path("f");
    fs::write(&path, [1; 8192]).unwrap();
    let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap();
    let direct = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path).unwrap();
    // A page of a mapping is aligned as direct I/O wants it.
    let mut page = memmap2::MmapMut::map_anon(4096).unwrap();
    page.fill(2);
    direct.write_all_at(&page, 4096).unwrap();
    let mut cached = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut cached).unwrap();
    assert_eq!(cached, [[1; 4096], [2; 4096]].concat());
    direct.read_exact_at(&mut page, 0).unwrap();
    assert_eq!(page[..], [1; 4096]);
}

#[test]
fn extended_attributes_are_kept() {
    let Some(served) = Served::start() else { return };
    let path = served.path("f");
    fs::write(&path, "").unwrap();
    setxattr(&path, "user.a", b"value", XattrFlags::CREATE).unwrap();
    assert_eq!(setxattr(&path, "user.a", b"", XattrFlags::CREATE), Err(rustix::io::Errno::EXIST));
    let both = XattrFlags::CREATE | XattrFlags::REPLACE;
    assert_eq!(setxattr(&path, "user.a", b"", both), Err(rustix::io::Errno::EXIST));
    assert_eq!(setxattr(&path, "user.b", b"", both), Err(rustix::io::Errno::NODATA));
    assert_eq!(setxattr(&path, "nowhere.a", b"", XattrFlags::empty()), Err(rustix::io::Errno::OPNOTSUPP));
    let mut value = [0; 16];
    let len = getxattr(&path, "user.a", &mut value).unwrap();
    assert_eq!(&value[..len], b"value");
}

#[test]
fn many_threads_work_at_once() {
    let Some(served) = Served::start() else { return };
    thread::scope(|scope| {
        for thread in 0..8_u8 {
            let served = &served;
            scope.spawn(move || {
                for round in 0..100_u32 {
                    let (old, new) = (served.path(&format!("o{thread}")), served.path(&format!("n{thread}-{round}")));
                    fs::write(&old, [thread; 5000]).unwrap();
                    fs::rename(&old, &new).unwrap();
                    assert_eq!(fs::read(&new).unwrap(), [thread; 5000]);
                    if !round.is_multiple_of(10) {
                        fs::remove_file(&new).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(names(&served).len(), 80);
}
