//! What a cycle of checking a real kernel is made of, so that the next improvement is obvious.

use anyhow::Result;

use super::{Options, Verdict};
use crate::process;
use crate::setup;
use crate::workspace::{Metadata, cargo};

/// The file systems for which speeds are told.
const FILE_SYSTEMS: [&str; 5] = ["ext4", "xfs", "btrfs", "f2fs", "jfs"];

/// Measures each part; nothing is promised.
pub fn run(_: &Options, _: &Metadata) -> Result<Vec<Verdict>> {
    setup::kernel()?;
    let mut example = cargo();
    example.args(["run", "--quiet", "--release", "--package", "guest", "--example", "cycle", "--"]).args(FILE_SYSTEMS);
    process::run(&mut example)?;
    Ok(Vec::new())
}
