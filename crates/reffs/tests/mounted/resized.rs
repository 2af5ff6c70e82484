//! Files that stay open while a restore gives them another size: the kernel goes by the restored one at once.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::FileExt as _,
    thread,
};

use memmap2::Mmap;
use rustix::{
    fs::{copy_file_range, sendfile},
    pipe::pipe,
};

use super::{Served, snapshots::start};

const SAVED: [u8; 8192] = [b's'; 8192];

/// A file that is open for appending and has other contents than when it was saved under key 1.
fn appended(served: &Served, client: &reffs::Client, saved: &[u8], change: impl Fn(&mut File)) -> File {
    let mut file = OpenOptions::new().read(true).append(true).create_new(true).open(served.path("f")).unwrap();
    file.write_all(saved).unwrap();
    client.save(1).unwrap();
    change(&mut file);
    file
}

fn lengthen(file: &mut File) {
    file.write_all(&[b'n'; 100]).unwrap();
}

fn empty(file: &mut File) {
    file.set_len(0).unwrap();
}

#[test]
fn an_append_goes_to_the_restored_end() {
    for (change, saved) in [(lengthen as fn(&mut File), &SAVED[..4]), (empty, &SAVED[..50]), (empty, &SAVED)] {
        let Some((served, client)) = start() else { return };
        let mut file = appended(&served, &client, saved, change);
        for round in 0..3 {
            client.restore(1).unwrap();
            file.write_all(b"Z").unwrap();
            assert_eq!(fs::read(served.path("f")).unwrap(), [saved, b"Z"].concat(), "round {round}");
            change(&mut file);
        }
    }
}

#[test]
fn a_file_without_a_name_is_appended_to_at_the_restored_end() {
    let Some((served, client)) = start() else { return };
    let mut file = appended(&served, &client, b"", |_| fs::remove_file(served.path("f")).unwrap());
    client.save(1).unwrap();
    lengthen(&mut file);
    client.restore(1).unwrap();
    file.write_all(b"Z").unwrap();
    let mut bytes = [0; 2];
    assert_eq!((file.read_at(&mut bytes, 0).unwrap(), bytes[0]), (1, b'Z'));
}

#[test]
fn a_mapping_reaches_to_the_restored_end() {
    let Some((served, client)) = start() else { return };
    let file = appended(&served, &client, &SAVED, |_| ());
    #[expect(unsafe_code, reason = "a mapping is what the test is about")]
    // SAFETY: the file changes under the mapping, which is what is looked at; nothing relies on its bytes.
    let mapped = unsafe { Mmap::map(&file) }.unwrap();
    file.set_len(0).unwrap();
    client.restore(1).unwrap();
    assert_eq!(mapped[..], SAVED);
}

#[test]
fn what_the_kernel_copies_reaches_to_the_restored_end() {
    let Some((served, client)) = start() else { return };
    let to = File::create(served.path("to")).unwrap();
    let file = appended(&served, &client, &SAVED, empty);
    let (_reader, writer) = pipe().unwrap();
    client.restore(1).unwrap();
    assert_eq!(sendfile(&writer, &file, Some(&mut 0), SAVED.len()), Ok(SAVED.len()));
    file.set_len(0).unwrap();
    client.restore(1).unwrap();
    assert_eq!(copy_file_range(&file, Some(&mut 0), &to, Some(&mut 0), SAVED.len()), Ok(SAVED.len()));
}

#[test]
fn an_append_that_is_under_way_goes_to_the_end_before_or_after_a_restore() {
    let Some((served, client)) = start() else { return };
    let mut file = appended(&served, &client, b"n", lengthen);
    thread::scope(|scope| {
        let appending = scope.spawn(|| (0..5000).for_each(|_| file.write_all(b"n").unwrap()));
        while !appending.is_finished() {
            client.restore(1).unwrap();
            let bytes = fs::read(served.path("f")).unwrap();
            assert!(bytes.iter().all(|byte| *byte == b'n'), "a hole in {} bytes", bytes.len());
        }
    });
}
