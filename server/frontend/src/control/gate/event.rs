//! An event at the gate, with what its front end knows of it.

use std::time::{Duration, Instant};

use backstitch_agents::Gated;
use backstitch_control::{Breakpoint, ProcessId, Subject};
use backstitch_core::Workspace;
use backstitch_core::capture::AgentEvent;

/// Time that an agent waits for a hook whose entry does not say so.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_mins(1);
/// Time before the agent's own limit at which a call is answered.
const MARGIN: Duration = Duration::from_secs(10);

/// An event at the gate of a workspace.
#[derive(Clone, Copy)]
pub struct GateCheck<'a> {
    /// `Call`, or `Edit` for an agent inside an editor.
    pub subject: Subject,
    pub workspace: &'a Workspace,
    pub agent: &'a dyn Gated,
    pub event: &'a AgentEvent,
    pub payload: &'a [u8],
    /// Time that the agent waits for this hook, as its entry says.
    pub limit: Option<Duration>,
    pub started: Instant,
    /// The agent's process. Commands from below it are refused.
    pub process: Option<ProcessId>,
    /// True if the session works in another workspace, and its call reaches into this one.
    pub reaches_in: bool,
}

impl std::fmt::Debug for GateCheck<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateCheck")
            .field("agent", &self.event.agent)
            .field("event", &self.event.name)
            .finish_non_exhaustive()
    }
}

impl GateCheck<'_> {
    /// Leaves the breakpoints that may stop this call.
    pub(super) fn concerned(&self, mut breakpoints: Vec<Breakpoint>) -> Vec<Breakpoint> {
        if self.reaches_in {
            breakpoints.retain(|one| one.spec.is_about_calls());
        }
        breakpoints
    }

    pub(super) fn timeout(&self) -> Duration {
        self.limit.unwrap_or(DEFAULT_HOOK_TIMEOUT)
    }

    /// The time after which the agent would hear no answer.
    pub(super) fn last_moment(&self) -> Instant {
        let limit = self.timeout();
        let margin = MARGIN.min(limit.mul_f64(0.05).max(Duration::from_millis(200)));
        let margin = if limit >= MARGIN * 3 { MARGIN } else { margin };
        self.started + limit.saturating_sub(margin)
    }
}
