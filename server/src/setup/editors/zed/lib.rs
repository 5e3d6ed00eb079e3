//! Starts `backstitch lsp` for Zed. Written by `backstitch setup zed`.

use zed_extension_api::serde_json::{json, Value};
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

/// The program that wrote this extension, used if no other is on the path.
const DEFAULT_BINARY: &str = include_str!("../binary");

struct Backstitch;

impl zed::Extension for Backstitch {
    fn new() -> Self {
        Self
    }

    /// Returns `lsp.backstitch.binary` from Zed's settings, else the program on the path.
    fn language_server_command(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?;
        let (path, arguments, env) = match settings.binary {
            Some(binary) => (binary.path, binary.arguments, binary.env),
            None => (None, None, None),
        };
        Ok(Command {
            command: path
                .or_else(|| worktree.which("backstitch"))
                .unwrap_or_else(|| DEFAULT_BINARY.trim_end().to_owned()),
            args: arguments.unwrap_or_else(|| vec!["lsp".to_owned()]),
            env: env.unwrap_or_default().into_iter().collect(),
        })
    }

    /// Returns `lsp.backstitch.settings` from Zed's settings, in the form that the server expects.
    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?;
        Ok(settings.settings.map(|own| json!({ "backstitch": own })))
    }
}

zed::register_extension!(Backstitch);
