//! Messages that the server shows without being asked: unsaved text, files that wait for a save, settings.

use std::fmt::Display;

use backstitch_core::model::{Change, NodeId, RelPath};
use backstitch_core::restore::OnConflict;
use backstitch_core::{Orphan, PendingSave};

use crate::render;

/// Name of a client that does not send its name.
pub const SOME_EDITOR: &str = "an editor";
/// Label of a checkpoint with unsaved text of an editor that ended.
pub const LEFT_TEXT: &str = "unsaved text";

/// A document that Backstitch ignores.
pub fn too_large(path: &str) -> String {
    format!("{path} is above 10 MiB: it has no lenses, and unsaved text in it is not recorded.")
}

/// Unsaved text could not be recorded.
pub fn not_kept(path: &str, error: impl Display) -> String {
    format!(
        "The unsaved text of {path} could not be recorded: {error}. Backstitch tries again; until then only a save keeps it."
    )
}

/// Another process restored lines that have unsaved changes.
pub fn collides(left: &[RelPath]) -> String {
    let names: Vec<String> = left.iter().map(RelPath::display).collect();
    format!(
        "{} changed on disk by a rewind and conflicts with your unsaved text: the document stays as it is. `backstitch.undo` undoes the rewind.",
        names.join(", ")
    )
}

/// The client sent a change that cannot be read.
pub fn out_of_sync(path: &str) -> String {
    format!(
        "The editor sent a change of {path} that cannot be read. Until you close and reopen the file it has no lenses, and unsaved text in it is not recorded."
    )
}

/// `done`: an agent's changes to files with unsaved text; `kept`: the checkpoint with that text, or the error.
pub fn written_below(done: &[String], kept: Result<NodeId, impl Display>) -> String {
    let done = done.join(", ");
    match kept {
        Ok(node) => format!("{node} keeps your text: {done}"),
        Err(error) => format!("Your text could not be recorded ({error}): {done}"),
    }
}

/// Formats an agent's change, with the path that the document has or had.
pub fn what_was_done(change: &Change) -> String {
    match (&change.before, &change.after) {
        (Some(before), None) => {
            format!("{} was deleted on disk", render::path(before.path.bytes()))
        }
        (Some(before), Some(after)) if before.path != after.path => {
            let (from, to) = (
                render::path(before.path.bytes()),
                render::path(after.path.bytes()),
            );
            format!("{from} was renamed to {to}")
        }
        (_, after) => {
            let path = after
                .as_ref()
                .map(|placed| render::path(placed.path.bytes()));
            format!("{} changed on disk", path.unwrap_or_default())
        }
    }
}

/// An agent renamed files that are open.
pub fn renamed(agent: Option<&str>, node: NodeId, done: &[String]) -> String {
    let by = agent.map(|agent| format!(" by {}", render::clean(agent)));
    format!("{node}: {}{}", done.join(", "), by.unwrap_or_default())
}

/// An agent wrote files that are open, and the editor does not read them again by itself.
pub fn stale(agent: Option<&str>, paths: &[String], reload: &str) -> String {
    let agent = agent.map_or_else(|| "an agent".to_owned(), render::clean);
    format!("{agent} changed {}: {reload} shows it", paths.join(", "))
}

/// Labels of conflict markers.
pub const MERGE_OURS: &str = "your unsaved text";
pub const MERGE_THEIRS: &str = "on disk";

/// A change on disk was merged into unsaved text.
pub fn merged(path: &str) -> String {
    format!("{path}: merged the change on disk; the file is to be saved.")
}

pub fn merged_with_conflicts(path: &str, count: usize, decided: OnConflict) -> String {
    let conflicts = render::plural(count, "conflict", "conflicts");
    let how = match decided {
        OnConflict::Target => "the lines on disk were taken",
        OnConflict::Markers => "the document has markers",
        OnConflict::Fail | OnConflict::Current => "your lines stay",
    };
    format!("{path}: merged the change on disk with {conflicts}; {how}. The file is to be saved.")
}

/// Documents that did not get their new text.
pub fn not_taken(left: &[RelPath]) -> String {
    let names: Vec<String> = left.iter().map(RelPath::display).collect();
    format!(
        "The editor did not apply the new text of {}. Your text is unchanged; `backstitch.undo` undoes the rewind.",
        names.join(", ")
    )
}

/// A document was closed while its file waited for a save.
pub fn closed(save: &PendingSave) -> String {
    format!(
        "{} was closed, and the changes of {} in it were not saved. Write them to the file?",
        render::path(save.path.bytes()),
        whose(save)
    )
}

/// An editor ended while a file waited for a save.
pub fn left_waiting(save: &PendingSave) -> String {
    format!(
        "{} ended before the changes of {} in {} were saved. Write them to the file?",
        save.editor,
        whose(save),
        render::path(save.path.bytes())
    )
}

fn whose(save: &PendingSave) -> String {
    match save.operation {
        Some(operation) => operation.to_string(),
        None => "an agent".to_owned(),
    }
}

/// An editor ended with unsaved text.
pub fn left_text(orphan: &Orphan) -> String {
    format!(
        "{} had unsaved text when {} ended. The text is recorded.",
        render::path(orphan.path.bytes()),
        orphan.editor.name
    )
}

/// Errors in settings.
pub mod setting {
    use std::fmt::Display;
    use std::path::Path;

    use backstitch_core::config::{Key, Setting};
    use serde_json::Value;

    pub fn no_section(section: &str, value: &Value) -> String {
        format!("{section}: {value} is not an object of settings")
    }

    pub fn no_options(value: &Value) -> String {
        format!("initializationOptions.backstitch: {value} is not an object")
    }

    pub fn no_flag(key: &str, value: &Value) -> String {
        format!(
            "initializationOptions.backstitch.{key}: {value} is neither true nor false; false is used"
        )
    }

    /// `names`: the values that the option takes, the default first.
    pub fn no_choice(key: &str, value: &Value, names: &[&str]) -> String {
        format!(
            "initializationOptions.backstitch.{key}: {value} is not one of {}; {} is used",
            names.join(", "),
            names.first().copied().unwrap_or_default()
        )
    }

    /// `why`: includes the existing settings.
    pub fn unknown(section: &str, key: &str, why: &str) -> String {
        format!("{section}.{key}: {why}")
    }

    /// `holds`: the value that is used instead, if the client set one before.
    pub fn no_value(section: &str, key: Key, why: &str, holds: Option<&Setting>) -> String {
        let key = key.name();
        match holds {
            Some(holds) => format!("{section}.{key}: {why}; {holds} is used"),
            None => format!("{section}.{key}: {why}; the setting is ignored"),
        }
    }

    pub fn late_store_dir(section: &str) -> String {
        format!(
            "{section}.store.dir: the language server reads it from initializationOptions.{section} at its start; set it there, or in your own config.toml"
        )
    }

    /// A client has set the directory of the stores.
    pub fn own_stores(section: &str, dir: &Path) -> String {
        format!(
            "Histories are stored in {}, as {section}.store.dir says. Hooks and the command line do not know that: give them --store-dir, or set store.dir in your own config.toml.",
            dir.display()
        )
    }

    /// A client names a place in a folder that it has open.
    pub fn stores_in_folder(section: &str, dir: &Path) -> String {
        format!(
            "{section}.store.dir: {} lies in an open folder, which may have brought this setting, so it is not used; set store.dir in your own config.toml",
            dir.display()
        )
    }

    /// The settings of an editor that an agent has started.
    pub const OF_AGENT: &str = "This editor was started from inside an agent, so its settings apply to it alone and not to hooks. Start it yourself, or set them in your own config.toml.";

    /// The client's settings could not be written to a file for other processes.
    pub fn not_published(error: impl Display) -> String {
        format!(
            "This editor's settings could not be passed to hooks and the command line: {error}. Until then, use .backstitch.toml, which all of them read."
        )
    }
}
