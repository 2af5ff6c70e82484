//! A state as bytes, to be loaded by another mount or at another time.
//!
//! All numbers are little-endian:
//!
//! ```text
//! magic "SHKDREF1", XXH3-64 of everything that follows
//! count of nodes (u32), then each:
//!   number (u32; 0 is the root), mode, uid, gid, link count (u32 each), four times (i64 seconds, u32 nanoseconds)
//!   count of attributes (u32), each: name, value
//!   kind (u8) and what it has:
//!     0 file: size (u64), count of blocks (u32), each: its number (u32), 4096 bytes
//!     1 directory: count of names (u32), each: name, number of the node
//!     2 symlink: what it says
//!     3 pipe   4 socket   5 character device: its number (u32)   6 block device: its number (u32)
//! text and bytes: length (u32), then so many bytes
//! ```
//!
//! Nodes, blocks, attributes and names are in ascending order.
//!
//! Nodes without a name are left out: nobody can have them open where this is loaded. What is read is trusted in
//! nothing: a state that no sequence of ops could have made is refused.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read},
    sync::Arc,
};

use vfs::{Contents, Entries, Errno, Node, NodeId, NodeKind, Reference, Special, Tree, contents::BLOCK_SIZE};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{
    names,
    state::{FILE_SIZE_MAX, State},
    times::{Time, Times},
};

const MAGIC: &[u8; 8] = b"SHKDREF1";
/// The kernel takes no longer value of an attribute.
const XATTR_BYTES_MAX: usize = 1 << 16;
/// The kernel takes no longer target, and as text each of its bytes may take four.
const SYMLINK_TEXT_MAX: usize = 4096 * 4;

/// The bytes of a state.
pub fn encode(state: &State) -> Vec<u8> {
    let tree = state.fs.tree();
    let mut body = Bytes::default();
    body.count(tree.nodes.len());
    for (id, node) in tree.nodes.iter() {
        let times = state.times.get(id.0).copied().unwrap_or(Times::new(Time { seconds: 0, nanos: 0 }));
        body.node(*id, node, &times);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&xxh3_64(&body.0).to_le_bytes());
    bytes.extend(body.0);
    bytes
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Nodes have numbers of 32 bits, and what they hold is limited further.
    fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn time(&mut self, time: Time) {
        self.0.extend_from_slice(&time.seconds.to_le_bytes());
        self.u32(time.nanos);
    }

    fn node(&mut self, id: NodeId, node: &Node, times: &Times) {
        [id.0, node.mode, node.uid, node.gid, node.nlink].into_iter().for_each(|number| self.u32(number));
        [times.accessed, times.modified, times.changed, times.created].into_iter().for_each(|time| self.time(time));
        self.count(node.xattrs.len());
        for (name, value) in &node.xattrs {
            self.bytes(name.as_bytes());
            self.bytes(value);
        }
        match &node.kind {
            NodeKind::File(contents) => {
                self.u8(0);
                self.contents(contents);
            }
            NodeKind::Dir(entries) => {
                self.u8(1);
                self.count(entries.len());
                for (name, child) in entries {
                    self.bytes(name.as_bytes());
                    self.u32(child.0);
                }
            }
            NodeKind::Symlink(target) => {
                self.u8(2);
                self.bytes(target.as_bytes());
            }
            NodeKind::Special(Special::Fifo) => self.u8(3),
            NodeKind::Special(Special::Socket) => self.u8(4),
            NodeKind::Special(Special::CharDevice(device)) => {
                self.u8(5);
                self.u32(*device);
            }
            NodeKind::Special(Special::BlockDevice(device)) => {
                self.u8(6);
                self.u32(*device);
            }
        }
    }

    fn contents(&mut self, contents: &Contents) {
        self.u64(contents.size());
        let blocks: Vec<u64> = data_blocks(contents).collect();
        self.count(blocks.len());
        for block in blocks {
            self.u32(u32::try_from(block).unwrap_or(u32::MAX));
            let start = self.0.len();
            contents.read(block * BLOCK_SIZE, BLOCK_SIZE, &mut self.0);
            self.0.resize(start + BLOCK, 0);
        }
    }
}

const BLOCK: usize = 4096;

/// The blocks in which there is data.
fn data_blocks(contents: &Contents) -> impl Iterator<Item = u64> {
    let next = |from: u64| contents.next_data(from * BLOCK_SIZE).map(|offset| offset / BLOCK_SIZE);
    std::iter::successors(next(0), move |block| next(block + 1))
}

/// The state that is read from somewhere, to take the place of `now`: with its room, and with identities that it has
/// not given out. It is taken apart while it is read, so what is no state costs no more memory than what led there.
///
/// # Errors
/// `EBADMSG`: it is no such state; or what reading gave.
pub fn decode(from: impl Read, now: &State) -> Result<State, Errno> {
    let mut parts = Parts { from, hash: Xxh3::new() };
    let (magic, hash) = (parts.take::<8>()?, parts.take()?);
    if magic != *MAGIC {
        return Err(Errno::EBADMSG);
    }
    parts.hash.reset();
    let (mut nodes, mut times) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..parts.u32()? {
        let (id, node, used) = parts.node()?;
        sound(ascends(&nodes, &id))?;
        nodes.insert(id, Arc::new(node));
        times.insert(id, used);
    }
    sound(parts.hash.digest() == u64::from_le_bytes(hash) && parts.is_empty()?)?;
    let tree = Tree { root: Reference::ROOT, nodes: Arc::new(nodes) };
    sound(tree.invariants().is_empty())?;
    let (fs, identities) = Reference::adopt(&tree, &now.fs);
    let by_new: BTreeMap<NodeId, Times> = identities.iter().map(|(old, new)| (*new, times[old])).collect();
    Ok(State::of(fs, now.room(), |id| by_new[&id]))
}

/// What was written has this; what has it not is refused.
fn sound(is_so: bool) -> Result<(), Errno> {
    is_so.then_some(()).ok_or(Errno::EBADMSG)
}

/// Whether a key comes after all others, as they are written. Whoever says that there are billions must have them.
fn ascends<K: Ord, V>(map: &BTreeMap<K, V>, key: &K) -> bool {
    map.last_key_value().is_none_or(|(last, _)| last < key)
}

/// What is left to read, and the hash of what was read.
struct Parts<R> {
    from: R,
    hash: Xxh3,
}

impl<R: Read> Parts<R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Errno> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Errno::EBADMSG,
            _ => number(&error),
        })?;
        self.hash.update(bytes);
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let mut taken = [0; N];
        self.fill(&mut taken).map(|()| taken)
    }

    fn is_empty(&mut self) -> Result<bool, Errno> {
        self.from.read(&mut [0]).map(|read| read == 0).map_err(|error| number(&error))
    }

    fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_le_bytes)
    }

    fn bytes(&mut self, len_max: usize) -> Result<Vec<u8>, Errno> {
        let len = usize::try_from(self.u32()?).map_err(|_| Errno::EBADMSG)?;
        sound(len <= len_max)?;
        let mut bytes = vec![0; len];
        self.fill(&mut bytes).map(|()| bytes)
    }

    fn text(&mut self, len_max: usize) -> Result<Arc<str>, Errno> {
        String::from_utf8(self.bytes(len_max)?).map(Arc::from).map_err(|_| Errno::EBADMSG)
    }

    fn time(&mut self) -> Result<Time, Errno> {
        let seconds = i64::from_le_bytes(self.take()?);
        let nanos = self.u32()?;
        sound(nanos < 1_000_000_000).map(|()| Time { seconds, nanos })
    }

    fn node(&mut self) -> Result<(NodeId, Node, Times), Errno> {
        let [id, mode, uid, gid, nlink] = [self.u32()?, self.u32()?, self.u32()?, self.u32()?, self.u32()?];
        let [accessed, modified, changed, created] = [self.time()?, self.time()?, self.time()?, self.time()?];
        let mut xattrs = BTreeMap::new();
        for _ in 0..self.u32()? {
            let name = self.text(names::TEXT_MAX)?;
            sound(Reference::xattr_name_fits(&name).is_ok() && ascends(&xattrs, &name))?;
            xattrs.insert(name, Arc::from(self.bytes(XATTR_BYTES_MAX)?));
        }
        let kind = match self.take()? {
            [0] => NodeKind::File(self.contents()?),
            [1] => NodeKind::Dir(self.entries()?),
            [2] => NodeKind::Symlink(self.text(SYMLINK_TEXT_MAX)?),
            [3] => NodeKind::Special(Special::Fifo),
            [4] => NodeKind::Special(Special::Socket),
            [5] => NodeKind::Special(Special::CharDevice(self.u32()?)),
            [6] => NodeKind::Special(Special::BlockDevice(self.u32()?)),
            _ => return Err(Errno::EBADMSG),
        };
        let node = Node { kind, mode: mode & 0o7777, uid, gid, nlink, xattrs };
        Ok((NodeId(id), node, Times { accessed, modified, changed, created }))
    }

    fn contents(&mut self) -> Result<Contents, Errno> {
        let mut contents = Contents::sparse();
        let size = u64::from_le_bytes(self.take()?);
        sound(size <= FILE_SIZE_MAX)?;
        let mut next = 0;
        for _ in 0..self.u32()? {
            let block = u64::from(self.u32()?);
            sound(block >= next)?;
            next = block + 1;
            contents.write(block * BLOCK_SIZE, &self.take::<BLOCK>()?);
        }
        contents.resize(size);
        Ok(contents)
    }

    fn entries(&mut self) -> Result<Entries, Errno> {
        let mut entries = Entries::new();
        let mut last: Option<Arc<str>> = None;
        for _ in 0..self.u32()? {
            let name = self.text(names::TEXT_MAX)?;
            sound(is_name(&name) && last.is_none_or(|last| last < name))?;
            last = Some(Arc::clone(&name));
            entries.insert(name, NodeId(self.u32()?));
        }
        Ok(entries)
    }
}

/// What an error of the system is called here.
pub fn number(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_number).unwrap_or(Errno::EIO)
}

fn is_name(name: &str) -> bool {
    let plain = !name.contains(['/', '\0']) && !["", ".", ".."].contains(&name);
    plain && names::bytes(name).len() <= names::NAME_MAX
}

#[cfg(test)]
mod tests {
    use vfs::reference::Owner;

    use super::*;
    use crate::state::{Existence, Room};

    const OWNER: Owner = Owner { uid: 3, gid: 4 };

    fn time(seconds: i64) -> Time {
        Time { seconds, nanos: 5 }
    }

    fn state() -> State {
        let mut state = State::new(Room { blocks: 100, inodes: 100 }, OWNER, time(-1));
        let root = Reference::ROOT;
        let dir = state.make((root, "d"), NodeKind::Dir(Entries::new()), 0o700, OWNER, time(1)).unwrap();
        let file = state.make((dir, "f"), NodeKind::File(Contents::sparse()), 0o4755, OWNER, time(2)).unwrap();
        state.write(file, 10_000, b"far", time(3)).unwrap();
        state.change_xattr(file, "user.a", Some(b"value"), Existence::Any, time(4)).unwrap();
        state.link(file, root, "again", time(5)).unwrap();
        state.make((root, "l"), NodeKind::Symlink("d/f".into()), 0o777, OWNER, time(6)).unwrap();
        for (name, special) in [("p", Special::Fifo), ("s", Special::Socket), ("b", Special::BlockDevice(0x801))] {
            state.make((root, name), NodeKind::Special(special), 0o600, OWNER, time(7)).unwrap();
        }
        state
    }

    fn refusal(bytes: &[u8], now: &State) -> Option<Errno> {
        decode(bytes, now).err()
    }

    #[test]
    fn a_state_comes_back_with_other_identities() {
        let before = state();
        let after = decode(&*encode(&before), &before).unwrap();
        assert!(after.fs.tree().same_as(&before.fs.tree()), "{}", after.fs.tree());
        assert_eq!((after.left(), after.blocks_used), (before.left(), 1));
        let file = |state: &State| state.child(Reference::ROOT, "again").unwrap();
        assert_ne!(file(&after), file(&before));
        assert_eq!(after.node(file(&after)).unwrap().1, before.node(file(&before)).unwrap().1);
        let NodeKind::File(contents) = &after.node(file(&after)).unwrap().0.kind else { panic!("it was a file") };
        assert_eq!((contents.blocks(), contents.next_data(0)), (1, Some(8192)), "holes stay holes");
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let state = state();
        let bytes = encode(&state);
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert_eq!(refusal(&damaged, &state), Some(Errno::EBADMSG), "byte {position}");
            assert_eq!(refusal(&bytes[..position], &state), Some(Errno::EBADMSG), "only {position} bytes");
        }
        let longer = [&*bytes, &[0]].concat();
        assert_eq!(refusal(&longer, &state), Some(Errno::EBADMSG));
    }

    /// The hash keeps out accidents, not intent: behind it, nothing may panic or be taken over that is not sound.
    #[test]
    fn what_is_no_file_system_is_refused_even_with_the_right_hash() {
        let state = state();
        let bytes = encode(&state);
        for position in 16..bytes.len() {
            let mut forged = bytes.clone();
            forged[position] = forged[position].wrapping_add(1);
            let hash = xxh3_64(&forged[16..]).to_le_bytes();
            forged[8..16].copy_from_slice(&hash);
            if let Ok(loaded) = decode(&*forged, &state) {
                assert!(loaded.fs.tree().invariants().is_empty(), "byte {position}");
            }
        }
    }

    /// Each says that billions of something follow, and zeros follow without end: that is refused where it begins.
    #[test]
    fn what_says_that_it_is_huge_is_refused_before_it_is_read() {
        const MANY: [u8; 4] = [0xff; 4];
        let state = state();
        let fields_of_a_node = [0; 5 * 4 + 4 * 12];
        let with = |rest: &[&[u8]]| [&[&MAGIC[..], &[0; 8], &MANY, &fields_of_a_node], rest].concat().concat();
        let none = [0; 4];
        for (what, start) in [
            ("nodes", [&MAGIC[..], &[0; 8], &MANY].concat()),
            ("attributes", with(&[&MANY])),
            ("the name of an attribute", with(&[&[1, 0, 0, 0], &MANY])),
            ("the value of an attribute", with(&[&[1, 0, 0, 0], &[6, 0, 0, 0], b"user.a", &MANY])),
            ("blocks", with(&[&none, &[0], &[0; 8], &MANY])),
            ("names", with(&[&none, &[1], &MANY])),
            ("a target", with(&[&none, &[2], &MANY])),
        ] {
            let read_max = start.len() as u64 + 10_000;
            let mut endless = (&*start).chain(io::repeat(0)).take(read_max);
            assert_eq!(decode(&mut endless, &state).err(), Some(Errno::EBADMSG), "{what}");
            assert!(endless.limit() > 0, "{what}: it was read to the end");
        }
    }
}
