//! What was really exercised, partition by partition, beside what was asked.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{
    Weights,
    argument::{Argument, FLAGS, Partition, Seen, exercised},
    number::NumberPart,
};
use crate::{Op, OpKind, OpenFlags, Outcome};

/// Counts the arguments of ops, from several threads.
#[derive(Debug)]
pub struct InputCounts {
    ops: Counted,
    arguments: BTreeMap<(OpKind, &'static str), Counted>,
}

/// What was counted of one argument.
#[derive(Debug)]
pub(super) struct Counted {
    partitions: Vec<Partition>,
    counts: Vec<AtomicU64>,
    values: AtomicU64,
}

impl Counted {
    pub(super) fn new(partitions: &[Partition]) -> Self {
        let counts = partitions.iter().map(|_| AtomicU64::new(0)).collect();
        Self { partitions: partitions.to_vec(), counts, values: AtomicU64::new(0) }
    }

    /// How many values there were, and how many in the partition at this place.
    pub(super) fn count_of(&self, place: usize) -> (u64, u64) {
        let count = self.counts.get(place).map_or(0, |count| count.load(Ordering::Relaxed));
        (self.values.load(Ordering::Relaxed), count)
    }

    fn count(&self, name: &str) {
        if let Some(place) = self.partitions.iter().position(|partition| partition.name == name) {
            self.counts[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn value(&self, seen: &Seen) {
        self.values.fetch_add(1, Ordering::Relaxed);
        match seen {
            Seen::Word(word) => self.count(word),
            Seen::Number(number) => self.count(&NumberPart::of(*number).to_string()),
            Seen::Flags(flags) => {
                let is_set = |(name, flag): &(&str, OpenFlags)| {
                    let is_covered = *name == "O_DSYNC" && flags.contains(OpenFlags::SYNC);
                    flags.contains(*flag) && !is_covered
                };
                FLAGS.iter().filter(|flag| is_set(flag)).for_each(|(name, _)| self.count(name));
            }
        }
    }
}

impl InputCounts {
    /// Nothing was counted yet.
    pub fn new(weights: &Weights) -> Self {
        let counted =
            |argument: &Argument| ((argument.known.op, argument.known.name), Counted::new(&argument.partitions));
        Self { ops: Counted::new(weights.op_partitions()), arguments: weights.arguments().map(counted).collect() }
    }

    /// An op was done, and came to this.
    pub fn op(&self, op: &Op, outcome: &Outcome) {
        self.ops.value(&Seen::Word(op.name().to_owned()));
        for (name, seen) in exercised(op, outcome) {
            if let Some(counted) = self.arguments.get(&(op.kind(), name)) {
                counted.value(&seen);
            }
        }
    }

    /// How many ops were done.
    pub fn ops_done(&self) -> u64 {
        self.ops.values.load(Ordering::Relaxed)
    }

    /// What was counted of the choice of ops.
    pub(super) fn ops(&self) -> &Counted {
        &self.ops
    }

    /// What was counted of an argument.
    pub(super) fn argument(&self, op: OpKind, name: &'static str) -> Option<&Counted> {
        self.arguments.get(&(op, name))
    }

    /// What was counted so far.
    pub fn coverage(&self) -> InputCoverage {
        let ops = ArgumentCoverage::of(None, "ops", &self.ops);
        let of_argument = |((op, name), counted): (&(OpKind, &str), &Counted)| {
            ArgumentCoverage::of(Some(op.name().to_owned()), name, counted)
        };
        InputCoverage(std::iter::once(ops).chain(self.arguments.iter().map(of_argument)).collect())
    }
}

/// The coverage of every argument that has weights, that of the ops themselves first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputCoverage(pub Vec<ArgumentCoverage>);

/// The coverage of one argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgumentCoverage {
    /// Of which op; `None` for the choice of the op itself.
    pub op: Option<String>,
    /// Which argument.
    pub argument: String,
    /// How many values were counted.
    pub values: u64,
    /// How far the partitions are from what was asked: the standard deviation of what each got, as a share of what was
    /// asked, divided by the mean. `None` if nothing was counted.
    pub coefficient_of_variation: Option<f64>,
    /// The partitions.
    pub partitions: Vec<PartitionCoverage>,
}

/// The coverage of one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionCoverage {
    /// Its name, as a weights file has it.
    pub name: String,
    /// Which share of the values was asked for; of flags, how often it is to be set.
    pub asked: f64,
    /// How many values were in it.
    pub count: u64,
}

impl ArgumentCoverage {
    fn of(op: Option<String>, argument: &str, counted: &Counted) -> Self {
        let partition = |(partition, count): (&Partition, &AtomicU64)| PartitionCoverage {
            name: partition.name.clone(),
            asked: partition.asked,
            count: count.load(Ordering::Relaxed),
        };
        let partitions: Vec<_> = counted.partitions.iter().zip(&counted.counts).map(partition).collect();
        let values = counted.values.load(Ordering::Relaxed);
        let coefficient_of_variation = variation(&partitions, values);
        Self { op, argument: argument.to_owned(), values, coefficient_of_variation, partitions }
    }
}

impl InputCoverage {
    /// Adds what an earlier part of the same run counted.
    pub fn add(&mut self, earlier: &Self) {
        for one in &mut self.0 {
            let same = |other: &&ArgumentCoverage| (&other.op, &other.argument) == (&one.op, &one.argument);
            let Some(other) = earlier.0.iter().find(same) else { continue };
            one.values += other.values;
            for (partition, more) in one.partitions.iter_mut().zip(&other.partitions) {
                partition.count += more.count;
            }
            one.coefficient_of_variation = variation(&one.partitions, one.values);
        }
    }
}

/// What partitions got, compared with what was asked of them.
fn variation(partitions: &[PartitionCoverage], values: u64) -> Option<f64> {
    if values == 0 {
        return None;
    }
    let got = |partition: &PartitionCoverage| partition.count as f64 / (partition.asked * values as f64);
    let shares: Vec<f64> = partitions.iter().filter(|partition| partition.asked > 0.0).map(got).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / shares.len() as f64;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(counts: &[(f64, u64)], values: u64) -> Option<f64> {
        let partition =
            |(asked, count): &(f64, u64)| PartitionCoverage { name: String::new(), asked: *asked, count: *count };
        variation(&counts.iter().map(partition).collect::<Vec<_>>(), values)
    }

    #[test]
    fn what_is_as_asked_does_not_vary() {
        assert_eq!(coverage(&[(0.25, 25), (0.75, 75)], 100), Some(0.0));
        assert_eq!(coverage(&[(0.5, 50), (0.5, 50), (0.0, 0)], 100), Some(0.0), "what was not asked does not count");
        assert_eq!(coverage(&[(0.5, 25), (0.5, 75)], 100), Some(0.5));
        assert_eq!(coverage(&[(1.0, 0)], 0), None);
    }
}
