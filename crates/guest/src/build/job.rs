//! Programs of a build, which end with all that they have started as soon as the build is asked to end, or is gone.

use std::{
    io::{self, BufRead as _, BufReader},
    os::{
        fd::{AsFd as _, AsRawFd as _},
        unix::process::CommandExt as _,
    },
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use explore::Stop;

use crate::start;

/// How soon somebody notices that the build is to end.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs a program to its end and hands on what it prints, line by line. The process above it ends it when we let go of
/// that, and when we die.
pub(super) fn run(command: &Command, stop: &Stop, line: &mut dyn FnMut(String)) -> io::Result<ExitStatus> {
    let (output, errors) = io::pipe()?;
    let mut above = accompanied(command)?;
    // A Ctrl-C is for us to hear.
    above.stdin(Stdio::piped()).stdout(errors.try_clone()?).stderr(errors).process_group(0);
    let mut child = above.spawn()?;
    // The command holds the other ends of the pipe, which would never end.
    drop(above);
    let mut lifeline = child.stdin.take();
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if stop.is_stopped() {
                    drop(lifeline.take());
                }
            }
        });
        let read = BufReader::new(output).split(b'\n').try_for_each(|bytes| {
            line(String::from_utf8_lossy(&bytes?).into_owned());
            io::Result::Ok(())
        });
        let status = child.wait();
        drop(end);
        read?;
        if stop.is_stopped() { Err(io::ErrorKind::Interrupted.into()) } else { status }
    })
}

/// The same command with a process above it.
fn accompanied(command: &Command) -> io::Result<Command> {
    let mut above = Command::new(format!("/proc/self/fd/{}", start::program()?.as_fd().as_raw_fd()));
    above.arg("accompany").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => above.env(name, value),
            None => above.env_remove(name),
        };
    }
    Ok(above)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, stop: &Stop, line: &mut dyn FnMut(String)) -> io::Result<ExitStatus> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        run(&command, stop, line)
    }

    #[test]
    fn what_a_program_prints_is_handed_on_with_its_status() {
        let mut lines = Vec::new();
        let status = shell("echo a; echo b >&2; exit 3", &Stop::default(), &mut |line| lines.push(line)).unwrap();
        assert_eq!((status.code(), lines.as_slice()), (Some(3), &["a".to_owned(), "b".to_owned()][..]));
    }

    /// The shell waits for a program of its own, as `make` for a compiler; the pipe is open until that is gone, too. It
    /// ends because its lifeline does, as it would if this process had been killed.
    #[test]
    fn a_program_that_is_stopped_ends_with_all_that_it_has_started() {
        let (stop, start) = (Stop::default(), Instant::now());
        let error = shell("(sleep 600; :) & echo; wait", &stop, &mut |_| stop.stop()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(start.elapsed() < Duration::from_mins(1));
    }
}
