//! The place at which a command would run, and the files that it names, as values. Pure.

use super::lexer::literal;

/// The place at which a command would run.
#[derive(Clone, Copy)]
pub struct CommandPlace<'a> {
    /// Absolute.
    pub root: &'a str,
    /// Absolute.
    pub cwd: &'a str,
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// True if an absolute path is a directory.
    pub is_dir: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for CommandPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandPlace")
            .field("root", &self.root)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Files that a command names. Paths are relative to the root with `/`, absolute if they are outside of it. The root, and each
/// directory above it, is `.`. One that ends with `/.` is a directory that the command goes into, or lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles {
    pub paths: Vec<String>,
    /// Words with wildcards, which a shell expands.
    pub patterns: Vec<String>,
    /// Those of both that the command only reads.
    pub only_read: Vec<String>,
    /// Searches of a tree for files of a pattern.
    pub searched: Vec<SearchedFiles>,
}

/// Files below a directory whose path matches a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedFiles {
    /// Relative to the root; `.` is the root.
    pub dir: String,
    pub glob: String,
}

impl SearchedFiles {
    /// A search below a directory. A pattern without `/` is one of names at any depth.
    pub fn of(dir: &str, pattern: &str) -> Self {
        let pattern = pattern.trim_start_matches("./");
        let below = match (pattern.contains('/'), pattern.strip_prefix('/')) {
            (_, Some(rest)) => rest.to_owned(),
            (true, None) => pattern.to_owned(),
            (false, None) => format!("**/{pattern}"),
        };
        let glob = match dir {
            "." | "" => below,
            dir => format!("{}/{below}", literal(dir)),
        };
        Self {
            dir: dir.to_owned(),
            glob,
        }
    }
}
