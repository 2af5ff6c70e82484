//! How the tasks of a swarm differ from each other.

use toml::{Table, Value};

/// One search of a swarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Counted from 1.
    pub number: usize,
    /// What its random choices and hashes start from.
    pub seed: u64,
    /// The order of its search, as `--search` names it.
    pub search: &'static str,
    /// How it remembers states, as `--visited` names it.
    pub visited: &'static str,
    /// Bits that stand for a state, where it is remembered by bits.
    pub hashes: Option<u8>,
    /// The distribution that its weights have where the user names none.
    pub distribution: Option<&'static str>,
}

/// What tasks may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variety {
    /// What the seeds start from.
    pub seed: u64,
    /// Whether there are weights.
    pub has_weights: bool,
    /// Whether a random walk may be a task: it has no end of its own.
    pub has_budget: bool,
}

const ORDERS: [&str; 3] = ["dfs", "random", "bfs"];
const DISTRIBUTIONS: [&str; 5] = ["uniform", "rank", "inverse-rank", "decay", "inverse-decay"];
/// A table of 16 MiB a task.
const BITS_LOG2: u8 = 27;

/// The tasks. The first remembers states by a hash, the others by a hash or by bits of a table, each with hash
/// functions of its own; orders and distributions take turns, and two tasks of the same order take the ops of a state
/// in different turns.
pub fn diversify(count: usize, variety: Variety) -> Vec<Task> {
    let orders: Vec<&'static str> =
        ORDERS.into_iter().filter(|order| variety.has_budget || *order != "random").collect();
    let task = |place: usize| {
        let by_bits = place % 2 == 1;
        Task {
            number: place + 1,
            seed: variety.seed.wrapping_add(place as u64),
            search: orders[place % orders.len()],
            visited: if by_bits { "bitstate" } else { "hash" },
            hashes: by_bits.then(|| u8::try_from(1 + place / 2 % 4).unwrap_or(1)),
            distribution: variety.has_weights.then(|| DISTRIBUTIONS[place % DISTRIBUTIONS.len()]),
        }
    };
    (0..count).map(task).collect()
}

impl Task {
    /// The flags of `shakedown check` that make it what it is; its weights are a file of their own.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            "--seed".to_owned(),
            self.seed.to_string(),
            "--search".to_owned(),
            self.search.to_owned(),
            "--visited".to_owned(),
            self.visited.to_owned(),
        ];
        flags.extend((self.search != "random").then(|| "--shuffle".to_owned()));
        if let Some(hashes) = self.hashes {
            let bits = ["--bitstate-bits".to_owned(), BITS_LOG2.to_string()];
            flags.extend(bits.into_iter().chain(["--bitstate-hashes".to_owned(), hashes.to_string()]));
        }
        flags
    }

    /// The user's weights with the distribution of this task for flags and sizes about which they say nothing. Text
    /// that is no TOML is left as it is: the task will say what is wrong with it.
    pub fn weights(&self, text: &str) -> String {
        let (Some(distribution), Ok(mut file)) = (self.distribution, text.parse::<Table>()) else {
            return text.to_owned();
        };
        for (op, argument) in [("open", "flags"), ("write", "len"), ("write", "offset"), ("truncate", "size")] {
            let of_op = file.entry(op).or_insert_with(|| Value::Table(Table::new()));
            let Some(of_op) = of_op.as_table_mut() else { continue };
            let table = of_op.entry(argument).or_insert_with(|| Value::Table(Table::new()));
            if let Some(table) = table.as_table_mut().filter(|table| table.keys().all(|key| key == "max")) {
                table.insert("distribution".to_owned(), Value::String(distribution.to_owned()));
            }
        }
        file.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const VARIETY: Variety = Variety { seed: 7, has_weights: true, has_budget: true };

    #[test]
    fn no_two_tasks_are_the_same_search() {
        let tasks = diversify(24, VARIETY);
        let seeds: BTreeSet<u64> = tasks.iter().map(|task| task.seed).collect();
        assert_eq!(seeds.len(), tasks.len());
        let kinds: BTreeSet<_> = tasks.iter().map(|task| (task.search, task.visited, task.hashes)).collect();
        assert!(kinds.len() > 8, "{kinds:?}");
        assert_eq!(tasks, diversify(24, VARIETY), "the same swarm each time");
    }

    #[test]
    fn walks_need_a_budget() {
        let endless = diversify(6, Variety { has_budget: false, ..VARIETY });
        assert!(endless.iter().all(|task| task.search != "random"));
        assert!(diversify(6, VARIETY).iter().any(|task| task.search == "random"));
    }

    #[test]
    fn what_the_user_says_about_an_argument_stays() {
        let task = &diversify(2, VARIETY)[1];
        let weights = task.weights("[ops]\nwrite = 1\n[write.len]\n\"2^12\" = 1\n[write.offset]\nmax = 64\n");
        let file: Table = weights.parse().unwrap();
        assert_eq!(file["write"]["len"].get("distribution"), None);
        assert_eq!(file["write"]["offset"]["distribution"].as_str(), Some("rank"));
        assert_eq!(file["write"]["offset"]["max"].as_integer(), Some(64));
        assert_eq!(file["open"]["flags"]["distribution"].as_str(), Some("rank"));
        assert_eq!(task.weights("[ops"), "[ops");
    }
}
