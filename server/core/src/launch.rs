//! The one place that finds and starts programs which people name: in their environment, in their own settings, or as an
//! input. No text of a workspace becomes a command: none of these functions takes one.

use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::system::program_on_path as on_path;

/// A command of the user's own that only a shell understands, such as their pager, their editor, or an input of theirs.
pub fn shell(command: &str) -> Command {
    if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.args(["/C", command]);
        return shell;
    }
    let mut shell = Command::new(on_path("sh").unwrap_or_else(|| PathBuf::from("/bin/sh")));
    shell.args(["-c", command]);
    shell
}

/// A program by its name or path. A name is looked for on the search path, without its relative directories.
pub fn program(name: &str) -> std::io::Result<Command> {
    let is_name = Path::new(name).components().count() == 1 && !name.contains(['/', '\\']);
    if !is_name {
        return Ok(Command::new(name));
    }
    let found = on_path(name).ok_or_else(|| {
        let why = format!("there is no `{name}` on the search path");
        std::io::Error::new(std::io::ErrorKind::NotFound, why)
    });
    Ok(Command::new(found?))
}

/// git, for a question about the user's own settings. It starts in their home directory: the repository around the current
/// directory may be a stranger's, and its configuration names programs.
pub fn git_of_user(home: Option<PathBuf>) -> std::io::Result<Command> {
    let mut git = program("git")?;
    git.current_dir(home.unwrap_or_else(|| PathBuf::from("/")));
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        git.env_remove(name);
    }
    Ok(git)
}
