//! A search that is cut short, saved and resumed comes to what it would have come to uninterrupted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use explore::{
    Budget, CheckpointError, Limit, Order, Pace, Report, Search, SearchError, System, VisitedKind, checkpoint_note,
};

use crate::systems::{BAD_STATE, EXHAUSTIVE, Forks, Graph, Numbers, counted, depth, follow, states};

const KINDS: [VisitedKind; 4] =
    [VisitedKind::Exact, VisitedKind::Hash64, VisitedKind::Hash128, VisitedKind::Bitstate { bits_log2: 16, hashes: 3 }];

/// A file of one test, not there yet.
pub fn fresh(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.checkpoint"));
    let _was_there = fs::remove_file(&file);
    file
}

type Found<S> = Report<<S as System>::Action, <S as System>::Evidence>;

/// Runs `search` in parts of `part` states, each on another number of threads. Returns the number of parts too.
fn in_parts<'a, S: System + 'a>(
    file: &Path,
    part: u64,
    search: impl Fn() -> Search<'a, S>,
    bound: Budget,
) -> (Found<S>, u64) {
    let mut parts = 0;
    loop {
        parts += 1;
        let threads = usize::try_from(parts % 3).expect("small") + 1;
        let mut next = search().threads(threads).checkpoint(file, "test");
        if parts > 1 {
            next = next.resume(file);
        }
        let report = next.budget(Budget { states: Some(parts * part), ..bound }).run().unwrap();
        if !report.limits.iter().any(|limit| matches!(limit, Limit::States(_))) {
            return (report, parts);
        }
    }
}

fn connected(padding: usize) -> Graph {
    let mut graph = Graph { padding, ..Graph::random(5, 300) };
    for (next, actions) in (1..300).zip(&mut graph.edges) {
        actions.push(vec![next]);
    }
    graph
}

#[test]
fn a_search_in_parts_comes_to_the_same() {
    for (padding, kind) in [0, 30].into_iter().flat_map(|padding| KINDS.map(|kind| (padding, kind))) {
        let graph = connected(padding);
        for order in [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst] {
            let search = || Search::new(&graph).visited(kind).order(order);
            let whole = search().run().unwrap();
            for part in [25, 299] {
                let file = fresh("parts");
                let (report, parts) = in_parts(&file, part, search, Budget::default());
                let case = format!("{kind:?} {order:?} part {part}");
                assert!(parts > 1 && file.exists(), "{case}");
                assert_eq!(report.states, whole.states, "{case}");
                assert_eq!(report.states_revisited, whole.states_revisited, "{case}");
                assert_eq!((report.complete, &report.limits), (whole.complete, &whole.limits), "{case}");
                assert_eq!(counted(&report), counted(&whole), "{case}");
                assert_eq!(counted(&report), graph.violation_counts(), "{case}");
                for violation in &report.violations {
                    let (state, last) = follow(&graph, violation.initial, &violation.trace);
                    assert_eq!(
                        (state, last.is_none()),
                        (violation.evidence, violation.property == BAD_STATE),
                        "{case}"
                    );
                }
            }
        }
    }
}

/// Runs `search`, which is saved whenever it knows `every` more states; returns copies of all that it saved on the way
/// but the last.
fn saved_on_the_way<'a, S: System + 'a>(name: &str, search: Search<'a, S>, every: u64) -> (Found<S>, Vec<PathBuf>) {
    let file = fresh(name);
    let (copies, last) = (std::sync::Mutex::new(Vec::new()), file.clone());
    let report = search.checkpoint(&file, "test").save_every(Pace::States(every)).note(|now| {
        let mut copies = copies.lock().unwrap();
        // What is there is what a kill in this moment would leave.
        let copy = fresh(&format!("{name}-{}", copies.len()));
        if fs::copy(&last, &copy).is_ok() {
            copies.push(copy);
        }
        format!("at {}", now.states)
    });
    let report = report.run().unwrap();
    (report, copies.into_inner().unwrap())
}

#[test]
fn a_search_is_resumed_from_any_moment_at_which_it_was_saved() {
    let graph = connected(0);
    for (kind, order, threads) in KINDS.into_iter().flat_map(|kind| {
        let orders = [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst];
        orders.into_iter().flat_map(move |order| [1, 3].map(|threads| (kind, order, threads)))
    }) {
        let case = format!("{kind:?} {order:?} {threads} threads");
        let search = || Search::new(&graph).visited(kind).order(order).threads(threads);
        let whole = search().run().unwrap();
        let result = |report: &Found<Graph>| {
            let counts = (report.states, report.states_revisited, report.complete, report.limits.clone());
            // Several workers may come to a violation on several ways.
            let traces: Vec<_> = report.violations.iter().filter(|_| threads == 1).map(|v| v.trace.clone()).collect();
            (counts, counted(report), traces)
        };
        let (saved, copies) = saved_on_the_way("under-way", search(), 40);
        assert_eq!(result(&saved), result(&whole), "{case}");
        assert!(copies.len() > 3, "{case}: {}", copies.len());
        for copy in copies {
            let note = checkpoint_note(&copy).unwrap();
            let states: u64 = note.strip_prefix("at ").unwrap().parse().unwrap();
            assert!((40..300).contains(&states), "{case}: {note}");
            let resumed = search().checkpoint(&copy, "test").resume(&copy).run().unwrap();
            assert_eq!(result(&resumed), result(&whole), "{case}, {note}");
        }
    }
}

#[test]
fn a_round_of_iterative_deepening_is_resumed_from_its_middle() {
    let graph = connected(0);
    let search = || Search::new(&graph).order(Order::IterativeDeepening(3));
    let (_, copies) = saved_on_the_way("round", search(), 50);
    assert!(copies.len() > 3);
    for copy in copies {
        let resumed = search().checkpoint(&copy, "test").resume(&copy).run().unwrap();
        assert_eq!((resumed.states, resumed.complete, resumed.limits), (300, true, vec![]));
    }
}

#[test]
fn a_search_that_cannot_be_saved_goes_on() {
    let file = fresh("nowhere").join("search.checkpoint");
    let graph = connected(0);
    let search = || Search::new(&graph).checkpoint(&file, "test").save_every(Pace::States(10));
    let goes_on = |search: Search<'_, Graph>| {
        let report = search.run().unwrap();
        assert_eq!((report.states, report.complete), (300, true));
        let why = format!("could not use the checkpoint {}: No such file", file.display());
        let [limit] = &report.limits[..] else { panic!("{:?}", report.limits) };
        assert!(limit.to_string().contains(&why), "{limit}");
    };
    goes_on(search());
    goes_on(search().order(Order::IterativeDeepening(3)));
    let cut = search().budget(states(50)).run();
    assert!(matches!(cut, Err(SearchError::Checkpoint(CheckpointError::Io { .. }))), "at its end it says so");
}

#[test]
fn random_walks_are_not_saved() {
    let file = fresh("walks");
    let graph = connected(0);
    let walks = Search::new(&graph).order(Order::RandomWalk).budget(states(1000));
    walks.checkpoint(&file, "test").save_every(Pace::States(10)).run().unwrap();
    assert!(!file.exists());
}

#[test]
fn symmetry_survives() {
    let forks = Forks(8);
    let (report, parts) = in_parts(&fresh("symmetry"), 20, || Search::new(&forks), Budget::default());
    assert!(parts > 4);
    assert_eq!((report.states, report.states_revisited, report.complete), (151, 630, true));
}

#[test]
fn a_bounded_search_in_parts_is_complete() {
    for kind in [VisitedKind::Exact, VisitedKind::Hash64, VisitedKind::Hash128] {
        for (seed, order) in (0..3).flat_map(|seed| EXHAUSTIVE.map(|order| (seed, order))) {
            let graph = Graph::random(seed, 100);
            for bound in [3, 8] {
                let near = graph.distances().values().filter(|at| **at <= bound).count() as u64;
                let search = || Search::new(&graph).visited(kind).order(order);
                let (report, _) = in_parts(&fresh("bounded"), 9, search, depth(bound));
                assert_eq!(report.states, near, "{kind:?} {order:?} seed {seed} bound {bound}");
            }
        }
    }
}

#[test]
fn iterative_deepening_goes_on_in_its_round() {
    let graph = connected(0);
    let search = || Search::new(&graph).order(Order::IterativeDeepening(3));
    let (report, parts) = in_parts(&fresh("deepening"), 40, search, Budget::default());
    assert!(parts > 4, "{parts}");
    assert_eq!((report.states, report.complete, report.limits), (300, true, vec![]));
}

#[test]
fn states_that_were_dropped_are_not_forgotten() {
    let file = fresh("dropped");
    let numbers = Numbers { heap_bytes: 10_000 };
    let search = |budget| Search::new(&numbers).order(Order::BreadthFirst).checkpoint(&file, "test").budget(budget);
    let tight = Budget { memory_bytes: Some(4 << 20), states: Some(8000), ..depth(13) };
    let first = search(tight).run().unwrap();
    let dropped = first.limits.iter().find(|limit| matches!(limit, Limit::StatesDropped(_))).expect("dropped some");
    let last = search(depth(13)).resume(&file).run().unwrap();
    assert!(last.limits.contains(dropped), "{:?}", last.limits);
    assert!(!last.complete && last.states < (1 << 14) - 1);
}

#[test]
fn a_cut_at_the_depth_bound_is_not_forgotten() {
    let file = fresh("cut");
    // The branch that is taken first is cut off at depth 3; the other one ends by itself.
    let graph = Graph::new(&[&[&[4], &[1]], &[&[2]], &[&[3]], &[&[0]], &[&[5]], &[]]);
    let search = |budget| Search::new(&graph).checkpoint(&file, "test").budget(budget);
    let to_five = Budget { states: Some(5), ..depth(3) };
    assert_eq!(search(to_five).run().unwrap().limits, [Limit::States(5)]);
    // One more expansion.
    assert_eq!(search(to_five).resume(&file).run().unwrap().limits, [Limit::States(5), Limit::Depth(3)]);
    let last = search(depth(3)).resume(&file).run().unwrap();
    assert_eq!((last.states, last.complete, last.limits), (6, true, vec![Limit::Depth(3)]));
}

#[test]
fn another_search_is_refused() {
    let graph = connected(0);
    let file = fresh("refused");
    let base = || Search::new(&graph).budget(states(50));
    base().checkpoint(&file, "one").run().unwrap();
    let deep = Budget { depth: Some(100), ..states(50) };
    let others = [
        ("identity", base().checkpoint(&file, "two")),
        ("no identity", base()),
        ("seed", base().checkpoint(&file, "one").seed(9)),
        ("symmetry", base().checkpoint(&file, "one").symmetry(false)),
        ("visited", base().checkpoint(&file, "one").visited(VisitedKind::Hash64)),
        ("depth", base().checkpoint(&file, "one").budget(deep)),
        ("deepening", base().checkpoint(&file, "one").order(Order::IterativeDeepening(3))),
    ];
    for (what, other) in others {
        let refused = other.resume(&file).run();
        let is_other = matches!(refused, Err(SearchError::Checkpoint(CheckpointError::OtherSearch { .. })));
        assert!(is_other, "{what}: {refused:?}");
    }
    assert!(base().checkpoint(&file, "one").resume(&file).run().is_ok());
}

#[test]
fn a_complete_search_leaves_no_checkpoint() {
    let file = fresh("complete");
    assert!(Search::new(&connected(0)).checkpoint(&file, "test").run().unwrap().complete);
    assert!(!file.exists());
}
