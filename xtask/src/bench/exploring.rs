//! A real kernel explored by comparison, without crashes: after every op its whole tree must be the reference's.
//!
//! Metis does the same with two kernels side by side; its figures are from the machine of its authors. What counts as a
//! state there is a tree, and so it is here.

use anyhow::Result;

use super::{Options, Verdict};
use crate::setup;
use crate::shakedown::Shakedown;
use crate::workspace::Metadata;

const OPS_PER_SECOND_MIN: f64 = 1000.0;
const STATES_PER_SECOND_MIN: f64 = 300.0;
/// As published for Metis with ext4 against its reference.
const PUBLISHED: &str = "Metis, published: 280 ops and 113 states a second";

/// Every op of the vocabulary on up to six files and three directories, in random walks of 200 ops.
const ARGUMENTS: [&str; 17] = [
    "guest:ext4",
    "--crash",
    "off",
    "--equality",
    "tree",
    "--search",
    "random",
    "--ops",
    "all",
    "--files",
    "6",
    "--dirs",
    "3",
    "--depth",
    "200",
    "--budget",
    "20s",
];

/// Explores once; its first second or so goes into booting.
pub fn run(_: &Options, metadata: &Metadata) -> Result<Vec<Verdict>> {
    setup::kernel()?;
    let out = metadata.scratch("bench")?.join("exploring");
    let found = Shakedown::to_measure(metadata)?.check(&ARGUMENTS, &out)?;
    let (ops, states) = (found.ops as f64 / found.seconds, found.states as f64 / found.seconds);
    println!("guest:ext4 against the reference, on all cores: {ops:.0} ops and {states:.0} new states a second");
    println!("{PUBLISHED}");
    let at_least = |what: &str, rate: f64, least: f64| Verdict {
        passed: rate >= least,
        text: format!("{what} a second: {rate:.0}, at least {least}"),
    };
    let silent = Verdict {
        passed: found.violations.is_empty(),
        text: format!("differences from the reference: {}, none is expected", found.violations.len()),
    };
    Ok(vec![at_least("ops", ops, OPS_PER_SECOND_MIN), at_least("new states", states, STATES_PER_SECOND_MIN), silent])
}
