//! Trouble that is no fault of what was written to the disk: each kind is told apart, and one that only looks like it
//! is not taken for it.

use std::{fs, time::Duration};

use check::Target as _;
use disk::Disk;
use guest::Described;
use host::{HostTarget, MountedBy, Subject};
use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{Uid, set_thread_uid},
};
use vfs::{Errno, contract::Contract};

use crate::{any, ext4, here, mounted_by, task};

/// Behind the file system, the disk has room that is nobody's.
const MKFS: &str = "mke2fs -q -F -t ext4 -b 1024 -N 32 -m 0 {dev} 2080";
const MOUNT: &str = "mount -t ext4 -o nodelalloc,commit=2000,noinit_itable {dev} {mnt}";
const WRITE: &str = "dd status=none conv=notrunc oflag=direct bs=512 count=1 of={dev}";

fn ext4_by(mount: String) -> HostTarget {
    mounted_by(mount, Described { mkfs: Some(MKFS.to_owned()), ..any(Contract::Mountable) }, 4096)
}

/// Goes on twice from one state; what is complained about the second time, which does the first op again.
fn complaint_when_restored(target: &HostTarget) -> Option<&'static str> {
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    target.step(&mut mounted, &mut disk, &mut task("mkdir(\"/d\")", 0)).unwrap().unwrap();
    assert_eq!(target.complaint(&mounted), None);
    let mut complaint = None;
    for op in ["mkdir(\"/e\")", "mkdir(\"/f\")"] {
        let (mut disk, mut mounted) = (disk.clone(), mounted.clone());
        let _ = target.step(&mut mounted, &mut disk, &mut task(op, 1));
        complaint = target.complaint(&mounted).map(|finding| finding.property.name);
    }
    complaint
}

#[test]
fn other_bytes_in_the_same_places_are_no_trouble() {
    let Some(target) = here(ext4_by(format!("{WRITE} if=/dev/urandom seek=5000; {MOUNT}"))) else { return };
    assert_eq!(complaint_when_restored(&target), None);
}

/// That eight places, chosen at random among 256, are the same twice, nobody lives to see.
#[test]
fn what_writes_elsewhere_each_time_is_not_deterministic() {
    let places = "for place in $(od -An -N8 -tu1 /dev/urandom)";
    let scatters = format!("{places}; do {WRITE} if=/dev/zero seek=$((5000 + place)); done; {MOUNT}");
    let Some(target) = here(ext4_by(scatters)) else { return };
    assert_eq!(complaint_when_restored(&target), Some("host-nondeterministic"));
}

#[test]
fn what_never_mounts_hangs() {
    let target = ext4_by("sleep 1000000".to_owned()).hanging_after(Duration::from_millis(100));
    let Some(target) = here(target) else { return };
    let mounted = target.mount(&mut Disk::new(target.mkfs())).unwrap();
    assert_eq!(target.complaint(&mounted).unwrap().property.name, "host-hangs");
}

#[test]
fn what_is_gone_is_unavailable() {
    let mark = &format!("unavailable-{}", std::process::id());
    let Some(target) = here(ext4_by(format!("{MOUNT} # {mark}"))) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    for worker in workers_of(mark) {
        kill_process(worker, Signal::KILL).unwrap();
    }
    let outcome = target.step(&mut mounted, &mut disk, &mut task("mkdir(\"/d\")", 0)).unwrap();
    assert!(outcome.is_err());
    let finding = target.complaint(&mounted).unwrap();
    assert_eq!(finding.property.name, "host-unavailable");
    assert!(target.is_of_the_machine(&finding), "the file system has done nothing wrong");
}

/// Something below the mount point is in use, so that it cannot be unmounted. What comes next is mounted elsewhere.
#[test]
fn a_worker_that_cannot_unmount_is_not_used_again() {
    let elsewhere = MOUNT.replace("{mnt}", "{store}");
    let stay = "(cd {store} && exec sleep 1000) & sleep 0.2; mount --move {store} {mnt}";
    let Some(target) = here(ext4_by(format!("mkdir {{store}} && {elsewhere} && {{ {stay}; }}"))) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    assert_eq!(target.unmount(&mut mounted, &mut disk), Err(Errno::EBUSY));
    let mounted = target.mount(&mut Disk::new(target.mkfs())).unwrap();
    assert_eq!((target.complaint(&mounted), mounted_tree(&target, &mounted)), (None, true));
}

/// A program that was killed says nothing of the file system; and it comes before the first mount, as a repair does.
#[test]
fn a_repair_that_was_killed_accuses_nobody() {
    let (fsck, repair) = (Some("true".to_owned()), Some("kill -KILL $$".to_owned()));
    let described = Described { mkfs: Some(MKFS.to_owned()), fsck, repair, ..any(Contract::Mountable) };
    let Some(target) = here(mounted_by(MOUNT.to_owned(), described, 4096)) else { return };
    let mut disk = Disk::new(target.mkfs());
    for findings in [target.fsck(&mut disk), target.full_fsck(&mut disk).unwrap()] {
        let findings = findings.unwrap();
        assert!(findings.len() == 1 && target.is_of_the_machine(&findings[0]), "{findings:?}");
    }
    assert_eq!(disk.log().entries().count(), 0, "nothing was mounted");
}

fn mounted_tree(target: &HostTarget, mounted: &<HostTarget as check::Target>::Mounted) -> bool {
    target.observe(mounted, &Disk::new(target.mkfs())).is_ok()
}

/// The workers of this process that are given a command with this mark.
fn workers_of(mark: &str) -> Vec<Pid> {
    let text = |pid: i32, file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let words = |pid| String::from_utf8_lossy(&text(pid, "cmdline")).into_owned();
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_one = |pid: &i32| words(*pid).contains("worker") && words(*pid).contains(mark);
    pids.filter(is_one).filter_map(Pid::from_raw).collect()
}

/// Each thread of Linux has a user of its own; this one is not root from now on.
#[test]
fn without_root_a_guest_is_proposed() {
    let refused = std::thread::spawn(|| {
        if rustix::process::geteuid().is_root() {
            set_thread_uid(Uid::from_raw(65534)).unwrap();
        }
        HostTarget::new(Subject { file_system: ext4(), mounted_by: MountedBy::RunningKernel }).ready()
    });
    let words = "mount a file system on this machine: that takes root; or use guest:ext4";
    assert_eq!(refused.join().unwrap(), Err(words.to_owned()));
}
