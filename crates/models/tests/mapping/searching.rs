//! One way to search a variant, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions};
use disk::CrashMode;
use explore::{Budget, Order};
use models::mapping::{FileMapping, Layout, Variant, Writes};
use vfs::contract::Contract;

use crate::driver;

/// How the models are checked here: what they promise is `mountable`, and damage is looked for after crashes too.
pub fn options(crash: CrashMode) -> CheckOptions {
    CheckOptions { crash, contract: Contract::Mountable, ..CheckOptions::default() }
}

/// An exact breadth-first search without a budget: it ends when nothing is left.
pub fn run_options(workers: usize, symmetry: bool) -> RunOptions {
    RunOptions { symmetry, threads: workers, ..RunOptions::exhaustive("model:mapping") }
}

/// The geometry of the study, made smaller where the full one would take long.
pub fn variant(writes: Writes, threads: usize, (files, blocks): (u8, u8)) -> Variant {
    Variant { files, blocks, ..Variant::study(writes, threads) }
}

/// Searches a variant to its last state.
pub fn search<L: Layout>(variant: Variant, crash: CrashMode, workers: usize) -> CheckReport {
    search_in::<L>(Order::BreadthFirst, variant, options(crash), workers)
}

/// As [`search`], in another order or with other options.
pub fn search_in<L: Layout>(order: Order, variant: Variant, options: CheckOptions, workers: usize) -> CheckReport {
    let target = FileMapping::<L>::new(variant);
    let run = RunOptions { order, ..run_options(workers, variant.symmetry) };
    driver::search(&target, options, &run)
}

/// As [`search`], but to a depth only.
pub fn search_to<L: Layout>(depth: u32, variant: Variant, crash: CrashMode) -> CheckReport {
    let run = run_options(1, variant.symmetry);
    let run = RunOptions { budget: Budget { depth: Some(depth), ..run.budget }, ..run };
    FileMapping::<L>::new(variant).check(options(crash), &run, &mut |_, _| {}).expect("as above")
}
