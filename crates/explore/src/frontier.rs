//! States that wait to be expanded, in the order in which a search takes them.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, VecDeque},
};

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::{links::LinkId, search::Order};

/// A state that waits.
pub(crate) struct Waiting<S> {
    pub state: S,
    pub link: LinkId,
    pub depth: u32,
}

/// Where a waiting state is found again.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub link: LinkId,
    pub depth: u32,
}

impl<S> Waiting<S> {
    pub fn place(&self) -> Place {
        Place { link: self.link, depth: self.depth }
    }
}

/// A worker's waiting states.
pub(crate) enum Frontier<S> {
    /// Last in, first out: depth-first.
    Stack(Vec<Waiting<S>>),
    /// First in, first out: breadth-first.
    Queue(VecDeque<Waiting<S>>),
    /// Highest score first; among equals, first in, first out.
    Best { heap: BinaryHeap<Scored<S>>, pushed: u64 },
}

/// A waiting state with its rank.
pub(crate) struct Scored<S> {
    score: i64,
    pushed: u64,
    waiting: Waiting<S>,
}

impl<S> Frontier<S> {
    /// A frontier without states, in the order of a search.
    pub fn of(order: Order) -> Self {
        match order {
            // Where a walk goes on is decided by chance, and nothing waits.
            Order::DepthFirst | Order::IterativeDeepening(_) | Order::RandomWalk => Frontier::Stack(Vec::new()),
            Order::BreadthFirst => Frontier::Queue(VecDeque::new()),
            Order::BestFirst => Frontier::Best { heap: BinaryHeap::new(), pushed: 0 },
        }
    }

    #[inline]
    pub fn push(&mut self, waiting: Waiting<S>, score: impl FnOnce(&S) -> i64) {
        match self {
            Frontier::Stack(stack) => stack.push(waiting),
            Frontier::Queue(queue) => queue.push_back(waiting),
            Frontier::Best { heap, pushed } => {
                *pushed += 1;
                heap.push(Scored { score: score(&waiting.state), pushed: *pushed, waiting });
            }
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<S>> {
        match self {
            Frontier::Stack(stack) => stack.pop(),
            Frontier::Queue(queue) => queue.pop_front(),
            Frontier::Best { heap, .. } => heap.pop().map(|scored| scored.waiting),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Frontier::Stack(stack) => stack.len(),
            Frontier::Queue(queue) => queue.len(),
            Frontier::Best { heap, .. } => heap.len(),
        }
    }

    /// Takes out half of the waiting states for a worker that has none: those nearest the root of a stack, since
    /// they lead to the largest unexplored parts.
    pub fn split_half(&mut self) -> Vec<Waiting<S>> {
        let half = self.len() / 2;
        match self {
            Frontier::Stack(stack) => stack.drain(..half).collect(),
            Frontier::Queue(queue) => queue.drain(..half).collect(),
            Frontier::Best { heap, .. } => (0..half).filter_map(|_| heap.pop()).map(|scored| scored.waiting).collect(),
        }
    }

    /// What waits, in the order in which it must be pushed to wait in the same order again.
    pub fn places(&self) -> Vec<Place> {
        match self {
            Frontier::Stack(stack) => stack.iter().map(Waiting::place).collect(),
            Frontier::Queue(queue) => queue.iter().map(Waiting::place).collect(),
            Frontier::Best { heap, .. } => {
                let mut scored: Vec<&Scored<S>> = heap.iter().collect();
                scored.sort_unstable_by(|one, other| other.cmp(one));
                scored.into_iter().map(|scored| scored.waiting.place()).collect()
            }
        }
    }

    /// Drops about half of the waiting states, chosen by `random`; returns how many went.
    pub fn drop_half(&mut self, random: &mut Pcg64Mcg) -> u64 {
        let before = self.len();
        let mut keep = || random.next_u32() & 1 == 0;
        match self {
            Frontier::Stack(stack) => {
                stack.retain(|_| keep());
                stack.shrink_to_fit();
            }
            Frontier::Queue(queue) => {
                queue.retain(|_| keep());
                queue.shrink_to_fit();
            }
            Frontier::Best { heap, .. } => heap.retain(|_| keep()),
        }
        (before - self.len()) as u64
    }
}

impl<S> Ord for Scored<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then(other.pushed.cmp(&self.pushed))
    }
}

impl<S> PartialOrd for Scored<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S> PartialEq for Scored<S> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<S> Eq for Scored<S> {}
