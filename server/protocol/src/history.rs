//! The history: checkpoints and their changes, branches, operations, and the author of each line.

use crate::{names, shape};

shape! {
    /// A text, or its bytes in Base64 if it is not UTF-8. Paths are relative to the workspace root.
    #[serde(untagged)]
    pub enum Text {
        Plain(String),
        Bytes { bytes: String },
    }

    /// A time in RFC 3339, UTC. Null if the clock was out of range.
    #[serde(transparent)]
    pub struct Time(pub Option<String>);

    /// A node of the history: the state after its own changes.
    pub struct Checkpoint {
        /// For example `c12`.
        pub id: String,
        pub parent: Option<String>,
        pub kind: Kind,
        /// The agent's own id of its session.
        pub session: Option<String>,
        /// Letter of the session: `A` for the first one of the workspace.
        pub letter: Option<String>,
        pub agent: Option<String>,
        /// For example `t4`.
        pub turn: Option<String>,
        /// The number of the tool call in its session.
        pub iteration: Option<i64>,
        pub tool: Option<String>,
        /// The work of a step in one line: the agent's description of a shell command, or the command.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// The shell command of a step.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub command: Option<String>,
        /// True if the agent reported that the tool call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub failed: bool,
        /// Exit status of the shell command, where the agent reports it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exit: Option<i64>,
        pub subagent: Option<String>,
        pub label: Option<String>,
        /// Longer description of a checkpoint that was made by hand, in addition to the label.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
        pub prompt: Option<String>,
        pub time: Time,
        pub branch: String,
        pub tags: Vec<String>,
        /// True if `gc` never removes it.
        pub pinned: bool,
        /// Set if it stands for several old checkpoints that `gc` squashed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub squashed: Option<Squashed>,
        /// True if it has edits and all of them are undone.
        pub taken_out: bool,
        /// The operation that made it, such as a rewind.
        pub operation: Option<Operation>,
        pub git: GitHead,
        pub changes: Vec<Change>,
        pub coverage: Coverage,
        /// Text that was not saved at that moment.
        pub unsaved: Vec<Unsaved>,
    }

    /// The checkpoints that were squashed into one.
    pub struct Squashed {
        pub checkpoints: u64,
        pub turns: u64,
        /// Time of the oldest of them.
        pub since: Time,
        /// Names of the agents.
        pub agents: Vec<String>,
    }

    /// A changed file of a checkpoint.
    pub struct Change {
        pub path: Text,
        pub kind: ChangeKind,
        /// The previous path, if the file was renamed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        /// Number of lines.
        pub added: usize,
        pub removed: usize,
        pub origin: Origin,
        pub binary: bool,
    }

    /// Author of a change.
    pub struct Origin {
        pub by: ChangedBy,
        pub session: Option<String>,
        pub session_certainty: Certainty,
        pub step_certainty: Certainty,
    }

    pub struct Unsaved {
        pub path: Text,
        pub added: usize,
        pub removed: usize,
        /// Name of the editor.
        pub editor: String,
    }

    /// Number of paths that a checkpoint captured and did not capture.
    pub struct Coverage {
        pub captured: u64,
        pub ignored: u64,
        /// True if a scan is still running. Its results are not counted yet.
        pub pending: bool,
        pub too_large: usize,
        pub outside: usize,
        pub unreadable: usize,
        pub special: usize,
        pub failed: usize,
        /// Paths that were not captured.
        pub items: Vec<CoverageItem>,
    }

    pub struct CoverageItem {
        pub path: Text,
        pub reason: CoverageReason,
        pub detail: String,
    }

    /// Git's HEAD, as read from its files.
    pub struct GitHead {
        pub head: Option<String>,
        pub branch: Option<String>,
    }

    pub struct Branch {
        pub name: String,
        pub head: Option<String>,
        pub parent: Option<String>,
        pub fork_point: Option<String>,
        pub created: Time,
        pub description: Option<String>,
        pub current: bool,
        pub deleted: bool,
        /// The directory that has this branch checked out.
        pub root: Option<Text>,
    }

    pub struct Operation {
        /// For example `o3`.
        pub id: String,
        pub kind: OperationKind,
        pub target: String,
        /// For people: `rewind to before “Add a cart”`.
        pub title: String,
        pub checkpoint: Option<String>,
        /// The operation that this undo or redo reverses.
        pub of: Option<String>,
        pub undone_by: Option<String>,
        pub state: OperationState,
        /// Reason why parts were left undone; empty if none were.
        pub detail: String,
        pub files: usize,
        pub time: Time,
    }

    /// A page of the timeline, newest first.
    pub struct TimelineResult {
        /// Root of the workspace; paths are relative to it.
        pub workspace: Text,
        pub checkpoints: Vec<Checkpoint>,
        pub branches: Vec<Branch>,
        pub head: Option<String>,
        /// The current branch.
        pub branch: String,
        /// True if there are older checkpoints.
        pub more: bool,
        /// Sessions of agents that work on a prompt now.
        pub at_work: Vec<AgentAtWork>,
    }

    /// A session of an agent that works on a prompt.
    pub struct AgentAtWork {
        pub agent: String,
        /// Letter of the session.
        pub letter: String,
        /// Time of the prompt.
        pub since: Time,
        /// Time from which on it does not count as working, unless it reports until then.
        pub until: Time,
    }

    /// The rows that were shown, newest first.
    pub struct ShowTimelineResult {
        pub checkpoints: Vec<Checkpoint>,
    }

    pub struct CheckpointResult {
        #[serde(flatten)]
        pub checkpoint: Checkpoint,
        /// The agent's steps in this turn.
        pub steps: Vec<Checkpoint>,
    }

    /// Differences between two revisions, or between a revision and the disk.
    pub struct DiffResult {
        pub from: String,
        /// `disk`, or a revision.
        pub to: String,
        pub files: Vec<ChangedFile>,
    }

    pub struct ChangedFile {
        pub path: Text,
        pub kind: ChangeKind,
        pub added: usize,
        pub removed: usize,
        pub binary: bool,
        pub hunks: Vec<Hunk>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        /// Reason why a content was not captured.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub not_kept: Option<NotKept>,
        /// Only in answers to `backstitch/diff`: names the recorded state, for `backstitch/review`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub shown: Option<String>,
        /// True if the user has kept all of these changes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub kept: bool,
    }

    /// A hunk. A range is its first line, from 1, and its line count; an empty range stands before that line.
    pub struct Hunk {
        pub id: String,
        pub old: (usize, usize),
        pub new: (usize, usize),
        pub removed: Vec<Text>,
        pub added: Vec<Text>,
        /// True if the last of these lines ends the file and has no newline.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub removed_no_newline: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub added_no_newline: bool,
        /// Present only in answers to `backstitch/diff`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub words: Option<Words>,
        /// True if the user has kept this change.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub kept: bool,
    }

    /// The words that differ: line from 0 in its side of the hunk, start and end in the client's units.
    pub struct Words {
        pub removed: Vec<(usize, usize, usize)>,
        pub added: Vec<(usize, usize, usize)>,
    }

    /// The work of agents that is not reviewed, by path. An answer to `keep` has what was marked as reviewed.
    pub struct ReviewResult {
        pub files: Vec<ReviewFile>,
    }

    /// A file with unreviewed work, from the state that the user has reviewed to the shown state.
    pub struct ReviewFile {
        pub path: Text,
        pub kind: ChangeKind,
        /// The reviewed path, if the file was renamed since.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        /// Number of lines.
        pub added: usize,
        pub removed: usize,
        pub binary: bool,
        /// Number of hunks.
        pub unreviewed: usize,
        /// True if the lines are the same, and their ends differ.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub line_ends: bool,
        /// Names the state that is shown here, for `keep`.
        pub shown: String,
        /// Left out if the request names no file.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hunks: Option<Vec<ReviewHunk>>,
    }

    /// An unreviewed hunk. A range is its first line, from 1, and its line count; an empty range stands before that
    /// line.
    pub struct ReviewHunk {
        pub old: (usize, usize),
        pub new: (usize, usize),
        pub removed: Vec<Text>,
        pub added: Vec<Text>,
        pub agent: Option<String>,
        pub session: Option<String>,
        /// Letter of the session.
        pub letter: Option<String>,
        /// For example `t4`; of several turns the newest.
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub checkpoint: Option<String>,
    }

    /// Author of each line of a document, unsaved text included.
    pub struct BlameResult {
        /// Version of the document; null if it has no recorded history.
        pub version: Option<i32>,
        pub runs: Vec<BlameRun>,
        /// Number of checkpoints that changed the file, at most 100.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoints: Option<usize>,
    }

    /// Neighbouring lines with the same author.
    pub struct BlameRun {
        pub by: WrittenBy,
        pub checkpoint: Option<String>,
        pub time: Option<Time>,
        pub agent: Option<String>,
        pub session: Option<String>,
        /// Letter of the session.
        pub letter: Option<String>,
        pub certainty: Option<Certainty>,
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub tool: Option<String>,
        pub iteration: Option<i64>,
        /// The first line, from 0.
        pub start: usize,
        pub count: usize,
    }

    /// Agent sessions, newest first.
    pub struct SessionsResult {
        pub sessions: Vec<AgentSession>,
    }

    pub struct AgentSession {
        pub session: String,
        /// `A` for the first session of the workspace.
        pub letter: String,
        pub agent: String,
        /// Turns, newest first.
        pub turns: Vec<AgentTurn>,
    }

    pub struct AgentTurn {
        pub turn: String,
        pub prompt: String,
        pub checkpoint: String,
        pub time: Time,
    }

    pub struct ContentResult {
        pub text: String,
        /// True if the text has changes that the user kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub kept: bool,
        /// True if the user kept the deletion of the file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub deleted: bool,
    }

    /// Sent when any process recorded a checkpoint.
    pub struct DidCheckpoint {
        pub workspace: Text,
        pub checkpoint: Checkpoint,
    }

    /// Sent when any process created a branch: its name, parent and fork point.
    pub struct DidFork {
        pub workspace: Text,
        pub branch: Branch,
    }

    /// Sent when the workspace was switched to another branch, also by an undo.
    pub struct DidSwitch {
        pub workspace: Text,
        pub branch: Branch,
        /// Number of the tool call in its session, if the newest checkpoint of the branch is a step.
        pub iteration: Option<i64>,
    }

    /// Sent when the timeline, or what the user has reviewed, has changed and has to be read again.
    pub struct TimelineChanged {
        pub workspace: Text,
    }

    /// Sent when an agent changed a file on disk whose document has unsaved text, and when it renamed the file of a document.
    #[serde(rename_all = "camelCase")]
    pub struct ChangedOnDisk {
        pub workspace: Text,
        /// The document.
        pub uri: String,
        pub agent: Option<String>,
        /// The checkpoint of the change. It keeps the unsaved text.
        pub checkpoint: String,
        /// Conflicts of a merge into the unsaved text. 0 if there are none, or if the file is no longer there.
        pub conflicts: usize,
        /// True if the document has unsaved text.
        pub unsaved: bool,
        /// The file's new URI, if the agent renamed it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub renamed_to: Option<String>,
        /// True if the agent deleted the file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub deleted: bool,
    }

    /// State of the server for a workspace.
    pub struct Status {
        pub workspace: Text,
        pub recorder: Recorder,
    }

    /// State of the recorder, which watches the files of the workspace.
    #[serde(tag = "state", rename_all = "camelCase")]
    pub enum Recorder {
        /// Another process watches, or there is no history yet.
        Waiting,
        /// This server watches.
        Watching {
            directories: usize,
        },
        /// No process watches, so every scan walks the tree.
        Failed {
            reason: String,
        },
    }
}

impl Text {
    /// Returns the text; None if it is not UTF-8.
    pub fn plain(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Bytes { .. } => None,
        }
    }
}

names! {
    pub enum Kind {
        Turn,
        Step,
        Manual,
        External,
        Rewind,
        Squash,
        Import,
    }

    pub enum ChangeKind {
        Create,
        Modify,
        Delete,
        Rename,
        Mode,
    }

    pub enum ChangedBy {
        Agent,
        User,
        Restore,
        /// The agent or the user; it is not known which.
        Unknown,
    }

    pub enum WrittenBy {
        Agent,
        User,
        /// The user; the text is not saved yet.
        Unsaved,
        Unknown,
        /// The line was there before Backstitch.
        Before,
    }

    pub enum Certainty {
        Certain,
        /// One of several calls of that session.
        Group,
        Uncertain,
    }

    pub enum CoverageReason {
        TooLarge,
        Outside,
        Excluded,
        Unreadable,
        Special,
        Failed,
        /// A directory of version control.
        VersionControl,
        /// A path that the ignore rules hide.
        Ignored,
    }

    pub enum NotKept {
        TooLarge,
        Unreadable,
        Special,
    }

    pub enum OperationKind {
        Rewind,
        Revert,
        Undo,
        Redo,
        Switch,
        Fork,
        Branch,
        Tag,
        Save,
    }

    pub enum OperationState {
        Open,
        Done,
        Incomplete,
        #[serde(rename = "rolled back")]
        RolledBack,
    }
}
