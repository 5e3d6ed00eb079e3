//! Actions of a plan, as people see them: one for each path that changes.

use super::builder::PlanBuilder;
use crate::error::Result;
use crate::model::{FileVersion, Image};
use crate::restore::types::{Action, ActionKind, FilePlan, Goal, one_per_file};

impl PlanBuilder<'_> {
    pub(super) fn actions(&mut self) {
        for part in &self.plan.files {
            let image = |s: &FileVersion| s.as_ref().map_or(Image::Absent, |p| p.image);
            let (before, after) = (image(&part.before), image(&part.after));
            let kind = match (&part.before, &part.after) {
                (a, b) if a == b => continue,
                (None, _) => ActionKind::Create,
                (_, None) => ActionKind::Delete,
                _ if part.merged => ActionKind::Merge,
                (Some(a), Some(b)) if a.path == b.path && before.content() == after.content() => {
                    ActionKind::Chmod
                }
                _ => ActionKind::Write,
            };
            let Some(at) = part.after.as_ref().or(part.before.as_ref()) else {
                continue;
            };
            let from = part
                .before
                .as_ref()
                .filter(|b| b.path != at.path)
                .map(|b| b.path.clone());
            self.plan.actions.push(Action {
                path: at.path.clone(),
                kind,
                from,
                reason: None,
                before,
                after,
            });
        }
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        // one file is deleted where another is created: at this path that is one replacement
        self.plan.actions.dedup_by(|b, a| {
            let (goes, comes) = match (a.kind, b.kind) {
                _ if a.path != b.path => return false,
                (ActionKind::Delete, kind) if kind != ActionKind::Skip => (a.before, b.clone()),
                (kind, ActionKind::Delete) if kind != ActionKind::Skip => (b.before, a.clone()),
                _ => return false,
            };
            *a = comes;
            if a.kind == ActionKind::Create {
                (a.kind, a.before) = (ActionKind::Write, goes);
            }
            true
        });
        one_per_file(&mut self.plan.conflicts);
        self.plan
            .gaps
            .sort_by(|a, b| (&a.path, a.kind.name()).cmp(&(&b.path, b.kind.name())));
    }

    /// Adds the files in scope of a rewind that have its outcome in the record alone. Those whose editor is gone are written,
    /// others are named.
    pub(super) fn late_saves(&mut self) -> Result<()> {
        if !matches!(self.r.goal, Goal::Rewind(_)) || !self.r.hunks.is_empty() {
            return Ok(());
        }
        let documents = self.engine.documents();
        let waiting = documents.pending_saves()?;
        if waiting.is_empty() {
            return Ok(());
        }
        let gone = documents.orphaned_saves()?;
        let mut awaited = Vec::new();
        for save in waiting {
            let is_planned = |part: &FilePlan| {
                let mut states = [&part.before, &part.after].into_iter().flatten();
                part.before != part.after && states.any(|placed| placed.path == save.path)
            };
            let concerns = self.is_in_scope(&save.path)
                && !self.plan.files.iter().any(is_planned)
                && !self.plan.conflicts.iter().any(|c| c.path == save.path);
            if !concerns {
                continue;
            }
            if !gone.contains(&save) {
                awaited.push(format!(
                    "{} waits for a save in {}",
                    save.path.display(),
                    save.editor
                ));
                continue;
            }
            self.plan.actions.push(Action {
                path: save.path.clone(),
                kind: ActionKind::Write,
                from: None,
                reason: Some(format!("{}, which was to save it, has ended", save.editor)),
                before: save.disk,
                after: save.wanted,
            });
            self.plan.late.push(save);
        }
        self.plan.actions.sort_by(|a, b| a.path.cmp(&b.path));
        if !awaited.is_empty() && self.plan.is_empty() && self.plan.nothing.is_none() {
            self.plan.nothing = Some(format!("{}, and no other file differs", awaited.join(", ")));
        }
        Ok(())
    }
}
