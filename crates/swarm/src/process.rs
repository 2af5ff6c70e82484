//! Tasks as child processes: started, watched, ended.
//!
//! A task's standard input is a pipe that nobody writes to. When whoever started it is gone, however that came about,
//! the pipe closes and the task ends by itself. Its standard error is one line of JSON now and then: how far it is.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Distinct states so far.
    pub states: u64,
    /// Ops so far.
    pub ops: u64,
    /// The deepest state.
    pub depth: u32,
    /// Violations so far.
    pub violations: u64,
    /// Since it began.
    pub seconds: f64,
}

/// A swarm that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SwarmError {
    /// A process could not be started.
    #[error("start task {number}: {error}")]
    Start {
        /// Which task.
        number: usize,
        /// Why not.
        error: std::io::Error,
    },
}

/// A task that is under way, or was.
struct Busy {
    child: Child,
    moment: Arc<Mutex<Moment>>,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    status: Option<ExitStatus>,
}

/// A swarm under way. Dropped before its end, it kills what is left.
pub struct Running {
    tasks: Vec<Busy>,
    killed: bool,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with nothing found.
    Clean,
    /// By itself, with a violation.
    Violation,
    /// In any other way: what it did is not known, and counts for nothing.
    Died(String),
}

/// How often the swarm looks after its tasks.
const TICK: Duration = Duration::from_millis(100);
/// How long tasks that were asked to end may take for it: they finish what they do and write it down.
const GRACE: Duration = Duration::from_mins(1);

impl Running {
    /// Starts one process for each command; what it prints goes to the file beside it.
    ///
    /// # Errors
    /// One could not be started; those before it are ended.
    pub fn start(commands: Vec<(Command, PathBuf)>) -> Result<Self, SwarmError> {
        let mut running = Self { tasks: Vec::new(), killed: false };
        for (number, (mut command, output)) in (1..).zip(commands) {
            let cannot = |error| SwarmError::Start { number, error };
            let output = File::create(output).map_err(cannot)?;
            let mut child =
                command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped()).spawn().map_err(cannot)?;
            let (moment, said) = (Arc::default(), Arc::default());
            let reader = child.stderr.take().map(|lines| {
                let (moment, said) = (Arc::clone(&moment), Arc::clone(&said));
                thread::spawn(move || listen(BufReader::new(lines), &moment, &said))
            });
            running.tasks.push(Busy { child, moment, said, reader, status: None });
        }
        Ok(running)
    }

    /// Waits for all, calls `show` now and then, and asks all to end when `stop` is set; `kill` ends them at once.
    pub fn wait(&mut self, stop: &AtomicBool, mut show: impl FnMut(&[(Moment, bool)])) -> Vec<Ended> {
        let mut asked_at: Option<Instant> = None;
        while self.is_busy() {
            let moment = |task: &Busy| (task.moment(), task.status.is_none());
            show(&self.tasks.iter().map(moment).collect::<Vec<_>>());
            if stop.load(Ordering::Relaxed) && asked_at.is_none() {
                asked_at = Some(Instant::now());
                self.ask_to_end();
            }
            if asked_at.is_some_and(|asked| asked.elapsed() > GRACE) {
                self.kill();
            }
            thread::sleep(TICK);
        }
        self.tasks.iter_mut().map(Busy::ended).collect()
    }

    /// Whether a task is still under way.
    fn is_busy(&mut self) -> bool {
        for task in self.tasks.iter_mut().filter(|task| task.status.is_none()) {
            task.status = task.child.try_wait().ok().flatten();
        }
        self.tasks.iter().any(|task| task.status.is_none())
    }

    /// Closes the pipes that tasks live by.
    fn ask_to_end(&mut self) {
        self.tasks.iter_mut().for_each(|task| drop(task.child.stdin.take()));
    }

    fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            for task in self.tasks.iter_mut().filter(|task| task.status.is_none()) {
                // One that is gone already needs no killing.
                let _ = task.child.kill();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        for task in &mut self.tasks {
            let _ = task.child.wait();
        }
    }
}

impl Busy {
    fn moment(&self) -> Moment {
        *self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&mut self) -> Ended {
        if let Some(reader) = self.reader.take() {
            // It ends with the pipe; if it panicked, there is nothing that it could still say.
            let _ = reader.join();
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match self.status.and_then(|status| status.code()) {
            Some(0) => Ended::Clean,
            Some(1) => Ended::Violation,
            _ if !said.is_empty() => Ended::Died(said),
            _ => Ended::Died(self.status.map_or_else(|| "it never ended".to_owned(), |status| status.to_string())),
        }
    }
}

/// Keeps the last moment that a task told of, and the last line that was something else.
fn listen(lines: impl BufRead, moment: &Mutex<Moment>, said: &Mutex<String>) {
    for line in lines.lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(now) => *moment.lock().unwrap_or_else(PoisonError::into_inner) = now,
            Err(_) => *said.lock().unwrap_or_else(PoisonError::into_inner) = line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swarm(scripts: &[&str]) -> (tempfile::TempDir, Running) {
        let folder = tempfile::tempdir().unwrap();
        let command = |(number, script): (usize, &&str)| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            (command, folder.path().join(number.to_string()))
        };
        let running = Running::start(scripts.iter().enumerate().map(command).collect()).unwrap();
        (folder, running)
    }

    #[test]
    fn what_did_not_end_by_itself_has_died() {
        let (_folder, mut running) = swarm(&[
            "exit 0",
            "exit 1",
            "echo 'error: could not do it' >&2; exit 2",
            "kill -9 $$",
            r#"echo '{"states":5,"ops":9,"depth":2,"violations":0,"seconds":0.5}' >&2"#,
        ]);
        let mut last = Vec::new();
        let ended = running.wait(&AtomicBool::new(false), |moments| last = moments.to_vec());
        assert_eq!(ended[..2], [Ended::Clean, Ended::Violation]);
        assert_eq!(ended[2], Ended::Died("error: could not do it".to_owned()));
        assert!(matches!(&ended[3], Ended::Died(how) if how.contains("signal: 9")), "{:?}", ended[3]);
        assert_eq!(ended[4], Ended::Clean);
        assert_eq!(running.tasks[4].moment().states, 5);
    }

    #[test]
    fn tasks_that_are_asked_to_end_see_their_input_close() {
        let (_folder, mut running) = swarm(&["cat; exit 1", "cat"]);
        assert_eq!(running.wait(&AtomicBool::new(true), |_| {}), [Ended::Violation, Ended::Clean]);
    }

    #[test]
    fn nothing_is_left_of_a_swarm_that_is_dropped() {
        let (_folder, running) = swarm(&["sleep 1000"]);
        let id = running.tasks[0].child.id();
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
