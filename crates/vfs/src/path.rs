//! Absolute paths below the root of the file system under check.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An absolute path. Cheap to clone; any bytes that UTF-8 allows may stand between the slashes, so that odd names
/// (empty components, `.`, `..`, names that are too long) can be asked for; but for a zero byte, at which the text ends
/// for every call.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(Arc<str>);

/// A text that is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPath {
    /// It does not start at the root.
    #[error("use the path {0:?}: it does not start with '/'")]
    NotAbsolute(String),
    /// No call can pass it on.
    #[error("use the path {0:?}: it has a zero byte, at which it would end")]
    ZeroByte(String),
}

impl Path {
    /// The root directory.
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Checks that the text is absolute.
    ///
    /// # Errors
    /// The text does not start with `/`, or it has a zero byte.
    pub fn new(text: &str) -> Result<Self, InvalidPath> {
        match text {
            _ if text.contains('\0') => Err(InvalidPath::ZeroByte(text.to_owned())),
            _ if text.starts_with('/') => Ok(Self(Arc::from(text))),
            _ => Err(InvalidPath::NotAbsolute(text.to_owned())),
        }
    }

    /// The path of `name` in this directory.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        if &*self.0 == "/" {
            Self(Arc::from(format!("/{name}")))
        } else {
            Self(Arc::from(format!("{}/{name}", self.0)))
        }
    }

    /// The path without its last component; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let text = self.0.trim_end_matches('/');
        let slash = text.rfind('/')?;
        Some(if slash == 0 { Self::root() } else { Self(Arc::from(&text[..slash])) })
    }

    /// The text, with its leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Path {
    type Error = InvalidPath;

    fn try_from(text: String) -> Result<Self, InvalidPath> {
        Self::new(&text)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0.as_ref().to_owned()
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
