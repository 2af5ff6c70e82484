//! Memory that the kernel has allocated and that nothing leads to any more, as far as the kernel looks for such
//! (`kmemleak`).
//!
//! The kernel takes an object for lost if two scans in a row find no pointer to it, its content has not changed in
//! between, and it is older than five seconds; those pass at once where time is virtual.

use std::{fs, time::Duration};

use rustix::io::{Errno, Result};

/// Where the kernel is asked.
const FILE: &str = "/debug/kmemleak";
/// After so many seconds all that was allocated before is old enough.
pub const AGE_SECONDS: u32 = 6;

/// Looks for what was lost within the last `span`. What was lost before is somebody else's.
///
/// # Errors
/// This kernel does not look.
pub fn find(span: Duration) -> Result<String> {
    for _ in 0..2 {
        fs::write(FILE, "scan").map_err(|_| Errno::OPNOTSUPP)?;
    }
    let found = fs::read_to_string(FILE).map_err(|_| Errno::OPNOTSUPP)?;
    // What was told once is not told again.
    fs::write(FILE, "clear").map_err(|_| Errno::OPNOTSUPP)?;
    Ok(young(&found, span))
}

/// Of what is reported, what is not older than `span`: how large it is and who allocated it. Addresses and contents
/// would be others the next time.
fn young(report: &str, span: Duration) -> String {
    let is_young = |object: &&str| age(object).is_none_or(|age| age <= span);
    report.split("unreferenced object ").skip(1).filter(is_young).map(tell).collect()
}

fn tell(object: &str) -> String {
    let size = object.split(['(', ')']).nth(1).unwrap_or_default();
    let trace = object.split_once("backtrace").map_or("", |(_, trace)| trace);
    let name = |line: &str| format!("  {}\n", line.rsplit("] ").next().unwrap_or(line).trim());
    format!("unreferenced object ({size})\n{}", trace.lines().skip(1).map(name).collect::<String>())
}

/// How old an object is, where the kernel says so.
fn age(object: &str) -> Option<Duration> {
    let (_, age) = object.split_once("(age ")?;
    let (seconds, _) = age.split_once("s)")?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
unreferenced object 0x61dd4f80 (size 32):
  comm \"init\", pid 1, jiffies 4294937295 (age 6.020s)
  hex dump (first 32 bytes):
    78 20 34 62 00 00 00 00  00 00 00 00 00 00 00 00  x 4b............
  backtrace:
    [<00000000a1b2c3d4>] kmalloc_trace+0x20/0x30
    [<00000000d4c3b2a1>] btrfs_mount+0x4/0x8
unreferenced object 0x61dd5f80 (size 8):
  comm \"init\", pid 1, jiffies 4294930000 (age 60.5s)
  backtrace:
    [<00000000a1b2c3d4>] older+0x20/0x30
";

    #[test]
    fn only_what_was_lost_lately_is_told() {
        let told = "unreferenced object (size 32)\n  kmalloc_trace+0x20/0x30\n  btrfs_mount+0x4/0x8\n";
        assert_eq!(young(REPORT, Duration::from_secs(10)), told);
        assert_eq!(young(REPORT, Duration::from_secs(100)).matches("unreferenced").count(), 2);
        assert_eq!(young(REPORT, Duration::from_secs(1)), "");
        assert_eq!(young("", Duration::from_secs(1)), "");
    }
}
