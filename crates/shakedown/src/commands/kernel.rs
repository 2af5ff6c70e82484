//! `shakedown kernel`: the kernel in which guest targets run.

use std::{
    io::{IsTerminal as _, Write as _},
    time::Instant,
};

use anyhow::Result;
use guest::build::{Order, Progress, build};

use super::{Verdict, Watch};
use crate::{
    arguments::{Kernel, KernelBuild, KernelCommand},
    screen,
};

/// Does what is asked with kernels.
///
/// # Errors
/// The kernel cannot be built.
pub fn run(arguments: &Kernel) -> Result<Verdict> {
    let KernelCommand::Build(KernelBuild { source, debug, enable, name }) = &arguments.command;
    let start = Instant::now();
    let mut display = Display::default();
    let watch = Watch::begin()?;
    let order = Order {
        source: source.clone(),
        debug: *debug,
        enable: enable.clone(),
        name: name.clone(),
        stop: watch.stop.clone(),
    };
    let built = build(&order, &mut |progress| display.show(&progress));
    display.end();
    let built = built?;
    let how = if built.was_there { "is there already".to_owned() } else { took(start) };
    screen::print(&format!("The kernel {how}: {}\n", built.program.display()))?;
    Ok(Verdict::NothingFound)
}

fn took(start: Instant) -> String {
    format!("was built in {} s", start.elapsed().as_secs())
}

/// How often lines are printed where no terminal shows progress: a build has a few thousand files.
const FILES_A_LINE: u32 = 250;

/// One line that changes on a terminal, and a line now and then elsewhere. All of it goes to standard error.
#[derive(Default)]
struct Display {
    is_dirty: bool,
}

impl Display {
    fn show(&mut self, progress: &Progress) {
        let on_terminal = std::io::stderr().is_terminal();
        match progress {
            Progress::Doing(what) => self.line(what),
            Progress::NotInThisSource(options) => {
                self.line(&format!("this source does not have: {}", options.join(", ")));
            }
            Progress::Compiled(count, file) if on_terminal => {
                self.is_dirty = true;
                // To show progress is not worth an error.
                let _ = write!(std::io::stderr(), "\r\x1b[K{count} files compiled, last {file}");
            }
            Progress::Compiled(count, _) if count.is_multiple_of(FILES_A_LINE) => {
                self.line(&format!("{count} files compiled"));
            }
            Progress::Compiled(..) => {}
        }
    }

    fn line(&mut self, text: &str) {
        self.end();
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            let _ = writeln!(std::io::stderr());
        }
    }
}
