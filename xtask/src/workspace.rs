//! Where things are: the repository, the build folder, and what `cargo metadata` says of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::process;

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// A `cargo` command in the workspace, of the same toolchain that runs this task.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// What `cargo metadata --no-deps` says, as far as tasks need it.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The members of the workspace.
    pub packages: Vec<Package>,
    /// The build folder.
    pub target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// The crate's name.
    pub name: String,
    /// Everything its manifest asks for, for building and for testing alike.
    pub dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependencies.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The name of the crate it asks for.
    pub name: String,
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo cannot read the workspace.
    pub fn read() -> Result<Self> {
        let text = process::capture(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        serde_json::from_str(&text).context("could not read the answer of cargo metadata")
    }

    /// An empty folder for a task's own files, inside the build folder.
    ///
    /// # Errors
    /// When an old one cannot be removed or the new one cannot be made.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.target_directory.join("xtask").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("could not empty {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        Ok(folder)
    }
}
