//! FAT, by the crate `fatfs`.
//!
//! Its documentation says nothing about crashes, and FAT has no journal: recovery is none, and what is promised is at
//! most that the volume mounts and that files show only what was written to them. A flush of a file is the only call
//! that speaks of the medium.

mod stream;

use std::{
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    num::NonZeroU64,
};

use check::Promise;
use disk::{Block, BlockSize, Disk, Geometry, Image};
use fatfs::{Dir, FileSystem, FormatVolumeOptions, FsOptions};
use vfs::{
    Errno, File, NodeKind, Op, OpKind, Outcome, Path, Tree, WriteAt,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet, WritePlaces},
};

use self::stream::{DeviceFailed, Stream};
use crate::{
    by_path::{self, ByPath, Kind},
    device::Device,
    target::{Library, LibraryTarget, Volume, Work},
};

/// The volume that `fatfs` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatVolume {
    /// Sectors of 512 bytes, which are also the clusters.
    pub sectors: u32,
    /// Copies of the allocation table.
    pub fats: u8,
}

impl Default for FatVolume {
    fn default() -> Self {
        Self { sectors: 32, fats: 2 }
    }
}

const SECTOR: u32 = 512;
/// One sector of them.
const ROOT_ENTRIES: u16 = 16;

/// FAT on such a volume.
pub fn fat(volume: FatVolume) -> impl check::Target + 'static {
    LibraryTarget::new(volume)
}

impl Library for FatVolume {
    fn mkfs(&self) -> Image {
        let mut disk = Disk::new(Image::zeroed(Geometry { block_size: BlockSize::SECTOR, blocks: self.sectors }));
        let mut stream = Stream::new(Device::live(&mut disk));
        let options =
            FormatVolumeOptions::new().bytes_per_cluster(SECTOR).fats(self.fats).max_root_dir_entries(ROOT_ENTRIES);
        let formatted = fatfs::format_volume(&mut stream, options).and_then(|()| stream.write_back());
        formatted.expect("the registry allows only volumes that can be formatted");
        disk.image().clone()
    }

    fn session(&self, device: Device<'_>, work: Work<'_>) -> Result<(), Errno> {
        let mut stream = Stream::new(device);
        let unmounted = FileSystem::new(&mut stream, FsOptions::new()).and_then(|mut mounted| {
            work(&mut mounted);
            mounted.unmount()
        });
        unmounted.and_then(|()| stream.write_back()).map_err(|error| errno(&error))
    }

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Mountable, synchronous: false, zeros: Zeros::Allowed, write_through: true }
    }

    fn bounds(&self) -> ObjectBounds {
        ObjectBounds {
            ops: OpSet::DEFAULT.without(OpSet::of(&[OpKind::Link, OpKind::Sync])),
            files_max: 2,
            dirs_max: 1,
            size_max: 2 * u64::from(SECTOR),
            block: NonZeroU64::new(SECTOR.into()).expect("a sector is not empty"),
            write_places: WritePlaces::Blocks,
            ..ObjectBounds::default()
        }
    }

    /// Not offered, besides hard links and `sync`, which are not in the bounds:
    /// - a rename onto a name that is taken: documented to fail;
    /// - holes: to seek beyond the end is documented to stop at the end, so neither a write there nor a truncation to a
    ///   larger size can be asked for;
    /// - `fsync` of a directory: only files can be flushed;
    /// - two names that differ in case only, which are one name to FAT;
    /// - names with characters that FAT has not: no op makes one, but a crash may leave one, and by a name that the
    ///   library refuses nothing can be asked.
    fn offers(&self, op: &Op, tree: &Tree) -> bool {
        let offered = match op {
            Op::Rename { to, .. } => tree.lookup(to).is_none(),
            Op::Write { file: File::Path(path), at: WriteAt::Offset(offset), .. } => *offset <= size(tree, path),
            Op::Truncate { file: File::Path(path), size: new } => *new <= size(tree, path),
            Op::Fsync { file: File::Path(path) } => is_file(tree, path),
            _ => true,
        };
        offered && op.paths().iter().all(|path| is_plain(path) && !exists_in_another_case(tree, path))
    }

    /// `dir.rs` of the library has "File name too long" for more; it counts bytes, where FAT counts UTF-16 units.
    fn name_bytes_max(&self) -> usize {
        255
    }

    fn block_name(&self, block: Block) -> String {
        let fat_sectors = u32::from(self.fats);
        match block.0 {
            0 => "boot sector".to_owned(),
            sector if sector <= fat_sectors => format!("allocation table {sector}"),
            sector if sector == fat_sectors + 1 => "root directory".to_owned(),
            // Clusters are counted from 2.
            sector => format!("cluster {}", sector - fat_sectors),
        }
    }
}

fn size(tree: &Tree, path: &Path) -> u64 {
    match tree.lookup(path).and_then(|id| tree.node(id)).map(|node| &node.kind) {
        Some(NodeKind::File(bytes)) => bytes.len() as u64,
        _ => 0,
    }
}

fn is_file(tree: &Tree, path: &Path) -> bool {
    tree.lookup(path).and_then(|id| tree.node(id)).is_some_and(|node| !node.is_dir())
}

fn is_plain(path: &Path) -> bool {
    path.as_str().chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '/')
}

fn exists_in_another_case(tree: &Tree, path: &Path) -> bool {
    let same = |other: &Path| other != path && other.as_str().eq_ignore_ascii_case(path.as_str());
    tree.paths().iter().any(|(other, _)| same(other))
}

type Mounted<'s, 'd> = FileSystem<&'s mut Stream<'d>>;

impl Volume for Mounted<'_, '_> {
    fn run(&mut self, op: &Op) -> Outcome {
        by_path::run(self, op)
    }

    fn observe(&mut self) -> Result<Tree, Errno> {
        by_path::observe(self)
    }
}

/// The path as the library wants it: relative to the root.
fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn open_dir<'f, 's, 'd>(volume: &'f Mounted<'s, 'd>, path: &str) -> io::Result<Dir<'f, &'s mut Stream<'d>>> {
    let root = volume.root_dir();
    if relative(path).is_empty() { Ok(root) } else { root.open_dir(relative(path)) }
}

/// Makes sure that a name is free: the library's own calls to create open what exists.
fn must_be_free(volume: &mut Mounted<'_, '_>, path: &str) -> Result<(), Errno> {
    match volume.kind(path) {
        Ok(_) => Err(Errno::EEXIST),
        Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl ByPath for Mounted<'_, '_> {
    fn kind(&mut self, path: &str) -> Result<Kind, Errno> {
        if relative(path).is_empty() {
            return Ok(Kind::Dir);
        }
        match self.root_dir().open_file(relative(path)).map_err(|error| errno(&error)) {
            Ok(_) => Ok(Kind::File),
            Err(Errno::EISDIR) => Ok(Kind::Dir),
            Err(errno) => Err(errno),
        }
    }

    fn create(&mut self, path: &str) -> Result<(), Errno> {
        must_be_free(self, path)?;
        let created = self.root_dir().create_file(relative(path)).and_then(|mut file| file.flush());
        created.map_err(|error| errno(&error))
    }

    fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        must_be_free(self, path)?;
        self.root_dir().create_dir(relative(path)).map(|_| ()).map_err(|error| errno(&error))
    }

    fn remove(&mut self, path: &str) -> Result<(), Errno> {
        self.root_dir().remove(relative(path)).map_err(|error| errno(&error))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let root = self.root_dir();
        root.rename(relative(from), &root, relative(to)).map_err(|error| errno(&error))
    }

    fn write(&mut self, path: &str, at: WriteAt, data: &[u8]) -> Result<(), Errno> {
        let write = || {
            let mut file = self.root_dir().open_file(relative(path))?;
            file.seek(match at {
                WriteAt::Offset(offset) => SeekFrom::Start(offset),
                WriteAt::End => SeekFrom::End(0),
            })?;
            file.write_all(data)?;
            file.flush()
        };
        write().map_err(|error| errno(&error))
    }

    fn truncate(&mut self, path: &str, size: u64) -> Result<(), Errno> {
        let truncate = || {
            let mut file = self.root_dir().open_file(relative(path))?;
            file.seek(SeekFrom::Start(size))?;
            file.truncate()?;
            file.flush()
        };
        truncate().map_err(|error| errno(&error))
    }

    fn fsync(&mut self, path: &str) -> Result<(), Errno> {
        let synced = self.root_dir().open_file(relative(path)).and_then(|mut file| file.flush());
        synced.map_err(|error| errno(&error))
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::new();
        let read = self.root_dir().open_file(relative(path)).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|error| errno(&error))
    }

    fn list(&mut self, path: &str) -> Result<Vec<(String, Kind)>, Errno> {
        let mut names = Vec::new();
        for entry in open_dir(self, path).map_err(|error| errno(&error))?.iter() {
            let entry = entry.map_err(|error| errno(&error))?;
            let kind = if entry.is_dir() { Kind::Dir } else { Kind::File };
            names.push((entry.file_name(), kind));
        }
        names.retain(|(name, _)| !matches!(name.as_str(), "." | ".."));
        Ok(names)
    }
}

/// The library says most things in words.
fn errno(error: &io::Error) -> Errno {
    if let Some(inner) = error.get_ref()
        && inner.is::<DeviceFailed>()
    {
        return Errno::EIO;
    }
    match (error.kind(), error.to_string().as_str()) {
        (ErrorKind::NotFound, _) => Errno::ENOENT,
        (ErrorKind::AlreadyExists, _) => Errno::EEXIST,
        (ErrorKind::InvalidInput, _) => Errno::EINVAL,
        // A directory of fixed size is full: there is no room for the rest of the entry.
        (ErrorKind::WriteZero, _) | (_, "No space left on device") => Errno::ENOSPC,
        (_, "Is a directory") => Errno::EISDIR,
        (_, "Not a directory") => Errno::ENOTDIR,
        (_, "Directory not empty") => Errno::ENOTEMPTY,
        (_, "File name too long") => Errno::ENAMETOOLONG,
        (_, "File name is empty" | "File name contains unsupported characters") => Errno::EINVAL,
        // What is left is said of damaged structures.
        _ => Errno::EUCLEAN,
    }
}
