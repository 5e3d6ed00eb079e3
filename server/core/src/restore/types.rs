//! Request, plan and result of a restore: values that can be printed, compared and shown before any file
//! changes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{OpKind, RestoreLimits};
use crate::model::{
    BranchId, ChangeId, ContentId, DirChange, EditorId, FileId, FileVersion, GitHead, NodeId, OpId,
    RelPath,
};
use crate::store::tables::editor::EditorInfo;
use crate::worktree::pending_saves::PendingSave;

/// Request for a restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub goal: Goal,
    #[serde(default)]
    pub scope: Scope,
    /// Makes the tracked state equal the target's, by undoing everyone's later edits.
    pub exact: bool,
    /// Session whose edits a rewind or revert moves: the agent's own id, or a unique prefix of it.
    pub session: Option<String>,
    /// Moves the edits of all agents, not only those of the target's session. The user's edits stay.
    #[serde(default)]
    pub all_sessions: bool,
    /// Files or directories to restore, relative to the root. Empty means all.
    pub paths: Vec<RelPath>,
    /// Ids of the hunks to restore, as a diff shows them. Empty means all.
    pub hunks: Vec<String>,
    /// Takes out changes of uncertain origin, too.
    pub take_uncertain: bool,
    pub on_conflict: OnConflict,
    /// The editor that applies the plan. Unsaved text of other editors is never changed from here: if the plan
    /// concerns it, that editor is asked to apply the plan, or the request is refused.
    #[serde(skip)]
    pub editor: Option<EditorId>,
    /// The editor's open documents.
    #[serde(skip)]
    pub open: Vec<OpenDoc>,
    /// Documents of the editor whose unsaved text cannot be encoded as bytes of the file. They are skipped.
    #[serde(skip)]
    pub unreadable: Vec<RelPath>,
}

/// A document that is open in the editor which applies the restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDoc {
    pub path: RelPath,
    /// Unsaved text, as it would be saved. None: the document equals the file.
    pub text: Option<Vec<u8>>,
    /// Content that `text` was loaded from or last saved as. None: the recorded content of the file.
    pub base: Option<ContentId>,
    /// True if the editor reloads unmodified documents by itself, so that the file is written as usual.
    pub on_disk: bool,
}

impl Request {
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            scope: Scope::default(),
            exact: false,
            session: None,
            all_sessions: false,
            paths: Vec::new(),
            hunks: Vec::new(),
            take_uncertain: false,
            on_conflict: OnConflict::Fail,
            editor: None,
            open: Vec::new(),
            unreadable: Vec::new(),
        }
    }
}

/// Part of an agent's work that a restore concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Scope {
    #[default]
    Code,
    Conversation,
    Both,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Code, Self::Conversation, Self::Both];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Conversation => "conversation",
            Self::Both => "both",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// Refuses a scope that no plan covers, so that nothing is restored by half.
    pub(super) fn require_plannable(self) -> Result<()> {
        match self {
            Self::Code => Ok(()),
            Self::Conversation | Self::Both => Err(Error::refused(
                format!(
                    "scope {}: rewinding the conversation is not supported for this agent yet",
                    self.name()
                ),
                Hint::Scope,
            )),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Goal {
    /// Take out the edits made after this node.
    Rewind(NodeId),
    /// Take out only the edits of these nodes. A turn's node means the whole turn; a rewind's node means its
    /// effect.
    Revert(Vec<NodeId>),
    /// Undo this operation. None: the newest one that is not undone.
    Undo(Option<OpId>),
    Redo,
    /// Go to the head of this branch.
    Switch {
        branch: String,
        /// Carry the user's own edits along: those recorded on the current branch since this directory
        /// switched to it, with only such edits after them.
        carry: bool,
    },
    /// Create a branch at this node and switch to it. The branch is created when the plan is applied.
    Fork {
        name: String,
        from: NodeId,
        description: Option<String>,
    },
}

/// Branch that a switch goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchBranch {
    Existing(BranchId),
    /// A branch that will be created at this node.
    New(NodeId),
}

impl SwitchBranch {
    pub(super) fn existing(self) -> Option<BranchId> {
        match self {
            Self::Existing(branch) => Some(branch),
            Self::New(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnConflict {
    #[default]
    Fail,
    Markers,
    Current,
    Target,
}

impl OnConflict {
    pub const ALL: [Self; 4] = [Self::Fail, Self::Markers, Self::Current, Self::Target];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Markers => "markers",
            Self::Current => "current",
            Self::Target => "target",
        }
    }

    /// Resolution of a conflict under this choice. None: the conflict stays open.
    pub(super) fn resolution(self) -> Option<Resolution> {
        match self {
            Self::Fail => None,
            Self::Markers => Some(Resolution::Markers),
            Self::Current => Some(Resolution::Current),
            Self::Target => Some(Resolution::Target),
        }
    }
}

/// Effect of a request. Built without changing a file.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The node to rewind to, the operation to undo, or the nodes to revert.
    pub target: String,
    pub scope: Scope,
    /// The state this plan starts from.
    pub head: NodeId,
    pub actions: Vec<Action>,
    /// Edits of open documents instead of files on disk. Their files are in `actions`, too.
    pub edits: Vec<BufferEdit>,
    pub conflicts: Vec<Conflict>,
    pub gaps: Vec<Gap>,
    /// Set if git's HEAD or branch moved since the target: (then, now).
    pub git_moved: Option<(GitHead, GitHead)>,
    /// Identity of the plan: equal only for the same target, state and outcome.
    pub fingerprint: String,
    /// Reason why there is nothing to do, if known.
    pub nothing: Option<String>,
    pub(crate) files: Vec<FilePlan>,
    /// For the undo of a switch: the carried edits that it takes out on the branch it leaves.
    pub(crate) left: Vec<FilePlan>,
    pub(crate) kind: OpKind,
    pub(crate) limits: RestoreLimits,
    pub(crate) of: Option<OpId>,
    /// Target branch of a switch.
    pub(crate) to_branch: Option<SwitchBranch>,
    /// The fingerprint without documents: a process that asks an editor cannot know all of them.
    pub(crate) about_files: String,
    /// Unsaved documents of other editors that the plan would change.
    pub(crate) held: Vec<(EditorInfo, RelPath)>,
    pub(crate) documents: Vec<PlannedDocument>,
    /// Directories that it makes, removes, and gives other permission bits.
    pub directories: Vec<DirChange>,
    /// True if the directories of the plan are all that go, not those that were made with a file.
    pub tells_directories: bool,
    /// The choice for conflicts that it was built with.
    pub(crate) on_conflict: OnConflict,
    /// Edits that go once the conflicts in their files are decided.
    pub(crate) undecided: BTreeSet<ChangeId>,
    /// Files that already have the outcome in the record, and wait for a save by an editor that is gone: they are written.
    pub(crate) late: Vec<PendingSave>,
}

/// New text of an open document. The file's new content is recorded as if it were written. The disk follows
/// when the editor saves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferEdit {
    pub path: RelPath,
    /// Current content of the document.
    pub from: ContentId,
    /// New content of the document. Equal to `from` if a conflict was resolved in its favour.
    pub to: ContentId,
    /// Base content of the document's unsaved text after the edit.
    #[serde(default)]
    pub base: Option<ContentId>,
    /// True if the disk differs from the record until the editor saves. `false`: the disk already has the
    /// outcome, or is written as usual.
    pub pending: bool,
}

/// An open document that a restore concerns.
#[derive(Clone, Debug)]
pub(crate) struct PlannedDocument {
    pub path: RelPath,
    pub editor: EditorInfo,
    /// Unsaved text, and the content it was loaded from.
    pub text: Option<(Vec<u8>, Option<ContentId>)>,
    /// None: the file is written as usual, and the document stays as it is.
    pub edit: Option<DocumentEdit>,
}

#[derive(Clone, Debug)]
pub(crate) struct DocumentEdit {
    pub edit: BufferEdit,
    /// True if the unsaved text is replaced instead of merged.
    pub replaces: bool,
    /// Bytes of `edit.to`, if the store does not have them.
    pub made: Option<Vec<u8>>,
    /// Image that stays on disk until the save.
    pub disk: crate::model::Image,
    /// Image that is recorded.
    pub wanted: crate::model::Image,
}

impl Plan {
    /// True if the plan does nothing. A rewind that changes no file does nothing. A revert that changes no file
    /// still takes its edits out of force, which affects later reverts.
    pub fn is_empty(&self) -> bool {
        !self.moves_files() && self.late.is_empty()
    }

    /// True if the plan changes more than the files that wait for a save.
    pub(crate) fn moves_files(&self) -> bool {
        let is_rewind = self.kind == OpKind::Rewind;
        let moves = self.files.iter().any(|f| !is_rewind || f.before != f.after);
        moves || self.to_branch.is_some() || !self.directories.is_empty()
    }

    /// True if a file stays as it is because the request decides its conflict that way.
    pub fn is_kept_by_choice(&self, path: &RelPath) -> bool {
        let is_chosen = |c: &Conflict| c.path == *path && c.resolution.is_some() && !c.is_fixed;
        self.on_conflict == OnConflict::Current && self.conflicts.iter().any(is_chosen)
    }

    /// True if the plan switches to another branch.
    pub fn is_switch(&self) -> bool {
        self.to_branch.is_some()
    }

    /// Returns the editor that can apply the whole plan: the only one with unsaved text that the plan concerns,
    /// if no document of the requesting editor changes.
    pub(crate) fn other_editor(&self, r: &Request) -> Option<&EditorInfo> {
        let own = |d: &PlannedDocument| d.edit.is_some() && Some(d.editor.id) == r.editor;
        let editor = single_holder(&self.held)?;
        (!self.documents.iter().any(own)).then_some(editor)
    }

    /// True if the files below unsaved text of other editors can be written: each of those editors then merges its text
    /// with its file, without a conflict.
    pub(crate) fn can_write_below(&self, r: &Request) -> bool {
        let paths: BTreeSet<&RelPath> = self.held.iter().map(|(_, path)| path).collect();
        let is_typed_here = |doc: &OpenDoc| doc.text.is_some() && paths.contains(&doc.path);
        // an exact restore replaces the text, and no editor can do that alone
        !r.exact
            && paths.len() == self.held.len()
            && !self.conflicts.iter().any(|c| paths.contains(&c.path))
            && !r.open.iter().any(is_typed_here)
    }

    /// The plan that writes the files below unsaved text of other editors.
    pub(crate) fn written_below(mut self) -> Self {
        for (editor, path) in std::mem::take(&mut self.held) {
            let held = |d: &&mut PlannedDocument| d.editor.id == editor.id && d.path == path;
            for document in self.documents.iter_mut().filter(held) {
                document.edit = None;
            }
            self.edits.retain(|edit| edit.path != path);
        }
        self
    }

    /// Paths on the branch being left where carried edits are taken out again.
    pub fn uncarried(&self) -> Vec<&RelPath> {
        let states = self
            .left
            .iter()
            .map(|f| f.before.as_ref().or(f.after.as_ref()));
        states.flatten().map(|placed| &placed.path).collect()
    }

    /// Documents whose unsaved text is replaced by the target's text.
    pub fn replaced(&self) -> Vec<&RelPath> {
        let replaced = |d: &&PlannedDocument| d.edit.as_ref().is_some_and(|e| e.replaces);
        let documents = self.documents.iter().filter(replaced);
        documents.map(|d| &d.path).collect()
    }

    /// Number of files with unresolved conflicts. The plan is not applied while there are any.
    pub fn open_conflicts(&self) -> usize {
        let open = self.conflicts.iter().filter(|c| c.resolution.is_none());
        open.map(|c| &c.path).collect::<BTreeSet<_>>().len()
    }

    /// Returns a content that the plan creates and the store does not have yet.
    pub fn content(&self, id: &ContentId) -> Option<&[u8]> {
        let made = self
            .files
            .iter()
            .filter_map(|f| Some((f.after.as_ref()?, f.new_content.as_ref()?)));
        let texts = self
            .documents
            .iter()
            .flat_map(|d| {
                let from = d.text.as_ref().map(|(text, _)| (ContentId::of(text), text));
                let made = d.edit.as_ref();
                let to = made.and_then(|e| Some((e.edit.to, e.made.as_ref()?)));
                [from, to]
            })
            .flatten();
        let mut texts = texts.filter(|(made, _)| made == id);
        if let Some((_, bytes)) = texts.next() {
            return Some(bytes);
        }
        made.filter(|(after, _)| after.image.content() == Some(*id))
            .map(|(_, bytes)| bytes.as_slice())
            .next()
    }
}

/// Effect at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub path: RelPath,
    pub kind: ActionKind,
    /// For a rename: the current path of the file.
    pub from: Option<RelPath>,
    pub reason: Option<String>,
    pub before: crate::model::Image,
    pub after: crate::model::Image,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Replace the content with a recorded one.
    Write,
    Delete,
    Create,
    /// Replace the content with a merge of recorded ones.
    Merge,
    Chmod,
    /// Leave the file as it is, for the given reason.
    Skip,
}

impl ActionKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Create => "create",
            Self::Merge => "merge",
            Self::Chmod => "chmod",
            Self::Skip => "skip",
        }
    }
}

/// Reason why a file cannot be restored without a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: RelPath,
    /// Description of the conflict for people.
    pub reason: String,
    pub hunks: Vec<ConflictSpan>,
    /// None: unresolved, and the plan is not applied.
    pub resolution: Option<Resolution>,
    /// True if the system does not let the file be replaced: it can only be left as it is.
    pub is_fixed: bool,
}

impl Conflict {
    /// Takes in another conflict of the same file. Regions that overlap or touch on the kept side become one.
    pub(super) fn join(&mut self, other: &mut Self) {
        if !self.reason.split("; ").any(|reason| reason == other.reason) {
            self.reason = format!("{}; {}", self.reason, other.reason);
        }
        for hunk in other.hunks.drain(..) {
            let touches =
                |own: &&mut ConflictSpan| own.kept.0 <= hunk.kept.1 && hunk.kept.0 <= own.kept.1;
            match self.hunks.iter_mut().find(touches) {
                Some(own) => {
                    let union = |a: (usize, usize), b: (usize, usize)| (a.0.min(b.0), a.1.max(b.1));
                    own.kept = union(own.kept, hunk.kept);
                    own.target = union(own.target, hunk.target);
                }
                None => self.hunks.push(hunk),
            }
        }
        self.hunks.sort_by_key(|hunk| hunk.kept);
        self.is_fixed |= other.is_fixed;
        // one that is open keeps the file open; a file that is left alone has nothing of the others
        self.resolution = match (self.resolution, other.resolution) {
            (None, _) | (_, None) => None,
            (Some(Resolution::Left), _) | (_, Some(Resolution::Left)) => Some(Resolution::Left),
            (own, _) => own,
        };
    }
}

/// Resolution of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Write both sides into the file, between conflict markers.
    Markers,
    /// Keep the current lines where the sides conflict.
    Current,
    /// Use the target's lines where the sides conflict.
    Target,
    /// Leave the whole file as it is.
    Left,
}

impl Resolution {
    pub fn name(self) -> &'static str {
        match self {
            Self::Markers => "markers",
            Self::Current => "current",
            Self::Target => "target",
            Self::Left => "left",
        }
    }
}

/// 0-based line ranges (start, end) of one conflicting region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictSpan {
    /// Range in the target's state.
    pub target: (usize, usize),
    /// Range in the state made by the edit that stays.
    pub kept: (usize, usize),
}

/// Part of the state that the restore cannot restore, reported beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// None: the gap does not concern a single path.
    pub path: Option<Vec<u8>>,
    pub kind: GapKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapKind {
    Uncertain,
    TooLarge,
    Outside,
    Excluded,
    Unreadable,
    Special,
    Failed,
    Pending,
    /// The state at the target is not known.
    Unknown,
    /// The file has other hard links, which keep its current content.
    HardLink,
    GitHead,
    /// An editor has unsaved changes in it, and the document stays as it is.
    Unsaved,
    /// Owner, group or extended attributes do not come along.
    Attributes,
    /// A directory is not as it was.
    Directory,
    /// A directory of version control, which an older version recorded or the work changed; or a linked worktree.
    VersionControl,
    /// An ignored path, which was not recorded.
    Ignored,
}

/// End of the detail of an ignored directory, if its recorded files come back.
pub const COME_BACK: &str = "the files that were recorded come back";

impl GapKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncertain => "uncertain",
            Self::TooLarge => "too_large",
            Self::Outside => "outside",
            Self::Excluded => "excluded",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::HardLink => "hard_link",
            Self::GitHead => "git_head",
            Self::Unsaved => "unsaved",
            Self::Attributes => "attributes",
            Self::Directory => "directory",
            Self::VersionControl => "version_control",
            Self::Ignored => "ignored",
        }
    }
}

/// One file's part of a plan.
#[derive(Clone, Debug)]
pub(crate) struct FilePlan {
    pub file: FileId,
    pub before: FileVersion,
    pub after: FileVersion,
    pub taken_out: Vec<ChangeId>,
    pub put_back: Vec<ChangeId>,
    /// True if the user decided the outcome (a resolved conflict, chosen hunks). The sets of edits stay, and the
    /// outcome is recorded as the user's own edit.
    pub as_user: bool,
    pub merged: bool,
    /// Merged bytes that are not in the store yet.
    pub new_content: Option<Vec<u8>>,
}

impl FilePlan {
    /// Change between two recorded states that moves no edit.
    pub(super) fn of_states(file: FileId, before: FileVersion, after: FileVersion) -> Self {
        Self {
            file,
            before,
            after,
            taken_out: Vec::new(),
            put_back: Vec::new(),
            as_user: false,
            merged: false,
            new_content: None,
        }
    }
}

/// Result of a restore.
#[derive(Clone, Debug)]
pub struct Applied {
    pub plan: Plan,
    /// None if the plan was empty.
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    /// Paths left as they are because another process wrote to them.
    pub incomplete: Vec<RelPath>,
    /// Paths where content was saved that another process wrote to a file during its exchange.
    pub saved: Vec<RelPath>,
    /// The editor that applied the plan, if it was another process.
    pub by: Option<EditorInfo>,
    /// With `by`: documents known not to have taken their new text.
    pub not_taken: Vec<RelPath>,
    /// With `by`: documents that took their new text according to the editor, but did not show it.
    pub awaited: Vec<RelPath>,
}

/// Returns the one editor that holds all the unsaved text involved. With several editors, none of
/// them can apply the request.
fn single_holder(holders: &[(EditorInfo, RelPath)]) -> Option<&EditorInfo> {
    let (first, _) = holders.first()?;
    let one = holders.iter().all(|(editor, _)| editor.id == first.id);
    one.then_some(first)
}
