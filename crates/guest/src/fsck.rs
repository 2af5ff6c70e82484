//! Images as files, for the programs of the host that make and check them.
//!
//! The files lie in memory and nowhere else, so that nothing of them can stay behind; programs find them among our open
//! files.

use std::{
    fs::File,
    io::{self, Write as _},
    os::{fd::AsRawFd as _, unix::fs::FileExt as _},
    path::{Path, PathBuf},
    process::Output,
};

use disk::{Block, Disk, Geometry, Image};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{FileSystem, storage::SECTOR};

/// A freshly made file system.
///
/// # Errors
/// Its program cannot be started, or fails.
pub fn make(file_system: &FileSystem) -> io::Result<Image> {
    make_by(file_system.kib, |file| file_system.kind.mkfs(file))
}

/// What a program makes of a file of so many KiB.
///
/// # Errors
/// It cannot be started, or fails.
pub fn make_by(kib: u32, mkfs: impl FnOnce(&Path) -> io::Result<Output>) -> io::Result<Image> {
    let geometry = geometry(kib);
    let file = ImageFile::new()?;
    file.file.set_len(geometry.bytes() as u64)?;
    let output = mkfs(&file.path())?;
    if !output.status.success() {
        return Err(io::Error::other(file.said(&output)));
    }
    let mut image = Image::zeroed(geometry);
    image.write(Block(0), &file.bytes(geometry.bytes())?).map_err(io::Error::other)?;
    Ok(image)
}

/// The disk of a file system.
fn geometry(kib: u32) -> Geometry {
    let sectors_of_a_kib = 1024 / u32::from(SECTOR);
    Geometry { block_size: SECTOR, blocks: kib.saturating_mul(sectors_of_a_kib) }
}

/// What fsck did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its exit status: 0 for nothing wrong, 1 for all repaired, more for worse.
    pub status: i32,
    /// What it said.
    pub said: String,
}

/// Lets fsck repair a disk. What it reads cannot be seen, so it counts as having read everything.
///
/// # Errors
/// Its program cannot be started, or the disk does not take what it wrote.
pub fn repair(file_system: &FileSystem, disk: &mut Disk) -> io::Result<Checked> {
    repair_by(disk, |file| file_system.kind.fsck(file, true))
}

/// Lets a program repair a disk.
///
/// # Errors
/// It cannot be started, or the disk does not take what it wrote.
pub fn repair_by(disk: &mut Disk, fsck: impl FnOnce(&Path) -> io::Result<Output>) -> io::Result<Checked> {
    let file = ImageFile::of(disk)?;
    let output = fsck(&file.path())?;
    let repaired = file.bytes(disk.geometry().bytes())?;
    let blocks = (0..).map(Block).zip(repaired.chunks_exact(SECTOR.bytes()));
    let mut is_changed = false;
    for (block, content) in blocks {
        if disk.image().block(block) != content {
            disk.write(block, content).map_err(io::Error::other)?;
            is_changed = true;
        }
    }
    if is_changed {
        disk.flush().map_err(io::Error::other)?;
    }
    Ok(file.checked(&output))
}

/// Lets fsck look at a disk.
///
/// # Errors
/// Its program cannot be started.
pub fn check(file_system: &FileSystem, disk: &Disk) -> io::Result<Checked> {
    check_by(disk, |file| file_system.kind.fsck(file, false))
}

/// Lets a program look at a disk.
///
/// # Errors
/// It cannot be started.
pub fn check_by(disk: &Disk, fsck: impl FnOnce(&Path) -> io::Result<Output>) -> io::Result<Checked> {
    let file = ImageFile::of(disk)?;
    let output = fsck(&file.path())?;
    Ok(file.checked(&output))
}

struct ImageFile {
    file: File,
}

impl ImageFile {
    fn new() -> io::Result<Self> {
        Ok(Self { file: memfd_create("image", MemfdFlags::CLOEXEC)?.into() })
    }

    fn of(disk: &Disk) -> io::Result<Self> {
        let mut file = Self::new()?;
        let mut bytes = Vec::with_capacity(disk.geometry().bytes());
        (0..disk.geometry().blocks).for_each(|block| bytes.extend_from_slice(disk.block(Block(block))));
        file.file.write_all(&bytes)?;
        Ok(file)
    }

    /// Where other programs find it, as long as this process lives.
    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    fn bytes(&self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn checked(&self, output: &Output) -> Checked {
        Checked { status: output.status.code().unwrap_or(i32::MAX), said: self.said(output) }
    }

    /// The output in one line, without a name that means nothing to anybody.
    fn said(&self, output: &Output) -> String {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text).replace(&*self.path().to_string_lossy(), "the disk");
        let of_interest = |line: &&str| !line.is_empty() && !line.starts_with("e2fsck ") && !line.starts_with("Pass ");
        text.lines().map(str::trim).filter(of_interest).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileSystemKind, file_system::find};

    #[test]
    fn a_file_system_is_made_the_same_twice_checked_and_repaired() {
        let kind = FileSystemKind::Ext2;
        if kind.programs().into_iter().any(|program| find(program).is_none()) {
            eprintln!("skipped: e2fsprogs is not installed");
            return;
        }
        let ext2 =
            FileSystem { kind, options: String::new(), kib: kind.kib_min(), flushes_are_lies: false, fsck: false };
        let image = make(&ext2).unwrap();
        assert!(image == make(&ext2).unwrap(), "mkfs depends on the clock or on chance");
        let mut disk = Disk::new(image.clone());
        assert_eq!(check(&ext2, &disk).unwrap().status, 0);
        // The bitmaps of a volume of this size: blocks 3 and 4 of 1024 bytes.
        disk.write(Block(6), &[0; 1024]).unwrap();
        let wrong = check(&ext2, &disk).unwrap();
        assert!(wrong.status > 1 && wrong.said.contains("Block bitmap differences"), "{}", wrong.said);
        assert!(wrong.said.contains("the disk:") && !wrong.said.contains("/proc/"), "{}", wrong.said);
        assert_eq!(repair(&ext2, &mut disk).unwrap().status, 1);
        assert_eq!(check(&ext2, &disk).unwrap().status, 0);
        assert!(disk.log().entries().count() > 1, "repairs go through the disk");
    }
}
