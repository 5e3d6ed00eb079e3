//! Options with which this program opens stores: those of the core, with the agents whose chat history it reads.

use backstitch_agents::Aider;
use backstitch_core::OpenOptions;

/// For a process that runs long.
pub const SERVER: OpenOptions = OpenOptions::SERVER.with(&Aider);
/// For one command.
pub const COMMAND: OpenOptions = OpenOptions::COMMAND.with(&Aider);
/// For a hook.
pub const HOOK: OpenOptions = OpenOptions::HOOK.with(&Aider);
