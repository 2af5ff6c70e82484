//! One guest, spoken to directly.

use disk::{Block, BlockSize, Geometry, Image};
use guest::{Guest, GuestError, Storage};
use posix::message::{Medium, Mount, Step};
use rustix::process::{Signal, kill_process};
use vfs::Errno;

use crate::kernel;

/// A disk of zeros that remembers what was asked.
struct Zeros {
    image: Image,
    reads: usize,
}

impl Storage for Zeros {
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
        self.reads += 1;
        u32::try_from(sector).is_ok_and(|sector| self.image.read(Block(sector), data).is_ok())
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        u32::try_from(sector).is_ok_and(|sector| self.image.write(Block(sector), data).is_ok())
    }

    fn discard(&mut self, _: u64, _: u32) -> bool {
        true
    }

    fn flush(&mut self) -> bool {
        true
    }
}

fn zeros() -> Zeros {
    Zeros { image: Image::zeroed(Geometry { block_size: BlockSize::SECTOR, blocks: 128 }), reads: 0 }
}

fn mount(kind: &str) -> Step {
    let kind = kind.to_owned();
    Step::Mount(Mount { kind, medium: Medium::Disk, options: String::new(), hidden: Vec::new(), emptied: Vec::new() })
}

#[test]
fn steps_are_answered_one_by_one_and_nothing_is_done_without_a_file_system() {
    let Some(kernel) = kernel() else { return };
    let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
    let mut disk = zeros();
    let ops = ["create(\"/f\")", "mkdir(\"/init\")"].map(|op| Step::Run(op.parse().unwrap()));
    let batch = [&[mount("ext2"), mount("nonsense"), Step::Observe, Step::Unmount][..], &ops].concat();
    let answers = guest.run(&mut disk, &batch).unwrap();
    let errnos: Vec<Option<Errno>> = answers.iter().map(|answer| answer.as_ref().err().copied()).collect();
    let no_device = Some(Errno::ENODEV);
    assert_eq!(errnos, [Some(Errno::EINVAL), no_device, no_device, no_device, no_device, no_device]);
    assert!(disk.reads > 0, "the kernel looked for a file system on the disk that was given");
    let complaint = guest.complaint().expect("ext2 says what it did not find");
    assert!(complaint.is_about_the_disk && complaint.line.contains("can't find an ext2 filesystem"), "{complaint:?}");
    assert_eq!(guest.complaint(), None, "it is heard once");
}

#[test]
fn long_batches_and_long_answers_arrive_whole() {
    let Some(kernel) = kernel() else { return };
    let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
    let batch = vec![Step::Observe; 20_000];
    let answers = guest.run(&mut zeros(), &batch).unwrap();
    assert!(answers.len() == batch.len() && answers.iter().all(|answer| matches!(answer, Err(Errno::ENODEV))));
}

#[test]
fn a_kernel_that_is_no_kernel_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("linux");
    std::fs::write(&script, "#!/bin/sh\necho Kernel panic - not today\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("variables"), crate::variables_of_no_kernel()).unwrap();
    let kernel = guest::Kernel::in_folder(folder.path(), false).unwrap();
    let error = Guest::boot(&kernel, 128, 0).unwrap_err();
    let GuestError::Died { console } = &error else { panic!("{error}") };
    assert_eq!(console, "Kernel panic - not today");
}

/// A kernel that has objects of a file system although none is mounted cannot start anew, and says so before it asks
/// anything of the disk.
#[test]
fn a_kernel_that_has_lost_objects_does_not_mount() {
    let Some(kernel) = kernel() else { return };
    let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
    let mut disk = zeros();
    let with_empty = |cache: &str| {
        let emptied = vec![cache.to_owned()];
        Step::Mount(Mount {
            kind: "ext2".to_owned(),
            options: String::new(),
            hidden: Vec::new(),
            emptied,
            medium: Medium::Disk,
        })
    };
    // There are always names in memory, but no inodes of btrfs.
    let answers = guest.run(&mut disk, &[with_empty("dentry")]).unwrap();
    assert!(matches!(answers[..], [Err(Errno::ENOTEMPTY)]) && disk.reads == 0, "{answers:?}");
    let answers = guest.run(&mut disk, &[with_empty("btrfs_inode")]).unwrap();
    assert!(matches!(answers[..], [Err(Errno::EINVAL)]) && disk.reads > 0, "{answers:?}");
}

/// The one of Debian warns of itself at times, and chats at all times.
#[test]
fn nothing_is_quoted_of_what_a_kernel_says_while_it_boots() {
    for kernel in kernel().into_iter().chain(guest::Kernel::of_debian()) {
        let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
        assert_eq!(guest.complaint(), None, "{}", kernel.identity());
        kill_process(guest.kernel_process().unwrap(), Signal::ABORT).unwrap();
        let error = guest.run(&mut zeros(), &[Step::Observe]).unwrap_err();
        let GuestError::Died { console } = &error else { panic!("{error}") };
        assert_eq!(console, "", "{}", kernel.identity());
    }
}
