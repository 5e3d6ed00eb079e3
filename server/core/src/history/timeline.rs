//! The history for display: rows of the timeline, and operations.

use serde_json::Value;

use super::subject::OperationSubject;
use crate::model::{Call, Change, Node, Session, Turn};
use crate::store::tables::node_text::Unsaved;
use crate::store::tables::operation::Operation;

/// One row of the timeline.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: Node,
    pub branch: String,
    pub tags: Vec<String>,
    /// Kept by `gc`.
    pub pinned: bool,
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    pub call: Option<Call>,
    /// The shell command of a step.
    pub command: Option<ShellCommand>,
    pub changes: Vec<EntryChange>,
    /// True if it has edits and none of them is in force any longer. Checked at the head, or at the
    /// head of its own branch if the node is not an ancestor of the head.
    pub taken_out: bool,
    /// The operation of a rewind.
    pub operation: Option<Operation>,
    /// The subject of that operation.
    pub subject: Option<OperationSubject>,
    /// Unsaved text at that moment, besides the state on disk.
    pub unsaved: Vec<Unsaved>,
}

/// A shell command, as in the input of its tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    pub text: String,
    /// The agent's own words about it.
    pub description: Option<String>,
}

impl ShellCommand {
    /// Reads the input of a tool call. Agents send the command as a text, as a list of arguments whose last one is it, or as a
    /// list of several commands.
    pub(crate) fn read(input: &[u8]) -> Option<Self> {
        let fields: Value = serde_json::from_slice(input).ok()?;
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        let one = fields.get("command").or_else(|| fields.get("command_line"));
        let text = match (one, fields.get("commands")) {
            (Some(Value::String(text)), _) => filled(text),
            (Some(Value::Array(words)), _) => filled(words.last()?.as_str()?),
            (None, Some(Value::Array(all))) => {
                let texts: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                filled(&texts.join("\n"))
            }
            _ => None,
        };
        let description = fields.get("description").and_then(Value::as_str);
        Some(Self {
            text: text?,
            description: description.and_then(filled),
        })
    }
}

#[derive(Clone, Debug)]
pub struct EntryChange {
    pub change: Change,
    pub added: usize,
    pub removed: usize,
    pub binary: bool,
}

#[cfg(test)]
mod tests {
    use super::ShellCommand;

    #[test]
    fn a_command_is_a_text_or_the_last_of_a_list() {
        let read = |input: &str| {
            ShellCommand::read(input.as_bytes()).map(|read| (read.text, read.description))
        };
        let make = || Some(("make".to_owned(), None));
        assert_eq!(read(r#"{"command":"make"}"#), make());
        assert_eq!(
            read(r#"{"command":["bash","-lc","make"],"description":" "}"#),
            make()
        );
        assert_eq!(read(r#"{"command_line":"make"}"#), make());
        assert_eq!(
            read(r#"{"commands":["make","make test"]}"#),
            Some(("make\nmake test".to_owned(), None))
        );
        let described = read(r#"{"command":"make","description":"Build it"}"#);
        assert_eq!(
            described,
            Some(("make".to_owned(), Some("Build it".to_owned())))
        );
        for none in [
            r#"{"command":""}"#,
            r#"{"command":[]}"#,
            r#"{"commands":[7]}"#,
            r#"{"commands":"make"}"#,
            r#"{"path":"a"}"#,
            "make",
            "[1]",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
