//! The front door: describe a search, run it, get a report.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    budget::{Budget, Limit},
    checkpoint::{self, CheckpointError},
    frontier::{Frontier, Place},
    links::{LinkId, LinkLog, Links},
    pool::Pool,
    progress::{Counters, Progress},
    report::{MemoryUse, Move, PanicReport, Replayer, Report, Violation},
    saving::{Pace, Timer},
    system::{Property, System},
    visited::{Visited, VisitedKind},
    worker::{Occurrences, Shared, Worker, occurrences},
};

/// In which order waiting states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The newest first.
    DepthFirst,
    /// Depth-first to a bound that grows by this much until nothing is cut off any more: little waits, and the
    /// first violation is nearly a shortest one.
    IterativeDeepening(u32),
    /// The oldest first. With several workers the levels overlap, and a state may first be reached by a detour.
    BreadthFirst,
    /// The highest score first.
    BestFirst,
    /// Random walks from the initial states. Needs a budget, since walks have no end.
    RandomWalk,
}

/// Asks a running search to end; cheap to clone and safe to use from a signal handler.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the search soon.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a signal handler that sets flags.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// A search that could not be started or saved.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Random walks never end by themselves.
    #[error("walk at random without a budget of states or time")]
    WalkWithoutBudget,
    /// There is nothing to start from.
    #[error("search: the system has no initial state")]
    NoInitialState,
    /// Walks hold nothing that could be resumed.
    #[error("resume random walks: start a new one with another seed")]
    WalkResumed,
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// A search, described step by step and then run.
pub struct Search<'a, S: System> {
    system: &'a S,
    order: Order,
    visited: VisitedKind,
    symmetry: bool,
    threads: usize,
    budget: Budget,
    seed: u64,
    shuffle: bool,
    until_violation: bool,
    stop: Stop,
    progress: Option<(Duration, ProgressSink<'a>)>,
    checkpoint: Option<(PathBuf, String)>,
    pace: Option<Pace>,
    note: Option<Note<'a>>,
    resume: Option<PathBuf>,
    /// Why it could not be saved while it went on, whether or not it could be later.
    not_saved: Option<CheckpointError>,
}

type ProgressSink<'a> = Box<dyn FnMut(&Progress) + Send + 'a>;
type Note<'a> = Box<dyn FnMut(&Progress) -> String + Send + 'a>;

/// How often the search looks at the clock and at [`Stop`].
const TICK: Duration = Duration::from_millis(20);

impl<'a, S: System> Search<'a, S> {
    /// A depth-first search on one thread that remembers every state exactly and has no limits.
    pub fn new(system: &'a S) -> Self {
        Self {
            system,
            order: Order::DepthFirst,
            visited: VisitedKind::Exact,
            symmetry: true,
            threads: 1,
            budget: Budget::default(),
            seed: 0,
            shuffle: false,
            until_violation: false,
            stop: Stop::default(),
            progress: None,
            checkpoint: None,
            pace: None,
            note: None,
            resume: None,
            not_saved: None,
        }
    }

    /// In which order states are expanded.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// How visited states are remembered.
    #[must_use]
    pub fn visited(mut self, visited: VisitedKind) -> Self {
        self.visited = visited;
        self
    }

    /// Whether states are told apart by [`System::canonical`] (the default) or by [`System::encode`].
    #[must_use]
    pub fn symmetry(mut self, symmetry: bool) -> Self {
        self.symmetry = symmetry;
        self
    }

    /// How many workers.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How much it may cost.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// What random choices and hashes start from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whether what a state leads to is expanded in an order that follows from the seed, so that searches that are cut
    /// short see different states, instead of in the order in which the system lists it.
    #[must_use]
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Whether to end at the first violation.
    #[must_use]
    pub fn until_violation(mut self, until_violation: bool) -> Self {
        self.until_violation = until_violation;
        self
    }

    /// Lets somebody else end the search.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Calls `sink` about every `interval`.
    #[must_use]
    pub fn progress(mut self, interval: Duration, sink: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.progress = Some((interval, Box::new(sink)));
        self
    }

    /// Saves a search that was cut short to this file. `identity` describes the system and everything about it that
    /// a resumed search must share.
    #[must_use]
    pub fn checkpoint(mut self, file: &Path, identity: &str) -> Self {
        self.checkpoint = Some((file.to_owned(), identity.to_owned()));
        self
    }

    /// Saves it while it goes on too, so that it can be resumed after it was killed. If it cannot be saved now, the
    /// checkpoint stays that is there; progress and report say so. Random walks are never saved.
    #[must_use]
    pub fn save_every(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// Saves with it what `note` says, for whoever resumes it: see [`checkpoint_note`](crate::checkpoint_note). Nobody
    /// works while it is asked.
    #[must_use]
    pub fn note(mut self, note: impl FnMut(&Progress) -> String + Send + 'a) -> Self {
        self.note = Some(Box::new(note));
        self
    }

    /// Goes on from a checkpoint instead of from the initial states.
    #[must_use]
    pub fn resume(mut self, file: &Path) -> Self {
        self.resume = Some(file.to_owned());
        self
    }

    /// Searches.
    ///
    /// # Errors
    /// Random walks without a budget, or a checkpoint that cannot be read, written, or belongs to another search.
    pub fn run(mut self) -> Result<Report<S::Action, S::Evidence>, SearchError> {
        match self.order {
            Order::RandomWalk if self.budget.states.is_none() && self.budget.time.is_none() => {
                Err(SearchError::WalkWithoutBudget)
            }
            Order::RandomWalk if self.resume.is_some() => Err(SearchError::WalkResumed),
            Order::IterativeDeepening(by) => self.run_deeper_and_deeper(by.max(1)),
            _ => self.run_once(Instant::now(), &self.identity()),
        }
    }

    /// Every round starts anew: what a shallower round remembered says nothing about what lies deeper.
    fn run_deeper_and_deeper(&mut self, by: u32) -> Result<Report<S::Action, S::Evidence>, SearchError> {
        let (started, identity) = (Instant::now(), self.identity());
        let deepest = self.budget.depth.unwrap_or(u32::MAX);
        let mut bound = match &self.resume {
            None => deepest.min(by),
            Some(file) => checkpoint::depth_bound(file, &identity)?,
        };
        loop {
            self.budget.depth = Some(bound);
            let report = self.run_once(started, &identity)?;
            let cut_at_bound = report.limits.contains(&Limit::Depth(bound));
            let cut_short = !report
                .limits
                .iter()
                .all(|limit| matches!(limit, Limit::Depth(_) | Limit::Lossy(_) | Limit::NotSaved(_)));
            if !cut_at_bound || cut_short || bound == deepest {
                return Ok(report);
            }
            bound = deepest.min(bound.saturating_add(by));
            self.resume = None;
        }
    }

    fn run_once(&mut self, started: Instant, identity: &str) -> Result<Report<S::Action, S::Evidence>, SearchError> {
        let shared = self.shared();
        // What starts once may not start again, so that a new search goes by the states that it begins with.
        let is_new = self.resume.is_none() && self.order != Order::RandomWalk;
        if !is_new && shared.guarded(LinkId::NONE, || self.system.initial().is_empty()) == Some(true) {
            return Err(SearchError::NoInitialState);
        }
        let mut workers: Vec<_> = (0..self.threads).map(|number| self.worker(&shared, number)).collect();
        let Worker { links, findings, .. } = &mut workers[0];
        let work = match &self.resume {
            None if self.order == Order::RandomWalk => Vec::new(),
            None => shared.start(links),
            Some(file) => {
                shared.system.repetition_begins();
                let waiting = checkpoint::load(file, identity, &shared, links, findings);
                shared.system.repetition_is_over();
                waiting?
            }
        };
        if is_new && work.is_empty() && !shared.is_over() {
            return Err(SearchError::NoInitialState);
        }
        if !work.is_empty() {
            shared.pool.give(work);
        }
        let peak = self.work(&shared, &mut workers, started, identity);
        self.finish(&shared, &workers, peak, started.elapsed(), identity)
    }

    fn shared(&self) -> Shared<'a, S> {
        let saves_by_states = self.pace.filter(|_| self.checkpoint.is_some() && self.order != Order::RandomWalk);
        let first = saves_by_states.and_then(|pace| if let Pace::States(every) = pace { Some(every) } else { None });
        Shared {
            system: self.system,
            symmetry: self.symmetry,
            until_violation: self.until_violation,
            budget: self.budget,
            seed: self.seed,
            shuffle: self.shuffle,
            pool: Pool::new(self.threads),
            visited: Visited::new(self.visited, self.budget.depth.is_some(), self.seed),
            counters: Counters::default(),
            save_at: first.map(AtomicU64::new),
            tick: AtomicU32::new(0),
            limits: Mutex::default(),
            panic: Mutex::default(),
        }
    }

    fn worker<'s>(&self, shared: &'s Shared<'s, S>, number: usize) -> Worker<'s, S> {
        Worker::new(shared, number, LinkLog::new(number, self.threads), Frontier::of(self.order))
    }

    /// What a checkpoint must agree with: the system, and how its states are told apart.
    fn identity(&self) -> String {
        let system = self.checkpoint.as_ref().map_or("", |(_, identity)| identity);
        format!(
            "{system} visited={:?} symmetry={} seed={} depth={:?} deepening={}",
            self.visited,
            self.symmetry,
            self.seed,
            self.budget.depth,
            matches!(self.order, Order::IterativeDeepening(_))
        )
    }

    /// Runs the workers to the end of the search, and saves it whenever it is time to; returns the most memory that was
    /// seen in use.
    fn work(&mut self, shared: &Shared<'_, S>, workers: &mut [Worker<'_, S>], started: Instant, identity: &str) -> u64 {
        let saves = self.checkpoint.is_some() && self.order != Order::RandomWalk;
        let mut clock = Clock {
            started,
            last_report: started,
            peak: 0,
            timer: Timer::new(self.pace.filter(|_| saves)),
            unsaved: None,
        };
        loop {
            self.run_workers(shared, workers, &mut clock);
            if shared.is_over() {
                break;
            }
            // A disk may be full for a while. The checkpoint before stays, and the search need not suffer.
            let failed = self.save(shared, workers, started.elapsed(), identity).err();
            clock.unsaved = failed.as_ref().and_then(CheckpointError::kind);
            self.not_saved = failed.or(self.not_saved.take());
            if let (Some(next), Some(Pace::States(every))) = (&shared.save_at, self.pace) {
                next.store(shared.counters.states.load(Ordering::Relaxed).saturating_add(every), Ordering::Relaxed);
            }
            let stood: Duration =
                workers.iter_mut().filter_map(|worker| worker.stands_since.take()).map(|since| since.elapsed()).sum();
            clock.timer.begin(stood.div_f64(self.threads as f64));
            shared.pool.go_on();
        }
        shared.system.interrupt_is_over();
        clock.peak
    }

    /// Runs the workers until all have left, while this thread looks after the clock.
    fn run_workers(&mut self, shared: &Shared<'_, S>, workers: &mut [Worker<'_, S>], clock: &mut Clock) {
        let walks = self.order == Order::RandomWalk;
        std::thread::scope(|scope| {
            let (sender, ended) = mpsc::channel::<()>();
            for worker in workers {
                let sender = sender.clone();
                scope.spawn(move || {
                    // Dropped when this worker leaves: when all have, the channel closes.
                    let _sender = sender;
                    if walks { worker.walk() } else { worker.run() }
                });
            }
            drop(sender);
            while ended.recv_timeout(TICK) != Err(mpsc::RecvTimeoutError::Disconnected) {
                self.watch(shared, clock);
            }
        });
    }

    /// One look at the clock.
    fn watch(&mut self, shared: &Shared<'_, S>, clock: &mut Clock) {
        let elapsed = clock.started.elapsed();
        if self.stop.is_stopped() {
            shared.stop(Limit::Interrupted);
            shared.system.interrupt();
        }
        if let Some(time) = self.budget.time.filter(|time| elapsed >= *time) {
            shared.stop(Limit::Time(time));
            shared.system.interrupt();
        }
        if clock.timer.is_due() {
            shared.pool.stop();
        }
        shared.tick.fetch_add(1, Ordering::Relaxed);
        let progress = shared.counters.progress(shared.visited.bytes(), elapsed);
        let progress = Progress { unsaved: clock.unsaved, ..progress };
        if let Some((interval, sink)) = &mut self.progress
            && clock.last_report.elapsed() >= *interval
        {
            clock.last_report = Instant::now();
            sink(&progress);
        }
        clock.peak = clock.peak.max(progress.memory_bytes);
    }

    /// Writes the checkpoint, if there is to be one.
    fn save(
        &mut self,
        shared: &Shared<'_, S>,
        workers: &[Worker<'_, S>],
        elapsed: Duration,
        identity: &str,
    ) -> Result<(), CheckpointError> {
        let Some((file, _)) = &self.checkpoint else { return Ok(()) };
        let progress = shared.counters.progress(shared.visited.bytes(), elapsed);
        let snapshot = checkpoint::Snapshot {
            identity,
            note: &self.note.as_mut().map_or_else(String::new, |note| note(&progress)),
            depth_bound: self.budget.depth,
            counters: &shared.counters,
            visited: &shared.visited,
            links: &Links::join(workers.iter().map(|worker| &worker.links)),
            waiting: &waiting(shared, workers),
            findings: &occurrences(workers.iter().map(|worker| &worker.findings)),
        };
        snapshot.save(file)
    }

    fn finish(
        &mut self,
        shared: &Shared<'_, S>,
        workers: &[Worker<'_, S>],
        peak: u64,
        elapsed: Duration,
        identity: &str,
    ) -> Result<Report<S::Action, S::Evidence>, SearchError> {
        let Shared { visited, counters, limits, panic, .. } = shared;
        let link_bytes: u64 = workers.iter().map(|worker| worker.links.bytes()).sum();
        let links = Links::join(workers.iter().map(|worker| &worker.links));
        let replayer = Replayer { system: self.system, links: &links };

        let progress = counters.progress(visited.bytes(), elapsed);
        let omission = visited.omission(progress.states);
        let mut limits = std::mem::take(&mut *limits.lock().unwrap_or_else(PoisonError::into_inner));
        self.add_limits(&mut limits, counters, omission.map(|omission| omission.states_expected));
        let complete = waiting(shared, workers).is_empty() && !limits.iter().any(Limit::cuts_the_search);
        let panic = panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        // After a panic there is nothing to resume: the state that it happened in was taken and not expanded.
        let resumable = !complete && panic.is_none() && self.order != Order::RandomWalk;
        if resumable {
            self.save(shared, workers, elapsed, identity)?;
        }
        self.system.repetition_begins();
        let panic = panic.map(|at| {
            if at.link == LinkId::NONE {
                return PanicReport { message: at.message, trace: Vec::new(), initial: 0 };
            }
            let (initial, mut trace, state) = replayer.replay(at.link);
            let last = at.action.and_then(|action| replayer.action(state.as_ref()?, action));
            trace.extend(last.map(|action| Move { action, outcome: None }));
            PanicReport { message: at.message, trace, initial }
        });
        let violations = violations(&replayer, occurrences(workers.iter().map(|worker| &worker.findings)));
        self.system.repetition_is_over();
        Ok(Report {
            states: progress.states,
            states_revisited: progress.states_revisited,
            depth: progress.depth,
            complete,
            limits,
            violations,
            panic,
            omitted_states_expected: omission.map(|omission| omission.states_expected),
            memory: MemoryUse {
                visited_bytes: visited.bytes(),
                link_bytes,
                peak_bytes: peak.max(visited.bytes() + link_bytes),
            },
            elapsed,
        })
    }

    fn add_limits(&self, limits: &mut Vec<Limit>, counters: &Counters, omitted: Option<f64>) {
        // A state may have been cut off and then found on a shorter way.
        if counters.cut_at_depth.load(Ordering::Relaxed) != 0
            && counters.at_depth_bound.load(Ordering::Relaxed) != 0
            && let Some(depth) = self.budget.depth
        {
            limits.push(Limit::Depth(depth));
        }
        let dropped = counters.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            limits.push(Limit::StatesDropped(dropped));
        }
        if let Some(omitted) = omitted {
            limits.push(Limit::Lossy(format!("visited states kept by hash: {omitted:.2e} expected to be omitted")));
        }
        if self.order == Order::RandomWalk {
            limits.push(Limit::Sampled(counters.walks.load(Ordering::Relaxed)));
        }
        limits.extend(self.not_saved.as_ref().map(|error| Limit::NotSaved(error.to_string())));
    }
}

/// What this thread knows of the time.
struct Clock {
    started: Instant,
    last_report: Instant,
    /// The most memory that was seen in use.
    peak: u64,
    timer: Timer,
    /// Why the search could not be saved the last time that it was to be.
    unsaved: Option<io::ErrorKind>,
}

/// All that waits, while nobody works.
fn waiting<S: System>(shared: &Shared<'_, S>, workers: &[Worker<'_, S>]) -> Vec<Place> {
    let mut waiting = shared.pool.places();
    waiting.extend(workers.iter().flat_map(|worker| worker.frontier.places()));
    waiting
}

/// The findings with their traces, worst first.
fn violations<S: System>(
    replayer: &Replayer<'_, S>,
    found: HashMap<Property, Occurrences<'_, S::Evidence>>,
) -> Vec<Violation<S::Action, S::Evidence>> {
    let mut violations: Vec<_> = found
        .into_iter()
        .map(|(property, Occurrences { count, shallowest })| {
            let (initial, mut trace, state) = replayer.replay(shallowest.link);
            let last = shallowest.action.and_then(|action| replayer.action(state.as_ref()?, action));
            trace.extend(last.map(|action| Move { action, outcome: None }));
            Violation { property, count, evidence: shallowest.evidence.clone(), trace, initial }
        })
        .collect();
    violations.sort_by_key(|violation| (violation.property.severity, violation.property.name));
    violations
}
