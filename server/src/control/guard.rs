//! The guard against agents that decide for themselves: a command that comes from inside an agent is refused. It
//! protects from accidents, not from code of the same user.

use backstitch_core::config::Config;
use backstitch_core::control::{Control, PauseFilter, ancestors};
use backstitch_core::{Result, Workspace};

/// Environment variables that agents set for the commands that they run.
const MARKS: &[&str] = &[
    "CLAUDECODE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "QWEN_CODE",
    "QWEN_CODE_SESSION_ID",
    "COPILOT_CLI",
    "OPENCODE",
    "CLINE_BUILD_ENV",
    "CLINE_CONNECTOR_CLI_LAUNCH",
    "CURSOR_AGENT",
];

/// The reason why a command is taken for an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// This variable is set in the environment.
    Mark(&'static str),
    /// This agent is an ancestor of the process.
    Ancestor(String),
}

/// Returns the reason why this process is taken for an agent's. None: a person runs it, or the user's settings allow
/// agents to decide.
pub fn check(workspace: &Workspace) -> Result<Option<FromAgent>> {
    if Config::of(workspace).agents_may_control() {
        return Ok(None);
    }
    if let Some(mark) = MARKS.iter().find(|name| std::env::var_os(name).is_some()) {
        return Ok(Some(FromAgent::Mark(mark)));
    }
    let Some(control) = Control::open_existing(workspace)? else {
        return Ok(None);
    };
    let above = ancestors(std::process::id());
    let pauses = control.pauses(PauseFilter::All)?;
    let is_above = |pause: &&backstitch_core::control::Pause| {
        pause
            .call
            .agent_process
            .is_some_and(|agent| above.contains(&agent))
    };
    let found = pauses.iter().rev().find(is_above);
    Ok(found.map(|pause| FromAgent::Ancestor(pause.call.agent.clone())))
}

impl FromAgent {
    /// The reason in words.
    pub fn reason(&self) -> String {
        match self {
            Self::Mark(name) => {
                format!(
                    "this command runs inside an agent ({name} is set), which may not decide on its own calls"
                )
            }
            Self::Ancestor(agent) => {
                format!("this command runs inside {agent}, which may not decide on its own calls")
            }
        }
    }

    pub fn hint(&self) -> &'static str {
        "run it in a terminal of your own, or set `agents.allowControl = true` in your own config.toml"
    }
}
