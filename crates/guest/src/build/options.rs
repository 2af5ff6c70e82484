//! What is special about the kernel of a guest: on top of every default of the kernel's own configuration, these
//! options and no others, each with its reason.

use super::BuildError;

/// What an option is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    On,
    Off,
    Number(u32),
}

/// Some options with one reason.
pub(super) struct Group {
    pub why: &'static str,
    pub setting: Setting,
    /// Without these there is no guest; others may be missing in other versions of the kernel, and are then named.
    pub needed: bool,
    pub names: &'static [&'static str],
}

const fn needed(why: &'static str, names: &'static [&'static str]) -> Group {
    Group { why, setting: Setting::On, needed: true, names }
}

const fn wanted(why: &'static str, names: &'static [&'static str]) -> Group {
    Group { why, setting: Setting::On, needed: false, names }
}

const fn off(why: &'static str, names: &'static [&'static str]) -> Group {
    Group { why, setting: Setting::Off, needed: false, names }
}

/// Every kernel.
pub(super) const GROUPS: &[Group] = &[
    needed("disks that are ours", &["VIRTIO_UML", "BLK_DEV", "VIRTIO_BLK"]),
    needed("init comes as an archive, and finds its disks", &["BLK_DEV_INITRD", "DEVTMPFS"]),
    needed("a console without a terminal", &["NULL_CHAN"]),
    needed("virtual time, without which nothing would be deterministic", &["UML_TIME_TRAVEL_SUPPORT"]),
    needed(
        "timers that need no tick, so that an idle kernel jumps to the next one",
        &["HIGH_RES_TIMERS", "NO_HZ_IDLE"],
    ),
    needed("the other allocator drops __GFP_NOFAIL, which is a false panic under injected faults", &["SLUB"]),
    needed("an oops ends the guest, and is seen", &["PANIC_ON_OOPS"]),
    wanted(
        "a deadlock is reported as soon as nothing else can happen",
        &["DETECT_HUNG_TASK", "BOOTPARAM_HUNG_TASK_PANIC"],
    ),
    wanted("a place for programs that want one", &["TMPFS"]),
    wanted(
        "failing allocations and requests",
        &[
            "DEBUG_KERNEL",
            "DEBUG_FS",
            "FAULT_INJECTION",
            "FAILSLAB",
            "FAIL_PAGE_ALLOC",
            "FAIL_MAKE_REQUEST",
            "FAULT_INJECTION_DEBUG_FS",
        ],
    ),
    off("reading back how far an injected fault is would itself be a place for a fault", &["FAULT_INJECTION_USERCOPY"]),
    wanted("the ext family", &["EXT2_FS", "EXT2_FS_XATTR", "EXT4_FS"]),
    wanted("file systems for large disks", &["XFS_FS", "BTRFS_FS", "JFS_FS", "REISERFS_FS", "REISERFS_FS_XATTR"]),
    wanted("file systems that write logs", &["F2FS_FS", "F2FS_FS_XATTR", "NILFS2_FS"]),
    wanted(
        "file systems of cards and sticks",
        &["VFAT_FS", "MSDOS_FS", "EXFAT_FS", "NLS_CODEPAGE_437", "NLS_ISO8859_1", "NLS_UTF8"],
    ),
    wanted("file systems of other systems", &["NTFS3_FS", "MISC_FILESYSTEMS", "MINIX_FS", "HFSPLUS_FS"]),
    wanted(
        "file systems for flash, on flash that is a disk",
        &["MTD", "MTD_BLOCK2MTD", "MTD_UBI", "JFFS2_FS", "JFFS2_FS_XATTR", "UBIFS_FS"],
    ),
    wanted("flash drivers ask for memory-mapped devices, which this brings", &["UML_PCI_OVER_VIRTIO"]),
    Group {
        why: "any number will do, but without one the driver warns",
        setting: Setting::Number(1234),
        needed: false,
        names: &["UML_PCI_OVER_VIRTIO_DEVICE_ID"],
    },
    wanted(
        "stacks: overlays, user space, RAID 1 and 5",
        &["OVERLAY_FS", "FUSE_FS", "MD", "BLK_DEV_MD", "MD_RAID1", "MD_RAID456"],
    ),
    wanted(
        "NFS, client and server in one kernel",
        &["NET", "INET", "UNIX", "NETWORK_FILESYSTEMS", "NFS_FS", "NFS_V4", "NFS_V4_1", "NFS_V4_2", "NFSD", "NFSD_V4"],
    ),
    wanted("partition tables can be switched off", &["PARTITION_ADVANCED"]),
    off("a disk here is one file system: nobody should look for partitions", &["MSDOS_PARTITION", "EFI_PARTITION"]),
    off(
        "requests go to the disk in the order in which the file system made them",
        &["MQ_IOSCHED_DEADLINE", "MQ_IOSCHED_KYBER"],
    ),
    off("measured at every boot, to save time later", &["RAID6_PQ_BENCHMARK"]),
    off("looks for arrays at boot", &["MD_AUTODETECT"]),
    off("randomness from the host", &["HW_RANDOM"]),
    off("the version would depend on the state of a repository", &["LOCALVERSION_AUTO"]),
    off("the archive is not compressed", &["RD_BZIP2", "RD_LZMA", "RD_XZ", "RD_LZO", "RD_LZ4", "RD_ZSTD"]),
    off(
        "of no use to a guest, but on by default",
        &[
            "IPV6",
            "WIRELESS",
            "NETDEVICES",
            "HID",
            "USB_SUPPORT",
            "PTP_1588_CLOCK",
            "CRYPTO_HW",
            "LEGACY_PTYS",
            "SUSPEND",
            "SWAP",
            "HWMON",
            "IOMMU_SUPPORT",
            "VHOST_MENU",
        ],
    ),
];

/// The second kernel, for finding bugs rather than for speed.
pub(super) const DEBUG_GROUPS: &[Group] = &[
    wanted("memory that is used wrongly", &["KASAN"]),
    wanted("locks that are taken wrongly", &["PROVE_LOCKING"]),
    wanted("memory that is never given back", &["DEBUG_KMEMLEAK"]),
    off("init says when it is looked for", &["DEBUG_KMEMLEAK_AUTO_SCAN", "DEBUG_KMEMLEAK_DEFAULT_OFF"]),
    Group {
        why: "what is allocated at boot, and while there is no memory for notes, must be noted somewhere",
        setting: Setting::Number(16_000),
        needed: false,
        names: &["DEBUG_KMEMLEAK_MEM_POOL_SIZE"],
    },
    wanted("stacks that can be read, without which nobody knows who allocated what", &["FRAME_POINTER"]),
    wanted("lists and counts that are wrong", &["DEBUG_LIST", "DEBUG_VM", "BUG_ON_DATA_CORRUPTION"]),
    wanted(
        "what file systems can check about themselves",
        &["XFS_WARN", "BTRFS_ASSERT", "F2FS_CHECK_FS", "JBD2_DEBUG"],
    ),
];

/// The options as a fragment of a configuration.
pub(super) fn fragment(debug: bool) -> String {
    groups(debug).flat_map(|group| group.names.iter().map(|name| line(name, group.setting))).collect()
}

/// Options that the user wants besides, as a fragment.
pub(super) fn enabled(names: &[String]) -> Result<String, BuildError> {
    let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    match names.iter().find(|name| name.is_empty() || !name.chars().all(is_part)) {
        Some(name) => Err(BuildError::NoOption(name.clone())),
        None => Ok(names.iter().map(|name| line(name, Setting::On)).collect()),
    }
}

/// Whether a configuration has an option.
pub(super) fn is_on(config: &str, name: &str) -> bool {
    let wanted = line(name, Setting::On);
    config.lines().any(|line| line == wanted.trim_end())
}

pub(super) fn groups(debug: bool) -> impl Iterator<Item = &'static Group> {
    GROUPS.iter().chain(if debug { DEBUG_GROUPS } else { &[] })
}

fn line(name: &str, setting: Setting) -> String {
    match setting {
        Setting::On => format!("CONFIG_{name}=y\n"),
        Setting::Off => format!("# CONFIG_{name} is not set\n"),
        Setting::Number(number) => format!("CONFIG_{name}={number}\n"),
    }
}

/// The groups' options that a configuration does not have as asked, each with whether it is needed.
pub(super) fn not_taken(config: &str, debug: bool) -> Vec<(&'static str, &'static Group)> {
    let lines: std::collections::HashSet<&str> = config.lines().collect();
    let is_on = |name: &str| lines.contains(format!("CONFIG_{name}=y").as_str());
    let taken = |name: &str, setting: Setting| match setting {
        Setting::Off => !is_on(name),
        _ => lines.contains(line(name, setting).trim_end()),
    };
    let of = |group: &'static Group| {
        group.names.iter().filter(move |name| !taken(name, group.setting)).map(move |name| (*name, group))
    };
    groups(debug).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_named_once_and_has_a_reason() {
        let mut names: Vec<&str> = groups(true).flat_map(|group| group.names).copied().collect();
        assert!(groups(true).all(|group| !group.why.is_empty() && !group.names.is_empty()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn options_of_the_user_are_added_if_they_can_be_options() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let fragment = enabled(&names(&["UDF_FS", "UFS_FS"])).unwrap();
        assert_eq!(fragment, "CONFIG_UDF_FS=y\nCONFIG_UFS_FS=y\n");
        assert!(is_on(&fragment, "UDF_FS") && !is_on(&fragment, "UDF") && !is_on(&fragment, "BFS_FS"));
        for wrong in ["", "udf", "UDF_FS=y\nCONFIG_X"] {
            assert!(enabled(&names(&[wrong])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_kernel_does_not_have_is_noticed() {
        let config = fragment(false);
        assert!(not_taken(&config, false).is_empty());
        let without = config.replace("CONFIG_EXT4_FS=y\n", "").replace("CONFIG_SLUB=y", "# CONFIG_SLUB is not set");
        let missing: Vec<_> = not_taken(&without, false).iter().map(|(name, group)| (*name, group.needed)).collect();
        assert_eq!(missing, [("SLUB", true), ("EXT4_FS", false)]);
        assert!(not_taken(&format!("{config}CONFIG_SWAP=y\n"), false).iter().any(|(name, _)| *name == "SWAP"));
        assert!(fragment(true).contains("CONFIG_KASAN=y") && !config.contains("KASAN"));
    }
}
