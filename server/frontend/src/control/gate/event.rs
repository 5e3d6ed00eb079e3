//! An event at the gate, with what its front end knows of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use backstitch_agents::Gated;
use backstitch_control::{Breakpoint, Control, ProcessId, Subject};
use backstitch_core::capture::AgentEvent;
use backstitch_core::{Result, Workspace};

use crate::control::words;

/// Time that an agent waits for a hook whose entry does not say so.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_mins(1);
/// Time for which a call is held whose agent sets no limit.
const LONGEST: Duration = Duration::from_hours(24);
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
    /// Set where the agent may call the call off while it is held.
    pub call_off: Option<&'a CallOff>,
}

/// An agent's word that a call does not matter any longer. The gate hears it also if the call is held only afterwards.
#[derive(Debug, Default)]
pub struct CallOff(AtomicBool);

impl CallOff {
    pub fn is_called(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Denies a call that is held at these workspaces, or will be.
    pub fn call(&self, workspaces: &[Workspace], call: &str) -> Result<()> {
        // first: a hold that begins after this sees it, and one that began before has its row
        self.0.store(true, Ordering::SeqCst);
        let deny = |workspace| {
            let control = Control::open_for_hook(workspace)?;
            control.pauses().call_off(call, &words::refused()).map(drop)
        };
        // one that fails keeps no other held
        let results: Vec<Result<()>> = workspaces.iter().map(deny).collect();
        results.into_iter().collect()
    }
}

impl std::fmt::Debug for GateCheck<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateCheck")
            .field("agent", &self.event.agent)
            .field("event", &self.event.name)
            .finish_non_exhaustive()
    }
}

impl<'a> GateCheck<'a> {
    /// An event of an agent that waits for the answer as long as it likes.
    pub fn patient(
        (subject, workspace): (Subject, &'a Workspace),
        agent: &'a dyn Gated,
        event: &'a AgentEvent,
        process: Option<ProcessId>,
        call_off: &'a CallOff,
    ) -> Self {
        Self {
            subject,
            workspace,
            agent,
            event,
            payload: &[],
            limit: Some(LONGEST),
            started: Instant::now(),
            process,
            reaches_in: false,
            call_off: Some(call_off),
        }
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
