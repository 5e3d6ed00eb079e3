//! Begin of an operation: its journal, with the new contents, before the first file changes.

use std::ops::Deref;

use crate::engine::Engine;
use crate::error::Result;
use crate::history;
use crate::model::{FileVersion, OpId, RelPath};
use crate::restore::Restore;
use crate::restore::journal::{self, Begin, JournalEntry};
use crate::restore::types::{Plan, SwitchBranch};
use crate::store::tables::conversation;
use crate::store::{self, Durable};
use crate::worktree::pending_saves::Pending;

impl Restore<&mut Engine> {
    pub(in crate::restore) fn begin(&mut self, plan: &Plan) -> Result<OpId> {
        let here = self.engine.here;
        let pending = Pending::of(&self.engine.store.conn, here.root)?;
        let mut lines = Vec::new();
        for (path, (before, after)) in journal::transitions(&plan.files) {
            // a file with a pending save differs from its record
            let pending_save = pending.get(&path).filter(|p| p.wanted == before);
            let before = pending_save.map_or(before, |p| p.disk);
            let in_document = plan.edits.iter().any(|e| e.path == path && e.pending);
            if before == after || in_document {
                continue;
            }
            let made_dirs = match (before.is_absent(), after.is_absent()) {
                (true, _) => self.dirs_to_make_with(plan, &path),
                (_, true) if !plan.tells_directories => self.dirs_made_with(plan, &path)?,
                _ => 0,
            };
            lines.push(JournalEntry {
                path,
                before,
                after,
                made_dirs,
                temp: None,
                left: false,
                detail: String::new(),
            });
        }
        let dir = self.engine.store.dir.clone();
        let op = self.engine.store.write(Durable::Power, |conn| {
            for part in plan.files.iter().chain(&plan.left) {
                if let Some(content) = &part.new_content {
                    let like = part.before.as_ref().and_then(|p| p.image.content());
                    store::put(conn, &dir, content, like)?;
                }
            }
            for document in &plan.documents {
                let Some((text, base)) = &document.text else {
                    continue;
                };
                let kept = store::put(conn, &dir, text, *base)?;
                if let Some(made) = document.edit.as_ref().and_then(|e| e.made.as_ref()) {
                    store::put(conn, &dir, made, Some(kept))?;
                }
            }
            let op = journal::begin(
                conn,
                here,
                &Begin {
                    kind: plan.kind,
                    of: plan.of,
                    target: &plan.target,
                    limits: &plan.limits,
                    to_branch: plan.to_branch.and_then(SwitchBranch::existing),
                    files: &plan.files,
                    left: &plan.left,
                    lines: &lines,
                    documents: &plan.documents,
                    directories: &plan.directories,
                },
            )?;
            if let Some(made) = plan.conversation {
                conversation::finish(conn, made, Some(op))?;
            }
            Ok(op)
        })?;
        crate::fault::point("journal written");
        Ok(op)
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Number of directories that come with a file at this path, and not by themselves.
    fn dirs_to_make_with(&self, plan: &Plan, path: &RelPath) -> u32 {
        let comes_alone = |dir: &RelPath| {
            let mut all = plan.directories.iter();
            all.any(|change| change.path == *dir && change.after.is_some())
        };
        let above = std::iter::successors(path.parent(), RelPath::parent);
        let with_file = above.take_while(|dir| !comes_alone(dir)).count();
        let missing = self.engine.root.missing_parents(path);
        missing.min(u32::try_from(with_file).unwrap_or(u32::MAX))
    }

    /// Number of directories that were created with the file that now leaves this path.
    fn dirs_made_with(&self, plan: &Plan, path: &RelPath) -> Result<u32> {
        let Some(part) = plan
            .files
            .iter()
            .find(|f| f.before.as_ref().is_some_and(|p| p.path == *path))
        else {
            return Ok(0);
        };
        let changes = history::changes_of_file(&self.engine.store.conn, part.file)?;
        let at = |s: &FileVersion| s.as_ref().map(|p| p.path.clone());
        Ok(changes
            .iter()
            .rev()
            .find(|c| at(&c.after).as_ref() == Some(path) && at(&c.before).as_ref() != Some(path))
            .map_or(0, |c| c.made_dirs))
    }
}
