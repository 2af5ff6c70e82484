//! The command line as users type it.

use std::path::PathBuf;

use check::ScriptKind;
use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser, builder::TypedValueParser};
use disk::CrashMode;
use serde::{Deserialize, Serialize};
use vfs::contract::Contract;

use crate::budget::Bound;

/// Finds the ways in which a file system loses data, and proves them.
#[derive(Debug, Parser)]
#[command(
    name = "shakedown",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  shakedown check 'model:link?writes=naive'          find out how a write order loses data
  shakedown check model:index --crash subsets        the same on a disk that reorders writes
  shakedown replay run/traces/001.json               see a violation happen again
  shakedown characterise model:journal model:cow     which promises hold
  shakedown targets                                  what can be checked
  shakedown zoo                                      find every bug of the collection
  shakedown mount /mnt/ref                           the reference as a file system

Exit codes: 0 nothing found, 1 a violation, 2 wrong usage or environment."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search every state of a target, cut the power everywhere, recover, and judge
    Check(Check),
    /// Show a violation again, step by step
    Replay(Replay),
    /// Measure which promises hold after a power cut: a row for each target, a column for each promise
    Characterise(Characterise),
    /// List what can be checked, with all options
    Targets(Targets),
    /// Find every known bug of the collection, and nothing where it is mended
    Zoo(Zoo),
    /// Search one target in many processes, each in another way
    Swarm(Swarm),
    /// Build the kernel in which guest targets run
    Kernel(Kernel),
    /// Serve the reference as a file system that any program can use, with snapshots
    Mount(Mount),
}

/// `shakedown check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown check 'model:link?writes=naive' --out run
  shakedown check 'model:index?writes=cached,threads=2' --crash flushed --json
  shakedown check model:link --crash subsets --budget 60s,4GiB --out run
  shakedown check --resume run --budget 10m
  shakedown check guest:ext4 --ops ace-seq1 --crash subsets
  shakedown check guest:ext4 --ops corpus:generic-321 --crash subsets
  shakedown check guest:ext4 --against ref --budget 60s
  shakedown check lib:ext4 --against lib:littlefs --against ref --depth 4

Exit codes: 0 nothing found, 1 a violation, 2 wrong usage or environment.
Ctrl-C ends the search with a summary; with --out it can be resumed. A second Ctrl-C kills,
but for one within half a second: `timeout` sends two.")]
pub struct Check {
    /// What to check, such as 'model:link?writes=naive'; see `shakedown targets`
    #[arg(required_unless_present = "resume")]
    pub target: Option<String>,
    /// Compare it with this target, without power cuts: every difference is a violation; of three or more, the majority
    /// names the odd one out. May be given several times; `ref` is the reference
    #[arg(long, value_name = "TARGET")]
    pub against: Vec<String>,
    #[command(flatten)]
    pub plan: Plan,
    /// Workers [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// End after so much: 60s, 10m, 1e6states, 4GiB; several with commas, each kind once
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', allow_hyphen_values = true)]
    pub budget: Vec<Bound>,
    /// End at the first violation
    #[arg(long)]
    pub until_violation: bool,
    /// Keep the summary, the traces and what resuming needs in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Go on with a run that was cut short, as it was begun; its budget and threads may be new
    #[arg(long, value_name = "DIR", conflicts_with_all = FIXED_BY_THE_RUN)]
    pub resume: Option<PathBuf>,
    /// Be a task of a swarm: write hashes of all states to this file, say how far it is as JSON on standard error, and
    /// end when standard input does
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "resume")]
    pub as_task: Option<PathBuf>,
}

/// `shakedown swarm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown swarm model:journal --against ref --tasks 4 --budget 60s
  shakedown swarm guest:ext4 --against ref --tasks 2 --ops weights.toml --budget 10m --out run

Tasks differ in their seeds, orders, hash functions and, with a file of weights, in the distributions of what it leaves
open. Exit codes: 0 nothing found, 1 a violation, 2 wrong usage, or a task died and the others found nothing.
Ctrl-C ends all tasks, and what they have found is merged.")]
pub struct Swarm {
    /// What to search; see `shakedown targets`
    pub target: String,
    /// Compare it with this target, as in `check`
    #[arg(long, value_name = "TARGET")]
    pub against: Vec<String>,
    /// How many tasks, each a process with one thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub tasks: u16,
    /// Which ops: a set, a file of ops, or a file of weights (.toml), as in `check`
    #[arg(long, value_name = "SET|FILE", allow_hyphen_values = true)]
    pub ops: Option<String>,
    /// Do not look beyond so many actions from the start
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// At most so many names of files
    #[arg(long, value_name = "N")]
    pub files: Option<usize>,
    /// At most so many directories besides the root
    #[arg(long, value_name = "N")]
    pub dirs: Option<usize>,
    /// What a power cut may leave of the writes in the disk's cache, as in `check`
    #[arg(long, value_name = "MODE", value_parser = crash_modes())]
    pub crash: Option<CrashFlag>,
    /// End each task after so much; without one, no task walks at random
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', allow_hyphen_values = true)]
    pub budget: Vec<Bound>,
    /// End a task at its first violation
    #[arg(long)]
    pub until_violation: bool,
    /// What the seeds of the tasks start from [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the merged result and a summary of each task in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

impl Swarm {
    /// What is the same for all its tasks.
    pub fn plan(&self) -> Plan {
        let Self { depth, ops, files, dirs, crash, .. } = self;
        Plan { depth: *depth, ops: ops.clone(), files: *files, dirs: *dirs, crash: *crash, ..Plan::default() }
    }
}

/// What a resumed run cannot change.
const FIXED_BY_THE_RUN: [&str; 23] = [
    "target",
    "against",
    "depth",
    "ops",
    "files",
    "dirs",
    "equality",
    "suffix",
    "crash",
    "contract",
    "crash_states",
    "no_continue",
    "continue",
    "recovery_crashes",
    "faults",
    "search",
    "visited",
    "bitstate_bits",
    "bitstate_hashes",
    "no_symmetry",
    "no_memo",
    "seed",
    "shuffle",
];

/// What decides the result of a check, besides its target. A resumed run has the plan of the run that it resumes.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Plan {
    /// Do not look beyond so many actions from the start
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub depth: Option<u32>,
    /// Which ops: kinds and sets of them ('create,write,fsync', 'metadata,-link'); or workloads, which are then done as
    /// they are: a file with one op a line, several in a file after lines '--- name', a file of J-lang, a folder
    /// of such files, the published bugs (corpus, corpus:generic-321), or ACE (ace-seq1, ace-seq2, ace-seq3-metadata,
    /// ace-seq3-data, ace-seq3-nested; ace-seq1-fdatasync, ace-seq2-fdatasync); or a file of
    /// weights, whose name ends in .toml
    #[arg(long, value_name = "SET|FILE|DIR", allow_hyphen_values = true)]
    pub ops: Option<String>,
    /// At most so many names of files
    #[arg(long, value_name = "N")]
    pub files: Option<usize>,
    /// At most so many directories besides the root
    #[arg(long, value_name = "N")]
    pub dirs: Option<usize>,
    /// What a power cut may leave of the writes in the disk's cache [default: prefix]; `kill`, for a target without a
    /// disk: whoever serves it is killed between ops, and started again
    #[arg(long, value_name = "MODE", value_parser = crash_modes())]
    pub crash: Option<CrashFlag>,
    /// What is demanded of recovery [default: what the target promises]
    #[arg(long, value_name = "NAME", value_parser = contracts())]
    pub contract: Option<Contract>,
    /// How many crash states at one position are judged before they are sampled [default: 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub crash_states: Option<u32>,
    /// Do not go on from what recovery made of a crash state; the default with several workloads
    #[arg(long)]
    pub no_continue: bool,
    /// Go on from what recovery made of a crash state; the default but for several workloads
    #[arg(long, conflicts_with = "no_continue")]
    pub r#continue: bool,
    /// Cut the power during recovery too; whatever that leaves must recover to the same tree
    #[arg(long)]
    pub recovery_crashes: bool,
    /// Let up to N reads, writes, flushes and allocations fail, each in turn; an op must then fail or succeed as a
    /// whole
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=8))]
    pub faults: Option<u8>,
    /// In which order states are expanded [default: bfs; with several workloads dfs]
    #[arg(long, value_name = "ORDER")]
    pub search: Option<SearchOrder>,
    /// How visited states are remembered [default: exact]
    #[arg(long, value_name = "SET")]
    pub visited: Option<VisitedSet>,
    /// Size of the bitstate table: 2^N bits [default: 33, that is 1 GiB]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(6..=44))]
    pub bitstate_bits: Option<u8>,
    /// How many bits of the bitstate table stand for a state [default: 3]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub bitstate_hashes: Option<u8>,
    /// Which states count as one: those with the same disk, memory and past, those whose trees have the same shape, or
    /// those with the same tree [default: full]
    #[arg(long, value_name = "HOW")]
    pub equality: Option<EqualityKind>,
    /// By how many of the last ops states of one shape are told apart [default: 2]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(..=check::SUFFIX_MAX as i64))]
    pub suffix: Option<u8>,
    /// Tell all states apart, also those that a symmetry of the target makes equivalent
    #[arg(long)]
    pub no_symmetry: bool,
    /// Run every recovery, also one whose result is known from what it reads: slower, with the same findings
    #[arg(long)]
    pub no_memo: bool,
    /// What random choices start from [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Expand what a state leads to in an order that follows from the seed: searches that are cut short then see
    /// different states with different seeds
    #[arg(long)]
    pub shuffle: bool,
}

/// What a crash is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashFlag {
    /// The power of the disk is cut.
    Power(CrashMode),
    /// Whoever serves the file system is killed.
    Kill,
}

impl std::fmt::Display for CrashFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Power(mode) => mode.fmt(f),
            Self::Kill => f.write_str(KILL),
        }
    }
}

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchOrder {
    /// Depth-first
    Dfs,
    /// Breadth-first: the shortest counterexamples
    Bfs,
    /// Random walks; needs a budget
    Random,
    /// First the states whose last ops, outcome, tree and pending writes were seen least
    Novelty,
    /// First the states on the way to which recovery wrote most
    Recovery,
}

/// Which states count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EqualityKind {
    /// The same disk, memory and past
    Full,
    /// The same shape of the tree and the same kinds of last ops: far fewer states, but not every one
    Shape,
    /// The same tree: what a search of a real kernel compares; not every state either
    Tree,
}

/// How visited states are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VisitedSet {
    /// All bytes of every state
    Exact,
    /// A 64-bit hash of each state
    Hash,
    /// A 128-bit hash of each state
    Hash128,
    /// A few bits of each state in a table of fixed size
    Bitstate,
}

/// `shakedown replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown replay run/traces/001.json
  shakedown replay run/traces/001.json --minimise --out shorter.json
  shakedown replay run/traces/001.json --script sh > reproduce.sh

Exit codes: 0 the violation does not show any more, 1 it does, 2 the trace cannot be used.")]
pub struct Replay {
    /// The trace of a violation
    #[arg(value_name = "TRACE.json")]
    pub trace: PathBuf,
    /// Make the trace shorter first, as far as it still violates the same property
    #[arg(long)]
    pub minimise: bool,
    /// Write the minimised trace to this file
    #[arg(long, value_name = "FILE", requires = "minimise")]
    pub out: Option<PathBuf>,
    /// Print a stand-alone reproducer of the ops in this language instead of the story
    #[arg(long, value_name = "LANGUAGE", value_parser = script_kinds())]
    pub script: Option<ScriptKind>,
}

/// `shakedown characterise`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown characterise model:journal 'model:journal?data=journal' model:cow
  shakedown characterise guest:ext2 guest:ext4 --out table --html table.html
  shakedown characterise model:journal --explain prefix

Columns: recovers, sync-mount, sync, fsync, fsync-name, fsync-directory, fdatasync, o-sync, rename, ordered, prefix,
fast-is-full. A column that holds says in how many crash states it was put to the test.
Exit codes: 0 every promise of every target was kept, 1 one was broken, 2 wrong usage or environment.")]
pub struct Characterise {
    /// What to measure, such as 'model:journal?data=journal'; see `shakedown targets`
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Tell how the promise of this column was broken, instead of the table; or `all`
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub explain: Vec<String>,
    /// Besides the workloads, try every op after every other so deep [default: 2]
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// What a power cut may leave of the writes in the disk's cache [default: subsets]
    #[arg(long, value_name = "MODE", value_parser = power_cuts())]
    pub crash: Option<CrashMode>,
    /// How many crash states at one position are judged before they are sampled [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub crash_states: Option<u32>,
    /// Workers [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What samples start from [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the table and the traces in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the table as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `shakedown targets`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown targets --json
  shakedown targets --clean")]
pub struct Targets {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Clear away what runs have left behind whose processes were all killed at once
    #[arg(long, conflicts_with = "json")]
    pub clean: bool,
}

/// `shakedown zoo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown zoo
  shakedown zoo journal-no-barrier generic-342
  shakedown zoo --json

Exit codes: 0 every bug was found and no right variant was accused, 1 otherwise, 2 there is no such case.")]
pub struct Zoo {
    /// Only these cases [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `shakedown kernel`.
#[derive(Debug, Args)]
pub struct Kernel {
    /// What to do with it.
    #[command(subcommand)]
    pub command: KernelCommand,
}

/// What to do with guest kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Build one from Debian's kernel source, or from a tree of yours
    Build(KernelBuild),
}

/// `shakedown kernel build`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown kernel build                        Debian's linux-source-6.1; as root, installs what it takes
  shakedown kernel build --source ~/linux       a kernel tree of yours, with your change in it
  shakedown kernel build --source ~/linux --name old    the same, for kernel=old, beside others
  shakedown kernel build --debug                a second kernel with KASAN and lockdep, for kernel=debug
  shakedown kernel build --enable UDF_FS        with one more file system, for guest:other?type=udf

It is kept below ~/.cache/shakedown, and built again only as far as its source has changed.
Exit codes: 0 it is there, 2 it cannot be built.")]
pub struct KernelBuild {
    /// A kernel tree, in which nothing was built [default: Debian's linux-source-6.1]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// With KASAN, lockdep and other aids: finds more, and is slower
    #[arg(long)]
    pub debug: bool,
    /// An option of the kernel that is switched on besides; may be given several times
    #[arg(long, value_name = "OPTION")]
    pub enable: Vec<String>,
    /// What to call it, for kernel=NAME; the kernels that are there stay what they are
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// `shakedown mount`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  shakedown mount /mnt/ref                                 until Ctrl-C or `umount /mnt/ref`
  shakedown mount /mnt/ref --capacity 64MiB --inodes 1000  a small one, to run full

It is empty at first, lives in memory, and is gone when it ends; whatever ends it, nothing stays mounted. Snapshots are
ioctls on any file of it: crates/reffs/include/shakedown_reffs.h for C, `reffs::Client` for Rust. After 2^32 creations
it is full (ENOSPC), since no inode number is given out twice.
Exit codes: 0 it was unmounted, 2 it could not be mounted.")]
pub struct Mount {
    /// An existing directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Bytes that all files may hold together, such as 64MiB; holes take nothing
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = capacity)]
    pub capacity: u64,
    /// How many files, directories and others there may be
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub inodes: u64,
    /// Threads that answer the kernel [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

fn capacity(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Bound::Memory(bytes)) => Ok(bytes),
        _ => Err("a capacity is a number with a unit, such as 64MiB or 4GiB".to_owned()),
    }
}

const CRASH_MODES: [&str; 5] = ["off", "flushed", "prefix", "subsets", "torn"];
/// The word for [`CrashFlag::Kill`].
pub const KILL: &str = "kill";

fn crash_modes() -> impl TypedValueParser<Value = CrashFlag> {
    let words = CRASH_MODES.into_iter().chain([KILL]);
    PossibleValuesParser::new(words).try_map(|word| match word.as_str() {
        KILL => Ok(CrashFlag::Kill),
        word => word.parse().map(CrashFlag::Power),
    })
}

/// Where nobody can be killed instead.
fn power_cuts() -> impl TypedValueParser<Value = CrashMode> {
    PossibleValuesParser::new(CRASH_MODES).try_map(|word| word.parse::<CrashMode>())
}

fn script_kinds() -> impl TypedValueParser<Value = ScriptKind> {
    PossibleValuesParser::new(["sh", "c"]).try_map(|word| word.parse::<ScriptKind>())
}

fn contracts() -> impl TypedValueParser<Value = Contract> {
    PossibleValuesParser::new(Contract::ALL.map(Contract::name)).try_map(|word| word.parse::<Contract>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_crash_mode_can_be_asked_for() {
        assert_eq!(CrashMode::ALL.map(|mode| mode.to_string()), CRASH_MODES);
    }
}
