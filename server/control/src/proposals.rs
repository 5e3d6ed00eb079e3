//! Rewinds that an agent proposes: pauses without a tool call. The process that holds one carries it out.

use serde_json::json;

use super::Control;
use super::decided::REFUSED;
use super::hold::Hold;
use super::pause::{HeldCall, PauseId, PauseOutcome};
use backstitch_core::process::ProcessId;

use super::tables::command::{self, NewCommand};
use super::tables::{breakpoint, pause};
use backstitch_core::Result;

/// Rewinds that agents propose.
#[derive(Debug)]
pub struct Proposals<'a> {
    pub(crate) control: &'a Control,
}

impl Proposals<'_> {
    /// Holds a rewind that an agent proposes. No hook joins it, and it ends no step of the agent.
    pub fn hold(&self, call: &HeldCall) -> Result<Hold> {
        self.control.make_holds_dir()?;
        self.control.write_armed(|conn| {
            let id = pause::insert(conn, call, ProcessId::own())?;
            // before the commit: a held row without a lock is a lost one
            Ok(Hold::new(id, self.control.try_lock(id)?))
        })
    }

    /// Notes that a proposal was carried out, denied or withdrawn. A step from it has no next call.
    pub fn end(&self, id: PauseId, session: &str, outcome: PauseOutcome) -> Result<()> {
        self.control
            .write(|conn| breakpoint::delete_steps(conn, session))?;
        self.control
            .pauses()
            .end(id, outcome.state(), Some(outcome))
            .map(drop)
    }

    /// Ends a proposal that was accepted and cannot be carried out. The front end that accepted it gets the reason.
    pub fn refuse(&self, id: PauseId, session: &str, reason: &str) -> Result<()> {
        let args = json!({ "error": reason });
        let refusal = NewCommand {
            face: "proposal",
            agent: None,
            session: None,
            pause: Some(id.0),
            name: REFUSED,
            args: &args,
        };
        self.control.write(|conn| command::insert(conn, &refusal))?;
        self.end(id, session, PauseOutcome::Ended)
    }
}
