//! Images in files, for the programs of the host that make and check them.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    process::Output,
};

use disk::{Block, Disk, Geometry, Image};
use tempfile::NamedTempFile;

use crate::{FileSystem, storage::SECTOR};

/// A freshly made file system.
pub(crate) fn make(file_system: &FileSystem) -> io::Result<Image> {
    let geometry = geometry(file_system);
    let mut file = NamedTempFile::new()?;
    file.as_file().set_len(geometry.bytes() as u64)?;
    let output = file_system.kind.mkfs(file.path())?;
    if !output.status.success() {
        return Err(io::Error::other(said(&output, &file)));
    }
    let mut image = Image::zeroed(geometry);
    read_into(file.as_file_mut(), |block, content| image.write(block, content).map_err(io::Error::other))?;
    Ok(image)
}

/// The disk of a file system.
pub(crate) fn geometry(file_system: &FileSystem) -> Geometry {
    let sectors_of_a_kib = 1024 / u32::from(SECTOR);
    Geometry { block_size: SECTOR, blocks: file_system.kib.saturating_mul(sectors_of_a_kib) }
}

/// What fsck did.
pub(crate) struct Checked {
    /// Its exit status: 0 for nothing wrong, 1 for all repaired, more for worse.
    pub status: i32,
    /// What it said.
    pub said: String,
}

/// Lets fsck repair a disk. What it reads cannot be seen, so it counts as having read everything.
pub(crate) fn repair(file_system: &FileSystem, disk: &mut Disk) -> io::Result<Checked> {
    let mut file = write_out(disk)?;
    let output = file_system.kind.fsck(file.path(), true)?;
    let mut changed = Vec::new();
    read_into(file.as_file_mut(), |block, content| {
        if disk.image().block(block) != content {
            changed.push((block, content.to_vec()));
        }
        Ok(())
    })?;
    for (block, content) in &changed {
        disk.write(*block, content).map_err(io::Error::other)?;
    }
    if !changed.is_empty() {
        disk.flush().map_err(io::Error::other)?;
    }
    Ok(Checked { status: output.status.code().unwrap_or(i32::MAX), said: said(&output, &file) })
}

/// Lets fsck look at a disk.
pub(crate) fn check(file_system: &FileSystem, disk: &Disk) -> io::Result<Checked> {
    let file = write_out(disk)?;
    let output = file_system.kind.fsck(file.path(), false)?;
    Ok(Checked { status: output.status.code().unwrap_or(i32::MAX), said: said(&output, &file) })
}

fn write_out(disk: &Disk) -> io::Result<NamedTempFile> {
    let mut bytes = Vec::with_capacity(disk.geometry().bytes());
    (0..disk.geometry().blocks).for_each(|block| bytes.extend_from_slice(disk.block(Block(block))));
    let mut file = NamedTempFile::new()?;
    file.write_all(&bytes)?;
    Ok(file)
}

fn read_into(file: &mut File, mut each: impl FnMut(Block, &[u8]) -> io::Result<()>) -> io::Result<()> {
    io::Seek::rewind(file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    (0..).map(Block).zip(bytes.chunks(SECTOR.bytes())).try_for_each(|(block, content)| each(block, content))
}

/// The output in one line, without the name of a file that is no more.
fn said(output: &Output, file: &NamedTempFile) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).replace(&*file.path().to_string_lossy(), "the disk");
    let of_interest = |line: &&str| !line.is_empty() && !line.starts_with("e2fsck ") && !line.starts_with("Pass ");
    text.lines().map(str::trim).filter(of_interest).collect::<Vec<_>>().join("; ")
}
