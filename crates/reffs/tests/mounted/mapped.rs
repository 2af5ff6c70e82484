//! What was stored through a mapping and not written back, which only the kernel has: it belongs to the state that was
//! live when it was stored.

use std::{
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
};

use memmap2::MmapMut;
use rustix::fs::OFlags;

use super::{
    Served,
    snapshots::{map, start},
};

/// A file of two pages, and a mapping of it through which nothing was stored yet.
fn mapped(path: &std::path::Path) -> (File, MmapMut) {
    fs::write(path, [b'-'; 8192]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mapped = map(&file);
    (file, mapped)
}

fn first_byte(file: &File) -> u8 {
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).unwrap();
    byte[0]
}

/// As it is in the server: the kernel's pages are not asked.
fn stored_byte(path: &std::path::Path) -> u8 {
    let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path).unwrap();
    first_byte(&direct)
}

#[test]
fn a_restore_takes_back_what_only_the_kernel_has() {
    let Some((served, client)) = start() else { return };
    let path = served.path("f");
    let (file, mut mapped) = mapped(&path);
    client.save(1).unwrap();
    for round in 0..3 {
        mapped[0] = b'J';
        client.restore(1).unwrap();
        assert_eq!([mapped[0], first_byte(&file), stored_byte(&path)], *b"---", "round {round}");
        mapped.flush().unwrap();
        assert_eq!(stored_byte(&path), b'-', "nothing comes in later, round {round}");
    }
}

#[test]
fn a_snapshot_has_what_only_the_kernel_has() {
    let Some((served, client)) = start() else { return };
    let path = served.path("f");
    let (file, mut mapped) = mapped(&path);
    for key in 0..3 {
        mapped[0] = b'a' + u8::try_from(key).unwrap();
        client.save(key).unwrap();
    }
    mapped[0] = b'x';
    for (key, expected) in [(1, b'b'), (0, b'a'), (2, b'c'), (0, b'a')] {
        client.restore(key).unwrap();
        assert_eq!([mapped[0], first_byte(&file), stored_byte(&path)], [expected; 3], "key {key}");
    }
}

/// The page is in the cache since it was written; nobody has to read it, and the server does not hear of the mapping.
#[test]
fn a_mapping_of_what_was_just_written_is_noticed() {
    let Some((served, client)) = start() else { return };
    let path = served.path("f");
    let (_file, mut mapped) = mapped(&path);
    mapped[1] = b'1';
    client.save(1).unwrap();
    fs::write(served.path("other"), "other").unwrap();
    mapped[4096] = b'2';
    client.restore(1).unwrap();
    drop(mapped);
    let bytes = fs::read(&path).unwrap();
    assert_eq!((bytes[1], bytes[4096]), (b'1', b'-'));
    assert!(!served.path("other").exists());
}

#[test]
fn what_was_stored_and_has_no_room_is_not_called_written() {
    let Some(served) = Served::with(64 << 10, 4) else { return };
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(served.path("f")).unwrap();
    file.set_len(1 << 20).unwrap();
    let mut mapped = map(&file);
    let mut store = |pages: usize| {
        mapped.chunks_mut(4096).take(pages).for_each(|page| page[0] = b'x');
        mapped.flush().map_err(|error| error.kind())
    };
    assert_eq!(store(8), Ok(()));
    assert_eq!(store(256), Err(ErrorKind::StorageFull));
}
