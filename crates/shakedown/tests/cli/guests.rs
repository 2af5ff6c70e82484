//! Real kernels, by the program: what is right passes, what is known to be wrong is found and shown again.
//!
//! They need the kernel that set-up builds. In CI it must be there; elsewhere it is said that they were left out.

use std::{fs, path::Path};

use super::program::{Ran, shakedown, text, violated};

/// Runs a command about a guest; `None` where there is no kernel for it.
fn guest(arguments: &[&str]) -> Option<Ran> {
    let ran = shakedown(arguments);
    if ran.code == Some(2) && ran.stderr.contains("kernel build") && std::env::var_os("CI").is_none() {
        eprintln!("left out, there is no kernel: shakedown {}", arguments.join(" "));
        return None;
    }
    Some(ran)
}

fn ops(folder: &Path, lines: &[&str]) -> String {
    let file = folder.join("ops");
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    text(&file).to_owned()
}

const RENAME_OVER: [&str; 6] = [
    "create(\"/a\", mode=0644)",
    "write(\"/a\", offset=0, len=1024, fill=1)",
    "sync()",
    "create(\"/b\", mode=0644)",
    "fsync(\"/b\")",
    "rename(\"/b\", \"/a\", how=replace)",
];

const SYNCED: [&str; 2] = ["create(\"/a\", mode=0644)", "fsync(\"/a\")"];

#[test]
fn a_journal_keeps_every_promise_also_when_its_recovery_is_interrupted() {
    let Some(ran) = guest(&["check", "guest:ext4", "--depth", "1", "--recovery-crashes", "--json"]) else { return };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let summary = ran.json();
    assert_eq!(summary["complete"], true, "{}", summary["limits_hit"]);
    for counted in ["crash_states", "recoveries", "recovery_crash_states"] {
        assert!(summary[counted].as_u64().unwrap() > 0, "{counted}");
    }
}

/// The controls: what has no journal, does not wait for the disk, or has a disk that does not do what it says.
#[test]
fn what_is_known_to_break_a_promise_is_found_and_shown_again() {
    let scratch = tempfile::tempdir().unwrap();
    let wrong = [
        ("guest:ext2", "atomic", "prefix", &RENAME_OVER[..]),
        ("guest:ext4?journal=off", "atomic", "prefix", &RENAME_OVER),
        ("guest:ext4?barrier=off", "fsynced", "subsets", &SYNCED),
        ("guest:ext4?lies=flush", "fsynced", "subsets", &SYNCED),
    ];
    for (target, contract, crash, workload) in wrong {
        let (workload, out) = (ops(scratch.path(), workload), scratch.path().join("run"));
        // A disk that is never flushed has more crash states than a test has time for.
        let some = ["--crash-states", "16", "--until-violation"];
        let flags = ["--contract", contract, "--crash", crash, "--ops", &workload, "--out", text(&out), "--json"];
        let Some(ran) = guest(&[&["check", target][..], &flags, &some].concat()) else { return };
        assert_eq!(ran.code, Some(1), "{target}: {ran:?}");
        let again = shakedown(&["replay", text(&out.join("traces/001.json"))]);
        assert_eq!(again.code, Some(1), "{target}: {again:?}");
    }
    let rename = ops(scratch.path(), &RENAME_OVER);
    let right = ["check", "guest:ext4", "--contract", "atomic", "--crash", "subsets", "--ops", &rename, "--json"];
    let ran = shakedown(&right);
    assert_eq!(violated(&ran.json()), [""; 0], "{ran:?}");
}

#[test]
fn failing_requests_and_allocations_are_enumerated() {
    let scratch = tempfile::tempdir().unwrap();
    let script = ops(scratch.path(), &["create(\"/a\", mode=0644)", "fsync(\"/a\")"]);
    let flags = ["--crash", "off", "--faults", "1", "--ops", &script, "--json"];
    let Some(ran) = guest(&[&["check", "guest:ext4"][..], &flags].concat()) else { return };
    assert_eq!(violated(&ran.json()), ["failed-but-done"], "{ran:?}");
    assert!(ran.json()["ops"].as_u64().unwrap() > 10, "each request and each allocation fails in an op of its own");
}

/// A file that was made is there, though there was no memory for opening it; and what jbd2 could not show in `/proc`
/// when it was mounted it takes away when it is unmounted, of which the kernel warns. All else that can fail while a
/// file is made, or while it is unmounted and mounted, does no harm.
#[test]
fn allocations_of_mounting_and_unmounting_fail_too() {
    let out = tempfile::tempdir().unwrap();
    let flags = ["--ops", "create,remount", "--faults", "1", "--crash", "off", "--depth", "1", "--json"];
    let out = text(&out.path().join("run")).to_owned();
    let Some(ran) = guest(&[&["check", "guest:ext4", "--out", &out][..], &flags].concat()) else { return };
    assert_eq!(violated(&ran.json()), ["kernel-leaks", "failed-but-done"], "{ran:?}");
    assert!(ran.json()["ops"].as_u64().unwrap() > 100, "{ran:?}");
    let told = [
        ["remount(), while its allocation ", "remove_proc_entry"],
        ["create(\"/a\", mode=0644), while its allocation ", "it failed with ENOMEM, but it was done"],
    ];
    for (trace, words) in ["001", "002"].iter().zip(told) {
        let again = shakedown(&["replay", text(&Path::new(&out).join(format!("traces/{trace}.json")))]);
        assert_eq!(again.code, Some(1), "{again:?}");
        assert!(words.iter().all(|words| again.stdout.contains(words)), "{}", again.stdout);
    }
}

#[test]
fn published_bugs_and_workloads_of_ace_are_run() {
    for set in ["corpus:generic-321", "corpus:crashmonkey-10"] {
        let Some(ran) = guest(&["check", "guest:ext4", "--ops", set, "--json"]) else { return };
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.json()["crash_states"].as_u64().unwrap() > 0, "{set}");
    }
    let ran = shakedown(&["check", "guest:ext4", "--ops", "ace-seq1", "--budget", "60states", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.json()["workloads"]["finished"].as_u64().unwrap() > 3, "{ran:?}");
}

#[test]
fn promises_of_a_kernel_are_measured() {
    let flags = ["--depth", "0", "--crash", "flushed", "--explain", "rename"];
    let Some(ran) = guest(&[&["characterise", "guest:minix"][..], &flags].concat()) else { return };
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert!(ran.stdout.contains("rename") && ran.stdout.contains("crash states"), "{}", ran.stdout);
}

#[test]
fn what_a_guest_cannot_hold_is_refused_with_its_measure() {
    let scratch = tempfile::tempdir().unwrap();
    let script = ops(scratch.path(), &["create(\"/a\", mode=0644)", "truncate(\"/a\", size=67108864)"]);
    let Some(ran) = guest(&["check", "guest:ext4", "--ops", &script]) else { return };
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("its files have at most 16.0 MiB together"), "{}", ran.stderr);
}
