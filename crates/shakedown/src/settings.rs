//! Everything that decides the result of a check, complete and checked: what a run is begun with, and resumed with.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use check::{CheckOptions, Equality, Lack, Lacking, RunOptions, Score, Weighted, Workload};
use disk::CrashMode;
use explore::{Budget, Order, VisitedKind};
use serde::{Deserialize, Serialize};
use vfs::{
    Op, WorkloadSet,
    contract::Contract,
    generate::{OpSet, Weights},
};

use crate::{
    arguments::{CrashFlag, EqualityKind, KILL, Plan, SearchOrder, VisitedSet},
    idle_flags, memory,
    quantity::bytes,
    registry::{self, Kind, Named},
    workloads::Ops,
};

const CRASH_STATES_MAX: u32 = 4096;
const SUFFIX_DEFAULT: u8 = 2;
const BITSTATE_BITS: u8 = 33;
const BITSTATE_HASHES: u8 = 3;

/// A plan with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    pub target: String,
    /// Other targets that it was compared with.
    pub against: Vec<String>,
    /// Kinds of ops.
    pub op_set: Option<String>,
    /// Ops that are done one after the other.
    pub script: Option<Vec<Op>>,
    /// What a set of workloads was asked for by: its name, or where it lies.
    pub workload_set: Option<String>,
    /// The set itself, which a run that is resumed reads again.
    #[serde(skip)]
    pub set: Option<Arc<WorkloadSet>>,
    /// The text of a file of weights.
    pub weights: Option<String>,
    pub files_max: Option<usize>,
    pub dirs_max: Option<usize>,
    pub equality: Equality,
    pub crash: CrashMode,
    /// `None` for a target without a disk.
    pub contract: Option<Contract>,
    pub crash_states_max: u32,
    pub continue_after_crash: bool,
    pub recovery_crashes: bool,
    pub faults: u8,
    pub search: SearchOrder,
    pub visited: VisitedSet,
    pub bitstate_bits: Option<u8>,
    pub bitstate_hashes: Option<u8>,
    pub symmetry: bool,
    pub memoise: bool,
    pub seed: u64,
    /// Runs that were begun before there was a choice had none.
    #[serde(default)]
    pub shuffle: bool,
    pub depth_max: Option<u32>,
}

impl Settings {
    /// The settings of a new run.
    ///
    /// # Errors
    /// A flag makes no sense for this target or without another flag.
    pub fn new(named: &Named, plan: &Plan) -> Result<Self> {
        let crash = crash(named, plan)?;
        idle_flags::refuse(named, plan, crash)?;
        let visited = plan.visited.unwrap_or(VisitedSet::Exact);
        let is_bitstate = visited == VisitedSet::Bitstate;
        let (ops, set, weights) = match plan.ops.as_deref().map(Ops::read).transpose()? {
            None => (None, None, None),
            Some(Ops::Kinds(kinds)) => (Some(kinds.to_string()), None, None),
            Some(Ops::Workloads(set)) => (None, Some(Arc::new(set)), None),
            Some(Ops::Weights(weights)) => (None, None, Some(weights)),
        };
        if let Some(weights) = &weights {
            fits(named, plan, weights)?;
        }
        // One workload without a name is a script, kept with the run as it is.
        let one: Option<Vec<Op>> = set.as_ref().filter(|set| set.len() == 1).map(|set| set.ops(0).cloned().collect());
        let script = one.clone().filter(|_| set.as_ref().is_some_and(|set| set.name(0).is_empty()));
        let set = set.filter(|_| script.is_none());
        let is_set = set.as_ref().is_some_and(|set| set.len() > 1);
        ensure!(
            !is_set || named.against.is_empty(),
            "use several workloads with --against: targets are compared by one, or by all ops that they have"
        );
        ensure!(
            ops.is_none() || named.kind().takes_workload(),
            "use a set of ops with {}: it chooses its ops itself; a file of ops works",
            named.entry.name
        );
        if let Some(lacking) =
            ops.as_ref().and(plan.ops.as_deref()).and_then(|given| lacking(given, named.target.ops()))
        {
            bail!("use the ops {lacking:?} with {}: it has {}", named.entry.name, named.target.ops());
        }
        // What it does not have is found out by doing it, for which it must be there.
        if one.is_some() {
            named.ready()?;
        }
        if let Some(lacking) = one.as_deref().and_then(|script| named.target.lacks(script)) {
            bail!("do {} on {}: {}", lacking.op, named.entry.name, say_lack(&lacking, named.target.ops()));
        }
        Ok(Self {
            target: named.name.clone(),
            against: named.against.clone(),
            op_set: ops,
            script,
            workload_set: plan.ops.clone().filter(|_| set.is_some()),
            set,
            weights: weights.map(|weights| weights.text().to_owned()),
            files_max: plan.files,
            dirs_max: plan.dirs,
            equality: equality(named.kind(), plan)?,
            crash,
            contract: named.kind().has_disk().then(|| plan.contract.unwrap_or(named.target.promise().contract)),
            crash_states_max: plan.crash_states.unwrap_or(CRASH_STATES_MAX),
            continue_after_crash: plan.r#continue || !(plan.no_continue || is_set),
            recovery_crashes: plan.recovery_crashes,
            faults: plan.faults.unwrap_or(0),
            search: plan.search.unwrap_or(if is_set { SearchOrder::Dfs } else { SearchOrder::Bfs }),
            visited,
            bitstate_bits: is_bitstate.then(|| plan.bitstate_bits.unwrap_or(BITSTATE_BITS)),
            bitstate_hashes: is_bitstate.then(|| plan.bitstate_hashes.unwrap_or(BITSTATE_HASHES)),
            symmetry: !plan.no_symmetry,
            memoise: !plan.no_memo,
            seed: plan.seed.unwrap_or(0),
            shuffle: plan.shuffle,
            depth_max: plan.depth,
        })
    }

    /// Whether a kernel is under check that is never unmounted for its own sake: the search has no end at which it is.
    pub fn leaves_unmounts_unjudged(&self) -> bool {
        let ends = self.depth_max.is_some() || self.script.is_some() || self.workload_set.is_some();
        self.target.starts_with("guest:") && self.against.is_empty() && !ends
    }

    /// What is checked.
    pub fn check_options(&self) -> CheckOptions {
        CheckOptions {
            crash: self.crash,
            contract: self.contract.unwrap_or(Contract::Mountable),
            continue_after_crash: self.continue_after_crash,
            recovery_crashes: self.recovery_crashes,
            faults: self.faults,
            equality: self.equality,
            crash_states_max: self.crash_states_max as usize,
            seed: self.seed,
            ..CheckOptions::default()
        }
    }

    /// Which ops.
    fn workload(&self) -> Workload {
        let script = self.script.as_deref().and_then(|ops| Workload::scripted(ops).script);
        Workload {
            ops: self.op_set.as_ref().and_then(|ops| ops.parse().ok()),
            files_max: self.files_max,
            dirs_max: self.dirs_max,
            script: self.set.clone().or(script),
            weighted: self.weights.as_ref().and_then(|text| text.parse().ok()).map(|weights| Weighted {
                weights,
                seed: self.seed,
                by_step: self.search == SearchOrder::Random,
            }),
        }
    }

    /// Reads the set of workloads again that the run was begun with.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn load(&mut self) -> Result<()> {
        if let Some(given) = &self.workload_set {
            let Ops::Workloads(set) = Ops::read(given)? else { bail!("use {given}: it names no workloads any more") };
            self.set = Some(Arc::new(set));
        }
        Ok(())
    }

    /// How it is searched: on one thread, without a budget but for the depth, and without a folder.
    pub fn run_options(&self, named: &Named) -> RunOptions {
        RunOptions {
            workload: self.workload(),
            order: self.order(),
            score: self.score(),
            visited: self.visited_kind(),
            symmetry: self.symmetry,
            memoise: self.memoise,
            budget: Budget { depth: self.depth_max, ..Budget::default() },
            seed: self.seed,
            shuffle: self.shuffle,
            ..RunOptions::exhaustive(&named.name)
        }
    }

    /// In which order.
    fn order(&self) -> Order {
        match self.search {
            SearchOrder::Dfs => Order::DepthFirst,
            SearchOrder::Bfs => Order::BreadthFirst,
            SearchOrder::Random => Order::RandomWalk,
            SearchOrder::Novelty | SearchOrder::Recovery => Order::BestFirst,
        }
    }

    /// By what a best-first search orders the states that wait.
    fn score(&self) -> Score {
        match self.search {
            SearchOrder::Dfs | SearchOrder::Bfs | SearchOrder::Random => Score::None,
            SearchOrder::Novelty => Score::Novelty,
            SearchOrder::Recovery => Score::Recovery,
        }
    }

    /// How visited states are remembered.
    fn visited_kind(&self) -> VisitedKind {
        match self.visited {
            VisitedSet::Exact => VisitedKind::Exact,
            VisitedSet::Hash => VisitedKind::Hash64,
            VisitedSet::Hash128 => VisitedKind::Hash128,
            VisitedSet::Bitstate => VisitedKind::Bitstate {
                bits_log2: self.bitstate_bits.unwrap_or(BITSTATE_BITS),
                hashes: self.bitstate_hashes.unwrap_or(BITSTATE_HASHES),
            },
        }
    }

    /// Refuses a table of visited states that this machine cannot hold.
    ///
    /// # Errors
    /// It cannot.
    pub fn fits_into_memory(&self) -> Result<()> {
        let (Some(bits), Some(available)) = (self.bitstate_bits, memory::available_bytes()) else { return Ok(()) };
        let needed = 1u64 << bits >> 3;
        ensure!(
            needed <= available,
            "use --bitstate-bits {bits}: the table takes {}, but only {} are free",
            bytes(needed),
            bytes(available)
        );
        Ok(())
    }

    /// The plan as flags, every default spelled out.
    pub fn flags(&self) -> String {
        let mut flags: Vec<String> = self.against.iter().map(|other| format!("--against '{other}'")).collect();
        flags.extend(self.op_set.as_ref().map(|ops| format!("--ops {ops}")));
        flags.extend(self.script.as_ref().map(|ops| format!("--ops FILE (of {} ops)", ops.len())));
        flags.extend(self.workload_set.as_ref().map(|set| format!("--ops {set}")));
        flags.extend(self.weights.as_ref().map(|_| "--ops FILE.toml (of weights)".to_owned()));
        flags.extend(self.files_max.map(|files| format!("--files {files}")));
        flags.extend(self.dirs_max.map(|dirs| format!("--dirs {dirs}")));
        match self.equality {
            Equality::Full => {}
            Equality::Shape { suffix } => flags.push(format!("--equality shape --suffix {suffix}")),
            Equality::Tree => flags.push("--equality tree".to_owned()),
        }
        if let Some(contract) = self.contract {
            let is_kill = self.crash != CrashMode::Off && registry::is_killed(&self.target);
            flags.push(format!("--crash {}", if is_kill { KILL.to_owned() } else { self.crash.to_string() }));
            if self.crash != CrashMode::Off {
                flags.push(format!("--contract {contract} --crash-states {}", self.crash_states_max));
            }
            flags.extend((!self.continue_after_crash).then(|| "--no-continue".to_owned()));
            flags.extend((self.continue_after_crash && self.set.is_some()).then(|| "--continue".to_owned()));
            flags.extend(self.recovery_crashes.then(|| "--recovery-crashes".to_owned()));
            flags.extend((self.faults > 0).then(|| format!("--faults {}", self.faults)));
        }
        flags.push(format!("--search {} --visited {}", word(&self.search), word(&self.visited)));
        flags.extend(self.bitstate_bits.map(|bits| format!("--bitstate-bits {bits}")));
        flags.extend(self.bitstate_hashes.map(|hashes| format!("--bitstate-hashes {hashes}")));
        flags.extend((!self.symmetry).then(|| "--no-symmetry".to_owned()));
        flags.extend((!self.memoise).then(|| "--no-memo".to_owned()));
        flags.extend(self.depth_max.map(|depth| format!("--depth {depth}")));
        flags.push(format!("--seed {}", self.seed));
        flags.extend(self.shuffle.then(|| "--shuffle".to_owned()));
        flags.join(" ")
    }
}

/// The word by which the command line knows a value.
fn word(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The first word of a set that names nothing that a target has. Sets with names of their own are for any target.
fn lacking(given: &str, has: OpSet) -> Option<&str> {
    let names_none = |word: &&str| word.parse::<OpSet>().is_ok_and(|set| set.intersection(has) == OpSet::EMPTY);
    given.split(',').map(str::trim).filter(|word| !word.starts_with('-')).find(names_none)
}

/// Why an op of a script cannot be done.
fn say_lack(Lacking { op, what }: &Lacking, has: OpSet) -> String {
    match what {
        Lack::Kind => format!("it has no such op; it has {has}"),
        Lack::Form => format!("it has {}, but not with these arguments", op.kind()),
        Lack::Large { bytes_max } => format!("its files have at most {} together", bytes(*bytes_max)),
        Lack::LongNames { bytes_max } => format!("its names have at most {bytes_max} bytes"),
    }
}

/// Refuses weights for ops or names that a target does not have.
fn fits(named: &Named, plan: &Plan, weights: &Weights) -> Result<()> {
    let given = plan.ops.as_deref().unwrap_or_default();
    let lacking = weights.ops().without(named.target.ops());
    ensure!(
        lacking == OpSet::EMPTY,
        "use the weights in {given} with {}: not all has {lacking}; there is {}",
        named.with_rivals(),
        named.target.ops()
    );
    let given_too = [("--files", plan.files.is_some()), ("--dirs", plan.dirs.is_some())];
    let needless = given_too.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag);
    ensure!(needless.is_none(), "use {} with weights: their [paths] say that", needless.unwrap_or_default());
    Ok(())
}

/// What several targets have in common is what a user sees, so a comparison tells states apart by that.
fn equality(kind: Kind, plan: &Plan) -> Result<Equality> {
    let usual = match kind {
        Kind::Undisturbed if !plan.no_symmetry => EqualityKind::Tree,
        _ => EqualityKind::Full,
    };
    match (plan.equality.unwrap_or(usual), plan.suffix) {
        (EqualityKind::Shape, _) if kind == Kind::Undisturbed => {
            bail!("use --equality shape with --against: states of a comparison are told apart by tree or full")
        }
        (EqualityKind::Full, None) => Ok(Equality::Full),
        (EqualityKind::Shape | EqualityKind::Tree, _) if plan.no_symmetry => {
            bail!("use --equality together with --no-symmetry, which tells all states apart")
        }
        (EqualityKind::Full | EqualityKind::Tree, Some(_)) => bail!("use --suffix without --equality shape"),
        (EqualityKind::Tree, None) => Ok(Equality::Tree),
        (EqualityKind::Shape, suffix) => Ok(Equality::Shape { suffix: suffix.unwrap_or(SUFFIX_DEFAULT) }),
    }
}

/// What a crash is. Of a file system that is killed, what it stores is what a disk that has flushed has: all of it.
fn crash(named: &Named, plan: &Plan) -> Result<CrashMode> {
    let is_killed = named.against.is_empty() && registry::is_killed(&named.name);
    match plan.crash {
        None | Some(CrashFlag::Kill) if is_killed => Ok(CrashMode::Flushed),
        None if named.kind() == Kind::Flash => Ok(CrashMode::Flushed),
        None if named.kind().has_disk() => Ok(CrashMode::Prefix),
        None | Some(CrashFlag::Power(CrashMode::Off)) => Ok(CrashMode::Off),
        Some(CrashFlag::Kill) => {
            bail!("use --crash kill with {}: no command serves it that could be killed", named.name)
        }
        Some(CrashFlag::Power(mode)) if is_killed => {
            bail!(
                "use --crash {mode} with {}: it has no {{dev}} whose power could be cut; use --crash kill",
                named.name
            )
        }
        Some(CrashFlag::Power(mode)) if named.kind() == Kind::Flash && mode != CrashMode::Flushed => {
            bail!(
                "use --crash {mode} with {}: what an op writes to this flash reaches the disk in another order, so \
                 that the power is cut only between ops; use --crash flushed",
                named.name
            )
        }
        Some(CrashFlag::Power(mode)) => Ok(mode),
    }
}
