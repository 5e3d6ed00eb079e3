//! Arguments of the tools. Each type is the one declaration of its tool's schema; unknown fields are refused.

use rmcp::schemars::JsonSchema;
use serde::Deserialize;

/// Longest wait for a decision in seconds. Clients give up on a call after a minute.
pub const MAX_WAIT: u64 = 45;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointArguments {
    /// Name of the checkpoint, a few words.
    pub label: Option<String>,
    /// Longer text about it.
    pub description: Option<String>,
    /// Keep it however old it becomes.
    pub pin: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct LogArguments {
    /// At most this many checkpoints, newest first: 20 by default, at most 200.
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
    /// Only checkpoints older than this one: the next page.
    pub before: Option<String>,
    /// Every branch, not only the current one.
    pub all: bool,
    /// Only this session: its letter, its id, or a unique prefix of it.
    pub session: Option<String>,
    /// Only the work of this agent.
    pub agent: Option<String>,
    /// Only changes of this file or directory.
    pub path: Option<String>,
    /// Only checkpoints with all these words in a prompt, label or tool input; `word*` matches any ending.
    pub text: Option<String>,
    /// Only checkpoints of this kind.
    pub kind: Option<CheckpointKind>,
    /// The history of this branch instead of the current one.
    pub branch: Option<String>,
    /// Only checkpoints from this time on: 2h, 3d, 2026-11-20, 2026-11-20T09:30.
    pub since: Option<String>,
    /// Only checkpoints up to this time.
    pub until: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    Turn,
    Step,
    Manual,
    External,
    Rewind,
    Squash,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct ShowArguments {
    /// Checkpoint: c12, t4 (the state before turn 4), @, @~2, a tag, a branch or a label.
    pub rev: String,
    /// Also the changed lines of each file.
    #[serde(default)]
    pub patch: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct DiffArguments {
    /// Checkpoint to compare from: the newest that is not an edit of the user by default.
    pub from: Option<String>,
    /// Checkpoint to compare with: the files on disk by default.
    pub to: Option<String>,
    /// Only these files and directories.
    pub paths: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct BlameArguments {
    pub path: String,
    /// The file at this checkpoint instead of the file on disk.
    #[serde(default)]
    pub rev: Option<String>,
    /// Lines such as 10,20 or 10,+5: the first 200 by default.
    #[serde(default)]
    pub lines: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct CatArguments {
    /// Checkpoint: c12, t4 (the state before turn 4), @, @~2, a tag, a branch or a label.
    pub rev: String,
    pub path: String,
    /// Lines such as 10,20 or 10,+5: all by default, as far as they fit.
    #[serde(default)]
    pub lines: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct RewindArguments {
    /// Turn or checkpoint to return to: the state before the agent's last turn by default.
    pub rev: Option<String>,
    /// The reason, for the user who decides.
    pub reason: Option<String>,
    /// Only these files and directories.
    pub paths: Vec<String>,
    /// Only these hunks: ids from `diff`.
    pub hunks: Vec<String>,
    /// Restore exactly the state of the target; everyone's later edits are undone, the user's too.
    pub exact: Option<bool>,
    /// Undo the work of all agents since, not only of the turn's own session.
    pub all_sessions: bool,
    /// Undo only the work of this session.
    pub session: Option<String>,
    /// Changes of uncertain origin: kept by default.
    pub uncertain: Uncertain,
    /// Outcome of conflicts with later edits: `fail`, the default, changes nothing.
    pub on_conflict: Conflicts,
    /// Only show the plan; the user is not asked.
    pub dry_run: bool,
    /// Id of a proposal that still waits, such as p3: wait for its decision. No other argument but `wait` goes with it.
    pub proposal: Option<String>,
    /// Seconds to wait for the decision: 45 by default, at most 45.
    #[schemars(range(max = 45))]
    pub wait: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "snake_case")]
pub enum Uncertain {
    #[default]
    Keep,
    Take,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "snake_case")]
pub enum Conflicts {
    #[default]
    Fail,
    Markers,
    Current,
    Target,
}
