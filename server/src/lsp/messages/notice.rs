//! What is said without having been asked for: text that is not saved, files that wait for a save, settings.

use std::fmt::Display;

use backstitch_core::model::{Change, NodeId, RelPath};
use backstitch_core::{Orphan, PendingSave};

use crate::lsp::document::LeftAlone;

/// A client that does not tell its name.
pub const SOME_EDITOR: &str = "an editor";
/// The label of a checkpoint with text that an editor left behind.
pub const LEFT_TEXT: &str = "what was not saved";

/// Of a document that Backstitch does nothing with.
pub fn left_alone(path: &str, why: LeftAlone) -> String {
    match why {
        LeftAlone::TooLarge => {
            format!(
                "{path} is above 10 MiB: it has no lenses, and what is typed into it is not kept."
            )
        }
        LeftAlone::Binary => format!("{path} is binary: it has no lenses."),
    }
}

/// Text that is not saved could not be recorded.
pub fn not_kept(path: &str, error: impl Display) -> String {
    format!(
        "What you typed into {path} could not be recorded: {error}. It is tried again; until then only a save keeps it."
    )
}

/// What another process restored stands where something was typed.
pub fn collides(left: &[RelPath]) -> String {
    let names: Vec<String> = left.iter().map(RelPath::display).collect();
    format!(
        "{} changed on disk by a rewind, where you have text that is not saved: the document stays as it is. `backstitch.undo` takes the rewind back.",
        names.join(", ")
    )
}

/// The client told of a change that cannot be read.
pub fn lost(path: &str) -> String {
    format!(
        "The editor told of a change of {path} that cannot be read: it has no lenses, and what is typed into it is not kept, until it is closed and opened again."
    )
}

/// `done`: what an agent did below text that is not saved; `kept`: where that text is, or why it is not.
pub fn written_below(
    agent: Option<&str>,
    done: &[String],
    kept: Result<NodeId, impl Display>,
) -> String {
    let kept = match kept {
        Ok(node) => format!("Your text is kept at {node}."),
        Err(error) => format!("It could not be kept: {error}."),
    };
    format!(
        "{} {}, where you have text that is not saved. {kept}",
        agent.unwrap_or("An agent"),
        done.join(", ")
    )
}

/// What an agent did, with the path that the document has or had.
pub fn what_was_done(change: &Change) -> String {
    match (&change.before, &change.after) {
        (Some(before), None) => format!("deleted {}", before.path.display()),
        (Some(before), Some(after)) if before.path != after.path => {
            let (from, to) = (before.path.display(), after.path.display());
            format!("moved {from} to {to}")
        }
        (_, after) => {
            let path = after.as_ref().map(|placed| placed.path.display());
            format!("changed {} on disk", path.unwrap_or_default())
        }
    }
}

/// Documents that did not get their new text.
pub fn not_taken(left: &[RelPath]) -> String {
    let names: Vec<String> = left.iter().map(RelPath::display).collect();
    format!(
        "The editor did not take the new text of {}. What you typed is kept; `backstitch.undo` takes the rewind back.",
        names.join(", ")
    )
}

/// A document was closed whose file waits for a save.
pub fn closed(save: &PendingSave) -> String {
    format!(
        "{} was closed, and what {} did to it was not saved. Write it to the file?",
        save.path.display(),
        whose(save)
    )
}

/// An editor ended while a file waited for a save.
pub fn left_waiting(save: &PendingSave) -> String {
    format!(
        "{} ended before what {} did to {} was saved. Write it to the file?",
        save.editor,
        whose(save),
        save.path.display()
    )
}

fn whose(save: &PendingSave) -> String {
    match save.operation {
        Some(operation) => operation.to_string(),
        None => "an agent".to_owned(),
    }
}

/// An editor ended with text that was not saved.
pub fn left_text(orphan: &Orphan) -> String {
    format!(
        "{} had text that was not saved when {} ended. It is kept.",
        orphan.path.display(),
        orphan.editor.name
    )
}

/// What is wrong with settings.
pub mod setting {
    use std::fmt::Display;
    use std::path::Path;

    use backstitch_core::config::{Key, Setting};
    use serde_json::Value;

    pub fn no_section(section: &str, value: &Value) -> String {
        format!("{section}: {value} is no object of settings")
    }

    pub fn no_options(value: &Value) -> String {
        format!("initializationOptions.backstitch: {value} is no object")
    }

    pub fn no_flag(key: &str, value: &Value) -> String {
        format!(
            "initializationOptions.backstitch.{key}: {value} is neither true nor false; false holds"
        )
    }

    /// `why`: with the settings that there are.
    pub fn unknown(section: &str, key: &str, why: &str) -> String {
        format!("{section}.{key}: {why}")
    }

    /// `holds`: what counts instead, if the client said anything before.
    pub fn no_value(section: &str, key: Key, why: &str, holds: Option<&Setting>) -> String {
        let key = key.name();
        match holds {
            Some(holds) => format!("{section}.{key}: {why}; {holds} holds"),
            None => format!("{section}.{key}: {why}; nothing is said of it"),
        }
    }

    pub fn late_store_dir(section: &str) -> String {
        format!(
            "{section}.store.dir: the language server takes it from initializationOptions.{section} at its start; say it there, or in your own config.toml"
        )
    }

    /// A client has said where the stores are.
    pub fn own_stores(section: &str, dir: &Path) -> String {
        format!(
            "Histories are looked for in {}, since {section}.store.dir says so. Hooks and the command line do not hear of that: have them take --store-dir, or set store.dir in your own config.toml.",
            dir.display()
        )
    }

    /// What is in a file could not be kept for others.
    pub fn not_kept(error: impl Display) -> String {
        format!(
            "Hooks and the command line cannot hear of this editor's settings: {error}. Until they can, .backstitch.toml is heard by all."
        )
    }
}
