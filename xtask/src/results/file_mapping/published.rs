//! What the study printed: Tables 4.4 and 4.5 (verdicts) and 4.6 (cost) of its chapter 4, word by word. Link and index
//! have the same verdicts everywhere, so those are kept once.

/// The two ways of mapping a file to its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// A chain in an allocation table, like FAT.
    Link,
    /// Pointers in an inode, like ext2.
    Index,
}

/// A row of Table 4.6.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// States, in units of 10^10.
    pub states_e10: f64,
    /// Transitions, in units of 10^10.
    pub transitions_e10: f64,
    pub memory_gb: f64,
    pub hours: f64,
}

const fn cost(states_e10: f64, transitions_e10: f64, memory_gb: f64, hours: f64) -> Cost {
    Cost { states_e10, transitions_e10, memory_gb, hours }
}

impl Mapping {
    /// The model's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Index => "index",
        }
    }

    /// Table 4.6.
    pub fn published_cost(self, tasks: u32) -> Cost {
        match (self, tasks) {
            (Self::Link, 1) => cost(0.75, 1.71, 4.67, 0.82),
            (Self::Link, _) => cost(1.20, 3.83, 4.73, 1.81),
            (Self::Index, 1) => cost(0.56, 1.15, 4.64, 0.60),
            (Self::Index, _) => cost(1.10, 2.86, 4.65, 1.66),
        }
    }
}

/// One of the study's four kinds of error.
#[derive(Clone, Copy, Debug)]
pub struct ErrorMode {
    /// The word by which the model's property is recognised.
    pub word: &'static str,
    /// Tables 4.4 and 4.5, single-thread and multi-thread.
    table_44: [Verdict; 2],
    table_45: [Verdict; 2],
}

/// The rows of both tables, in their order.
pub const ERROR_MODES: [ErrorMode; 4] = [
    ErrorMode {
        word: "dead",
        table_44: [Verdict::NoError, Verdict::NotChecked],
        table_45: [Verdict::NoError, Verdict::Repaired],
    },
    critical("lost"),
    critical("double"),
    critical("content"),
];

const fn critical(word: &'static str) -> ErrorMode {
    ErrorMode { word, table_44: [Verdict::NoError, Verdict::Error], table_45: [Verdict::NoError, Verdict::NoError] }
}

/// A cell of Table 4.4 or 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    NoError,
    Error,
    Repaired,
    NotChecked,
}

impl Verdict {
    /// As printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoError => "No error",
            Self::Error => "Error",
            Self::Repaired => "Repaired",
            Self::NotChecked => "Not check",
        }
    }

    /// Whether finding a violation (or none) is what the study says.
    pub fn agrees(self, found: bool) -> bool {
        match self {
            Self::NoError => !found,
            Self::Error | Self::Repaired => found,
            Self::NotChecked => true,
        }
    }
}

/// Where the study reports on a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// "Verification result".
    Table44,
    /// "Verification result with reordering write data".
    Table45,
    /// Section 4.3.1 tells of counterexamples and gives no table.
    InProseOnly,
    /// Not part of the study.
    Nowhere,
}

impl Published {
    /// The printed verdict on one error mode.
    pub fn verdict(self, tasks: u32, mode: usize) -> Option<Verdict> {
        let column = usize::from(tasks > 1);
        match self {
            Self::Table44 => Some(ERROR_MODES[mode].table_44[column]),
            Self::Table45 => Some(ERROR_MODES[mode].table_45[column]),
            Self::InProseOnly | Self::Nowhere => None,
        }
    }
}
