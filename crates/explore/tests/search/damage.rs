//! A checkpoint that is missing, cut off, altered or of another version is an error, never a panic and never a
//! search of something else.

use std::{fs, path::Path};

use explore::{CheckpointError, Search, SearchError, VisitedKind};

use crate::{
    checkpoints::fresh,
    systems::{Forks, states},
};

const KINDS: [VisitedKind; 3] =
    [VisitedKind::Exact, VisitedKind::Hash64, VisitedKind::Bitstate { bits_log2: 10, hashes: 2 }];

fn resume(file: &Path, kind: VisitedKind) -> Result<u64, SearchError> {
    let forks = Forks(5);
    let search = Search::new(&forks).visited(kind).checkpoint(file, "forks").resume(file);
    search.run().map(|report| report.states)
}

/// A sound checkpoint with waiting states and a violation.
fn saved(file: &Path, kind: VisitedKind) -> Vec<u8> {
    let report = Search::new(&Forks(5)).visited(kind).checkpoint(file, "forks").budget(states(12)).run().unwrap();
    assert!(!report.complete);
    assert!(resume(file, kind).is_ok());
    Search::new(&Forks(5)).visited(kind).checkpoint(file, "forks").budget(states(12)).run().unwrap();
    fs::read(file).unwrap()
}

fn is_damage(result: &Result<u64, SearchError>) -> bool {
    matches!(result, Err(SearchError::Checkpoint(CheckpointError::Unusable { .. })))
}

#[test]
fn a_truncation_is_noticed() {
    for kind in KINDS {
        let file = fresh("truncated");
        let sound = saved(&file, kind);
        for len in (0..sound.len()).step_by(5).chain(sound.len() - 20..sound.len()) {
            fs::write(&file, &sound[..len]).unwrap();
            let result = resume(&file, kind);
            assert!(is_damage(&result), "{kind:?}, {len} bytes of {}: {result:?}", sound.len());
        }
    }
}

#[test]
fn an_altered_byte_is_noticed() {
    for kind in KINDS {
        let file = fresh("altered");
        let sound = saved(&file, kind);
        for at in (0..sound.len()).step_by(5).chain(sound.len() - 20..sound.len()) {
            let mut damaged = sound.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&file, &damaged).unwrap();
            let result = resume(&file, kind);
            assert!(is_damage(&result), "{kind:?}, byte {at} of {}: {result:?}", sound.len());
        }
    }
}

#[test]
fn what_was_appended_is_noticed() {
    let file = fresh("appended");
    let mut longer = saved(&file, VisitedKind::Exact);
    longer.extend([0; 8]);
    fs::write(&file, longer).unwrap();
    assert!(is_damage(&resume(&file, VisitedKind::Exact)));
}

#[test]
fn a_missing_file_is_named() {
    let file = fresh("missing");
    let error = resume(&file, VisitedKind::Exact).unwrap_err();
    assert!(matches!(error, SearchError::Checkpoint(CheckpointError::Io { .. })));
    assert!(error.to_string().contains("missing.checkpoint"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_cannot_be_saved_to() {
    let file = fresh("no/such/folder");
    let result = Search::new(&Forks(5)).checkpoint(&file, "forks").budget(states(12)).run();
    assert!(matches!(result, Err(SearchError::Checkpoint(CheckpointError::Io { .. }))));
}

#[test]
fn another_version_is_told_from_damage() {
    let file = fresh("version");
    let mut other = saved(&file, VisitedKind::Exact);
    other[15] = b'1';
    fs::write(&file, other).unwrap();
    let error = resume(&file, VisitedKind::Exact).unwrap_err().to_string();
    assert!(error.contains("not a checkpoint of this version"), "{error}");
}
