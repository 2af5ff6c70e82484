//! littlefs, by the crate `littlefs-rust`: the C library translated function by function.
//!
//! Its documentation promises more than that of any other library here, in the README of littlefs: file operations
//! are copy-on-write, so that after a loss of power the file system falls back to the last good state; operations
//! such as remove and rename are atomic even then; and what was written to a file is committed when the file is
//! synced or closed. An op here ends with the close, so each op is promised to be durable when it returns, and no op
//! to be seen in part.

use check::Promise;
use disk::{Block, BlockSize, Disk, Geometry, Image, IoError};
use littlefs_rust::{Config, Error, FileType, Filesystem, OpenFlags, SeekFrom, Storage};
use vfs::{
    Errno, Op, OpKind, Outcome, Tree, WriteAt,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet, WritePlaces},
};

use crate::{
    by_path::{self, ByPath, Kind},
    device::Device,
    target::{Library, LibraryTarget, Volume, Work},
};

/// What an erase leaves in a block. littlefs says that it relies on nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// All ones, as in flash: one more write that a power cut can fall on.
    Ones,
    /// What was there before, as on a card or disk that knows no erase.
    Nothing,
}

/// The flash that littlefs is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Bytes in a block that is erased at once.
    pub block: u32,
    /// How many of them there are.
    pub blocks: u32,
    /// Bytes that are read or programmed at least, and atomically: the block of the disk.
    pub page: u32,
    /// Bytes in each of the library's caches, which is also how much it programs at once.
    pub cache: u32,
    /// What an erase does.
    pub erase: Erase,
    /// After how many erases metadata moves to another block; `None`: never.
    pub cycles: Option<u32>,
    /// How many directories the workload makes. Without any, nothing moves from one to another.
    pub dirs: u8,
}

impl Default for Flash {
    fn default() -> Self {
        Self { block: 256, blocks: 16, page: 16, cache: 64, erase: Erase::Ones, cycles: None, dirs: 1 }
    }
}

/// littlefs on such a flash.
pub fn littlefs(flash: Flash) -> impl check::Target + 'static {
    LibraryTarget::new(flash)
}

impl Flash {
    fn geometry(self) -> Geometry {
        let block_size = BlockSize::new(self.page).expect("a page is a block of the disk");
        Geometry { block_size, blocks: self.blocks * (self.block / self.page) }
    }

    fn config(self) -> Config {
        Config {
            read_size: self.page,
            prog_size: self.page,
            cache_size: self.cache,
            // One bit a block, in units of 8 bytes: the allocator sees the whole flash at once.
            lookahead_size: self.blocks.div_ceil(64) * 8,
            block_cycles: self.cycles.map_or(-1, |cycles| i32::try_from(cycles).unwrap_or(i32::MAX)),
            ..Config::new(self.block, self.blocks)
        }
    }
}

impl Library for Flash {
    fn mkfs(&self) -> Image {
        let mut disk = Disk::new(Image::zeroed(self.geometry()));
        let mut chip = Chip { flash: *self, device: Device::live(&mut disk) };
        Filesystem::format(&mut chip, &self.config()).expect("the registry allows only flashes that can be formatted");
        disk.image().clone()
    }

    fn session(&self, device: Device<'_>, work: Work<'_>) -> Result<(), Errno> {
        let mounted = Filesystem::mount(Chip { flash: *self, device }, self.config());
        let mut mounted = mounted.map_err(|(error, _)| errno(error))?;
        work(&mut mounted);
        mounted.unmount().map(|_| ()).map_err(errno)
    }

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Prefix, synchronous: true, zeros: Zeros::Forbidden, write_through: true }
    }

    fn bounds(&self) -> ObjectBounds {
        // Half a block: two such writes and a name no longer fit into a metadata block, so files move out of it.
        let block = u64::from(self.block / 2).try_into().expect("the registry allows no smaller block");
        ObjectBounds {
            ops: OpSet::DEFAULT.without(OpSet::of(&[OpKind::Link, OpKind::Fsync, OpKind::Sync])),
            files_max: 2,
            dirs_max: self.dirs.into(),
            size_max: u64::from(self.block),
            block,
            write_places: WritePlaces::Blocks,
            ..ObjectBounds::default()
        }
    }

    /// Not offered, and so not in the bounds: hard links. Left out of the bounds as idle: `fsync` and `sync`, since a
    /// file that was closed is durable already.
    fn offers(&self, _: &Op, _: &Tree) -> bool {
        true
    }

    /// `name_max` of the library's configuration, unless a block is too small: `lfs_file_opencfg` calls a name too long
    /// that does not fit into a block of metadata, where 20 bytes go to the revision count, tags and a checksum.
    fn name_bytes_max(&self) -> usize {
        (self.config().name_max).min(self.block.saturating_sub(20)) as usize
    }

    fn block_name(&self, block: Block) -> String {
        let (block, offset) = (block.0 * self.page / self.block, block.0 * self.page % self.block);
        format!("block {block}, bytes {offset}-{}", offset + self.page - 1)
    }
}

/// The disk as a flash chip.
struct Chip<'d> {
    flash: Flash,
    device: Device<'d>,
}

impl Chip<'_> {
    fn page(&self, block: u32, offset: u32) -> Block {
        let pages_per_block = self.flash.block / self.flash.page;
        Block(block.saturating_mul(pages_per_block).saturating_add(offset / self.flash.page))
    }
}

/// The library's trait has one error for all that a device can say.
fn failed(_: IoError) -> Error {
    Error::Io
}

impl Storage for Chip<'_> {
    fn read(&mut self, block: u32, offset: u32, buffer: &mut [u8]) -> Result<(), Error> {
        self.device.read(self.page(block, offset), buffer).map_err(failed)
    }

    fn write(&mut self, block: u32, offset: u32, data: &[u8]) -> Result<(), Error> {
        self.device.write(self.page(block, offset), data).map_err(failed)
    }

    fn erase(&mut self, block: u32) -> Result<(), Error> {
        match self.flash.erase {
            Erase::Ones => {
                let ones = vec![0xff; self.flash.block as usize];
                self.device.write(self.page(block, 0), &ones).map_err(failed)
            }
            Erase::Nothing => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.device.flush().map_err(failed)
    }
}

impl Volume for Filesystem<Chip<'_>> {
    fn run(&mut self, op: &Op) -> Outcome {
        by_path::run(self, op)
    }

    fn observe(&mut self) -> Result<Tree, Errno> {
        by_path::observe(self)
    }
}

impl ByPath for Filesystem<Chip<'_>> {
    fn kind(&mut self, path: &str) -> Result<Kind, Errno> {
        self.stat(path).map(|found| kind(found.file_type)).map_err(errno)
    }

    fn create(&mut self, path: &str) -> Result<(), Errno> {
        let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCL;
        self.open(path, flags).and_then(littlefs_rust::File::close).map_err(errno)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        Filesystem::mkdir(self, path).map_err(errno)
    }

    fn remove(&mut self, path: &str) -> Result<(), Errno> {
        Filesystem::remove(self, path).map_err(errno)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        Filesystem::rename(self, from, to).map_err(errno)
    }

    fn write(&mut self, path: &str, at: WriteAt, data: &[u8]) -> Result<(), Errno> {
        let write = || {
            let file = self.open(path, OpenFlags::WRITE)?;
            file.seek(match at {
                WriteAt::Offset(offset) => SeekFrom::Start(u32::try_from(offset).map_err(|_| Error::Invalid)?),
                WriteAt::End => SeekFrom::End(0),
            })?;
            let written = file.write(data)?;
            file.close()?;
            Ok(written)
        };
        // The library writes all or fails; a short count would be a third thing.
        let written: u32 = write().map_err(errno)?;
        if written as usize == data.len() { Ok(()) } else { Err(Errno::EIO) }
    }

    fn truncate(&mut self, path: &str, size: u64) -> Result<(), Errno> {
        let size = u32::try_from(size).map_err(|_| Errno::EFBIG)?;
        let truncate = || {
            let file = self.open(path, OpenFlags::WRITE)?;
            file.truncate(size)?;
            file.close()
        };
        truncate().map_err(errno)
    }

    fn fsync(&mut self, path: &str) -> Result<(), Errno> {
        if ByPath::kind(self, path)? == Kind::Dir {
            return Ok(());
        }
        let sync = || {
            let file = self.open(path, OpenFlags::WRITE)?;
            file.sync()?;
            file.close()
        };
        sync().map_err(errno)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        self.read_to_vec(path).map_err(errno)
    }

    fn list(&mut self, path: &str) -> Result<Vec<(String, Kind)>, Errno> {
        let entries = self.list_dir(path).map_err(errno)?;
        Ok(entries.into_iter().map(|entry| (entry.name, kind(entry.file_type))).collect())
    }
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::File => Kind::File,
        FileType::Dir => Kind::Dir,
    }
}

fn errno(error: Error) -> Errno {
    match error {
        Error::Io => Errno::EIO,
        Error::Corrupt => Errno::EUCLEAN,
        Error::NoEntry => Errno::ENOENT,
        Error::Exists => Errno::EEXIST,
        Error::NotDir => Errno::ENOTDIR,
        Error::IsDir => Errno::EISDIR,
        Error::NotEmpty => Errno::ENOTEMPTY,
        Error::Invalid => Errno::EINVAL,
        Error::NoSpace => Errno::ENOSPC,
        Error::NoMemory => Errno::ENOMEM,
        Error::NoAttribute => Errno::ENODATA,
        Error::NameTooLong => Errno::ENAMETOOLONG,
    }
}
