//! Types of the command line: every command, its options and its help. Owns no behaviour.

use std::ffi::OsString;
use std::path::PathBuf;

use backstitch_core::model::Kind;
use backstitch_core::restore::{OnConflict, Scope};
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::breakpoint_args::BreakpointArgs;
use super::control_args::{
    BackArgs, DebugArgs, DenyArgs, HeldArgs, InjectArgs, PauseArgs, PausesArgs, ReplArgs,
    ResumeArgs, SkipArgs, StepArgs, StopArgs,
};
pub use super::options::GlobalArgs;
use super::{choice, complete};

const REVISIONS: &str = "\
A REV is c12 (a checkpoint), c12^ (its parent), @ (now), @~2 (two checkpoints back), a tag, a branch, or a label in quotes. \
Or it is t4 (the state just before turn 4), or @turn (just before the agent's last turn).";

#[derive(Debug, Parser)]
#[command(
    name = "backstitch",
    version,
    about = "Checkpoint everything a coding agent does in a workspace, and rewind any of it",
    after_help = "Start here:\n  \
        backstitch demo                 try it in a scratch directory\n  \
        backstitch setup                record what your agents do\n  \
        backstitch log                  show what happened in this workspace\n  \
        backstitch rewind               undo the agent's last turn\n  \
        backstitch rewind t4            undo the agent's work since before turn 4\n  \
        backstitch undo                 undo the rewind",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Record, rewind and undo a scripted agent in a scratch directory
    #[command(after_help = "Examples:\n  backstitch demo\n  backstitch demo --keep")]
    Demo(DemoArgs),
    /// Set up an agent to report what it does, or an editor to show it
    #[command(after_help = "Examples:\n  \
        backstitch setup                          set up every agent found\n  \
        backstitch setup claude-code --print      show what would be written\n  \
        backstitch setup claude-code --scope project\n  \
        backstitch setup --status                 is recording on, and if not, why\n  \
        backstitch setup --repair                 hooks that run a missing program run this one\n  \
        backstitch setup claude-code --uninstall")]
    Setup(SetupArgs),
    /// Show the workspace, its store, and what is not captured
    #[command(after_help = "Examples:\n  backstitch status\n  backstitch status --json")]
    Status,
    /// Check the store, settings, agents and their hooks, and say how to fix what is wrong
    #[command(after_help = "Examples:\n  backstitch doctor\n  backstitch doctor --json")]
    Doctor,
    /// Make a directory a workspace and record its state
    #[command(after_help = "Examples:\n  backstitch init\n  backstitch init ~/notes")]
    Init {
        /// Directory to initialize [default: the current one]
        dir: Option<PathBuf>,
    },
    #[command(flatten)]
    History(HistoryCommand),
    #[command(flatten)]
    Held(HeldCommand),
    /// Serve a program that pauses, on stdin and stdout (clients of its language call this)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch bridge\n\nserver/docs/bridge.md has the protocol."
    )]
    Bridge,
    /// Run an agent behind the Agent Client Protocol, and record its turns and edits (editors call this)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch acp -- gemini --experimental-acp\n  backstitch acp -- opencode acp\n\n\
            An editor runs this command in place of the agent's own. server/docs/acp.md has the settings of each editor."
    )]
    Acp {
        /// The agent's command, as the editor would run it
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "AGENT"
        )]
        command: Vec<std::ffi::OsString>,
    },
    /// Record an agent's event from stdin (agents call this; see `setup`)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch hook claude-code < payload.json"
    )]
    Hook {
        /// Name of the agent
        agent: String,
    },
    /// Run the language server on stdin and stdout (editors call this)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch lsp\n  backstitch lsp --log /tmp/backstitch.log --log-level debug"
    )]
    Lsp(LspArgs),
    /// Give an agent the history as tools, on stdin and stdout (agents call this; MCP)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch mcp\n  claude mcp add backstitch -- backstitch mcp\n\nAn agent reads the history and \
            proposes rewinds; files change only once you accept one. server/docs/mcp.md has the tools."
    )]
    Mcp,
    /// Print a script that completes commands, revisions, branches and sessions in a shell
    #[command(
        after_help = "Add this to the file that your shell reads at its start:\n  \
            bash: source <(backstitch completions bash)          in ~/.bashrc\n  \
            zsh:  source <(backstitch completions zsh)           in ~/.zshrc, after compinit\n  \
            fish: backstitch completions fish | source           in ~/.config/fish/config.fish\n\n\
            Examples:\n  \
            backstitch completions bash\n  \
            backstitch show t<TAB>          the turns, with their prompts\n  \
            backstitch switch <TAB>         the branches"
    )]
    Completions {
        /// Name of the shell
        shell: clap_complete::Shell,
    },
}

/// A command on the history of a workspace.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Record the current state
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  \
            backstitch checkpoint -m \"before the refactoring\"\n  \
            backstitch checkpoint create green\n  \
            backstitch checkpoint list\n  \
            backstitch checkpoint list --all          of every branch"
    )]
    Checkpoint(CheckpointArgs),
    /// Show the timeline, newest first: turns, steps, your own edits, rewinds
    #[command(
        visible_alias = "timeline",
        after_help = "Examples:\n  \
            backstitch log\n  \
            backstitch log --graph -n 50\n  \
            backstitch log --path src/main.rs\n  \
            backstitch log --text \"parse* error\"      prompts, labels and tool inputs\n  \
            backstitch log --kind turn --since 3d\n  \
            backstitch log --before c120             the next page, older than c120\n  \
            backstitch log --reverse                 the oldest first\n  \
            backstitch log --all --json\n\nIn every command t4 means the state before that turn, c12 the state after that checkpoint."
    )]
    Log(LogArgs),
    /// Show one checkpoint: turn, prompt, agent, tool, changes, coverage
    #[command(
        after_help = format!("Examples:\n  \
            backstitch show c12\n  \
            backstitch show t4 --patch\n  \
            backstitch show @ --name-status\n\n{REVISIONS}")
    )]
    Show(ShowArgs),
    /// Show changes between two states, as a patch for `git apply`
    #[command(
        after_help = format!("Examples:\n  \
            backstitch diff                   the newest checkpoint against the disk\n  \
            backstitch diff t4                since turn 4 began\n  \
            backstitch diff t4 t5 -- src      what turn 4 did below src\n  \
            backstitch diff t4 --word\n\n{REVISIONS}\n\n\
            With fewer than two revisions, the files on disk are scanned. Your new edits there are recorded as a \
            checkpoint.")
    )]
    Diff(DiffArgs),
    /// Print a file's content at a checkpoint, byte for byte
    #[command(
        after_help = format!("Examples:\n  \
            backstitch cat t4 src/main.rs\n  \
            backstitch cat c12 logo.png > old.png\n  \
            backstitch cat t4 src/main.rs --unsaved   text that an editor had not saved\n\n{REVISIONS}")
    )]
    Cat {
        /// Checkpoint to read from
        #[arg(add = complete::revisions())]
        rev: String,
        /// File to print
        path: OsString,
        /// Print text that an editor had not saved by then, instead of the file on disk. N picks one of several
        /// editors, in the order that `show` lists them
        #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
              value_parser = clap::value_parser!(u16).range(1..))]
        unsaved: Option<u16>,
    },
    /// Show who wrote each line of a file: which agent, in which turn, with which tool, or you
    #[command(
        after_help = format!("Examples:\n  \
            backstitch blame src/main.rs\n  \
            backstitch blame src/main.rs t4           as it was before turn 4\n  \
            backstitch blame src/main.rs -L 10,20     these lines; also 10,+5 and 10\n  \
            backstitch blame src/main.rs --contents - < buffer    text that is not saved yet\n  \
            backstitch blame src/main.rs --json | jq '.lines[9] as $l | .runs[$l.run].prompt'\n\n{REVISIONS}\n\n\
            A line that a rewind, undo, redo or revert restores keeps its author. An author is an agent's turn \
            (`?` if uncertain), `you` or `unknown`. `you` also stands for changes on disk that are not recorded yet. \
            Lines that are older than the history have `before Backstitch`.\n\n\
            JSON: `lines` has line, text, by (agent, user, unknown, before), checkpoint, turn, and the index \
            of its run. `runs`, consecutive lines of one author, have start, count, by, recorded, checkpoint, \
            time, agent, session, session_certainty, step_certainty, turn, prompt, tool, iteration, subagent.")
    )]
    Blame(BlameArgs),
    /// Show the work of agents that you have not reviewed yet, and mark it as reviewed
    #[command(after_help = "Examples:\n  \
            backstitch review                               files that agents changed since you last looked\n  \
            backstitch review src/main.rs                   its hunks, with turn and prompt\n  \
            backstitch review --turn t4                     the hunks of one turn, in all files\n  \
            backstitch review -i                            keep or undo them one by one\n  \
            backstitch review src/main.rs --keep            mark it as reviewed\n  \
            backstitch review src/main.rs --keep -L 10,20   only its hunks at these lines\n  \
            backstitch review --keep                        mark everything as reviewed\n  \
            backstitch review src/main.rs --unkeep          undo the last --keep; again: the one before\n\n\
            Your own edits and rewound changes are never listed. A file that was never kept is compared with its \
            state before the first recorded change.\n\n\
            JSON: `files`, each with path, kind, from, added, removed, binary, hunks, and unreviewed (their number). \
            Also shown (the state, for --shown) and line_ends (true: only line ends differ). A hunk has old and new as \
            [first line from 1, count], removed, added, agent, session, turn, prompt, checkpoint.")]
    Review(ReviewArgs),
    /// Restore files to the state before a turn or at a checkpoint; your own edits stay
    #[command(
        after_help = format!("Examples:\n  \
            backstitch rewind                       undo the agent's last turn\n  \
            backstitch rewind t4 --dry-run          show what would happen\n  \
            backstitch rewind t4                    undo the agent's work from turn 4 on\n  \
            backstitch rewind t4 --path src/main.rs\n  \
            backstitch rewind c12 --exact           restore exactly that state, without your later edits\n  \
            backstitch rewind --iteration 7\n  \
            backstitch rewind \"before the refactoring\"\n\n{REVISIONS}")
    )]
    Rewind(RewindArgs),
    /// Undo the changes of one turn or step and keep later ones
    #[command(
        after_help = format!("Examples:\n  \
            backstitch revert t4\n  \
            backstitch revert c12 c14 --dry-run\n\n{REVISIONS}")
    )]
    Revert(RevertArgs),
    /// Undo the last operation, such as a rewind, revert or switch
    #[command(after_help = "Examples:\n  backstitch undo\n  backstitch undo op3 --dry-run")]
    Undo(UndoArgs),
    /// Redo the operation that was undone last
    #[command(after_help = "Examples:\n  backstitch redo\n  backstitch redo --dry-run")]
    Redo(RedoArgs),
    /// Create a branch at a checkpoint, optionally in its own directory
    #[command(
        after_help = format!("Examples:\n  \
            backstitch fork t4 idea2                       then `backstitch switch idea2`\n  \
            backstitch fork t4 idea2 --switch\n  \
            backstitch fork @ idea3 --into ../idea3        a directory for a second agent\n\n{REVISIONS}\n\n\
            A directory created with --into shares this history. It holds the tracked files, but neither \
            ignored files nor .git.")
    )]
    Fork(ForkArgs),
    /// Switch to another branch; the current files are recorded first
    #[command(after_help = "Examples:\n  \
            backstitch switch idea2\n  \
            backstitch switch main --carry      carry over your edits since the last checkpoint\n  \
            backstitch undo                     switch back")]
    Switch(SwitchArgs),
    /// List, create, rename or delete branches
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  \
            backstitch branch\n  \
            backstitch branch create idea2 --from t4\n  \
            backstitch branch t4 idea2                the same\n  \
            backstitch branch --from t4 --name idea2  the same\n  \
            backstitch branch rename idea2 better-idea\n  \
            backstitch branch delete idea2            its checkpoints stay"
    )]
    Branch(BranchArgs),
    /// List, create or delete tags
    #[command(
        after_help = format!("Examples:\n  \
            backstitch tag\n  \
            backstitch tag works            the newest checkpoint\n  \
            backstitch tag works t4\n  \
            backstitch tag --delete works\n\n{REVISIONS}")
    )]
    Tag(TagArgs),
    /// Print the nearest common ancestor of two checkpoints
    #[command(
        after_help = format!("Examples:\n  \
            backstitch ancestor main idea2\n  \
            backstitch diff $(backstitch ancestor main idea2) idea2\n\n{REVISIONS}")
    )]
    Ancestor {
        /// Checkpoint or branch
        #[arg(add = complete::revisions())]
        a: String,
        /// Another checkpoint or branch
        #[arg(add = complete::revisions())]
        b: String,
    },
    /// Show the operations so far: rewinds, reverts, undos, redos, switches, forks, tags and renames
    #[command(after_help = "Examples:\n  backstitch oplog\n  backstitch oplog --json")]
    Oplog,
    /// Write the whole tree of a checkpoint to an empty directory
    #[command(
        after_help = format!("Examples:\n  \
            backstitch materialize t4 --into /tmp/before\n\n{REVISIONS}")
    )]
    Materialize {
        /// Checkpoint to write
        #[arg(add = complete::revisions())]
        rev: String,
        /// Directory to write to: empty, or not there yet
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
    },
    /// Check the integrity of the store
    #[command(after_help = "Examples:\n  backstitch verify")]
    Verify,
    /// Squash old checkpoints and free disk space; runs by itself once a day
    ///
    /// Neighboring checkpoints become one checkpoint with their combined changes. These stay: heads and starts of
    /// branches, tagged and pinned checkpoints, checkpoints whose changes a remaining rewind moved, whole turns, and
    /// checkpoints younger than `store.keepDays`. Above `checkpoints.max` checkpoints or `store.maxBytes` bytes,
    /// younger ones are squashed too, the oldest first. This cannot be undone; files of the workspace are not touched.
    #[command(after_help = "Examples:\n  \
        backstitch gc --dry-run\n  \
        backstitch gc --keep-days 90\n  \
        backstitch gc --keep 500 --max-bytes 1000000000")]
    Gc(GcArgs),
    /// Show statistics of the history: checkpoints, sessions, lines, sizes
    #[command(after_help = "Examples:\n  backstitch stats\n  backstitch stats --json")]
    Stats,
    /// Delete the whole history of this workspace; its files stay
    #[command(
        after_help = "Examples:\n  backstitch clear\n  backstitch clear --yes\n\n\
            This cannot be undone."
    )]
    Clear(ClearArgs),
    /// Finish a scan that ran out of time
    #[command(hide = true)]
    Scan,
}

/// A command about breakpoints and held calls.
#[derive(Debug, Subcommand)]
pub enum HeldCommand {
    /// Manage breakpoints on agents' tool calls
    #[command(
        after_help = "Examples:\n  backstitch breakpoint add path 'src/auth/**'\n  backstitch breakpoint add command 'rm -rf'\n  \
            backstitch breakpoint add line src/auth.rs:10-20\n  \
            backstitch breakpoint add tool Edit --when '.turn.calls > 20'\n  backstitch breakpoint list"
    )]
    Breakpoint(BreakpointArgs),
    /// List the calls that are held now
    #[command(
        after_help = "Examples:\n  backstitch pauses\n  backstitch pauses --watch\n  backstitch pauses --all --json"
    )]
    Pauses(PausesArgs),
    /// Hold the next call of an agent
    #[command(after_help = "Examples:\n  backstitch pause\n  backstitch pause --all")]
    Pause(PauseArgs),
    /// Let a held call run, as it is or with another input
    #[command(after_help = "Examples:\n  \
            backstitch resume\n  \
            backstitch inspect --json | jq .pause.input > input.json\n  \
            backstitch resume p7 --input input.json\n\n\
            The agent's own rules still hold: it may ask as well.")]
    Resume(ResumeArgs),
    /// Let a held call run, and hold the next one
    #[command(
        after_help = "Examples:\n  backstitch step\n  backstitch step into\n  backstitch step file"
    )]
    Step(StepArgs),
    /// Do not run a held call; the agent continues without it
    #[command(after_help = "Examples:\n  backstitch skip\n  backstitch skip p7")]
    Skip(SkipArgs),
    /// Refuse a held call, with a reason for the model
    #[command(after_help = "Examples:\n  backstitch deny -m \"use the helper in util.rs\"")]
    Deny(DenyArgs),
    /// Refuse a held call, and end the agent's turn
    #[command(
        after_help = "Examples:\n  backstitch stop\n  backstitch stop -m \"this is the wrong file\""
    )]
    Stop(StopArgs),
    /// Send a text to the model of an agent, with its next event
    #[command(after_help = "Examples:\n  backstitch inject \"the tests are in tests/unit\"")]
    Inject(InjectArgs),
    /// Revert the last steps of a held call's session, refuse the call, and tell the model
    #[command(after_help = "Examples:\n  backstitch back\n  backstitch back 3")]
    Back(BackArgs),
    /// Print a held call with its input
    #[command(after_help = "Examples:\n  backstitch inspect\n  backstitch inspect p7 --json")]
    Inspect(HeldArgs),
    /// Step through held calls interactively
    #[command(
        after_help = "Examples:\n  backstitch breakpoint add path 'src/**'\n  backstitch debug\n\n\
            A script writes one key per line. Lines that come early decide on the next calls, in order. A line that \
            fails ends it with an error: no later line is carried out. With --json each answer is a document in one line.\n\n\
            Keys: c continue, n step, s step into, o step out, d deny, k skip, b revert steps, x end the turn, q quit. \
            Also: e edit the input, u drop an edit that was not taken, i tell the model, r show again."
    )]
    Debug(DebugArgs),
    /// Open a REPL at a held call or a paused program; search transcripts
    #[command(
        after_help = "Examples:\n  backstitch repl\n  backstitch repl p7\n  backstitch repl p7 -e '.call.input' -e '!git diff'\n  \
            backstitch repl list --search database\n  backstitch repl show 4711-1764093600.123456"
    )]
    Repl(ReplArgs),
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the scratch directory
    #[arg(long)]
    pub keep: bool,
    /// Use and keep this directory, which must be empty or missing
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct SetupArgs {
    /// Agent or editor to set up: claude-code, codex, opencode, copilot, gemini, qwen, cline, cursor, devin; helix, neovim, zed, emacs, kakoune, sublime [default: the agents found]
    #[arg(value_name = "AGENT|EDITOR")]
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

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// Label to find it by
    #[arg(short = 'm', long = "message", value_name = "LABEL")]
    pub label: Option<String>,
    /// Longer description, shown by `show` and found by `log --text`
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Keep it however old it becomes
    #[arg(long)]
    pub pin: bool,
    #[command(subcommand)]
    pub command: Option<CheckpointCommand>,
}

impl CheckpointArgs {
    pub fn records(&self) -> bool {
        matches!(self.command, None | Some(CheckpointCommand::Create { .. }))
    }

    pub fn lists(&self) -> bool {
        matches!(self.command, Some(CheckpointCommand::List { .. }))
    }
}

#[derive(Debug, Subcommand)]
pub enum CheckpointCommand {
    /// Record the current state
    Create {
        /// Label to find it by
        label: Option<String>,
        /// Longer description, shown by `show` and found by `log --text`
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Keep it however old it becomes
        #[arg(long)]
        pin: bool,
    },
    /// Keep a checkpoint however old it becomes, as a tag does
    Pin {
        /// Checkpoint to pin [default: the newest]
        #[arg(add = complete::revisions())]
        rev: Option<String>,
    },
    /// Let a pinned checkpoint be squashed again when it is old
    Unpin {
        /// Checkpoint to unpin [default: the newest]
        #[arg(add = complete::revisions())]
        rev: Option<String>,
    },
    /// List the checkpoints of this branch, newest first
    List {
        /// List every branch
        #[arg(long)]
        all: bool,
        /// List only this session
        #[arg(short, long, value_name = "ID", add = complete::sessions())]
        session: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Show what would be squashed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep checkpoints younger than N days; 0 keeps only those that must stay [default: `store.keepDays`]
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u64>,
    /// Squash the oldest checkpoints beyond the N newest, of all branches together; 0 means no limit [default:
    /// `checkpoints.max`]
    #[arg(long, value_name = "N")]
    pub keep: Option<u64>,
    /// Squash the oldest until the store is below N bytes; 0 means no limit [default: `store.maxBytes`]
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// Also squash checkpoints that are too old by the clock alone: it may have been wrong where a long gap is
    #[arg(long)]
    pub trust_clock: bool,
    /// Run only if it is due, and print nothing
    #[arg(long, hide = true)]
    pub if_due: bool,
}

#[derive(Debug, Args)]
pub struct ForkArgs {
    /// Checkpoint at which the branch starts
    #[arg(add = complete::revisions())]
    pub rev: String,
    /// Name of the new branch
    pub name: String,
    /// Check the branch out in this empty or new directory, outside of the workspace
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Description of the branch
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Switch to it; on a terminal you see the plan and are asked
    #[arg(long, conflicts_with = "into")]
    pub switch: bool,
    /// Do not ask before switching
    #[arg(short, long, requires = "switch", visible_alias = "force")]
    pub yes: bool,
}

#[derive(Clone, Debug, Args)]
pub struct SwitchArgs {
    /// Branch to switch to
    #[arg(add = complete::branches())]
    pub name: String,
    /// Take your newest edits along: those since you switched to this branch, and after its newest checkpoint
    /// that is not yours
    #[arg(long)]
    pub carry: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

#[derive(Debug, Args)]
pub struct BranchArgs {
    /// Checkpoint at which the new branch starts
    #[arg(requires = "name", add = complete::revisions())]
    pub rev: Option<String>,
    /// Name of the new branch
    pub name: Option<String>,
    /// The same, as an option
    #[arg(long, value_name = "REV", requires = "new", conflicts_with = "rev", add = complete::revisions())]
    pub from: Option<String>,
    /// The same, as an option
    #[arg(long = "name", value_name = "NAME", conflicts_with_all = ["rev", "name"])]
    pub new: Option<String>,
    #[command(subcommand)]
    pub command: Option<BranchCommand>,
}

impl BranchArgs {
    pub fn lists(&self) -> bool {
        let creates = self.rev.is_some() || self.new.is_some();
        !creates && matches!(self.command, Some(BranchCommand::List) | None)
    }
}

impl TagArgs {
    pub fn lists(&self) -> bool {
        self.name.is_none() && self.delete.is_none()
    }
}

#[derive(Debug, Subcommand)]
pub enum BranchCommand {
    /// List all branches, deleted ones last
    List,
    /// Create a branch
    Create {
        /// Name of the new branch
        name: String,
        /// Checkpoint at which it starts
        #[arg(long, value_name = "REV", default_value = "@", add = complete::revisions())]
        from: String,
        /// Description of the branch
        #[arg(short = 'm', long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Switch to a branch
    Switch(SwitchArgs),
    /// Rename a branch
    Rename {
        /// Branch to rename
        #[arg(add = complete::branches())]
        from: String,
        /// Its new name
        to: String,
    },
    /// Delete a branch; its checkpoints stay, under their ids
    Delete {
        /// Branch to delete
        #[arg(add = complete::branches())]
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct TagArgs {
    /// Name of the new tag
    pub name: Option<String>,
    /// Checkpoint to tag [default: @]
    #[arg(requires = "name", add = complete::revisions())]
    pub rev: Option<String>,
    /// Delete this tag; its checkpoint stays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "rev"], add = complete::tag_names())]
    pub delete: Option<String>,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    /// Show at most N checkpoints [default: 40; with --json or --all: no limit]
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = number)]
    pub limit: Option<usize>,
    /// Show the oldest first
    #[arg(long)]
    pub reverse: bool,
    /// Show every branch, not just the current one
    #[arg(long)]
    pub all: bool,
    /// Draw the history as a graph
    #[arg(long)]
    pub graph: bool,
    /// Show only this session (its letter, its id or a unique prefix)
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Show only the work of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Show only changes of this file or directory
    #[arg(long, value_name = "PATH")]
    pub path: Option<OsString>,
    /// Show only checkpoints with all these words in a prompt, label or tool input; `word*` matches any
    /// ending. A call that changed nothing has no checkpoint and is not found
    #[arg(long, value_name = "WORDS")]
    pub text: Option<String>,
    /// Show only checkpoints of this kind
    #[arg(long, value_name = "KIND", value_parser = choice::one_of(&Kind::LISTED, Kind::name))]
    pub kind: Option<Kind>,
    /// Show the history of this branch instead of the current one
    #[arg(long, value_name = "NAME", conflicts_with = "all", add = complete::branches())]
    pub branch: Option<String>,
    /// Show only checkpoints from this time on: 2h, 3d, 2026-11-20, 2026-11-20T09:30
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show only checkpoints up to this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Show only checkpoints older than this one: the next page
    #[arg(long, value_name = "REV", add = complete::revisions())]
    pub before: Option<String>,
}

/// Parses a count. The parser's own message names the type of the number.
fn number(typed: &str) -> Result<usize, String> {
    typed
        .parse()
        .map_err(|_| format!("`{typed}` is not a number"))
}

impl LogArgs {
    pub fn is_filtered(&self) -> bool {
        let texts = [
            &self.session,
            &self.agent,
            &self.text,
            &self.branch,
            &self.since,
            &self.until,
            &self.before,
        ];
        self.path.is_some() || self.kind.is_some() || texts.iter().any(|t| t.is_some())
    }
}

#[derive(Debug, Args)]
pub struct ClearArgs {
    /// Do not ask, even if an agent is at work or other directories share the history
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Checkpoint to show
    #[arg(add = complete::revisions())]
    pub rev: String,
    #[command(flatten)]
    pub form: ShowForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct ShowForm {
    /// List changed files with line counts (the default)
    #[arg(long)]
    pub stat: bool,
    /// Show the changes as a patch
    #[arg(long, short)]
    pub patch: bool,
    /// List changed files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
}

#[derive(Debug, Args)]
pub struct BlameArgs {
    /// File to annotate
    pub path: OsString,
    /// Checkpoint to annotate [default: the file on disk]
    #[arg(add = complete::revisions())]
    pub rev: Option<String>,
    /// Annotate this text instead, as if the file held it, such as text that an editor has not saved; `-`
    /// reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "rev")]
    pub contents: Option<PathBuf>,
    /// Show only these lines: from,to or from,+count or from
    #[arg(short = 'L', value_name = "LINES")]
    pub lines: Option<String>,
}

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Files or directories [default: all]
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Mark the current state as reviewed
    #[arg(long, conflicts_with = "unkeep")]
    pub keep: bool,
    /// Undo the last --keep of each file; again: the one before
    #[arg(long)]
    pub unkeep: bool,
    /// Only the hunks of this turn
    #[arg(long, value_name = "TURN", conflicts_with = "unkeep", add = complete::revisions())]
    pub turn: Option<String>,
    /// Go through the hunks one by one: keep, undo, next, previous, quit
    #[arg(short, long, conflicts_with_all = ["keep", "unkeep", "lines", "shown"])]
    pub interactive: bool,
    /// Only the hunks at these lines of the file: from,to or from,+count or from
    #[arg(short = 'L', long, value_name = "LINES")]
    pub lines: Option<String>,
    /// With --keep: keep the state that --json listed as `shown`, not later changes
    #[arg(long, value_name = "STATE", requires = "keep")]
    pub shown: Option<String>,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Checkpoints to compare [default: @ and the files on disk]
    #[arg(value_name = "REV", num_args = 0..=2, add = complete::revisions())]
    pub revs: Vec<String>,
    /// Show only these files or directories
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub form: DiffForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct DiffForm {
    /// List changed files with line counts
    #[arg(long)]
    pub stat: bool,
    /// List changed files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
    /// Show changed words instead of lines
    #[arg(long)]
    pub word: bool,
}

/// Options of every command that restores files.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Restore only this file or directory (can be repeated)
    #[arg(long = "path", value_name = "PATH", num_args = 1..)]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

/// Options that confirm a change of files.
#[derive(Clone, Debug, Args)]
pub struct ConfirmArgs {
    /// Resolve conflicts this way
    #[arg(long, value_name = "HOW", default_value = "fail", value_parser = choice::resolution())]
    pub on_conflict: OnConflict,
    /// Show the plan and its fingerprint without changing files (new edits on disk are recorded first)
    #[arg(long)]
    pub dry_run: bool,
    /// Apply exactly the plan with this fingerprint, or refuse
    #[arg(long, value_name = "FINGERPRINT")]
    pub plan: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

impl ConfirmArgs {
    /// Returns the options of a command that has only `--yes`.
    pub fn only(yes: bool) -> Self {
        Self {
            on_conflict: OnConflict::Fail,
            dry_run: false,
            plan: None,
            yes,
        }
    }
}

/// Further options of `rewind` and `revert`.
#[derive(Clone, Debug, Args)]
pub struct SelectionArgs {
    /// Rewind files, the conversation, or both
    #[arg(long, default_value = "code", value_parser = choice::one_of(&Scope::ALL, Scope::name))]
    pub scope: Scope,
    /// Undo only the work of this session (its letter, its id or a unique prefix)
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Undo only this hunk, by its id in `diff --json` (can be repeated)
    #[arg(long = "hunk", value_name = "ID", num_args = 1..)]
    pub hunks: Vec<String>,
    /// Keep changes whose author is uncertain, or undo them (take); without it, keep them and fail
    #[arg(long, value_name = "WHAT")]
    pub uncertain: Option<UncertainChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UncertainChoice {
    Keep,
    Take,
}

#[derive(Debug, Args)]
pub struct RewindArgs {
    /// Turn or checkpoint to return to [default: the state before the agent's last turn]
    #[arg(add = complete::revisions())]
    pub rev: Option<String>,
    /// Rewind to the state after this tool call of the session
    #[arg(long, value_name = "N", conflicts_with = "rev")]
    pub iteration: Option<i64>,
    /// Restore exactly the state of the target; everyone's later edits are undone
    #[arg(long)]
    pub exact: bool,
    /// Undo the work of all agents since, not only of the turn's own session; your edits stay
    #[arg(long, conflicts_with_all = ["session", "exact"])]
    pub all_sessions: bool,
    /// Keep your own edits, even if `restore.default` is exact
    #[arg(long, conflicts_with = "exact")]
    pub merge: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[derive(Debug, Args)]
pub struct RevertArgs {
    /// Turns or steps to revert
    #[arg(required = true, value_name = "REV", add = complete::revisions())]
    pub revs: Vec<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Operation to undo [default: the newest that is not undone]
    #[arg(add = complete::operations())]
    pub op: Option<String>,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[derive(Debug, Args)]
pub struct RedoArgs {
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| command.get_name() != "scan")
        {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains("Examples:"),
                "{} has no examples",
                command.get_name()
            );
        }
    }

    #[test]
    fn diff_separates_revisions_from_paths() {
        let cli = Cli::parse_from(["backstitch", "diff", "t1", "t2", "--", "a", "b"]);
        let CliCommand::History(HistoryCommand::Diff(diff)) = cli.command else {
            panic!()
        };
        assert_eq!((diff.revs.len(), diff.paths.len()), (2, 2));
    }

    #[test]
    fn checkpoint_has_two_forms() {
        for args in [
            &["backstitch", "checkpoint", "-m", "x"][..],
            &["backstitch", "checkpoint"],
        ] {
            assert!(Cli::try_parse_from(args).is_ok());
        }
        let cli = Cli::parse_from(["backstitch", "checkpoint", "create", "x"]);
        let CliCommand::History(HistoryCommand::Checkpoint(CheckpointArgs {
            command: Some(create),
            ..
        })) = cli.command
        else {
            panic!()
        };
        assert!(
            matches!(create, CheckpointCommand::Create { label: Some(label), description: None, pin: false } if label == "x")
        );
    }

    #[test]
    fn rewind_takes_at_most_one_target() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["backstitch", "rewind"], args].concat());
        assert!(parse(&[]).is_ok(), "the last turn");
        assert!(parse(&["t1", "--iteration", "3"]).is_err());
        assert!(parse(&["t1", "--all-sessions", "--session", "s"]).is_err());
        assert!(parse(&["--iteration", "3", "--force"]).is_ok());
        assert!(parse(&["t1", "--path", "a", "b", "--hunk", "h"]).is_ok());
    }
}

#[derive(Debug, clap::Args)]
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
