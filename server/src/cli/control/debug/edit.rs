//! The input of a held call in the user's editor.

use backstitch_control::Pause;
use serde_json::Value;

use super::debugger::{Debugger, Next};
use crate::cli::control_context::CLIENT;
use crate::control::{acts, shown};
use crate::terminal::editor;
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
        let edited = editor::edit(("backstitch-input-", ".json"), &begun)?;
        let text = String::from_utf8_lossy(&edited.bytes).into_owned();
        let taken = if edited.is_taken {
            serde_json::from_slice(&edited.bytes)
                .map_err(|error| CliError::usage(format!("the changed input is not JSON: {error}")))
                .and_then(|input: Value| {
                    acts::set_input(&self.control, pause, Some(input), CLIENT)?;
                    Ok(())
                })
        } else {
            Err(CliError::failed(format!("{} failed", edited.editor)))
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
