//! System calls on the kernel of this machine against the reference: same ops, same outcomes, same trees.
//!
//! Runs as root only, each sequence in a thread shut into a fresh directory. What is not compared, and why, stands in
//! `legal.rs`; an arm that cannot run says so.

#[path = "../../../vfs/tests/reference/mod.rs"]
mod reference;

mod ground;
mod legal;

use ground::{Ground, Kernel, grounds, tree};
use reference::{
    cases::{Case, tables},
    workload::{Allowed, Step, prelude, step},
};
use vfs::{Config, Credentials, Reference, diff};

/// How many random sequences, and how long each is.
const SEQUENCES: u64 = 60;
const STEPS: usize = 60;

#[test]
fn tables_hold_on_the_kernel() {
    for ground in grounds() {
        let mut failures = Vec::new();
        for (family, cases) in tables() {
            for case in cases.iter().filter(|case| case.reference_only.is_none()) {
                if legal::skips(ground, case.setup.iter().chain(case.steps.iter().map(|(op, _)| op))) {
                    continue;
                }
                if let Err(why) = check_case(ground, case) {
                    failures.push(format!("{family}: {}: {why}", case.rule));
                }
            }
        }
        assert!(failures.is_empty(), "on {}:\n{}", ground.name, failures.join("\n"));
    }
}

fn check_case(ground: &Ground, case: &Case) -> Result<(), String> {
    ground.run(case.config.umask, |kernel| {
        for op in &case.setup {
            kernel.apply(&Credentials::default(), op).map_err(|errno| format!("setup {op:?} gives {errno}"))?;
        }
        for (op, expected) in &case.steps {
            let outcome = kernel.apply(&case.config.caller, op);
            if outcome != *expected {
                return Err(format!("{op:?} gives {outcome:?}, expected {expected:?}"));
            }
        }
        match case.tree {
            Some(expected) if tree().to_string() != expected => Err(format!("leaves\n{}", tree())),
            _ => Ok(()),
        }
    })?
}

#[test]
fn random_sequences_agree_with_the_kernel() {
    for ground in grounds() {
        let allowed = Allowed { fallocate: &ground.fallocate, unaligned_direct: ground.checks_direct, users: true };
        for seed in 0..SEQUENCES {
            let mut random = fastrand::Rng::with_seed(seed);
            let steps: Vec<_> = (0..STEPS).map(|_| step(&mut random, allowed)).collect();
            let agreed = ground.run(0, |kernel| follow(kernel, ground, &steps)).expect("the ground was probed");
            if let Err(why) = agreed {
                panic!("on {}, seed {seed}: {why}", ground.name);
            }
        }
    }
}

/// Runs a sequence on both and says where they part.
fn follow(kernel: &mut Kernel, ground: &Ground, steps: &[Step]) -> Result<(), String> {
    let mut reference =
        Reference::with(Config { protected_hardlinks: ground.protected_hardlinks, ..Config::default() });
    let mut done = Vec::new();
    for step in prelude().iter().chain(steps) {
        let Step { caller, op } = step;
        let before = reference.clone();
        reference.configure(|config| config.caller = caller.clone());
        let (outcome, expected) = (kernel.apply(caller, op), reference.apply(op));
        done.push(format!("{} {op:?}", caller.uid));
        let (found, expected_tree) = (tree(), reference.tree());
        let difference = diff(&found, &expected_tree);
        if outcome == expected && difference.is_empty() {
            continue;
        }
        if let Some(reason) = legal::reason(step, (&outcome, &expected), (&found, &expected_tree)) {
            // The two states are no longer the same, so what would follow cannot be compared.
            eprintln!("on {}: {op:?}: {reason}", ground.name);
            return Ok(());
        }
        return Err(format!(
            "{}\nthe kernel gives {outcome:?}, the reference {expected:?}\n{difference}before:\n{}open: {:?}",
            done.join("\n"),
            before.tree(),
            before.open_files(),
        ));
    }
    Ok(())
}
