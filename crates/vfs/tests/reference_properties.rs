//! What holds whatever is done to the reference.

mod reference;

use std::sync::Arc;

use proptest::{prelude::*, test_runner::Config as Runs};
use reference::workload::{ANYTHING, Step, prelude, step};
use vfs::{Config, Node, NodeKind, Reference, Tree, Value};

/// Workloads that shrink by leaving steps out: each step has its own seed.
fn workloads() -> impl Strategy<Value = Vec<Step>> {
    let seeds = proptest::collection::vec(any::<u64>(), 1..60);
    seeds.prop_map(|seeds| {
        let random = seeds.into_iter().map(|seed| step(&mut fastrand::Rng::with_seed(seed), ANYTHING));
        prelude().into_iter().chain(random).collect()
    })
}

fn apply(fs: &mut Reference, step: &Step) -> vfs::Outcome {
    fs.configure(|config| config.caller = step.caller.clone());
    fs.apply(&step.op)
}

/// Everything that can be told of a state: the nodes with their identities, what is open, and what that holds.
fn same_state(left: &Reference, right: &Reference) -> bool {
    fn open_nodes(fs: &Reference) -> impl Iterator<Item = Option<&Arc<Node>>> {
        fs.open_files().values().map(|file| fs.node(file.node))
    }
    left.tree().nodes == right.tree().nodes
        && left.open_files() == right.open_files()
        && open_nodes(left).eq(open_nodes(right))
}

/// The state after a workload. Two replays share no memory, so a change of the one cannot hide in the other.
fn replay(workload: &[Step]) -> Reference {
    let mut fs = Reference::new();
    for step in workload {
        let _ = apply(&mut fs, step);
    }
    fs
}

fn bytes(tree: &Tree) -> usize {
    let size = |kind: &NodeKind| if let NodeKind::File(bytes) = kind { bytes.len() } else { 0 };
    tree.nodes.values().map(|node| size(&node.kind)).sum()
}

proptest! {
    #![proptest_config(Runs {
        cases: 256,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(4),
        ..Runs::default()
    })]

    #[test]
    fn trees_are_sound(workload in workloads()) {
        let mut fs = Reference::new();
        for step in &workload {
            let _ = apply(&mut fs, step);
            prop_assert_eq!(fs.tree().invariants(), vec![], "after {:?}", step);
            for file in fs.open_files().values() {
                prop_assert!(fs.node(file.node).is_some(), "an open file is gone after {:?}", step);
            }
        }
    }

    #[test]
    fn a_failed_op_changes_nothing(workload in workloads()) {
        let mut fs = Reference::new();
        for step in &workload {
            let before = fs.clone();
            if apply(&mut fs, step).is_err() {
                prop_assert!(same_state(&before, &fs), "{:?}", step);
            }
        }
    }

    #[test]
    fn clones_and_trees_live_apart(workload in workloads(), cut in 0_usize..60) {
        let (first, second) = workload.split_at(cut.min(workload.len()));
        let (mut fs, untouched) = (replay(first), replay(first));
        let tree = fs.tree();
        let mut clone = fs.clone();
        let outcomes: Vec<_> = second.iter().map(|step| apply(&mut clone, step)).collect();
        prop_assert!(same_state(&fs, &untouched));
        prop_assert_eq!(&tree.nodes, &untouched.tree().nodes);
        let again: Vec<_> = second.iter().map(|step| apply(&mut fs, step)).collect();
        prop_assert_eq!(outcomes, again);
        prop_assert!(same_state(&clone, &fs));
    }

    #[test]
    fn capacity_is_honoured(workload in workloads(), capacity in 0_u64..30_000) {
        let mut fs = Reference::with(Config { capacity: Some(capacity), ..Config::default() });
        let mut free = Reference::new();
        for step in &workload {
            let outcome = apply(&mut fs, step);
            prop_assert!(bytes(&fs.tree()) as u64 <= capacity, "{:?} goes beyond", step);
            // As long as nothing was refused for want of space, the limit cannot be noticed.
            if outcome != apply(&mut free, step) {
                let short = matches!(outcome, Ok(Value::Count(_)) | Err(vfs::Errno::ENOSPC));
                prop_assert!(short, "{:?} gives {:?} on a full disk", step, outcome);
                return Ok(());
            }
        }
    }

    #[test]
    fn a_remount_loses_only_what_is_open(workload in workloads()) {
        let mut fs = replay(&workload);
        let before = fs.tree();
        prop_assert_eq!(fs.apply(&vfs::Op::Remount), Ok(Value::Done));
        prop_assert!(fs.tree().same_as(&before));
        prop_assert!(fs.open_files().is_empty());
    }
}
