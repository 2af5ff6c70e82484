//! How each state was reached: one link a state, from which traces are rebuilt.
//!
//! A link names its parent and the position of the move in the parent's actions and outcomes. Each worker appends to
//! a log of its own; a link's id carries the worker, so logs are joined only while nobody works.

/// The way into one state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub parent: LinkId,
    pub action: u32,
    pub outcome: u32,
}

/// Which link, over all workers. 32 bits keep a link at 12 bytes; a search that needs more stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LinkId(pub u32);

impl LinkId {
    /// The parent of an initial state; its link's action is the position among the initial states.
    pub const NONE: LinkId = LinkId(u32::MAX);
    /// Ids from here on are not given out, so that an id never wraps.
    pub const MAX: u32 = u32::MAX - 1024;
}

/// Links are kept in pages of this many: a log of millions neither moves when it grows nor takes twice its size.
const PAGE_LINKS: usize = 1 << 16;

/// One worker's links.
pub(crate) struct LinkLog {
    pages: Vec<Vec<Link>>,
    worker: u32,
    workers: u32,
}

impl LinkLog {
    pub fn new(worker: usize, workers: usize) -> Self {
        let fits = "far fewer workers than links";
        Self {
            pages: vec![Vec::new()],
            worker: u32::try_from(worker).expect(fits),
            workers: u32::try_from(workers).expect(fits),
        }
    }

    #[inline]
    pub fn push(&mut self, link: Link) -> LinkId {
        let mut number = self.pages.len() - 1;
        if self.pages[number].len() == PAGE_LINKS {
            self.pages.push(Vec::with_capacity(PAGE_LINKS));
            number += 1;
        }
        let page = &mut self.pages[number];
        #[expect(clippy::cast_possible_truncation, reason = "`full` stops the search long before")]
        let index = (number * PAGE_LINKS + page.len()) as u32;
        page.push(link);
        LinkId(index * self.workers + self.worker)
    }

    pub fn full(&self) -> bool {
        (self.pages.len() * PAGE_LINKS) as u64 >= u64::from(LinkId::MAX / self.workers)
    }

    pub fn bytes(&self) -> u64 {
        let last = self.pages.last().map_or(0, Vec::capacity);
        (((self.pages.len() - 1) * PAGE_LINKS + last) * size_of::<Link>()) as u64
    }
}

/// The links of all workers, while nobody works.
pub(crate) struct Links<'a> {
    logs: Vec<&'a LinkLog>,
}

impl<'a> Links<'a> {
    pub fn join(logs: impl IntoIterator<Item = &'a LinkLog>) -> Self {
        Self { logs: logs.into_iter().collect() }
    }

    pub fn get(&self, id: LinkId) -> Link {
        let workers = self.logs.len();
        let (worker, index) = (id.0 as usize % workers, id.0 as usize / workers);
        self.logs[worker].pages[index / PAGE_LINKS][index % PAGE_LINKS]
    }

    /// The links from an initial state to `id`.
    pub fn path(&self, id: LinkId) -> Vec<Link> {
        let mut path = Vec::new();
        let mut at = id;
        while at != LinkId::NONE {
            let link = self.get(at);
            path.push(link);
            at = link.parent;
        }
        path.reverse();
        path
    }
}
