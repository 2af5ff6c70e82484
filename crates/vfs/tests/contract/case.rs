//! A table row: a history, trees that are allowed after it, and trees that break exactly one clause.

use vfs::contract::Contract;

use crate::world::{history, run, tree, verdict};

pub struct Case {
    pub name: &'static str,
    pub base: &'static str,
    pub ops: &'static str,
    pub under_way: &'static str,
    pub contract: Contract,
    pub allowed: &'static [&'static str],
    pub refused: &'static [(&'static str, &'static str)],
}

/// What a row leaves out.
pub const CASE: Case =
    Case { name: "", base: "", ops: "", under_way: "", contract: Contract::Prefix, allowed: &[], refused: &[] };

/// A refused tree breaks one clause of the row's contract and keeps every weaker one.
pub fn judge_all(cases: &[Case]) {
    for Case { name, base, ops, under_way, contract, allowed, refused } in cases {
        let (history, mut reference) = history(base, ops);
        let future = run(&mut reference, under_way);
        let order = [future.as_slice()];
        let under_way = if future.is_empty() { &[][..] } else { &order[..] };
        for found in *allowed {
            let breaches = history.crash(history.len(), under_way).judge(*contract, &tree(found));
            assert!(breaches.is_empty(), "{name}: {found}: {}", breaches[0]);
        }
        for (found, clause) in *refused {
            let expected = format!("{contract} {clause}");
            assert_eq!(verdict(&history, under_way, Contract::Prefix, &tree(found)), [expected], "{name}: {found}");
        }
    }
}
