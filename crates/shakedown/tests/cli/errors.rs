//! Wrong usage: exit code 2 and exactly one helpful line.

use std::fs;

use super::program::{command, from, shakedown, text};

/// Runs and returns the one line that is said.
fn complaint(arguments: &[&str]) -> String {
    let ran = shakedown(arguments);
    assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{arguments:?}");
    let line = ran.stderr.strip_suffix('\n').expect("a whole line");
    assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
    line.strip_prefix("error: could not ").unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn a_wrong_word_names_the_right_one() {
    let cases: [(&[&str], &str); 10] = [
        (&["check", "model:lnk"], "the nearest is \"model:link\""),
        (&["check", "modle:link"], "the nearest is \"model:link\""),
        (&["check", "model:link?write=naive"], "no option \"write\"; the nearest is \"writes\""),
        (&["check", "model:link?writes=naïve"], "the nearest is \"naive\""),
        (&["check", "model:link", "--crash", "prefx"], "'prefix'"),
        (&["check", "model:link", "--contract", "atomc"], "'atomic'"),
        (&["check", "model:link", "--dept", "3"], "'--depth'"),
        (&["check", "model:link", "--search", "novel"], "'novelty'"),
        (&["replay", "trace.json", "--script", "bash"], "sh, c"),
        (&["chek", "model:link"], "'check'"),
    ];
    for (arguments, hint) in cases {
        let line = complaint(arguments);
        assert!(line.contains(hint), "{hint} in: {line}");
    }
}

#[test]
fn nonsense_is_refused_before_anything_is_done() {
    let cases: [(&[&str], &str); 30] = [
        (&["check"], "<TARGET>"),
        (&["check", "model:cow?flaw=stale-log,log=off"], "flaw=stale-log does nothing with log=off"),
        (&["check", "model:link", "--crash", "off", "--contract", "prefix"], "use --contract with --crash off"),
        (&["check", "model:link", "--crash", "off", "--recovery-crashes"], "use --recovery-crashes with --crash off"),
        (&["check", "model:link", "--crash", "off", "--crash-states", "9"], "use --crash-states with --crash off"),
        (&["check", "model:link", "--crash", "off", "--no-continue"], "use --no-continue with --crash off"),
        (&["check", "model:link", "--crash", "off", "--no-memo"], "use --no-memo with --crash off"),
        (&["check", "model:link", "--search", "recovery", "--crash", "off"], "no recovery without a power cut"),
        (&["check", "model:philosophers", "--search", "novelty"], "--search novelty with model:philosophers"),
        (&["check", ""], "there is no such target"),
        (&["check", "fuse:\"bindfs {store} {mnt}\"", "--faults", "1"], "it has no {dev} whose requests could fail"),
        (&["check", "guest:jffs2", "--crash", "subsets"], "the power is cut only between ops; use --crash flushed"),
        (&["characterise", "guest:ubifs"], "its power can be cut between ops only"),
        (&["kernel", "build", "--enable", "udf"], "an option of the kernel is named in capitals"),
        (&["check", "model:link", "--budget", "soon"], "such as 60s, 10m, 1e6states or 4GiB"),
        (&["check", "model:link", "--budget", "0s"], "at least 1ms"),
        (&["check", "model:link", "--budget", "-5s"], "at least 1ms"),
        (&["check", "model:cow", "--ops", "-link"], "nothing is left"),
        (&["check", "model:cow", "--ops", "creat"], "the nearest is \"create\""),
        (&["check", "model:link", "--ops", "create"], "it chooses its ops itself"),
        (&["check", "model:link", "--files", "3"], "options of the target"),
        (&["check", "model:cow", "--suffix", "3"], "without --equality shape"),
        (&["check", "model:link", "--budget", "1.5states"], "states are a whole number from 1"),
        (&["check", "model:link", "--budget", "5s,1m"], "bounds the time twice"),
        (&["check", "model:link", "--threads", "0"], "'--threads <N>'"),
        (&["check", "model:link", "--bitstate-bits", "20"], "without --visited bitstate"),
        (&["check", "model:link", "--visited", "bitstate", "--bitstate-bits", "44"], "only"),
        (&["check", "model:link", "--search", "random"], "without a budget"),
        (&["check", "model:philosophers", "--crash", "prefix"], "it has no disk"),
        (&["replay", "trace.json", "--out", "shorter.json"], "--minimise"),
    ];
    for (arguments, hint) in cases {
        let line = complaint(arguments);
        assert!(line.contains(hint), "{hint} in: {line}");
    }
}

#[test]
fn an_op_that_the_target_does_not_have_is_refused_before_anything_is_done() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("ops.txt");
    let create = r#"create("/a")"#;
    let cases = [
        ("model:journal", r#"symlink("/a", "/b")"#, "create,"),
        ("model:journal", r#"chmod("/a", mode=0600)"#, "create,"),
        ("model:link", r#"mkdir("/d")"#, "create,read,write,unlink,remount"),
        ("lib:fatfs", r#"link("/a", "/b")"#, "create,"),
    ];
    for (target, op, has) in cases {
        let create = if target == "model:link" { r#"create("/f0")"# } else { create };
        fs::write(&file, format!("{create}\n{op}\n")).unwrap();
        let line = complaint(&["check", target, "--ops", text(&file)]);
        let op = op.split('(').next().unwrap();
        assert!(line.starts_with(&format!("do {op}(")), "{line}");
        assert!(line.contains(&format!(" on {target}: it has no such op; it has {has}")), "{line}");
    }
}

#[test]
fn an_op_with_arguments_that_the_target_does_not_take_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("ops.txt");
    let cases = [
        (r#"create("/b", mode=0777)"#, "it has create, but not with these arguments"),
        (r#"create("/b/", mode=0644)"#, "it has create, but not with these arguments"),
        (r#"rename("/a", "/b", how=no_replace)"#, "it has rename, but not with these arguments"),
    ];
    let long = r#"create("/aaaaaaaaa", mode=0644)"#;
    for (target, limit) in [("model:cow", 6), ("model:journal", 6), ("model:f2fs", 8)] {
        let names = format!("its names have at most {limit} bytes");
        for (op, hint) in cases.into_iter().chain([(long, names.as_str())]) {
            fs::write(&file, format!("create(\"/a\")\n{op}\n")).unwrap();
            let line = complaint(&["check", target, "--ops", text(&file)]);
            assert_eq!(line, format!("do {op} on {target}: {hint}"));
        }
    }
}

/// What a kernel has is found out by asking it, so that one must be there.
#[test]
fn ops_for_a_kernel_that_was_never_built_are_refused_in_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("ops.txt");
    fs::write(&file, "create(\"/a\")\n").unwrap();
    let mut command = command(&["check", "guest:ext4?kernel=plain", "--ops", text(&file)]);
    let ran = from(command.env("XDG_CACHE_HOME", scratch.path()).env("PATH", "").output().unwrap());
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
    assert!(ran.stderr.starts_with("error: could not ") && !ran.stderr.contains("panicked"), "{ran:?}");
}

#[test]
fn a_file_that_is_no_trace_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let missing = scratch.path().join("missing.json");
    assert!(complaint(&["replay", text(&missing)]).contains("No such file"));
    assert!(complaint(&["replay", text(scratch.path())]).starts_with("read "));
    let cases = [
        ("{", "EOF"),
        ("{}", "missing field `version`"),
        (r#"{"version": 99}"#, "version 99"),
        ("\u{0}\u{1}", "expected value"),
    ];
    for (content, hint) in cases {
        let file = scratch.path().join("trace.json");
        fs::write(&file, content).unwrap();
        let line = complaint(&["replay", text(&file)]);
        assert!(line.contains(hint), "{hint} in: {line}");
    }
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("precious.txt");
    fs::write(&file, "mine").unwrap();
    let line = complaint(&["check", "model:link", "--out", text(scratch.path())]);
    assert!(line.contains("precious.txt, which is not of an earlier run"), "{line}");
    assert!(complaint(&["check", "model:link", "--out", text(&file)]).contains("it is a file"));
    assert!(complaint(&["check", "--resume", text(scratch.path())]).contains("no readable summary.json"));
    fs::write(scratch.path().join("summary.json"), "{}").unwrap();
    assert!(complaint(&["check", "--resume", text(scratch.path())]).contains("not one of ours"));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn a_resumed_run_cannot_be_changed() {
    let line = complaint(&["check", "--resume", "run", "--crash", "off"]);
    assert!(line.contains("'--crash <MODE>'") && !line.contains("--depth"), "{line}");
    assert!(complaint(&["check", "model:link", "--resume", "run"]).contains("cannot be used with"));
}

/// What may be left by a power cut is asked wherever there is one; to kill somebody, only where somebody can be.
#[test]
fn every_verb_takes_the_crashes_that_it_can_make() {
    for verb in [&["check"][..], &["characterise"], &["swarm", "--tasks", "2"]] {
        let asked = |crash| complaint(&[verb, &["model:nothing", "--crash", crash]].concat());
        assert!(asked("prefix").contains("there is no such target"), "{verb:?}");
        assert_eq!(asked("kill").contains("there is no such target"), verb != ["characterise"], "{verb:?}");
    }
}
