//! Binding of a session to its workspace: made at the session's first event, valid while that root exists.
//! Owns the files of the bindings.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file that binds a session.
#[derive(Clone, Debug)]
pub struct Binding(PathBuf);

impl Binding {
    /// Returns the binding of a session. The agent chooses the id, which may contain anything, so its hash names the
    /// file.
    pub fn of(state: &Path, agent: &str, session: &str) -> Self {
        let hash = blake3::hash(session.as_bytes()).to_hex();
        Self(
            state
                .join("sessions")
                .join(agent)
                .join(&hash.as_str()[..16]),
        )
    }

    /// Returns the binding of a thread of a session that works apart from it: a subagent in its own worktree.
    pub fn of_thread(state: &Path, agent: &str, session: &str, thread: &str) -> Self {
        Self::of(state, agent, &format!("{session}\0{thread}"))
    }

    /// Returns the root if it is a directory.
    pub fn read(&self) -> Option<PathBuf> {
        let root = PathBuf::from(os_string(fs::read(&self.0).ok()?)?);
        root.is_dir().then_some(root)
    }

    pub fn write(&self, root: &Path) -> std::io::Result<()> {
        let Some(dir) = self.0.parent() else {
            return Ok(());
        };
        private_dir(dir)?;
        // A named temporary file has mode 0600 from the start.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(root.as_os_str().as_encoded_bytes())?;
        file.persist(&self.0)?;
        Ok(())
    }
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "not every platform's paths are bytes"
)]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

pub(super) fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_is_valid_while_its_root_exists() {
        let state = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let binding = Binding::of(state.path(), "claude-code", "../../etc/odd id");
        assert_eq!(binding.read(), None);
        binding.write(root.path()).unwrap();
        assert_eq!(binding.read().as_deref(), Some(root.path()));
        root.close().unwrap();
        assert_eq!(binding.read(), None);
    }

    #[cfg(unix)]
    #[test]
    fn binding_is_private_to_the_user() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let binding = Binding::of(state.path(), "claude-code", "s");
        binding.write(Path::new("/")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&binding.0), 0o600);
        assert_eq!(mode(binding.0.parent().unwrap()), 0o700);
    }
}
