//! The random state of a guest kernel, put back before every mount.
//!
//! A kernel draws random numbers for what it writes to disk (generations of inodes, the group of a new directory). How
//! far it is in its sequence depends on all that it did before, so while it stands still the variables that hold the
//! sequence are overwritten with what they held when it had just started. Every guest starts alike, so the sequence
//! from a mount on is the same in all.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use rustix::process::Pid;

/// A variable of the kernel: where it lies and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub address: u64,
    pub len: usize,
}

/// The variables that together are the random state.
pub(crate) const VARIABLES: [&str; 7] = [
    BASE,
    "crngs",
    "batched_entropy_u8",
    "batched_entropy_u16",
    "batched_entropy_u32",
    "batched_entropy_u64",
    "input_pool",
];

/// From it the others are refilled. Behind its key stands when it was last seeded.
const BASE: &str = "base_crng";
const BIRTH_AT: usize = 32;
/// So far in the future that it never is time to seed it again.
const NEVER: u64 = 1 << 62;

/// A running kernel's random state.
#[derive(Debug)]
pub(crate) struct Randomness {
    memory: File,
    saved: Vec<(u64, Vec<u8>)>,
}

impl Randomness {
    /// Remembers the state of a kernel that has just started and stands still.
    pub fn save(kernel: Pid, variables: &[Variable]) -> io::Result<Self> {
        let path = format!("/proc/{}/mem", kernel.as_raw_nonzero());
        let memory = File::options().read(true).write(true).open(path)?;
        let mut saved = Vec::new();
        for Variable { name, address, len } in variables {
            let mut content = vec![0; *len];
            memory.read_exact_at(&mut content, *address)?;
            if name == BASE
                && let Some(birth) = content.get_mut(BIRTH_AT..BIRTH_AT + 8)
            {
                birth.copy_from_slice(&NEVER.to_le_bytes());
            }
            saved.push((*address, content));
        }
        Ok(Self { memory, saved })
    }

    /// Puts it back. The kernel must stand still.
    pub fn restore(&self) -> io::Result<()> {
        self.saved.iter().try_for_each(|(address, content)| self.memory.write_all_at(content, *address))
    }
}
