//! States of one canonical form have the same futures, in canonical forms and in violations.
//!
//! A search expands only the first state that it meets of each form. Were a form to stand for states with different
//! futures, then what a search finds, or how many states it counts, would depend on which of them comes first. So here
//! two states of each form are expanded and compared.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use check::{Checker, State};
use disk::CrashMode;
use explore::{Stepped, System};
use models::mapping::{FileMapping, Index, Layout, Link, Variant, Writes};

use crate::searching::{options, variant};

/// How many states of each form are expanded.
const EXPANDED_MAX: usize = 2;

/// Everything that may come next: the forms of the states, and the names of what is violated on the way.
type Future = BTreeSet<Vec<u8>>;

fn form<L: Layout>(checker: &Checker<'_, FileMapping<L>>, state: &State<FileMapping<L>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    checker.canonical(state, &mut bytes);
    bytes
}

/// The future of a state, and the states that it may lead to at once.
fn expand<L: Layout>(
    checker: &Checker<'_, FileMapping<L>>,
    state: &State<FileMapping<L>>,
) -> (Future, Vec<State<FileMapping<L>>>) {
    let mut actions = Vec::new();
    checker.actions(state, &mut actions);
    let (mut future, mut outcomes) = (Future::new(), Vec::new());
    for stepped in actions.iter().map(|action| Stepped::by(checker, state, action)) {
        future.extend(stepped.violations.iter().map(|(property, _)| property.name.as_bytes().to_vec()));
        future.extend(stepped.outcomes.iter().map(|next| form(checker, next)));
        outcomes.extend(stepped.outcomes);
    }
    (future, outcomes)
}

fn compare_futures<L: Layout>(variant: Variant, crash: CrashMode) {
    let target = FileMapping::<L>::new(variant);
    let options = options(crash);
    assert!(!options.forgets_what_was_judged(&target), "what was judged is no part of the future there");
    let checker = Checker::new(&target, options);
    let mut futures: HashMap<Vec<u8>, (Future, usize)> = HashMap::new();
    let mut met = HashSet::new();
    let mut waiting: VecDeque<_> = checker.initial().into();
    while let Some(state) = waiting.pop_front() {
        let form = form(&checker, &state);
        if futures.get(&form).is_some_and(|(_, expanded)| *expanded == EXPANDED_MAX) {
            continue;
        }
        let (future, outcomes) = expand(&checker, &state);
        let (known, expanded) = futures.entry(form).or_insert_with(|| (future.clone(), 0));
        assert!(
            *known == future,
            "{variant:?} under {crash}: a form with {} and {} futures",
            known.len(),
            future.len()
        );
        *expanded += 1;
        for next in outcomes {
            let mut bytes = Vec::new();
            checker.encode(&next, &mut bytes);
            if met.insert(bytes) {
                waiting.push_back(next);
            }
        }
    }
    let compared = futures.values().filter(|(_, expanded)| *expanded > 1).count();
    assert!(compared * 2 > futures.len(), "{variant:?} under {crash}: {compared} of {} forms", futures.len());
}

fn every_order_of_writes<L: Layout>() {
    for writes in [Writes::Naive, Writes::Cached, Writes::Ordered, Writes::Barrier] {
        compare_futures::<L>(variant(writes, 1, (3, 3)), CrashMode::Subsets);
        compare_futures::<L>(variant(writes, 2, (2, 3)), CrashMode::Subsets);
        let cache = Variant::cache_default(writes).or(Some(3));
        compare_futures::<L>(Variant { cache, ..variant(writes, 2, (2, 3)) }, CrashMode::Flushed);
    }
}

#[test]
fn one_form_has_one_future_in_link() {
    every_order_of_writes::<Link>();
}

#[test]
fn one_form_has_one_future_in_index() {
    every_order_of_writes::<Index>();
}
