//! What `--ops` names: kinds of ops, a set of workloads that is known by name, a file or a folder of workloads, or a
//! file of weights.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, bail, ensure};
use vfs::{
    WorkloadSet,
    corpus::{self, ENTRIES, Entry},
    generate::{OpSet, Weights, ace, jlang},
    nearest::Suggestion,
    text::{NamedWorkload, parse_workloads},
    workloads::{Collector, Names},
};

use crate::text_file;

/// All bugs of the corpus, and what comes before the name of one.
const CORPUS: &str = "corpus";
const ONE_OF_CORPUS: &str = "corpus:";

/// What `--ops` names.
#[derive(Debug)]
pub enum Ops {
    /// Every op of these kinds.
    Kinds(OpSet),
    /// These workloads.
    Workloads(WorkloadSet),
    /// Ops drawn by these weights.
    Weights(Weights),
}

impl Ops {
    /// Reads what `--ops` was given.
    ///
    /// # Errors
    /// It names nothing, or something that cannot be used.
    pub fn read(given: &str) -> Result<Self> {
        let unknown = match given.parse() {
            Ok(OpSet::EMPTY) => bail!("use the ops {given:?}: nothing is left of them"),
            Ok(kinds) => return Ok(Self::Kinds(kinds)),
            Err(unknown) => unknown,
        };
        if let Some(bounds) = ace::Bounds::named(given) {
            return Ok(Self::Workloads(bounds.set()?));
        }
        if given == CORPUS {
            return Ok(Self::Workloads(corpus::set(ENTRIES)));
        }
        if let Some(name) = given.strip_prefix(ONE_OF_CORPUS) {
            let nearest = || Suggestion::of(name, ENTRIES.iter().map(|entry| entry.name));
            let entry = Entry::named(name);
            let entry = entry.with_context(|| format!("use {given}: the corpus has no {name:?}{}", nearest()))?;
            return Ok(Self::Workloads(corpus::set(&[*entry])));
        }
        let set = match fs::metadata(given) {
            Ok(found) if found.is_dir() => folder(Path::new(given)),
            Ok(_) if Path::new(given).extension().is_some_and(|extension| extension == "toml") => {
                let text = fs::read_to_string(given).with_context(|| format!("read {given}"))?;
                return text.parse().map(Self::Weights).with_context(|| format!("use the weights in {given}"));
            }
            Ok(_) => file(Path::new(given)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let sets = ace::SETS.map(|bounds| bounds.name).into_iter().chain([CORPUS]);
                ensure!(given.starts_with("ace") || given.starts_with("cor"), unknown);
                let nearest = Suggestion::of(given, sets);
                bail!("use the ops {given:?}: no op, no set and no file has this name{nearest}");
            }
            Err(error) => return Err(error).with_context(|| format!("read the ops in {given}")),
        }?;
        ensure!(!set.is_empty(), "use the ops in {given}: there are none");
        Ok(Self::Workloads(set))
    }
}

/// The workloads of a file: one of J-lang, or one or more in our own form.
fn file(path: &Path) -> Result<WorkloadSet> {
    let found = read(path)?;
    let name = |(number, found): (usize, &NamedWorkload)| match found.name.as_str() {
        "" if number == 1 => Arc::from(""),
        "" => Arc::from(format!("workload-{number}")),
        name => Arc::from(name),
    };
    let names = (1..).zip(&found).map(name).collect();
    collect(found.iter(), names).with_context(|| format!("use the ops in {}", path.display()))
}

/// Each file of a folder is a workload, or several; what is below in other folders is not looked at.
fn folder(path: &Path) -> Result<WorkloadSet> {
    let cannot = || format!("read the workloads in {}", path.display());
    let entries: Vec<PathBuf> =
        fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()).with_context(cannot)?;
    let is_workload = |entry: &PathBuf| entry.is_file() && !stem(entry).starts_with('.');
    let mut files: Vec<PathBuf> = entries.into_iter().filter(is_workload).collect();
    files.sort_by_key(|file| natural(&stem(file)));
    let (mut workloads, mut names) = (Vec::new(), Vec::new());
    for file in files {
        for found in read(&file)? {
            let name = if found.name.is_empty() { stem(&file) } else { format!("{}/{}", stem(&file), found.name) };
            names.push(Arc::from(name));
            workloads.push(found);
        }
    }
    collect(workloads.iter(), names).with_context(cannot)
}

fn collect<'a>(found: impl Iterator<Item = &'a NamedWorkload>, names: Vec<Arc<str>>) -> Result<WorkloadSet> {
    let mut collector = Collector::default();
    for NamedWorkload { name, ops } in found {
        ensure!(!ops.is_empty(), "the workload {name:?} has no ops");
        collector.push(ops)?;
    }
    Ok(collector.finish(Names::Own(names)))
}

fn read(path: &Path) -> Result<Vec<NamedWorkload>> {
    let text = text_file::read(path).with_context(|| format!("read the ops in {}", path.display()))?;
    let found = if jlang::is_jlang(&text) {
        jlang::parse(&text).map(|ops| vec![NamedWorkload { name: String::new(), ops }]).map_err(anyhow::Error::from)
    } else {
        parse_workloads(&text).map_err(anyhow::Error::from)
    };
    found.with_context(|| format!("use the ops in {}", path.display()))
}

fn stem(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Orders `j-lang2` before `j-lang10`.
fn natural(name: &str) -> (String, u64) {
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    let (text, number) = name.split_at(name.len() - digits);
    (text.to_owned(), number.parse().unwrap_or(0))
}
