//! The input of a held call in the user's editor.

use backstitch_control::Pause;
use backstitch_core::launch;
use serde_json::Value;

use super::debugger::{Debugger, Next};
use crate::cli::control_context::CLIENT;
use crate::control::{acts, shown};
use crate::terminal::error::{CliError, CliResult};

impl Debugger<'_> {
    pub(super) fn edit_input(&mut self, pause: &Pause) -> CliResult<Next> {
        self.edit(pause)?;
        let now = self.control.pauses().get(pause.id)?;
        self.show(now.as_ref().unwrap_or(pause))?;
        Ok(Next::Ask)
    }

    pub(super) fn drop_edit(&mut self, pause: &Pause) -> CliResult<Next> {
        let dropped = self.rejected.take_if(|(id, _)| *id == pause.id);
        if dropped.is_none() {
            let message = format!("no edit of {} waits to be taken", pause.id);
            return Err(CliError::usage(message).hint("e edits its input"));
        }
        self.show(pause)?;
        Ok(Next::Ask)
    }

    /// Has the user edit the input as JSON. A text that is not taken is kept for the next edit.
    fn edit(&mut self, pause: &Pause) -> CliResult<()> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            CliError::failed(format!("{what}: {error}"))
        };
        if !self.typed.is_terminal() {
            let hint = format!(
                "`backstitch resume {} --input FILE` continues with another input",
                pause.id
            );
            return Err(CliError::usage("an editor needs a terminal").hint(hint));
        }
        pause.check_changeable()?;
        let input = shown::input(pause);
        let kept = self.rejected.as_ref().filter(|(id, _)| *id == pause.id);
        let begun = match kept {
            Some((_, text)) => text.clone(),
            None => serde_json::to_string_pretty(&input).unwrap_or_default() + "\n",
        };
        let file = tempfile::Builder::new()
            .prefix("backstitch-input-")
            .suffix(".json")
            .tempfile()
            .map_err(|error| failed("a file for the input", &error))?;
        std::fs::write(file.path(), &begun)
            .map_err(|error| failed("a file for the input", &error))?;
        let editor = std::env::var("VISUAL")
            .or_else(|_| std::env::var("EDITOR"))
            .unwrap_or_else(|_| "vi".to_owned());
        let status = launch::shell(&format!("{editor} \"$1\""))
            .arg("sh")
            .arg(file.path())
            .status()
            .map_err(|error| failed(&editor, &error))?;
        let bytes =
            std::fs::read(file.path()).map_err(|error| failed("the changed input", &error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let taken = if status.success() {
            serde_json::from_slice(&bytes)
                .map_err(|error| CliError::usage(format!("the changed input is not JSON: {error}")))
                .and_then(|input: Value| {
                    acts::set_input(&self.control, pause, Some(input), CLIENT)?;
                    Ok(())
                })
        } else {
            Err(CliError::failed(format!("{editor} failed")))
        };
        let Err(error) = taken else {
            self.rejected = None;
            return Ok(());
        };
        if text != begun {
            self.rejected = Some((pause.id, text));
        }
        let is_kept = self
            .rejected
            .as_ref()
            .is_some_and(|(id, _)| *id == pause.id);
        Err(if is_kept {
            CliError {
                message: format!("{}. Your edit was not taken", error.message),
                ..error
            }
            .hint("e continues with your text; u drops it, and the input stays as it was")
        } else {
            CliError {
                message: format!("{}; the input stays as it was", error.message),
                ..error
            }
        })
    }
}
