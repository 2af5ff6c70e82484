//! Programs of a build, which end with all that they have started as soon as the build is asked to end.

use std::{
    io::{self, BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Command, ExitStatus},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use explore::Stop;
use rustix::process::{Pid, Signal, kill_process_group};

/// How soon somebody notices that the build is to end.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs a program to its end and hands on what it prints, line by line. It is in a group of its own: a compiler is told
/// to end as `make` is, and removes what it has half written.
pub(super) fn run(mut command: Command, stop: &Stop, line: &mut dyn FnMut(String)) -> io::Result<ExitStatus> {
    let (output, errors) = io::pipe()?;
    command.stdout(errors.try_clone()?).stderr(errors).process_group(0);
    let mut child = command.spawn()?;
    // The command holds the other ends of the pipe, which would never end.
    drop(command);
    let group = Pid::from_child(&child);
    thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if stop.is_stopped() {
                    // One that is gone already is what is wanted.
                    let _ = kill_process_group(group, Signal::TERM);
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, stop: &Stop, line: &mut dyn FnMut(String)) -> io::Result<ExitStatus> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        run(command, stop, line)
    }

    #[test]
    fn what_a_program_prints_is_handed_on_with_its_status() {
        let mut lines = Vec::new();
        let status = shell("echo a; echo b >&2; exit 3", &Stop::default(), &mut |line| lines.push(line)).unwrap();
        assert_eq!((status.code(), lines.as_slice()), (Some(3), &["a".to_owned(), "b".to_owned()][..]));
    }

    /// The shell waits for a program of its own, as `make` for a compiler; the pipe is open until that is gone, too.
    #[test]
    fn a_program_that_is_stopped_ends_with_all_that_it_has_started() {
        let (stop, start) = (Stop::default(), Instant::now());
        let error = shell("(sleep 600; :) & echo; wait", &stop, &mut |_| stop.stop()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(start.elapsed() < Duration::from_mins(1));
    }
}
