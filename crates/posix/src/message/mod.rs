//! What travels between a guest's init and whoever gives it work: a batch of steps there, one answer for each back.
//!
//! A message costs a guest as much as ten system calls, so everything that is known to follow goes into one batch. Both
//! ways travel through a mailbox, a disk of its own: init reads a batch at [`BATCH_AT`] and stores the answers at
//! [`ANSWERS_AT`]. Each is a frame: its length, then JSON.

mod tree;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use vfs::{Errno, Op, Tree, Value};

/// What init is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Mount the disk under check, at a moment that is always the same.
    Mount(Mount),
    /// Do an op.
    Run(Op),
    /// Do an op, mount or unmount, and count the allocations of memory that the kernel makes in that very call.
    Try {
        /// What is done.
        step: Box<Step>,
        /// Which of these allocations fails, counted from 0.
        failing: Option<u32>,
    },
    /// Do an op that was done and looked at before, and of what looking means do only what may change something: open
    /// the files that it may have changed, and close them. Its outcome is known.
    Again(Op),
    /// Look at all of it.
    Observe,
    /// Say why the last mount, or [`Step::Reset`], came to nothing, as far as that is known beyond its errno.
    WhyNot,
    /// Ask whether what could be written to when it was mounted still can: `EROFS` if not.
    MayWrite,
    /// Close all files and unmount.
    Unmount,
    /// Look for memory that what was mounted last has not given back. Nothing is mounted.
    FindLeaks,
    /// Forget everything that was ever stored; nothing is mounted.
    Reset,
    /// End whoever serves what is mounted, without a warning. Nothing is mounted then.
    Kill,
    /// Say which file systems the kernel has.
    FileSystems,
    /// Let virtual time pass, so that the kernel does what it has put off.
    Sleep {
        /// For so long.
        seconds: u32,
    },
}

/// How the disk under check is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The kernel's name for the file system.
    pub kind: String,
    /// What the disk is to the file system.
    pub medium: Medium,
    /// As after `mount -o`, without spaces; may be empty.
    pub options: String,
    /// Names in the root that are no part of what a user sees, see [`is_hidden`](crate::is_hidden).
    pub hidden: Vec<String>,
    /// Caches of kernel objects that must be empty before, as `/sys/kernel/slab` calls them: for file systems that
    /// write to the disk what an earlier owner left in an object.
    pub emptied: Vec<String>,
}

/// What a disk is to a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// A disk.
    #[default]
    Disk,
    /// Flash memory, as which the kernel presents the disk.
    Flash,
    /// A volume of such flash memory, whose blocks are worn evenly. It is made if there is none.
    FlashVolume,
}

/// What came of a step.
pub type Answer = Result<Got, Errno>;

/// What a step that went well gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Got {
    /// It was done, and there is nothing more to say.
    Done,
    /// These are there.
    Names(Vec<String>),
    /// An op returned this.
    Value(Value),
    /// What was tried came to this.
    Tried {
        /// What the step gave.
        answer: Box<Answer>,
        /// The allocations that it made, up to the one that failed. None, if the kernel cannot count them.
        allocations: u32,
    },
    /// The kernel said this, or nothing; or, in place of a tree, how what was seen contradicts itself.
    Said(String),
    /// This was seen.
    #[serde(with = "tree")]
    Tree(Tree),
}

/// What init has its kernel print before it does anything: all that stands before it is of the boot.
pub const BOOTED: &str = "guest-init: the kernel has booted";

/// How the supervisor of a guest ends whose kernel was ended by somebody else.
pub const KERNEL_WAS_KILLED: u8 = 3;

/// Where in the mailbox a batch is read. Not at its beginning, nor near it: kernels look for partitions there.
pub const BATCH_AT: u64 = 1 << 20;
/// Where in the mailbox answers are stored.
pub const ANSWERS_AT: u64 = 1 << 24;
/// The size of the mailbox.
pub const MAILBOX_BYTES: u64 = 2 * ANSWERS_AT;
/// There is as much room for a batch.
const FRAME_BYTES_MAX: u64 = ANSWERS_AT - BATCH_AT;
/// How much init reads at once to see how long a batch is.
pub const FIRST_READ: usize = 4096;
/// The least that can be transferred.
pub const SECTOR: usize = 512;

const LENGTH: usize = size_of::<u32>();

/// A message that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// It is longer than its place in the mailbox.
    #[error("send a message of {0} bytes: the mailbox has no room for it")]
    TooLong(usize),
    /// It ends before its length says so.
    #[error("read a message: it is cut off")]
    CutOff,
    /// It says something else.
    #[error("read a message: {0}")]
    NotUnderstood(#[from] serde_json::Error),
}

/// A message as bytes, filled up to whole sectors.
///
/// # Errors
/// It does not fit into the mailbox.
pub fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, BadMessage> {
    let mut bytes = vec![0; LENGTH];
    serde_json::to_writer(&mut bytes, message)?;
    let len = bytes.len() - LENGTH;
    let length = u32::try_from(len).ok().filter(|_| bytes.len() as u64 <= FRAME_BYTES_MAX - SECTOR as u64);
    bytes[..LENGTH].copy_from_slice(&length.ok_or(BadMessage::TooLong(len))?.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    Ok(bytes)
}

/// How long the frame is that begins like this, in whole sectors.
///
/// # Errors
/// These are not even the bytes of a length, or nothing so long can be in the mailbox.
pub fn frame_len(beginning: &[u8]) -> Result<usize, BadMessage> {
    let length = beginning.first_chunk::<LENGTH>().ok_or(BadMessage::CutOff)?;
    let len = (u32::from_le_bytes(*length) as usize + LENGTH).next_multiple_of(SECTOR);
    if len as u64 <= FRAME_BYTES_MAX { Ok(len) } else { Err(BadMessage::TooLong(len)) }
}

/// The message in a frame.
///
/// # Errors
/// It is cut off or says something else.
pub fn unframe<T: DeserializeOwned>(frame: &[u8]) -> Result<T, BadMessage> {
    let (length, rest) = frame.split_first_chunk::<LENGTH>().ok_or(BadMessage::CutOff)?;
    let message = rest.get(..u32::from_le_bytes(*length) as usize).ok_or(BadMessage::CutOff)?;
    Ok(serde_json::from_slice(message)?)
}

#[cfg(test)]
mod tests {
    use vfs::Reference;

    use super::*;

    #[test]
    fn batches_and_answers_survive_the_way() {
        let ops = ["mkdir(\"/d\")", "create(\"/d/f\")", "write(\"/d/f\", offset=5, len=4096, fill=7)"];
        let more = ["link(\"/d/f\", \"/g\")", "symlink(\"d\", \"/s\")", "setxattr(\"/d\", \"user.a\", len=3, fill=1)"];
        let ops: Vec<Op> = ops.iter().chain(&more).map(|op| op.parse().unwrap()).collect();
        let batch: Vec<Step> = ops.iter().cloned().map(Step::Run).collect();
        let framed = frame(&batch).unwrap();
        assert_eq!((framed.len() % SECTOR, frame_len(&framed).unwrap()), (0, framed.len()));
        assert_eq!(unframe::<Vec<Step>>(&framed).unwrap(), batch);

        let mut reference = Reference::new();
        let mut answers: Vec<Answer> = ops.iter().map(|op| reference.apply(op).map(Got::Value)).collect();
        answers.extend([Ok(Got::Tree(reference.tree())), Err(Errno::ENODEV)]);
        let back: Vec<Answer> = unframe(&frame(&answers).unwrap()).unwrap();
        let Some(Ok(Got::Tree(tree))) = back.get(ops.len()) else { panic!("{back:?}") };
        assert!(tree.same_as(&reference.tree()) && tree.nodes.len() == 4, "{tree}");
        assert!(matches!(back[ops.len() + 1], Err(Errno::ENODEV)));
    }

    #[test]
    fn damaged_frames_are_refused() {
        let framed = frame(&vec![Step::Observe]).unwrap();
        assert!(unframe::<Vec<Step>>(&framed[..6]).is_err());
        assert!(unframe::<Vec<Step>>(&[]).is_err());
        assert!(unframe::<Vec<Step>>(&[2, 0, 0, 0, b'{', b'}']).is_err());
        assert!(frame_len(&[0xff; 4]).is_err() && frame_len(&[1]).is_err());
    }
}
