//! Disk requests in words, and what a power cut made of each.

use disk::{Block, Cut, Entry, EntryIndex, EntryKind, Image, TakenEntry};
use vfs::tree::Runs;

use crate::target::Target;

/// More runs of equal bytes than this say nothing to a reader.
const RUNS_MAX: usize = 4;

/// A disk request as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// For people.
    pub says: String,
    /// What its blocks say, where it has several and they do not say the same.
    pub blocks: Vec<RequestBlock>,
    /// What became of it.
    pub fate: Fate,
    /// The later move, counted from 1, whose power cut decided that: until then it was in the cache.
    pub decided_in: Option<usize>,
}

/// A block of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBlock {
    /// For people.
    pub says: String,
    /// What became of it, where that is not the same for all.
    pub fate: Option<Fate>,
}

/// What became of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was done, and the power stayed on.
    Done,
    /// The power was cut, and it is on the medium.
    Reached,
    /// The power was cut, and a part of it is on the medium.
    Torn,
    /// It was in the cache when the power was cut.
    Lost,
    /// The power was cut before it was issued.
    NeverIssued,
}

impl Request {
    /// The request in lines, the first of which says what became of it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let is_flush = self.says == FLUSH;
        let fate = match (self.fate, self.decided_in) {
            (Fate::Done, _) => String::new(),
            (Fate::Reached, None) if is_flush => "  [done]".to_owned(),
            (fate, None) => format!("  [{}]", fate.says()),
            (fate, Some(number)) => format!("  [in the cache until the power cut in {number}: {}]", fate.says()),
        };
        let block = |block: &RequestBlock| {
            let fate = block.fate.map_or_else(String::new, |fate| format!("  [{}]", fate.says()));
            format!("  {}{fate}", block.says)
        };
        [format!("{}{fate}", self.says)].into_iter().chain(self.blocks.iter().map(block)).collect()
    }
}

impl Request {
    /// Whether it gives blocks back to the disk.
    pub(crate) fn is_discard(&self) -> bool {
        self.says.starts_with(DISCARD)
    }
}

impl Fate {
    /// For people.
    fn says(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Reached => "on disk",
            Self::Torn => "torn: partly on disk",
            Self::Lost => "lost with the cache",
            Self::NeverIssued => "never issued",
        }
    }
}

/// What a power cut made of an entry of the log.
pub(crate) fn fate(cut: &Cut, taken: &[TakenEntry], index: EntryIndex) -> Fate {
    if index.0 >= cut.position().0 {
        return Fate::NeverIssued;
    }
    let is_pending = cut.pending().any(|(pending, _)| pending == index);
    match taken.iter().find(|taken| taken.entry == index) {
        _ if !is_pending => Fate::Reached,
        Some(TakenEntry { blocks: None, .. }) => Fate::Reached,
        Some(TakenEntry { blocks: Some(_), .. }) => Fate::Torn,
        None => Fate::Lost,
    }
}

const FLUSH: &str = "flush";
const DISCARD: &str = "discard";

/// Tells requests in the order in which they were made.
pub(crate) struct Teller<'a, T> {
    target: &'a T,
    /// What a reader sees before the next one.
    image: Image,
}

impl<'a, T: Target> Teller<'a, T> {
    /// From here on.
    pub fn new(target: &'a T, image: Image) -> Self {
        Self { target, image }
    }

    /// A disk request in words. `taken`: the blocks of it that reached the medium, if it was torn.
    pub fn tell(&mut self, entry: &Entry, fate: Fate, taken: Option<&[Block]>) -> Request {
        let (says, blocks) = match &entry.kind {
            EntryKind::Flush => (FLUSH.to_owned(), Vec::new()),
            EntryKind::Discard { block, count } => {
                (format!("{DISCARD} {}{}", self.target.block_name(*block), how_many(*count as usize)), Vec::new())
            }
            EntryKind::Write { block, data } => self.tell_write("write", *block, data, taken),
            EntryKind::Fua { block, data } => self.tell_write("write (FUA)", *block, data, taken),
        };
        if !matches!(entry.kind, EntryKind::Write { .. } | EntryKind::Fua { .. }) {
            entry.apply(&mut self.image);
        }
        Request { says, blocks, fate, decided_in: None }
    }

    /// Each block is read with those before it in place: a copy follows its descriptor in one write, too.
    fn tell_write(
        &mut self,
        verb: &str,
        first: Block,
        data: &[u8],
        taken: Option<&[Block]>,
    ) -> (String, Vec<RequestBlock>) {
        let size = self.image.geometry().block_size.bytes();
        let blocks: Vec<(Block, &[u8])> = (first.0..).map(Block).zip(data.chunks(size)).collect();
        // Some say what a write says as a whole.
        let whole = self.target.written(&self.image, first, data).filter(|_| taken.is_none());
        let mut said = Vec::with_capacity(blocks.len());
        for (block, content) in &blocks {
            said.push(self.target.written(&self.image, *block, content));
            self.image.write(*block, content).expect("the disk has taken it");
        }
        if let Some(content) = whole {
            return (format!("{verb} {}: {content}", self.target.block_name(first)), Vec::new());
        }
        let head = format!("{verb} {}{}", self.target.block_name(first), how_many(blocks.len()));
        let plain = || runs(data).map_or_else(|| head.clone(), |runs| format!("{head}: {runs}"));
        if taken.is_none() && said.iter().all(Option::is_none) {
            return (plain(), Vec::new());
        }
        let fate = |block: Block| taken.map(|taken| if taken.contains(&block) { Fate::Reached } else { Fate::Lost });
        let tell = |((block, content), said): (&(Block, &[u8]), Option<String>)| {
            let name = self.target.block_name(*block);
            let said = said.or_else(|| runs(content));
            let says = said.map_or_else(|| name.clone(), |said| format!("{name}: {said}"));
            RequestBlock { says, fate: fate(*block) }
        };
        (head, blocks.iter().zip(said).map(tell).collect())
    }
}

/// Behind the first of several.
fn how_many(blocks: usize) -> String {
    if blocks == 1 { String::new() } else { format!(" ({blocks} blocks)") }
}

/// Bytes that nobody can read otherwise, if they are few runs.
fn runs(data: &[u8]) -> Option<String> {
    (Runs(data).iter().take(RUNS_MAX + 1).count() <= RUNS_MAX).then(|| Runs(data).to_string())
}
