//! Best-first searches: a score decides who comes first, and nothing else.

use check::{Action, CheckOptions, CheckReport, Checkable, Checker, RunOptions, Score, State};
use disk::CrashMode::{Off, Prefix, Subsets};
use explore::{Order, Stepped, System};
use vfs::contract::Contract::{Mountable, Prefix as AnyMoment};

use crate::{
    journal::{Journal, Replay},
    searching::{options, run_options, search, violated},
    store::{Flaw, Kind, Store},
};

const SCORES: [Score; 3] = [Score::None, Score::Novelty, Score::Recovery];

fn search_by(score: Score, threads: usize, target: &impl Checkable, options: CheckOptions) -> CheckReport {
    let run = RunOptions { score, threads, ..run_options(Order::BestFirst) };
    target.check(options, &run, &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

#[test]
fn a_search_to_the_end_finds_the_same_by_any_score() {
    let stores = [
        (Kind::OneBlock, Flaw::None),
        (Kind::OneBlock, Flaw::SyncDoesNothing),
        (Kind::TwoSlots, Flaw::None),
        (Kind::TwoSlots, Flaw::Unchecked),
        (Kind::TwoSlots, Flaw::NoFlush),
    ];
    for (kind, flaw) in stores {
        let options = options(Subsets, AnyMoment);
        let expected = search(&Store::new(kind, flaw), options);
        assert_eq!(expected.violations.is_empty(), flaw == Flaw::None, "{kind:?} {flaw:?}");
        for score in SCORES {
            for threads in [1, 2] {
                let found = search_by(score, threads, &Store::new(kind, flaw), options);
                let about = format!("{kind:?} {flaw:?} by {score:?} with {threads} threads");
                assert_eq!(found.states, expected.states, "{about}");
                assert_eq!(found.work.crash_states_distinct, expected.work.crash_states_distinct, "{about}");
                assert_eq!(violated(&found), violated(&expected), "{about}");
            }
        }
    }
}

#[test]
fn with_one_thread_a_search_always_goes_the_same_way() {
    for score in SCORES {
        let cut_short = || {
            let run = run_options(Order::BestFirst);
            let budget = explore::Budget { states: Some(60), ..run.budget };
            let run = RunOptions { score, budget, ..run };
            let store = Store::new(Kind::OneBlock, Flaw::None);
            let report = store.check(options(Subsets, AnyMoment), &run, &mut |_, _| {}).expect("nothing to fail");
            (report.states, report.states_revisited, report.depth, report.work)
        };
        assert_eq!(cut_short(), cut_short(), "{score:?}");
    }
}

/// Where the only action leads.
fn after(checker: &Checker<'_, Journal>, state: &State<Journal>) -> Vec<State<Journal>> {
    let mut actions: Vec<Action> = Vec::new();
    checker.actions(state, &mut actions);
    Stepped::by(checker, state, &actions[0]).outcomes
}

/// A record in the journal is three blocks of work for recovery: two homes, and the record that is cleared. It is found
/// after a power cut, and it would be found after the op.
#[test]
fn what_recovery_wrote_on_the_way_is_the_score() {
    let journal = Journal(Replay::Right);
    for (score, crash, expected) in
        [(Score::Recovery, Prefix, vec![3, 3]), (Score::Recovery, Off, vec![0]), (Score::None, Prefix, vec![0, 0])]
    {
        let checker = Checker::new(&journal, options(crash, Mountable)).score(score);
        let start = checker.initial().remove(0);
        assert_eq!(System::score(&checker, &start), 0, "there was no recovery yet");
        let scores: Vec<i64> = after(&checker, &start).iter().map(|state| System::score(&checker, state)).collect();
        assert_eq!(scores, expected, "{score:?} {crash}");
    }
}

#[test]
fn a_state_is_less_of_a_novelty_each_time() {
    let journal = Journal(Replay::Right);
    let checker = Checker::new(&journal, options(Prefix, Mountable)).score(Score::Novelty);
    let start = checker.initial().remove(0);
    let [first, second] = [(); 2].map(|()| System::score(&checker, &start));
    let created = after(&checker, &start).pop().expect("the state after the op");
    let unlike = System::score(&checker, &created);
    assert!(second < unlike && unlike < first, "it shares some features: {second} {unlike} {first}");
}
