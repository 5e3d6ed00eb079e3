//! What is asked of a restore, what it would do, and what it did: values that can be printed, compared
//! and shown before anything is touched.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::documents::EditorInfo;
use crate::history::OpKind;
use crate::model::{
    BranchId, ChangeId, ContentId, EditorId, FileId, FileVersion, GitHead, NodeId, OpId, RelPath,
};

/// What to restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub goal: Goal,
    /// The tracked state equals the target's, everyone's edits included.
    pub exact: bool,
    /// Of a rewind or a revert, whose work is moved: the agent's own id of the session, or a unique start of it.
    pub session: Option<String>,
    /// Only these files or directories, relative to the root; empty means all.
    pub paths: Vec<RelPath>,
    /// Only these hunks, by the ids that a diff gives; empty means all.
    pub hunks: Vec<String>,
    /// Take out changes of uncertain origin too.
    pub take_uncertain: bool,
    pub on_conflict: OnConflict,
    /// The editor that carries it out. What others have not saved is theirs: where it would be touched, they
    /// are asked to do it, or it is refused.
    #[serde(skip)]
    pub editor: Option<EditorId>,
    /// The editor's open documents.
    #[serde(skip)]
    pub open: Vec<OpenDoc>,
    /// Documents of the editor with unsaved text that nobody can put in the bytes of its file: these are left
    /// alone.
    #[serde(skip)]
    pub unreadable: Vec<RelPath>,
}

/// A document that is open in the editor which carries a restore out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDoc {
    pub path: RelPath,
    /// What it holds and the disk does not, as it would be saved; None: it holds what is on disk.
    pub text: Option<Vec<u8>>,
    /// The content that `text` was loaded from or last saved as; None: what is known of the disk.
    pub base: Option<ContentId>,
    /// Without unsaved text, the editor shows what is on disk by itself: the disk is written as usual.
    pub on_disk: bool,
}

impl Request {
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            exact: false,
            session: None,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Goal {
    /// Take out what came after this node.
    Rewind(NodeId),
    /// Take out just what these nodes did: a turn's node means the whole turn, a rewind's its effect.
    Revert(Vec<NodeId>),
    /// Undo this operation; None: the newest one not yet undone.
    Undo(Option<OpId>),
    Redo,
    /// Go to the head of this branch.
    Switch {
        branch: String,
        /// Take the user's own edits along: those recorded on the current branch since this directory came to
        /// it, with nothing but such edits after them.
        carry: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnConflict {
    #[default]
    Fail,
    Markers,
    Current,
    Target,
}

/// What would be done. Made without touching a file.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the goal comes to: the node rewound to, the operation undone, the nodes reverted.
    pub target: String,
    /// The state this plan starts from.
    pub head: NodeId,
    pub actions: Vec<Action>,
    /// What happens in open documents instead of on disk. Their files are among the actions, too.
    pub edits: Vec<BufferEdit>,
    pub conflicts: Vec<Conflict>,
    pub gaps: Vec<Gap>,
    /// Set where git's HEAD or branch moved since the target: (then, now).
    pub git_moved: Option<(GitHead, GitHead)>,
    /// The plan's identity: equal only for the same target, state and outcome.
    pub fingerprint: String,
    /// Why there is nothing to do, where that is known.
    pub nothing: Option<String>,
    pub(crate) files: Vec<FilePlan>,
    /// A switch back: what it takes out on the branch that it leaves, of what had been carried there.
    pub(crate) left: Vec<FilePlan>,
    pub(crate) kind: OpKind,
    pub(crate) of: Option<OpId>,
    /// A switch: the branch that it leads to.
    pub(crate) to_branch: Option<BranchId>,
    /// The same without what is in documents: who asks an editor cannot know all of these.
    pub(crate) about_files: String,
    /// Unsaved text of other editors that is in its way.
    pub(crate) held: Vec<(EditorInfo, RelPath)>,
    pub(crate) documents: Vec<PlannedDocument>,
}

/// A text that an open document is to get. The file's new content is recorded as if it were written; the disk
/// follows when the editor saves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferEdit {
    pub path: RelPath,
    /// What the document holds.
    pub from: ContentId,
    /// What it is to hold; the same where a conflict was decided for what it holds.
    pub to: ContentId,
    /// What it goes on from then: what of it is not saved counts from there.
    #[serde(default)]
    pub base: Option<ContentId>,
    /// The disk holds something else than the record from now on, until the editor saves. `false`: it has the
    /// outcome already, or gets it as usual.
    pub pending: bool,
}

/// What a restore finds in a document that it concerns.
#[derive(Clone, Debug)]
pub(crate) struct PlannedDocument {
    pub path: RelPath,
    pub editor: EditorInfo,
    /// Unsaved text, and what it was loaded from.
    pub text: Option<(Vec<u8>, Option<ContentId>)>,
    /// None: the disk is changed as usual, and the document is left as it is.
    pub edit: Option<DocumentEdit>,
}

#[derive(Clone, Debug)]
pub(crate) struct DocumentEdit {
    pub edit: BufferEdit,
    /// What was not saved is not merged, but goes.
    pub replaces: bool,
    /// The bytes of `edit.to`, where the store does not have them.
    pub made: Option<Vec<u8>>,
    /// What the disk keeps, and what the record says.
    pub disk: crate::model::Image,
    pub wanted: crate::model::Image,
}

impl Plan {
    /// Nothing would be done. A rewind that changes no file is nothing; a revert that changes none still
    /// takes its edits out of force, which counts for what is reverted after it.
    pub fn is_empty(&self) -> bool {
        let is_rewind = self.kind == OpKind::Rewind;
        let moves = self.files.iter().any(|f| !is_rewind || f.before != f.after);
        !moves && self.to_branch.is_none()
    }

    /// It leads to another branch.
    pub fn is_switch(&self) -> bool {
        self.to_branch.is_some()
    }

    /// The editor that can do all of this for who asked: the only one that has unsaved text in its way, where no
    /// document of the asker's own is to be changed.
    pub(crate) fn other_editor(&self, r: &Request) -> Option<&EditorInfo> {
        let own = |d: &PlannedDocument| d.edit.is_some() && Some(d.editor.id) == r.editor;
        let editor = crate::documents::only_one(&self.held)?;
        (!self.documents.iter().any(own)).then_some(editor)
    }

    /// Where, on the branch that is left, edits that were carried there are taken out again.
    pub fn uncarried(&self) -> Vec<&RelPath> {
        let states = self
            .left
            .iter()
            .map(|f| f.before.as_ref().or(f.after.as_ref()));
        states.flatten().map(|placed| &placed.path).collect()
    }

    /// Documents whose text that is not saved makes way for the target's.
    pub fn replaced(&self) -> Vec<&RelPath> {
        let replaced = |d: &&PlannedDocument| d.edit.as_ref().is_some_and(|e| e.replaces);
        let documents = self.documents.iter().filter(replaced);
        documents.map(|d| &d.path).collect()
    }

    /// Files in which edits collide and nobody decided: as long as there are some, nothing is done.
    pub fn open_conflicts(&self) -> usize {
        let open = self.conflicts.iter().filter(|c| c.resolution.is_none());
        open.map(|c| &c.path).collect::<BTreeSet<_>>().len()
    }

    /// A content that the plan makes, which the store does not have yet.
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

/// What happens at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub path: RelPath,
    pub kind: ActionKind,
    /// For a rename: where the file is now.
    pub from: Option<RelPath>,
    pub reason: Option<String>,
    pub before: crate::model::Image,
    pub after: crate::model::Image,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Replace the content by a recorded one.
    Write,
    Delete,
    Create,
    /// Replace the content by a merge of recorded ones.
    Merge,
    Chmod,
    /// Left alone, for the reason given.
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

/// Why a file cannot be restored without a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: RelPath,
    /// In words: what collides with what.
    pub reason: String,
    pub hunks: Vec<ConflictSpan>,
    /// None: open, and nothing is done until it is decided.
    pub resolution: Option<Resolution>,
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
        // one that is open keeps the file open; a file that is left alone has nothing of the others
        self.resolution = match (self.resolution, other.resolution) {
            (None, _) | (_, None) => None,
            (Some(Resolution::Left), _) | (_, Some(Resolution::Left)) => Some(Resolution::Left),
            (own, _) => own,
        };
    }
}

/// How a conflict is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Both sides are written into the file, between conflict markers.
    Markers,
    /// Where they collide the present lines stay.
    Current,
    /// Where they collide the target's lines replace the present ones.
    Target,
    /// The whole file is left as it is.
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

/// 0-based line ranges (start, end) of one colliding region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictSpan {
    /// In the state towards the target.
    pub target: (usize, usize),
    /// In the state that the kept edit made.
    pub kept: (usize, usize),
}

/// What the restore does not reach, said beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// None: not about one path.
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
    /// The file has other names, which keep what it holds now.
    HardLink,
    GitHead,
    /// An editor has text of it that is not saved, and the document is left as it is.
    Unsaved,
}

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
    /// The outcome was decided by the user (a conflict resolved, chosen hunks): the sets stay, and the
    /// outcome is the user's own change.
    pub as_user: bool,
    pub merged: bool,
    /// Bytes of a merge that are not in the store yet.
    pub new_content: Option<Vec<u8>>,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Applied {
    pub plan: Plan,
    /// None where the plan was empty.
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    /// Paths that another writer held on to; they were left as they are.
    pub incomplete: Vec<RelPath>,
    /// Where a content was saved that another writer left in a file while it was exchanged.
    pub saved: Vec<RelPath>,
    /// Another process did it, which has the documents open.
    pub by: Option<EditorInfo>,
    /// Then: documents that did not take their new text, as far as it could tell.
    pub not_taken: Vec<RelPath>,
    /// And those that took it, as that editor says, and did not show it.
    pub awaited: Vec<RelPath>,
}
