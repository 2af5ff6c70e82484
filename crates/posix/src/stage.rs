//! Where steps are done: a file system that is mounted, and the files that ops have opened there.
//!
//! Its root directory is that of the calling thread for as long as it is mounted, so that no path leads out of it. How
//! it comes to be mounted is the [`Mounter`]'s to know.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{Access, CWD, Mode, OFlags, access, openat},
    io,
    mount::MountFlags,
    process::{chdir, chroot, fchdir},
};
use vfs::{Errno, Op, Outcome};

use crate::{
    Files, Unseen, errno,
    message::{Answer, Got, Mount, Step},
    observe,
    observe::open_and_close,
};

/// Mounts the file system under check at the mount point of a stage, and unmounts it.
pub trait Mounter {
    /// Mounts it.
    ///
    /// # Errors
    /// What the kernel answered.
    fn mount(&mut self, how: &Mount) -> io::Result<()>;

    /// Does what is to be done before each op.
    ///
    /// # Errors
    /// What the kernel answered.
    fn before_op(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Does what is to be done after each op.
    ///
    /// # Errors
    /// What the kernel answered.
    fn after_op(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Unmounts it. Nothing of it is in use any more.
    ///
    /// # Errors
    /// What the kernel answered.
    fn unmount(&mut self) -> io::Result<()>;

    /// Forgets everything that was ever stored, where that is in its power.
    ///
    /// # Errors
    /// It is not.
    fn reset(&mut self) -> io::Result<()> {
        Err(io::Errno::OPNOTSUPP)
    }

    /// Ends whoever serves what is mounted, without a warning, and unmounts it.
    ///
    /// # Errors
    /// Nobody does but the kernel.
    fn kill(&mut self) -> io::Result<()> {
        Err(io::Errno::OPNOTSUPP)
    }

    /// The file systems that can be mounted.
    ///
    /// # Errors
    /// Nobody can say.
    fn file_systems(&mut self) -> io::Result<Vec<String>> {
        Err(io::Errno::OPNOTSUPP)
    }

    /// Why the last mount, or reset, came to nothing.
    ///
    /// # Errors
    /// There is nothing to be said but what it returned.
    fn why_not(&mut self) -> io::Result<String> {
        Err(io::Errno::OPNOTSUPP)
    }

    /// Looks for memory that was not given back since the last mount; what the kernel says of it.
    ///
    /// # Errors
    /// This kernel does not look.
    fn find_leaks(&mut self) -> io::Result<String> {
        Err(io::Errno::OPNOTSUPP)
    }

    /// Waits until the kernel is done with what a step left it to do in the background, where that can be known. Then
    /// it does not matter for the next step when that comes.
    fn rest(&mut self) {}

    /// Lets time pass.
    fn sleep(&mut self, seconds: u32);

    /// Does an op.
    ///
    /// # Errors
    /// What the op came to.
    fn perform(&mut self, op: &mut dyn FnMut() -> Outcome) -> Outcome {
        op()
    }

    /// Counts the allocations of memory that the kernel makes in the next call that performs, mounts or unmounts, and
    /// lets the one with this number fail, where that can be done.
    fn watch(&mut self, failing: Option<u32>) {
        let _ = failing;
    }

    /// How many there were, up to the one that failed; none, where they cannot be counted. Nothing is watched any more.
    fn watched(&mut self) -> u32 {
        0
    }
}

/// A mount point with what is there.
#[derive(Debug)]
pub struct Stage<M> {
    mounter: M,
    mount_point: String,
    old_root: OwnedFd,
    files: Files,
    /// What is hidden of what is mounted.
    mounted: Option<Vec<String>>,
    /// Whether it could be written to when it was mounted.
    could_be_written: bool,
}

impl<M: Mounter> Stage<M> {
    /// Nothing is mounted yet.
    ///
    /// # Errors
    /// The root directory cannot be opened.
    pub fn new(mounter: M, mount_point: &str) -> io::Result<Self> {
        let old_root = openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self {
            mounter,
            mount_point: mount_point.to_owned(),
            old_root,
            files: Files::new(),
            mounted: None,
            could_be_written: false,
        })
    }

    /// What mounts here.
    pub fn mounter(&mut self) -> &mut M {
        &mut self.mounter
    }

    /// Does one step.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn step(&mut self, step: &Step) -> Answer {
        let answer = self.perform(step);
        self.mounter.rest();
        answer
    }

    fn perform(&mut self, step: &Step) -> Answer {
        match step {
            Step::Mount(how) => self.mount(how).map(|()| Got::Done),
            Step::Sleep { seconds } => {
                self.mounter.sleep(*seconds);
                Ok(Got::Done)
            }
            Step::Try { step, failing } => {
                self.mounter.watch(*failing);
                let answer = Box::new(self.perform(step));
                Ok(Got::Tried { answer, allocations: self.mounter.watched() })
            }
            Step::FileSystems => self.mounter.file_systems().map(Got::Names).map_err(errno),
            Step::Reset if self.mounted.is_none() => self.mounter.reset().map(|()| Got::Done).map_err(errno),
            Step::FindLeaks if self.mounted.is_none() => self.mounter.find_leaks().map(Got::Said).map_err(errno),
            Step::WhyNot => self.mounter.why_not().map(Got::Said).map_err(errno),
            Step::Reset | Step::FindLeaks => Err(Errno::EBUSY),
            // Without a file system, the root would be the caller's own.
            _ if self.mounted.is_none() => Err(Errno::ENODEV),
            Step::Run(op) => self.run(op)?.map(Got::Value),
            Step::Again(op) => {
                drop(self.run(op)?);
                self.mounter.rest();
                open_and_close(op, self.mounted.as_deref().unwrap_or_default());
                Ok(Got::Done)
            }
            Step::Observe => match observe(self.mounted.as_deref().unwrap_or_default()) {
                Ok(tree) => Ok(Got::Tree(tree)),
                Err(Unseen::Contradicts(how)) => Ok(Got::Said(how)),
                Err(Unseen::Failed(errno)) => Err(errno),
            },
            Step::MayWrite if self.could_be_written => may_write().map(|()| Got::Done).map_err(errno),
            Step::MayWrite => Ok(Got::Done),
            Step::Unmount => self.leave(M::unmount).map(|()| Got::Done),
            Step::Kill => self.leave(M::kill).map(|()| Got::Done),
        }
    }

    /// Does an op; what it came to.
    fn run(&mut self, op: &Op) -> Result<Outcome, Errno> {
        let Self { mounter, files, .. } = self;
        mounter.before_op().map_err(errno)?;
        let outcome = mounter.perform(&mut || files.apply(op));
        mounter.after_op().map_err(errno)?;
        Ok(outcome)
    }

    fn mount(&mut self, how: &Mount) -> Result<(), Errno> {
        if self.mounted.is_some() {
            return Err(Errno::EBUSY);
        }
        self.mounter.mount(how).map_err(errno)?;
        let entered = chroot(self.mount_point.as_str()).and_then(|()| chdir("/"));
        self.mounted = Some(how.hidden.clone());
        if let Err(error) = entered {
            let _ = self.leave(M::unmount);
            return Err(errno(error));
        }
        self.could_be_written = may_write().is_ok();
        Ok(())
    }

    /// Leaves what is mounted, and ends it.
    fn leave(&mut self, end: fn(&mut M) -> io::Result<()>) -> Result<(), Errno> {
        self.files.close_all();
        let left = fchdir(&self.old_root).and_then(|()| chroot(".")).and_then(|()| chdir("/"));
        left.and_then(|()| end(&mut self.mounter)).map_err(errno)?;
        self.mounted = None;
        Ok(())
    }
}

/// Whether the kernel lets anything in the present root be changed. No file system is asked.
fn may_write() -> io::Result<()> {
    access("/", Access::WRITE_OK)
}

/// What of the options is a flag of the system call, and what is left for the file system. Reading must not write, so
/// access times are never kept.
pub fn split_options(options: &str) -> (MountFlags, String) {
    const FLAGS: [(&str, MountFlags); 4] = [
        ("ro", MountFlags::RDONLY),
        ("sync", MountFlags::SYNCHRONOUS),
        ("dirsync", MountFlags::DIRSYNC),
        ("lazytime", MountFlags::LAZYTIME),
    ];
    let flag = |word: &str| FLAGS.iter().find(|(name, _)| *name == word).map(|(_, flag)| *flag);
    let words = || options.split(',').filter(|word| !word.is_empty());
    let flags = words().filter_map(flag).fold(MountFlags::NOATIME, |flags, flag| flags | flag);
    let data: Vec<&str> = words().filter(|word| flag(word).is_none()).collect();
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_between_the_call_and_the_file_system() {
        let (flags, data) = split_options("sync,data=journal,,nobarrier");
        assert_eq!((flags, data.as_str()), (MountFlags::NOATIME | MountFlags::SYNCHRONOUS, "data=journal,nobarrier"));
        assert_eq!(split_options(""), (MountFlags::NOATIME, String::new()));
    }
}
