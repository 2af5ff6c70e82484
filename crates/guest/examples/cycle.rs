//! What a cycle of checking a guest is made of: each part by itself, on every file system that is named.
//!
//! In a search, parts travel together in one batch; here each goes alone, so that it can be timed from outside. Inside
//! of a guest time is virtual. The disk is put back by giving the next batch another one, which costs nothing.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use disk::Disk;
use guest::{FileSystemKind, Guest, Kernel, Live, fsck};
use posix::message::Step;
use vfs::Op;

/// Each part is done so often.
const ROUNDS: u32 = 20;
const OPS: [&str; 5] = [
    "create(\"/a\")",
    "write(\"/a\", offset=0, len=4096, fill=1)",
    "mkdir(\"/d\")",
    "rename(\"/a\", \"/d/a\")",
    "fsync(\"/d/a\")",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("milliseconds     boot  restore    mount   one op  observe  unmount     fsck");
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |kind: &FileSystemKind| names.iter().any(|name| name == kind.name());
    for kind in FileSystemKind::ALL.into_iter().filter(is_wanted) {
        println!("{}", line(kind)?);
    }
    Ok(())
}

fn line(kind: FileSystemKind) -> Result<String, Box<dyn Error>> {
    let file_system = kind.usual();
    let fresh = fsck::make(&file_system)?;
    let kernel = Kernel::built(guest::PLAIN)?;
    let start = Instant::now();
    let mut guest = Guest::boot(&kernel, u64::from(fresh.geometry().blocks), 0)?;
    let boot = start.elapsed();
    let ops: [Op; 5] = OPS.map(|op| op.parse().expect("an op of ours"));
    let [mut restore, mut mount, mut run, mut observe, mut unmount, mut check] = [Duration::ZERO; 6];
    for _ in 0..ROUNDS {
        let mut disk = timed(&mut restore, || Disk::new(fresh.clone()));
        let mut step = |time: &mut Duration, disk: &mut Disk, step: Step| -> Result<(), Box<dyn Error>> {
            let answers = timed(time, || guest.run(&mut Live::new(disk, false), &[step]))?;
            answers.into_iter().try_for_each(|answer| answer.map(drop).map_err(|errno| errno.to_string().into()))
        };
        step(&mut mount, &mut disk, Step::Mount(file_system.mount()))?;
        for op in &ops {
            step(&mut run, &mut disk, Step::Run(op.clone()))?;
        }
        step(&mut observe, &mut disk, Step::Observe)?;
        step(&mut unmount, &mut disk, Step::Unmount)?;
        timed(&mut check, || fsck::check(&file_system, &disk))?;
    }
    let each = |total: Duration, count: u32| total.as_secs_f64() * 1000.0 / f64::from(count);
    let ops = ROUNDS * u32::try_from(OPS.len())?;
    Ok(format!(
        "{:<12} {:>8.1} {:>8.3} {:>8.2} {:>8.3} {:>8.2} {:>8.2} {:>8.1}",
        kind.name(),
        each(boot, 1),
        each(restore, ROUNDS),
        each(mount, ROUNDS),
        each(run, ops),
        each(observe, ROUNDS),
        each(unmount, ROUNDS),
        each(check, ROUNDS),
    ))
}

/// Does something and adds the time that it takes.
fn timed<R>(total: &mut Duration, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let done = work();
    *total += start.elapsed();
    done
}
