//! REPLs at pauses, programs and their calls.

use serde_json::Value;

use crate::control::PauseHit;
use crate::history::{Text, Time};
use crate::shape;

shape! {
    /// A REPL at a pause.
    pub struct ReplSession {
        /// `<process number>-<start>`.
        pub id: String,
        /// For example `p7`.
        pub pause: String,
        /// Process number of the program, or of the agent.
        pub pid: u32,
        /// Number of the program. Null: it is an agent's call.
        pub process: Option<i64>,
        /// The function that is paused: the watched one, else that of the innermost frame. At an agent's call: the tool.
        pub function: String,
        /// Letter of the agent's session. Null: it is a program, or the pause is no longer kept.
        pub letter: Option<String>,
        /// Prompt of the turn that is held. Null: there is none.
        pub prompt: Option<String>,
        /// The reason of the pause: `pause("here")`, `calls Edit`. Null: the pause is no longer kept.
        pub why: Option<String>,
        /// Breakpoint of the pause, for example `b3`.
        pub breakpoint: Option<String>,
        /// That breakpoint as it was then.
        pub hit: Option<PauseHit>,
        /// Number of the program's call.
        pub call: Option<i64>,
        /// `jq`, `python` or `javascript`.
        pub language: String,
        pub started: Time,
        pub closed: Option<Time>,
        /// The reason of its end.
        pub reason: Option<String>,
        /// `active` or `closed`.
        pub status: String,
        /// Number of entries.
        pub entries: i64,
    }

    /// An input with its output.
    #[serde(rename_all = "camelCase")]
    pub struct ReplEntry {
        /// From 1.
        pub index: i64,
        pub input: String,
        /// The error, else the value. Empty: there is none.
        pub output: String,
        /// Text that the evaluation printed.
        pub stdout: String,
        pub is_error: bool,
        /// Names the stored value.
        pub cid: Option<String>,
        pub time: Time,
        /// Duration in milliseconds.
        pub ms: i64,
        /// The parts to show: `error`, `both` (the printed text, then the value), `value`, `stdout` or `nothing`.
        pub shows: String,
    }

    pub struct ReplStartResult {
        pub session: ReplSession,
    }

    pub struct ReplEvalResult {
        pub session: ReplSession,
        pub entry: ReplEntry,
    }

    pub struct ReplShowResult {
        pub session: ReplSession,
        pub entries: Vec<ReplEntry>,
    }

    /// The newest first.
    pub struct ReplListResult {
        pub sessions: Vec<ReplSession>,
        /// True: `before` with the last of these returns more.
        pub more: bool,
    }

    /// A stored value, as its program described it. Nothing of it is interpreted.
    pub struct ObjectResult {
        pub cid: String,
        /// In bytes.
        pub size: i64,
        /// `type`, `repr`, and possibly `length` and `fields`.
        pub view: Value,
        /// The view in lines, as a person reads it.
        pub text: String,
    }

    /// A frame of a paused program's stack.
    pub struct SourceFrame {
        pub name: String,
        pub path: String,
        /// From 1.
        pub line: i64,
        /// Lines of the source.
        pub context: Vec<String>,
        /// From 1: the first line of `context`.
        pub first: i64,
        /// True for the frame that is paused.
        pub held: bool,
    }

    pub struct StackResult {
        pub pause: String,
        /// Number of the program's call, as in `backstitch/calls`.
        pub call: Option<i64>,
        /// The innermost first.
        pub frames: Vec<SourceFrame>,
        /// REPLs at this pause.
        pub sessions: Vec<ReplSession>,
    }

    /// A call of a function that a program watches.
    #[serde(rename_all = "camelCase")]
    pub struct FunctionCall {
        pub id: i64,
        /// Number of the call that made it.
        pub parent: Option<i64>,
        pub function: String,
        /// `inline` or `proxy`.
        pub kind: String,
        pub thread: String,
        /// Views of the arguments.
        pub args: Value,
        pub started: Time,
        pub ended: Option<Time>,
        /// `returned`, `raised` or `skipped`. Null: not over.
        pub outcome: Option<String>,
        /// View of the result.
        pub result: Value,
        /// Ids of its REPL sessions.
        pub repl_sessions: Vec<String>,
    }

    /// A program that is, or was, connected.
    pub struct Program {
        pub id: i64,
        pub pid: u32,
        pub argv: Vec<String>,
        pub language: String,
        pub cwd: String,
        pub connected: Time,
        pub ended: Option<Time>,
        /// The newest calls, oldest first.
        pub calls: Vec<FunctionCall>,
    }

    /// The newest program first.
    pub struct CallsResult {
        pub programs: Vec<Program>,
    }

    /// `backstitch/replOutput`: an entry was added to a session.
    pub struct ReplOutput {
        pub workspace: Text,
        pub seq: i64,
        pub session: ReplSession,
        pub entry: ReplEntry,
    }

    /// `backstitch/replChanged`: a session was opened or closed.
    pub struct ReplChanged {
        pub workspace: Text,
        pub seq: i64,
        pub session: ReplSession,
    }
}
