//! `shakedown swarm`: many diversified searches of one target, each in a process of its own.

use std::{
    fs,
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::Ordering,
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};
use guest::scratch::{Scratch, is_left_over};
use serde_json::{Value, json};
use swarm::{Ended, Merged, Running, Task, Variety, diversify, merge};

use super::{Verdict, Watch, check::bounds};
use crate::{
    arguments::Swarm,
    quantity::{count, plural, seconds},
    registry::Named,
    screen::{self, Paint},
    settings::Settings,
    tasks_display::TasksDisplay,
};

const SUMMARY: &str = "swarm.json";
const TASKS: &str = "tasks";
const TRACES: &str = "traces";

/// Runs a swarm.
///
/// # Errors
/// Wrong usage, a folder that cannot be used, or tasks that died with nothing found by the others.
pub fn run(arguments: &Swarm) -> Result<Verdict> {
    let named = Named::parse(&arguments.target)?.against(&arguments.against)?;
    // What a task would refuse is refused once, and before there are any.
    let settings = Settings::new(&named, &arguments.plan())?;
    named.ready()?;
    bounds(&arguments.budget, settings.depth_max)?;
    let watch = Watch::begin()?;
    let stop = &watch.stop;
    let folder = TaskFolder::new(arguments.out.as_deref())?;
    let weights = arguments.ops.as_deref().filter(|ops| is_weights(ops));
    let weights = weights.map(|file| fs::read_to_string(file).with_context(|| format!("read {file}"))).transpose()?;
    let variety = Variety {
        seed: arguments.seed.unwrap_or(0),
        has_weights: weights.is_some(),
        has_budget: !arguments.budget.is_empty(),
    };
    let tasks = diversify(usize::from(arguments.tasks), variety);
    let commands: Result<Vec<_>> =
        tasks.iter().map(|task| command(arguments, task, &folder, weights.as_deref())).collect();
    let started = Instant::now();
    let mut running = Running::start(commands?)?;
    let mut display = TasksDisplay::new(arguments.json);
    let ended = running.wait(&stop.flag(), |moments| display.show(moments, started.elapsed()));
    display.end();
    let merged = merge(tasks.into_iter().zip(ended).map(|(task, ended)| folder.collect(task, ended)).collect());
    let elapsed = started.elapsed().as_secs_f64();
    let summary = summary(arguments, &merged, elapsed, stop.flag().load(Ordering::Relaxed));
    folder.write(&summary, &merged)?;
    screen::print(&if arguments.json {
        format!("{summary:#}\n")
    } else {
        text(&merged, elapsed, &folder, Paint::for_stdout())
    })?;
    let died = merged.tasks.iter().find_map(|task| Some((task.number, task.died.as_ref()?)));
    match died {
        Some((number, how)) if merged.violations.is_empty() => {
            bail!("finish {} of {} tasks; task {number}: {how}", merged.dead, merged.tasks.len())
        }
        _ => Ok(Verdict::of(!merged.violations.is_empty())),
    }
}

fn is_weights(ops: &str) -> bool {
    Path::new(ops).extension().is_some_and(|extension| extension == "toml")
}

/// The command of one task.
fn command(arguments: &Swarm, task: &Task, folder: &TaskFolder, weights: Option<&str>) -> Result<(Command, PathBuf)> {
    let own = folder.of(task.number);
    fs::create_dir_all(&own).with_context(|| format!("make {}", own.display()))?;
    let mut command = Command::new(std::env::current_exe().context("find this program")?);
    command.arg("check").arg(&arguments.target).args(["--threads", "1", "--json"]).args(task.flags());
    command.arg("--as-task").arg(own.join("states"));
    for other in &arguments.against {
        command.args(["--against", other]);
    }
    if let Some(ops) = &arguments.ops {
        let file = own.join("weights.toml");
        if let Some(weights) = weights {
            fs::write(&file, task.weights(weights)).with_context(|| format!("write {}", file.display()))?;
            command.arg("--ops").arg(file);
        } else {
            command.args(["--ops", ops]);
        }
    }
    let numbers = [
        ("--depth", arguments.depth.map(u64::from)),
        ("--files", arguments.files.map(|files| files as u64)),
        ("--dirs", arguments.dirs.map(|dirs| dirs as u64)),
    ];
    for (flag, number) in numbers.into_iter().filter_map(|(flag, number)| Some((flag, number?))) {
        command.args([flag, &number.to_string()]);
    }
    if let Some(crash) = arguments.crash {
        command.args(["--crash", &crash.to_string()]);
    }
    if !arguments.budget.is_empty() {
        let bounds: Vec<String> = arguments.budget.iter().map(ToString::to_string).collect();
        command.args(["--budget", &bounds.join(",")]);
    }
    if arguments.until_violation {
        command.arg("--until-violation");
    }
    Ok((command, own.join("summary.json")))
}

/// Where tasks write: the folder that the user names, or one that is gone afterwards.
struct TaskFolder {
    path: PathBuf,
    is_kept: bool,
}

impl TaskFolder {
    fn new(out: Option<&Path>) -> Result<Self> {
        let Some(out) = out else {
            return Ok(Self { path: Scratch::Swarm.path(), is_kept: false });
        };
        let shown = out.display();
        if out.exists() {
            let names = fs::read_dir(out).with_context(|| format!("use the folder {shown}"))?;
            for name in names {
                let name = name.with_context(|| format!("use the folder {shown}"))?.file_name();
                let is_ours = [SUMMARY, TASKS, TRACES].iter().any(|ours| name == *ours);
                ensure!(is_ours, "use the folder {shown}: it has {}, which is not of a swarm", name.display());
            }
            for earlier in [TASKS, TRACES] {
                let _ = fs::remove_dir_all(out.join(earlier));
            }
        }
        Ok(Self { path: out.to_owned(), is_kept: true })
    }

    fn of(&self, number: usize) -> PathBuf {
        self.path.join(TASKS).join(format!("{number:03}"))
    }

    /// What a task left. Its states are of use only to count what tasks have in common.
    fn collect(&self, task: Task, ended: Ended) -> (Task, Ended, Option<String>, Vec<u64>) {
        let own = self.of(task.number);
        let states = fs::read(own.join("states")).unwrap_or_default();
        let _ = fs::remove_file(own.join("states"));
        let hash = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let hashes = states.chunks_exact(8).map(hash).collect();
        (task, ended, fs::read_to_string(own.join("summary.json")).ok(), hashes)
    }

    /// Where the trace of a violation is kept, if the folder is.
    fn trace(&self, number: usize) -> Option<PathBuf> {
        self.is_kept.then(|| self.path.join(TRACES).join(format!("{number:03}.json")))
    }

    fn write(&self, summary: &Value, merged: &Merged) -> Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        let write = |file: &Path, json: &Value| {
            fs::write(file, format!("{json:#}\n")).with_context(|| format!("write {}", file.display()))
        };
        let traces = self.path.join(TRACES);
        fs::create_dir_all(&traces).with_context(|| format!("make {}", traces.display()))?;
        for (file, found) in (1..).map_while(|number| self.trace(number)).zip(&merged.violations) {
            write(&file, &found.trace)?;
        }
        write(&self.path.join(SUMMARY), summary)
    }
}

impl Drop for TaskFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // A folder in the way of nobody; there may be none yet.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A task that outlives who started it: it removes the folder of all tasks when it ends, since nobody else is left that
/// could. The last one to end leaves nothing.
pub struct Heir {
    folder: PathBuf,
    parent: u32,
}

impl Heir {
    /// For a task that writes its states there; `None` if the folder is one that the user wants kept.
    pub fn of(states: &Path) -> Option<Self> {
        // The file lies in the task's folder, that among the tasks, and these in the folder of the swarm.
        let folder = states.ancestors().nth(3)?.to_owned();
        is_left_over(&folder)?;
        Some(Self { folder, parent: parent_id() })
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        if parent_id() != self.parent {
            // Another one may be at it too.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn summary(arguments: &Swarm, merged: &Merged, seconds: f64, interrupted: bool) -> Value {
    let mut summary = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": arguments.target,
        "against": arguments.against,
        "seconds": seconds,
        "interrupted": interrupted,
    });
    let merged = serde_json::to_value(merged).expect("plain data");
    if let (Value::Object(summary), Value::Object(merged)) = (&mut summary, merged) {
        summary.extend(merged);
    }
    summary
}

fn text(merged: &Merged, elapsed: f64, folder: &TaskFolder, paint: Paint) -> String {
    let mut lines: Vec<String> = Vec::new();
    for task in &merged.tasks {
        let how = format!("{:>3}  {:<6} {:<8} seed {}", task.number, task.search, task.visited, task.seed);
        let came_to = match &task.died {
            Some(died) => paint.bad(&format!("died: {died}")),
            None if task.violations.is_empty() => format!("{} states, {} ops", count(task.states), count(task.ops)),
            None => format!(
                "{} states, {} ops, violated: {}",
                count(task.states),
                count(task.ops),
                task.violations.join(", ")
            ),
        };
        lines.push(format!("{}  {came_to}", paint.faint(&how)));
    }
    let overlap = &merged.overlap;
    lines.push(String::new());
    lines.push(format!(
        "{} distinct states, {} of them ({:.1} %) seen by more than one task; {} ops in {}",
        count(overlap.states_distinct),
        count(overlap.states_shared),
        overlap.overlap * 100.0,
        count(merged.ops),
        seconds(elapsed)
    ));
    for (number, found) in (1..).zip(&merged.violations) {
        let tasks: Vec<String> = found.tasks.iter().map(ToString::to_string).collect();
        let heading = paint.bad(&format!("✗ {} ({}),", found.property, found.severity));
        let repeats = if found.nondeterministic { ", nondeterministic" } else { "" };
        lines.push(format!("{heading} {}{repeats}, by task {}", plural(found.count, "time"), tasks.join(", ")));
        lines.extend(found.trace["detail"].as_str().map(|detail| format!("  {detail}")));
        lines.extend(folder.trace(number).map(|file| format!("  See it again: shakedown replay {}", file.display())));
    }
    if !folder.is_kept && !merged.violations.is_empty() {
        lines.push("Use --out DIR to keep the traces.".to_owned());
    }
    if merged.violations.is_empty() {
        lines.push(paint.good("No violation."));
    }
    if merged.dead > 0 {
        lines.push(paint.bad(&format!(
            "{} died, and what they would have found is not known.",
            plural(merged.dead as u64, "task")
        )));
    }
    lines.join("\n") + "\n"
}
