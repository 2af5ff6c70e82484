//! What holds whatever is done to the reference.

mod reference;

use proptest::{prelude::*, test_runner::Config as Runs};
use reference::workload::{ANYTHING, Choices, Step, prelude, step};
use vfs::{Config, NodeKind, Reference, Tree, Value};

/// Workloads that shrink by leaving steps out: each step has its own seed.
fn workloads() -> impl Strategy<Value = Vec<Step>> {
    let seeds = proptest::collection::vec(any::<u64>(), 1..60);
    seeds.prop_map(|seeds| {
        let random = seeds.into_iter().map(|seed| step(&mut Choices(seed), ANYTHING));
        prelude().into_iter().chain(random).collect()
    })
}

fn apply(fs: &mut Reference, step: &Step) -> vfs::Outcome {
    fs.configure(|config| config.caller = step.caller.clone());
    fs.apply(&step.op)
}

/// Everything that can be told of a state: the tree with its identities, and what is open.
fn state(fs: &Reference) -> String {
    let open: Vec<_> = fs.open_files().values().map(|file| fs.node(file.node)).collect();
    format!("{:?} {:?} {open:?}", fs.tree().nodes, fs.open_files())
}

fn bytes(tree: &Tree) -> usize {
    let size = |kind: &NodeKind| if let NodeKind::File(bytes) = kind { bytes.len() } else { 0 };
    tree.nodes.values().map(|node| size(&node.kind)).sum()
}

proptest! {
    #![proptest_config(Runs { cases: 256, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(4), ..Runs::default() })]

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
            let before = state(&fs);
            if apply(&mut fs, step).is_err() {
                prop_assert_eq!(before, state(&fs), "{:?}", step);
            }
        }
    }

    #[test]
    fn clones_and_trees_live_apart(workload in workloads(), cut in 0_usize..60) {
        let (first, second) = workload.split_at(cut.min(workload.len()));
        let mut fs = Reference::new();
        first.iter().for_each(|step| drop(apply(&mut fs, step)));
        let (before, tree) = (state(&fs), fs.tree());
        let printed = tree.to_string();
        let mut clone = fs.clone();
        let outcomes: Vec<_> = second.iter().map(|step| apply(&mut clone, step)).collect();
        prop_assert_eq!(&before, &state(&fs));
        prop_assert_eq!(printed, tree.to_string());
        let again: Vec<_> = second.iter().map(|step| apply(&mut fs, step)).collect();
        prop_assert_eq!(outcomes, again);
        prop_assert_eq!(state(&clone), state(&fs));
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
        let mut fs = Reference::new();
        workload.iter().for_each(|step| drop(apply(&mut fs, step)));
        let before = fs.tree();
        prop_assert_eq!(fs.apply(&vfs::Op::Remount), Ok(Value::Done));
        prop_assert!(fs.tree().same_as(&before));
        prop_assert!(fs.open_files().is_empty());
    }
}
