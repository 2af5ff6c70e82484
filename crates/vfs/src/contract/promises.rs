//! Which file system promises what, and who says so.
//!
//! A target is held to its promise; to be found short of more is not an alarm. Only claims with a source stand here,
//! each in our own words. A mount option that is not listed promises no less than the listed ones it does not change.

use super::Contract;

/// One claim about a file system mounted in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// As the kernel calls it.
    pub file_system: &'static str,
    /// The mount option that the claim depends on; `None` is how it is mounted if nothing is said.
    pub option: Option<&'static str>,
    /// What is promised.
    pub contract: Contract,
    /// Whether it is promised only after an offline check and repair, because recovery is nothing else.
    pub after_fsck: bool,
    /// Who says so.
    pub source: &'static str,
}

/// Every claim. Options that weaken or strengthen a file system come after its default.
pub const PROMISES: &[Promise] = &[
    Promise {
        file_system: "ext2",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "kernel documentation of ext2: there is no journal, and e2fsck restores consistency after a crash",
    },
    Promise {
        file_system: "minix",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "no journal and no ordering of writes in the kernel's code; fsck.minix is the only recovery",
    },
    Promise {
        file_system: "vfat",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "no journal and no ordering of writes in the kernel's code; fsck.fat is the only recovery",
    },
    Promise {
        file_system: "msdos",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "as vfat, whose code it shares",
    },
    Promise {
        file_system: "exfat",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "no journal and no ordering of writes in the kernel's code; fsck.exfat is the only recovery",
    },
    Promise {
        file_system: "ext3",
        option: None,
        contract: Contract::Atomic,
        after_fsck: false,
        source: "run by the ext4 driver: as ext4",
    },
    Promise {
        file_system: "ext3",
        option: Some("data=journal"),
        contract: Contract::Prefix,
        after_fsck: false,
        source: "run by the ext4 driver: as ext4",
    },
    Promise {
        file_system: "ext4",
        option: None,
        contract: Contract::Atomic,
        after_fsck: false,
        source: "kernel documentation of ext4: metadata goes through one journal, data is written before the metadata \
                 that refers to it commits; proposed kernel documentation of crash guarantees (2019): fsync covers a \
                 file's names. Not `ordered`: sizes follow write-back, not the order of ops",
    },
    Promise {
        file_system: "ext4",
        option: Some("data=journal"),
        contract: Contract::Prefix,
        after_fsck: false,
        source: "kernel documentation of ext4: data goes through the same journal as metadata, whose transactions \
                 commit in order",
    },
    Promise {
        file_system: "ext4",
        option: Some("journal=off"),
        contract: Contract::Synced,
        after_fsck: true,
        source: "kernel documentation of ext4 about its no-journal mode: as ext2, e2fsck restores consistency",
    },
    Promise {
        file_system: "jfs",
        option: None,
        contract: Contract::Synced,
        after_fsck: true,
        source: "IBM's overview of JFS: fsck replays the log, which restores the structure and not the contents; \
                 nothing is said of names at fsync",
    },
    Promise {
        file_system: "reiserfs",
        option: None,
        contract: Contract::Synced,
        after_fsck: false,
        source: "manual page mount(8): metadata is journaled, and data is written before the metadata that refers \
                 to it commits; nothing is said of names at fsync",
    },
    Promise {
        file_system: "nilfs2",
        option: None,
        contract: Contract::Synced,
        after_fsck: false,
        source: "kernel documentation of nilfs2: checkpoints survive a crash, and the default order=relaxed is like \
                 the ordered mode of ext3; nothing is said of names at fsync",
    },
    Promise {
        file_system: "xfs",
        option: None,
        contract: Contract::Atomic,
        after_fsck: false,
        source: "its maintainers on linux-fsdevel (2018, 2019): metadata is strictly ordered in the log, and fsync of \
                 a file covers the names that it depends on. Not `ordered`: sizes follow write-back",
    },
    Promise {
        file_system: "btrfs",
        option: None,
        contract: Contract::Atomic,
        after_fsck: false,
        source: "proposed kernel documentation of crash guarantees (2019), with its maintainers: fsync covers every \
                 name of a file, and renames are atomic",
    },
    Promise {
        file_system: "f2fs",
        option: None,
        contract: Contract::Fsynced,
        after_fsck: false,
        source: "kernel documentation of f2fs: the default fsync_mode=posix persists what POSIX asks and gives up the \
                 order with a rename that fstests generic/342 looks for",
    },
    Promise {
        file_system: "f2fs",
        option: Some("fsync_mode=strict"),
        contract: Contract::Atomic,
        after_fsck: false,
        source: "kernel documentation of f2fs: fsync behaves in line with xfs, ext4 and btrfs, and generic/342 passes",
    },
];

/// What a file system promises when it is mounted with these options; `None` if nobody claims anything.
pub fn promise(file_system: &str, options: &[&str]) -> Option<&'static Promise> {
    let applies = |promise: &&Promise| {
        promise.file_system == file_system && promise.option.is_none_or(|option| options.contains(&option))
    };
    PROMISES.iter().rfind(applies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_particular_claim_wins() {
        let contract = |file_system, options: &[&str]| promise(file_system, options).map(|promise| promise.contract);
        assert_eq!(contract("ext4", &[]), Some(Contract::Atomic));
        assert_eq!(contract("ext4", &["noatime", "data=journal"]), Some(Contract::Prefix));
        assert_eq!(contract("f2fs", &["fsync_mode=strict"]), Some(Contract::Atomic));
        assert_eq!(contract("vfat", &["flush"]), Some(Contract::Synced));
        assert_eq!(contract("ntfs", &[]), None);
    }

    #[test]
    fn claims_are_unique_and_sourced() {
        for (index, claim) in PROMISES.iter().enumerate() {
            assert!(!claim.source.is_empty());
            let same = |other: &Promise| (other.file_system, other.option) == (claim.file_system, claim.option);
            assert!(!PROMISES[..index].iter().any(same), "{claim:?} twice");
            let default = |other: &Promise| other.file_system == claim.file_system && other.option.is_none();
            assert!(
                claim.option.is_none() || PROMISES[..index].iter().any(default),
                "{claim:?} has no default before it"
            );
        }
    }
}
