//! Ops as somebody else: effective ids for the time of one op.
//!
//! On Linux the ids of a thread are its own as long as they are changed by plain system calls. Root's ids stay saved,
//! so there is a way back.

use rustix::{
    fs::{Gid, Uid},
    io,
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use vfs::Credentials;

/// The calling thread while it is somebody else. It is root again when this is dropped.
#[derive(Debug)]
pub struct Caller(());

impl Caller {
    /// Gives the calling thread these effective ids; `None` if it has them anyway, because they are root's.
    ///
    /// # Errors
    /// The thread does not run as root.
    pub fn become_user(user: &Credentials) -> io::Result<Option<Self>> {
        if *user == Credentials::default() {
            return Ok(None);
        }
        become_ids(user)?;
        Ok(Some(Self(())))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        become_ids(&Credentials::default()).expect("root's ids were saved");
    }
}

fn become_ids(user: &Credentials) -> io::Result<()> {
    set_thread_res_uid(None, Uid::ROOT, None)?;
    let groups: Vec<Gid> = user.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    set_thread_groups(&groups)?;
    set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
    set_thread_res_uid(None, Uid::from_raw(user.uid), None)
}
