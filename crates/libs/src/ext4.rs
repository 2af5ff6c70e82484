//! ext4, by the crate `rsext4`.
//!
//! Its documentation promises nothing about crashes in so many words. But it says that it follows the semantics of
//! Linux, it writes metadata through a journal, it replays that journal when it mounts, and an unmount "persists a
//! clean filesystem": so it is held to what ext4 promises (see `vfs::contract::promises`), and an op that was
//! followed by the unmount is held to be durable.
//!
//! The library names files by inode. Paths are followed here, by its own look-up of one name at a time.

mod observe;

use std::num::NonZeroU64;

use check::Promise;
use disk::{Block, BlockSize, Disk, Geometry, Image, IoError};
use rsext4::{
    BlockIo, Clock, DeviceCapabilities, DeviceGeometry, EntropySource, Ext4, Ext4Error, Ext4ErrorKind, Ext4Result,
    Ext4Timestamp, FileName, FilePermissions, InodeInfo, InodeNumber, MkfsOptions, MountOptions, MountServices,
    MountedServices, MutationContext, NoopObserver, RenameOptions, SectorId, UnlinkOutcome, WriteFlags,
};
use vfs::{
    Errno, File, Op, OpKind, Outcome, Path, Rename, Tree, Value, WriteAt, WriteVia,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet, WritePlaces},
};

use crate::{
    device::Device,
    target::{Library, LibraryTarget, Volume, Work},
};

/// The volume that `rsext4` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4Volume {
    /// Blocks of 1024 bytes, which are also what the disk writes atomically.
    pub blocks: u32,
}

impl Default for Ext4Volume {
    fn default() -> Self {
        Self { blocks: BLOCKS_MIN }
    }
}

/// The least that the library's mkfs takes with its smallest blocks: most of it is the inode table and the journal.
const BLOCKS_MIN: u32 = 8192;
const BLOCK: u32 = 1024;
const NAME_BYTES_MAX: usize = 255;
/// What mkfs leaves in the root.
const LOST_AND_FOUND: &str = "/lost+found";

/// ext4 on such a volume.
pub fn ext4(volume: Ext4Volume) -> impl check::Target + 'static {
    LibraryTarget::new(volume)
}

impl Library for Ext4Volume {
    fn mkfs(&self) -> Image {
        let block_size = BlockSize::new(BLOCK).expect("a power of two");
        let mut disk = Disk::new(Image::zeroed(Geometry { block_size, blocks: self.blocks }));
        let options = MkfsOptions { block_size: BLOCK, ..MkfsOptions::default() };
        let formatted = rsext4::format(Sectors(Device::live(&mut disk)), Epoch, options);
        formatted.map(|_| ()).expect("the registry allows only volumes that can be formatted");
        disk.image().clone()
    }

    fn session(&self, device: Device<'_>, work: Work<'_>) -> Result<(), Errno> {
        // Whoever only looks has mounted before, so there is nothing to replay.
        let options =
            if device.is_live() { MountOptions::read_write() } else { MountOptions::read_only_no_journal_replay() };
        let services = MountServices::new(Epoch, Dice, NoopObserver);
        let mut mounted = Ext4::mount(Sectors(device), services, options).map_err(errno)?;
        work(&mut mounted);
        mounted.unmount().map_err(errno)
    }

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Atomic, synchronous: true, zeros: Zeros::Allowed, write_through: true }
    }

    fn bounds(&self) -> ObjectBounds {
        ObjectBounds {
            ops: OpSet::DEFAULT.without(OpSet::of(&[OpKind::Fsync, OpKind::Sync])),
            files_max: 2,
            // One of them is `lost+found`.
            dirs_max: 2,
            size_max: 2 * u64::from(BLOCK),
            block: NonZeroU64::new(BLOCK.into()).expect("a block is not empty"),
            write_places: WritePlaces::Blocks,
            ..ObjectBounds::default()
        }
    }

    /// Not asked for: anything in or with `lost+found`, which belongs to fsck. It stays in every tree that is compared.
    /// Left out of the bounds as idle: `fsync` and `sync`, since every op here is followed by an unmount.
    fn offers(&self, op: &Op, _: &Tree) -> bool {
        op.paths().iter().all(|path| !path.as_str().starts_with(LOST_AND_FOUND))
    }

    /// As the library's mkfs lays out a volume of this block size: 2048 inodes a group, and a journal of 4096 blocks.
    /// A directory entry of ext4 has one byte for the length.
    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn block_name(&self, block: Block) -> String {
        match block.0 {
            0 => "boot block".to_owned(),
            1 => "superblock".to_owned(),
            2 => "group descriptors".to_owned(),
            3 => "block bitmap".to_owned(),
            4 => "inode bitmap".to_owned(),
            table @ 5..=516 => format!("inode table, inodes {}-{}", (table - 5) * 4 + 1, (table - 5) * 4 + 4),
            517 => "journal superblock".to_owned(),
            journal @ 518..=4612 => format!("journal block {}", journal - 517),
            block => format!("block {block}"),
        }
    }
}

/// A clock that stands still: the same ops must give the same bytes.
struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Ext4Result<Ext4Timestamp> {
        Ok(Ext4Timestamp::UNIX_EPOCH)
    }
}

/// Randomness that is none, for the same reason.
struct Dice;

impl EntropySource for Dice {
    fn fill_bytes(&mut self, output: &mut [u8]) -> Ext4Result<()> {
        output.fill(4);
        Ok(())
    }
}

/// The disk as the library wants it.
struct Sectors<'d>(Device<'d>);

fn block(sector: SectorId) -> Ext4Result<Block> {
    sector.to_u32().map(Block)
}

fn failed(_: IoError) -> Ext4Error {
    Ext4Error::io()
}

impl BlockIo for Sectors<'_> {
    fn write(&mut self, buffer: &[u8], sector: SectorId, _: u32) -> Ext4Result<()> {
        self.0.write(block(sector)?, buffer).map_err(failed)
    }

    fn read(&mut self, buffer: &mut [u8], sector: SectorId, _: u32) -> Ext4Result<()> {
        self.0.read(block(sector)?, buffer).map_err(failed)
    }

    fn write_with_flags(&mut self, buffer: &[u8], sector: SectorId, _: u32, flags: WriteFlags) -> Ext4Result<()> {
        if flags.contains(WriteFlags::FUA) {
            self.0.write_fua(block(sector)?, buffer).map_err(failed)
        } else {
            self.0.write(block(sector)?, buffer).map_err(failed)
        }
    }

    fn geometry(&self) -> DeviceGeometry {
        DeviceGeometry::new(BLOCK, self.0.geometry().blocks.into())
    }

    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities { flush: true, fua: true, ..DeviceCapabilities::default() }
    }

    fn flush(&mut self) -> Ext4Result<()> {
        self.0.flush().map_err(failed)
    }
}

type Mounted<'d> = Ext4<Sectors<'d>, MountedServices<Dice, NoopObserver>>;

/// What root does, with no umask.
const ROOT: MutationContext = MutationContext::new(0, 0, 0, 0);

impl Volume for Mounted<'_> {
    fn run(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Create { path, mode } => {
                let (parent, name) = place(self, path)?;
                self.create_regular_file(ROOT, parent, file_name(name)?, permissions(*mode)?).map_err(errno)?;
            }
            Op::Mkdir { path, mode } => {
                let (parent, name) = place(self, path)?;
                self.create_directory(ROOT, parent, file_name(name)?, permissions(*mode)?).map_err(errno)?;
            }
            Op::Unlink { path } => {
                let (parent, name) = place(self, path)?;
                let removed = self.unlink(parent, file_name(name)?).map_err(errno)?;
                reap(self, removed)?;
            }
            Op::Rmdir { path } => {
                let (parent, name) = place(self, path)?;
                let removed = self.remove_empty_directory(parent, file_name(name)?).map_err(errno)?;
                reap(self, removed)?;
            }
            Op::Rename { from, to, how } => rename(self, from, to, *how)?,
            Op::Link { from, to } => {
                let target = follow(self, from)?;
                let (parent, name) = place(self, to)?;
                self.hard_link(target.number, parent, file_name(name)?).map_err(errno)?;
            }
            Op::Write { file: File::Path(path), at, data, via: WriteVia::Buffered } => {
                let file = regular(self, path)?;
                let offset = if let WriteAt::Offset(offset) = at { *offset } else { file.size };
                // A kernel takes offsets as signed numbers, and asks no file system about a negative one.
                i64::try_from(offset).map_err(|_| Errno::EINVAL)?;
                let len = usize::try_from(data.len).map_err(|_| Errno::EFBIG)?;
                self.write_inode(file.number, offset, &vec![data.fill; len]).map_err(errno)?;
                return Ok(Value::Count(data.len));
            }
            Op::Read { file: File::Path(path), offset, len } => {
                let file = regular(self, path)?;
                let len = (*len).min(file.size.saturating_sub(*offset));
                return observe::bytes(self, file.number, *offset, len).map(Value::Bytes);
            }
            Op::Truncate { file: File::Path(path), size } => {
                let file = regular(self, path)?;
                self.truncate_inode(file.number, *size).map_err(errno)?;
            }
            Op::Sync | Op::Syncfs | Op::Fsync { .. } | Op::Fdatasync { .. } => self.sync().map_err(errno)?,
            _ => return Err(Errno::EOPNOTSUPP),
        }
        Ok(Value::Done)
    }

    fn observe(&mut self) -> Result<Tree, Errno> {
        observe::tree(self)
    }
}

fn rename(volume: &mut Mounted<'_>, from: &Path, to: &Path, how: Rename) -> Result<(), Errno> {
    let options = match how {
        Rename::Replace => RenameOptions::REPLACE,
        Rename::NoReplace => RenameOptions::NO_REPLACE,
        Rename::Exchange => RenameOptions::EXCHANGE,
    };
    let (old_parent, old_name) = place(volume, from)?;
    let (new_parent, new_name) = place(volume, to)?;
    let (old_name, new_name) = (file_name(old_name)?, file_name(new_name)?);
    let renamed = volume.rename(old_parent, old_name, new_parent, new_name, options).map_err(errno)?;
    renamed.replaced.map_or(Ok(()), |replaced| reap(volume, replaced))
}

/// Frees what has no name left: here no file is ever open, so the last name is the last reference.
fn reap(volume: &mut Mounted<'_>, removed: UnlinkOutcome) -> Result<(), Errno> {
    if removed.requires_reap() { volume.reap_unlinked_inode(removed.inode).map_err(errno) } else { Ok(()) }
}

/// The node that a path names.
fn follow(volume: &mut Mounted<'_>, path: &Path) -> Result<InodeInfo, Errno> {
    let mut at = volume.inode(volume.root_inode()).map_err(errno)?;
    for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
        if !at.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        at = volume.lookup_child(at.number, file_name(name)?).map_err(errno)?.ok_or(Errno::ENOENT)?;
    }
    Ok(at)
}

/// The regular file that a path names. That nobody writes into a directory is left to the caller, as in a kernel.
fn regular(volume: &mut Mounted<'_>, path: &Path) -> Result<InodeInfo, Errno> {
    let found = follow(volume, path)?;
    if found.is_directory() { Err(Errno::EISDIR) } else { Ok(found) }
}

/// The directory that holds the last name of a path, and that name.
fn place<'p>(volume: &mut Mounted<'_>, path: &'p Path) -> Result<(InodeNumber, &'p str), Errno> {
    let (above, name) = path.as_str().rsplit_once('/').ok_or(Errno::EINVAL)?;
    let above = Path::new(if above.is_empty() { "/" } else { above }).map_err(|_| Errno::EINVAL)?;
    let parent = follow(volume, &above)?;
    if parent.is_directory() { Ok((parent.number, name)) } else { Err(Errno::ENOTDIR) }
}

fn file_name(name: &str) -> Result<FileName<'_>, Errno> {
    // To the library it is as invalid as an empty one.
    if name.len() > NAME_BYTES_MAX { Err(Errno::ENAMETOOLONG) } else { FileName::new(name.as_bytes()).map_err(errno) }
}

fn permissions(mode: u32) -> Result<FilePermissions, Errno> {
    FilePermissions::new(u16::try_from(mode).map_err(|_| Errno::EINVAL)?).map_err(errno)
}

fn errno(error: Ext4Error) -> Errno {
    match error.kind() {
        Ext4ErrorKind::Io | Ext4ErrorKind::Timeout => Errno::EIO,
        Ext4ErrorKind::Corrupted
        | Ext4ErrorKind::ChecksumMismatch
        | Ext4ErrorKind::BadSuperblock
        | Ext4ErrorKind::InvalidMagic => Errno::EUCLEAN,
        Ext4ErrorKind::UnsupportedFeature | Ext4ErrorKind::UnsupportedCapability | Ext4ErrorKind::Unsupported => {
            Errno::EOPNOTSUPP
        }
        Ext4ErrorKind::ReadOnly | Ext4ErrorKind::JournalAborted => Errno::EROFS,
        Ext4ErrorKind::NoSpace => Errno::ENOSPC,
        Ext4ErrorKind::NoMemory => Errno::ENOMEM,
        Ext4ErrorKind::QuotaExceeded => Errno::EDQUOT,
        Ext4ErrorKind::TooManyLinks => Errno::EMLINK,
        Ext4ErrorKind::PermissionDenied => Errno::EPERM,
        Ext4ErrorKind::NotFound => Errno::ENOENT,
        Ext4ErrorKind::AlreadyExists => Errno::EEXIST,
        Ext4ErrorKind::NotDirectory => Errno::ENOTDIR,
        Ext4ErrorKind::IsDirectory => Errno::EISDIR,
        Ext4ErrorKind::NotEmpty => Errno::ENOTEMPTY,
        Ext4ErrorKind::Busy => Errno::EBUSY,
        Ext4ErrorKind::BadFileDescriptor => Errno::EBADF,
        Ext4ErrorKind::InvalidInput => Errno::EINVAL,
        Ext4ErrorKind::Overflow => Errno::EOVERFLOW,
        Ext4ErrorKind::FileTooLarge => Errno::EFBIG,
    }
}
