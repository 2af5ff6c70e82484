//! J-lang: what its calls become, and what is said of lines that are none.

use vfs::{
    Errno, Reference, Value,
    generate::jlang::{is_jlang, parse},
};

const EXAMPLE: &str = "# define
test
A
A/C
A/C/foo
foo

# declare
local_checkpoint

# setup

# run
mkdir A 0777
mkdir AC 0755
open foo O_RDWR|O_CREAT 0777
write foo 0 32768
falloc foo FALLOC_FL_ZERO_RANGE|FALLOC_FL_KEEP_SIZE 30768 5000
none
dwrite foo 0 8192
open foo O_RDWR|O_CREAT 0777
mmapwrite foo 32768 32768
checkpoint 0
opendir test 0777
fsync test
checkpoint 0
link foo ACfoo
fsetxattr foo
removexattr foo
truncate foo 2500
fdatasync foo
sync
checkpoint 1
close foo
close test
remove ACfoo
rmdir AC
";

#[test]
fn every_call_means_ops() {
    let ops: Vec<String> = parse(EXAMPLE).unwrap().iter().map(ToString::to_string).collect();
    let expected = [
        "mkdir(\"/A\", mode=0777)",
        "mkdir(\"/A/C\", mode=0755)",
        "open(\"/foo\", O_CREAT|O_RDWR, mode=0777, fd=0)",
        "write(fd=0, offset=0, len=32768, fill=1)",
        "fallocate(fd=0, offset=30768, len=5000, how=zero_range_keep_size)",
        "close(fd=0)",
        "open(\"/foo\", O_SYNC|O_DIRECT|O_RDWR, fd=0)",
        "write(fd=0, offset=0, len=8192, fill=2, via=direct)",
        "close(fd=0)",
        "open(\"/foo\", O_CREAT|O_RDWR, mode=0777, fd=0)",
        "fallocate(fd=0, offset=32768, len=32768)",
        "write(fd=0, offset=32768, len=32768, fill=3, via=mmap)",
        "msync(fd=0, offset=32768, len=8192)",
        "open(\"/\", O_DIRECTORY|O_RDONLY, fd=1)",
        "fsync(fd=1)",
        "link(\"/foo\", \"/A/C/foo\")",
        "setxattr(\"/foo\", \"user.xattr1\", len=4, fill=118)",
        "removexattr(\"/foo\", \"user.xattr1\")",
        "truncate(\"/foo\", size=2500)",
        "fdatasync(fd=0)",
        "sync()",
        "close(fd=0)",
        "close(fd=1)",
        "unlink(\"/A/C/foo\")",
        "rmdir(\"/A/C\")",
    ];
    assert_eq!(ops, expected);
}

#[test]
fn our_own_form_is_not_taken_for_it() {
    assert!(is_jlang(EXAMPLE) && is_jlang("  # run\n"));
    assert!(!is_jlang("# run this twice\nsync()\n") && !is_jlang("sync()\n") && !is_jlang(""));
    // A comment of ours may be the word that begins a section of theirs.
    assert!(!is_jlang("# setup\nmkdir(\"/d\")\n\n# run\nsync()\n") && !is_jlang("# run\n--- one\nsync()\n"));
}

#[test]
fn what_only_the_program_of_crashmonkey_knows_does_nothing() {
    assert_eq!(parse("# define\nfoo \n# run \nsync\ncheckpoint \n").unwrap(), ["sync()".parse().unwrap()]);
}

#[test]
fn a_file_is_opened_for_each_slot_and_not_for_more() {
    let names: Vec<String> = (0..=256).map(|number| format!("f{number}")).collect();
    let text = |files: usize| {
        let opens: Vec<String> = names[..files].iter().map(|name| format!("open {name} O_RDWR|O_CREAT 0777")).collect();
        format!("# define\n{}\n# run\n{}\n{}\n", names.join("\n"), opens.join("\n"), opens[0])
    };
    assert_eq!(parse(&text(256)).unwrap()[255].to_string(), "open(\"/f255\", O_CREAT|O_RDWR, mode=0777, fd=255)");
    let error = parse(&text(257)).unwrap_err();
    assert_eq!((error.line, &*error.what), (516, "\"/f256\" is one file more than the 256 that a workload can open"));
}

#[test]
fn a_negative_offset_is_an_op_that_fails() {
    let text =
        "# define\nfoo\n# run\nopen foo O_RDWR|O_CREAT 0777\nfalloc foo 0 -2000 5000\nwrite foo -2000 5000\nsync\n";
    let mut reference = Reference::new();
    let outcomes: Vec<_> = parse(text).unwrap().iter().map(|op| reference.apply(op)).collect();
    assert_eq!(outcomes[1..], [Err(Errno::EINVAL), Err(Errno::EINVAL), Ok(Value::Done)]);
}

#[test]
fn a_wrong_line_is_named() {
    let said = |run: &str| parse(&format!("# define\nfoo\n# run\n{run}\n")).unwrap_err().to_string();
    let cases = [
        ("sink", "read line 4 of the workload: no call has the name \"sink\"; the nearest is \"link\""),
        ("none\nfsync foo", "read line 5 of the workload: \"/foo\" is not open here"),
        ("unlink bar", "read line 4 of the workload: \"bar\" is not among the names that the section define lists"),
        ("fsync", "read line 4 of the workload: fsync does not have 0 arguments"),
        (
            "open foo O_RDWR|O_CREATE 0777",
            "read line 4 of the workload: \"O_RDWR|O_CREATE\" is not made of flags of open",
        ),
        ("falloc foo 0 4096 addToSetup foo", "read line 4 of the workload: falloc does not have 5 arguments"),
        ("mkdir foo 999", "read line 4 of the workload: \"999\" is no octal number"),
        ("truncate foo much", "read line 4 of the workload: \"much\" is no size"),
        ("# check", "read line 4 of the workload: there is no section \"check\""),
    ];
    for (run, expected) in cases {
        assert_eq!(said(run), expected);
    }
    assert_eq!(
        parse("# define\nA/foo\nfoo\nA/foo\nAfoo\n# run\n").unwrap_err().to_string(),
        "read line 5 of the workload: calls would name both /A/foo and /Afoo \"Afoo\": paths lose their slashes there"
    );
    assert_eq!(
        parse("foo\n# run\n").unwrap_err().to_string(),
        "read line 1 of the workload: it stands before the first section"
    );
}
