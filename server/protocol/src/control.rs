//! Breakpoints, and calls that are held at them.

use serde_json::Value;

use crate::history::{Text, Time};
use crate::shape;

shape! {
    /// A breakpoint.
    #[serde(rename_all = "camelCase")]
    pub struct Breakpoint {
        /// For example `b3`.
        pub id: String,
        /// `bp_<milliseconds>_<4 letters>`.
        pub name: String,
        /// `tool`, `path`, `line`, `content`, `pattern`, `command`, `iteration`, `turn`, `error`, `budget`, `any` or `step`.
        pub kind: String,
        /// The parameters of the kind.
        pub spec: Value,
        /// The parameters in one line.
        pub summary: String,
        /// `before` or `after` the call.
        pub at: String,
        /// `agent`, `session` and `subagent`, as far as they are set.
        pub scope: Value,
        /// Condition in jq.
        pub when: Option<String>,
        /// Condition on the number of triggers: `>= 3`.
        pub hits: Option<String>,
        /// `pause`, `log` or `deny`.
        pub action: String,
        pub message: Option<String>,
        pub once: bool,
        pub enabled: bool,
        pub hit_count: i64,
        /// The last failure of its condition.
        pub problem: Option<String>,
        pub created: Time,
    }

    /// All breakpoints in the order in which they were made.
    pub struct BreakpointsResult {
        /// Number of the newest commit of breakpoints and pauses.
        pub seq: i64,
        pub breakpoints: Vec<Breakpoint>,
    }

    /// A call that is, or was, held.
    #[serde(rename_all = "camelCase")]
    pub struct Pause {
        /// For example `p7`.
        pub id: String,
        /// The holder: `call`.
        pub by: String,
        /// `before` or `after` the call.
        pub at: String,
        pub breakpoint: Option<String>,
        /// The reason in words.
        pub why: String,
        pub agent: String,
        pub session: String,
        /// For example `t4`.
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub subagent: Option<String>,
        pub iteration: Option<i64>,
        pub tool: String,
        /// The call in one line.
        pub summary: String,
        /// Paths that it names.
        pub files: Vec<String>,
        /// Root of the directory that the agent works in.
        pub root: Text,
        pub made: Time,
        /// The agent's own limit.
        pub until: Option<Time>,
        /// `held`, `decided`, `answered`, `parked`, `used`, `expired`, `handed`, `ended`, `lost` or `slipped`.
        pub state: String,
        /// `continued`, `changed`, `denied`, `skipped`, `stopped`, `back`, `asked`, `timedOut`, `parked`, `ended`, `lost` or
        /// `slipped`. Null: not over.
        pub outcome: Option<String>,
        /// The face that decided, or the rule.
        pub decided_by: Option<String>,
        /// Decisions that the agent can be told.
        pub can: Vec<String>,
    }

    pub struct PausesResult {
        pub seq: i64,
        pub pauses: Vec<Pause>,
    }
}
