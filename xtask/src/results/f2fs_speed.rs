//! The speed of the search of the log-structured model (MC3, section 5.3.3), with crashes, by depth and threads.

use anyhow::Result;

use super::markdown::{count, gigabytes, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

/// A row of Table 5.8, the columns of MC3.
struct Published {
    depth: u32,
    seconds: u32,
    memory_mb: u32,
    ops: u32,
}

/// Table 5.8 has a third row, for depth 13: 6.3e8 ops in 68 117 s.
const PUBLISHED: [Published; 2] = [
    Published { depth: 6, seconds: 1, memory_mb: 48, ops: 23_000 },
    Published { depth: 10, seconds: 475, memory_mb: 561, ops: 7_700_000 },
];

const DEPTHS: [u32; 4] = [6, 8, 10, DEEP];
/// Deeper than any run gets.
const DEEP: u32 = 1000;
const THREADS: [usize; 2] = [1, 2];
/// How many blocks a write is long: the default of the model, and a shorter one.
const LENGTHS: [u32; 2] = [17, 4];
/// One run goes as deep as this allows.
const BUDGET: &str = "600s,8GiB";

const ABOUT: &str =
    "`model:f2fs` in the study's geometry with the power cut after every write (`--crash prefix`), states
by shape and the kinds of the last two ops, as the study advises. The published rows are those of Table 5.8, measured on
a PC with 16 hardware threads; the table does not say how many were used. Ops are those that were run to their end: the
study's search cuts the power in an op of its own and counts it, ours cuts it within every op and counts the crash
states. The two do not search the same ops, so depth for depth only the rates compare. With several threads it depends
on who came first which state stands for its shape, so counts differ from run to run; where workers are held up, states
are met again nearer to the start and expanded again, up to twice as many.

Where a profile of the run to depth 8 on one thread saw the time: a
fifth in recoveries (fsck, mount, a look at the tree, a second recovery, a first use), a tenth in judging trees by the
contract, an eighth in comparing with the reference, a tenth in writing blocks to images (in ops and in recoveries), a
twentieth in choosing ops, a twentieth in the reference, the rest in the model, in memory and in the search. A write of
the default workload is 17 blocks long, nearly half of the largest file, because one of the flaws needs such writes; the
study's have random offsets and lengths. Writes of 4 blocks (`model:f2fs?write=4`) have rows of their own.

";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let mut runs = Vec::new();
    for depth in DEPTHS {
        for threads in THREADS.into_iter().filter(|threads| depth < DEEP || *threads > 1) {
            for length in LENGTHS {
                runs.push(Run::new(laboratory, depth, threads, length)?);
            }
        }
    }
    let limits = cut_short::list(runs.iter().map(|run| (run.name(), &run.summary)));
    Ok([ABOUT, &speed_table(&runs), &verdict(&runs), &limits].concat())
}

/// The ops a second on 2 cores that are aimed at.
const AIM: f64 = 150_000.0;

/// Whether the aim was reached by all runs on two threads, by some or by none, for each length of a write.
fn verdict(runs: &[Run]) -> String {
    let said = LENGTHS.map(|length| {
        let these = runs.iter().filter(|run| run.length == length && run.threads == 2);
        let rates: Vec<f64> = these.map(|run| run.summary.ops as f64 / run.summary.seconds).collect();
        let [least, most] = [rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max)];
        let reached = match (least >= AIM, most >= AIM) {
            (true, _) => "reached",
            (false, true) => "reached by some runs and missed by others",
            (false, false) => "missed",
        };
        let [least, most] = [least, most].map(|rate| thousands_a_second(rate, 1.0));
        format!("with writes of {length} blocks it was {reached} ({least} to {most})")
    });
    format!("\nThe aim is 150 thousand ops a second on 2 cores: {}.\n", said.join("; "))
}

struct Run {
    depth: u32,
    threads: usize,
    length: u32,
    summary: Summary,
}

impl Run {
    fn new(laboratory: &Laboratory, depth: u32, threads: usize, length: u32) -> Result<Self> {
        let (target, depth_text) = (format!("model:f2fs?write={length}"), depth.to_string());
        let arguments = [&target, "--equality", "shape", "--suffix", "2", "--depth", &depth_text, "--budget", BUDGET];
        let summary = laboratory.check_on(threads, &format!("speed-{depth}-{threads}-{length}"), &arguments)?;
        Ok(Self { depth, threads, length, summary })
    }

    fn name(&self) -> String {
        format!("depth {}, {} threads, writes of {} blocks", self.depth, self.threads, self.length)
    }

    fn row(&self) -> [String; 11] {
        let summary = &self.summary;
        let rate = |number: u64| thousands_a_second(number as f64, summary.seconds);
        [
            if self.depth < DEEP { self.depth.to_string() } else { format!("{}, of any", self.summary.depth) },
            "Shakedown".to_owned(),
            self.threads.to_string(),
            self.length.to_string(),
            count(summary.ops),
            count(summary.crash_states),
            cut_short::at_least(&count(summary.states), summary),
            format!("{:.1}", summary.seconds),
            rate(summary.ops),
            rate(summary.ops + summary.crash_states),
            gigabytes(summary.peak_memory_bytes),
        ]
    }
}

impl Published {
    fn row(&self) -> [String; 11] {
        [
            self.depth.to_string(),
            "published".to_owned(),
            String::new(),
            "random".to_owned(),
            count(self.ops.into()),
            String::new(),
            String::new(),
            self.seconds.to_string(),
            thousands_a_second(self.ops.into(), self.seconds.into()),
            String::new(),
            gigabytes(u64::from(self.memory_mb) * 1_000_000),
        ]
    }
}

fn thousands_a_second(number: f64, seconds: f64) -> String {
    format!("{:.1}", number / 1000.0 / seconds.max(f64::MIN_POSITIVE))
}

fn speed_table(runs: &[Run]) -> String {
    let heading = [
        "depth",
        "run",
        "threads",
        "blocks a write",
        "ops",
        "crash states",
        "states",
        "seconds",
        "thousand ops a second",
        "thousand ops and crash states a second",
        "memory",
    ];
    let published = |depth| PUBLISHED.iter().filter(move |row| row.depth == depth).map(Published::row);
    let ours = |depth| runs.iter().filter(move |run| run.depth == depth).map(Run::row);
    table(heading, DEPTHS.into_iter().flat_map(|depth| published(depth).chain(ours(depth))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_stand_beside_the_published_rates() {
        let summary = Summary { ops: 3000, crash_states: 2000, ..Summary::example(&[]) };
        let text = speed_table(&[Run { depth: 10, threads: 2, length: 4, summary }]);
        assert!(text.contains("| 10 | published |  | random | 7 700 000 |  |  | 475 | 16.2 |  | 0.56 GB |"), "{text}");
        assert!(text.contains("| 10 | Shakedown | 2 | 4 | 3 000 | 2 000 | 10 | 1.5 | 2.0 | 3.3 | 0.00 GB |"), "{text}");
    }
}
