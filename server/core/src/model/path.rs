//! Paths relative to the root, as bytes.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path relative to the root, in the bytes that the directory lists; `/` between components,
/// never absolute, never with `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// Returns None if the path is not a plain relative path: absolute, empty, or with `.`, `..` or NUL.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let plain = !bytes.contains(&0)
            && bytes
                .split(|b| *b == b'/')
                .all(|part| !matches!(part, b"" | b"." | b".."));
        plain.then_some(Self(bytes))
    }

    pub fn from_path(path: &Path) -> Option<Self> {
        Self::new(os_bytes(path.as_os_str()))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn to_path(&self) -> PathBuf {
        bytes_path(&self.0)
    }

    /// Lossy, for people.
    pub fn display(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The directory part and the name.
    pub fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|b| *b == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (b"", &self.0),
        }
    }

    pub fn parent(&self) -> Option<Self> {
        let (dir, _) = self.split();
        (!dir.is_empty()).then(|| Self(dir.to_vec()))
    }

    /// Another name in the same directory.
    pub fn sibling(&self, name: &[u8]) -> Option<Self> {
        match self.split() {
            (b"", _) => Self::new(name),
            (dir, _) => Self::new([dir, b"/", name].concat()),
        }
    }

    /// True if this is `dir` itself or below it.
    pub fn within(&self, dir: &[u8]) -> bool {
        self.0 == dir
            || dir.is_empty()
            || (self.0.starts_with(dir) && self.0.get(dir.len()) == Some(&b'/'))
    }
}

impl Serialize for RelPath {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(from)?;
        Self::new(bytes).ok_or_else(|| serde::de::Error::custom("no relative path"))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.display())
    }
}

#[cfg(unix)]
pub fn os_bytes(s: &std::ffi::OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    s.as_bytes().to_vec()
}

#[cfg(unix)]
pub fn bytes_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
