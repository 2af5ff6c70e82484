//! Third-party libraries as targets.

use check::Checkable;
use libs::{Erase, Ext4Volume, FatVolume, Flash};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const LITTLEFS: Entry = Entry {
    name: "lib:littlefs",
    about: "littlefs as the crate littlefs-rust has it: made for flash and for losing power",
    kind: Kind::Files,
    options: &[
        option("block", Values::Words(&["128", "256", "512", "1024", "4096"]), "256", "bytes that are erased at once"),
        option("blocks", Values::Number(8..=1024), "16", "how many such blocks there are"),
        option("page", Values::Words(&["4", "8", "16", "32", "64"]), "16", "bytes that are programmed atomically"),
        option("cache", Values::Words(&["64", "128", "block"]), "64", "bytes that the library programs at once"),
        option(
            "erase",
            Values::Words(&["ones", "nothing"]),
            "ones",
            "ones: an erase is a write of ones, as in flash; nothing: blocks keep what they hold, as on a card",
        ),
        TargetOption {
            name: "cycles",
            values: Values::NumberOr(1..=1000, NEVER),
            fallback: Fallback::Value(NEVER),
            about: "after how many erases metadata moves to another block",
        },
        option("dirs", Values::Number(0..=2), "1", "how many directories the workload makes"),
    ],
    make: littlefs,
};

pub const FATFS: Entry = Entry {
    name: "lib:fatfs",
    about: "FAT12 as the crate fatfs has it: no journal, no fsck",
    kind: Kind::Files,
    options: &[
        option("sectors", Values::Number(16..=4000), "32", "sectors of 512 bytes, which are also the clusters"),
        option("fats", Values::Words(&["1", "2"]), "2", "copies of the allocation table"),
    ],
    make: fatfs,
};

pub const EXT4: Entry = Entry {
    name: "lib:ext4",
    about: "ext4 with its journal as the crate rsext4 has it",
    kind: Kind::Files,
    options: &[option("blocks", Values::Number(8192..=65536), "8192", "blocks of 1024 bytes")],
    make: ext4,
};

const NEVER: &str = "never";

const fn option(name: &'static str, values: Values, value: &'static str, about: &'static str) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

fn littlefs(chosen: &Chosen) -> Box<dyn Checkable> {
    let number = |name| chosen.number(name).expect("the table of options allows only numbers");
    let block = number("block");
    Box::new(libs::littlefs(Flash {
        block,
        blocks: number("blocks"),
        page: number("page"),
        cache: chosen.number("cache").unwrap_or(block),
        erase: if chosen.word("erase") == "ones" { Erase::Ones } else { Erase::Nothing },
        cycles: chosen.number("cycles"),
        dirs: chosen.number("dirs").unwrap_or(1),
    }))
}

fn fatfs(chosen: &Chosen) -> Box<dyn Checkable> {
    let FatVolume { sectors, fats } = FatVolume::default();
    Box::new(libs::fat(FatVolume {
        sectors: chosen.number("sectors").unwrap_or(sectors),
        fats: chosen.number("fats").unwrap_or(fats),
    }))
}

fn ext4(chosen: &Chosen) -> Box<dyn Checkable> {
    let Ext4Volume { blocks } = Ext4Volume::default();
    Box::new(libs::ext4(Ext4Volume { blocks: chosen.number("blocks").unwrap_or(blocks) }))
}
