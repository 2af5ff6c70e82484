//! A file system of a guest kernel that is in no table here, as its user describes it: `guest:other?type=udf,...`.

use guest::{Described, FileSystem, Lacked, Which};
use vfs::{Conventions, Modes, Names};

use super::{
    Chosen, Entry, Fallback, Kind, TargetOption, Values,
    commands::{self, DIR_LINKS, FSCK_COMMAND, MKFS, PROMISES, REPAIR},
    guests::{KERNEL, LIES, SYNC, make, option},
};

pub const OTHER: Entry = Entry {
    name: "guest:other",
    about: "any other file system of a real Linux kernel: guest:other?type=udf,mkfs=\"mkudffs {dev}\"",
    kind: Kind::Files,
    options: &[
        TargetOption {
            name: "type",
            values: Values::Text,
            fallback: Fallback::Value(""),
            about: "as the kernel calls it; a kernel that has it is built with: shakedown kernel build --enable OPTION",
        },
        option("kib", Values::Number(16..=1_048_576), "4096", "the size of the disk"),
        option("options", Values::Text, "", "as after mount -o"),
        MKFS,
        REPAIR,
        FSCK_COMMAND,
        PROMISES,
        DIR_LINKS,
        option(
            "modes",
            Values::Words(&["kept", "fixed"]),
            "kept",
            "fixed: all files are 0644 and all directories 0755, as the mount says, and owners are not kept",
        ),
        option(
            "names",
            Values::Words(&["exact", "ignorecase", "small"]),
            "exact",
            "ignorecase: A is the name that a is, shown as it was given; small: shown in small letters besides",
        ),
        option("hidden", Values::Text, "lost+found", "names in its root that belong to it, with spaces between"),
        option(
            "lacks",
            Values::Several(LACKS),
            "",
            "what it does not have, with spaces between: such ops are left out",
        ),
        SYNC,
        LIES,
        KERNEL,
    ],
    make: |chosen| make(file_system(chosen), chosen),
};

/// What a file system can do without. The words are those of ops in a trace.
const LACKS: &[&str] = &[
    "mkdir",
    "rmdir",
    "rename",
    "link",
    "symlink",
    "truncate",
    "chmod",
    "chown",
    "setxattr",
    "removexattr",
    "fsync",
    "fdatasync",
    "msync",
    "direct",
    "mmap",
    "exchange",
    "no_replace",
    "fallocate",
    "allocate",
    "keep_size",
    "punch_hole",
    "zero_range",
    "zero_range_keep_size",
    "collapse_range",
    "insert_range",
];

fn file_system(chosen: &Chosen) -> FileSystem {
    let options = [chosen.word("options"), if chosen.word("sync") == "on" { "sync" } else { "" }];
    let options: Vec<&str> = options.into_iter().filter(|some| !some.is_empty()).collect();
    let kib = chosen.number("kib").expect("the table of options allows only numbers");
    FileSystem {
        options: options.join(","),
        flushes_are_lies: chosen.word("lies") == "flush",
        ..FileSystem::new(Which::Described(described(chosen).into()), kib)
    }
}

fn described(chosen: &Chosen) -> Described {
    let described = commands::described(chosen.word("type"), chosen);
    let modes = match chosen.word("modes") {
        "fixed" => Modes::Fixed { file: 0o644, dir: 0o755 },
        _ => Modes::Kept,
    };
    let names = match chosen.word("names") {
        "ignorecase" => Names::IgnoringCase,
        "small" => Names::Small,
        _ => Names::AsGiven,
    };
    let lacked = |word: &str| Lacked::from_name(word).expect("the table of options allows only what can be lacking");
    Described {
        conventions: Conventions { modes, names, ..described.conventions },
        hidden: chosen.word("hidden").split_whitespace().map(ToOwned::to_owned).collect(),
        lacks: chosen.word("lacks").split_whitespace().map(lacked).collect(),
        ..described
    }
}

#[cfg(test)]
mod tests {
    use super::super::Named;
    use super::*;

    fn asked(options: &str) -> FileSystem {
        file_system(&Named::parse(&format!("guest:other?type=any{options}")).unwrap().chosen)
    }

    #[test]
    fn what_is_said_of_a_file_system_is_what_it_is_held_to() {
        assert_eq!(asked("").conventions(), Conventions::POSIX);
        assert_eq!(asked("").mount().hidden, ["lost+found"]);
        let fat = asked(",modes=fixed,names=ignorecase,hidden=\"a b\",options=quiet,sync=on");
        let modes = Modes::Fixed { file: 0o644, dir: 0o755 };
        assert_eq!(fat.conventions(), Conventions { modes, names: Names::IgnoringCase, ..Conventions::POSIX });
        assert_eq!((fat.mount().hidden, fat.mount().options.as_str()), (vec!["a".into(), "b".into()], "quiet,sync"));
        assert!(fat.is_synchronous() && !asked(",options=quiet").is_synchronous());
        assert_eq!(asked(",names=small").conventions().names, Names::Small);
    }

    #[test]
    fn every_word_for_what_is_lacking_leaves_something_out() {
        for word in LACKS {
            assert!(Lacked::from_name(word).is_some(), "{word}");
        }
        let offers = |options: &str, op: &str| asked(options).offers(&op.parse().unwrap());
        assert!(offers("", "link(\"/a\", \"/b\")") && !offers(",lacks=\"symlink link\"", "link(\"/a\", \"/b\")"));
        let error = Named::parse("guest:other?type=any,lacks=lnik").err().unwrap().to_string();
        assert!(error.contains("lacks cannot be \"lnik\"") && error.contains("the nearest is \"link\""), "{error}");
    }
}
