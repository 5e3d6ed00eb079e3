//! Types of the commands about breakpoints and held calls. Owns no behaviour.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};

use super::args::ConflictChoice;
use super::complete;

#[derive(Debug, Args)]
pub struct BreakpointArgs {
    #[command(subcommand)]
    pub command: BreakpointCommand,
}

#[derive(Debug, Subcommand)]
pub enum BreakpointCommand {
    /// Stop agents at calls of this kind
    #[command(after_help = "Examples:\n  \
        backstitch breakpoint add tool Bash\n  \
        backstitch breakpoint add tool Edit --condition 'src/auth'\n  \
        backstitch breakpoint add path 'src/auth/**'\n  \
        backstitch breakpoint add line src/auth.rs:10-20\n  \
        backstitch breakpoint add path .env --edits\n  \
        backstitch breakpoint add command 'rm -rf'\n  \
        backstitch breakpoint add command '/curl .*[|] *sh/'\n  \
        backstitch breakpoint add pattern 'password' --action deny --message 'Leave passwords alone.'\n  \
        backstitch breakpoint add iteration 20\n  \
        backstitch breakpoint add error --tool Bash\n  \
        backstitch breakpoint add budget calls 50\n  \
        backstitch breakpoint add tool Edit --when '.paths | any(endswith(\".sql\"))' --hits '% 5'")]
    Add(BreakpointAddArgs),
    /// List all breakpoints, with their hit counts
    List,
    /// Change the condition, the action or the message of a breakpoint
    Edit(BreakpointEditArgs),
    /// List the newest hits, with the texts of those that log
    Hits {
        /// Only of this breakpoint: b3, or its name bp_…
        id: Option<String>,
        /// Maximum number
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
        limit: usize,
    },
    /// Remove a breakpoint
    Remove {
        /// Breakpoint: b3, or its name bp_…
        id: String,
    },
    /// Let a breakpoint stop agents again
    Enable {
        /// Breakpoint: b3, or its name bp_…
        id: String,
    },
    /// Keep a breakpoint without effect
    Disable {
        /// Breakpoint: b3, or its name bp_…
        id: String,
    },
    /// Remove all breakpoints
    Clear,
}

#[derive(Debug, Args)]
pub struct BreakpointAddArgs {
    /// Kind of the breakpoint
    #[command(subcommand)]
    pub kind: BreakpointKind,
}

#[derive(Debug, Subcommand)]
pub enum BreakpointKind {
    /// Calls of a tool
    Tool {
        /// Name of the tool, or a glob
        name: String,
        /// Regular expression that the tool's input has to match
        #[arg(long, value_name = "REGEX")]
        condition: Option<String>,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Calls that name, or have changed, such a file; reading ones, too
    Path {
        /// File, directory, or glob, relative to the workspace: `src/auth/**`. The name of a file that exists is taken literally
        glob: String,
        /// Not calls that only read
        #[arg(long)]
        edits: bool,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Edits that touch these lines, which follow the text
    Line {
        /// File and lines: `src/auth.rs:10-20`
        #[arg(value_name = "FILE:A-B")]
        place: OsString,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Edits that add a line which matches
    Content {
        /// Regular expression
        regex: String,
        /// Only in files that match this glob
        #[arg(long, value_name = "GLOB")]
        path: Option<String>,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Calls whose input matches, whatever the case of letters
    Pattern {
        /// Regular expression
        regex: String,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Shell commands with these words and options, in any order and spelling
    Command {
        /// Words, as `rm -rf`, or a regular expression on the text between slashes: `/rm +-rf/`
        #[arg(value_name = "WORDS|/REGEX/")]
        text: String,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// The call with this number in its session
    Iteration {
        /// Number, from 1
        number: u32,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// The first call of this turn
    Turn {
        /// Turn: t4, or 4
        #[arg(value_name = "TURN")]
        turn: String,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Calls of a function that a program watches
    Function {
        /// `module.function`, `function`, or a glob
        name: String,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// Calls that failed, before the model hears of it
    Error {
        /// Only of this tool; a name, or a glob
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        #[command(flatten)]
        options: BreakpointOptions,
    },
    /// The next call of a turn that has used up a budget
    Budget {
        /// Unit that is counted
        of: BudgetKind,
        /// The limit
        limit: u64,
        #[command(flatten)]
        options: BreakpointOptions,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BudgetKind {
    Calls,
    Files,
    Lines,
    Minutes,
    Tokens,
}

#[derive(Debug, Args)]
pub struct BreakpointOptions {
    /// Condition in jq on the call: `.input.file_path | endswith(".sql")`
    #[arg(long, value_name = "JQ")]
    pub when: Option<String>,
    /// Condition on the number of hits: `>= 3`, `== 2`, `% 5`
    #[arg(long, value_name = "EXPR")]
    pub hits: Option<String>,
    /// Pause the agent, write a line to the log, or refuse the call
    #[arg(long, default_value = "pause")]
    pub action: ActionName,
    /// Message for the model with `deny`; text with `{jq}` in it with `log`
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Remove it with its first hit
    #[arg(long)]
    pub once: bool,
    /// Stop after the call instead of before it
    #[arg(long)]
    pub after: bool,
    /// Only calls of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only calls of this subagent; `main` is the main thread, `*` every subagent
    #[arg(long, value_name = "ID")]
    pub subagent: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Outcome of a pause that nobody sees [default: `pause.unattended`]
    #[arg(long, value_name = "OUTCOME")]
    pub unattended: Option<UnattendedKind>,
}

/// Changes of a breakpoint. An option that is left out changes nothing; an empty text removes what was there.
#[derive(Debug, Args)]
pub struct BreakpointEditArgs {
    /// Breakpoint: b3, or its name bp_…
    pub id: String,
    /// Condition in jq on the call; '' for none
    #[arg(long, value_name = "JQ")]
    pub when: Option<String>,
    /// Condition on the number of hits: `>= 3`, `== 2`, `% 5`; '' for none
    #[arg(long, value_name = "EXPR")]
    pub hits: Option<String>,
    /// Pause the agent, write a line to the log, or refuse the call
    #[arg(long)]
    pub action: Option<ActionName>,
    /// Message for the model with `deny`; text with `{jq}` in it with `log`; '' for none
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Remove it with its first hit
    #[arg(long, value_name = "BOOL")]
    pub once: Option<bool>,
    /// Outcome of a pause that nobody sees
    #[arg(long, value_name = "OUTCOME")]
    pub unattended: Option<UnattendedKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ActionName {
    Pause,
    Log,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnattendedKind {
    Ask,
    Hold,
    Deny,
    Allow,
}

/// A held call that a command is about.
#[derive(Debug, Args)]
pub struct HeldArgs {
    /// Held call: p7 [default: the only one]
    #[arg(value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct PausesArgs {
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// List ended ones, too
    #[arg(long)]
    pub all: bool,
    /// Show new ones as they come, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// Only this session [default: the next call of any]
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Subagents, too
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

/// The input with which a held call goes on.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Let the call run with this input: a file with JSON, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub input: Option<OsString>,
    /// Also with a changed input that the tool will refuse
    #[arg(long)]
    pub force: bool,
    /// Only if the call is still the one with this `fingerprint`, as `inspect --json` shows it
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StepHow {
    /// The next call of this thread
    Over,
    /// The next call of any thread
    Into,
    /// The next call of the main thread, or of another turn
    Out,
    /// The next call that names another file
    File,
    /// The first call of another turn
    Turn,
}

#[derive(Debug, Args)]
pub struct StepArgs {
    /// Where to stop next
    #[arg(default_value = "over")]
    pub how: StepHow,
    #[command(flatten)]
    pub input: InputArgs,
    /// Held call: p7 [default: the only one]
    #[arg(long, value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct DenyArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Reason for the model
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
}

#[derive(Debug, Args)]
pub struct SkipArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Value that the call of a paused program returns instead: an expression in its language
    #[arg(long, value_name = "EXPR")]
    pub value: Option<String>,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Reason for the model
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
}

#[derive(Debug, Args)]
pub struct InjectArgs {
    /// Text for the model
    #[arg(required_unless_present_any = ["list", "withdraw"])]
    pub text: Option<String>,
    /// List the texts that wait
    #[arg(long, conflicts_with_all = ["text", "session"])]
    pub list: bool,
    /// Withdraw a text that waits, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["text", "session", "list"])]
    pub withdraw: Option<i64>,
    /// Only this session [default: the next event of any]
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
pub struct BackArgs {
    /// Number of steps
    #[arg(default_value_t = 1)]
    pub steps: usize,
    /// Held call: p7 [default: the only one]
    #[arg(long, value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Decide about lines that both sides changed
    #[arg(long, value_name = "HOW", default_value = "fail")]
    pub on_conflict: ConflictChoice,
}

#[derive(Debug, Args)]
pub struct DebugArgs {
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReplArgs {
    #[command(subcommand)]
    pub command: Option<ReplCommand>,
    /// Held call, or paused program: p7 [default: the only one]
    #[arg(value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Evaluate this and leave; may be given several times
    #[arg(short, long, value_name = "INPUT")]
    pub eval: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum ReplCommand {
    /// List sessions, the newest first
    List(ReplListArgs),
    /// Show the transcript of a session
    Show {
        /// Session: <pid>-<time>
        session: String,
    },
    /// Show a value that an evaluation gave
    Object {
        /// Its content id: sha256:…
        cid: String,
        /// Write its bytes to this file
        #[arg(long, value_name = "FILE")]
        save: Option<std::path::PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplStatus {
    Active,
    Closed,
}

#[derive(Debug, Args)]
pub struct ReplListArgs {
    /// Only with this text in the function or in the transcript
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    #[arg(long)]
    pub status: Option<ReplStatus>,
    /// Only started since then: 2026-11-25, `2 hours ago`
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only started until then
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only at this pause
    #[arg(long, value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Maximum number
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50)]
    pub limit: usize,
    /// The page after this session
    #[arg(long, value_name = "SESSION")]
    pub before: Option<String>,
}
