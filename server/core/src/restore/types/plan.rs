//! Plan of a restore: its effect on each file and each open document.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::conflict::{Conflict, OnConflict};
use super::gap::Gap;
use super::request::{OpenDoc, Request, Scope, SwitchBranch};
use crate::history::{OpKind, RestoreLimits};
use crate::model::{
    ChangeId, ContentId, ConversationId, DirChange, FileId, FileVersion, GitHead, Image, NodeId,
    OpId, RelPath,
};
use crate::store::tables::editor::EditorInfo;
use crate::worktree::pending_saves::PendingSave;

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
    /// The new session of an agent that commits with it.
    pub(crate) conversation: Option<ConversationId>,
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
    pub disk: Image,
    /// Image that is recorded.
    pub wanted: Image,
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

    /// Returns the editor that can apply the whole plan, if no document of the requesting editor changes. It is the only one
    /// with unsaved text that the plan concerns.
    pub(crate) fn other_editor(&self, r: &Request) -> Option<&EditorInfo> {
        let own = |d: &PlannedDocument| d.edit.is_some() && Some(d.editor.id) == r.editor;
        let editor = single_holder(&self.held)?;
        (!self.documents.iter().any(own)).then_some(editor)
    }

    /// True if the files below unsaved text of other editors can be written. Each of those editors then merges its text
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
    pub before: Image,
    pub after: Image,
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
    pub(in crate::restore) fn of_states(
        file: FileId,
        before: FileVersion,
        after: FileVersion,
    ) -> Self {
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

/// Returns the one editor that holds all the unsaved text involved. With several editors, none of
/// them can apply the request.
fn single_holder(holders: &[(EditorInfo, RelPath)]) -> Option<&EditorInfo> {
    let (first, _) = holders.first()?;
    let one = holders.iter().all(|(editor, _)| editor.id == first.id);
    one.then_some(first)
}
