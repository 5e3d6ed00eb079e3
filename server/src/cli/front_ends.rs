//! Arguments of the commands that start another front end.

use std::ffi::OsString;
use std::path::PathBuf;

use backstitch_agents as agents;
use clap::{Args, ValueEnum};

use crate::cli::command::{DeclaredCommand, TerminalCommand, decides, reads, records};

/// Record, rewind and undo a scripted agent in a scratch directory, or step back in a CI job
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch demo\n  backstitch demo job\n  backstitch demo --keep"
)]
pub struct DemoArgs {
    /// Subject [default: agent]
    #[arg(value_name = "WHAT")]
    pub subject: Option<DemoWord>,
    /// Keep the scratch directory
    #[arg(long)]
    pub keep: bool,
    /// Use and keep this directory, which must be empty or missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoWord {
    /// The turns of an agent
    Agent,
    /// A CI job
    Job,
}

impl TerminalCommand for DemoArgs {
    fn declared(&self) -> DeclaredCommand {
        // it works in a scratch directory
        records("demo")
    }
}

/// Help of the names that setup takes.
fn names() -> String {
    let agents: Vec<&str> = agents::AGENTS.iter().map(|agent| agent.name()).collect();
    format!(
        "Agent or editor to set up: {}; helix, neovim, zed, emacs, kakoune, sublime [default: the agents found]",
        agents.join(", ")
    )
}

/// Set up an agent to report what it does, or an editor to show it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    backstitch setup                          set up every agent found\n  \
    backstitch setup claude-code --print      show what would be written\n  \
    backstitch setup claude-code --scope project\n  \
    backstitch setup --status                 is recording on, and if not, why\n  \
    backstitch setup --repair                 hooks that run a missing program run this one\n  \
    backstitch setup claude-code --uninstall")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct SetupArgs {
    #[arg(value_name = "AGENT|EDITOR", help = names())]
    pub agents: Vec<String>,
    /// Set up all your projects, or only this workspace
    #[arg(long, default_value = "user")]
    pub scope: SetupScope,
    /// Print the settings instead of writing them
    #[arg(long)]
    pub print: bool,
    /// Remove the settings that setup wrote
    #[arg(long)]
    pub uninstall: bool,
    /// Block a call if its hook fails, for agents that support it: then no breakpoint is missed
    #[arg(long, conflicts_with = "uninstall")]
    pub strict: bool,
    /// Trust the hooks without asking (Codex, which skips hooks that its user has not trusted)
    #[arg(long, conflicts_with_all = ["print", "uninstall"])]
    pub trust: bool,
    /// Show which agents are recorded, and how to fix the others; write nothing
    #[arg(long, conflicts_with_all = ["print", "uninstall", "repair", "scope"])]
    pub status: bool,
    /// Point hooks to this program if theirs is missing or will be deleted
    #[arg(long, conflicts_with = "uninstall")]
    pub repair: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SetupScope {
    User,
    Project,
}

impl TerminalCommand for SetupArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.status || self.print {
            reads("setup")
        } else if self.uninstall || self.trust {
            // it removes hooks, or trusts those that only the user may trust
            decides("setup")
        } else {
            records("setup")
        }
    }
}

/// Check the store, settings, agents and their hooks, and say how to fix what is wrong
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch doctor\n  backstitch doctor --json")]
pub struct DoctorArgs;

impl TerminalCommand for DoctorArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("doctor")
    }
}

/// Serve a program that pauses, on stdin and stdout (clients of its language call this)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch bridge\n\nserver/docs/bridge.md has the protocol."
)]
pub struct BridgeArgs;

impl TerminalCommand for BridgeArgs {
    fn declared(&self) -> DeclaredCommand {
        // each request is declared and checked for itself
        records("bridge")
    }
}

/// Run an agent behind the Agent Client Protocol, and record its turns and edits (editors call this)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch acp -- gemini --experimental-acp\n  backstitch acp -- opencode acp\n\n\
        An editor runs this command in place of the agent's own. server/docs/acp.md has the settings of each editor."
)]
pub struct AcpArgs {
    /// The agent's command, as the editor would run it
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "AGENT"
    )]
    pub command: Vec<OsString>,
}

impl TerminalCommand for AcpArgs {
    fn declared(&self) -> DeclaredCommand {
        records("acp")
    }
}

/// Record an agent's event from stdin (agents call this; see `setup`)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch hook claude-code < payload.json"
)]
pub struct HookArgs {
    /// Name of the agent
    pub agent: String,
}

impl TerminalCommand for HookArgs {
    fn declared(&self) -> DeclaredCommand {
        records("hook")
    }
}

/// Run the language server on stdin and stdout (editors call this)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch lsp\n  backstitch lsp --log /tmp/backstitch.log --log-level debug"
)]
pub struct LspArgs {
    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Log level: off, error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Accepted for clients that name the transport; stdio is the only one
    #[arg(long, hide = true)]
    pub stdio: bool,
}

impl TerminalCommand for LspArgs {
    fn declared(&self) -> DeclaredCommand {
        records("lsp")
    }
}

/// Give an agent the history as tools, on stdin and stdout (agents call this; MCP)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch mcp\n  claude mcp add backstitch -- backstitch mcp\n\nAn agent reads the history and \
        proposes rewinds; files change only once you accept one. server/docs/mcp.md has the tools."
)]
pub struct McpArgs;

impl TerminalCommand for McpArgs {
    fn declared(&self) -> DeclaredCommand {
        records("mcp")
    }
}

/// Let an editor step through CI jobs, back and forward, on stdin and stdout (editors call this; DAP)
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  backstitch dap\n\nThe configuration of a launch names a workflow: {\"type\": \"backstitch-job\", \"request\": \
        \"launch\", \"workflow\": \".github/workflows/ci.yml\", \"job\": \"build\"}. server/docs/dap.md has all of it."
)]
pub struct DapArgs;

impl TerminalCommand for DapArgs {
    fn declared(&self) -> DeclaredCommand {
        records("dap")
    }
}
