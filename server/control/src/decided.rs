//! A decision that a person made: it is stored, and then carried out by the process that holds the pause. Every front end waits
//! for that, since the type gives the outcome no other way.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Control;
use super::pause::{Pause, PauseDecision, PauseState};
use super::repl::LONGER;
use super::subject::Subject;
use super::tables::command;
use backstitch_core::Hint;
use backstitch_core::{Error, Result};

/// Name of the row about a decision that was refused by the process that was to carry it out.
pub(super) const REFUSED: &str = "refused";
/// Time in which a proposal is carried out. A large one continues after that.
const CARRIED_OUT: Duration = Duration::from_secs(30);

/// A decision that was stored.
#[derive(Clone, Debug)]
pub struct Decided {
    pub pause: Pause,
    pub decision: PauseDecision,
}

/// A decision that was stored, and that may have to be carried out yet.
#[derive(Clone, Debug)]
#[must_use = "the front end waits until the decision is carried out"]
pub struct Undone {
    pub(super) decided: Decided,
    /// Number of the row of the decision.
    pub(super) command: i64,
}

impl Undone {
    /// True if somebody else has work to do for it.
    pub fn is_waiting(&self) -> bool {
        let Decided { pause, decision } = &self.decided;
        match pause.call.subject {
            Subject::Call | Subject::Edit => false,
            Subject::Program => decision.is_evaluated(),
            Subject::Proposal => matches!(decision, PauseDecision::Continue),
        }
    }

    /// Waits until the decision is carried out. Fails with the reason if it cannot be: a program is held as before, and a
    /// proposal is over. `one`: the time that a program may take for one expression. `is_over`: asked from time to time; true
    /// ends the wait, and the decision stands.
    pub fn carried_out(
        self,
        control: &Control,
        one: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Decided> {
        if self.is_waiting() {
            let time = match self.decided.pause.call.subject {
                Subject::Proposal => CARRIED_OUT,
                Subject::Call | Subject::Edit | Subject::Program => {
                    let one = one.saturating_add(LONGER);
                    one.saturating_mul(self.decided.decision.expressions())
                }
            };
            let until = Instant::now() + time;
            control.wait_for(is_over, || self.look(control, until))?;
        }
        Ok(self.decided)
    }

    /// None: it is not carried out yet.
    fn look(&self, control: &Control, until: Instant) -> Result<Option<()>> {
        let (pause, is_late) = (&self.decided.pause, Instant::now() >= until);
        let state = control.pauses().get(pause.id)?.map(|now| now.state);
        // after the state: a refusal is stored with it, or before it
        let refusal = command::first_after(&control.conn, (pause.id.0, self.command), REFUSED)?;
        if let Some(args) = refusal {
            return Err(self.refused(&args));
        }
        if state == Some(PauseState::Answered) {
            return Ok(Some(()));
        }
        if !state.is_some_and(PauseState::has_holder) {
            return Err(self.holder_gone());
        }
        if is_late {
            return Err(self.late());
        }
        control.pauses().notice_lost()?;
        Ok(None)
    }

    fn is_proposal(&self) -> bool {
        self.decided.pause.call.subject == Subject::Proposal
    }

    fn refused(&self, args: &str) -> Error {
        let args: Value = serde_json::from_str(args).unwrap_or_default();
        let error = args["error"].as_str().unwrap_or_default();
        if self.is_proposal() {
            let id = self.decided.pause.id;
            return Error::refused(
                format!("{id} was accepted, and nothing was changed: {error}"),
                "the refusal is reported to the agent; it may propose it again, or you rewind yourself",
            );
        }
        // a traceback ends with the error itself
        let last = error.lines().rfind(|line| !line.trim().is_empty());
        Error::refused(
            format!(
                "the program cannot evaluate it: {}",
                last.unwrap_or("it gives no reason")
            ),
            Hint::from("the program is held as before: correct the expression"),
        )
    }

    fn late(&self) -> Error {
        let what = if self.is_proposal() {
            format!("{} is still being carried out", self.decided.pause.id)
        } else {
            "the program still evaluates it".to_owned()
        };
        Error::refused(what, self.where_to_look())
    }

    fn holder_gone(&self) -> Error {
        let what = if self.is_proposal() {
            format!(
                "the process that holds {} ended before it had carried it out",
                self.decided.pause.id
            )
        } else {
            "the program was gone, or gave the call up, before it had evaluated it".to_owned()
        };
        Error::refused(what, self.where_to_look())
    }

    fn where_to_look(&self) -> Hint {
        if self.is_proposal() {
            Hint::terminal("`backstitch log` shows if it was")
        } else {
            Hint::terminal("`backstitch pauses --all` shows the outcome")
        }
    }
}
