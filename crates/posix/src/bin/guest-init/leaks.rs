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
    let now = fs::read_to_string(TIMERS).ok().and_then(|timers| ticks(&timers, "jiffies: "));
    // What was told once is not told again.
    fs::write(FILE, "clear").map_err(|_| Errno::OPNOTSUPP)?;
    Ok(young(&found, now, span))
}

/// Where the kernel says how many ticks its clock has made.
const TIMERS: &str = "/proc/timer_list";
/// Ticks of User-Mode Linux in a second.
const TICKS_A_SECOND: u64 = 100;

/// The number behind a word.
fn ticks(text: &str, word: &str) -> Option<u64> {
    let (_, behind) = text.split_once(word)?;
    behind.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Of what is reported, what is not older than `span`: how large it is and who allocated it. Addresses and contents
/// would be others the next time.
fn young(report: &str, now: Option<u64>, span: Duration) -> String {
    let is_young = |object: &&str| age(object, now).is_none_or(|age| age <= span);
    report.split("unreferenced object ").skip(1).filter(is_young).map(tell).collect()
}

fn tell(object: &str) -> String {
    let size = object.split(['(', ')']).nth(1).unwrap_or_default();
    let trace = object.split_once("backtrace").map_or("", |(_, trace)| trace);
    let name = |line: &str| format!("  {}\n", line.rsplit("] ").next().unwrap_or(line).trim());
    format!("unreferenced object ({size})\n{}", trace.lines().skip(1).map(name).collect::<String>())
}

/// How old an object is. Some kernels say so; others say at which tick it was allocated.
fn age(object: &str, now: Option<u64>) -> Option<Duration> {
    let Some((_, age)) = object.split_once("(age ") else {
        let ticks = now?.saturating_sub(ticks(object, "jiffies ")?);
        return Some(Duration::from_secs(ticks / TICKS_A_SECOND));
    };
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
        assert_eq!(young(REPORT, None, Duration::from_secs(10)), told);
        assert_eq!(young(REPORT, None, Duration::from_secs(100)).matches("unreferenced").count(), 2);
        assert_eq!(young(REPORT, None, Duration::from_secs(1)), "");
        assert_eq!(young("", None, Duration::from_secs(1)), "");
    }

    /// Linux 6.1.192 no longer says how old an object is.
    #[test]
    fn where_no_age_is_told_it_follows_from_the_tick() {
        let report = REPORT.replace(" (age 6.020s)", "").replace(" (age 60.5s)", "");
        let now = ticks("now at 1 nsecs\n  .idle_expires  : 0\njiffies: 4294937897\n", "jiffies: ");
        assert_eq!(now, Some(4_294_937_897));
        assert_eq!(young(&report, now, Duration::from_secs(10)), young(REPORT, None, Duration::from_secs(10)));
        assert_eq!(young(&report, now, Duration::from_secs(100)).matches("unreferenced").count(), 2);
        assert_eq!(young(&report, now, Duration::from_secs(1)), "");
    }
}
