//! The folder of `characterise --out`: `characterise.json`, and a trace for each counterexample.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use super::{Cell, Column, Row};

const TABLE: &str = "characterise.json";
const TRACES: &str = "traces";

/// Where a table is kept.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder; what an earlier run left in it is replaced.
    ///
    /// # Errors
    /// The folder holds something else, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let shown = path.display();
        if path.exists() {
            ensure!(path.is_dir(), "use the folder {shown}: it is a file");
            let is_empty = fs::read_dir(path).with_context(|| format!("use the folder {shown}"))?.next().is_none();
            ensure!(
                is_empty || path.join(TABLE).is_file(),
                "use the folder {shown}: it is not empty, and not of an earlier run of characterise"
            );
        }
        let folder = Self(path.to_owned());
        folder.clear().with_context(|| format!("use the folder {shown}"))?;
        Ok(folder)
    }

    fn clear(&self) -> io::Result<()> {
        let traces = self.0.join(TRACES);
        if traces.exists() {
            fs::remove_dir_all(&traces)?;
        }
        fs::create_dir_all(traces)?;
        // From now on it is known as ours, however the run ends.
        fs::write(self.0.join(TABLE), "{}\n")
    }

    /// Writes the counterexamples of a row, and notes where each is.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep(&self, row: &mut Row) -> Result<()> {
        let target = plain(&row.target);
        for (column, cell) in Column::ALL.into_iter().zip(&mut row.cells) {
            let Cell::Broken(counterexample) = cell else { continue };
            let file = self.0.join(TRACES).join(format!("{target}-{}.json", column.name()));
            fs::write(&file, counterexample.trace.to_json()).with_context(|| format!("write {}", file.display()))?;
            counterexample.file = Some(file.display().to_string());
        }
        Ok(())
    }

    /// Writes the table itself.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn finish(&self, json: &str) -> Result<()> {
        let file = self.0.join(TABLE);
        fs::write(&file, json).with_context(|| format!("write {}", file.display()))
    }
}

/// A name as a file can have it.
fn plain(target: &str) -> String {
    target.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_folder_or_one_of_ours_is_used() {
        let scratch = tempfile::tempdir().unwrap();
        let ours = scratch.path().join("ours");
        Folder::create(&ours).unwrap();
        fs::write(ours.join(TRACES).join("old.json"), "{}").unwrap();
        Folder::create(&ours).unwrap();
        assert_eq!(fs::read_dir(ours.join(TRACES)).unwrap().count(), 0);
        fs::write(scratch.path().join("precious"), "mine").unwrap();
        assert!(Folder::create(scratch.path()).is_err());
        assert!(Folder::create(&scratch.path().join("precious")).is_err());
        assert_eq!(fs::read_to_string(scratch.path().join("precious")).unwrap(), "mine");
    }

    #[test]
    fn targets_make_plain_names() {
        assert_eq!(plain("guest:ext4?data=journal,sync=on"), "guest-ext4-data-journal-sync-on");
    }
}
