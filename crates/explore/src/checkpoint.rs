//! A search that was cut short, on disk.
//!
//! States are not stored: a waiting state is stored as its links and is made again by re-executing them, so a system
//! needs no serialisation and a checkpoint cannot disagree with the code that reads it. The layout is little-endian
//! 64-bit numbers; `MAGIC` names its version; a checksum at the end tells a damaged file from a sound one.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use xxhash_rust::xxh3::Xxh3;

use crate::{
    frontier::{Place, Waiting},
    links::{Link, LinkId, LinkLog, Links},
    progress::Counters,
    system::{Property, Step, System},
    visited::Visited,
    worker::{Finding, Findings, Occurrences, Shared},
};

const MAGIC: &[u8; 16] = b"shakedown-find-3";

/// A checkpoint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Reading or writing failed.
    #[error("use the checkpoint {}: {error}", file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The file is of another search.
    #[error("resume {}: it was made by another search ({saved}), this one is {wanted}", file.display())]
    OtherSearch {
        /// Which file.
        file: PathBuf,
        /// What made it.
        saved: String,
        /// What tried to read it.
        wanted: String,
    },
    /// The file is damaged, or the system behaves differently now.
    #[error("resume {}: {what}", file.display())]
    Unusable {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

impl CheckpointError {
    /// What the machine says, if it is to blame.
    pub(crate) fn kind(&self) -> Option<io::ErrorKind> {
        if let Self::Io { error, .. } = self { Some(error.kind()) } else { None }
    }
}

/// A search at a moment when nobody works.
pub(crate) struct Snapshot<'a, E> {
    pub identity: &'a str,
    /// What whoever searches wants to know when it goes on.
    pub note: &'a str,
    pub depth_bound: Option<u32>,
    pub counters: &'a Counters,
    pub visited: &'a Visited,
    pub links: &'a Links<'a>,
    pub waiting: &'a [Place],
    pub findings: &'a HashMap<Property, Occurrences<'a, E>>,
}

impl<E> Snapshot<'_, E> {
    /// Writes the checkpoint; it replaces an older one in one step, or, if it cannot be written, leaves that alone.
    pub fn save(&self, file: &Path) -> Result<(), CheckpointError> {
        let part = file.with_extension("part");
        self.write(&part).and_then(|()| fs::rename(&part, file)).map_err(|error| {
            // What is half written would take up a disk that may be full because of it.
            let _ = fs::remove_file(&part);
            CheckpointError::Io { file: file.to_owned(), error }
        })
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let mut out = Summed { out: BufWriter::new(File::create(file)?), sum: Xxh3::new() };
        self.write_to(&mut out)?;
        let Summed { mut out, sum } = out;
        put(&mut out, sum.digest())?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        put_bytes(out, self.identity.as_bytes())?;
        put_bytes(out, self.note.as_bytes())?;
        put(out, u64::from(self.depth_bound.unwrap_or(u32::MAX)))?;
        for counter in self.counters.lasting() {
            put(out, counter.load(Ordering::Relaxed))?;
        }
        write_visited(out, self.visited)?;
        // Only the links that lead to waiting states and findings are still needed.
        let ends = self.waiting.iter().map(|place| place.link);
        let needed = Needed::of(self.links, ends.chain(self.findings.values().map(|found| found.shallowest.link)));
        put(out, needed.links.len() as u64)?;
        for link in &needed.links {
            put(out, u64::from(link.parent.0))?;
            put(out, u64::from(link.action))?;
            put(out, u64::from(link.outcome))?;
        }
        put(out, self.waiting.len() as u64)?;
        for place in self.waiting {
            put(out, u64::from(needed.place[&place.link]))?;
            put(out, u64::from(place.depth))?;
        }
        put(out, self.findings.len() as u64)?;
        for (property, Occurrences { count, shallowest }) in self.findings {
            put_bytes(out, property.name.as_bytes())?;
            put(out, *count)?;
            put(out, u64::from(shallowest.depth))?;
            put(out, u64::from(needed.place[&shallowest.link]))?;
            put(out, shallowest.action.map_or(u64::MAX, u64::from))?;
        }
        Ok(())
    }
}

/// Adds up what is written.
struct Summed<W> {
    out: W,
    sum: Xxh3,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_visited(out: &mut impl Write, visited: &Visited) -> io::Result<()> {
    let mut result = Ok(());
    let mut entry = |bytes: &[u8], depth: u32| {
        if result.is_ok() {
            result = put_bytes(out, bytes).and_then(|()| put(out, u64::from(depth)));
        }
    };
    match visited {
        Visited::Exact(set) => set.for_each(&mut entry),
        Visited::Hash64(set) => set.for_each(|hash, depth| entry(&hash.to_le_bytes(), depth)),
        Visited::Hash128(set) => set.for_each(|hash, depth| entry(&hash.to_le_bytes(), depth)),
        Visited::Bitstate(set) => set.words().for_each(|word| entry(&word.to_le_bytes(), 0)),
    }
    result?;
    put(out, u64::MAX)
}

/// The links that lead to some states, parents before children.
struct Needed {
    links: Vec<Link>,
    place: HashMap<LinkId, u32>,
}

impl Needed {
    fn of(links: &Links<'_>, ends: impl Iterator<Item = LinkId>) -> Self {
        let mut needed = Self { links: Vec::new(), place: HashMap::new() };
        let mut unplaced = Vec::new();
        for end in ends {
            let mut at = end;
            while at != LinkId::NONE && !needed.place.contains_key(&at) {
                unplaced.push(at);
                at = links.get(at).parent;
            }
            while let Some(id) = unplaced.pop() {
                let link = links.get(id);
                let parent = needed.place.get(&link.parent).map_or(LinkId::NONE, |place| LinkId(*place));
                let place = u32::try_from(needed.links.len()).expect("no more than there were");
                needed.links.push(Link { parent, ..link });
                needed.place.insert(id, place);
            }
        }
        needed
    }
}

/// What was noted in a checkpoint for whoever goes on with it.
///
/// # Errors
/// There is no sound checkpoint.
pub fn checkpoint_note(file: &Path) -> Result<String, CheckpointError> {
    open(file).map(|opened| opened.note)
}

/// A sound checkpoint, read up to its note.
struct Opened {
    identity: String,
    note: String,
    rest: BufReader<File>,
}

fn open(file: &Path) -> Result<Opened, CheckpointError> {
    let wrap = |error| CheckpointError::Io { file: file.to_owned(), error };
    let unusable = |what| CheckpointError::Unusable { file: file.to_owned(), what };
    let mut input = BufReader::new(File::open(file).map_err(wrap)?);
    let mut magic = [0; MAGIC.len()];
    let is_ours = input.read_exact(&mut magic).is_ok() && &magic == MAGIC;
    if !is_ours {
        return Err(unusable("it is not a checkpoint of this version"));
    }
    if !is_sound(&mut input).map_err(wrap)? {
        return Err(unusable("it is damaged"));
    }
    input.seek(SeekFrom::Start(MAGIC.len() as u64)).map_err(wrap)?;
    let mut text = || String::from_utf8(get_bytes(&mut input).map_err(wrap)?).map_err(|_| unusable("it is damaged"));
    let (identity, note) = (text()?, text()?);
    Ok(Opened { identity, note, rest: input })
}

/// What a sound checkpoint of this search says behind its note.
fn open_for(file: &Path, identity: &str) -> Result<BufReader<File>, CheckpointError> {
    let Opened { identity: saved, rest, .. } = open(file)?;
    if saved == identity {
        Ok(rest)
    } else {
        Err(CheckpointError::OtherSearch { file: file.to_owned(), saved, wanted: identity.to_owned() })
    }
}

/// Whether the checksum at the end is that of all before it.
fn is_sound(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    let len = input.seek(SeekFrom::End(0))?;
    input.rewind()?;
    let mut summed = Summed { out: io::sink(), sum: Xxh3::new() };
    io::copy(&mut input.take(len.saturating_sub(8)), &mut summed)?;
    Ok(get(input).is_ok_and(|sum| sum == summed.sum.digest()))
}

/// The depth bound of the search that was saved.
pub(crate) fn depth_bound(file: &Path, identity: &str) -> Result<u32, CheckpointError> {
    get_u32(&mut open_for(file, identity)?).map_err(|error| CheckpointError::Io { file: file.to_owned(), error })
}

/// Reads a checkpoint into an empty search and returns what waits.
pub(crate) fn load<S: System>(
    file: &Path,
    identity: &str,
    shared: &Shared<'_, S>,
    log: &mut LinkLog,
    findings: &mut Findings<S::Evidence>,
) -> Result<Vec<Waiting<S::State>>, CheckpointError> {
    let wrap = |error| CheckpointError::Io { file: file.to_owned(), error };
    let unusable = |what| CheckpointError::Unusable { file: file.to_owned(), what };
    let mut input = open_for(file, identity)?;
    let _bound_of_the_round = get_u32(&mut input).map_err(wrap)?;
    for counter in shared.counters.lasting() {
        counter.store(get(&mut input).map_err(wrap)?, Ordering::Relaxed);
    }
    read_visited(&mut input, &shared.visited).map_err(wrap)?;
    let (links, placed) = read_links(&mut input, log).map_err(wrap)?;
    let state_of =
        states_of(shared.system, &links).ok_or_else(|| unusable("the target no longer behaves as it did"))?;

    let mut waiting = Vec::new();
    for _ in 0..get(&mut input).map_err(wrap)? {
        let place = get_usize(&mut input).map_err(wrap)?;
        let depth = u32::try_from(get(&mut input).map_err(wrap)?).map_err(|_| unusable("it is damaged"))?;
        let state = state_of.get(place).cloned().ok_or_else(|| unusable("it is damaged"))?;
        waiting.push(Waiting { state, link: placed[place], depth });
    }
    for _ in 0..get(&mut input).map_err(wrap)? {
        let saved = SavedFinding::read(&mut input).map_err(wrap)?;
        let state = state_of.get(saved.place).ok_or_else(|| unusable("it is damaged"))?;
        let (property, evidence) =
            saved.evidence(shared.system, state).ok_or_else(|| unusable("a violation no longer happens"))?;
        let finding = Finding {
            count: saved.count,
            depth: saved.depth,
            link: placed[saved.place],
            action: saved.action,
            evidence,
        };
        findings.shallowest.insert(property, saved.depth);
        findings.best.insert(property, finding);
    }
    Ok(waiting)
}

fn read_visited(input: &mut impl Read, visited: &Visited) -> io::Result<()> {
    let mut words = Vec::new();
    loop {
        let len = get(input)?;
        if len == u64::MAX {
            break;
        }
        let bytes = get_exactly(input, len)?;
        let depth = u32::try_from(get(input)?).map_err(|_| io::ErrorKind::InvalidData)?;
        let wide = || -> io::Result<u128> {
            Ok(u128::from_le_bytes(bytes.as_slice().try_into().map_err(|_| io::ErrorKind::InvalidData)?))
        };
        match visited {
            Visited::Exact(_) => {
                visited.insert(visited.hash(&bytes), &bytes, depth, &Visited::pin());
            }
            Visited::Hash64(_) | Visited::Hash128(_) => {
                visited.insert(wide()?, &[], depth, &Visited::pin());
            }
            Visited::Bitstate(_) => {
                words.push(u64::from_le_bytes(bytes.as_slice().try_into().map_err(|_| io::ErrorKind::InvalidData)?));
            }
        }
    }
    if let Visited::Bitstate(set) = visited {
        set.restore(words.into_iter());
    }
    Ok(())
}

/// The links by their place in the file, and the ids that they have in this search.
fn read_links(input: &mut impl Read, log: &mut LinkLog) -> io::Result<(Vec<Link>, Vec<LinkId>)> {
    let (mut links, mut placed) = (Vec::new(), Vec::new());
    for _ in 0..get(input)? {
        let [parent, action, outcome] = [get_u32(input)?, get_u32(input)?, get_u32(input)?];
        let link = Link { parent: LinkId(parent), action, outcome };
        let parent = match link.parent {
            LinkId::NONE => LinkId::NONE,
            LinkId(place) => *placed.get(place as usize).ok_or(io::ErrorKind::InvalidData)?,
        };
        placed.push(log.push(Link { parent, ..link }));
        links.push(link);
    }
    Ok((links, placed))
}

/// The state of every link, made by re-executing each link once. `None` if a link does not exist any more.
fn states_of<S: System>(system: &S, links: &[Link]) -> Option<Vec<S::State>> {
    let initial = system.initial();
    let mut states: Vec<S::State> = Vec::with_capacity(links.len());
    let nothing_known = HashMap::new();
    for link in links {
        let state = match link.parent {
            LinkId::NONE => initial.get(link.action as usize)?.clone(),
            LinkId(parent) => {
                let parent = &states[parent as usize];
                let mut actions = Vec::new();
                system.actions(parent, &mut actions);
                let mut step = Step::new(&nothing_known, 0, Vec::new());
                system.apply(parent, actions.get(link.action as usize)?, &mut step);
                step.outcomes.into_iter().nth(link.outcome as usize)?
            }
        };
        states.push(state);
    }
    Some(states)
}

/// A finding without its evidence, which is made again.
struct SavedFinding {
    property: Vec<u8>,
    count: u64,
    depth: u32,
    place: usize,
    action: Option<u32>,
}

impl SavedFinding {
    fn read(input: &mut impl Read) -> io::Result<Self> {
        let property = get_bytes(input)?;
        let count = get(input)?;
        let depth = get_u32(input)?;
        let place = get_usize(input)?;
        let action = match get(input)? {
            u64::MAX => None,
            position => Some(u32::try_from(position).map_err(|_| io::ErrorKind::InvalidData)?),
        };
        Ok(Self { property, count, depth, place, action })
    }

    fn evidence<S: System>(&self, system: &S, state: &S::State) -> Option<(Property, S::Evidence)> {
        let nothing_known = HashMap::new();
        let mut step = Step::new(&nothing_known, 0, Vec::new());
        let mut actions = Vec::new();
        system.actions(state, &mut actions);
        match self.action {
            None => system.inspect(state, actions.len(), &mut step),
            Some(position) => system.apply(state, actions.get(position as usize)?, &mut step),
        }
        let found = step.found.into_iter().find(|found| found.property.name.as_bytes() == self.property)?;
        Some((found.property, found.evidence?))
    }
}

fn put(out: &mut impl Write, number: u64) -> io::Result<()> {
    out.write_all(&number.to_le_bytes())
}

fn put_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    put(out, bytes.len() as u64)?;
    out.write_all(bytes)
}

fn get(input: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn get_u32(input: &mut impl Read) -> io::Result<u32> {
    u32::try_from(get(input)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn get_usize(input: &mut impl Read) -> io::Result<usize> {
    usize::try_from(get(input)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn get_bytes(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let len = get(input)?;
    get_exactly(input, len)
}

/// Reads what is there rather than trusting a length that may be damaged.
fn get_exactly(input: &mut impl Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == len { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
