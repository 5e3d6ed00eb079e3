//! Applies a plan: write the journal, stage beside the targets, exchange one by one, verify what was displaced,
//! record the node.

mod begin;
mod execution;
mod lines;

use super::Restore;
use super::directories::{close_dirs, open_dirs};
use super::hand_over;
use super::journal::{self, Begin, JournalEntry};
use super::types::{Applied, Gap, Goal, Plan, Request};
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{OpKind, RestoreLimits, branches};
use crate::model::{Image, OpId};
use crate::store::Durable;
use crate::worktree::pending_saves::PendingSave;

/// Result of a request in this process.
enum ApplyOutcome {
    Done(Box<Applied>),
    /// Nothing was changed: another editor has unsaved text in a file of the plan.
    Elsewhere(Box<Plan>),
}

fn busy() -> Error {
    Error::refused(
        "another rewind or a long capture is running",
        "try again in a moment",
    )
}

fn changed_meanwhile() -> Error {
    Error::refused(
        "the files changed since this plan was shown",
        Hint::LookAgain,
    )
}

impl Restore<&mut Engine> {
    /// Plans and applies a request. With a fingerprint: applies the plan only if it has that fingerprint. If the
    /// plan concerns unsaved text of another editor, that editor is asked to apply the whole plan.
    pub fn apply(
        &mut self,
        r: &Request,
        fingerprint: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let shown = |plan: &Plan| fingerprint.is_none_or(|f| f == plan.fingerprint);
        if let Goal::Fork {
            name,
            from,
            description,
        } = &r.goal
        {
            let plan = self.plan(r)?;
            if !shown(&plan) {
                return Err(changed_meanwhile());
            }
            let open = plan.open_conflicts();
            if open > 0 {
                return Err(Error::Conflicts { open });
            }
            let here = self.engine.here;
            self.engine.store.write(Durable::Power, |conn| {
                branches::fork(conn, here, name, *from, description.as_deref())
            })?;
            let (branch, carry) = (name.clone(), false);
            let switch = Request {
                goal: Goal::Switch { branch, carry },
                ..r.clone()
            };
            return self.apply(&switch, Some(&plan.fingerprint), progress);
        }
        match self.apply_here(r, &shown, progress)? {
            ApplyOutcome::Done(applied) => Ok(*applied),
            ApplyOutcome::Elsewhere(plan) => self.apply_elsewhere(r, *plan, progress),
        }
    }

    /// Like `apply`, for a plan that another process has shown, which cannot know all documents.
    pub(crate) fn apply_handed(
        &mut self,
        r: &Request,
        about_files: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let shown = |plan: &Plan| plan.about_files == about_files;
        match self.apply_here(r, &shown, progress)? {
            ApplyOutcome::Done(applied) => Ok(*applied),
            ApplyOutcome::Elsewhere(plan) => Err(hand_over::in_the_way(&plan.held)),
        }
    }

    fn apply_here(
        &mut self,
        r: &Request,
        shown: &dyn Fn(&Plan) -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ApplyOutcome> {
        r.scope.require_plannable(r.conversation.as_ref())?;
        let lock = self.engine.store.restore_lock(true, Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        self.engine.refresh()?;
        self.recover_locked()?;
        let undisturbed = if self.engine.always_scan {
            None
        } else {
            self.plan_undisturbed(r)?
        };
        let plan = if let Some(plan) = undisturbed {
            plan
        } else {
            self.engine.capture_mut().record_changes_unlocked()?;
            self.plan_recorded(r)?
        };
        let opened = open_dirs(&self.engine.root, &plan);
        if opened.is_empty() {
            return self.apply_plan(plan, shown, progress);
        }
        let recorded = self.engine.capture_mut().record_changes_unlocked();
        let plan = recorded.and_then(|_| self.plan_recorded(r));
        plan.and_then(|plan| self.apply_plan(plan, shown, progress))
            .inspect_err(|_| close_dirs(&self.engine.root, &opened))
    }

    /// Carries a plan out. The restore lock is held.
    fn apply_plan(
        &mut self,
        plan: Plan,
        shown: &dyn Fn(&Plan) -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ApplyOutcome> {
        if !shown(&plan) {
            return Err(changed_meanwhile());
        }
        let open = plan.open_conflicts();
        if open > 0 {
            return Err(Error::Conflicts { open });
        }
        if !plan.held.is_empty() {
            return Ok(ApplyOutcome::Elsewhere(Box::new(plan)));
        }
        let mut done = Applied {
            plan,
            node: None,
            operation: None,
            incomplete: Vec::new(),
            saved: Vec::new(),
            by: None,
            not_taken: Vec::new(),
            awaited: Vec::new(),
        };
        if self.engine.progress.is_off() {
            return Err(Error::CalledOff);
        }
        for save in done.plan.late.clone() {
            let op = self.save_now(&save, save.wanted)?;
            done.operation = Some(op);
            done.node = self.engine.history().head()?;
        }
        if done.plan.moves_files() {
            let op = self.begin(&done.plan)?;
            let lost = self.forwards(op, false, progress)?;
            for gap in lost {
                // the plan may have said so already
                let is_same = |said: &Gap| said.path == gap.path && said.detail == gap.detail;
                if !done.plan.gaps.iter().any(is_same) {
                    done.plan.gaps.push(gap);
                }
            }
            done.node = Some(self.record_or_take_back(op)?);
            done.operation = Some(op);
            (done.incomplete, done.saved) = self.clean_up(op)?;
        }
        Ok(ApplyOutcome::Done(Box::new(done)))
    }

    /// Asks the editor that holds the unsaved text to apply the request. Holds no lock meanwhile, since that
    /// editor needs it.
    fn apply_elsewhere(
        &mut self,
        r: &Request,
        mut plan: Plan,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let other = plan.other_editor(r);
        let editor = other
            .ok_or_else(|| hand_over::in_the_way(&plan.held))?
            .clone();
        let paths: Vec<String> = plan.held.iter().map(|(_, path)| path.display()).collect();
        let shown = (plan.about_files.as_str(), paths.join(", "));
        let answer = self.hand_over(
            &editor,
            r,
            (shown.0, &shown.1),
            hand_over::ACCEPT_TIMEOUT,
            progress,
        )?;
        if let Some((reason, hint)) = answer.refused {
            return Err(Error::Refused { reason, hint });
        }
        plan.edits = answer.edits;
        Ok(Applied {
            plan,
            node: answer.node,
            operation: answer.operation,
            incomplete: answer.incomplete,
            saved: answer.saved,
            by: Some(editor),
            not_taken: answer.not_taken,
            awaited: answer.awaited,
        })
    }

    /// Writes a pending save to disk, as a separate operation.
    pub(super) fn save_now(&mut self, p: &PendingSave, to: Image) -> Result<OpId> {
        let (here, line) = (
            self.engine.here,
            JournalEntry {
                path: p.path.clone(),
                before: p.disk,
                after: to,
                made_dirs: 0,
                temp: None,
                left: false,
                detail: String::new(),
            },
        );
        let target = p
            .operation
            .map_or_else(|| p.path.display(), |op| op.to_string());
        let op = self.engine.store.write(Durable::Power, |conn| {
            journal::begin(
                conn,
                here,
                &Begin {
                    kind: OpKind::Save,
                    of: None,
                    target: &target,
                    limits: &RestoreLimits::default(),
                    to_branch: None,
                    files: &[],
                    lines: &[line],
                    documents: &[],
                    directories: &[],
                    left: &[],
                },
            )
        })?;
        crate::fault::point("journal written");
        self.forwards(op, false, &mut |_| {})?;
        self.record_or_take_back(op)?;
        self.clean_up(op)?;
        Ok(op)
    }
}
