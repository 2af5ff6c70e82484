//! What reaches the user: standard output that may be closed early, and colours where somebody looks.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;

/// Prints to standard output. A reader that has seen enough and left is no error.
///
/// # Errors
/// The text cannot be written for any other reason.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("print the result"),
    }
}

/// Whether and how to emphasise.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// Colours on a terminal whose user has not asked for none.
    pub fn for_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { is_on: wanted && io::stdout().is_terminal() }
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A heading.
    pub fn strong(self, text: &str) -> String {
        self.code("1", text)
    }

    /// Something of lesser weight.
    pub fn faint(self, text: &str) -> String {
        self.code("2", text)
    }

    /// Something is lost.
    pub fn bad(self, text: &str) -> String {
        self.code("1;31", text)
    }

    /// Something is worth knowing.
    pub fn notable(self, text: &str) -> String {
        self.code("1;33", text)
    }

    /// All is well.
    pub fn good(self, text: &str) -> String {
        self.code("1;32", text)
    }
}
