//! A text in the user's own editor.

use std::io;

use backstitch_core::launch;

use super::error::{CliError, CliResult};

/// A text that came back from the editor.
#[derive(Debug)]
pub struct EditedText {
    pub bytes: Vec<u8>,
    /// False: the editor failed, and its user may not have wanted the text.
    pub is_taken: bool,
    /// The editor, for messages.
    pub editor: String,
}

/// Lets the user edit a text. `name`: the beginning and the end of the file's name.
pub fn edit(name: (&str, &str), text: &str) -> CliResult<EditedText> {
    let failed = |error: io::Error| CliError::failed(format!("a file for the editor: {error}"));
    let file = tempfile::Builder::new()
        .prefix(name.0)
        .suffix(name.1)
        .tempfile()
        .map_err(failed)?;
    std::fs::write(file.path(), text).map_err(failed)?;
    let editor = std::env::var("VISUAL")
        .or_else(|_| std::env::var("EDITOR"))
        .unwrap_or_else(|_| "vi".to_owned());
    let status = launch::shell(&format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file.path())
        .status()
        .map_err(|error| CliError::failed(format!("{editor}: {error}")))?;
    Ok(EditedText {
        bytes: std::fs::read(file.path()).map_err(failed)?,
        is_taken: status.success(),
        editor,
    })
}
