//! The command line as types: every command, its options and its help. Owns no behaviour.

use std::ffi::OsString;
use std::path::PathBuf;

use backstitch_core::model::Kind;
use clap::{Args, Parser, Subcommand, ValueEnum};

const REVISIONS: &str = "\
A REV is c12 (a checkpoint), c12^ (its parent), t4 (the state just before turn 4), @ (now), @~2 (two \
before), a tag, a branch, or a label in quotes.";

#[derive(Debug, Parser)]
#[command(
    name = "backstitch",
    version,
    about = "Checkpoints everything a coding agent does in a workspace, and rewinds any of it",
    after_help = "Start here:\n  \
        backstitch demo                 see it work in a scratch directory\n  \
        backstitch setup claude-code    record what Claude Code does\n  \
        backstitch log --graph          what happened in this workspace\n  \
        backstitch rewind t4            take out what the agent did from turn 4 on\n  \
        backstitch undo                 and back again",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: CliCommand,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct GlobalArgs {
    /// Work on this workspace [default: the one around the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Keep the history here [default: `store.dir` of your own settings, else the user's state directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub store_dir: Option<PathBuf>,
    /// Answer with one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Say only what was asked for
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// ShowArgs the main job in a scratch directory: record an agent, look, rewind, undo
    #[command(after_help = "Examples:\n  backstitch demo\n  backstitch demo --keep")]
    Demo(DemoArgs),
    /// Let an agent report what it does
    #[command(after_help = "Examples:\n  \
        backstitch setup                          set up every agent found\n  \
        backstitch setup claude-code --print      show what would be written\n  \
        backstitch setup claude-code --scope project\n  \
        backstitch setup --status                 is recording on, and if not, why\n  \
        backstitch setup --repair                 hooks that run a missing program run this one\n  \
        backstitch setup claude-code --uninstall")]
    Setup(SetupArgs),
    /// The workspace, its store, and what is not captured
    #[command(after_help = "Examples:\n  backstitch status\n  backstitch status --json")]
    Status,
    /// Whether all that has to work together does: store, history, settings, agents and their hooks
    #[command(after_help = "Examples:\n  backstitch doctor\n  backstitch doctor --json")]
    Doctor,
    /// Make a directory a workspace and record its state
    #[command(after_help = "Examples:\n  backstitch init\n  backstitch init ~/notes")]
    Init {
        /// The directory [default: the current one]
        dir: Option<PathBuf>,
    },
    /// Record the state now
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  \
            backstitch checkpoint -m \"before the refactoring\"\n  \
            backstitch checkpoint create green\n  \
            backstitch checkpoint list\n  \
            backstitch checkpoint list --all          of every branch"
    )]
    Checkpoint(CheckpointArgs),
    /// The timeline: turns, steps, your own edits, rewinds
    #[command(
        visible_alias = "timeline",
        after_help = "Examples:\n  \
            backstitch log\n  \
            backstitch log --graph -n 50\n  \
            backstitch log --path src/main.rs\n  \
            backstitch log --text \"parse* error\"      prompts, labels, what tools were given\n  \
            backstitch log --kind turn --since 3d\n  \
            backstitch log --before c120             the page before\n  \
            backstitch log --all --json"
    )]
    Log(LogArgs),
    /// One checkpoint: turn, prompt, agent, tool, changes, coverage
    #[command(
        after_help = format!("Examples:\n  \
            backstitch show c12\n  \
            backstitch show t4 --patch\n  \
            backstitch show @ --name-status\n\n{REVISIONS}")
    )]
    Show(ShowArgs),
    /// ShownPart changed between two states; the output is what `git apply` takes
    #[command(
        after_help = format!("Examples:\n  \
            backstitch diff                   the newest checkpoint against the disk\n  \
            backstitch diff t4                since turn 4 began\n  \
            backstitch diff t4 t5 -- src      what turn 4 did below src\n  \
            backstitch diff t4 --word\n\n{REVISIONS}\n\n\
            With fewer than two revisions the disk is looked at; edits of yours that are found there are \
            recorded as a checkpoint.")
    )]
    Diff(DiffArgs),
    /// A file's content at a checkpoint, byte for byte
    #[command(
        after_help = format!("Examples:\n  \
            backstitch cat t4 src/main.rs\n  \
            backstitch cat c12 logo.png > old.png\n  \
            backstitch cat t4 src/main.rs --unsaved   what an editor had of it and had not saved\n\n{REVISIONS}")
    )]
    Cat {
        rev: String,
        path: OsString,
        /// ShownPart was typed in an editor by then and not saved, instead of what was on disk; of several
        /// editors that had some, the Nth as `show` lists them
        #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
              value_parser = clap::value_parser!(u16).range(1..))]
        unsaved: Option<u16>,
    },
    /// Who wrote each line of a file: which agent, in which turn, by which tool, or you
    #[command(
        after_help = format!("Examples:\n  \
            backstitch blame src/main.rs\n  \
            backstitch blame src/main.rs t4           as it was before turn 4\n  \
            backstitch blame src/main.rs -L 10,20     these lines; also 10,+5 and 10\n  \
            backstitch blame src/main.rs --contents - < buffer    a text that is not saved yet\n  \
            backstitch blame src/main.rs --json | jq '.lines[9] as $l | .runs[$l.run].prompt'\n\n{REVISIONS}\n\n\
            A line that a rewind, undo, redo or revert brings back keeps its author. Besides the agents' \
            turns (`?`: not for sure) there are `you`, also for what is on disk and not recorded yet; \
            `unknown`, where nobody can tell; and `before Backstitch`, for what was there at first.\n\n\
            JSON: `lines` has line, text, by (agent, user, unknown, before), checkpoint, turn, and the index \
            of its run; `runs`, consecutive lines of one author, have start, count, by, recorded, checkpoint, \
            time, agent, session, session_certainty, step_certainty, turn, prompt, tool, iteration, subagent.")
    )]
    Blame(BlameArgs),
    /// Take out what came after a checkpoint; your own edits stay
    #[command(
        after_help = format!("Examples:\n  \
            backstitch rewind t4 --dry-run          what would happen\n  \
            backstitch rewind t4                    take out the agent's work from turn 4 on\n  \
            backstitch rewind t4 --path src/main.rs\n  \
            backstitch rewind c12 --exact           that very state, your edits included\n  \
            backstitch rewind --iteration 7\n  \
            backstitch rewind \"before the refactoring\"\n\n{REVISIONS}")
    )]
    Rewind(RewindArgs),
    /// Take out one turn or step and keep what came later
    #[command(
        after_help = format!("Examples:\n  \
            backstitch revert t4\n  \
            backstitch revert c12 c14 --dry-run\n\n{REVISIONS}")
    )]
    Revert(RevertArgs),
    /// UndoArgs the last rewind or revert
    #[command(after_help = "Examples:\n  backstitch undo\n  backstitch undo op3 --dry-run")]
    Undo(UndoArgs),
    /// Do again what was undone
    #[command(after_help = "Examples:\n  backstitch redo\n  backstitch redo --dry-run")]
    Redo(RedoArgs),
    /// Make a branch at a checkpoint, if asked in a directory of its own
    #[command(
        after_help = format!("Examples:\n  \
            backstitch fork t4 idea2                       then `backstitch switch idea2`\n  \
            backstitch fork t4 idea2 --switch\n  \
            backstitch fork @ idea3 --into ../idea3        for a second agent, beside this one\n\n{REVISIONS}\n\n\
            A directory made with --into shares this history. It holds the tracked files; what is ignored \
            stays behind, and so does .git.")
    )]
    Fork(ForkArgs),
    /// Go to another branch: its files replace those here, which are recorded first
    #[command(after_help = "Examples:\n  \
            backstitch switch idea2\n  \
            backstitch switch main --carry      take along what you edited here since the last checkpoint\n  \
            backstitch undo                     and back again")]
    Switch(SwitchArgs),
    /// List, make, rename or delete branches
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  \
            backstitch branch\n  \
            backstitch branch create idea2 --from t4\n  \
            backstitch branch t4 idea2                the same\n  \
            backstitch branch --from t4 --name idea2  the same\n  \
            backstitch branch rename idea2 better-idea\n  \
            backstitch branch delete idea2            its checkpoints stay, under their numbers"
    )]
    Branch(BranchArgs),
    /// List, make or delete tags: names that stay with a checkpoint
    #[command(
        after_help = format!("Examples:\n  \
            backstitch tag\n  \
            backstitch tag works            the newest checkpoint\n  \
            backstitch tag works t4\n  \
            backstitch tag --delete works\n\n{REVISIONS}")
    )]
    Tag(TagArgs),
    /// The nearest checkpoint that both stand on
    #[command(
        after_help = format!("Examples:\n  \
            backstitch ancestor main idea2\n  \
            backstitch diff $(backstitch ancestor main idea2) idea2\n\n{REVISIONS}")
    )]
    Ancestor { a: String, b: String },
    /// ShownPart was done so far: rewinds, reverts, undos, redos and switches; forks, tags, and names changed
    #[command(after_help = "Examples:\n  backstitch oplog\n  backstitch oplog --json")]
    Oplog,
    /// The whole tree of a checkpoint in another, empty directory
    #[command(
        after_help = format!("Examples:\n  \
            backstitch materialize t4 --into /tmp/before\n\n{REVISIONS}")
    )]
    Materialize {
        rev: String,
        /// An empty directory, or one to be made
        #[arg(long, value_name = "DIR")]
        into: PathBuf,
    },
    /// Check that everything in the store is whole
    #[command(after_help = "Examples:\n  backstitch verify")]
    Verify,
    /// Make old checkpoints one, and remove what nobody needs any more; runs by itself once a day
    ///
    /// Checkpoints that stand beside each other become one, which has what they come to. ShownPart stays: where a branch
    /// ends or begins, tagged and pinned checkpoints, what a rewind that stays has moved, whole turns, and what is
    /// younger than `store.keepDays`, unless there are more than `checkpoints.max` or the store takes more than
    /// `store.maxBytes`: then the oldest go first. This cannot be undone; files of the workspace are not touched.
    #[command(after_help = "Examples:\n  \
        backstitch gc --dry-run\n  \
        backstitch gc --keep-days 90\n  \
        backstitch gc --keep 500 --max-bytes 1000000000")]
    Gc(GcArgs),
    /// The history in numbers: checkpoints, sessions, lines, sizes
    #[command(after_help = "Examples:\n  backstitch stats\n  backstitch stats --json")]
    Stats,
    /// Remove the whole history of this workspace; its files stay as they are
    #[command(
        after_help = "Examples:\n  backstitch clear\n  backstitch clear --yes\n\n\
            This cannot be undone."
    )]
    Clear(ClearArgs),
    /// Record an agent's event from stdin (agents call this; see `setup`)
    #[command(after_help = "Examples:\n  backstitch hook claude-code < payload.json")]
    Hook {
        /// The agent
        agent: String,
    },
    /// The language server, on stdin and stdout (editors call this)
    #[command(
        after_help = "Examples:\n  backstitch lsp\n  backstitch lsp --log /tmp/backstitch.log --log-level debug"
    )]
    Lsp(LspArgs),
    /// Completions for a shell, on stdout
    #[command(after_help = "Examples:\n  \
            backstitch completions bash > ~/.local/share/bash-completion/completions/backstitch\n  \
            backstitch completions zsh > ~/.zfunc/_backstitch\n  \
            backstitch completions fish > ~/.config/fish/completions/backstitch.fish")]
    Completions { shell: clap_complete::Shell },
    /// Go on with a scan that ran out of time
    #[command(hide = true)]
    Scan,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the scratch directory
    #[arg(long)]
    pub keep: bool,
    /// Use this directory, which must be empty or missing, and keep it
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SetupArgs {
    /// ShownPart to set up: claude-code; helix, neovim, zed, emacs, kakoune, sublime [default: the agents found]
    #[arg(value_name = "AGENT|EDITOR")]
    pub agents: Vec<String>,
    /// For all your projects, or for this workspace alone
    #[arg(long, default_value = "user")]
    pub scope: SetupScope,
    /// ShowArgs what would be written, write nothing
    #[arg(long)]
    pub print: bool,
    /// Take out what setup wrote
    #[arg(long)]
    pub uninstall: bool,
    /// Say if each agent is recorded; if not, why, and what to do; write nothing
    #[arg(long, conflicts_with_all = ["print", "uninstall", "repair", "scope"])]
    pub status: bool,
    /// Have hooks run this program where theirs is missing or will be deleted
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
    /// A name to find it by
    #[arg(short = 'm', long = "message", value_name = "LABEL")]
    pub label: Option<String>,
    /// ShownPart it is about, at more length; `show` has it, and `log --text` finds it
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Keep it for good, however old it becomes
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
    /// Record the state now
    Create {
        /// A name to find it by
        label: Option<String>,
        /// ShownPart it is about, at more length; `show` has it, and `log --text` finds it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Keep it for good, however old it becomes
        #[arg(long)]
        pin: bool,
    },
    /// Keep a checkpoint for good, however old it becomes; a tag does so, too
    Pin {
        /// The newest without it
        rev: Option<String>,
    },
    /// Let a checkpoint go with its age again
    Unpin {
        /// The newest without it
        rev: Option<String>,
    },
    /// The checkpoints of this branch, newest first
    List {
        /// Those of every branch
        #[arg(long)]
        all: bool,
        /// Only those of this session
        #[arg(short, long, value_name = "ID")]
        session: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only say what would go
    #[arg(long)]
    pub dry_run: bool,
    /// Younger ones stay; 0 lets all go that nobody holds on to [default: `store.keepDays`]
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u64>,
    /// Only so many of the newest stay; 0 is no limit [default: `checkpoints.max`]
    #[arg(long, value_name = "N")]
    pub keep: Option<u64>,
    /// The oldest go until the store is smaller, in bytes; 0 is no limit [default: `store.maxBytes`]
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// Where it is time for it, and without a word
    #[arg(long, hide = true)]
    pub if_due: bool,
}

#[derive(Debug, Args)]
pub struct ForkArgs {
    pub rev: String,
    pub name: String,
    /// In this empty or new directory, outside of the workspace
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// ShownPart it is for
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Go there at once
    #[arg(long, conflicts_with = "into")]
    pub switch: bool,
}

#[derive(Clone, Debug, Args)]
pub struct SwitchArgs {
    pub name: String,
    /// Take along what you edited on this branch: since you came to it, and after the newest checkpoint
    /// that is not an edit of yours
    #[arg(long)]
    pub carry: bool,
    #[command(flatten)]
    pub act: ConfirmArgs,
}

#[derive(Debug, Args)]
pub struct BranchArgs {
    /// Where the new branch starts
    #[arg(requires = "name")]
    pub rev: Option<String>,
    /// Its name
    pub name: Option<String>,
    /// The same, as options
    #[arg(long, value_name = "REV", requires = "new", conflicts_with = "rev")]
    pub from: Option<String>,
    #[arg(long = "name", value_name = "NAME", conflicts_with_all = ["rev", "name"])]
    pub new: Option<String>,
    #[command(subcommand)]
    pub command: Option<BranchCommand>,
}

impl BranchArgs {
    pub fn lists(&self) -> bool {
        let made = self.rev.is_some() || self.new.is_some();
        !made && matches!(self.command, Some(BranchCommand::List) | None)
    }
}

#[derive(Debug, Subcommand)]
pub enum BranchCommand {
    /// All branches; those that were deleted stand back
    List,
    /// Make one
    Create {
        name: String,
        /// Where it starts
        #[arg(long, value_name = "REV", default_value = "@")]
        from: String,
        /// ShownPart it is for
        #[arg(short = 'm', long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Go to one
    Switch(SwitchArgs),
    Rename {
        from: String,
        to: String,
    },
    /// Give the name up; its checkpoints stay, under their numbers
    Delete {
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct TagArgs {
    pub name: Option<String>,
    /// [default: @]
    #[arg(requires = "name")]
    pub rev: Option<String>,
    /// Take this tag away; its checkpoint stays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "rev"])]
    pub delete: Option<String>,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    /// At most so many checkpoints [default: 40; with --json or --all: no limit]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub limit: Option<usize>,
    /// Every branch, not just the current one
    #[arg(long)]
    pub all: bool,
    /// Oldest first, with the lines of history drawn
    #[arg(long)]
    pub graph: bool,
    /// Only this session (its id, or a unique start of it)
    #[arg(short, long, value_name = "ID")]
    pub session: Option<String>,
    /// Only what this agent did
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only what touched this file or directory
    #[arg(long, value_name = "PATH")]
    pub path: Option<OsString>,
    /// Only where all these words stand in a prompt, a label or a tool's input; `word*` finds any end. A
    /// call that changed nothing has no checkpoint and is not found
    #[arg(long, value_name = "WORDS")]
    pub text: Option<String>,
    /// Only checkpoints of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<LogKind>,
    /// The history of this branch instead of the current one
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub branch: Option<String>,
    /// Only from this time on: 2h, 3d, 2026-11-20, 2026-11-20T09:30
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only up to this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only those older than this checkpoint: the next page
    #[arg(long, value_name = "REV")]
    pub before: Option<String>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogKind {
    Turn,
    Step,
    Manual,
    External,
    Rewind,
    Squash,
}

impl LogKind {
    pub fn kind(self) -> Kind {
        match self {
            Self::Turn => Kind::Turn,
            Self::Step => Kind::Step,
            Self::Manual => Kind::Manual,
            Self::External => Kind::External,
            Self::Rewind => Kind::Rewind,
            Self::Squash => Kind::Squash,
        }
    }
}

#[derive(Debug, Args)]
pub struct ClearArgs {
    /// Do not ask, also where an agent is at work or other directories share the history
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    pub rev: String,
    #[command(flatten)]
    pub form: ShowForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct ShowForm {
    /// FileChange files with counts (the default)
    #[arg(long)]
    pub stat: bool,
    /// The changes as a patch
    #[arg(long, short)]
    pub patch: bool,
    /// FileChange files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
}

#[derive(Debug, Args)]
pub struct BlameArgs {
    pub path: OsString,
    /// The checkpoint to look at [default: the disk]
    pub rev: Option<String>,
    /// Look at this text instead, as if it stood in the file: what an editor has not saved yet. `-` reads
    /// it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "rev")]
    pub contents: Option<PathBuf>,
    /// Only these lines: from,to or from,+count or from
    #[arg(short = 'L', value_name = "LINES")]
    pub lines: Option<String>,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// From, and to [default: @ and the disk]
    #[arg(value_name = "REV", num_args = 0..=2)]
    pub revs: Vec<String>,
    /// Only these files or directories
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub form: DiffForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct DiffForm {
    /// FileChange files with counts
    #[arg(long)]
    pub stat: bool,
    /// FileChange files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
    /// FileChange words instead of lines
    #[arg(long)]
    pub word: bool,
}

/// ShownPart every command that restores takes.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Only this file or directory; may be given again
    #[arg(long = "path", value_name = "PATH", num_args = 1..)]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub act: ConfirmArgs,
}

/// How anything that changes files is confirmed.
#[derive(Clone, Debug, Args)]
pub struct ConfirmArgs {
    /// ShownPart to do where edits collide
    #[arg(long, value_name = "HOW", default_value = "fail")]
    pub on_conflict: ConflictChoice,
    /// ShowArgs the plan and its fingerprint, change no file. The disk is looked at; edits of yours that
    /// are found there are recorded as a checkpoint
    #[arg(long)]
    pub dry_run: bool,
    /// Do exactly what the dry run with this fingerprint showed, or refuse
    #[arg(long, value_name = "FINGERPRINT")]
    pub plan: Option<String>,
    /// Do not ask
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

impl ConfirmArgs {
    /// As if `--yes` had been typed.
    pub fn confirmed() -> Self {
        Self {
            on_conflict: ConflictChoice::Fail,
            dry_run: false,
            plan: None,
            yes: true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConflictChoice {
    /// Change nothing
    Fail,
    /// Write conflict markers
    Markers,
    /// Keep the file's present lines
    Current,
    /// Take the target's lines
    Target,
}

/// ShownPart rewind and revert take besides.
#[derive(Clone, Debug, Args)]
pub struct SelectionArgs {
    /// Files, the conversation, or both
    #[arg(long, default_value = "code")]
    pub scope: ShownPart,
    /// Move only the work of this session (its id, or a unique start of it)
    #[arg(short, long, value_name = "ID")]
    pub session: Option<String>,
    /// Only this hunk, by an id of `diff --json`; may be given again
    #[arg(long = "hunk", value_name = "ID", num_args = 1..)]
    pub hunks: Vec<String>,
    /// Changes of which nobody knows for sure who made them
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    pub uncertain: UncertainChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShownPart {
    Code,
    Conversation,
    Both,
}

impl ShownPart {
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Conversation => "conversation",
            Self::Both => "both",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UncertainChoice {
    Keep,
    Take,
}

#[derive(Debug, Args)]
pub struct RewindArgs {
    #[arg(required_unless_present = "iteration")]
    pub rev: Option<String>,
    /// To the state after this tool call of the session
    #[arg(long, value_name = "N", conflicts_with = "rev")]
    pub iteration: Option<i64>,
    /// The very state of the target, everyone's edits included
    #[arg(long)]
    pub exact: bool,
    /// ShownPart came after the target merged with your own edits, which stay: where `restore.default` is exact
    #[arg(long, conflicts_with = "exact")]
    pub merge: bool,
    #[command(flatten)]
    pub choice: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[derive(Debug, Args)]
pub struct RevertArgs {
    #[arg(required = true, value_name = "REV")]
    pub revs: Vec<String>,
    #[command(flatten)]
    pub choice: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The operation [default: the newest one not undone]
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
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|c| !c.is_hide_set())
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
    fn diff_tells_revisions_from_paths() {
        let cli = Cli::parse_from(["backstitch", "diff", "t1", "t2", "--", "a", "b"]);
        let CliCommand::Diff(diff) = cli.command else {
            panic!()
        };
        assert_eq!((diff.revs.len(), diff.paths.len()), (2, 2));
    }

    #[test]
    fn a_checkpoint_has_two_forms() {
        for args in [
            &["backstitch", "checkpoint", "-m", "x"][..],
            &["backstitch", "checkpoint"],
        ] {
            assert!(Cli::try_parse_from(args).is_ok());
        }
        let cli = Cli::parse_from(["backstitch", "checkpoint", "create", "x"]);
        let CliCommand::Checkpoint(CheckpointArgs {
            command: Some(made),
            ..
        }) = cli.command
        else {
            panic!()
        };
        assert!(
            matches!(made, CheckpointCommand::Create { label: Some(label), description: None, pin: false } if label == "x")
        );
    }

    #[test]
    fn rewind_needs_exactly_one_target() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["backstitch", "rewind"], args].concat());
        assert!(parse(&[]).is_err());
        assert!(parse(&["t1", "--iteration", "3"]).is_err());
        assert!(parse(&["--iteration", "3", "--force"]).is_ok());
        assert!(parse(&["t1", "--path", "a", "b", "--hunk", "h"]).is_ok());
    }
}

#[derive(Debug, clap::Args)]
pub struct LspArgs {
    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// How much to log: off, error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Accepted for clients that name the transport; there is no other
    #[arg(long, hide = true)]
    pub stdio: bool,
}
