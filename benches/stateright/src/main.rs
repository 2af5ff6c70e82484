//! The dining philosophers in stateright: `philosophers-stateright N naive|ordered bfs|dfs`.
//!
//! The model is that of `benches/philosophers.pml`. It is written in the form that suits stateright best: a state is
//! one integer with two bits a philosopher, forks are read off the neighbours' phases, and the only property is
//! one that costs nothing, because stateright stops at once when there is none. One thread, like the other peers.
//! Standard output is one JSON object: `{"states": .., "seconds": .., "peak_memory_bytes": ..}`.

use std::process::ExitCode;
use std::time::Instant;

use stateright::{Checker, Model, Property};

/// A philosopher's phase is two bits: thinking, holding the first fork, eating, holding the second fork only.
const THINKING: u64 = 0;
const HAS_FIRST: u64 = 1;
const EATING: u64 = 2;
const HAS_SECOND: u64 = 3;

#[derive(Clone)]
struct Philosophers {
    n: u32,
    /// The last philosopher takes the other fork first, which breaks the circle of waiting.
    ordered: bool,
}

impl Philosophers {
    /// With its left fork first, a philosopher holds the left fork in these phases and the right one in the others.
    fn holds_left(&self, state: u64, i: u32) -> bool {
        let first_is_left = !(self.ordered && i == self.n - 1);
        match phase(state, i) {
            THINKING => false,
            HAS_FIRST => first_is_left,
            EATING => true,
            _ => !first_is_left,
        }
    }

    fn holds_right(&self, state: u64, i: u32) -> bool {
        let first_is_right = self.ordered && i == self.n - 1;
        match phase(state, i) {
            THINKING => false,
            HAS_FIRST => first_is_right,
            EATING => true,
            _ => !first_is_right,
        }
    }

    /// Whether philosopher `i` can take the step that follows its phase; putting a fork down is always possible.
    fn can_step(&self, state: u64, i: u32) -> bool {
        let first_is_left = !(self.ordered && i == self.n - 1);
        let wants_left = match phase(state, i) {
            THINKING => first_is_left,
            HAS_FIRST => !first_is_left,
            _ => return true,
        };
        if wants_left {
            let left = if i == 0 { self.n - 1 } else { i - 1 };
            !self.holds_right(state, left)
        } else {
            let right = if i + 1 == self.n { 0 } else { i + 1 };
            !self.holds_left(state, right)
        }
    }
}

fn phase(state: u64, i: u32) -> u64 {
    state >> (2 * i) & 3
}

impl Model for Philosophers {
    type State = u64;
    type Action = u32;

    fn init_states(&self) -> Vec<u64> {
        vec![THINKING]
    }

    fn actions(&self, state: &u64, actions: &mut Vec<u32>) {
        actions.extend((0..self.n).filter(|&i| self.can_step(*state, i)));
    }

    fn next_state(&self, state: &u64, i: u32) -> Option<u64> {
        let next_phase = if phase(*state, i) == HAS_SECOND { THINKING } else { phase(*state, i) + 1 };
        Some(*state & !(3 << (2 * i)) | next_phase << (2 * i))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("explore everything", |_, _| true)]
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [n, order, search] = arguments.as_slice() else { return usage() };
    let (Ok(n @ 2..=32), "naive" | "ordered") = (n.parse(), order.as_str()) else { return usage() };
    let model = Philosophers { n, ordered: order == "ordered" };
    let start = Instant::now();
    let states = match search.as_str() {
        "bfs" => model.checker().threads(1).spawn_bfs().join().unique_state_count(),
        "dfs" => model.checker().threads(1).spawn_dfs().join().unique_state_count(),
        _ => return usage(),
    };
    let seconds = start.elapsed().as_secs_f64();
    let memory = peak_memory_bytes();
    println!("{{\"states\": {states}, \"seconds\": {seconds}, \"peak_memory_bytes\": {memory}}}");
    ExitCode::SUCCESS
}

/// The largest resident set so far, as Linux counts it; 0 where there is no such count.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

fn usage() -> ExitCode {
    eprintln!("usage: philosophers-stateright N naive|ordered bfs|dfs, with N from 2 to 32");
    ExitCode::from(2)
}
