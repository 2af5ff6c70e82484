//! What ACE chooses: ops, their arguments, and what is made durable after each.

use std::collections::BTreeSet;

use super::{
    Bounds,
    names::{A, B, C, FILES, FLAT, Name, SECOND_FILES},
};
use crate::Fallocate;

/// An op of ACE, as the tool calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the call of its name")]
pub enum Kind {
    Creat,
    Mkdir,
    Falloc,
    Write,
    Dwrite,
    Mmapwrite,
    Link,
    Unlink,
    Remove,
    Rename,
    Fsetxattr,
    Removexattr,
    Truncate,
    Fdatasync,
}

/// What an op works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arguments {
    /// One name.
    One(Name),
    /// A name that exists, and one that is made.
    Two(Name, Name),
    /// A part of a file.
    Part(Name, Span),
    /// A part of a file, and what happens to it.
    Allocation(Name, Fallocate, Span),
    /// A file and its new size.
    Size(Name, Size),
}

/// Which part of a file, relative to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Span {
    /// 32 KiB from the end on.
    Append,
    /// The first 5000 bytes.
    UnalignedStart,
    /// 5000 bytes, of which 2000 are there.
    Extend,
    /// The first 8 KiB.
    Start,
}

/// A new size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// Nothing is left.
    Aligned,
    /// 2500 bytes.
    Unaligned,
}

/// What is made durable after an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Persistence {
    /// A file or directory.
    Fsync(Name),
    /// Everything.
    Sync,
    /// Nothing is.
    Nothing,
}

/// One op of a workload with all that was chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chosen {
    /// The op.
    pub kind: Kind,
    /// What it works on.
    pub arguments: Arguments,
    /// What comes after it. An op that is a persistence point itself has none, whatever was chosen.
    pub persistence: Persistence,
}

const MODES: [Fallocate; 5] = [
    Fallocate::ZeroRange,
    Fallocate::ZeroRangeKeepSize,
    Fallocate::PunchHole,
    Fallocate::KeepSize,
    Fallocate::Allocate,
];

impl Kind {
    /// Whether it makes durable what it did, so that nothing is to follow.
    pub(super) fn persists(self) -> bool {
        matches!(self, Self::Fdatasync | Self::Mmapwrite)
    }

    /// Every combination of arguments.
    fn arguments(self, nested: bool) -> Vec<Arguments> {
        let files = if nested { &FILES[..] } else { &FILES[..FLAT] };
        let second = if nested { &SECOND_FILES[..] } else { &SECOND_FILES[..FLAT] };
        let both = [files, second].concat();
        let one = |names: &[Name]| names.iter().map(|name| Arguments::One(*name)).collect();
        let parts = |spans: &[Span]| product(files, spans).map(|(file, span)| Arguments::Part(file, span)).collect();
        match self {
            Self::Creat | Self::Fsetxattr | Self::Removexattr | Self::Fdatasync => one(files),
            Self::Mkdir => one(&[A]),
            Self::Unlink | Self::Remove => one(&both),
            Self::Link => different(&both, second).collect(),
            Self::Rename => {
                let second_directories = if nested { &[B, C][..] } else { &[B][..] };
                let directories = [&[A][..], second_directories].concat();
                different(&both, second).chain(different(&directories, second_directories)).collect()
            }
            Self::Write => parts(&[Span::Append, Span::UnalignedStart, Span::Extend]),
            Self::Dwrite | Self::Mmapwrite => parts(&[Span::Append, Span::Start]),
            Self::Falloc => product(files, &MODES)
                .flat_map(|(file, how)| {
                    let spans = [Span::Append, Span::UnalignedStart, Span::Extend];
                    spans.map(|span| Arguments::Allocation(file, how, span))
                })
                .collect(),
            Self::Truncate => {
                product(files, &[Size::Aligned, Size::Unaligned]).map(|(file, to)| Arguments::Size(file, to)).collect()
            }
        }
    }
}

impl Arguments {
    pub(super) fn names(self) -> impl Iterator<Item = Name> {
        let (first, second) = match self {
            Self::Two(first, second) => (first, Some(second)),
            Self::One(name) | Self::Part(name, _) | Self::Allocation(name, ..) | Self::Size(name, _) => (name, None),
        };
        [Some(first), second].into_iter().flatten()
    }

    /// By what the tool sees that an op works on what an earlier one worked on. It compares sets of words, options
    /// among them; and where there is one word only, its set is that of the letters.
    fn words(self) -> Vec<&'static str> {
        match self {
            Self::One(Name(text)) => (0..text.len()).map(|at| &text[at..=at]).collect(),
            Self::Two(first, second) => vec![first.0, second.0],
            Self::Part(file, span) => vec![file.0, span.word()],
            Self::Allocation(file, how, span) => vec![file.0, how.name(), span.word()],
            Self::Size(file, Size::Aligned) => vec![file.0, "aligned"],
            Self::Size(file, Size::Unaligned) => vec![file.0, "unaligned"],
        }
    }
}

impl Span {
    fn word(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::UnalignedStart => "overlap_unaligned_start",
            Self::Extend => "overlap_extend",
            Self::Start => "overlap_start",
        }
    }
}

/// Calls `visit` with every workload within the bounds.
pub(super) fn each(bounds: &Bounds, visit: &mut dyn FnMut(&[Chosen])) {
    let kinds = vec![bounds.kinds.len(); bounds.len];
    odometer(&kinds, &mut |skeleton| {
        let skeleton: Vec<Kind> = skeleton.iter().map(|place| bounds.kinds[*place]).collect();
        // Three writes in a row are left to the set of data ops, says the tool; which leaves them out as well.
        if !(bounds.len == 3 && skeleton.iter().all(|kind| *kind == Kind::Write)) {
            each_of(bounds, &skeleton, visit);
        }
    });
}

/// Every workload with these ops.
fn each_of(bounds: &Bounds, skeleton: &[Kind], visit: &mut dyn FnMut(&[Chosen])) {
    let options: Vec<Vec<Arguments>> = skeleton.iter().map(|kind| kind.arguments(bounds.nested)).collect();
    let counts: Vec<usize> = options.iter().map(Vec::len).collect();
    let nothing = Persistence::Nothing;
    let start = |kind: &Kind| Chosen { kind: *kind, arguments: Arguments::One(A), persistence: nothing };
    let mut workload: Vec<Chosen> = skeleton.iter().map(start).collect();
    odometer(&counts, &mut |places| {
        for (chosen, (options, place)) in workload.iter_mut().zip(options.iter().zip(places)) {
            chosen.arguments = options[*place];
        }
        if bounds.len == 3 && !each_reuses(&workload) {
            return;
        }
        let points = persistence_points(&workload);
        // The last op is never followed by nothing.
        let mut counts = vec![points.len(); workload.len()];
        counts.last_mut().into_iter().for_each(|last| *last -= 1);
        odometer(&counts, &mut |places| {
            workload.iter_mut().zip(places).for_each(|(chosen, place)| chosen.persistence = points[*place]);
            visit(&workload);
        });
    });
}

/// What may be made durable: files that are used and, in shorter workloads, their siblings and parents; then
/// everything, then nothing.
fn persistence_points(workload: &[Chosen]) -> Vec<Persistence> {
    let used = workload.iter().flat_map(|chosen| chosen.arguments.names());
    let with_relatives = |name: Name| [name, name.sibling(), name.parent()];
    let files: BTreeSet<Name> =
        if workload.len() < 3 { used.flat_map(with_relatives).collect() } else { used.collect() };
    files.into_iter().map(Persistence::Fsync).chain([Persistence::Sync, Persistence::Nothing]).collect()
}

/// Whether each op but the first works on what an earlier one worked on, as the tool sees it; one on a directory
/// always does, and so does one that follows two directories and nothing else.
fn each_reuses(workload: &[Chosen]) -> bool {
    let is_directory = |word: &&str| [A.0, B.0, C.0].contains(word);
    let mut used: BTreeSet<&'static str> = BTreeSet::new();
    workload.iter().enumerate().all(|(place, chosen)| {
        let words = chosen.arguments.words();
        let reuses = words.iter().any(|word| used.contains(word))
            || words.first().is_some_and(&is_directory)
            || (used.len() == 2 && used.iter().all(&is_directory));
        used.extend(words);
        reuses || place == 0
    })
}

fn different(first: &[Name], second: &[Name]) -> impl Iterator<Item = Arguments> {
    product(first, second)
        .filter(|(first, second)| first != second)
        .map(|(first, second)| Arguments::Two(first, second))
}

fn product<X: Copy, Y: Copy>(first: &[X], second: &[Y]) -> impl Iterator<Item = (X, Y)> {
    first.iter().flat_map(|one| second.iter().map(move |other| (*one, *other)))
}

/// Every combination of numbers below these counts, the last one changing fastest.
fn odometer(counts: &[usize], visit: &mut dyn FnMut(&[usize])) {
    let mut places = vec![0; counts.len()];
    if counts.contains(&0) {
        return;
    }
    loop {
        visit(&places);
        let Some(turns) = (0..counts.len()).rev().find(|wheel| places[*wheel] + 1 < counts[*wheel]) else { return };
        places[turns] += 1;
        places[turns + 1..].fill(0);
    }
}
