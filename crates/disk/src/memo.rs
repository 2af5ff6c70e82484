//! Results of recoveries, remembered by what the recoveries read.
//!
//! The next block that a deterministic recovery reads depends only on what it has read so far. So all recoveries of one
//! program form a decision tree: a node names the block that is read next, an edge what was found in it, a leaf the
//! result. Looking up an image walks that tree, reading the blocks that the recovery would read, and is exact: no two
//! different results can be confused, whatever the order of the insertions.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::{Block, EVERYTHING, Image, Read, ReadSet, content_hash};

/// A decision tree of recoveries, shared by threads.
#[derive(Debug)]
pub struct Memo<R> {
    tree: RwLock<Tree<R>>,
    nodes_max: usize,
    hits: AtomicU64,
    misses: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug)]
struct Tree<R> {
    /// The first is the root; empty if nothing was inserted yet.
    nodes: Vec<Node>,
    /// From a node, by the content of the block that it names, to the next, except for the first that was found there.
    edges: HashMap<(usize, u128), usize, FixedState>,
    results: Vec<Arc<R>>,
}

/// There are hundreds a recovery, so they are small: half of what a reference and an aligned hash would make of them.
#[derive(Debug)]
enum Node {
    /// A block that is read. Most have one content in all recoveries that come here, so the first that was found is
    /// kept here and leads to the node that follows: that costs no search.
    Read { block: Block, first: [u8; 16] },
    /// The place of the result.
    Result(usize),
}

/// How useful a memo was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoCounts {
    /// Lookups that found a result.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    /// Results that were not kept because the memo was full.
    pub refused: u64,
}

/// Two recoveries read the same contents and then went different ways: the recovery depends on something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("remember a recovery: after {reads} equal reads it did something else than before, so it is not deterministic")]
pub struct NotDeterministic {
    /// How many reads agreed.
    pub reads: usize,
}

impl<R> Memo<R> {
    /// An empty memo that stops growing at `nodes_max` nodes (a node costs about 30 bytes, and there are the results).
    pub fn new(nodes_max: usize) -> Self {
        let tree = Tree { nodes: Vec::new(), edges: HashMap::default(), results: Vec::new() };
        Self {
            tree: RwLock::new(tree),
            nodes_max,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// The result of recovering this image, if an image that agrees on all that matters was recovered before.
    pub fn lookup(&self, image: &Image) -> Option<Arc<R>> {
        // A panic while the lock was held cannot leave a half-inserted path: edges are added last.
        let found = self.tree.read().unwrap_or_else(PoisonError::into_inner).walk(image);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Remembers the result of a recovery that read this. If it is known already, the older result stays.
    ///
    /// # Errors
    /// The recovery is not deterministic; the memo is as before.
    pub fn insert(&self, reads: &ReadSet, result: R) -> Result<(), NotDeterministic> {
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        let Some((node, known)) = tree.follow(&reads.0)? else { return Ok(()) };
        let unknown = &reads.0[known..];
        if tree.nodes.len() + unknown.len() + 1 > self.nodes_max {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        tree.grow(node, unknown, result);
        Ok(())
    }

    /// How useful it was so far.
    pub fn counts(&self) -> MemoCounts {
        MemoCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl<R> Tree<R> {
    fn walk(&self, image: &Image) -> Option<Arc<R>> {
        let mut node = 0;
        loop {
            match self.nodes.get(node)? {
                Node::Result(place) => return self.results.get(*place).cloned(),
                Node::Read { block, first } => {
                    let everything = *block == EVERYTHING;
                    let content = if everything { image.hash() } else { content_hash(image.block(*block)) };
                    node = self.next(node, first, content)?;
                }
            }
        }
    }

    /// Where a content leads from a node in which this was the first.
    fn next(&self, node: usize, first: &[u8; 16], content: u128) -> Option<usize> {
        if u128::from_ne_bytes(*first) == content { Some(node + 1) } else { self.edges.get(&(node, content)).copied() }
    }

    /// Follows the reads as far as they are known: the last known node (`None`: there is no root yet) and how
    /// many reads led past it, or nothing if all is known.
    fn follow(&self, reads: &[Read]) -> Result<Option<(Option<usize>, usize)>, NotDeterministic> {
        let mut node = 0;
        if self.nodes.is_empty() {
            return Ok(Some((None, 0)));
        }
        for (known, read) in reads.iter().enumerate() {
            let first = match &self.nodes[node] {
                Node::Read { block, first } if *block == read.block => first,
                _ => return Err(NotDeterministic { reads: known }),
            };
            match self.next(node, first, read.content) {
                Some(next) => node = next,
                None => return Ok(Some((Some(node), known))),
            }
        }
        match &self.nodes[node] {
            Node::Result(_) => Ok(None),
            Node::Read { .. } => Err(NotDeterministic { reads: reads.len() }),
        }
    }

    /// Adds what `follow` did not find. `reads` starts with the one that `node` names.
    fn grow(&mut self, node: Option<usize>, reads: &[Read], result: R) {
        let first_new = self.nodes.len();
        let new = reads.iter().skip(usize::from(node.is_some()));
        self.nodes.extend(new.map(|read| Node::Read { block: read.block, first: read.content.to_ne_bytes() }));
        self.nodes.push(Node::Result(self.results.len()));
        self.results.push(Arc::new(result));
        if let (Some(node), Some(read)) = (node, reads.first()) {
            self.edges.insert((node, read.content), first_new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSize, Disk, Geometry};

    /// Reads block 0, then the block that it names, and so on until one names itself or one that was read.
    fn chase(disk: &Disk) -> u8 {
        let mut at = 0;
        for _ in 0..4 {
            at = disk.block(Block(at))[0].into();
        }
        u8::try_from(at).unwrap()
    }

    fn image_of(pointers: [u8; 4]) -> Image {
        let mut image = Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 4 });
        for (block, pointer) in (0..).zip(pointers) {
            image.write(Block(block), &[pointer, 0, 0, 0]).unwrap();
        }
        image
    }

    fn all_images() -> impl Iterator<Item = Image> {
        (0..=255_u8).map(|bits| image_of([bits & 3, bits >> 2 & 3, bits >> 4 & 3, bits >> 6]))
    }

    #[test]
    fn every_lookup_gives_what_the_recovery_would() {
        let memo = Memo::new(10_000);
        let mut recovered = 0;
        for image in all_images() {
            let mut disk = Disk::new(image.clone());
            if let Some(known) = memo.lookup(&image) {
                assert_eq!(*known, chase(&disk));
                continue;
            }
            recovered += 1;
            disk.record_reads();
            let result = chase(&disk);
            memo.insert(&disk.take_reads().unwrap(), result).unwrap();
        }
        // One read (0 -> 0), two reads (3 ends of a pair: 0 or itself, each 3 ways), and so on: far fewer than 256.
        assert_eq!(recovered, 1 + 3 * 2 + 3 * 2 * 3 + 3 * 2 * 4);
        assert_eq!(memo.counts(), MemoCounts { hits: 256 - recovered, misses: recovered, refused: 0 });
    }

    #[test]
    fn a_recovery_that_reads_nothing_has_one_result() {
        let memo = Memo::new(10);
        assert_eq!(memo.lookup(&image_of([0; 4])), None);
        memo.insert(&ReadSet::default(), 7).unwrap();
        assert!(all_images().all(|image| memo.lookup(&image).as_deref() == Some(&7)));
    }

    #[test]
    fn who_reads_everything_is_known_by_the_whole_image() {
        let memo = Memo::new(100);
        let [read, other, elsewhere] = [[1, 2, 0, 0], [1, 2, 0, 1], [2, 2, 0, 0]].map(image_of);
        let mut disk = Disk::new(read.clone());
        disk.record_reads();
        disk.write(Block(3), &[9; 4]).unwrap();
        assert_eq!(disk.block(Block(0)), disk.everything().block(Block(0)));
        disk.block(Block(1));
        let reads = disk.take_reads().unwrap();
        assert_eq!(reads.0.last(), Some(&Read { block: EVERYTHING, content: read.hash() }));
        assert_eq!(reads.0.len(), 2, "what is read after everything is nothing new");
        memo.insert(&reads, 7).unwrap();
        assert_eq!(
            [read, other, elsewhere].map(|image| memo.lookup(&image).as_deref().copied()),
            [Some(7), None, None]
        );
    }

    #[test]
    fn a_full_memo_refuses_and_says_so() {
        let memo = Memo::new(2);
        let read = |content| ReadSet(vec![Read { block: Block(0), content }]);
        memo.insert(&read(1), ()).unwrap();
        memo.insert(&read(2), ()).unwrap();
        assert_eq!(memo.counts().refused, 1);
    }

    #[test]
    fn nondeterminism_is_noticed() {
        let read = |block, content| Read { block: Block(block), content };
        let memo = Memo::new(100);
        memo.insert(&ReadSet(vec![read(0, 5), read(1, 6)]), 1).unwrap();
        let differently = [vec![], vec![read(1, 6)], vec![read(0, 5)], vec![read(0, 5), read(2, 6)]];
        let reads_equal = differently.map(|reads| memo.insert(&ReadSet(reads), 1).unwrap_err().reads);
        assert_eq!(reads_equal, [0, 0, 1, 1]);
        let longer = ReadSet(vec![read(0, 5), read(1, 6), read(2, 7)]);
        assert_eq!(memo.insert(&longer, 1), Err(NotDeterministic { reads: 2 }));
        assert_eq!(memo.insert(&ReadSet(vec![read(0, 5), read(1, 7)]), 2), Ok(()));
    }
}
