//! Histories and trees made by the reference from ops in their text form, several on a line.

use vfs::{
    Op, Reference, Tree,
    contract::{Contract, Event, History},
};

/// The ops of `create("/a"); sync()`.
pub fn ops(text: &str) -> Vec<Op> {
    let texts = text.split(';').map(str::trim).filter(|text| !text.is_empty());
    texts.map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

/// Runs ops, all of which succeed, and tells what happened.
pub fn run(reference: &mut Reference, text: &str) -> Vec<Event> {
    let one = |op: Op| {
        let outcome = reference.apply(&op);
        assert!(outcome.is_ok(), "{op} failed: {outcome:?}");
        Event { op, outcome, after: reference.tree() }
    };
    ops(text).into_iter().map(one).collect()
}

/// A history after a base that is durable, and the reference that made it.
pub fn history(base: &str, text: &str) -> (History, Reference) {
    let mut reference = Reference::new();
    run(&mut reference, base);
    let mut history = History::new(reference.tree());
    for event in run(&mut reference, text) {
        history.push(event);
    }
    (history, reference)
}

/// A found tree, with identities of its own.
pub fn tree(text: &str) -> Tree {
    let mut reference = Reference::new();
    run(&mut reference, text);
    reference.tree()
}

/// The clause of each breach, and the contract that was broken.
pub fn verdict(history: &History, under_way: &[&[Event]], contract: Contract, found: &Tree) -> Vec<String> {
    let breaches = history.crash(history.len(), under_way).judge(contract, found);
    breaches.iter().map(|breach| format!("{} {}", breach.contract, breach.clause)).collect()
}
