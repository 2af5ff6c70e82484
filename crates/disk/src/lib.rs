//! The disk under a file system, as a checker needs it.
//!
//! An [`Image`] is the content of a disk, cheap to clone and to hash. A [`Disk`] is what a file system reads and
//! writes; it keeps a [`DiskLog`] of what it was asked. [`crash_states`] says which images a power cut at any
//! position of that log may leave. Around these: which blocks a recovery read ([`ReadSet`], [`Memo`]), failing
//! requests ([`Faults`]) and silently wrong ones ([`Corruptor`]).
//!
//! The fault model. A block (the sector of the device) is written entirely or not at all; nothing larger is. The disk
//! has a volatile cache: a write may reach the medium at any time, in any order, and is sure to be there only after
//! a flush, or when it was a FUA write. A power cut loses the cache, never what the medium has. The medium returns what
//! was written to it unless a fault or a corruptor was armed.
//!
//! ```
//! use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image, Limits, crash_states};
//!
//! let mut disk = Disk::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 16 }));
//! disk.write(Block(1), b"data")?;
//! disk.flush()?;
//! disk.write(Block(2), b"link")?;
//! disk.write(Block(3), b"size")?;
//!
//! // Two writes are pending. A disk that keeps their order can leave 3 images, one that reorders them 4.
//! let count = |mode| crash_states(disk.log(), disk.position(), mode, Limits::default()).count();
//! assert_eq!([count(CrashMode::Prefix), count(CrashMode::Subsets)], [3, 4]);
//! # Ok::<(), disk::IoError>(())
//! ```

mod chunks;
mod clock;
mod corruptor;
mod crash;
mod cut;
mod disk;
mod entries;
mod faults;
mod geometry;
mod image;
mod log;
mod memo;
mod read_set;
mod shape;

pub use clock::OpClock;
pub use corruptor::{Corruption, Corruptor};
pub use crash::{
    CrashMode, CrashState, CrashStates, CrashesAlong, Interrupted, Limits, Taken, TakenEntry, UnknownCrashMode,
    crash_states, interrupted,
};
pub use cut::{Cut, NotPending};
pub use disk::Disk;
pub use faults::{Failing, Fault, Faults, IoCounts, UnseenAllocations};
pub use geometry::{BadBlockSize, Block, BlockSize, Geometry, IoError};
pub use image::{Image, content_hash};
pub use log::{DiskLog, Entry, EntryIndex, EntryKind, OpIndex, Position};
pub use memo::{Memo, MemoCounts, NotDeterministic};
pub use read_set::{EVERYTHING, Read, ReadSet};
pub use shape::{Asked, in_order_of};
