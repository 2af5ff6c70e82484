//! One way to search a variant, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions};
use disk::CrashMode;
use explore::Budget;
use models::{
    f2fs::{F2fs, Flaw, Variant},
    nodes::NodeTarget,
};
use vfs::generate::OpSet;

use crate::driver;

/// What is searched: a variant, the ops that are tried, on how many files, how many in a row, and what a power cut may
/// leave.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub variant: Variant,
    pub ops: &'static str,
    pub files: usize,
    pub depth: u32,
    pub crash: CrashMode,
}

/// All ops of the model.
pub const ALL: &str = "default,-link";

impl Search {
    pub fn wrong(self, flaw: Flaw) -> Self {
        Self { variant: self.variant.with(flaw), ..self }
    }

    pub fn run(self, workers: usize) -> CheckReport {
        self.run_with(workers, CheckOptions::default())
    }

    /// Breadth first and exact, so that the shortest trace is found and nothing is missed.
    pub fn run_with(self, workers: usize, options: CheckOptions) -> CheckReport {
        let mut target = NodeTarget::new(F2fs::new(self.variant));
        target.bounds_mut().ops = self.ops.parse::<OpSet>().expect("these ops exist");
        target.bounds_mut().files_max = self.files;
        let options = CheckOptions { crash: self.crash, contract: Checkable::promise(&target).contract, ..options };
        let run = RunOptions {
            symmetry: false,
            threads: workers,
            budget: Budget { depth: Some(self.depth), ..Budget::default() },
            ..RunOptions::exhaustive("model:f2fs")
        };
        driver::search(&target, options, &run)
    }

    /// The names of the violated properties, in alphabetical order.
    pub fn violated(self) -> Vec<String> {
        driver::violated(&self.run(1))
    }
}
