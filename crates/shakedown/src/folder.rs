//! The folder of a run: `summary.json`, `traces/NNN.json`, `search.checkpoint` while there is something to resume, and
//! nothing else.
//!
//! The checkpoint has all that resuming needs, the summary so far among it: a run that is killed leaves that of some
//! moment, whole, and `summary.json` never speaks of a search that goes on.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use check::Trace;

use crate::{summary::Summary, text_file};

const SUMMARY: &str = "summary.json";
const TRACES: &str = "traces";
const CHECKPOINT: &str = "search.checkpoint";
/// What an interrupted write leaves.
const PARTS: [&str; 2] = ["search.part", "summary.part"];

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder for a new run; an earlier run in it is replaced.
    ///
    /// # Errors
    /// The folder holds something that no run has put there, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self(path.to_owned());
        let cannot = || format!("use the folder {}", path.display());
        if path.exists() {
            ensure!(path.is_dir(), "use the folder {}: it is a file", path.display());
            if let Some(foreign) = folder.foreign().with_context(cannot)? {
                bail!("use the folder {}: it has {foreign}, which is not of an earlier run", path.display());
            }
            folder.clear().with_context(cannot)?;
        }
        fs::create_dir_all(path).with_context(cannot)?;
        Ok(folder)
    }

    /// The folder of a run that is to be resumed, with its summary.
    ///
    /// # Errors
    /// There is no run, or its checkpoint is of no use.
    pub fn open(path: &Path) -> Result<(Self, Summary)> {
        let folder = Self(path.to_owned());
        let ended = folder.summary();
        // What a run came to at its end stands. Of one that was cut short, a later part may have been killed.
        let has_more = ended.as_ref().map_or(true, |ended| ended.resumable) && folder.checkpoint().exists();
        let summary = if has_more { folder.saved()? } else { ended? };
        Ok((folder, summary))
    }

    /// What the run came to when it ended or was cut short.
    fn summary(&self) -> Result<Summary> {
        let resume = || format!("resume {}", self.0.display());
        let text = text_file::read(&self.0.join(SUMMARY))
            .with_context(|| format!("{}: there is no readable {SUMMARY}", resume()))?;
        serde_json::from_str(&text).with_context(|| format!("{}: its {SUMMARY} is not one of ours", resume()))
    }

    /// What it had come to when it was saved.
    fn saved(&self) -> Result<Summary> {
        let note = explore::checkpoint_note(&self.checkpoint())?;
        serde_json::from_str(&note)
            .with_context(|| format!("resume {}: its {CHECKPOINT} is not one of ours", self.0.display()))
    }

    /// Where the search is saved.
    pub fn checkpoint(&self) -> PathBuf {
        self.0.join(CHECKPOINT)
    }

    /// For messages.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The trace of a violation by its number, from the folder.
    pub fn trace_name(number: usize) -> String {
        format!("{TRACES}/{number:03}.json")
    }

    /// Replaces what an earlier part of the run left by what the whole came to.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, summary: &Summary, traces: &[&Trace]) -> Result<()> {
        self.write_all(summary, traces).with_context(|| format!("write to {}", self.0.display()))
    }

    fn write_all(&self, summary: &Summary, traces: &[&Trace]) -> io::Result<()> {
        let folder = self.0.join(TRACES);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        for (number, trace) in (1..).zip(traces) {
            fs::write(self.0.join(Self::trace_name(number)), trace.to_json())?;
        }
        let part = self.0.join(PARTS[1]);
        let mut file = fs::File::create(&part)?;
        file.write_all(summary.to_json().as_bytes())?;
        // On disk before it counts, and before what it replaces is gone.
        file.sync_all()?;
        fs::rename(part, self.0.join(SUMMARY))?;
        let of_search = [CHECKPOINT, PARTS[0]].into_iter().filter(|_| !summary.resumable);
        of_search.map(|name| self.0.join(name)).try_for_each(|file| remove_if_there(&file))
    }

    /// Something in the folder that no run has put there.
    fn foreign(&self) -> io::Result<Option<String>> {
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let is_ours = match name.to_str() {
                Some(SUMMARY) => self.summary().is_ok(),
                Some(TRACES) => are_traces(&self.0.join(TRACES))?,
                Some(name) => name == CHECKPOINT || PARTS.contains(&name),
                None => false,
            };
            if !is_ours {
                return Ok(Some(name.to_string_lossy().into_owned()));
            }
        }
        Ok(None)
    }

    fn clear(&self) -> io::Result<()> {
        for name in [SUMMARY, CHECKPOINT].into_iter().chain(PARTS) {
            remove_if_there(&self.0.join(name))?;
        }
        let traces = self.0.join(TRACES);
        if traces.exists() { fs::remove_dir_all(traces) } else { Ok(()) }
    }
}

/// Whether this is a folder with nothing but numbered traces in it.
fn are_traces(folder: &Path) -> io::Result<bool> {
    if !folder.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let is_numbered = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_numbered || path.extension() != Some(OsStr::new("json")) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        for foreign in ["notes.txt", "summary.json", "traces/diary.json", "traces/001.txt"] {
            let folder = scratch.path().join(foreign.replace('/', "-"));
            fs::create_dir_all(folder.join(TRACES)).unwrap();
            fs::write(folder.join(foreign), "mine").unwrap();
            let error = Folder::create(&folder).unwrap_err().to_string();
            assert!(error.contains("which is not of an earlier run"), "{error}");
            assert_eq!(fs::read_to_string(folder.join(foreign)).unwrap(), "mine");
        }
    }

    #[test]
    fn what_a_killed_run_left_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join(TRACES)).unwrap();
        fs::write(scratch.path().join(TRACES).join("001.json"), "{}").unwrap();
        fs::write(scratch.path().join(PARTS[0]), "half").unwrap();
        Folder::create(scratch.path()).unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
