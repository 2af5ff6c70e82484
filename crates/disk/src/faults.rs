//! Requests that fail: the n-th read, write or flush returns an error, once.
//!
//! What may fail: any read, write, FUA write, discard (these three count as writes) or flush. A failed write or discard
//! changes nothing, a failed flush makes nothing durable; neither is logged. Armed without any fault, it counts
//! requests, which tells a caller how many faults there are to try.

use std::cell::Cell;

use crate::IoError;

/// Which requests fail. Each number says how many requests of that kind succeed first: 0 fails the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Fail this read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Fail this write, FUA write or discard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<u64>,
    /// Fail this flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<u64>,
}

/// How many requests were made, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IoCounts {
    /// Calls that read.
    pub reads: u64,
    /// Calls that write or discard.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
}

/// Armed faults. Reads are counted through a shared reference, as borrowed reads need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmedFaults {
    faults: Faults,
    done: Cell<IoCounts>,
}

impl ArmedFaults {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, done: Cell::default() }
    }

    pub(crate) fn done(&self) -> IoCounts {
        self.done.get()
    }

    pub(crate) fn read(&self) -> Result<(), IoError> {
        self.next(self.faults.read, |done| &mut done.reads, IoError::Read)
    }

    pub(crate) fn write(&self) -> Result<(), IoError> {
        self.next(self.faults.write, |done| &mut done.writes, IoError::Write)
    }

    pub(crate) fn flush(&self) -> Result<(), IoError> {
        self.next(self.faults.flush, |done| &mut done.flushes, IoError::Flush)
    }

    fn next(
        &self,
        fault: Option<u64>,
        counter: impl Fn(&mut IoCounts) -> &mut u64,
        error: IoError,
    ) -> Result<(), IoError> {
        let mut done = self.done.get();
        let count = counter(&mut done);
        let fails = fault == Some(*count);
        *count += 1;
        self.done.set(done);
        if fails { Err(error) } else { Ok(()) }
    }
}
