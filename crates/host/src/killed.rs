//! A file system without a disk that we could serve, such as one on a network or in an object store, as a target.
//!
//! Its power cannot be cut, but whoever serves it can be killed, and started again on what it has stored. What was
//! synced must be there then. What is stored where is not ours to copy either: a state is brought about by emptying the
//! store and doing everything again that led there.
//!
//! To the checker it looks like a disk of one block, which holds by what number the [`Life`] of the file system is
//! known, and which is written and flushed at the end of each op: the crash states of that disk are the moments between
//! ops. To mount what such a disk says is to lead that life again and to kill at its end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use check::{Finding, Promise, Repeats, Target, Task, View};
use disk::{Block, BlockSize, Disk, Geometry, Image};
use guest::{FILE_BYTES_OF_ANY, ROOM_OF_ANY};
use posix::{
    FILE_BYTES_MAX,
    message::{Answer, Got, Mount, Step},
};
use vfs::{
    Errno, Op, Outcome, Tree,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet, object_ops},
    open::OpenFiles,
};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    HostError, Machine,
    machine::{NoDisk, end_together},
    runner::{HANGS, NONDETERMINISTIC, Trouble, UNAVAILABLE, cannot_mount},
    target::missing_for_any_mount,
};

/// A life that does not repeat is tried so often.
const TRIES: u32 = 5;
/// The smallest disk that a worker can have; nothing uses it.
const SECTORS: u64 = 8;

/// A file system that is killed.
#[derive(Debug)]
pub struct KilledTarget {
    commands: Vec<String>,
    contract: Contract,
    usual: ObjectBounds,
    all: ObjectBounds,
    ready: OnceLock<Result<(), String>>,
    lives: Mutex<HashMap<u128, Arc<Life>>>,
    idle: Mutex<Vec<Seat>>,
}

/// A worker, and which life is led there.
#[derive(Debug)]
struct Seat {
    machine: Machine,
    leads: Option<u128>,
}

/// One thing that happened to the file system.
#[derive(Clone, Debug)]
enum Event {
    /// An op, and what it returned.
    Done(Op, Outcome),
    /// It was unmounted, and mounted again.
    Remounted,
    /// Whoever served it was killed, and started again.
    Killed,
}

/// What happened to the file system since its store was empty.
#[derive(Clone, Debug, Default)]
struct Life {
    events: Vec<Event>,
    /// Whether it is unmounted now.
    ended_well: bool,
    id: u128,
}

impl Life {
    fn then(&self, event: Event) -> Self {
        let words = format!("{:032x} {event:?}", self.id);
        let mut events = self.events.clone();
        events.push(event);
        Self { events, ended_well: false, id: xxh3_128(words.as_bytes()) }
    }

    fn unmounted(&self) -> Self {
        Self { ended_well: true, id: xxh3_128(format!("{:032x} unmounted", self.id).as_bytes()), ..self.clone() }
    }

    /// The steps that lead it.
    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Reset, mount_step()];
        for event in &self.events {
            match event {
                Event::Done(op, _) => steps.push(Step::Run(op.clone())),
                Event::Remounted => steps.extend([Step::Unmount, mount_step()]),
                Event::Killed => steps.extend([Step::Kill, mount_step()]),
            }
        }
        steps
    }

    /// Where it was led differently, in words.
    fn difference(&self, answers: &[Answer]) -> Option<String> {
        let steps = self.steps();
        let mut expected = self.events.iter().filter_map(|event| match event {
            Event::Done(op, outcome) => Some((op, outcome)),
            _ => None,
        });
        for (step, answer) in steps.iter().zip(answers) {
            match (step, answer) {
                (Step::Run(_), answer) => {
                    let (op, outcome) = expected.next()?;
                    let again = outcome_of(answer.clone());
                    if again != *outcome {
                        return Some(format!("{op} {}, and then {}", said(outcome), said(&again)));
                    }
                }
                (_, Ok(_)) => {}
                (step, Err(errno)) => return Some(format!("{} failed with {errno}", words(step))),
            }
        }
        None
    }
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(errno) => format!("failed with {errno}"),
    }
}

fn words(step: &Step) -> String {
    match step {
        Step::Mount(_) => "to mount it".to_owned(),
        Step::Unmount => "to unmount it".to_owned(),
        Step::Kill => "to kill whoever serves it".to_owned(),
        Step::Reset => "to empty its store".to_owned(),
        Step::Run(op) => op.to_string(),
        _ => "to look at it".to_owned(),
    }
}

fn mount_step() -> Step {
    let (kind, options) = ("fuse".to_owned(), String::new());
    Step::Mount(Mount { kind, medium: posix::message::Medium::Disk, options, hidden: Vec::new(), emptied: Vec::new() })
}

fn outcome_of(answer: Answer) -> Outcome {
    answer.and_then(|got| if let Got::Value(value) = got { Ok(value) } else { Err(Errno::EIO) })
}

/// A mounted file system.
#[derive(Clone, Debug)]
pub struct Mounted {
    life: Arc<Life>,
    tree: Result<Tree, Errno>,
    complaint: Option<Arc<Finding>>,
}

impl KilledTarget {
    /// A file system that a command mounts on `{mnt}`; `{store}` is an empty folder for it, and `reset` empties what
    /// else it stores things in.
    pub fn new(mount: String, reset: Option<String>, contract: Contract) -> Self {
        let all = guest::bounds_of_any();
        let usual = ObjectBounds { ops: all.ops.intersection(OpSet::DEFAULT), ..all.clone() };
        let commands = [Some(mount), reset].into_iter().flatten().collect();
        let (lives, idle) = (Mutex::new(HashMap::from([(0, Arc::default())])), Mutex::default());
        Self { commands, contract, usual, all, ready: OnceLock::new(), lives, idle }
    }

    /// A worker that leads this life already, or is brought to lead it.
    fn seat(&self, life: &Life) -> Result<Seat, Finding> {
        let mut seat = self.take(life.id).map_err(accused)?;
        if seat.leads == Some(life.id) {
            return Ok(seat);
        }
        let mut differences = Vec::new();
        for _ in 0..TRIES {
            if seat.leads.take().is_some() {
                seat.machine.run(&mut NoDisk, &[Step::Kill]).map_err(accused)?;
            }
            let answers = seat.machine.run(&mut NoDisk, &life.steps()).map_err(accused)?;
            seat.leads = Some(life.id);
            match life.difference(&answers) {
                None => return Ok(seat),
                Some(difference) => differences.push(difference),
            }
        }
        differences.dedup();
        let detail =
            format!("the same on an empty store, {TRIES} times, came out differently: {}", differences.join("; "));
        Err(Finding { property: NONDETERMINISTIC, detail })
    }

    /// Sees whether its commands can be used at all; if not, words that fit after "could not ".
    fn try_commands(&self) -> Result<Seat, String> {
        let life = Life::default();
        let mut seat = self.take(life.id).map_err(|error| error.to_string())?;
        // One by one, because why one came to nothing is only known until the next one.
        for step in life.steps() {
            let answers = seat.machine.run(&mut NoDisk, std::slice::from_ref(&step));
            if let Some(Err(errno)) = answers.map_err(|error| accused(error).detail)?.pop() {
                return Err(self.refused(&step, seat.machine.why_not(), errno));
            }
        }
        seat.leads = Some(life.id);
        Ok(seat)
    }

    /// That one of its commands came to nothing, in words that fit after "could not ".
    fn refused(&self, step: &Step, why_not: Option<String>, errno: Errno) -> String {
        match (step, &self.commands[..]) {
            (Step::Reset, [_, reset]) => {
                format!("empty the store with `{reset}`: {}", why_not.unwrap_or_else(|| errno.to_string()))
            }
            (_, commands) => cannot_mount(commands.first().map_or("", String::as_str), why_not, errno),
        }
    }

    fn take(&self, life: u128) -> Result<Seat, HostError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|seat| seat.leads == Some(life)).or_else(|| idle.len().checked_sub(1));
        if let Some(place) = place {
            return Ok(idle.remove(place));
        }
        drop(idle);
        Ok(Seat { machine: Machine::start(SECTORS, &self.commands)?, leads: None })
    }

    /// Does steps in a life and looks at what they leave; `life` is what it is then.
    fn go_on(&self, from: &Life, steps: &[Step], life: impl FnOnce(&[Answer]) -> Life) -> (Vec<Answer>, Mounted) {
        let done = self.seat(from).and_then(|mut seat| {
            let steps = [steps, &[Step::Observe]].concat();
            let answers = seat.machine.run(&mut NoDisk, &steps);
            let answers = answers.map_err(accused)?;
            Ok((seat, answers))
        });
        match done {
            Ok((mut seat, mut answers)) => {
                let (tree, complaint) = guest::seen(answers.pop());
                let life = Arc::new(life(&answers));
                self.lives.lock().unwrap_or_else(PoisonError::into_inner).insert(life.id, Arc::clone(&life));
                seat.leads = Some(life.id);
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
                (answers, Mounted { life, tree, complaint })
            }
            Err(finding) => {
                let complaint = Some(Arc::new(finding));
                (Vec::new(), Mounted { life: Arc::new(from.clone()), tree: Err(Errno::EIO), complaint })
            }
        }
    }
}

impl Drop for KilledTarget {
    fn drop(&mut self) {
        end_together(std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner)));
    }
}

/// Whose fault it is that a worker cannot go on.
fn accused(error: HostError) -> Finding {
    Arc::unwrap_or_clone(Trouble::from(error).finding())
}

/// Notes on the disk which life is led.
fn note(disk: &mut Disk, life: &Life) -> Result<(), Errno> {
    let mut block = [0; 512];
    block[..16].copy_from_slice(&life.id.to_le_bytes());
    disk.write(Block(0), &block).and_then(|()| disk.flush()).map_err(|_| Errno::EIO)
}

impl Target for KilledTarget {
    type Mounted = Mounted;

    fn ready(&self) -> Result<(), String> {
        let try_out = || {
            if let Some(missing) = missing_for_any_mount() {
                return Err(missing);
            }
            let seat = self.try_commands()?;
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
            Ok(())
        };
        self.ready.get_or_init(try_out).clone()
    }

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::SECTOR, blocks: 1 })
    }

    fn mount(&self, disk: &mut Disk) -> Result<Mounted, Errno> {
        let mut block = [0; 512];
        disk.read(Block(0), &mut block).map_err(|_| Errno::EIO)?;
        let id = block.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let life = self.lives.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned().ok_or(Errno::EINVAL)?;
        let (answers, mounted) = if life.events.is_empty() && !life.ended_well {
            self.go_on(&life, &[], |_| (*life).clone())
        } else if life.ended_well {
            // A life that ended well is led again up to its end: to unmount and mount is one event.
            let before = life.events.split_last().map_or_else(Life::default, |(_, events)| led(events));
            self.go_on(&before, &[Step::Unmount, mount_step()], |_| before.then(Event::Remounted))
        } else {
            self.go_on(&life, &[Step::Kill, mount_step()], |_| life.then(Event::Killed))
        };
        match answers.into_iter().find_map(Result::err) {
            Some(errno) if mounted.complaint.is_none() => Err(errno),
            _ => Ok(mounted),
        }
    }

    fn unmount(&self, mounted: &mut Mounted, disk: &mut Disk) -> Result<(), Errno> {
        // What is noted is that nobody is to be killed when this is mounted again.
        let life = mounted.life.then(Event::Remounted).unmounted();
        self.lives.lock().unwrap_or_else(PoisonError::into_inner).insert(life.id, Arc::new(life.clone()));
        note(disk, &life)
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn file_bytes_granted(&self) -> u64 {
        FILE_BYTES_OF_ANY
    }

    /// Its store lies among our temporary files, unless it has one of its own: where these have no room, it has none.
    fn room_granted(&self) -> u64 {
        let room =
            rustix::fs::statvfs(std::env::temp_dir()).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        if room >= 16 * ROOM_OF_ANY { ROOM_OF_ANY } else { 0 }
    }

    fn step(&self, mounted: &mut Mounted, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let life = Arc::clone(&mounted.life);
        let outcome = |answers: &[Answer]| outcome_of(answers.first().cloned().unwrap_or(Err(Errno::EIO)));
        let (answers, now) = self.go_on(&life, &[Step::Run(task.op.clone())], |answers| {
            life.then(Event::Done(task.op.clone(), outcome(answers)))
        });
        *mounted = now;
        Some(note(disk, &mounted.life).and_then(|()| outcome(&answers)))
    }

    fn observe(&self, mounted: &Mounted, _: &Disk) -> Result<Tree, Errno> {
        mounted.tree.clone()
    }

    fn complaint(&self, mounted: &Mounted) -> Option<Finding> {
        mounted.complaint.as_deref().cloned()
    }

    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        finding.property == UNAVAILABLE
    }

    fn takes_long_to_show(&self, property: &str) -> bool {
        property == HANGS.name
    }

    fn encode(&self, mounted: &Mounted, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&mounted.life.id.to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise { contract: self.contract, synchronous: false, zeros: Zeros::Allowed, write_through: false }
    }

    fn bounds(&self) -> ObjectBounds {
        self.all.clone()
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let bounds = if view.workload.ops.is_some() { &self.all } else { &self.usual };
        ops.extend(object_ops(view.tree(), &OpenFiles::new(), &view.workload.within(bounds, self.ops())));
    }

    fn invariants(&self, mounted: &Mounted, _: &Disk) -> Vec<Finding> {
        self.complaint(mounted).into_iter().collect()
    }

    fn block_name(&self, _: Block) -> String {
        "the number of this moment".to_owned()
    }

    fn uses_fua(&self) -> bool {
        false
    }

    fn repeats(&self) -> Repeats {
        Repeats::InShape
    }
}

/// The life of these events.
fn led(events: &[Event]) -> Life {
    events.iter().fold(Life::default(), |life, event| life.then(event.clone()))
}
