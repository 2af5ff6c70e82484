//! Each property trips on the store that is wrong in its way, and none on a store that is right.

use disk::CrashMode::{self, Flushed, Off, Prefix, Subsets, Torn};
use explore::Severity;
use vfs::contract::Contract::{self, Fsynced, Mountable, Synced};

use crate::{
    searching::{options, search, violated},
    store::{FILE_COUNT, Flaw, Kind, Store},
};

#[test]
fn a_right_store_keeps_every_promise_on_every_disk() {
    let right = [(Kind::OneBlock, Flaw::None), (Kind::TwoSlots, Flaw::None), (Kind::OneBlock, Flaw::Small)];
    for (kind, flaw) in right {
        for crash in CrashMode::ALL {
            for contract in Contract::ALL {
                let report = search(&Store::new(kind, flaw), options(crash, contract));
                assert!(report.complete, "{kind:?} {flaw:?} {crash} {contract}");
                assert_eq!(violated(&report), [""; 0], "{kind:?} {flaw:?} {crash} {contract}");
                assert_eq!(report.work.crash_states > 0, crash != Off, "{kind:?} {flaw:?} {crash} {contract}");
            }
        }
    }
}

/// The flaw, the mildest circumstances in which it shows, and what is violated then.
type Case = (Kind, Flaw, CrashMode, Contract, &'static [&'static str]);

/// What shows while the power is on.
const LIVE: [Case; 6] = [
    (Kind::OneBlock, Flaw::ShortCount, Off, Mountable, &["outcome"]),
    (Kind::OneBlock, Flaw::UnlinkDoesNothing, Off, Mountable, &["file-count", "tree"]),
    (Kind::OneBlock, Flaw::WrongByte, Off, Mountable, &["contents"]),
    (Kind::OneBlock, Flaw::Miscounts, Off, Mountable, &["file-count"]),
    (Kind::OneBlock, Flaw::Panics, Off, Mountable, &["panic"]),
    (Kind::OneBlock, Flaw::SyncNeedsRoom, Off, Mountable, &["outcome"]),
];

/// What shows after a power cut.
const CRASHED: [Case; 11] = [
    (Kind::TwoSlots, Flaw::Unchecked, Prefix, Mountable, &["no-foreign-data"]),
    (Kind::TwoSlots, Flaw::GivesUp, Torn, Mountable, &["recovery-fails"]),
    (Kind::TwoSlots, Flaw::NoFlush, Torn, Mountable, &["no-foreign-data", "recovery-fails"]),
    (Kind::OneBlock, Flaw::Moody, Prefix, Mountable, &["recovery-nondeterministic"]),
    (Kind::OneBlock, Flaw::SyncDoesNothing, Flushed, Synced, &["pinned-name", "pinned-size"]),
    (Kind::OneBlock, Flaw::FsyncDoesNothing, Flushed, Fsynced, &["pinned-name", "pinned-size"]),
    (Kind::TwoSlots, Flaw::LeavesHalves, Torn, Synced, &["never-held", "pinned-name"]),
    (Kind::OneBlock, Flaw::Fickle, Prefix, Mountable, &["recovery-nondeterministic"]),
    (Kind::OneBlock, Flaw::Tired, Prefix, Mountable, &["usable"]),
    (Kind::OneBlock, Flaw::Forgetful, Prefix, Mountable, &["usable"]),
    (Kind::OneBlock, Flaw::Full, Prefix, Mountable, &["usable"]),
];

#[test]
fn each_flaw_is_named() {
    for (kind, flaw, crash, contract, expected) in LIVE.into_iter().chain(CRASHED) {
        let report = search(&Store::new(kind, flaw), options(crash, contract));
        assert_eq!(violated(&report), expected, "{flaw:?}");
        let panicked = flaw == Flaw::Panics;
        assert_eq!(report.complete, !panicked, "{flaw:?}: {:?}", report.limits);
        for violated in &report.violations {
            assert!(violated.count > 0);
            assert_eq!(violated.property, violated.trace.property);
            let severity =
                if violated.property == FILE_COUNT.name { Severity::NotCritical } else { Severity::Critical };
            assert_eq!((violated.severity, violated.trace.severity), (severity, severity), "{flaw:?}");
        }
    }
}

#[test]
fn what_only_a_crash_shows_is_not_seen_without_one() {
    for (kind, flaw, _, contract, _) in CRASHED {
        let report = search(&Store::new(kind, flaw), options(Off, contract));
        assert_eq!(violated(&report), [""; 0], "{flaw:?}");
    }
}

#[test]
fn a_promise_is_held_against_a_store_only_if_it_is_asked_for() {
    for (flaw, weaker) in [(Flaw::SyncDoesNothing, Mountable), (Flaw::FsyncDoesNothing, Synced)] {
        for crash in [Flushed, Subsets] {
            let report = search(&Store::new(Kind::OneBlock, flaw), options(crash, weaker));
            assert_eq!(violated(&report), [""; 0], "{flaw:?} {crash}");
        }
    }
    // Without a flush, what an op has written is not durable when it returns, as a synchronous store promises.
    let no_flush = Store::new(Kind::TwoSlots, Flaw::NoFlush);
    assert_eq!(violated(&search(&no_flush, options(Flushed, Synced))), [""; 0]);
    assert_eq!(violated(&search(&no_flush, options(Flushed, Fsynced))), ["pinned-name", "pinned-size"]);
}

#[test]
fn what_is_said_names_the_op_and_the_values() {
    let said = |kind, flaw, crash, contract, property: &str| {
        let report = search(&Store::new(kind, flaw), options(crash, contract));
        let found = report.violations.into_iter().find(|violated| violated.property == property);
        found.expect("it is violated").trace.detail
    };
    let detail = said(Kind::OneBlock, Flaw::ShortCount, Off, Mountable, "outcome");
    assert_eq!(detail, r#"write("/a", at=end, len=1, fill=10) wrote 0 bytes, expected that it wrote 1 byte"#);
    let detail = said(Kind::OneBlock, Flaw::Tired, Prefix, Mountable, "usable");
    let early = "with the power cut before the first op";
    let says = r#"after recovery, create("/a", mode=0644) failed with EROFS, expected that it succeeded"#;
    assert_eq!(detail, format!("{early}, {says}"));
    let detail = said(Kind::OneBlock, Flaw::Full, Prefix, Mountable, "usable");
    let says = r#"after recovery, create("/a", mode=0644) failed with ENOSPC (no space left on device)"#;
    assert_eq!(
        detail,
        format!("{early}, {says}; unmounted and mounted instead of crashed, it has room for that and more")
    );
    let detail = said(Kind::OneBlock, Flaw::Forgetful, Prefix, Mountable, "usable");
    assert_eq!(detail, "after recovery and remount(), tree: /a: is missing, expected a file with 0 bytes");
    let detail = said(Kind::OneBlock, Flaw::Fickle, Prefix, Mountable, "recovery-nondeterministic");
    let says = "request 1 was a write of 16 bytes at block 2, and then the same with other bytes";
    assert_eq!(detail, format!("{early}, run again on the same disk, it wrote something else: {says}"));
    let detail = said(Kind::TwoSlots, Flaw::GivesUp, Torn, Mountable, "recovery-fails");
    assert_eq!(detail, "mount failed with EIO (input/output error)");
    let detail = said(Kind::OneBlock, Flaw::SyncDoesNothing, Flushed, Synced, "pinned-name");
    assert_eq!(detail, "`/a` was synced by op 2 as a file of 0 bytes; after the crash it is absent");
    let detail = said(Kind::TwoSlots, Flaw::Unchecked, Prefix, Mountable, "no-foreign-data");
    assert_eq!(detail, "after the crash `/a` has 1 byte of fill 238; what byte 0 shows was never written there");
    assert_eq!(said(Kind::OneBlock, Flaw::Panics, Off, Mountable, "panic"), "one byte is enough");
}

#[test]
fn a_panic_comes_with_the_ops_that_lead_to_it() {
    let report = search(&Store::new(Kind::OneBlock, Flaw::Panics), options(Off, Mountable));
    let ops: Vec<String> = report.violations[0].trace.ops.iter().map(ToString::to_string).collect();
    assert_eq!(
        ops,
        [
            r#"create("/a", mode=0644)"#,
            r#"write("/a", at=end, len=1, fill=10)"#,
            r#"write("/a", at=end, len=1, fill=11)"#,
        ]
    );
}
