//! Where built kernels lie, and what belongs to one.

use std::path::PathBuf;

/// The folder for what can be made again.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("shakedown/kernels"))
}
