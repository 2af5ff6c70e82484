//! The paths that ops are about: a fixed set of names, so that ops meet each other.

use std::sync::Arc;

use super::random::Random;
use crate::Path;

/// How many paths there are, and of which kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolSize {
    /// Names of files in each directory.
    pub files: u64,
    /// Names of directories in each directory.
    pub dirs: u64,
    /// Components of the longest path.
    pub depth: u64,
    /// How many of the files in each directory have a long name.
    pub long: u64,
    /// How many bytes that is.
    pub long_bytes: u64,
    /// So many more names of files in the root.
    pub many: u64,
    /// How often an op that is about files gets a directory, and the other way round.
    pub other: f64,
}

impl Default for PoolSize {
    fn default() -> Self {
        Self { files: 3, dirs: 2, depth: 2, long: 0, long_bytes: 255, many: 0, other: 0.05 }
    }
}

/// More paths than this are a slip of the pen.
pub(super) const PATHS_MAX: u64 = 100_000;

/// All paths.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    files: Vec<Path>,
    dirs: Vec<Path>,
    other: f64,
}

impl Pool {
    /// The paths; `None` if there are too many, or none of files.
    pub fn new(size: PoolSize) -> Option<Self> {
        let mut pool = Self { files: Vec::new(), dirs: Vec::new(), other: size.other };
        let mut level = vec![Path::root()];
        for _ in 0..size.depth {
            let paths = (pool.files.len() + pool.dirs.len()) as u64 + level.len() as u64 * (size.files + size.dirs);
            if paths > PATHS_MAX {
                return None;
            }
            let dir_of =
                |above: &Path| (0..size.dirs).map(|number| above.join(&format!("d{number}"))).collect::<Vec<_>>();
            let file_of =
                |above: &Path| (0..size.files).map(|number| above.join(&file_name(number, size))).collect::<Vec<_>>();
            pool.files.extend(level.iter().flat_map(file_of));
            level = level.iter().flat_map(dir_of).collect();
            pool.dirs.extend(level.iter().cloned());
        }
        if size.many > PATHS_MAX {
            return None;
        }
        pool.files.extend((0..size.many).map(|number| Path::root().join(&format!("m{number}"))));
        (!pool.files.is_empty()).then_some(pool)
    }

    /// The bytes of the longest name.
    pub fn name_bytes_max(&self) -> usize {
        let names = self.files.iter().chain(&self.dirs).flat_map(|path| path.as_str().split('/'));
        names.map(str::len).max().unwrap_or(0)
    }

    /// The bytes of the longest path.
    #[cfg(test)]
    pub fn path_bytes_max(&self) -> usize {
        self.files.iter().chain(&self.dirs).map(|path| path.as_str().len()).max().unwrap_or(0)
    }

    pub fn file(&self, random: &mut Random) -> Path {
        let other = random.happens(self.other) && !self.dirs.is_empty();
        random.among(if other { &self.dirs } else { &self.files }).clone()
    }

    pub fn dir(&self, random: &mut Random) -> Path {
        let other = random.happens(self.other) || self.dirs.is_empty();
        random.among(if other { &self.files } else { &self.dirs }).clone()
    }

    /// What a symlink says: any of the paths.
    pub fn text(&self, random: &mut Random) -> Arc<str> {
        let all = (self.files.len() + self.dirs.len()) as u64;
        let place = usize::try_from(random.below(all)).expect("a place in a list");
        let path = self.files.get(place).or_else(|| self.dirs.get(place - self.files.len()));
        Arc::from(path.map_or("/", Path::as_str))
    }
}

/// The first few names of a directory may be long.
fn file_name(number: u64, size: PoolSize) -> String {
    let name = format!("f{number}");
    if number >= size.long {
        return name;
    }
    let bytes = usize::try_from(size.long_bytes).unwrap_or(usize::MAX);
    let fill = "-".repeat(bytes.saturating_sub(name.len()));
    name + &fill
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(size: PoolSize) -> Option<(usize, usize)> {
        Pool::new(size).map(|pool| (pool.files.len(), pool.dirs.len()))
    }

    #[test]
    fn every_directory_of_the_pool_has_its_files() {
        let default = PoolSize::default();
        assert_eq!(sizes(default), Some((9, 6)), "three files in the root and in each of its two directories");
        assert_eq!(sizes(PoolSize { depth: 1, many: 50, ..default }), Some((53, 2)));
        assert_eq!(sizes(PoolSize { files: 0, ..default }), None);
        assert_eq!(sizes(PoolSize { depth: 60, ..default }), None);
        assert_eq!(sizes(PoolSize { many: u64::MAX, ..default }), None);
    }

    #[test]
    fn long_names_are_as_long_as_asked() {
        let pool = Pool::new(PoolSize { long: 1, long_bytes: 200, ..PoolSize::default() }).unwrap();
        assert_eq!(pool.name_bytes_max(), 200);
        assert_eq!(pool.files.iter().filter(|path| path.as_str().len() > 100).count(), 3);
    }
}
