//! Restores: their plans and their results.

use serde::{Deserialize, Deserializer};

use crate::history::{Branch, GitHead, Operation, Text, Time};
use crate::{names, shape};

shape! {
    /// A restore plan; no file has been touched.
    pub struct Plan {
        /// The revision as it was typed.
        pub rev: Option<String>,
        /// The target, for people.
        pub target: String,
        pub scope: String,
        pub actions: Vec<Action>,
        pub conflicts: Vec<Conflict>,
        pub gaps: Vec<Gap>,
        /// Turns whose edits are undone, or done again by the undo of a rewind; newest first.
        pub takes: Vec<PlannedTurn>,
        /// True if the edits of `takes` are done again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub brings_back: bool,
        /// Later turns whose edits stay; newest first.
        pub stays: Vec<PlannedTurn>,
        /// Changed files in which later edits of the user stay.
        pub own_edits: Vec<Text>,
        /// Fingerprint. A restore that passes it applies exactly this plan, or is refused.
        pub plan: String,
        /// Open documents that are edited in the editor.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub edits: Option<Vec<DocumentEdit>>,
        /// The user's edits that a switch leaves behind.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub uncarried: Option<Vec<Text>>,
        /// Reason why there is nothing to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nothing: Option<String>,
        /// Set if git's HEAD was at another commit or branch.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub git_head: Option<GitMoved>,
        /// The agent's conversation that goes back with the files, or alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub conversation: Option<PlannedConversation>,
    }

    /// A new session of an agent, as it is planned, or was made.
    pub struct PlannedConversation {
        pub agent: String,
        /// The agent's own id of the old session, which is only read.
        pub session: String,
        /// For example `t4`.
        pub turn: String,
        /// Number of prompts that the new session tells.
        pub kept: usize,
        pub dropped: usize,
        /// For people: `before t4 “Add a cart” · Codex · 3 of 5 prompts stay`.
        pub line: String,
        /// Sentences for people about the parts that stay as they are.
        pub notes: Vec<String>,
        /// The prompt to say again. Empty: the session tells it, or the summary does.
        pub prompt: String,
        /// True if a process has the old session open. Null: that is not known.
        pub open: Option<bool>,
        /// Tokens that the agent counted for it.
        pub tokens: Option<u64>,
        /// The text in place of a part.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// The agent's own id of the new session, once it is made. Left out: the agent begins one by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub new: Option<String>,
        /// The command line that opens it, once it is made. It is never given to a shell.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub argv: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cwd: Option<Text>,
        /// True if the prompt is part of the command line.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub prefilled: Option<bool>,
    }

    /// A new session of an agent that was made.
    pub struct ListedConversation {
        pub agent: String,
        pub session: String,
        pub turn: String,
        pub prompt: String,
        /// Place of the cut, for people: `before`, `summary from`, `summary up to`.
        pub how: String,
        /// The branch that was created with it.
        pub branch: Option<String>,
        pub summary: Option<String>,
        /// True if the agent has reported an event of it.
        pub used: bool,
        /// The restore of the files that belongs to it.
        pub operation: Option<String>,
        /// The agent's own id of the new session. Null: the agent begins one by itself.
        pub new: Option<String>,
        /// The command line that opens it. It is never given to a shell.
        pub argv: Vec<String>,
        pub cwd: Text,
        pub prefilled: bool,
    }

    /// A conversation that was made alone.
    pub struct ConversationResult {
        pub conversation: PlannedConversation,
    }

    /// The newest conversation that was made. Null: there is none.
    pub struct LastConversation {
        pub conversation: Option<ListedConversation>,
    }

    /// A summary, and the conversation with it if that was made.
    pub struct SummarizeResult {
        pub summary: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub conversation: Option<PlannedConversation>,
    }

    /// Sent when any process rewound files.
    pub struct DidRewind {
        pub workspace: Text,
        pub operation: Operation,
        pub checkpoint: String,
        /// The agent's conversation that went back with the files.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub conversation: Option<ListedConversation>,
    }

    /// A plan as `backstitch/plan` answers it.
    pub struct PlanResult {
        #[serde(flatten)]
        pub plan: Plan,
        /// For people: `Rewind to before “Add a cart” (2 min ago)`.
        pub title: String,
        /// The sentence that a plan begins with, without a full stop and without ids: `Undoes turn “Add a cart” (codex, 2 min ago)`.
        pub sentence: String,
        /// Further sentences for people about whose work goes and whose stays, the most important first.
        pub summary: Vec<String>,
        /// True if there is nothing to do.
        pub empty: bool,
        /// True if later work of other sessions stays, which `allSessions` undoes, too.
        pub other_sessions: bool,
        /// True for an exact restore: as requested, else by the settings.
        pub exact: bool,
        /// The texts of changed files, if they were requested. Files that are not UTF-8 or too long are left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub texts: Option<Vec<PlannedText>>,
        /// Ids of the hunks at the requested lines. The restore of this plan passes them instead of the lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hunks: Option<Vec<String>>,
    }

    /// A file's text now, unsaved text included, and after the restore. Null if there is no file.
    pub struct PlannedText {
        pub path: Text,
        /// The path now, if the file would be renamed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        pub now: Option<String>,
        pub then: Option<String>,
    }

    /// The result of a restore, or its plan if there was nothing to do.
    #[serde(untagged)]
    pub enum RestoreResult {
        Applied(Box<Applied>),
        Nothing(Box<Plan>),
        /// A conversation that went back alone.
        Conversation(Box<ConversationResult>),
    }

    /// A restore that was applied: its plan and its outcome.
    pub struct Applied {
        #[serde(flatten)]
        pub plan: Plan,
        /// The checkpoint that records the restore.
        #[serde(deserialize_with = "named")]
        pub checkpoint: Option<String>,
        #[serde(deserialize_with = "named")]
        pub operation: Option<String>,
        /// The editor that applied it, if it was another process.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub editor: Option<EditorAtWork>,
        /// Files that were skipped because another process wrote to them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub incomplete: Option<Vec<Text>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub saved: Option<Vec<Text>>,
        /// Documents whose editor did not apply their new text.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub not_taken: Option<Vec<Text>>,
        /// Documents whose editor has confirmed the edit but not sent the change yet.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub awaited: Option<Vec<Text>>,
    }

    pub struct DocumentEdit {
        pub path: Text,
        /// True if the file is written when the document is saved.
        pub pending: bool,
        /// True if its unsaved text is replaced instead of merged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub replaces: bool,
    }

    pub struct GitMoved {
        pub then: GitHead,
        pub now: GitHead,
    }

    pub struct Action {
        pub path: Text,
        pub action: ActionKind,
        /// Change of the file as git writes it: `A`, `M`, `D`, `R` or `T` (the mode). Null if it is skipped.
        pub letter: Option<String>,
        /// The current path, if the file is renamed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub from: Option<Text>,
        /// Number of lines. Null if the file is binary, or a content is not known.
        pub added: Option<usize>,
        pub removed: Option<usize>,
        /// Name of an editor that has unsaved text of the file.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub unsaved: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// A turn of an agent, or its steps that belong to no turn.
    pub struct PlannedTurn {
        /// For example `t4`. Null for steps without a prompt.
        pub turn: Option<String>,
        pub prompt: Option<String>,
        pub agent: String,
        /// The agent's own id of its session.
        pub session: String,
        /// Letter of the session.
        pub letter: String,
        pub time: Time,
        pub checkpoint: String,
        /// True if the plan moves only a part of its edits.
        pub part: bool,
    }

    pub struct Conflict {
        pub path: Text,
        pub reason: String,
        /// Null if the conflict is not resolved.
        pub resolution: Option<Resolution>,
        pub hunks: Vec<ConflictHunk>,
    }

    /// Ranges of lines from 0, end excluded.
    pub struct ConflictHunk {
        pub target: (usize, usize),
        pub kept: (usize, usize),
    }

    /// A part of the target state that a restore does not cover.
    pub struct Gap {
        /// Null if the gap is not about one path.
        pub path: Option<Text>,
        pub kind: GapKind,
        pub detail: String,
    }

    /// A running language server.
    pub struct EditorAtWork {
        pub id: i64,
        pub name: String,
        pub pid: u32,
        /// Files of which it has unsaved text.
        pub unsaved: Vec<Text>,
    }

    /// Result of merging a change on disk into unsaved text.
    pub struct MergeResult {
        /// The document.
        pub uri: String,
        /// False if there was nothing to merge.
        pub merged: bool,
        /// Conflicts, decided as `onConflict` says.
        pub conflicts: usize,
    }

    pub struct ForkResult {
        pub branch: Branch,
        /// The directory that was created.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub into: Option<Text>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub files: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gaps: Option<Vec<Gap>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub conversation: Option<PlannedConversation>,
    }

    pub struct TagResult {
        pub tag: String,
        pub checkpoint: String,
    }

    pub struct PinResult {
        pub checkpoint: String,
        pub pinned: bool,
    }
}

names! {
    /// The part of a conversation that a summary replaces.
    pub enum SummaryPart {
        /// The turn and all after it.
        From,
        /// All before the turn.
        UpTo,
    }

    pub enum ActionKind {
        Write,
        Delete,
        Create,
        Merge,
        Chmod,
        Skip,
    }

    pub enum Resolution {
        Markers,
        Current,
        Target,
        Left,
    }

    pub enum GapKind {
        Uncertain,
        TooLarge,
        Outside,
        Excluded,
        Unreadable,
        Special,
        Failed,
        Pending,
        Unknown,
        HardLink,
        GitHead,
        Unsaved,
        Attributes,
        Directory,
        /// A directory of version control, which is left alone.
        VersionControl,
        /// An ignored path, which was not recorded.
        Ignored,
    }
}

/// Deserializes a field that may be null but must be there: it tells an applied restore from a plan.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}
