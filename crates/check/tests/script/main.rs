//! Scripts are run: a program that was written from a list of ops leaves the tree that the reference has after the same
//! ops, and reports the same outcomes.

mod arm;
mod expected;
mod random;

use std::{fs, path::Path};

use arm::{Arm, Ground};
use check::{CheckOptions, CrashPoint, Move, OpMove, ScriptKind, TakenRequest, Trace, VERSION, script};
use disk::{Block, CrashMode};
use explore::Severity;
use random::{Words, random_ops};
use vfs::{Op, OpKind, contract::Contract, text::parse_workload};

/// How many random lists of ops each language gets, and how many ops each has.
const LISTS: u64 = 4;
const OPS: usize = 80;

fn trace_of(ops: Vec<Op>, schedule: Vec<Move>) -> Trace {
    Trace {
        version: VERSION,
        target: "model:none".to_owned(),
        against: Vec::new(),
        options: CheckOptions {
            crash: CrashMode::Prefix,
            contract: Contract::Mountable,
            continue_after_crash: true,
            crash_states_max: 1,
            ..CheckOptions::default()
        },
        property: "contents".to_owned(),
        severity: Severity::Critical,
        detail: "two bytes differ".to_owned(),
        workload: None,
        ops,
        schedule,
        sighting: None,
    }
}

/// A trace that runs each op as a whole.
fn trace(ops: &[Op]) -> Trace {
    trace_of(ops.to_vec(), (0..ops.len()).map(|op| Move::Run(plain(op))).collect())
}

fn plain(op: usize) -> OpMove {
    OpMove::undisturbed(op)
}

fn cut(op: usize) -> OpMove {
    let taken = vec![
        TakenRequest { op: Some(0), back: 3, blocks: None },
        TakenRequest { op: Some(op), back: 1, blocks: Some(vec![Block(4), Block(7)]) },
    ];
    OpMove { crash: Some(CrashPoint { entries: 2, taken }), ..plain(op) }
}

fn workload(text: &str) -> Vec<Op> {
    parse_workload(text).unwrap()
}

/// Ops that both languages have, with names that need care.
const EVERYDAY: &str = r#"
    mkdir("/d", mode=0755)
    mkdir("/d", mode=0755)
    create("/it's \"quoted\"", mode=0644)
    create("/-n\nnew\tline\\", mode=0600)
    create("/$HOME `id` $(id) *?", mode=0644)
    create("/ünï %s%n ??! ", mode=0644)
    write("/it's \"quoted\"", offset=100, len=5000, fill=39)
    write("/it's \"quoted\"", at=end, len=11, fill=255)
    write("/it's \"quoted\"", offset=0, len=0, fill=1)
    write("/missing", offset=0, len=1, fill=1)
    write("/missing", at=end, len=0, fill=1)
    write("/d", offset=0, len=1, fill=1)
    read("/it's \"quoted\"", offset=90, len=20)
    read("/it's \"quoted\"", offset=9000, len=20)
    read("/d", offset=0, len=1)
    truncate("/$HOME `id` $(id) *?", size=300)
    truncate("/missing", size=300)
    link("/it's \"quoted\"", "/d/-l")
    rename("/it's \"quoted\"", "/d/-l")
    rename("/d/-l", "/d/-m")
    rename("/d/-m", "/-n\nnew\tline\\", how=no_replace)
    rename("/d/-m", "/d/fresh", how=no_replace)
    rename("/d", "/d/below")
    symlink("d/../x", "/d/not plain")
    read("/d", offset=0, len=0)
    symlink("fresh", "/d/s")
    symlink("nowhere", "/d/t")
    link("/d/t", "/d/t2")
    link("/missing", "/g/x")
    link("/d", "/d/u")
    write("/d/s", at=end, len=3, fill=7)
    write("/d/t", at=end, len=3, fill=7)
    create("/d/t", mode=0644)
    rename("/d/s", "/d/fresh")
    rename("/d/fresh", "/d/s2")
    unlink("/d/s2")
    unlink("/d")
    rmdir("/d")
    mkdir("/e", mode=0700)
    rename("/e", "/f")
    rmdir("/f")
    chmod("/ünï %s%n ??! ", mode=0444)
    chmod("/d", mode=02755)
    fallocate("/d/-m", how=allocate, offset=0, len=10)
    create("/g", mode=0644)
    write("/g", offset=0, len=16384, fill=9)
    fallocate("/g", how=allocate, offset=16000, len=1000)
    fallocate("/g", how=keep_size, offset=20000, len=1000)
    fallocate("/g", how=punch_hole, offset=100, len=1000)
    fallocate("/g", how=zero_range, offset=17000, len=1000)
    fallocate("/g", how=zero_range_keep_size, offset=2000, len=100)
    fallocate("/g", how=collapse_range, offset=4096, len=4096)
    fallocate("/g", how=insert_range, offset=4096, len=8192)
    fallocate("/missing", how=allocate, offset=0, len=4096)
    fsync("/g")
    fsync("/d")
    fsync("/missing")
    fdatasync("/g")
    sync()
    syncfs()
    remount()
"#;

/// What only C has, and the power cut.
const C_ONLY: &str = r#"
    open("/h", O_CREAT|O_RDWR, mode=0644, fd=0)
    open("/h", O_RDONLY, mode=0, fd=255)
    open("/missing", O_RDONLY, mode=0, fd=0)
    open("/h", O_CREAT|O_EXCL|O_RDWR, mode=0644, fd=2)
    write(fd=0, offset=0, len=10000, fill=1)
    write(fd=255, offset=0, len=10000, fill=1)
    write(fd=7, offset=0, len=10000, fill=1)
    write(fd=0, offset=4096, len=4096, fill=2, via=direct)
    write(fd=0, offset=9000, len=4000, fill=3, via=mmap)
    write(fd=0, at=end, len=10, fill=4, via=mmap)
    write("/h", offset=100, len=10, fill=5, via=mmap)
    write("/h", offset=0, len=0, fill=5, via=mmap)
    write(fd=0, at=end, len=10, fill=6)
    write(fd=0, offset=18446744073709551615, len=10, fill=6)
    write("/h", offset=18446744073709551610, len=10, fill=6, via=mmap)
    read(fd=255, offset=90, len=14000)
    read(fd=7, offset=0, len=1)
    msync(fd=0, offset=5000, len=3)
    msync(fd=7, offset=5000, len=3)
    msync("/h", offset=0, len=4096)
    msync("/h", offset=0, len=0)
    truncate(fd=0, size=13005)
    truncate(fd=255, size=0)
    truncate(fd=7, size=0)
    fallocate(fd=0, how=punch_hole, offset=0, len=50)
    fallocate(fd=7, how=punch_hole, offset=0, len=50)
    fsync(fd=0)
    fsync(fd=7)
    fdatasync(fd=255)
    rename("/h", "/d", how=exchange)
    rename("/h", "/missing", how=exchange)
    unlink("/d")
    write(fd=0, offset=0, len=1, fill=1)
    link("/g", "/h/../../../i")
    symlink("/g", "/absolute")
    symlink("../../h/j", "/up")
    write("/absolute", offset=1, len=2, fill=77)
    chmod("/absolute", mode=0640)
    truncate("/absolute", size=40000)
    open("/up", O_CREAT|O_WRONLY, mode=0644, fd=9)
    mkdir("/h/k/", mode=0755)
    create("/h/k/", mode=0644)
    rmdir("/h/k/.")
    rmdir("/h/k/../k/")
    unlink("/")
    mkdir("/", mode=0755)
    symlink("zero\u{0}byte", "/zero")
    close(fd=0)
    close(fd=0)
    create("/h/x", mode=0777)
    chown("/h/x")
    crash()
    read(fd=9, offset=0, len=1)
    create("/after", mode=0644)
    removexattr("/after", "user.none")
    setxattr("/after", "user.a", len=3, fill=1)
    setxattr("/after", "user.b", len=70000, fill=1)
    removexattr("/after", "user.a")
"#;

#[test]
fn every_op_has_a_form_in_c() {
    let Some(arm) = Arm::of(ScriptKind::C) else { return };
    let ops = workload(&format!("{EVERYDAY}{C_ONLY}"));
    for kind in OpKind::ALL {
        assert!(ops.iter().any(|op| op.kind() == *kind), "{kind} is not tried");
    }
    let ground = Ground::new("c-every");
    arm.agrees_with_the_reference(&ground, &ops, &script(&trace(&ops), ScriptKind::C));
}

#[test]
fn everyday_ops_have_a_form_in_shell() {
    let Some(arm) = Arm::of(ScriptKind::Sh) else { return };
    let leads_out = |op: &Op| matches!(op, Op::Symlink { target, .. } if target.contains(".."));
    let mut ops = workload(EVERYDAY);
    ops.retain(|op| !leads_out(op));
    ops.extend(workload("crash()\ncreate(\"/after\", mode=0644)"));
    let ground = Ground::new("sh-everyday");
    arm.agrees_with_the_reference(&ground, &ops, &script(&trace(&ops), ScriptKind::Sh));
}

#[test]
fn random_ops_agree_with_the_reference() {
    for (kind, words) in [(ScriptKind::C, Words::All), (ScriptKind::Sh, Words::Shell)] {
        let Some(arm) = Arm::of(kind) else { continue };
        for seed in 0..LISTS {
            let ops = random_ops(&mut fastrand::Rng::with_seed(seed), words, OPS);
            let ground = Ground::new(&format!("random-{kind}-{seed}"));
            arm.agrees_with_the_reference(&ground, &ops, &script(&trace(&ops), kind));
        }
    }
}

#[test]
fn shell_says_up_front_what_it_cannot_do() {
    let Some(arm) = Arm::of(ScriptKind::Sh) else { return };
    let cases = [
        ("open(\"/f\", O_RDWR, mode=0, fd=1)", "slots"),
        ("close(fd=1)", "slots"),
        ("fsync(fd=1)", "slots"),
        ("write(\"/f\", offset=0, len=1, fill=1, via=mmap)", "mapping"),
        ("write(\"/f\", offset=0, len=512, fill=1, via=direct)", "directly"),
        ("write(\"/f\", offset=0, len=99999999999, fill=1)", "too much"),
        ("read(\"/f\", offset=18446744073709551615, len=1)", "number"),
        ("msync(\"/f\", offset=0, len=1)", "maps"),
        ("rename(\"/a\", \"/b\", how=exchange)", "exchanges"),
        ("create(\"/../f\", mode=0644)", "liberties"),
        ("symlink(\"/etc\", \"/s\")", "lead out"),
        ("symlink(\"a/..\", \"/s\")", "lead out"),
        ("create(\"/f\", mode=0755)", "mode"),
        ("mkdir(\"/f\", mode=01777)", "mode"),
        ("chown(\"/f\")", "owner"),
        ("setxattr(\"/f\", \"user.a\", len=40000, fill=1)", "argument"),
        ("symlink(\"zero\\u{0}\", \"/s\")", "zero byte"),
    ];
    let ground = Ground::new("sh-cannot");
    for (op, why) in cases {
        let ops = workload(&format!("create(\"/first\", mode=0644)\n{op}"));
        let output = arm.run(&ground, &script(&trace(&ops), ScriptKind::Sh), &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{op}");
        assert!(said.contains("needs the C script: op 2") && said.contains(&ops[1].to_string()), "{op}: {said}");
        assert!(said.contains(why), "{op}: {said}");
        assert_eq!(ground.names(), [""; 0], "{op}");
    }
}

#[test]
fn attributes_in_shell_take_a_tool_that_may_be_missing() {
    let Some(arm) = Arm::of(ScriptKind::Sh) else { return };
    let ops = workload(
        "create(\"/f\", mode=0644)\nsetxattr(\"/f\", \"user.a\", len=3, fill=1)\n\
         setxattr(\"/f\", \"user.b\", len=0, fill=1)\nremovexattr(\"/f\", \"user.a\")",
    );
    let ground = Ground::new("sh-attributes");
    let text = script(&trace(&ops), ScriptKind::Sh);
    if arm::exists("setfattr") {
        arm.agrees_with_the_reference(&ground, &ops, &text);
    } else {
        let output = arm.run(&ground, &text, &[]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "could not find setfattr: install the package attr\n");
        assert_eq!(ground.names(), [""; 0]);
    }
}

#[test]
fn a_script_without_a_directory_does_nothing() {
    let ops = workload("create(\"/f\", mode=0644)");
    for arm in Arm::all() {
        let ground = Ground::new(&format!("arguments-{}", arm.kind));
        let program = arm.prepare(&ground, &script(&trace(&ops), arm.kind));
        let file = ground.beside("file");
        fs::write(&file, "").unwrap();
        let dir = ground.dir.as_path();
        let missing = ground.beside("missing");
        let wrong: [&[&Path]; 7] = [
            &[],
            &[&file],
            &[&missing],
            &[Path::new("--after-recovery")],
            &[dir, Path::new("--after-recovery")],
            &[dir, Path::new("--after")],
            &[dir, Path::new("--after-recovery=0")],
        ];
        for arguments in wrong {
            let output = arm.start(&program, arguments);
            assert_eq!(output.status.code(), Some(2), "{} {arguments:?}", arm.kind);
            assert!(!output.stderr.is_empty(), "{} {arguments:?}", arm.kind);
            assert_eq!(ground.names(), [""; 0], "{} {arguments:?}", arm.kind);
        }
    }
}

#[test]
fn symlinks_that_were_there_do_not_lead_out() {
    let ops = workload("create(\"/out/f\", mode=0644)\nwrite(\"/out/f\", offset=0, len=1, fill=1)");
    for arm in Arm::all() {
        let ground = Ground::new(&format!("out-{}", arm.kind));
        let outside = ground.beside("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, ground.dir.join("out")).unwrap();
        arm.run(&ground, &script(&trace(&ops), arm.kind), &[]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{}", arm.kind);
    }
}

#[test]
fn the_power_cut_ends_a_part() {
    let ops = workload("create(\"/a\", mode=0644)\ncreate(\"/b\", mode=0644)\ncreate(\"/c\", mode=0644)\nsync()");
    let schedule = vec![Move::Run(plain(0)), Move::Run(cut(1)), Move::Run(cut(2)), Move::Run(cut(3))];
    let trace = trace_of(ops, schedule);
    for arm in Arm::all() {
        let ground = Ground::new(&format!("cut-{}", arm.kind));
        let text = script(&trace, arm.kind);
        assert!(
            text.contains("power cut: in the trace: during op 2, create(\"/b\", mode=0644), after 2 disk requests")
        );
        assert!(text.contains("reached the medium (1 is the last of an op): 3 of op 1, 1 of op 2 (only block 4, 7)"));
        let program = arm.prepare(&ground, &text);
        let go = |more: &[&str]| {
            let arguments: Vec<_> = [ground.dir.as_path()].into_iter().chain(more.iter().map(Path::new)).collect();
            let output = arm.start(&program, &arguments);
            assert!(output.status.success(), "{} {more:?}", arm.kind);
            String::from_utf8(output.stdout).unwrap()
        };
        let first = go(&[]);
        assert!(first.contains("\ncut the power here\n"), "{first}");
        assert!(first.ends_with("    then recover, and run this again with --after-recovery\n"), "{first}");
        assert_eq!(ground.names(), ["a", "b"]);
        assert!(go(&["--after-recovery"]).ends_with("run this again with --after-recovery=2\n"));
        assert_eq!(ground.names(), ["a", "b", "c"]);
        assert!(go(&["--after-recovery=2"]).ends_with("    then recover, and look: contents\n"));
    }
}

#[test]
fn interleaved_ops_run_in_the_order_in_which_they_began() {
    let ops = workload("create(\"/a\", mode=0644)\nmkdir(\"/b\", mode=0755)");
    let schedule = vec![Move::Begin(plain(1)), Move::Begin(plain(0)), Move::Go(plain(1)), Move::Go(cut(0))];
    let trace = trace_of(ops, schedule);
    for kind in [ScriptKind::Sh, ScriptKind::C] {
        let text = script(&trace, kind);
        let (_, parts) = text.rsplit_once("part_0()").or_else(|| text.rsplit_once("part_0(void)")).unwrap();
        assert!(parts.find("make_dir").unwrap() < parts.find("create_file").unwrap(), "{parts}");
        assert_eq!(parts.matches("create_file").count(), 1);
        assert!(text.contains("The target interleaves these ops."));
        assert!(text.contains("after 2 disk requests, counted since it last went on"));
    }
}

#[test]
fn any_text_may_stand_in_the_comment() {
    let mut trace = trace(&workload("sync()"));
    trace.ops.clear();
    trace.schedule = vec![Move::Act { action: 0, says: "think".to_owned() }];
    trace.target = "fuse:\"x */ int y; /* {dev}\" \\".to_owned();
    trace.detail = "first\n$(touch injected) `touch injected`\rtouch injected\n\u{202e}\0 ??/\\".to_owned();
    for arm in Arm::all() {
        let ground = Ground::new(&format!("nothing-{}", arm.kind));
        let text = script(&trace, arm.kind);
        assert!(text.contains("there is nothing to run") && text.contains("property:  contents (critical)"), "{text}");
        let output = arm.run(&ground, &text, &[]);
        assert_eq!((output.status.code(), output.stdout.len(), ground.names().len()), (Some(0), 0, 0));
    }
}
