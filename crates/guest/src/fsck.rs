//! Images as files, for the programs of the host that make and check them.
//!
//! The files lie in memory and nowhere else, so that nothing of them can stay behind. Most of an image is zeros, and
//! most of a file is holes: only what is neither is written, and read back.

use std::{
    fs::File,
    io,
    os::unix::{fs::FileExt as _, process::ExitStatusExt as _},
    process::Output,
};

use disk::{Block, Disk, Geometry, Image};
use rustix::{
    fs::{MemfdFlags, memfd_create, seek},
    io::Errno,
};

use crate::{
    Described, FileSystem,
    kinds::{Checking, INODES, Kind, Making, usual_verdict},
    program::{self, IMAGE},
    storage::SECTOR,
};

pub use crate::kinds::Verdict;

/// A freshly made file system; where the kernel makes it, what the kernel makes it of.
///
/// # Errors
/// Its program cannot be started, or fails.
pub fn make(file_system: &FileSystem) -> io::Result<Image> {
    let kib = file_system.kib;
    let making = match file_system.facts() {
        Ok(kind) => &kind.making,
        Err(Described { mkfs: None, .. }) => return filled(kib, |_| Ok(())),
        Err(Described { mkfs: Some(command), .. }) => {
            return filled(kib, |file| succeeded(&program::shell(command, &file.0)?));
        }
    };
    match making {
        Making::Ours(make) => filled(kib, |file| make(&file.0, u64::from(kib) << 10)),
        Making::FirstMount(_) => filled(kib, |file| file.0.write_all_at(&vec![ERASED; (kib << 10) as usize], 0)),
        Making::Program { program, arguments, finish } => filled(kib, |file| {
            let inodes = inodes_of(kib).to_string();
            let arguments: Vec<&str> =
                arguments.iter().map(|word| if *word == INODES { &inodes } else { *word }).collect();
            succeeded(&program.run(&arguments, &file.0)?)?;
            finish.map_or(Ok(()), |finish| finish(&file.0))
        }),
    }
}

/// As many as keep the smallest disks small, and more on larger ones, where there is room for more files.
fn inodes_of(kib: u32) -> u32 {
    (kib / 64).max(32)
}

/// What flash memory is full of when it was erased.
const ERASED: u8 = 0xff;

fn filled(kib: u32, make: impl FnOnce(&ImageFile) -> io::Result<()>) -> io::Result<Image> {
    let sectors_of_a_kib = 1024 / u32::from(SECTOR);
    let geometry = Geometry { block_size: SECTOR, blocks: kib.saturating_mul(sectors_of_a_kib) };
    let file = ImageFile::new(geometry)?;
    make(&file)?;
    let mut image = Image::zeroed(geometry);
    for (block, content) in file.changes(&image)? {
        image.write(block, &content).map_err(io::Error::other)?;
    }
    Ok(image)
}

fn succeeded(output: &Output) -> io::Result<()> {
    let said = || [output.status.to_string(), said(output, &[])].join("; ");
    if output.status.success() { Ok(()) } else { Err(io::Error::other(said().trim_end_matches("; ").to_owned())) }
}

/// What fsck did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What it says of the file system.
    pub verdict: Verdict,
    /// What it said, in one line.
    pub said: String,
}

/// Lets the program that is there for it repair a disk, if there is one.
///
/// # Errors
/// It cannot be started, or the disk does not take what it wrote.
pub fn repair(file_system: &FileSystem, disk: &mut Disk) -> io::Result<Checked> {
    let file = ImageFile::of(disk)?;
    let checked = match file_system.facts() {
        Ok(Kind { checking: Some(checking @ Checking { program, repair: Some(arguments), .. }), .. }) => {
            checked(checking, &program.run(arguments, &file.0)?)
        }
        Err(Described { repair: Some(command), .. }) => checked_by_status(&program::shell(command, &file.0)?),
        _ => return Ok(NOTHING_SAID),
    };
    let changes = file.changes(disk.image())?;
    for (block, content) in &changes {
        disk.write(*block, content).map_err(io::Error::other)?;
    }
    if !changes.is_empty() {
        disk.flush().map_err(io::Error::other)?;
    }
    Ok(checked)
}

/// Lets the program that is there for it look at a disk, if there is one.
///
/// # Errors
/// It cannot be started.
pub fn check(file_system: &FileSystem, disk: &Disk) -> io::Result<Checked> {
    let file = ImageFile::of(disk)?;
    Ok(match file_system.facts() {
        Ok(Kind { checking: Some(checking), .. }) => checked(checking, &checking.program.run(checking.look, &file.0)?),
        Err(Described { fsck: Some(command), .. }) => checked_by_status(&program::shell(command, &file.0)?),
        _ => NOTHING_SAID,
    })
}

/// Where there is no program to ask.
const NOTHING_SAID: Checked = Checked { verdict: Verdict::Clean, said: String::new() };

fn checked(checking: &Checking, output: &Output) -> Checked {
    let said = said(output, checking.chatter);
    Checked { verdict: (checking.verdict)(status(output), &said), said }
}

fn checked_by_status(output: &Output) -> Checked {
    let said = said(output, &[]);
    Checked { verdict: usual_verdict(status(output), &said), said }
}

/// A program that crashed has not said that all is well.
fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(i32::MAX)
}

/// The output in one line, without chatter and without a name that means nothing to anybody.
fn said(output: &Output, chatter: &[&str]) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).replace(IMAGE, "the disk");
    let of_interest =
        |line: &&str| !line.trim().is_empty() && !chatter.iter().any(|beginning| line.starts_with(beginning));
    let crashed = output.status.signal().map(|signal| format!("it crashed with signal {signal}"));
    text.lines().filter(of_interest).map(str::trim).chain(crashed.as_deref()).collect::<Vec<_>>().join("; ")
}

/// A file with the content of a disk.
struct ImageFile(File);

impl ImageFile {
    fn new(geometry: Geometry) -> io::Result<Self> {
        let file = File::from(memfd_create("image", MemfdFlags::CLOEXEC)?);
        file.set_len(geometry.bytes() as u64)?;
        Ok(Self(file))
    }

    /// What a program reads cannot be seen, so it counts as having read everything.
    fn of(disk: &Disk) -> io::Result<Self> {
        let file = Self::new(disk.geometry())?;
        let mut run = Vec::new();
        let mut start = 0;
        for (at, bytes) in disk.everything().present() {
            if at != start + run.len() as u64 {
                file.0.write_all_at(&run, start)?;
                run.clear();
                start = at;
            }
            run.extend_from_slice(bytes);
        }
        file.0.write_all_at(&run, start)?;
        Ok(file)
    }

    /// The blocks in which it is not what an image is.
    fn changes(&self, image: &Image) -> io::Result<Vec<(Block, Vec<u8>)>> {
        let size = SECTOR.bytes();
        let number = |at: u64| Block(u32::try_from(at / size as u64).unwrap_or(u32::MAX));
        let mut changes = Vec::new();
        let ranges = self.ranges(image.geometry().bytes() as u64)?;
        for (start, end) in &ranges {
            let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
            self.0.read_exact_at(&mut bytes, *start)?;
            for (at, content) in (*start..).step_by(size).zip(bytes.chunks_exact(size)) {
                if image.block(number(at)) != content {
                    changes.push((number(at), content.to_vec()));
                }
            }
        }
        let is_hole = |at: u64| !ranges.iter().any(|(start, end)| (*start..*end).contains(&at));
        for (at, bytes) in image.present().into_iter().filter(|(at, _)| is_hole(*at)) {
            for (at, content) in (at..).step_by(size).zip(bytes.chunks_exact(size)) {
                if content.iter().any(|byte| *byte != 0) {
                    changes.push((number(at), vec![0; size]));
                }
            }
        }
        changes.sort_unstable_by_key(|(block, _)| block.0);
        Ok(changes)
    }

    /// Where the file is no hole, from where to where.
    fn ranges(&self, len: u64) -> io::Result<Vec<(u64, u64)>> {
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < len {
            let start = match seek(&self.0, rustix::fs::SeekFrom::Data(at)) {
                Err(Errno::NXIO) => break,
                found => found?,
            };
            let end = seek(&self.0, rustix::fs::SeekFrom::Hole(start))?.min(len);
            if start >= end {
                break;
            }
            ranges.push((start, end));
            at = end;
        }
        Ok(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileSystemKind;

    /// Whether its programs are here; where they are not, a word about it.
    fn is_here(kind: FileSystemKind) -> bool {
        let missing = kind.programs().find(|program| program.find().is_none());
        if let Some(program) = missing {
            assert!(std::env::var_os("CI").is_none(), "{} is missing", program.name);
            eprintln!("skipped: {} is missing, which comes with {}", program.name, program.package);
        }
        missing.is_none()
    }

    #[test]
    fn every_file_system_is_made_the_same_twice_and_is_clean() {
        for kind in FileSystemKind::ALL.into_iter().filter(|kind| is_here(*kind)) {
            let file_system = kind.usual();
            let image = make(&file_system).unwrap_or_else(|error| panic!("{}: {error}", kind.name()));
            assert!(image == make(&file_system).unwrap(), "mkfs of {} depends on the clock or on chance", kind.name());
            let Ok(Kind { checking: Some(checking), .. }) = file_system.facts() else { continue };
            let checked = check(&file_system, &Disk::new(image.clone())).unwrap();
            assert_eq!(checked.verdict, Verdict::Clean, "{}: {}", kind.name(), checked.said);
            if checking.repair.is_some() {
                let mut disk = Disk::new(image);
                let checked = repair(&file_system, &mut disk).unwrap();
                assert_eq!(checked.verdict, Verdict::Clean, "{}: {}", kind.name(), checked.said);
            }
        }
    }

    #[test]
    fn damage_is_told_and_repaired() {
        let kind = FileSystemKind::Ext2;
        if !is_here(kind) {
            return;
        }
        let ext2 = kind.usual();
        let mut disk = Disk::new(make(&ext2).unwrap());
        // The bitmaps of a volume of this size: blocks 3 and 4 of 1024 bytes.
        disk.write(Block(6), &[0; 1024]).unwrap();
        // When the superblock was written, as a guest has it after a few ops.
        let mut superblock = disk.image().block(Block(2)).to_vec();
        superblock[48..52].copy_from_slice(&1_000_000_009_u32.to_le_bytes());
        disk.write(Block(2), &superblock).unwrap();
        let wrong = check(&ext2, &disk).unwrap();
        assert_eq!(wrong.verdict, Verdict::Wrong);
        assert!(wrong.said.contains("Block bitmap differences"), "{}", wrong.said);
        assert!(!wrong.said.contains("in the future"), "{}", wrong.said);
        assert!(wrong.said.contains("the disk:") && !wrong.said.contains("/proc/"), "{}", wrong.said);
        assert_eq!(repair(&ext2, &mut disk).unwrap().verdict, Verdict::Repaired);
        assert_eq!(check(&ext2, &disk).unwrap().verdict, Verdict::Clean);
    }

    /// The log of `jfs_fsck` is full of frames of its stack that it never filled, with what guards them.
    #[test]
    fn what_is_repaired_again_is_repaired_in_the_same_way() {
        let kind = FileSystemKind::Jfs;
        if !is_here(kind) {
            return;
        }
        let jfs = kind.usual();
        let mut image = make(&jfs).unwrap();
        // The superblock, with a mark that nothing in the file system can be relied on.
        let superblock = Block(0x8000 / 512);
        let mut content = image.block(superblock).to_vec();
        content[40] = 2;
        image.write(superblock, &content).unwrap();
        let repaired = || {
            let mut disk = Disk::new(image.clone());
            assert_ne!(repair(&jfs, &mut disk).unwrap().verdict, Verdict::Wrong);
            disk.image().clone()
        };
        let first = repaired();
        assert!(first != image, "a repair that writes nothing would prove nothing");
        assert!(first == repaired() && first == repaired());
    }

    #[test]
    fn a_file_is_read_back_as_it_was_written_holes_included() {
        let mut image = Image::zeroed(Geometry { block_size: SECTOR, blocks: 64 });
        for (block, fill) in [(0, 1), (9, 2), (10, 3), (63, 4)] {
            image.write(Block(block), &[fill; 512]).unwrap();
        }
        let file = ImageFile::of(&Disk::new(image.clone())).unwrap();
        assert_eq!(file.changes(&image).unwrap(), []);
        let mut other = image.clone();
        other.write(Block(9), &[0; 512]).unwrap();
        other.write(Block(40), &[7; 512]).unwrap();
        let blocks = |changes: Vec<(Block, Vec<u8>)>| changes.into_iter().map(|(block, _)| block.0).collect::<Vec<_>>();
        assert_eq!(blocks(file.changes(&other).unwrap()), [9, 40]);
    }
}
