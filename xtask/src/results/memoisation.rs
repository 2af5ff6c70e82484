//! What remembering recoveries saves (`FiSC`, section 5.4): the same searches with and without.

use anyhow::Result;

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

/// A column of `FiSC`'s Table 1.
struct Published {
    file_system: &'static str,
    states: u32,
    seconds_with: u32,
    seconds_without: u32,
}

const PUBLISHED: [Published; 3] = [
    Published { file_system: "ext3", states: 10_800, seconds_with: 650, seconds_without: 7307 },
    Published { file_system: "ReiserFS", states: 630, seconds_with: 893, seconds_without: 29_419 },
    Published { file_system: "JFS", states: 4500, seconds_with: 3774, seconds_without: 4343 },
];

/// What is searched, and how deep without and with the power cut during recovery: little enough to be finished without
/// the memory too.
const TARGETS: [(&str, [&str; 2]); 3] =
    [("model:journal", ["4", "3"]), ("model:f2fs", ["4", "3"]), ("model:cow", ["5", "4"])];
const RECOVERY_CRASHES: &str = "--recovery-crashes";
const BUDGET: &str = "20s,8GiB";

const ABOUT: &str = "Each search with recoveries remembered by what they read, and with `--no-memo`, which runs every
one; every op of the model, writes reordered (`--crash subsets`), and then with the power cut during recovery too, which
FiSC does and which needs most recoveries. One thread. A recovery of ours is fsck, mount, a second recovery and a first
use. FiSC's figures are those of its Table 1, of runs that ended when memory did.

";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let mut pairs = Vec::new();
    for (target, depths) in TARGETS {
        for (depth, interrupts) in depths.into_iter().zip([false, true]) {
            pairs.push(Pair::run(laboratory, target, depth, interrupts)?);
        }
    }
    let limits = cut_short::list(pairs.iter().flat_map(Pair::named));
    Ok([ABOUT, &comparison(&pairs), &limits].concat())
}

/// One search, done twice.
struct Pair {
    name: String,
    with: Summary,
    without: Summary,
}

impl Pair {
    fn run(laboratory: &Laboratory, target: &str, depth: &str, interrupts: bool) -> Result<Self> {
        let check = |memo: &[&str]| {
            let mut arguments = vec![target, "--crash", "subsets", "--depth", depth, "--budget", BUDGET];
            arguments.extend(interrupts.then_some(RECOVERY_CRASHES));
            arguments.extend(memo);
            let model = target.replace(':', "-");
            laboratory.check_on(1, &format!("{model}-{interrupts}-{}", memo.len()), &arguments)
        };
        let interrupted = if interrupts { format!(", {RECOVERY_CRASHES}") } else { String::new() };
        let name = format!("{target}, depth {depth}{interrupted}");
        Ok(Self { name, with: check(&[])?, without: check(&["--no-memo"])? })
    }

    fn named(&self) -> [(String, &Summary); 2] {
        [(format!("{}, remembered", self.name), &self.with), (format!("{}, without", self.name), &self.without)]
    }

    fn row(&self) -> [String; 8] {
        let Self { name, with, without } = self;
        let seconds = |summary: &Summary| cut_short::at_least(&format!("{:.1} s", summary.seconds), summary);
        [
            name.clone(),
            "Shakedown".to_owned(),
            cut_short::at_least(&count(with.states), with),
            count(with.recoveries),
            cut_short::at_least(&count(without.recoveries), without),
            seconds(with),
            seconds(without),
            cut_short::at_least(&factor(without.seconds, with.seconds), without),
        ]
    }
}

impl Published {
    fn row(&self) -> [String; 8] {
        [
            self.file_system.to_owned(),
            "published".to_owned(),
            count(self.states.into()),
            String::new(),
            String::new(),
            format!("{} s", self.seconds_with),
            format!("{} s", self.seconds_without),
            factor(self.seconds_without.into(), self.seconds_with.into()),
        ]
    }
}

fn factor(without: f64, with: f64) -> String {
    format!("{:.1}", without / with.max(f64::MIN_POSITIVE))
}

fn comparison(pairs: &[Pair]) -> String {
    let heading = [
        "file system",
        "run",
        "states",
        "recoveries run",
        "recoveries run without",
        "time",
        "time without",
        "times faster",
    ];
    table(heading, PUBLISHED.iter().map(Published::row).chain(pairs.iter().map(Pair::row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_cut_short_without_the_memory_gives_a_lower_bound() {
        let with = Summary::example(&[]);
        let without = Summary { seconds: 15.0, recoveries: 20, resumable: true, ..with.clone() };
        let text = comparison(&[Pair { name: "model:cow".to_owned(), with, without }]);
        let ours =
            "| model:cow | Shakedown | 10 | 5 | **at least** 20 | 1.5 s | **at least** 15.0 s | **at least** 10.0 |";
        assert!(text.contains(ours), "{text}");
        assert!(text.contains("| ReiserFS | published | 630 |  |  | 893 s | 29419 s | 32.9 |"), "{text}");
    }
}
