//! Ops on a mounted file system: what a user sees, what arrives at the disk, and what a state looks like that is
//! restored.

use check::Target as _;
use disk::{Asked, Disk, EntryKind, in_order_of};
use guest::Live;
use host::Machine;
use posix::message::Step;

use crate::{ext2, ext4, kernel, task};

#[test]
fn what_is_done_is_seen_and_arrives_at_the_disk() {
    let Some(target) = kernel(ext4()) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    for (number, op) in ["create(\"/f\")", "write(\"/f\", at=end, len=5000, fill=7)"].iter().enumerate() {
        let outcome = target.step(&mut mounted, &mut disk, &mut task(op, u32::try_from(number).unwrap())).unwrap();
        assert!(outcome.is_ok(), "{op}: {outcome:?}");
    }
    let tree = target.observe(&mounted, &disk).unwrap().to_string();
    assert!(tree.contains("f  5000 bytes: 5000 x 07"), "{tree}");
    let before = disk.position();
    target.step(&mut mounted, &mut disk, &mut task("fsync(\"/f\")", 2)).unwrap().unwrap();
    let kinds: Vec<&EntryKind> = disk.log().entries().skip(before.0).map(|(_, entry)| &entry.kind).collect();
    let holds = |data: &[u8]| data.windows(512).any(|bytes| bytes == [7; 512]);
    let written = |kind: &&&EntryKind| matches!(kind, EntryKind::Write { data, .. } if holds(data));
    assert!(kinds.iter().any(|kind| written(&kind)), "the data is among what fsync wrote");
    assert_eq!(kinds.last(), Some(&&EntryKind::Flush), "and the last that fsync does is a flush");
    target.unmount(&mut mounted, &mut disk).unwrap();
    let mounted = target.mount(&mut disk).unwrap();
    assert_eq!(target.observe(&mounted, &disk).unwrap().to_string(), tree);
}

/// The disk of a state that was left is gone on with after the same was done again: both are one history.
#[test]
fn a_state_that_was_left_is_restored_and_gone_on_with() {
    for file_system in [ext2(), ext4()] {
        let Some(target) = kernel(file_system) else { return };
        let mut disk = Disk::new(target.mkfs());
        let mut mounted = target.mount(&mut disk).unwrap();
        for (number, op) in ["mkdir(\"/d\")", "create(\"/d/f\")", "sync()"].iter().enumerate() {
            target.step(&mut mounted, &mut disk, &mut task(op, u32::try_from(number).unwrap())).unwrap().unwrap();
        }
        let (left_disk, left_mounted) = (disk.clone(), mounted.clone());
        for op in ["unlink(\"/d/f\")", "mkdir(\"/e\")", "sync()"] {
            let (mut disk, mut mounted) = (left_disk.clone(), left_mounted.clone());
            target.step(&mut mounted, &mut disk, &mut task(op, 3)).unwrap().unwrap();
            assert_eq!(target.complaint(&mounted), None);
            assert!(disk.position() >= left_disk.position());
            target.unmount(&mut mounted, &mut disk).unwrap();
            target.mount(&mut disk).unwrap();
        }
    }
}

#[test]
fn a_crash_is_recovered_from() {
    let Some(target) = kernel(ext4()) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    for (number, op) in ["create(\"/f\")", "sync()", "create(\"/g\")"].iter().enumerate() {
        target.step(&mut mounted, &mut disk, &mut task(op, u32::try_from(number).unwrap())).unwrap().unwrap();
    }
    let mut crashed = Disk::new(disk.log().durable_at(disk.position()));
    let recovered = target.mount(&mut crashed).unwrap();
    let tree = target.observe(&recovered, &crashed).unwrap().to_string();
    assert!(tree.contains(" f ") && !tree.contains(" g "), "{tree}");
    assert!(crashed.log().entries().count() > 0, "the journal was replayed");
}

/// ext2 does not write the inode of a file that was changed again within a tick of the clock. However fast the same is
/// done, each op has a tick of its own.
#[test]
fn what_is_done_fast_asks_for_the_same_each_time() {
    let Some(target) = kernel(ext2()) else { return };
    let fresh = target.mkfs();
    let write = |fill: u32| format!("write(\"/f\", offset=0, len=512, fill={fill})");
    let ops = ["create(\"/f\")", &write(1), "sync()", &write(2), "fsync(\"/f\")"].map(|op| op.parse().unwrap());
    let steps = std::iter::once(Step::Mount(ext2().mount())).chain(ops.map(Step::Run)).chain([Step::Unmount]);
    let steps: Vec<Step> = steps.collect();
    let mut machine = Machine::start(fresh.geometry().blocks.into(), &[]).unwrap();
    let mut run = || {
        let mut disk = Disk::new(fresh.clone());
        let answers = machine.run(&mut Live::new(&mut disk, false), &steps).unwrap();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        disk.log().entries().map(|(_, entry)| entry.kind.clone()).collect::<Vec<_>>()
    };
    let first: Vec<Asked> = run().iter().map(Asked::of).collect();
    for number in 0..20 {
        if let Err(difference) = in_order_of(&first, run()) {
            panic!("run {number}: {difference}");
        }
    }
}
