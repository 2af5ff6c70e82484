//! What takes part in the race, and what is kept of it.

use anyhow::Result;

use super::Measurement;

/// A program that is ready to search.
pub trait Racer {
    /// How the table calls it.
    fn name(&self) -> String;

    /// Searches the whole space once.
    ///
    /// # Errors
    /// When the program fails, or does not finish the search.
    fn race(&self) -> Result<Measurement>;
}

/// One racer's line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub runs: Vec<Measurement>,
}

impl Row {
    pub fn new(name: String, runs: Vec<Measurement>) -> Self {
        Self { name, runs }
    }

    /// The fastest round.
    pub fn best(&self) -> Measurement {
        let mut best = self.runs[0];
        for run in &self.runs {
            if run.seconds < best.seconds {
                best = *run;
            }
        }
        best
    }
}
