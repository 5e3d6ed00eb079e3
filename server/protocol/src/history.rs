//! The history: checkpoints and what they changed, branches, operations, who wrote which line.

use crate::{names, shape};

shape! {
    /// A text, or its bytes in Base64 where it is not UTF-8. Paths count from the workspace's root.
    #[serde(untagged)]
    pub enum Text {
        Plain(String),
        Bytes { bytes: String },
    }

    /// RFC 3339, UTC. Null where the clock was out of range.
    #[serde(transparent)]
    pub struct Time(pub Option<String>);

    /// A node of the history: the state after its own changes.
    pub struct Checkpoint {
        /// `c12`.
        pub id: String,
        pub parent: Option<String>,
        pub kind: Kind,
        /// The agent's own id of its session.
        pub session: Option<String>,
        pub agent: Option<String>,
        /// `t4`.
        pub turn: Option<String>,
        /// The number of the tool call in its session.
        pub iteration: Option<i64>,
        pub tool: Option<String>,
        pub subagent: Option<String>,
        pub label: Option<String>,
        /// What whoever made it by hand wrote of it, beside the label.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
        pub prompt: Option<String>,
        pub time: Time,
        pub branch: String,
        pub tags: Vec<String>,
        /// Kept for good, whatever `gc` removes.
        pub pinned: bool,
        /// Where it stands for several that became one with their age.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub squashed: Option<Squashed>,
        /// It has edits, and none of them is in force any more.
        pub taken_out: bool,
        /// What made it, where it is a rewind.
        pub operation: Option<Operation>,
        pub git: GitHead,
        pub changes: Vec<Change>,
        pub coverage: Coverage,
        /// Text that was not saved at that moment.
        pub unsaved: Vec<Unsaved>,
    }

    /// What became one checkpoint.
    pub struct Squashed {
        pub checkpoints: u64,
        pub turns: u64,
        /// Of the oldest of them.
        pub since: Time,
        /// By their names.
        pub agents: Vec<String>,
    }

    /// A file in a checkpoint.
    pub struct Change {
        pub path: Text,
        pub kind: ChangeKind,
        /// Where it was before, if that is another place.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        /// Lines.
        pub added: usize,
        pub removed: usize,
        pub origin: Origin,
        pub binary: bool,
    }

    /// Who made a change.
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
        /// The editor's name.
        pub editor: String,
    }

    /// What a checkpoint could and could not capture: how many paths.
    pub struct Coverage {
        pub captured: u64,
        pub ignored: u64,
        /// A scan goes on; what it finds is not in it yet.
        pub pending: bool,
        pub too_large: usize,
        pub outside: usize,
        pub unreadable: usize,
        pub special: usize,
        pub failed: usize,
        /// What was not captured, by name.
        pub items: Vec<CoverageItem>,
    }

    pub struct CoverageItem {
        pub path: Text,
        pub reason: CoverageReason,
        pub detail: String,
    }

    /// Git's HEAD, as its files have it.
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
        /// The directory that is on it.
        pub root: Option<Text>,
    }

    pub struct Operation {
        /// `o3`.
        pub id: String,
        pub kind: OperationKind,
        pub target: String,
        pub checkpoint: Option<String>,
        /// What an undo or redo is about.
        pub of: Option<String>,
        pub undone_by: Option<String>,
        pub state: OperationState,
        /// What was left undone, and why; empty where nothing was.
        pub detail: String,
        pub files: usize,
        pub time: Time,
    }

    /// A page of the timeline, newest first.
    pub struct TimelineResult {
        /// The root of the workspace, from which paths count.
        pub workspace: Text,
        pub checkpoints: Vec<Checkpoint>,
        pub branches: Vec<Branch>,
        pub head: Option<String>,
        /// The branch that one is on.
        pub branch: String,
        /// There are older ones.
        pub more: bool,
    }

    /// The rows that were shown, newest first.
    pub struct ShowTimelineResult {
        pub checkpoints: Vec<Checkpoint>,
    }

    pub struct CheckpointResult {
        #[serde(flatten)]
        pub checkpoint: Checkpoint,
        /// What the agent did in this turn.
        pub steps: Vec<Checkpoint>,
    }

    /// What differs between two revisions, or between one and the disk.
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
        /// Why a content is not kept, where it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub not_kept: Option<NotKept>,
    }

    /// Ranges are the first line, from 1, and the count; an empty range stands before that line.
    pub struct Hunk {
        pub id: String,
        pub old: (usize, usize),
        pub new: (usize, usize),
        pub removed: Vec<Text>,
        pub added: Vec<Text>,
        /// The last of these lines has no line end, at the end of the file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub removed_no_newline: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub added_no_newline: bool,
        /// Only in answers to `backstitch/diff`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub words: Option<Words>,
    }

    /// The words that differ: line from 0 in its side of the hunk, start and end in the client's units.
    pub struct Words {
        pub removed: Vec<(usize, usize, usize)>,
        pub added: Vec<(usize, usize, usize)>,
    }

    /// Who wrote each line of a document as it stands.
    pub struct BlameResult {
        /// The document's; null where nothing is known of it.
        pub version: Option<i32>,
        pub runs: Vec<BlameRun>,
        /// How many checkpoints changed the file; no more than 100 are counted.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoints: Option<usize>,
    }

    /// Neighbouring lines of one author.
    pub struct BlameRun {
        pub by: WrittenBy,
        pub checkpoint: Option<String>,
        pub time: Option<Time>,
        pub agent: Option<String>,
        pub session: Option<String>,
        pub certainty: Option<Certainty>,
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub tool: Option<String>,
        pub iteration: Option<i64>,
        /// The first line, from 0.
        pub start: usize,
        pub count: usize,
    }

    /// Newest first.
    pub struct SessionsResult {
        pub sessions: Vec<AgentSession>,
    }

    pub struct AgentSession {
        pub session: String,
        pub agent: String,
        /// Newest first.
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
    }

    /// What any process recorded.
    pub struct DidCheckpoint {
        pub workspace: Text,
        pub checkpoint: Checkpoint,
    }

    /// What any process rewound.
    pub struct DidRewind {
        pub workspace: Text,
        pub operation: Operation,
        pub checkpoint: String,
    }

    /// The timeline is to be read anew.
    pub struct TimelineChanged {
        pub workspace: Text,
    }

    /// How the server stands.
    pub struct Status {
        pub workspace: Text,
        pub recorder: Recorder,
    }

    /// Who watches the files of the workspace.
    #[serde(tag = "state", rename_all = "camelCase")]
    pub enum Recorder {
        /// Another process does, or there is no history yet.
        Waiting,
        /// This server does.
        Watching {
            directories: usize,
        },
        /// Nobody does, and every look walks the tree.
        Failed {
            reason: String,
        },
    }
}

impl Text {
    /// None where it is not UTF-8.
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
        /// It may have been either.
        Unknown,
    }

    pub enum WrittenBy {
        Agent,
        User,
        /// The user, in the editor alone.
        Unsaved,
        Unknown,
        /// It was there when the file was first seen.
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
