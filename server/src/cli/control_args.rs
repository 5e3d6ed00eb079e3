//! Types of the commands about held calls. Owns no behaviour.

use std::ffi::OsString;

use backstitch_core::restore::OnConflict;
use clap::{Args, Subcommand, ValueEnum};

use super::{choice, complete};

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
    /// Hold calls of subagents, too
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

/// The input with which a held call continues.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Let the call run with this input: a file with JSON, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub input: Option<OsString>,
    /// Send the input even if the tool will refuse it
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
    /// The next call to hold
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
    /// Return the value of this expression instead (paused programs, in their language)
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
    /// List the texts that are not sent yet
    #[arg(long, conflicts_with_all = ["text", "session"])]
    pub list: bool,
    /// Withdraw a text that is not sent yet, by its number
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
    /// Resolve conflicts this way
    #[arg(long, value_name = "HOW", default_value = "fail", value_parser = choice::resolution())]
    pub on_conflict: OnConflict,
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
