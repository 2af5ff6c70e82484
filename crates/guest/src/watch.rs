//! Allocations of memory that fail in a guest: steps whose allocations are counted, and what is learnt of them.

use disk::{Disk, UnseenAllocations};
use posix::message::{Answer, Got, Step};
use vfs::Errno;

/// A step as a guest is asked to do it: if faults are tried, allocations are counted, and one of them may fail.
pub(crate) fn watched(step: Step, disk: &Disk) -> Step {
    let failing = match disk.unseen_allocations() {
        UnseenAllocations::Ignored => return step,
        UnseenAllocations::Counted => None,
        UnseenAllocations::Failing(number) => Some(u32::try_from(number).unwrap_or(u32::MAX)),
    };
    Step::Try { step: Box::new(step), failing }
}

/// A step as it was done before, with the same allocation failing.
pub(crate) fn again(step: Step, failed: Option<u32>) -> Step {
    if failed.is_none() { step } else { Step::Try { step: Box::new(step), failing: failed } }
}

/// What a step that may have been watched gave, and which allocation failed, if one did. The disk is told how many
/// there were.
pub(crate) fn looked_at(step: &Step, answer: Answer, disk: &Disk) -> (Answer, Option<u32>) {
    let Step::Try { failing, .. } = step else { return (answer, None) };
    match answer {
        Ok(Got::Tried { answer, allocations }) => {
            disk.count_allocations(u64::from(allocations));
            (*answer, failing.filter(|number| allocations > *number))
        }
        Ok(_) => (Err(Errno::EIO), None),
        Err(errno) => (Err(errno), None),
    }
}

/// What a step gave, watched or not.
pub(crate) fn given(answer: &Answer) -> &Answer {
    if let Ok(Got::Tried { answer, .. }) = answer { answer } else { answer }
}

/// Whether a step mounts, watched or not.
pub(crate) fn is_mount(step: &Step) -> bool {
    match step {
        Step::Mount(_) => true,
        Step::Try { step, .. } => is_mount(step),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use disk::{Failing, Fault, Geometry, Image};

    use super::*;
    use crate::storage::SECTOR;

    /// What a kernel answers that makes so many allocations in a call, if it is let.
    fn answered(step: &Step, makes: u32) -> Got {
        let Step::Try { failing, .. } = step else { return Got::Done };
        let fails = failing.is_some_and(|number| number < makes);
        let answer = Box::new(if fails { Err(Errno::ENOMEM) } else { Ok(Got::Done) });
        Got::Tried { answer, allocations: failing.map_or(makes, |number| makes.min(number + 1)) }
    }

    /// The allocation that fails in each of three calls, and how many may be chosen afterwards.
    fn in_calls(failing: Option<u64>) -> (Vec<Option<u32>>, u64) {
        let mut disk = Disk::new(Image::zeroed(Geometry { block_size: SECTOR, blocks: 1 }));
        disk.arm(failing.map(|after| Fault { what: Failing::Allocation, after }).into_iter().collect());
        let failed = [3, 5, 5].map(|makes| {
            let step = watched(Step::Unmount, &disk);
            let (answer, failed) = looked_at(&step, Ok(answered(&step, makes)), &disk);
            assert_eq!(answer.is_err(), failed.is_some());
            failed
        });
        (failed.to_vec(), disk.disarm().of(Failing::Allocation))
    }

    #[test]
    fn allocations_are_numbered_through_and_one_fails_at_most() {
        assert_eq!(in_calls(None), (vec![None; 3], 13));
        for (number, expected) in
            [(2, [Some(2), None, None]), (3, [None, Some(0), None]), (8, [None, None, Some(0)]), (13, [None; 3])]
        {
            assert_eq!(in_calls(Some(number)), (expected.to_vec(), 0), "{number}");
        }
    }

    #[test]
    fn what_is_not_watched_is_done_as_it_is() {
        let disk = Disk::new(Image::zeroed(Geometry { block_size: SECTOR, blocks: 1 }));
        assert_eq!(watched(Step::Unmount, &disk), Step::Unmount);
        assert_eq!(again(Step::Unmount, None), Step::Unmount);
        assert_eq!(again(Step::Unmount, Some(1)), Step::Try { step: Box::new(Step::Unmount), failing: Some(1) });
    }
}
