//! Plans restores over open documents: the outcome for unsaved text, and the files that change in an editor
//! instead of on disk. Part of the plan; changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::PlanBuilder;
use super::replay::describe;
use super::types::{
    BufferEdit, Conflict, ConflictSpan, DocumentEdit, FilePlan, Gap, GapKind, OnConflict, OpenDoc,
    PlannedDocument, Resolution, one_per_file,
};
use crate::error::Result;
use crate::history::{self, OpKind};
use crate::merge::{Favor, merge3};
use crate::model::{ContentId, FileVersion, Image, RelPath};
use crate::store::tables::editor::EditorInfo;
use crate::store::tables::{buffer, editor, node_text};
use crate::worktree::pending_saves::Pending;

/// An open document that the plan concerns.
struct ConcernedDocument {
    editor: EditorInfo,
    text: Option<Vec<u8>>,
    base: Option<ContentId>,
}

/// Text of an open document after the restore.
struct OutcomeText {
    from: ContentId,
    /// None: the bytes of the file.
    made: Option<Vec<u8>>,
    base: Option<ContentId>,
    /// True if the unsaved text is replaced instead of merged.
    replaces: bool,
}

impl PlanBuilder<'_> {
    /// Skips files whose documents hold text that cannot be merged.
    pub(super) fn unreadable(&mut self) -> Result<()> {
        const WHY: &str = "open in the editor with text that cannot be mapped to its bytes";
        for path in self.unreadable_paths()? {
            self.plan.files.retain(|f| !moves(f, &path));
            if self.plan.to_branch.is_some() {
                // after a switch, the unchanged file would be recorded as an edit by the user
                self.plan.conflicts.push(Conflict {
                    path,
                    reason: WHY.into(),
                    hunks: Vec::new(),
                    resolution: None,
                    is_fixed: false,
                });
            } else {
                self.skip(path, GapKind::Unsaved, WHY);
            }
        }
        Ok(())
    }

    /// Paths of unreadable documents that the plan would change: those named in the request, and those with recorded
    /// text that is not UTF-8.
    fn unreadable_paths(&self) -> Result<BTreeSet<RelPath>> {
        let engine = self.engine;
        let (conn, root) = (&engine.store.conn, engine.here.root);
        let concerns = |path: &RelPath| self.plan.files.iter().any(|f| moves(f, path));
        let named = self.r.unreadable.iter().filter(|path| concerns(path));
        let mut paths: BTreeSet<RelPath> = named.cloned().collect();
        for held in buffer::alive(conn, &engine.store.dir, root)? {
            if concerns(&held.path)
                && let Some(open) = buffer::text_of(conn, root, held.editor.id, &held.path)?
                && std::str::from_utf8(&open.text).is_err()
            {
                paths.insert(held.path);
            }
        }
        Ok(paths)
    }

    /// Plans the edits of open documents.
    pub(super) fn documents(&mut self) -> Result<()> {
        let touched = self.touched();
        let open = self.open(&touched)?;
        if open.is_empty() {
            return Ok(());
        }
        let engine = self.engine;
        let pending = Pending::of(&engine.store.conn, engine.here.root)?;
        for (path, open) in open {
            if self.plan.files.iter().any(|f| is_of_mode(f, &path)) {
                continue;
            }
            let part = self.plan.files.iter().find(|f| is_of_content(f, &path));
            let part = part.cloned();
            self.document(path, open, part.as_ref(), &pending)?;
        }
        let documents = self.plan.documents.iter();
        self.plan.edits = documents
            .filter_map(|d| d.edit.as_ref().map(|e| e.edit.clone()))
            .collect();
        one_per_file(&mut self.plan.conflicts);
        self.plan
            .gaps
            .sort_by(|a, b| (&a.path, a.kind.name()).cmp(&(&b.path, b.kind.name())));
        Ok(())
    }

    /// Paths that the plan changes, before and after.
    fn touched(&self) -> Vec<RelPath> {
        let files = self.plan.files.iter().filter(|f| f.before != f.after);
        files
            .flat_map(|f| [&f.before, &f.after])
            .filter_map(|s| s.as_ref().map(|p| p.path.clone()))
            .collect()
    }

    /// Returns the documents at these paths that need more than a written file. These are the documents of the editor that
    /// applies the plan, and unsaved ones of other editors.
    fn open(&mut self, touched: &[RelPath]) -> Result<BTreeMap<RelPath, ConcernedDocument>> {
        let engine = self.engine;
        let (conn, root) = (&engine.store.conn, engine.here.root);
        let mut open = BTreeMap::new();
        if touched.is_empty() {
            return Ok(open);
        }
        for held in buffer::alive(conn, &engine.store.dir, root)? {
            let own = self.r.editor == Some(held.editor.id);
            // the request knows more about the editor's own documents than their rows
            let named = own && self.r.open.iter().any(|doc| doc.path == held.path);
            if named || !touched.contains(&held.path) {
                continue;
            }
            if !own {
                let place = (held.editor.clone(), held.path.clone());
                self.plan.held.push(place);
            }
            let text = buffer::text_of(conn, root, held.editor.id, &held.path)?;
            if let Some(text) = text {
                let doc = ConcernedDocument {
                    editor: held.editor,
                    text: Some(text.text),
                    base: text.base,
                };
                open.insert(held.path, doc);
            }
        }
        if self.r.open.is_empty() {
            return Ok(open);
        }
        let own = self.r.editor.map(|id| editor::row(conn, id)).transpose()?;
        let own = own.flatten().unwrap_or_else(|| EditorInfo {
            id: self.r.editor.unwrap_or(crate::model::EditorId(0)),
            name: "an editor".into(),
            pid: std::process::id(),
            started: 0,
        });
        for doc in &self.r.open {
            let OpenDoc {
                path,
                text,
                base,
                on_disk,
            } = doc;
            // another editor's unsaved text wins over a document that only shows the disk
            let shows_disk = text.is_none() && (*on_disk || open.contains_key(path));
            if touched.contains(path) && !shows_disk {
                let doc = ConcernedDocument {
                    editor: own.clone(),
                    text: text.clone(),
                    base: *base,
                };
                open.insert(path.clone(), doc);
            }
        }
        Ok(open)
    }

    /// Plans one document. `part`: the file's part of the plan, if its content changes.
    fn document(
        &mut self,
        path: RelPath,
        open: ConcernedDocument,
        part: Option<&FilePlan>,
        pending: &Pending,
    ) -> Result<()> {
        let outcome = part.map(|part| self.outcome(part)).transpose()?.flatten();
        let Some((known, wanted, bytes)) = outcome else {
            self.leave_document(path, open);
            return Ok(());
        };
        let pending_save = pending.get(&path).filter(|p| p.wanted == known);
        let disk = pending_save.map_or(known, |p| p.disk);
        let Some(new) = self.new_text(&path, &open, (known, disk), (wanted, &bytes))? else {
            return Ok(());
        };
        let to = new
            .made
            .as_deref()
            .map_or_else(|| ContentId::of(&bytes), ContentId::of);
        let base = open.base;
        let becomes_base = wanted.content().is_some_and(|w| w == to || Some(w) == base);
        // else the file becomes the document's base or its text: write it below the document
        let is_edited = new.from != to || !becomes_base;
        let edit = is_edited.then(|| DocumentEdit {
            edit: BufferEdit {
                path: path.clone(),
                from: new.from,
                to,
                base: new.base,
                // an editor cannot change the mode of a file: write it as usual
                pending: disk != wanted && part.is_some_and(keeps_mode),
            },
            replaces: new.replaces,
            made: Some(new.made.unwrap_or(bytes)),
            disk,
            wanted,
        });
        self.plan.documents.push(PlannedDocument {
            path,
            editor: open.editor,
            text: open.text.map(|text| (text, base)),
            edit,
        });
        Ok(())
    }

    /// Leaves a document as it is. The file is written as usual, and an unmodified document reloads or shows that it was
    /// deleted.
    fn leave_document(&mut self, path: RelPath, open: ConcernedDocument) {
        let ConcernedDocument { editor, text, base } = open;
        let Some(text) = text else { return };
        self.plan.gaps.push(Gap {
            path: Some(path.bytes().to_vec()),
            kind: GapKind::Unsaved,
            detail: format!(
                "{} has unsaved changes in it; the document stays as it is",
                editor.name
            ),
        });
        self.plan.documents.push(PlannedDocument {
            path,
            editor,
            text: Some((text, base)),
            edit: None,
        });
    }

    /// Returns a document's text after the restore. None: nothing to show, or an unresolved conflict.
    fn new_text(
        &mut self,
        path: &RelPath,
        open: &ConcernedDocument,
        (known, disk): (Image, Image),
        (wanted, bytes): (Image, &[u8]),
    ) -> Result<Option<OutcomeText>> {
        let Some(text) = &open.text else {
            // the document equals the file
            return Ok(disk.content().map(|from| OutcomeText {
                from,
                made: None,
                base: wanted.content(),
                replaces: false,
            }));
        };
        let from = ContentId::of(text);
        if let Some((made, base)) = self.restored_text(path, &open.editor, text)? {
            return Ok(Some(OutcomeText {
                from,
                made: Some(made),
                base,
                replaces: false,
            }));
        }
        let replaces = self.r.exact && *text != bytes;
        let made = self.merged(path, &open.editor, text, open.base, (known, disk), bytes)?;
        Ok(made.map(|made| OutcomeText {
            from,
            made: Some(made),
            base: wanted.content(),
            replaces,
        }))
    }

    /// Returns the file's image before and after, and the bytes after. None if no document can show them.
    fn outcome(&self, part: &FilePlan) -> Result<Option<(Image, Image, Vec<u8>)>> {
        let (Some(before), Some(after)) = (&part.before, &part.after) else {
            return Ok(None);
        };
        if after.image.is_too_long() {
            return Ok(None);
        }
        let bytes = match (&part.new_content, after.image.content()) {
            (Some(made), _) => made.clone(),
            (None, Some(content)) => self.engine.content(&content)?,
            (None, None) => return Ok(None),
        };
        let is_text = std::str::from_utf8(&bytes).is_ok() && crate::content::is_text(&bytes);
        Ok(is_text.then_some((before.image, after.image, bytes)))
    }

    /// Returns a document's text from before the operation that is undone, merged with what was typed since, and
    /// its base. None if the operation did not change it, or the merge conflicts.
    fn restored_text(
        &self,
        path: &RelPath,
        editor: &EditorInfo,
        text: &[u8],
    ) -> Result<Option<(Vec<u8>, Option<ContentId>)>> {
        let conn = &self.engine.store.conn;
        let Some(op) = self.plan.of.filter(|_| self.plan.kind == OpKind::Undo) else {
            return Ok(None);
        };
        let Some(node) = history::operation(conn, op)?.node else {
            return Ok(None);
        };
        let owner = (editor.name.as_str(), editor.pid);
        let Some((before, base, made)) = node_text::made_of(conn, node, path, owner)? else {
            return Ok(None);
        };
        let (before, made) = (self.engine.content(&before)?, self.engine.content(&made)?);
        let merge = merge3(&made, text, &before, Favor::Ours);
        Ok(merge.conflicts.is_empty().then_some((merge.bytes, base)))
    }

    /// Merges the restore of the file into the document's text. None: an unresolved conflict.
    fn merged(
        &mut self,
        path: &RelPath,
        editor: &EditorInfo,
        text: &[u8],
        base: Option<ContentId>,
        (known, disk): (Image, Image),
        wanted: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        if self.r.exact {
            return Ok(Some(wanted.to_vec()));
        }
        // the base is the content an earlier restore gave the editor, if it is not saved yet
        let from = match base {
            Some(base) if Some(base) != disk.content() && Some(base) != known.content() => base,
            _ => match known.content() {
                Some(content) => content,
                None => return Ok(Some(wanted.to_vec())),
            },
        };
        // a base that no checkpoint captured cannot be used; fall back to the recorded content
        let from = match self.engine.content(&from) {
            Ok(bytes) => bytes,
            Err(_) => match known.content() {
                Some(content) => self.engine.content(&content)?,
                None => Vec::new(),
            },
        };
        let target = self.marker_label()?;
        let favor = match self.r.on_conflict {
            OnConflict::Markers => Favor::Markers {
                ours: "not saved",
                theirs: &target,
            },
            OnConflict::Target => Favor::Theirs,
            OnConflict::Fail | OnConflict::Current => Favor::Ours,
        };
        let merge = merge3(&from, text, wanted, favor);
        let Some(first) = merge.conflicts.first() else {
            return Ok(Some(merge.bytes));
        };
        let resolution = match self.r.on_conflict {
            OnConflict::Fail => None,
            OnConflict::Markers => Some(Resolution::Markers),
            OnConflict::Current => Some(Resolution::Current),
            OnConflict::Target => Some(Resolution::Target),
        };
        let span = |c: &crate::merge::ConflictHunk| ConflictSpan {
            target: (c.theirs.start, c.theirs.end),
            kept: (c.ours.start, c.ours.end),
        };
        self.plan.conflicts.push(Conflict {
            path: path.clone(),
            reason: format!(
                "it conflicts with unsaved changes in {}: {}",
                editor.name,
                describe(first.kind)
            ),
            hunks: merge.conflicts.iter().map(span).collect(),
            resolution,
            is_fixed: false,
        });
        Ok(resolution.map(|_| merge.bytes))
    }
}

/// True if this part of a plan changes the file at the path.
fn moves(part: &FilePlan, path: &RelPath) -> bool {
    let is_at = |s: &FileVersion| s.as_ref().is_some_and(|placed| placed.path == *path);
    part.before != part.after && (is_at(&part.before) || is_at(&part.after))
}

/// True if the path is a file before and after, and its content changes.
fn is_of_content(part: &FilePlan, path: &RelPath) -> bool {
    contents(part, path).is_some_and(|(was, is)| was != is)
}

/// True if the path is a file before and after, and only its mode changes. No document shows that.
fn is_of_mode(part: &FilePlan, path: &RelPath) -> bool {
    contents(part, path).is_some_and(|(was, is)| was == is)
}

fn contents(part: &FilePlan, path: &RelPath) -> Option<(ContentId, ContentId)> {
    let (before, after) = (part.before.as_ref()?, part.after.as_ref()?);
    let content = |image| match image {
        Image::File { content, .. } => Some(content),
        Image::Absent | Image::InGit { .. } | Image::Symlink { .. } | Image::Opaque(_) => None,
    };
    let stays = before.path == *path && after.path == *path;
    content(before.image)
        .zip(content(after.image))
        .filter(|_| stays)
}

fn keeps_mode(part: &FilePlan) -> bool {
    let mode = |state: &FileVersion| match state.as_ref()?.image {
        Image::File { mode, .. } => Some(mode),
        _ => None,
    };
    mode(&part.before) == mode(&part.after)
}
