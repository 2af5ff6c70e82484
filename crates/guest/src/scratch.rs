//! Folders of ours among the temporary files. Each is named after the process that has it, so that one whose process
//! was killed can be told from one that is in use.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::process::Pid;

/// What a folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// The working directory of a guest kernel.
    Guest,
    /// What the tasks of a swarm write.
    Swarm,
}

impl Scratch {
    const ALL: [Self; 2] = [Self::Guest, Self::Swarm];

    fn beginning(self) -> &'static str {
        match self {
            Self::Guest => "shakedown-guest-",
            Self::Swarm => "shakedown-swarm-",
        }
    }

    /// A path that no other folder of this process has.
    pub fn path(self) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        std::env::temp_dir().join(format!("{}{}-{number}", self.beginning(), std::process::id()))
    }
}

/// The process whose folder this is, if it has the name of one of ours.
pub fn owner(folder: &Path) -> Option<Pid> {
    let name = folder.file_name()?.to_str()?;
    let rest = Scratch::ALL.iter().find_map(|one| name.strip_prefix(one.beginning()))?;
    let (pid, number) = rest.split_once('-')?;
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(pid) && is_number(number)).then(|| pid.parse().ok().and_then(Pid::from_raw))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_folders_and_no_others_have_an_owner() {
        for path in Scratch::ALL.map(Scratch::path) {
            assert_eq!(owner(&path), Some(rustix::process::getpid()), "{}", path.display());
        }
        let others = ["shakedown-guest-1", "shakedown-guest-1-", "shakedown-guest-+1-0", "shakedown-other-1-0"];
        for name in
            others.into_iter().chain(["my-shakedown-guest-1-0", "shakedown-guest-1-0.bak", "shakedown-guest-0-0"])
        {
            assert_eq!(owner(&Path::new("/tmp").join(name)), None, "{name}");
        }
    }
}
