//! `shakedown mount`: the reference as a file system.

use std::{io::Read as _, os::unix::net::UnixStream, thread};

use anyhow::{Context as _, Result};
use reffs::{Ender, Options};
use signal_hook::{consts::TERM_SIGNALS, low_level::pipe};

use super::Verdict;
use crate::{arguments::Mount, quantity, screen};

/// Serves it until somebody unmounts it or a signal comes.
///
/// # Errors
/// It cannot be mounted, or the kernel ended the conversation.
pub fn run(arguments: &Mount) -> Result<Verdict> {
    let mut options = Options { capacity: arguments.capacity, inodes: arguments.inodes, ..Options::default() };
    options.threads = arguments.threads.map_or(options.threads, usize::from);
    let signals = signals()?;
    let mount = reffs::Mount::start(&arguments.dir, &options)?;
    let ender = mount.ender();
    thread::spawn(move || end_on_signal(signals, &ender));
    let (capacity, inodes) = (quantity::bytes(options.capacity), quantity::count(options.inodes));
    let dir = mount.dir().display();
    screen::print(&format!("Mounted on {dir} ({capacity}, {inodes} inodes). Ctrl-C or `umount {dir}` ends it.\n"))?;
    mount.wait().with_context(|| format!("serve {dir} any longer"))?;
    Ok(Verdict::NothingFound)
}

/// Where every signal that asks us to end is written to. It is there before anything is mounted.
fn signals() -> Result<UnixStream> {
    let (read, write) = UnixStream::pair().context("watch for signals")?;
    for signal in TERM_SIGNALS.iter().chain(&[signal_hook::consts::SIGHUP]) {
        write.try_clone().and_then(|write| pipe::register(*signal, write)).context("watch for signals")?;
    }
    Ok(read)
}

fn end_on_signal(mut signals: UnixStream, ender: &Ender) {
    if signals.read_exact(&mut [0]).is_ok() {
        ender.end();
    }
}
