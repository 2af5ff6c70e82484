//! Flags that would do nothing: an error and not a silence.

use anyhow::{Result, bail};
use disk::CrashMode;

use crate::{
    arguments::{CrashFlag, Plan, SearchOrder, VisitedSet},
    registry::{self, Kind, Named},
};

/// A flag, and whether it is given.
type Given = (&'static str, bool);

/// Refuses what would do nothing to this target, or with these other flags.
///
/// # Errors
/// There is such a flag.
pub fn refuse(named: &Named, plan: &Plan, crash: CrashMode) -> Result<()> {
    let about_recovery: [Given; 7] = [
        ("--contract", plan.contract.is_some()),
        ("--crash-states", plan.crash_states.is_some()),
        ("--no-continue", plan.no_continue),
        ("--continue", plan.r#continue),
        ("--recovery-crashes", plan.recovery_crashes),
        ("--no-memo", plan.no_memo),
        ("--search recovery", plan.search == Some(SearchOrder::Recovery)),
    ];
    let (kind, name) = (named.kind(), named.with_rivals());
    if !kind.has_disk() {
        let about_disks: [Given; 3] = [
            ("--crash", plan.crash.is_some_and(|crash| crash != CrashFlag::Power(CrashMode::Off))),
            ("--faults", plan.faults.is_some()),
            ("--search novelty", plan.search == Some(SearchOrder::Novelty)),
        ];
        if let Some(flag) = given(&about_disks).or_else(|| given(&about_recovery)) {
            let why = match kind {
                Kind::Undisturbed => "several targets are compared while they run undisturbed",
                _ => "it has no disk whose power could be cut",
            };
            bail!("use {flag} with {name}: {why}");
        }
    }
    if plan.faults.is_some() && registry::is_killed(&named.name) {
        bail!("use --faults with {name}: it has no {{dev}} whose requests could fail");
    }
    let about_ops: [Given; 2] = [("--equality", plan.equality.is_some()), ("--ops", plan.ops.is_some())];
    if let (Some(flag), false) = (given(&about_ops), kind.has_files()) {
        bail!("use {flag} with {name}: it has no files");
    }
    let about_files: [Given; 2] = [("--files", plan.files.is_some()), ("--dirs", plan.dirs.is_some())];
    if let (Some(flag), false) = (given(&about_files), kind.takes_workload()) {
        bail!("use {flag} with {name}: its files are options of the target, see `shakedown targets`");
    }
    if let (Some(flag), CrashMode::Off) = (given(&about_recovery), crash) {
        bail!("use {flag} with --crash off: there is no recovery without a power cut");
    }
    let about_bitstate: [Given; 2] =
        [("--bitstate-bits", plan.bitstate_bits.is_some()), ("--bitstate-hashes", plan.bitstate_hashes.is_some())];
    if let (Some(flag), false) = (given(&about_bitstate), plan.visited == Some(VisitedSet::Bitstate)) {
        bail!("use {flag} without --visited bitstate");
    }
    if plan.shuffle && plan.search == Some(SearchOrder::Random) {
        bail!("use --shuffle with --search random: walks choose at random as they are");
    }
    Ok(())
}

/// The first flag that is given.
fn given(flags: &[Given]) -> Option<&'static str> {
    flags.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
}
