//! Known bugs of log trees by the ops that showed them: the right variant keeps its promise under each of them, and the
//! flaw that stands for the bug breaks it. The scripts are those of the `CrashMonkey` study and of fstests.

use models::cow::{Commit, Flaw, Variant};
use vfs::Op;

use crate::{driver, searching::play};

/// `mv A/foo bar` as an op: the verb as in a shell, every path from the root.
fn spelled_out(short: &str) -> Op {
    let mut words = short.split(' ');
    let verb = words.next().expect("a verb");
    let paths: Vec<String> = words.map(|path| format!("\"/{}\"", path.trim_start_matches('/'))).collect();
    let text = match (verb, paths.as_slice()) {
        ("sync", []) => "sync()".to_owned(),
        ("touch", [path]) => format!("create({path})"),
        ("append", [path]) => format!("write({path}, at=end, len=64, fill=7)"),
        ("mkdir" | "rmdir" | "unlink" | "fsync", [path]) => format!("{verb}({path})"),
        ("mv", [from, to]) => format!("rename({from}, {to})"),
        ("link", [from, to]) => format!("link({from}, {to})"),
        _ => panic!("{short:?} is no line of a script"),
    };
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn violated(variant: Variant, script: &str) -> Vec<String> {
    let ops: Vec<Op> = script.split(';').map(|op| spelled_out(op.trim())).collect();
    let report = play(variant, &ops);
    assert_eq!(report.depth as usize, ops.len(), "{script}: the script was not played to its end");
    driver::violated(&report)
}

/// What the script is known as, its ops, and what shows the bug that it is known for.
type Case = (&'static str, &'static str, Option<(Flaw, &'static str)>);

const CASES: [Case; 22] = [
    (
        "bug 1",
        "mkdir A; touch A/bar; fsync A/bar; mkdir B; touch B/bar; mv B/bar A/bar; touch A/foo; fsync A/foo; fsync A",
        None,
    ),
    ("bug 2", "mkdir A; mkdir A/C; mv A/C B; touch B/bar; fsync B/bar; mv B/bar A/bar; mv A B; fsync B/bar", None),
    ("bug 3", "mkdir A; mkdir B; mkdir A/C; touch B/foo; fsync B/foo; link B/foo A/C/foo; fsync A", None),
    (
        "bug 4",
        "mkdir A; sync; mv A B; touch B/foo; fsync B/foo; fsync B",
        Some((Flaw::LogForgetsRenamedParent, "pinned-name")),
    ),
    (
        "bug 5",
        "mkdir A; mkdir B; touch A/foo; link A/foo B/foo; fsync A/foo; fsync B/foo",
        Some((Flaw::LogOneName, "pinned-name")),
    ),
    (
        "bug 6",
        "mkdir d; mkdir d/A; touch d/foo; touch d/A/foo; fsync d/A/foo; fsync d",
        Some((Flaw::LogSkipsLoggedDir, "pinned-name")),
    ),
    ("bug 7", "touch foo; mkdir A; link foo A/bar; fsync foo", Some((Flaw::LogOneName, "pinned-name"))),
    ("034", "mkdir A; touch A/foo; sync; touch A/bar; fsync A", None),
    ("039", "touch foo; link foo bar; sync; unlink bar; fsync foo", Some((Flaw::LogForgetsUnlink, "miscounted-links"))),
    ("056", "touch foo; append foo; fsync foo; link foo bar; touch other; fsync other", None),
    ("090", "touch foo; append foo; sync; link foo bar; sync; append foo; fsync foo", None),
    ("104", "touch foo; touch bar; link foo foo1; link bar bar1; fsync bar", Some((Flaw::LogOneName, "pinned-name"))),
    (
        "107",
        "touch foo; mkdir A; link foo A/foo; link foo A/bar; sync; unlink A/bar; fsync foo",
        Some((Flaw::LogForgetsUnlink, "miscounted-links")),
    ),
    (
        "321",
        "mkdir A; touch foo; sync; mv foo A/foo; fsync A/foo; fsync A",
        Some((Flaw::LogForgetsRename, "link-count")),
    ),
    ("322", "mkdir A; touch A/foo; sync; mv A/foo A/bar; fsync A/bar", Some((Flaw::LogForgetsRename, "link-count"))),
    ("335", "mkdir A; touch A/foo; sync; mv A/foo foo; touch bar; fsync /", None),
    (
        "336",
        "mkdir A; mkdir B; mkdir C; touch A/foo; link A/foo B/foo; touch B/bar; sync; unlink B/foo; mv B/bar C/bar; \
         fsync A/foo",
        Some((Flaw::LogForgetsUnlink, "miscounted-links")),
    ),
    ("341", "mkdir A; touch A/foo; sync; mv A B; mkdir A; fsync A", None),
    (
        "342",
        "touch foo; append foo; sync; mv foo bar; touch foo; append foo; fsync foo",
        Some((Flaw::LogForgetsTakenName, "rename-atomic")),
    ),
    ("343", "mkdir A; mkdir B; mkdir B/d; touch A/foo; sync; link A/foo A/bar; mv B/d A/d; fsync A/foo", None),
    ("376", "touch foo; sync; mv foo bar; touch foo; fsync bar", None),
    ("link after unlink", "touch foo; link foo bar; sync; unlink bar; touch bar; fsync bar", None),
];

#[test]
fn the_right_log_survives_every_known_script() {
    for (name, script, _) in CASES {
        for commit in [Commit::Barrier, Commit::Verify] {
            let found = violated(Variant::right(true, commit), script);
            assert_eq!(found, [""; 0], "{name}: {script}");
        }
    }
}

#[test]
fn each_known_bug_is_found_by_its_script() {
    for (name, script, bug) in CASES {
        if let Some((flaw, property)) = bug {
            let found = violated(Variant::wrong(flaw), script);
            assert!(found.iter().any(|found| found == property), "{name}, {flaw:?}: {found:?}");
        }
    }
}
