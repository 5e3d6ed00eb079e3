//! Files that the text of a shell command names, and the simple commands in it. Follows what a person reads in the text:
//! quotes, variables that it sets, changes of the directory, substitutions whose result is known. Runs nothing. Pure.

mod carried;
mod code;
mod forms;
mod lexer;
mod named;
mod nodes;
mod output;
mod paths;
mod pattern;
mod pipes;
mod programs;
mod walker;

use nodes::Access;
use walker::Walker;

pub use named::{CommandPlace, NamedFiles, SearchedFiles};
pub use pattern::{CommandPattern, has_expression_signs};
pub use walker::{MAX_PATHS, MAX_TOKENS};

/// Returns the files that a command names.
pub fn named_files(command: &str, place: CommandPlace<'_>) -> NamedFiles {
    let mut walker = Walker::new(Some(place));
    walker.script(command, 0);
    if walker.left == 0 {
        walker.add(".", Access::Writes);
    }
    let mut found = walker.found;
    let only_read = |path: &&String| !walker.written.contains(path.as_str());
    found.only_read = found.paths.iter().filter(only_read).cloned().collect();
    found
        .only_read
        .extend(found.patterns.iter().filter(only_read).cloned());
    found
}

/// Returns the words of the simple commands in a text, also of those within substitutions, quotes and here-documents that a
/// shell runs.
pub fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let mut walker = Walker::new(None);
    walker.script(command, 0);
    walker.commands
}
