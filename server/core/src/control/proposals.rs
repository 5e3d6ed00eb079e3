//! Rewinds that an agent proposes: pauses without a tool call. The process that holds one carries it out.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Control;
use super::hold::Hold;
use super::pause::{HeldCall, PauseDecision, PauseId, PauseOutcome, PauseState};
use super::pauses::Decided;
use super::process::ProcessId;
use super::programs::{LOOK, REFUSED};
use super::tables::command::{self, NewCommand};
use super::tables::{breakpoint, pause};
use crate::error::{Error, Result};
use crate::hint::Hint;

/// Time in which a front end waits for a proposal to be carried out. A large one goes on after that.
const CARRIED_OUT: Duration = Duration::from_secs(30);

impl Control {
    /// Holds a rewind that an agent proposes. No hook joins it, and it ends no step of the agent.
    pub fn propose(&self, call: &HeldCall) -> Result<Hold> {
        self.make_holds_dir()?;
        self.write_armed(|conn| {
            let id = pause::insert(conn, call, ProcessId::own())?;
            // before the commit: a held row without a lock is a lost one
            Ok(Hold::new(id, self.try_lock(id)?))
        })
    }

    /// Notes that a proposal was carried out, denied or withdrawn. A step from it has no next call.
    pub fn end_proposal(&self, id: PauseId, session: &str, outcome: PauseOutcome) -> Result<()> {
        self.write(|conn| breakpoint::delete_steps(conn, session))?;
        let state = match outcome {
            PauseOutcome::Ended => PauseState::Ended,
            _ => PauseState::Answered,
        };
        self.end_pause(id, state, Some(outcome)).map(drop)
    }

    /// Ends a proposal that was accepted and cannot be carried out. The front end that accepted it gets the reason.
    pub fn refuse_proposal(&self, id: PauseId, session: &str, reason: &str) -> Result<()> {
        let args = json!({ "error": reason });
        let refusal = NewCommand {
            face: "proposal",
            agent: None,
            session: None,
            pause: Some(id.0),
            name: REFUSED,
            args: &args,
        };
        self.write(|conn| command::insert(conn, &refusal))?;
        self.end_proposal(id, session, PauseOutcome::Ended)
    }

    /// Waits until an accepted proposal is carried out. Fails with the reason if it cannot be.
    pub(super) fn wait_until_carried_out(
        &self,
        decided: &Decided,
        is_over: &dyn Fn() -> bool,
    ) -> Result<()> {
        if !matches!(decided.decision, PauseDecision::Continue) {
            return Ok(());
        }
        let id = decided.pause.id;
        let until = Instant::now() + CARRIED_OUT;
        loop {
            if is_over() {
                return Err(Error::CalledOff);
            }
            let state = self.pause(id)?.map(|now| now.state);
            // after the state: a refusal is stored before it
            if let Some(args) = command::first_after(&self.conn, (id.0, decided.command), REFUSED)?
            {
                let args: Value = serde_json::from_str(&args).unwrap_or_default();
                let reason = args["error"].as_str().unwrap_or("the reason is not known");
                return Err(Error::refused(
                    format!("{id} was accepted, and nothing was changed: {reason}"),
                    "the agent is told; it may propose it again, or you rewind yourself",
                ));
            }
            let shows = || Hint::terminal("`backstitch log` shows if it was");
            match state {
                Some(PauseState::Decided) if Instant::now() < until => {
                    self.notice_lost()?;
                    std::thread::sleep(LOOK);
                }
                Some(PauseState::Decided) => {
                    return Err(Error::refused(
                        format!("{id} is still being carried out"),
                        shows(),
                    ));
                }
                Some(PauseState::Answered) => return Ok(()),
                _ => {
                    return Err(Error::refused(
                        format!("the process that holds {id} ended before it had carried it out"),
                        shows(),
                    ));
                }
            }
        }
    }
}
