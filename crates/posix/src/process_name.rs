//! Processes by names that what they leave behind can bear: by their numbers, and by the namespace in which these are
//! theirs. In a container, another process has the same number, or none has.

use std::{fs, os::unix::fs::MetadataExt as _};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

/// What this process is called.
pub fn own() -> String {
    of(std::process::id())
}

/// What a process is called that has this number in our namespace.
pub fn of(pid: u32) -> String {
    name(namespace().unwrap_or(0), pid)
}

fn name(namespace: u64, pid: u32) -> String {
    format!("{namespace:x}.{pid}")
}

/// The process namespace that we are in; without `/proc`, nobody knows.
fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino())
}

/// Whether this is the name of a process that is gone for certain; `None` if it is no such name. Of a process in
/// another namespace nobody can tell from here.
pub fn is_gone(name: &str) -> Option<bool> {
    let (there, pid) = name.split_once('.')?;
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_number(there) || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let there = u64::from_str_radix(there, 16).ok()?;
    let pid = Pid::from_raw(pid.parse().ok()?)?;
    Some(namespace() == Some(there) && test_kill_process(pid) == Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this number.
    const DEAD: u32 = i32::MAX.cast_unsigned();

    #[test]
    fn only_a_process_of_our_own_namespace_can_be_known_to_be_gone() {
        let here = namespace().unwrap();
        assert_eq!(is_gone(&own()), Some(false));
        assert_eq!(is_gone(&name(here, DEAD)), Some(true));
        assert_eq!(is_gone(&name(here + 1, DEAD)), Some(false), "it may live in another namespace");
        for other in ["", ".", "1", "x.1", "1.", "1.x", "1.0", "+1.1", "1.+1"] {
            assert_eq!(is_gone(other), None, "{other}");
        }
    }
}
