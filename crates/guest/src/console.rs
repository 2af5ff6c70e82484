//! What a guest kernel prints, and what of that is a complaint.

use std::io::PipeReader;
use std::os::fd::AsFd as _;

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, read},
};

/// A kernel that says that something is wrong with itself or with a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The line by which it was recognised.
    pub line: String,
    /// That line and what followed, for people.
    pub text: String,
    /// Whether it is about what lies on the disk, not about the kernel itself.
    pub is_about_the_disk: bool,
}

/// What a kernel says only when the kernel itself is wrong.
const BUGS: [&str; 13] = [
    "WARNING: ",
    "BUG: ",
    "kernel BUG at ",
    "KASAN: ",
    "Kernel panic",
    "Oops",
    "INFO: task ",
    "INFO: possible ",
    "INFO: trying to register non-static key",
    "UBSAN: ",
    "possible circular locking",
    "possible recursive locking",
    "VFS: Busy inodes after unmount",
];

/// Who in a kernel speaks of the processes of the host that run its programs, and how such a line ends if one of them
/// is gone: it is not there any more, or it was killed.
const LOST: ([&str; 3], [&str; 3]) =
    (["userspace - ", "wait_stub_done : ", "handle_trap - "], ["errno = 3", "status = 0x9", "status = 9"]);

/// A line by which a file system says that it found damage.
struct Sign {
    /// How the file system introduces itself, somewhere in the line.
    who: &'static str,
    /// What it says then; nothing if it never introduces itself like this otherwise.
    what: &'static [&'static str],
}

const fn always(who: &'static str) -> Sign {
    Sign { who, what: &[] }
}

/// What a file system says of what it found on its disk. It may say so after a request has failed. What it says of a
/// disk that was not unmounted, of a log that it replays or of the torn end of one is chatter.
const DAMAGE: [Sign; 27] = [
    // In these words most of them say it, also those that nobody knows here: affs, btrfs, quota, udf, ufs.
    always("error (device vdb"),
    always("(vdb): error"),
    always("EXT2-fs error"),
    always("EXT4-fs error"),
    // Room that was reserved and never used, and data that there was no room for: said without the word error.
    Sign { who: "EXT4-fs (vdb): ", what: &["not cleared!", "This should not happen!!"] },
    always("JBD2: Spotted dirty metadata"),
    Sign {
        who: "XFS (vdb): ",
        what: &["orruption", "CRC error", "nternal error", "has been shut down", "recovery failed", "please report"],
    },
    always("XFS: Assertion failed"),
    always("BTRFS error"),
    always("BTRFS critical"),
    Sign { who: "BTRFS warning", what: &["csum failed", "checksum"] },
    Sign {
        who: "F2FS-fs (vdb): ",
        what: &[
            "onsistent",
            "orrupted",
            "run fsck",
            "access invalid",
            "checksum invalid",
            "ismatch",
            "stop checkpoint",
        ],
    },
    always("NILFS error"),
    Sign { who: "NILFS (vdb): ", what: &["error -", "orrupt", "broken", "bad "] },
    always("ERROR: (device vdb)"),
    always("REISERFS error"),
    always("REISERFS panic"),
    Sign { who: "ntfs3: vdb: ", what: &["Mark volume as dirty", "orrupt", "is not in use", "failed"] },
    Sign { who: "hfsplus: ", what: &["bad ", "orrupt", "inconsist", "trying to free", "unable to find"] },
    Sign { who: "minix_free_block (vdb", what: &["bit already cleared", "nonexistent"] },
    always("minix_free_inode: bit "),
    Sign { who: "MINIX-fs: ", what: &["bad ", "orrupt"] },
    always("jffs2: error: "),
    always("JFFS2 error: "),
    always("UBIFS error "),
    always("UBI error"),
    always("ubi0 error"),
];

impl Sign {
    fn is_in(&self, line: &str) -> bool {
        let says = |rest: &str| self.what.is_empty() || self.what.iter().any(|what| rest.contains(what));
        line.find(self.who).is_some_and(|at| says(&line[at + self.who.len()..]))
    }
}

/// An older part of the text is of no use.
const TEXT_MAX: usize = 1 << 16;
/// Of a complaint, so many bytes are kept: a call trace or two.
const COMPLAINT_MAX: usize = 4096;

/// What was printed so far.
#[derive(Debug)]
pub struct Console {
    pipe: PipeReader,
    text: Vec<u8>,
    /// How much of it was looked at.
    seen: usize,
    open: bool,
    /// What ends the boot, as long as it was not printed.
    boots_until: Option<&'static str>,
}

impl Console {
    /// Nothing was printed yet.
    ///
    /// # Errors
    /// The pipe cannot be read without waiting.
    pub fn new(pipe: PipeReader) -> Result<Self, Errno> {
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        Ok(Self { pipe, text: Vec::new(), seen: 0, open: true, boots_until: None })
    }

    /// The same of a kernel whose boot ends with a line that has this mark. What it says before that is of no file
    /// system, and is forgotten as soon as the line is there, however late it comes through the pipe.
    ///
    /// # Errors
    /// The pipe cannot be read without waiting.
    pub(crate) fn of_boot(pipe: PipeReader, mark: &'static str) -> Result<Self, Errno> {
        Ok(Self { boots_until: Some(mark), ..Self::new(pipe)? })
    }

    /// Whether the kernel has not said yet that it has booted.
    pub(crate) fn is_of_boot(&self) -> bool {
        self.boots_until.is_some()
    }

    /// Forgets the boot, if its end is there.
    fn forget_boot(&mut self) {
        let Some(mark) = self.boots_until.map(str::as_bytes) else { return };
        let Some(at) = self.text.windows(mark.len()).position(|text| text == mark) else { return };
        let Some(line) = self.text[at..].iter().position(|byte| *byte == b'\n') else { return };
        self.text.drain(..=at + line);
        (self.seen, self.boots_until) = (0, None);
    }

    /// Where it comes from.
    pub fn pipe(&self) -> std::os::fd::BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Whether anybody could print more.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Takes in what is there.
    pub fn drain(&mut self) {
        let mut buffer = [0; 4096];
        loop {
            match read(&self.pipe, &mut buffer) {
                Ok(0) => {
                    self.open = false;
                    break;
                }
                Ok(count) => self.text.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.forget_boot();
        if let Some(old) = self.text.len().checked_sub(TEXT_MAX).filter(|old| *old <= self.seen) {
            self.text.drain(..old);
            self.seen -= old;
        }
    }

    /// The first complaint since the last time. Of a kernel that boots nothing is told, since it is too early to say
    /// what is a complaint.
    pub fn complaint(&mut self) -> Option<Complaint> {
        if self.is_of_boot() {
            return None;
        }
        let text = String::from_utf8_lossy(&self.text[self.seen..]).into_owned();
        self.seen = self.text.len();
        complaint(&text)
    }

    /// Whether the kernel has lost a process of the host that it runs its programs in. It panics then, of an init that
    /// is gone.
    pub fn has_lost_a_process(&self) -> bool {
        tells_of_a_lost_process(&String::from_utf8_lossy(&self.text))
    }

    /// What was printed since the last time, or the end of it.
    pub fn since_last(&self) -> String {
        end_of(&self.text[self.seen..])
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        end_of(&self.text)
    }
}

fn tells_of_a_lost_process(text: &str) -> bool {
    let (who, ends) = LOST;
    let tells = |line: &str| who.iter().any(|who| line.contains(who)) && ends.iter().any(|end| line.ends_with(end));
    text.lines().any(|line| tells(line.trim_end()))
}

/// The first complaint in what a kernel printed.
pub fn complaint(text: &str) -> Option<Complaint> {
    let bug = text.lines().find(|line| BUGS.iter().any(|sign| line.contains(sign)));
    let damage = || text.lines().find(|line| DAMAGE.iter().any(|sign| sign.is_in(line)));
    let found = bug.or_else(damage)?;
    // The line is a part of the text.
    let start = found.as_ptr().addr() - text.as_ptr().addr();
    let line = found.trim().to_owned();
    let told = folded(&text[start..]);
    let told = &told[..told.floor_char_boundary(COMPLAINT_MAX)];
    Some(Complaint { line, text: told.trim().to_owned(), is_about_the_disk: bug.is_none() })
}

/// As much of the end as is kept of a complaint.
fn end_of(text: &[u8]) -> String {
    let text = folded(&String::from_utf8_lossy(text));
    let start = text.len().saturating_sub(COMPLAINT_MAX);
    text[text.ceil_char_boundary(start)..].trim().to_owned()
}

/// A line that a kernel prints again and again is quoted once, with how often it came.
fn folded(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let told = lines.chunk_by(|one, next| one == next).map(|equal| match equal {
        [line, _, _, ..] => format!("{line}\n... {} more times\n", equal.len() - 1),
        few => few.join("\n") + "\n",
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_told_from_chatter() {
        let chatter = "EXT4-fs (vdb): mounted filesystem with ordered data mode\nrandom: crng init done\n";
        assert_eq!(complaint(chatter), None);
        let text = format!("{chatter}[ 1.0] EXT4-fs error (device vdb): ext4_lookup:1785: deleted inode\nmore\n");
        let found = complaint(&text).unwrap();
        assert_eq!(found.line, "[ 1.0] EXT4-fs error (device vdb): ext4_lookup:1785: deleted inode");
        assert!(found.text.ends_with("more") && found.is_about_the_disk);
        assert!(!complaint(&format!("{text}BUG: bad page state")).unwrap().is_about_the_disk);
        let long = format!("WARNING: {}", "ä".repeat(COMPLAINT_MAX));
        assert!(complaint(&long).unwrap().text.len() <= COMPLAINT_MAX);
    }

    #[test]
    fn a_line_that_comes_again_and_again_is_quoted_once() {
        let full = "cannot allocate a jffs2_node_frag object\n".repeat(60);
        let text = format!("one\none\n{full}BUG: two\n{full}");
        let folded = "cannot allocate a jffs2_node_frag object\n... 59 more times";
        assert_eq!(end_of(text.as_bytes()), format!("one\none\n{folded}\nBUG: two\n{folded}"));
        assert_eq!(complaint(&text).unwrap().text, format!("BUG: two\n{folded}"));
    }

    #[test]
    fn what_is_said_of_a_process_that_is_gone_is_told_from_what_went_wrong_in_one() {
        let cases = [
            ("userspace - ptrace set regs failed, errno = 3", true),
            ("[ 1.0] userspace - PTRACE_GETREGS failed, errno = 3\r\nKernel panic - not syncing", true),
            ("wait_stub_done : failed to wait for SIGTRAP, pid = 7, n = 7, errno = 11, status = 0x9", true),
            ("wait_stub_done : failed to wait for SIGTRAP, pid = 7, n = 7, errno = 11, status = 0xb7f", false),
            ("userspace - ptrace set regs failed, errno = 38", false),
            ("EXT4-fs (vdb): error: errno = 3", false),
            ("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b", false),
        ];
        for (text, expected) in cases {
            assert_eq!(tells_of_a_lost_process(text), expected, "{text}");
        }
    }

    /// Each as its file system prints it, and what it prints after every power cut.
    #[test]
    fn every_file_system_is_understood() {
        let damage = [
            "XFS (vdb): Metadata corruption detected at xfs_agf_verify+0x1a/0x1b0, xfs_agf block 0x1",
            "XFS (vdb): Corruption detected. Unmount and run xfs_repair",
            "BTRFS error (device vdb): parent transid verify failed on 30408704 wanted 7 found 5",
            "BTRFS critical (device vdb): corrupt leaf: root=5 block=30408704 slot=0",
            "F2FS-fs (vdb): Inconsistent error blkaddr:1537, sit bitmap:0",
            "F2FS-fs (vdb): access invalid blkaddr:1",
            "NILFS error (device vdb): nilfs_bmap_lookup_at_level: broken bmap (inode number=3)",
            "ERROR: (device vdb): dbAllocNext: Corrupt dmap page",
            "REISERFS error (device vdb): vs-13070 reiserfs_read_locked_inode: i/o failure occurred",
            "FAT-fs (vdb): error, fat_get_cluster: invalid cluster chain (i_pos 0)",
            "exFAT-fs (vdb): error, invalid access to FAT (entry 0x00000000)",
            "UBIFS error (ubi0:0 pid 1): ubifs_read_node: bad node type",
            "EXT4-fs (vdb): Inode 12 (0000000061a3f0d8): i_reserved_data_blocks (1) not cleared!",
            "EXT4-fs (vdb): This should not happen!! Data will be lost",
            "EXT2-fs (vdb): error: ext2_free_blocks: bit already cleared for block 70",
            "EXT4-fs (vdb): error loading journal",
            "BTRFS: error (device vdb: state A) in btrfs_run_delayed_refs:2151: errno=-5 IO failure",
            "Quota error (device vdb): do_check_range: Getting block 4 out of range 0-3",
            "UDF-fs: error (device vdb): udf_read_tagged: tag checksum failed",
        ];
        for line in damage {
            assert!(complaint(line).is_some_and(|found| found.is_about_the_disk && found.line == line), "{line}");
        }
        let of_itself =
            complaint("INFO: trying to register non-static key.\nThe code is fine but needs lockdep").unwrap();
        assert!(!of_itself.is_about_the_disk);
        let chatter = [
            "F2FS-fs (vdb): invalid crc value",
            "FAT-fs (vdb): Volume was not properly unmounted. Some data may be corrupt. Please run fsck.",
            "NILFS (vdb): mounting unchecked fs",
            "NILFS (vdb): invalid segment: Checksum error in segment payload",
            "XFS (vdb): Deprecated V4 format (crc=0) will not be supported after September 2030.",
            "BTRFS info (device vdb): using crc32c (crc32c-generic) checksum algorithm",
            "REISERFS warning (device vdb): reiserfs_fill_super: CONFIG_REISERFS_CHECK is set ON",
        ];
        for line in chatter {
            assert_eq!(complaint(line), None, "{line}");
        }
    }

    #[test]
    fn each_complaint_is_heard_once() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut console = Console::new(reader).unwrap();
        std::io::Write::write_all(&mut writer, b"hello\nBUG: sleeping\n").unwrap();
        console.drain();
        assert_eq!(console.since_last(), "hello\nBUG: sleeping");
        assert_eq!(console.complaint().unwrap().line, "BUG: sleeping");
        assert_eq!(console.complaint(), None);
        assert_eq!(console.since_last(), "");
        assert!(console.is_open());
        drop(writer);
        console.drain();
        assert!(!console.is_open() && console.tail().starts_with("hello"));
    }

    #[test]
    fn what_a_kernel_says_while_it_boots_is_forgotten_when_it_has_booted() {
        const MARK: &str = "it has booted";
        let boot = "Core dump limits :\nWARNING: CPU: 0 PID: 1 at crypto/api.c:170\n";
        // The text comes in one piece, or in two that part it anywhere.
        let all = format!("{boot}[ 0.1] {MARK}\nEXT4-fs error (device vdb): deleted inode\n");
        for first in 0..=all.len() {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let mut console = Console::of_boot(reader, MARK).unwrap();
            for part in [&all[..first], &all[first..]] {
                std::io::Write::write_all(&mut writer, part.as_bytes()).unwrap();
                console.drain();
                assert!(!console.complaint().is_some_and(|complaint| complaint.text.contains("crypto")), "{first}");
                assert!(console.is_of_boot() || !console.tail().contains("Core dump"), "{first}");
            }
            assert_eq!(console.tail(), "EXT4-fs error (device vdb): deleted inode", "{first}");
        }
    }

    #[test]
    fn a_kernel_that_panics_while_it_boots_is_quoted() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut console = Console::of_boot(reader, "it has booted").unwrap();
        std::io::Write::write_all(&mut writer, b"hello\nKernel panic - not syncing: no init\n").unwrap();
        console.drain();
        assert_eq!((console.complaint(), console.tail().lines().count()), (None, 2));
    }
}
