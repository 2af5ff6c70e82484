//! A set of workloads, held so that what they begin with in common is there once.
//!
//! Workloads are lists of ops. Sorted, those with a common beginning stand side by side, so that a node of their prefix
//! tree is a range of the list and a depth: its children are found by looking, and nothing else is stored. A workload
//! of ten ops takes 28 bytes.

use std::{collections::HashMap, fmt, ops::Range, sync::Arc};

use xxhash_rust::xxh3::Xxh3;

use crate::Op;

/// A node of the prefix tree: what was done so far, and all workloads that begin with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    first: u32,
    end: u32,
    depth: u32,
}

impl Place {
    /// The workloads that begin like this, by their places in the set.
    pub fn workloads(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }

    /// How many ops were done.
    pub fn depth(self) -> usize {
        self.depth as usize
    }

    /// Appends what tells it from other places of the same set.
    pub fn encode(self, bytes: &mut Vec<u8>) {
        for number in [self.first, self.end, self.depth] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Workloads, each once, with what each is called.
#[derive(Clone, PartialEq, Eq)]
pub struct WorkloadSet {
    /// The different ops.
    ops: Vec<Op>,
    /// The ops of all workloads, one workload after the other, and where each begins; one more for the end.
    steps: Vec<OpNumber>,
    starts: Vec<u32>,
    /// Which of those that were given each is, counted from 0.
    given_as: Vec<u32>,
    given: usize,
    names: Names,
}

type OpNumber = u16;

/// What workloads are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Each has a name of its own, in the order in which they were given.
    Own(Vec<Arc<str>>),
    /// Those of a generator have its name and a number, counted from 1.
    Numbered(Arc<str>),
}

/// A set that is too large to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// There are too many different ops.
    #[error("hold more than {} different ops in a set of workloads", OpNumber::MAX)]
    Ops,
    /// There are too many ops in all.
    #[error("hold more than {} ops in a set of workloads", u32::MAX)]
    Steps,
}

/// Collects workloads.
#[derive(Debug, Default)]
pub struct Collector {
    numbers: HashMap<Op, OpNumber>,
    steps: Vec<OpNumber>,
    ends: Vec<u32>,
}

impl Collector {
    /// One more workload.
    ///
    /// # Errors
    /// There are too many.
    pub fn push(&mut self, ops: &[Op]) -> Result<(), TooLarge> {
        for op in ops {
            let next = OpNumber::try_from(self.numbers.len());
            let number = self.numbers.get(op).copied();
            let number = number.map_or_else(|| next.map_err(|_| TooLarge::Ops), Ok)?;
            if self.numbers.len() == usize::from(number) {
                self.numbers.insert(op.clone(), number);
            }
            self.steps.push(number);
        }
        self.ends.push(u32::try_from(self.steps.len()).map_err(|_| TooLarge::Steps)?);
        Ok(())
    }

    /// The set of what was collected.
    pub fn finish(self, names: Names) -> WorkloadSet {
        let Self { numbers, steps, ends } = self;
        let start = |given: usize| if given == 0 { 0 } else { ends[given - 1] as usize };
        let of = |given: u32| &steps[start(given as usize)..ends[given as usize] as usize];
        let mut order: Vec<u32> = (0..).take(ends.len()).collect();
        order.sort_unstable_by(|one, other| of(*one).cmp(of(*other)).then(one.cmp(other)));
        order.dedup_by(|later, earlier| of(*later) == of(*earlier));
        let mut set = WorkloadSet {
            ops: vec![Op::Sync; numbers.len()],
            steps: Vec::new(),
            starts: vec![0],
            given: ends.len(),
            given_as: Vec::new(),
            names,
        };
        for given in &order {
            set.steps.extend_from_slice(of(*given));
            set.starts.push(narrow(set.steps.len()));
        }
        set.given_as = order;
        numbers.into_iter().for_each(|(op, number)| set.ops[usize::from(number)] = op);
        set
    }
}

impl WorkloadSet {
    /// A set of one.
    ///
    /// # Errors
    /// It is too long.
    pub fn of_one(name: &str, ops: &[Op]) -> Result<Self, TooLarge> {
        let mut collector = Collector::default();
        collector.push(ops)?;
        Ok(collector.finish(Names::Own(vec![Arc::from(name)])))
    }

    /// How many different workloads there are.
    pub fn len(&self) -> usize {
        self.given_as.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there were when those that do the same counted each.
    pub fn given(&self) -> usize {
        self.given
    }

    /// Before the first op.
    pub fn root(&self) -> Place {
        Place { first: 0, end: narrow(self.len()), depth: 0 }
    }

    /// The ops of a workload.
    pub fn ops(&self, workload: usize) -> impl ExactSizeIterator<Item = &Op> {
        self.numbers(workload).iter().map(|number| &self.ops[usize::from(*number)])
    }

    /// What a workload is called.
    pub fn name(&self, workload: usize) -> String {
        let given = self.given_as[workload] as usize;
        match &self.names {
            Names::Own(names) => names[given].to_string(),
            Names::Numbered(set) => format!("{set}-{}", given + 1),
        }
    }

    /// The ops that may come next, and where each leads.
    pub fn children(&self, place: Place) -> impl Iterator<Item = (&Op, Place)> {
        let depth = place.depth();
        let mut first = place.workloads().start + usize::from(self.finished(place).is_some());
        std::iter::from_fn(move || {
            let number = *self.numbers_in(first, place)?.get(depth)?;
            let rest: Range<usize> = first..place.workloads().end;
            let end = rest.start + count_while(rest.len(), |ahead| self.numbers(rest.start + ahead)[depth] == number);
            let child = Place { first: narrow(first), end: narrow(end), depth: place.depth + 1 };
            first = end;
            Some((&self.ops[usize::from(number)], child))
        })
    }

    /// Where an op leads, if a workload goes on with it.
    pub fn child(&self, place: Place, op: &Op) -> Option<Place> {
        self.children(place).find(|(next, _)| *next == op).map(|(_, child)| child)
    }

    /// The workload of which everything was done here, if there is one.
    pub fn finished(&self, place: Place) -> Option<usize> {
        let first = place.workloads().start;
        self.numbers_in(first, place).filter(|numbers| numbers.len() == place.depth()).map(|_| first)
    }

    /// As far as these ops lead.
    pub fn walk<'a>(&self, ops: impl IntoIterator<Item = &'a Op>) -> Place {
        let mut place = self.root();
        for op in ops {
            let Some(child) = self.child(place, op) else { break };
            place = child;
        }
        place
    }

    fn numbers(&self, workload: usize) -> &[OpNumber] {
        &self.steps[self.starts[workload] as usize..self.starts[workload + 1] as usize]
    }

    fn numbers_in(&self, workload: usize, place: Place) -> Option<&[OpNumber]> {
        (workload < place.workloads().end).then(|| self.numbers(workload))
    }
}

/// By its content, not by its bytes: a set may be large.
impl fmt::Debug for WorkloadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hasher = Xxh3::new();
        self.ops.iter().for_each(|op| hasher.update(op.to_string().as_bytes()));
        self.steps.iter().for_each(|step| hasher.update(&step.to_le_bytes()));
        self.starts.iter().for_each(|start| hasher.update(&start.to_le_bytes()));
        write!(f, "WorkloadSet({} workloads, {:032x})", self.len(), hasher.digest128())
    }
}

/// How many numbers from 0 on are in, if all that are in come first: the first is.
fn count_while(len: usize, is_in: impl Fn(usize) -> bool) -> usize {
    let (mut known, mut out) = (0, len);
    while known + 1 < out {
        let middle = known.midpoint(out);
        if is_in(middle) { known = middle } else { out = middle }
    }
    out
}

/// A number of steps or of workloads, of which there are fewer: the collector takes no more than 32 bits can count.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(workloads: &[&str]) -> WorkloadSet {
        let mut collector = Collector::default();
        for names in workloads {
            let op = |name: char| format!("create(\"/{name}\")").parse().unwrap();
            collector.push(&names.chars().map(op).collect::<Vec<Op>>()).unwrap();
        }
        collector.finish(Names::Numbered("w".into()))
    }

    /// All ways down the tree, each with the workloads that end there.
    fn ways(set: &WorkloadSet, place: Place, so_far: &str, found: &mut Vec<(String, Option<usize>)>) {
        found.push((so_far.to_owned(), set.finished(place)));
        for (op, child) in set.children(place) {
            let name = op.paths()[0].as_str().trim_start_matches('/').to_owned();
            assert_eq!(set.child(place, op), Some(child));
            ways(set, child, &format!("{so_far}{name}"), found);
        }
    }

    #[test]
    fn what_workloads_have_in_common_is_met_once() {
        let set = set(&["abc", "abd", "ab", "b", "abc", "bbb"]);
        assert_eq!((set.given(), set.len()), (6, 5));
        let mut found = Vec::new();
        ways(&set, set.root(), "", &mut found);
        let met: Vec<&str> = found.iter().map(|(way, _)| way.as_str()).collect();
        assert_eq!(met, ["", "a", "ab", "abc", "abd", "b", "bb", "bbb"]);
        for (way, finished) in found {
            let workload = (0..set.len()).find(|workload| {
                set.ops(*workload).map(|op| op.paths()[0].as_str()[1..].to_owned()).collect::<String>() == way
            });
            assert_eq!(finished, workload, "{way}");
        }
    }

    #[test]
    fn a_place_knows_its_workloads_by_name() {
        let set = set(&["abc", "abd", "c"]);
        let ops: Vec<Op> = ["/a", "/b", "/x"].map(|path| format!("create({path:?})").parse().unwrap()).to_vec();
        let place = set.walk(&ops);
        assert_eq!((place.depth(), place.workloads().len()), (2, 2), "as far as it goes");
        let names: Vec<String> = place.workloads().map(|workload| set.name(workload)).collect();
        assert_eq!(names, ["w-1", "w-2"]);
        assert_eq!(set.walk(&[]).workloads().len(), 3);
    }

    #[test]
    fn sets_are_known_by_their_content() {
        let show = |workloads: &[&str]| format!("{:?}", set(workloads));
        assert_eq!(show(&["ab", "c"]), show(&["ab", "c"]));
        assert_ne!(show(&["ab", "c"]), show(&["a", "bc"]));
        assert!(show(&[]).starts_with("WorkloadSet(0 workloads"));
        assert!(set(&[]).is_empty() && set(&[]).children(set(&[]).root()).next().is_none());
    }
}
