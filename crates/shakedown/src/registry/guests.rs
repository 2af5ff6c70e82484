//! File systems of a guest kernel as targets.

use check::Checkable;
use guest::{FileSystem, FileSystemKind, GuestTarget};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const EXT2: Entry = Entry {
    name: "guest:ext2",
    about: "ext2 of a real Linux kernel, which runs as a child process; e2fsck recovers it",
    kind: Kind::Files,
    options: &[option("kib", Values::Number(64..=65536), "64", "the size of the disk"), SYNC, LIES, KERNEL],
    make: |chosen| make(FileSystemKind::Ext2, chosen, &["sync"]),
};

pub const EXT4: Entry = Entry {
    name: "guest:ext4",
    about: "ext4 of a real Linux kernel, which runs as a child process; the kernel recovers it, and e2fsck must agree",
    kind: Kind::Files,
    options: &[
        option("kib", Values::Number(2080..=65536), "2080", "the size of the disk; smaller ones have no journal"),
        option("data", Values::Words(&["ordered", "journal", "writeback"]), "ordered", "what is journaled, and when"),
        option("barrier", Values::Words(&["on", "off"]), "on", "off: the journal is written without flushes"),
        SYNC,
        LIES,
        option("fsck", Values::Words(&["on", "off"]), "on", "whether e2fsck looks at everything that was recovered"),
        KERNEL,
    ],
    make: |chosen| make(FileSystemKind::Ext4, chosen, &["data", "barrier", "sync"]),
};

const SYNC: TargetOption = option("sync", Values::Words(&["off", "on"]), "off", "on: mounted with -o sync");
const LIES: TargetOption = option("lies", Values::Words(&["none", "flush"]), "none", "flush: the disk ignores flushes");
const KERNEL: TargetOption = option(
    "kernel",
    Values::Words(&["plain", "debug"]),
    "plain",
    "debug: the one that was built with --debug, which finds more and is slower",
);

const fn option(name: &'static str, values: Values, value: &'static str, about: &'static str) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

/// The mount option that a choice stands for; none for what the kernel does anyway.
fn mount_option(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("data", "journal") => Some("data=journal"),
        ("data", "writeback") => Some("data=writeback"),
        ("barrier", "off") => Some("nobarrier"),
        ("sync", "on") => Some("sync"),
        _ => None,
    }
}

fn make(kind: FileSystemKind, chosen: &Chosen, mount_options: &[&str]) -> Box<dyn Checkable> {
    let options: Vec<&str> = mount_options.iter().filter_map(|name| mount_option(name, chosen.word(name))).collect();
    let file_system = FileSystem {
        kind,
        options: options.join(","),
        kib: chosen.number("kib").expect("the table of options allows only numbers"),
        flushes_are_lies: chosen.word("lies") == "flush",
        fsck: kind == FileSystemKind::Ext4 && chosen.word("fsck") == "on",
    };
    Box::new(GuestTarget::new(file_system, chosen.word("kernel") == "debug"))
}

#[cfg(test)]
mod tests {
    use vfs::contract::Contract;

    use super::super::Named;

    #[test]
    fn mount_options_decide_what_is_promised() {
        let promise = |name: &str| Named::parse(name).unwrap().target.promise();
        assert_eq!(promise("guest:ext4").contract, Contract::Atomic);
        assert_eq!(promise("guest:ext4?data=journal").contract, Contract::Prefix);
        assert_eq!(promise("guest:ext2").contract, Contract::Synced);
        assert!(promise("guest:ext2?sync=on").synchronous && !promise("guest:ext2").synchronous);
    }
}
