//! Command lines that open conversations, as they are kept and shown.

use std::path::{Path, PathBuf};

use backstitch_agents::conversations::CommandLine;
use backstitch_core::{ConversationHow, shell_word};
use serde::{Deserialize, Serialize};

/// A command line, as the store keeps it. It is never given to a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandText {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// True if the prompt is part of it.
    pub has_prompt: bool,
}

impl CommandText {
    pub fn of(line: CommandLine) -> CommandText {
        CommandText {
            argv: line.argv,
            cwd: line.cwd,
            has_prompt: line.prompt_in_it,
        }
    }

    /// Reads the form of the store. None: it is not one.
    pub fn read(text: &str) -> Option<CommandText> {
        serde_json::from_str(text).ok()
    }

    pub fn stored(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The place at which a conversation was cut, before the name of its turn.
pub fn way_of(how: ConversationHow) -> &'static str {
    match how {
        ConversationHow::Rewind | ConversationHow::Fork => "before",
        ConversationHow::SummaryOfRest => "summary from",
        ConversationHow::SummaryOfStart => "summary up to",
    }
}

/// A command line for a person to copy into a terminal. `here`: the directory where that is.
pub fn command_text(command: &CommandText, here: &Path) -> String {
    let words = command.argv.iter().map(|word| shell_word(word));
    let line = words.collect::<Vec<_>>().join(" ");
    if command.cwd == here {
        return line;
    }
    format!(
        "cd {} && {line}",
        shell_word(&command.cwd.to_string_lossy())
    )
}
