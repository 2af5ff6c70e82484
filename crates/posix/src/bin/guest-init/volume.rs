//! A file system of the running kernel, on a loop device on our disk.

use std::{
    fs::{File, OpenOptions},
    io,
    time::Duration,
};

use posix::{Mounter, loop_device, message::Mount, split_options};
use rustix::mount::{UnmountFlags, mount, unmount};

use super::{
    tick::Tick,
    worker::{Settles, reread},
};

/// A loop device on our disk, and where it is mounted.
pub struct Volume {
    device: File,
    path: String,
    mount_point: String,
    /// The kernel's count of the requests that it has made of the device and that are not answered.
    under_way: File,
    last: Tick,
}

impl Volume {
    pub fn attach(number: u32, disk: &str, mount_point: &str) -> io::Result<Self> {
        let device = loop_device::open(number)?;
        let content = OpenOptions::new().read(true).write(true).open(disk)?;
        loop_device::attach(&device, &content)?;
        // What is read ahead is read in vain, and shows as read.
        std::fs::write(format!("/sys/block/loop{number}/queue/read_ahead_kb"), "0")?;
        let under_way = File::open(format!("/sys/block/loop{number}/inflight"))?;
        let (path, mount_point, last) = (loop_device::path(number), mount_point.to_owned(), Tick::now());
        Ok(Self { device, path, mount_point, under_way, last })
    }

    /// Where the device lies.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// We have the device open, so that the kernel keeps what it looked like to whoever had it mounted before.
    pub fn forget_content(&self) -> rustix::io::Result<()> {
        loop_device::forget_content(&self.device).map_err(|_| rustix::io::Errno::IO)
    }
}

impl Mounter for Volume {
    fn mount(&mut self, how: &Mount) -> rustix::io::Result<()> {
        let (flags, data) = split_options(&how.options);
        let data = std::ffi::CString::new(data).map_err(|_| rustix::io::Errno::INVAL)?;
        self.forget_content()?;
        mount(self.path.as_str(), self.mount_point.as_str(), how.kind.as_str(), flags, data.as_c_str())
    }

    fn before_op(&mut self) -> rustix::io::Result<()> {
        self.last.wait();
        Ok(())
    }

    fn after_op(&mut self) -> rustix::io::Result<()> {
        self.last = Tick::now();
        Ok(())
    }

    fn unmount(&mut self) -> rustix::io::Result<()> {
        unmount(self.mount_point.as_str(), UnmountFlags::empty())
    }

    fn sleep(&mut self, seconds: u32) {
        std::thread::sleep(Duration::from_secs(seconds.into()));
    }
}

impl Settles for Volume {
    fn settle(&mut self) {
        let is_idle = |counts: &str| counts.split_whitespace().all(|count| count == "0");
        while reread(&mut self.under_way).is_some_and(|counts| !is_idle(&counts)) {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
