//! The judge agrees with an oracle that enumerates everything, on thousands of small random histories; and whatever
//! is left of a history when its unpinned end is dropped raises no alarm.

use std::collections::BTreeMap;

use fastrand::Rng;
use vfs::{
    File, Op, Path, Value,
    contract::{Contract, Event},
};

use crate::{
    brute::Brute,
    random::{Scene, UNTOUCHED, found},
};

const SCENES: u64 = 4000;
const TREES_PER_SCENE: usize = 4;

/// More combinations of names would take the enumeration too long; such scenes are counted.
const COMBINATIONS_MAX: usize = 256;

#[test]
fn the_judge_agrees_with_enumeration() {
    let mut verdicts: BTreeMap<Option<Contract>, usize> = BTreeMap::new();
    let mut skipped = 0;
    for seed in 0..SCENES {
        let random = &mut Rng::with_seed(seed);
        let scene = Scene::new(random, 6);
        let events = scene.returned.iter().chain(&scene.under_way).cloned().collect();
        let brute = Brute::new(scene.base.clone(), events, scene.returned.len());
        if brute.combinations() > COMBINATIONS_MAX {
            skipped += 1;
            continue;
        }
        let history = scene.history();
        let orders = [scene.under_way.as_slice()];
        let crash = history.crash(history.len(), if scene.under_way.is_empty() { &[] } else { &orders });
        for _ in 0..TREES_PER_SCENE {
            let found = found(random, &scene.trees());
            let expected = brute.strongest(&found);
            let judged = crash.strongest(&found);
            if judged != expected {
                let told: Vec<String> = crash.judge(Contract::Prefix, &found).iter().map(ToString::to_string).collect();
                let ops: Vec<String> = history
                    .events()
                    .chain(&scene.under_way)
                    .map(|event| format!("{} -> {:?}", event.op, event.outcome))
                    .collect();
                panic!(
                    "seed {seed}: judged {judged:?}, by enumeration {expected:?}\n\
                     base\n{}ops {ops:#?} (under way: {})\nfound\n{found}{told:#?}",
                    scene.base,
                    scene.under_way.len()
                );
            }
            *verdicts.entry(judged).or_default() += 1;
        }
    }
    assert!(skipped < 300, "{skipped} scenes skipped");
    let rare: Vec<_> =
        Contract::ALL.into_iter().map(Some).chain([None]).filter(|v| verdicts.get(v) < Some(&50)).collect();
    assert!(rare.is_empty(), "the random trees are one-sided: {verdicts:?}");
}

#[test]
fn dropping_the_unpinned_end_of_a_history_raises_no_alarm() {
    for seed in 0..200 {
        let scene = Scene::new(&mut Rng::with_seed(seed), 25);
        let history = scene.history();
        // A late pin that asks for nothing new: earlier moments are no longer accepted at sight but searched for.
        let mut searched = history.clone();
        let file = File::Path(Path::new(UNTOUCHED).unwrap());
        let after = history.tree().clone();
        searched.push(Event { op: Op::Fsync { file }, outcome: Ok(Value::Done), after });
        let pins = |event: &Event| event.outcome.is_ok() && event.op.is_persistence();
        let last_pin = scene.returned.iter().rposition(pins).map_or(0, |op| op + 1);
        for (moment, tree) in scene.trees().into_iter().enumerate().take(history.len() + 1).skip(last_pin) {
            let crash = history.crash(history.len(), &[]);
            assert_eq!(crash.strongest(tree), Some(Contract::Prefix), "seed {seed}, after op {moment}");
            let searched = searched.crash(searched.len(), &[]);
            assert_eq!(searched.strongest(tree), Some(Contract::Prefix), "seed {seed}, after op {moment}, searched");
        }
    }
}

#[test]
fn an_op_that_returns_forbids_nothing_unless_it_says_so() {
    let mut compared = [0; 2];
    for seed in 0..SCENES {
        let random = &mut Rng::with_seed(seed);
        let scene = Scene::new(random, 6);
        let [last] = scene.under_way.as_slice() else { continue };
        let before = scene.history();
        let mut after = before.clone();
        after.push(last.clone());
        let under_way = before.crash(before.len(), &[&scene.under_way]);
        let returned = after.crash(after.len(), &[]);
        for _ in 0..TREES_PER_SCENE {
            let found = found(random, &scene.trees());
            let differs = under_way.strongest(&found) != returned.strongest(&found);
            assert!(!differs || before.demands_more_after(&last.op), "seed {seed}: {} found\n{found}", last.op);
            compared[usize::from(differs)] += 1;
        }
    }
    assert!(compared.iter().all(|count| *count > 100), "one-sided: {compared:?}");
}
