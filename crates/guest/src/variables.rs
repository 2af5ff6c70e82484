//! The variables of a guest kernel that are changed while it stands still, so that it does the same twice.
//!
//! **Its random state** is put back before every mount. A kernel draws random numbers for what it writes to disk
//! (generations of inodes, the group of a new directory). How far it is in its sequence depends on all that it did
//! before, so the variables that hold the sequence are overwritten with what they held when it had just started. Every
//! guest starts alike, so the sequence from a mount on is the same in all.
//!
//! **Its clock** costs nothing to read. On virtual time a kernel lets a quarter of a microsecond pass whenever it reads
//! its clock, for the sake of programs that wait by looking at it. How often it does so depends on what is in its
//! caches and on who looks at files meanwhile, and what goes by time (which thread's turn it is, what a tick
//! interrupts) would depend on that too. A kernel that waits for a clock of somebody else's lets no time pass so; this
//! one is told that it does. Time then passes only where all threads wait for it.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use rustix::process::Pid;

/// A variable of the kernel: where it lies and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub address: u64,
    pub len: usize,
}

/// All that a kernel must have: the last one is about the clock, the others together are the random state.
pub(crate) const VARIABLES: [&str; 8] = [
    BASE,
    "crngs",
    "batched_entropy_u8",
    "batched_entropy_u16",
    "batched_entropy_u32",
    "batched_entropy_u64",
    "input_pool",
    WAITS_FOR_A_CLOCK,
];

/// From it the others are refilled. Behind its key stands when it was last seeded.
const BASE: &str = "base_crng";
const BIRTH_AT: usize = 32;
/// So far in the future that it never is time to seed it again.
const NEVER: u64 = 1 << 62;

/// How often the kernel waits for a clock outside of it. Where there is none, as here, nobody else changes it.
const WAITS_FOR_A_CLOCK: &str = "time_travel_ext_waiting";

/// The variables of a running kernel.
#[derive(Debug)]
pub(crate) struct Variables {
    memory: File,
    random_state: Vec<(u64, Vec<u8>)>,
}

impl Variables {
    /// Remembers the random state of a kernel that has just started and stands still. From now on its clock is free.
    pub fn take(kernel: Pid, variables: &[Variable]) -> io::Result<Self> {
        let path = format!("/proc/{}/mem", kernel.as_raw_nonzero());
        let memory = File::options().read(true).write(true).open(path)?;
        let mut random_state = Vec::new();
        for Variable { name, address, len } in variables {
            if name == WAITS_FOR_A_CLOCK {
                memory.write_all_at(&1_u32.to_le_bytes(), *address)?;
                continue;
            }
            let mut content = vec![0; *len];
            memory.read_exact_at(&mut content, *address)?;
            if name == BASE
                && let Some(birth) = content.get_mut(BIRTH_AT..BIRTH_AT + 8)
            {
                birth.copy_from_slice(&NEVER.to_le_bytes());
            }
            random_state.push((*address, content));
        }
        Ok(Self { memory, random_state })
    }

    /// Puts the random state back. The kernel must stand still.
    pub fn restore_randomness(&self) -> io::Result<()> {
        self.random_state.iter().try_for_each(|(address, content)| self.memory.write_all_at(content, *address))
    }
}
