//! Requests that fail: the op fails and has changed nothing, what is on the disk can be mounted, and the op can be done
//! again.

use std::sync::Arc;

use check::{CheckOptions, Checkable, Target};
use disk::{CrashMode, Disk, Failing, Fault, Faults};
use models::{
    cow::{Commit, Cow, Flaw, Memory, Variant},
    nodes::NodeTarget,
};
use vfs::{Errno, Outcome};

use crate::{
    driver,
    searching::{search_with, target},
};

const OPS: [&str; 10] = [
    "mkdir(\"/d\")",
    "create(\"/d/f\")",
    "write(\"/d/f\", offset=0, len=100, fill=1)",
    "fsync(\"/d/f\")",
    "write(\"/d/f\", offset=70, len=9, fill=2)",
    "sync()",
    "truncate(\"/d/f\", size=30)",
    "fsync(\"/d/f\")",
    "rename(\"/d/f\", \"/g\")",
    "fsync(\"/g\")",
];

const VARIANTS: [(bool, Commit); 4] =
    [(false, Commit::Barrier), (true, Commit::Barrier), (false, Commit::Verify), (true, Commit::Verify)];

fn step(target: &NodeTarget<Cow>, memory: &mut Arc<Memory>, disk: &mut Disk, op: &str) -> Outcome {
    driver::run(target, memory, disk, op.parse().expect("it is an op"))
}

/// Lets the request fail of which `fault` speaks; whether there was one.
fn survives(target: &NodeTarget<Cow>, memory: &Arc<Memory>, disk: &Disk, op: &str, fault: Fault) -> bool {
    let (mut memory, mut disk) = (memory.clone(), disk.clone());
    let before = target.observe(&memory, &disk).expect("nothing failed yet");
    disk.arm(Faults::from_slice(&[fault]));
    let outcome = step(target, &mut memory, &mut disk, op);
    if disk.disarm().of(fault.what) <= fault.after {
        assert!(outcome.is_ok(), "{op}: {outcome:?} without a fault");
        return false;
    }
    let errno = if fault.what == Failing::Allocation { Errno::ENOMEM } else { Errno::EIO };
    assert_eq!(outcome, Err(errno), "{op} with {fault:?}");
    let after = target.observe(&memory, &disk).expect("it can be read");
    assert!(after.same_as(&before), "{op} with {fault:?} failed and changed something");
    let mut crashed = Disk::new(disk.image().clone());
    let recovered = target.mount(&mut crashed).expect("it can be mounted");
    assert_eq!(target.invariants(&recovered, &crashed), [], "{op} with {fault:?}");
    assert!(step(target, &mut memory, &mut disk, op).is_ok() && step(target, &mut memory, &mut disk, "sync()").is_ok());
    let expected = target.observe(&memory, &disk).expect("it can be read");
    let mut again = Disk::new(disk.image().clone());
    let mounted = target.mount(&mut again).expect("it can be mounted");
    let found = target.observe(&mounted, &again).expect("it can be read");
    assert!(found.same_as(&expected), "{op} done again after {fault:?}");
    true
}

#[test]
fn an_op_that_fails_has_changed_nothing_and_can_be_done_again() {
    for (log, commit) in VARIANTS {
        let target = NodeTarget::new(Cow::new(Variant::right(log, commit)));
        let mut disk = Disk::new(target.mkfs());
        let mut memory = target.mount(&mut disk).expect("it is fresh");
        let mut failed = 0;
        for op in OPS {
            for what in Failing::ALL {
                let faults = (0..).map(|after| Fault { what, after });
                failed += faults.take_while(|fault| survives(&target, &memory, &disk, op, *fault)).count();
            }
            assert!(step(&target, &mut memory, &mut disk, op).is_ok(), "{op}");
        }
        assert!(failed > 50, "{failed} faults");
    }
}

/// What is violated if so many requests may fail, in a complete search.
fn violated(variant: Variant, faults: u8, ops: &str, depth: u32) -> Vec<String> {
    let target = target(variant, ops);
    let contract = Checkable::promise(&target).contract;
    let options = CheckOptions { crash: CrashMode::Subsets, contract, faults, ..CheckOptions::default() };
    driver::violated(&search_with(options, &target, depth, 2))
}

#[test]
fn no_fault_and_no_two_faults_do_harm() {
    for (log, commit) in VARIANTS {
        let right = Variant::right(log, commit);
        for (faults, ops, depth) in
            [(1, "default,remount", 2), (1, "create,write,sync,remount", 3), (2, "create,fsync", 4)]
        {
            assert_eq!(violated(right, faults, ops, depth), [""; 0], "{right:?} {faults} {ops}");
        }
    }
}

/// A commit that failed at its flush may be found all the same. One that follows with nothing to write must see to it
/// that it is not, and one that follows with other nodes must not be mixed with it.
#[test]
fn a_commit_that_failed_is_given_up() {
    let found = [
        (false, CrashMode::Prefix, "create,unlink,fsync", 1, 4),
        (true, CrashMode::Prefix, "create,unlink,fsync,sync", 1, 4),
        (false, CrashMode::Torn, "create,unlink,fsync", 2, 5),
    ]
    .map(|(log, crash, ops, files_max, depth)| {
        let mut target = target(Variant::right(log, Commit::Verify), ops);
        target.bounds_mut().files_max = files_max;
        let contract = Checkable::promise(&target).contract;
        let options = CheckOptions { crash, contract, faults: 1, ..CheckOptions::default() };
        driver::violated(&search_with(options, &target, depth, 2))
    });
    assert_eq!(found, [const { Vec::<String>::new() }; 3]);
}

#[test]
fn changes_of_an_op_that_ran_out_of_memory_stay() {
    let wrong = Variant::wrong(Flaw::AbortKeepsChanges);
    assert_eq!(violated(wrong, 1, "create", 1), ["fault"]);
    assert_eq!(violated(wrong, 0, "default", 3), [""; 0], "while there is memory, nothing is wrong");
}
