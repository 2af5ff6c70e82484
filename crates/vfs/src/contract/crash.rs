//! The judge: a crash at one point of a history, to which any number of found trees can be put.

use std::{cmp::Reverse, sync::Arc};

use super::{
    Contract,
    breach::Breach,
    chain::Chain,
    explain, foreign,
    guarantee::Guarantee,
    history::{Record, Zeros},
};
use crate::Tree;

/// A power cut at one point of a history.
#[derive(Debug)]
pub struct Crash {
    /// One chain of moments for each order in which the ops under way might have gone on.
    chains: Vec<Chain>,
    /// The last moment at which anything was pinned: a whole tree from here on keeps every promise.
    pinned: usize,
}

impl Crash {
    pub(super) fn new(base: &Tree, orders: Vec<Vec<Arc<Record>>>, returned: usize, zeros: Zeros) -> Self {
        let chain = |records| Chain::new(base.clone(), records, returned, zeros);
        let chains: Vec<Chain> = orders.into_iter().map(chain).collect();
        let last_pin = |chain: &Chain| chain.returned().iter().rposition(|record| !record.pins.is_empty());
        let pinned = chains.first().and_then(last_pin).map_or(0, |op| op + 1);
        Self { chains, pinned }
    }

    /// What the found tree breaks of a contract; nothing if it keeps it. Where a weaker contract is broken, only that
    /// is told: the stronger ones are broken by the same.
    pub fn judge(&self, contract: Contract, found: &Tree) -> Vec<Breach> {
        self.first_broken(contract, found).map_or_else(Vec::new, |(_, breaches)| breaches)
    }

    /// The strongest contract that the found tree keeps.
    pub fn strongest(&self, found: &Tree) -> Option<Contract> {
        match self.first_broken(Contract::Prefix, found) {
            None => Some(Contract::Prefix),
            Some((broken, _)) => Contract::ALL.into_iter().rfind(|contract| *contract < broken),
        }
    }

    /// Every guarantee that says anything about this crash, and what the found tree breaks of it.
    pub fn judge_each(&self, found: &Tree) -> Vec<(Guarantee, Option<Breach>)> {
        let Some(first) = self.chains.first() else { return Vec::new() };
        let in_force = Guarantee::ALL.into_iter().filter(|guarantee| guarantee.is_in_force(first));
        if self.is_a_moment(found) {
            return in_force.map(|guarantee| (guarantee, None)).collect();
        }
        // An order of the ops under way that breaks nothing explains what was found.
        let breach = |guarantee: Guarantee| {
            let mut breaches = self.chains.iter().map(|chain| guarantee.breach(chain, found));
            breaches.next().flatten().filter(|_| breaches.all(|breach| breach.is_some()))
        };
        in_force.map(|guarantee| (guarantee, breach(guarantee))).collect()
    }

    /// The weakest contract up to `most` that is broken, read in the order of ops that breaks it latest.
    fn first_broken(&self, most: Contract, found: &Tree) -> Option<(Contract, Vec<Breach>)> {
        if self.is_a_moment(found) {
            return None;
        }
        let mut latest: Option<(Contract, Vec<Breach>)> = None;
        for chain in &self.chains {
            let broken = first_broken(chain, most, found)?;
            if latest.as_ref().is_none_or(|known| rank(known) < rank(&broken)) {
                latest = Some(broken);
            }
        }
        latest
    }

    /// Most found trees are simply the tree of a moment; then there is nothing to search.
    fn is_a_moment(&self, found: &Tree) -> bool {
        self.chains.iter().any(|chain| {
            let mut last: Option<&Tree> = None;
            (self.pinned..=chain.end()).rev().any(|moment| {
                let tree = chain.tree(moment);
                let repeated = last.replace(tree).is_some_and(|last| Arc::ptr_eq(&last.nodes, &tree.nodes));
                !repeated && tree.same_as(found)
            })
        })
    }
}

fn rank(broken: &(Contract, Vec<Breach>)) -> (Contract, Reverse<usize>) {
    (broken.0, Reverse(broken.1.len()))
}

fn first_broken(chain: &Chain, most: Contract, found: &Tree) -> Option<(Contract, Vec<Breach>)> {
    if keeps(chain, most, found) {
        return None;
    }
    Contract::ALL.into_iter().take_while(|contract| *contract <= most).find_map(|contract| {
        let breaches = match contract {
            Contract::Mountable => foreign::breaches(chain, found),
            _ => explain::breaches(contract, chain, found),
        };
        (!breaches.is_empty()).then_some((contract, breaches))
    })
}

/// Whether a contract and all before it are kept, as by most trees. Few of them need a look: a reading that breaks
/// nothing of `atomic` breaks nothing of `synced` and `fsynced`, whose floors are no later; `prefix` asks for the one
/// moment that `ordered` asks for, and more.
fn keeps(chain: &Chain, most: Contract, found: &Tree) -> bool {
    let keeps = |contract| explain::keeps(contract, chain, found);
    foreign::breaches(chain, found).is_empty()
        && (most == Contract::Mountable || keeps(most.min(Contract::Atomic)))
        && (most <= Contract::Atomic || keeps(most))
}
