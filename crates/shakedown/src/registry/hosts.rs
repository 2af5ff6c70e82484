//! File systems of the kernel that we run on as targets.

use check::Checkable;
use guest::{FileSystem, FileSystemKind};
use host::{HostTarget, Subject};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const EXT2: Entry = Entry {
    name: "host:ext2",
    about: "ext2 of the kernel that we run on, as root; e2fsck recovers it",
    kind: Kind::Files,
    options: &[option("kib", Values::Number(64..=65536), "64", "the size of the disk"), SYNC, LIES],
    make: |chosen| make(FileSystemKind::Ext2, chosen, &[], &["sync"]),
};

pub const EXT4: Entry = Entry {
    name: "host:ext4",
    about: "ext4 of the kernel that we run on, as root; the kernel recovers it, and e2fsck must agree",
    kind: Kind::Files,
    options: &[
        option("kib", Values::Number(2080..=65536), "2080", "the size of the disk; smaller ones have no journal"),
        option("data", Values::Words(&["ordered", "journal", "writeback"]), "ordered", "what is journaled, and when"),
        option("barrier", Values::Words(&["on", "off"]), "on", "off: the journal is written without flushes"),
        option("delalloc", Values::Words(&["off", "on"]), "off", "on: blocks are allocated when they are written back"),
        SYNC,
        LIES,
        option("fsck", Values::Words(&["on", "off"]), "on", "whether e2fsck looks at everything that was recovered"),
    ],
    make: |chosen| make(FileSystemKind::Ext4, chosen, &JOURNAL_AT_REST, &["data", "barrier", "delalloc", "sync"]),
};

/// What keeps a journal from writing of its own accord, at moments that no op decides.
const JOURNAL_AT_REST: [&str; 2] = ["commit=2000", "noinit_itable"];

const SYNC: TargetOption = option("sync", Values::Words(&["off", "on"]), "off", "on: mounted with -o sync");
const LIES: TargetOption = option("lies", Values::Words(&["none", "flush"]), "none", "flush: the disk ignores flushes");

const fn option(name: &'static str, values: Values, value: &'static str, about: &'static str) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

/// The mount option that a choice stands for; none for what the kernel does anyway.
fn mount_option(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("data", "journal") => Some("data=journal"),
        ("data", "writeback") => Some("data=writeback"),
        ("barrier", "off") => Some("nobarrier"),
        ("delalloc", "off") => Some("nodelalloc"),
        ("sync", "on") => Some("sync"),
        _ => None,
    }
}

fn make(kind: FileSystemKind, chosen: &Chosen, always: &[&'static str], mount_options: &[&str]) -> Box<dyn Checkable> {
    let mut options: Vec<&str> =
        mount_options.iter().filter_map(|name| mount_option(name, chosen.word(name))).collect();
    options.extend(always);
    let file_system = FileSystem {
        kind,
        options: options.join(","),
        kib: chosen.number("kib").expect("the table of options allows only numbers"),
        journal: true,
        flushes_are_lies: chosen.word("lies") == "flush",
        fsck: chosen.get("fsck") != Some("off"),
    };
    Box::new(HostTarget::new(Subject::Kernel(file_system)))
}
