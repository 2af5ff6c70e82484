//! Folders of ours among the temporary files. Each is named after the process that has it, so that one whose process
//! was killed can be told from one that is in use.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use posix::process_name;

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
        std::env::temp_dir().join(format!("{}{}-{number}", self.beginning(), process_name::own()))
    }
}

/// Whether this is a folder of ours whose process is gone for certain; `None` if it has not the name of one of ours.
pub fn is_left_over(folder: &Path) -> Option<bool> {
    let name = folder.file_name()?.to_str()?;
    let rest = Scratch::ALL.iter().find_map(|one| name.strip_prefix(one.beginning()))?;
    let (process, number) = rest.split_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    process_name::is_gone(process).filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_folders_and_no_others_are_known_by_their_names() {
        for path in Scratch::ALL.map(Scratch::path) {
            assert_eq!(is_left_over(&path), Some(false), "{}", path.display());
        }
        let others = ["shakedown-guest-1.1", "shakedown-guest-1.1-", "shakedown-guest-1-0", "shakedown-other-1.1-0"];
        let more = ["my-shakedown-guest-1.1-0", "shakedown-guest-1.1-0.bak", "shakedown-guest-1.0-0"];
        for name in others.into_iter().chain(more) {
            assert_eq!(is_left_over(&Path::new("/tmp").join(name)), None, "{name}");
        }
    }
}
