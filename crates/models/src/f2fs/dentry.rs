//! A dentry block: a bitmap of slots, for each slot the node and the length of the name that starts there, and the
//! letters of all slots. A long name takes several slots in a row.

use super::{
    codec::{Bytes, Nid, SLOTS},
    layout::BLOCK,
};

const ENTRIES: usize = 1;
const LETTERS: usize = ENTRIES + 2 * SLOTS;

/// A dentry block as it lies on the disk.
#[derive(Clone, Copy)]
pub(super) struct Dentries(pub Bytes);

/// One name in it.
#[derive(Clone, Copy)]
pub(super) struct Dentry<'a> {
    pub slot: usize,
    pub nid: Nid,
    pub name: &'a str,
}

fn slots_of(len: usize) -> usize {
    len.div_ceil(2)
}

impl Dentries {
    pub const EMPTY: Self = Self([0; BLOCK]);

    fn taken(&self, slot: usize) -> bool {
        self.0[0] & 1 << slot != 0
    }

    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    /// Puts a name into the first slots that have room for it; `false` if there are none.
    pub fn insert(&mut self, name: &[u8], nid: Nid) -> bool {
        let need = slots_of(name.len());
        let Some(slot) = (0..=SLOTS - need).find(|slot| (*slot..slot + need).all(|slot| !self.taken(slot))) else {
            return false;
        };
        for taken in slot..slot + need {
            self.0[0] |= 1 << taken;
            self.set(taken, Nid::NONE, 0);
        }
        self.set(slot, nid, name.len().to_le_bytes()[0]);
        self.0[LETTERS + 2 * slot..][..name.len()].copy_from_slice(name);
        true
    }

    /// Takes the name away that starts in a slot.
    pub fn remove(&mut self, slot: usize) {
        let len = usize::from(self.0[ENTRIES + 2 * slot + 1]);
        for taken in slot..(slot + slots_of(len)).min(SLOTS) {
            self.0[0] &= !(1 << taken);
            self.set(taken, Nid::NONE, 0);
            self.0[LETTERS + 2 * taken..][..2].fill(0);
        }
    }

    /// Lets the name that starts in a slot lead to another node.
    pub fn redirect(&mut self, slot: usize, nid: Nid) {
        self.0[ENTRIES + 2 * slot] = nid.0;
    }

    fn set(&mut self, slot: usize, nid: Nid, len: u8) {
        self.0[ENTRIES + 2 * slot] = nid.0;
        self.0[ENTRIES + 2 * slot + 1] = len;
    }
}

/// What was read as a dentry block is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadDentries;

/// Every name in a block; names that are no names, or that reach into free slots, make it no dentry block.
pub(super) fn each<'a>(block: &'a Bytes, visit: &mut dyn FnMut(Dentry<'a>)) -> Result<(), BadDentries> {
    let map = block[0];
    if map >> SLOTS != 0 {
        return Err(BadDentries);
    }
    let mut slot = 0;
    while slot < SLOTS {
        if map & 1 << slot == 0 {
            slot += 1;
            continue;
        }
        let nid = Nid(block[ENTRIES + 2 * slot]);
        let len = usize::from(block[ENTRIES + 2 * slot + 1]);
        let need = slots_of(len);
        if need == 0 || slot + need > SLOTS || !nid.exists() || (slot..slot + need).any(|slot| map & 1 << slot == 0) {
            return Err(BadDentries);
        }
        let name = std::str::from_utf8(&block[LETTERS + 2 * slot..][..len]).map_err(|_| BadDentries)?;
        if name.contains(['/', '\0']) {
            return Err(BadDentries);
        }
        visit(Dentry { slot, nid, name });
        slot += need;
    }
    Ok(())
}

/// For people: what looks like names, and is not data that happens to.
pub(super) fn describe(block: &Bytes) -> Option<String> {
    let mut names = Vec::new();
    each(block, &mut |dentry| names.push((dentry.name, dentry.nid))).ok()?;
    let readable = names.iter().all(|(name, _)| name.bytes().all(|byte| byte.is_ascii_graphic()));
    let said = |(name, nid): &(&str, Nid)| format!("{name:?} is node {}", nid.0);
    (!names.is_empty() && readable).then(|| names.iter().map(said).collect::<Vec<_>>().join(", "))
}
