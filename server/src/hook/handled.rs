//! The outcome of one event.

use backstitch_agents::HookOutput;
use backstitch_core::Workspace;

use crate::control::gate::GateOutcome;

/// A handled event: the output for the agent, and the pause that is over once the agent has it.
pub(super) struct Handled {
    pub output: HookOutput,
    /// With the workspaces whose breakpoints were checked.
    pub outcomes: Vec<(Workspace, GateOutcome)>,
}
