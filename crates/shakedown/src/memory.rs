//! What the system says about memory.

use std::fs;

/// The largest resident set of this process so far, where the system tells.
pub fn peak_bytes() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

/// How much can be allocated, where the system tells.
pub fn available_bytes() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

fn field(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
