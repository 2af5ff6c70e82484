//! The requests of the kernel, decoded and answered.
//!
//! The kernel walks paths, checks permissions (`default_permissions`) and caches everything without a limit of time;
//! see [`crate::snapshots`] for how it learns of a restore. What is never asked costs nothing: `open`, `create`,
//! `flush` and `fsync` are declined once, whereupon the kernel opens files by itself, creates them with `mknod` and
//! has nothing to flush. A file that is open is one that the kernel knows, so nothing is lost by not being told.
//!
//! One lock guards all. It is held while a request changes the state, never while something is copied out or sent.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::{Arc, MutexGuard, mpsc::Sender},
};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, IoctlFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};
use vfs::{
    Contents, Credentials, Entries, Errno, Fallocate, NodeId, NodeKind, Rename, Special,
    contents::BLOCK_SIZE,
    reference::{Owner, Removal},
};

use crate::{
    attr::{KEPT, attributes, errno, file_type, id, ino},
    ioctl::Command,
    live::{Live, Shared},
    names,
    snapshots::Job,
    state::{Change, Existence},
    times::Time,
};

/// Nodes are never confused with earlier ones, since identities are given out once.
const GENERATION: Generation = Generation(0);
/// The most that one request carries.
const TRANSFER_MAX: u32 = 1 << 20;
/// What the kernel calls an inode number that nobody knows: that of `..`.
const UNKNOWN_INO: INodeNo = INodeNo(0xffff_ffff);

/// The file system as `fuser` runs it.
pub struct Server {
    pub shared: Arc<Shared>,
    pub jobs: Sender<Job>,
}

fn caller(request: &Request) -> Credentials {
    Credentials { uid: request.uid(), gid: request.gid(), groups: Vec::new() }
}

fn owner(request: &Request) -> Owner {
    Owner { uid: request.uid(), gid: request.gid() }
}

fn requested(time: Option<TimeOrNow>, now: Time) -> Option<Time> {
    time.map(|time| match time {
        TimeOrNow::SpecificTime(time) => Time::received(time),
        TimeOrNow::Now => now,
    })
}

/// Answers with the attributes of a node that the kernel is told of by a name.
fn entry(mut live: MutexGuard<'_, Live>, found: Result<NodeId, Errno>, reply: ReplyEntry) {
    let told = found.and_then(|id| {
        let (node, times) = live.state.node(id)?;
        Ok((id, attributes(id, node, times)))
    });
    match told {
        Ok((id, attributes)) => {
            live.lookups.told(id);
            drop(live);
            reply.entry(&KEPT, &attributes, GENERATION);
        }
        Err(error) => reply.error(errno(error)),
    }
}

fn empty(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn xattr(value: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match value.map(|value| (u32::try_from(value.len()).unwrap_or(u32::MAX), value)) {
        Ok((len, _)) if size == 0 => reply.size(len),
        Ok((len, _)) if len > size => reply.error(errno(Errno::ERANGE)),
        Ok((_, value)) => reply.data(&value),
        Err(error) => reply.error(errno(error)),
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted = InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_READDIRPLUS_AUTO
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_HANDLE_KILLPRIV_V2;
        // Each makes things faster where the kernel has it, and nothing else.
        let _ = config.add_capabilities(wanted & config.capabilities());
        let _ = config.set_max_write(TRANSFER_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let live = self.shared.serve();
        let found = names::name(name).and_then(|name| live.state.child(id(parent), &name));
        entry(live, found, reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.shared.lock().forget(ino, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let found = self.shared.serve().state.node(id(ino)).map(|(node, times)| attributes(id(ino), node, times));
        match found {
            Ok(attributes) => reply.attr(&KEPT, &attributes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let now = Time::now();
        let (accessed, modified) = (requested(accessed, now), requested(modified, now));
        let change = Change { mode, uid, gid, size, accessed, modified };
        let id = id(ino);
        let mut live = self.shared.serve();
        let changed = live.state.change(id, &change, &caller(request), now);
        let attributes = changed.and_then(|()| live.state.node(id)).map(|(node, times)| attributes(id, node, times));
        drop(live);
        match attributes {
            Ok(attributes) => reply.attr(&KEPT, &attributes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let target = match self.shared.serve().state.node(id(ino)).map(|(node, _)| &node.kind) {
            Ok(NodeKind::Symlink(target)) => Ok(Arc::clone(target)),
            Ok(_) => Err(Errno::EINVAL),
            Err(error) => Err(error),
        };
        match target {
            Ok(target) => reply.data(&names::bytes(&target)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = match mode & 0o170_000 {
            0o100_000 | 0 => NodeKind::File(Contents::sparse()),
            0o010_000 => NodeKind::Special(Special::Fifo),
            0o140_000 => NodeKind::Special(Special::Socket),
            0o020_000 => NodeKind::Special(Special::CharDevice(rdev)),
            0o060_000 => NodeKind::Special(Special::BlockDevice(rdev)),
            _ => return reply.error(errno(Errno::EINVAL)),
        };
        self.make(request, parent, name, kind, mode, reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        self.make(request, parent, name, NodeKind::Dir(Entries::new()), mode, reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let target = Arc::from(names::text(target.as_os_str()));
        self.make(request, parent, name, NodeKind::Symlink(target), 0o777, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.shared.serve().remove(parent, name, Removal::NotDir);
        empty(removed, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.shared.serve().remove(parent, name, Removal::Dir);
        empty(removed, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let how = match flags {
            flags if flags.is_empty() => Rename::Replace,
            RenameFlags::RENAME_NOREPLACE => Rename::NoReplace,
            RenameFlags::RENAME_EXCHANGE => Rename::Exchange,
            _ => return reply.error(errno(Errno::EINVAL)),
        };
        let renamed = names::name(name).and_then(|name| {
            let new_name = names::name(new_name)?;
            let mut live = self.shared.serve();
            let (from, to) = ((id(parent), &*name), (id(new_parent), &*new_name));
            let replaced = live.state.rename(from, to, how, Time::now())?;
            replaced.into_iter().for_each(|replaced| live.settle(replaced));
            Ok(())
        });
        empty(renamed, reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, new_parent: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let mut live = self.shared.serve();
        let linked = names::name(new_name)
            .and_then(|name| live.state.link(id(ino), id(new_parent), &name, Time::now()))
            .map(|()| id(ino));
        entry(live, linked, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn create(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.error(fuser::Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let contents = {
            let mut live = self.shared.serve();
            live.pages.passed(id(ino));
            live.state.read(id(ino), Time::now())
        };
        match contents {
            Ok(contents) => {
                let mut bytes = Vec::with_capacity(size as usize);
                contents.read(offset, size.into(), &mut bytes);
                reply.data(&bytes);
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        flags: WriteFlags,
        opened: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut live = self.shared.serve();
        live.pages.passed(id(ino));
        let written = if flags.contains(WriteFlags::FUSE_WRITE_CACHE) {
            live.state.write_back(id(ino), offset, bytes, Time::now())
        } else {
            let offset = live.place_of_write(id(ino), offset, opened.0 & libc::O_APPEND != 0);
            live.state.write(id(ino), offset, bytes, Time::now())
        };
        if written.is_ok() && flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID) {
            live.state.drop_privileges(id(ino), &caller(request));
        }
        drop(live);
        answer_written(written, reply);
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let handle = self.shared.lock().dirs.open();
        reply.opened(handle, FopenFlags::empty());
    }

    fn readdir(&self, _: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut live = self.shared.serve();
        if let Err(error) = live.list_if_needed(ino, handle, offset) {
            return reply.error(errno(error));
        }
        let listing = live.dirs.listing(handle);
        for (position, name, child) in listed(&listing, offset) {
            let Ok(kind) = child.map_or(Ok(fuser::FileType::Directory), |child| {
                live.state.node(child).map(|(node, _)| file_type(&node.kind))
            }) else {
                continue;
            };
            let ino = child.map_or(if name == "." { ino } else { UNKNOWN_INO }, self::ino);
            if reply.add(ino, position, kind, OsStr::from_bytes(&names::bytes(name))) {
                break;
            }
        }
        drop(live);
        reply.ok();
    }

    fn readdirplus(&self, _: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let mut live = self.shared.serve();
        if let Err(error) = live.list_if_needed(ino, handle, offset) {
            return reply.error(errno(error));
        }
        let listing = live.dirs.listing(handle);
        for (position, name, child) in listed(&listing, offset) {
            let Ok((node, times)) = live.state.node(child.unwrap_or(id(ino))) else { continue };
            let mut attributes = attributes(child.unwrap_or(id(ino)), node, times);
            if child.is_none() {
                // The kernel takes neither of the dots as a lookup; all it wants is a number.
                attributes.ino = if name == "." { ino } else { UNKNOWN_INO };
            }
            let bytes = names::bytes(name);
            if reply.add(attributes.ino, position, OsStr::from_bytes(&bytes), &KEPT, &attributes, GENERATION) {
                break;
            }
            child.into_iter().for_each(|child| live.lookups.told(child));
        }
        drop(live);
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.shared.lock().dirs.close(handle);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let (room, left) = {
            let live = self.shared.serve();
            (live.state.room(), live.state.left())
        };
        let size = u32::try_from(BLOCK_SIZE).unwrap_or(0);
        let name_max = u32::try_from(names::NAME_MAX).unwrap_or(0);
        reply.statfs(room.blocks, left.blocks, left.blocks, room.inodes, left.inodes, size, name_max, size);
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let wanted = match flags {
            1 => Existence::No,
            2 => Existence::Yes,
            3 => Existence::Both,
            _ => Existence::Any,
        };
        let name = names::text(name);
        let mut live = self.shared.serve();
        let set = live.state.change_xattr(id(ino), &name, Some(value), wanted, Time::now());
        drop(live);
        empty(set, reply);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = names::text(name);
        let value = vfs::Reference::xattr_name_fits(&name).and_then(|()| {
            let live = self.shared.serve();
            let (node, _) = live.state.node(id(ino))?;
            node.xattrs.get(&*name).map(|value| value.to_vec()).ok_or(Errno::ENODATA)
        });
        xattr(value, size, reply);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let listed = self.shared.serve().state.node(id(ino)).map(|(node, _)| {
            let names = node.xattrs.keys().flat_map(|name| [names::bytes(name).into_owned(), vec![0]]);
            names.flatten().collect()
        });
        xattr(listed, size, reply);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = names::text(name);
        let removed = self.shared.serve().state.change_xattr(id(ino), &name, None, Existence::Yes, Time::now());
        empty(removed, reply);
    }

    fn ioctl(
        &self,
        request: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        command: u32,
        bytes: &[u8],
        _out_size: u32,
        reply: ReplyIoctl,
    ) {
        let Some(command) = Command::decode(command, bytes) else { return reply.error(errno(Errno::ENOTTY)) };
        if ![0, self.shared.owner()].contains(&request.uid()) {
            return reply.error(errno(Errno::EPERM));
        }
        match command {
            // If nobody takes jobs any more, the file system is being unmounted, and the reply says EIO as it drops.
            Ok(command) => drop(self.jobs.send(Job { command, reply })),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn fallocate(
        &self,
        request: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let how = match mode {
            0 => Fallocate::Allocate,
            1 => Fallocate::KeepSize,
            3 => Fallocate::PunchHole,
            16 => Fallocate::ZeroRange,
            17 => Fallocate::ZeroRangeKeepSize,
            _ => return reply.error(errno(Errno::EOPNOTSUPP)),
        };
        let Some(end) = offset.checked_add(len) else { return reply.error(errno(Errno::EFBIG)) };
        let mut live = self.shared.serve();
        let allocated = live.state.allocate(id(ino), how, offset..end, Time::now());
        if allocated.is_ok() && request.uid() != 0 {
            live.state.drop_privileges(id(ino), &caller(request));
        }
        drop(live);
        empty(allocated, reply);
    }

    fn lseek(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let found = u64::try_from(offset).map_err(|_| Errno::ENXIO).and_then(|offset| {
            let live = self.shared.serve();
            let (node, _) = live.state.node(id(ino))?;
            match (&node.kind, whence) {
                (NodeKind::File(contents), _) if offset >= contents.size() => Err(Errno::ENXIO),
                (NodeKind::File(contents), SEEK_DATA) => contents.next_data(offset).ok_or(Errno::ENXIO),
                (NodeKind::File(contents), SEEK_HOLE) => Ok(contents.next_hole(offset)),
                _ => Err(Errno::EINVAL),
            }
        });
        match found.and_then(|offset| i64::try_from(offset).map_err(|_| Errno::EOVERFLOW)) {
            Ok(offset) => reply.offset(offset),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn copy_file_range(
        &self,
        request: &Request,
        from: INodeNo,
        _: FileHandle,
        from_offset: u64,
        to: INodeNo,
        _: FileHandle,
        to_offset: u64,
        len: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let now = Time::now();
        let mut live = self.shared.serve();
        let written = live.state.read(id(from), now).and_then(|contents| {
            let mut bytes = Vec::new();
            contents.read(from_offset, len.min(TRANSFER_MAX.into()), &mut bytes);
            live.state.write(id(to), to_offset, &bytes, now)
        });
        if written.is_ok() && request.uid() != 0 {
            live.state.drop_privileges(id(to), &caller(request));
        }
        drop(live);
        answer_written(written, reply);
    }
}

const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

fn answer_written(written: Result<usize, Errno>, reply: ReplyWrite) {
    match written {
        Ok(written) => reply.written(u32::try_from(written).unwrap_or(u32::MAX)),
        Err(error) => reply.error(errno(error)),
    }
}

impl Server {
    fn make(&self, request: &Request, parent: INodeNo, name: &OsStr, kind: NodeKind, mode: u32, reply: ReplyEntry) {
        let mut live = self.shared.serve();
        let new = names::name(name)
            .and_then(|name| live.state.make((id(parent), &name), kind, mode & 0o7777, owner(request), Time::now()));
        entry(live, new, reply);
    }
}

/// The entries from a position on, each with the position behind it: first the dots, which lead to no child.
fn listed(listing: &[(Arc<str>, NodeId)], offset: u64) -> impl Iterator<Item = (u64, &str, Option<NodeId>)> {
    let dots = [".", ".."].into_iter().map(|name| (name, None));
    let names = listing.iter().map(|(name, child)| (&**name, Some(*child)));
    let all = dots.chain(names).enumerate().skip(usize::try_from(offset).unwrap_or(usize::MAX));
    all.map(|(position, (name, child))| (position as u64 + 1, name, child))
}
