//! A device that fails: each request of an op in turn. The library must say so, and must not panic.

use check::{Target, Task};
use disk::{Disk, Failing, Fault, Faults, OpIndex};
use libs::{Ext4Volume, FatVolume, Flash, ext4, fat, littlefs};
use vfs::{Errno, Op, Outcome};

/// The outcome of an op in which one request fails, and whether there was such a request.
fn run_failing(target: &impl Target, what: Failing, after: u64) -> (Outcome, bool) {
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).expect("nothing fails yet");
    disk.arm(Faults::from_slice(&[Fault { what, after }]));
    let op: Op = r#"create("/f")"#.parse().unwrap();
    let mut task = Task { op, index: OpIndex(0), choice: 0, pc: 0, registers: [0; 12] };
    let outcome = target.step(&mut mounted, &mut disk, &mut task).expect("a library does an op at once");
    let counts = disk.disarm();
    let made = match what {
        Failing::Read => counts.reads,
        Failing::Write => counts.writes,
        Failing::Flush => counts.flushes,
        Failing::Allocation => 0,
    };
    (outcome, made > after)
}

/// How many single failures there are of this kind, and how many of them the library did not report.
fn silent(target: &impl Target, what: Failing) -> (usize, usize) {
    let outcomes = (0..).map(|after| run_failing(target, what, after)).take_while(|(_, failed)| *failed);
    let outcomes: Vec<Outcome> = outcomes.map(|(outcome, _)| outcome).collect();
    let silent = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    (outcomes.len(), silent)
}

#[test]
fn the_first_write_that_fails_is_an_error() {
    assert_eq!(run_failing(&littlefs(Flash::default()), Failing::Write, 0), (Err(Errno::EIO), true));
    assert_eq!(run_failing(&fat(FatVolume::default()), Failing::Write, 0), (Err(Errno::EIO), true));
    assert_eq!(run_failing(&ext4(Ext4Volume::default()), Failing::Write, 0), (Err(Errno::EIO), true));
}

#[test]
fn every_failure_is_reported_but_one() {
    for what in [Failing::Read, Failing::Write, Failing::Flush] {
        let (littlefs_made, littlefs_silent) = silent(&littlefs(Flash::default()), what);
        let (ext4_made, ext4_silent) = silent(&ext4(Ext4Volume::default()), what);
        assert!(littlefs_made > 0 && ext4_made > 0, "{what:?}");
        assert_eq!((littlefs_silent, ext4_silent), (0, 0), "{what:?}");
    }
    let of_fat = |what| silent(&fat(FatVolume::default()), what).1;
    // A file of fatfs flushes once more when it is dropped, and then nobody is there to be told.
    assert_eq!([Failing::Read, Failing::Write, Failing::Flush].map(of_fat), [0, 0, 1]);
}
