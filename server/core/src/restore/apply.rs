//! Applies a plan: write the journal, stage beside the targets, exchange one by one, verify what was displaced,
//! record the node. Also recovers from the journal alone, forwards or backwards.

use std::cell::RefCell;
use std::ops::Deref;
use std::time::Duration;

use super::Restore;
use super::exchange::{Exchange, ExchangeStep, remove_temps};
use super::hand_over;
use super::journal::{self, Begin, JournalEntry, Phase};
use super::types::{Applied, Gap, GapKind, Goal, Plan, Request, SwitchBranch};
use crate::engine::{Engine, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::history::{self, OpKind, RestoreLimits, branches};
use crate::model::{Here, Image, NodeId, OpId, RelPath};
use crate::store::tables::node;
use crate::store::tables::operation::OpPhase;
use crate::store::tables::root::scan;
use crate::store::{self, Durable};
use crate::worktree::pending_saves::Pending;
use crate::worktree::pending_saves::PendingSave;

/// Result of a request in this process.
enum ApplyOutcome {
    Done(Box<Applied>),
    /// Nothing was changed: another editor has unsaved text in a file of the plan.
    Elsewhere(Box<Plan>),
}

/// Result of exchanging the paths of a journal.
#[derive(Default)]
struct ExchangedLines<'a> {
    /// Paths whose content is not from this run, so that rolling back must not touch them.
    not_ours: Vec<&'a RelPath>,
    failure: Option<ExchangeFailure>,
    /// Owners and attributes that files could not be given.
    lost: Vec<Gap>,
}

/// Reason why the exchange of a path ends the restore.
#[derive(Debug, PartialEq, Eq)]
struct ExchangeFailure {
    why: String,
    /// True if another process wrote to the path.
    by_writer: bool,
}

impl ExchangeFailure {
    /// Next step for the user. A switch moves all files, so it cannot leave one out.
    fn hint(&self, is_switch: bool) -> Hint {
        match (self.by_writer, is_switch) {
            (true, true) => "stop the program that writes to it, and try again".into(),
            (true, false) => Hint::Writer,
            (false, true) => "fix that, and try again".into(),
            (false, false) => Hint::Fixed,
        }
    }
}

/// Effect of one path's exchange on the restore.
#[derive(Debug, PartialEq, Eq)]
enum LineOutcome {
    Exchanged,
    /// The path already had its new image.
    NotOurs,
    /// The path stays as it is, for this reason.
    Skipped(String),
    Failed(ExchangeFailure),
}

impl LineOutcome {
    /// Decides what an exchange means. While recovering, a path that cannot be exchanged is skipped, since the other
    /// paths are no longer as they were.
    fn of(path: &RelPath, step: Result<ExchangeStep>, recovering: bool) -> Self {
        match step {
            Ok(ExchangeStep::Done) => Self::Exchanged,
            Ok(ExchangeStep::Already) => Self::NotOurs,
            Ok(ExchangeStep::Surprise(why)) if recovering => Self::Skipped(why),
            Err(e) if recovering => Self::Skipped(e.to_string()),
            Ok(ExchangeStep::Surprise(why)) => Self::Failed(ExchangeFailure {
                why: format!("{} {why}", path.display()),
                by_writer: true,
            }),
            Err(e) => Self::Failed(ExchangeFailure {
                why: format!("{} cannot be restored: {e}", path.display()),
                by_writer: false,
            }),
        }
    }
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
        r.scope.require_plannable()?;
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

    /// Finishes an interrupted restore, if there is one and no process is working on it.
    pub(crate) fn recover(&mut self) -> Result<()> {
        if journal::open(&self.engine.store.conn, self.engine.here)?.is_none() {
            return Ok(());
        }
        match self
            .engine
            .store
            .restore_lock(true, Duration::from_millis(500))?
        {
            Some(_lock) => self.recover_locked(),
            // the holder of the lock is working on it
            None => Ok(()),
        }
    }

    pub(crate) fn recover_locked(&mut self) -> Result<()> {
        while let Some((op, phase)) = journal::open(&self.engine.store.conn, self.engine.here)? {
            match phase {
                Phase::Open => {
                    self.forwards(op, true, &mut |_| {})?;
                    self.record_or_take_back(op)?;
                    self.clean_up(op)?;
                }
                Phase::Backwards => {
                    self.backwards(op)?;
                }
                Phase::Recorded => {
                    self.clean_up(op)?;
                }
                Phase::Foreign => {
                    let why = format!(
                        "{op} was cut off, and was not begun by you on this machine: it is not carried out, and the \
                         files stay as they are"
                    );
                    self.engine
                        .store
                        .write(Durable::Power, |conn| journal::disown(conn, op, &why))?;
                    store::gaps::append(&self.engine.store.dir, &why);
                }
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, plan: &Plan) -> Result<OpId> {
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
            journal::begin(
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
            )
        })?;
        crate::fault::point("journal written");
        Ok(op)
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

    /// Exchanges every path of the journal. While recovering, a path that another process changed is skipped.
    /// Otherwise it ends the restore, and every exchange is rolled back. Returns the owners and attributes that files could
    /// not be given.
    fn forwards(
        &mut self,
        op: OpId,
        recovering: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Gap>> {
        let lines = journal::lines(&self.engine.store.conn, op)?;
        // without a directory that they need, files fail themselves
        self.make_dirs(op, true)?;
        let exchanged = self.exchange_all(op, &lines, recovering, progress)?;
        if let Some(failure) = exchanged.failure {
            return Err(self.take_back(op, &exchanged.not_ours, &failure)?);
        }
        for line in &lines {
            let made = if line.before.is_absent() {
                line.made_dirs
            } else {
                0
            };
            self.engine.root.sync_parents(&line.path, made);
        }
        let mut lost = exchanged.lost;
        lost.extend(self.make_dirs(op, false)?);
        crate::fault::point("exchanged");
        Ok(lost)
    }

    /// Rolls a failed restore back. Returns the error for the user.
    fn take_back(
        &mut self,
        op: OpId,
        not_ours: &[&RelPath],
        failure: &ExchangeFailure,
    ) -> Result<Error> {
        let is_switch = history::operation(&self.engine.store.conn, op)?
            .to_branch
            .is_some();
        let why = &failure.why;
        self.engine.store.write(Durable::Power, |conn| {
            for path in not_ours {
                journal::leave(conn, op, path, "changed by another process")?;
            }
            journal::set_outcome(conn, op, OpPhase::Backwards, why)
        })?;
        let left = self.backwards(op)?;
        let message = if left.is_empty() {
            format!("{why}; all files are as they were before")
        } else {
            format!(
                "{why}; the other files are as before, but {}",
                left.join("; ")
            )
        };
        Ok(Error::refused(message, failure.hint(is_switch)))
    }

    /// Records the operation. If the store is too damaged for that, the exchanges are rolled back.
    fn record_or_take_back(&mut self, op: OpId) -> Result<NodeId> {
        let error = match self.record_outcome(op) {
            Err(error) if error.kind() == ErrorKind::Store => error,
            recorded => return recorded,
        };
        let why = error.to_string();
        self.engine.store.write(Durable::Power, |conn| {
            journal::set_outcome(conn, op, OpPhase::Backwards, &why)
        })?;
        self.backwards(op)?;
        Err(error)
    }

    /// Rolls the exchanges back. Returns a message for each path that could not be rolled back.
    fn backwards(&mut self, op: OpId) -> Result<Vec<String>> {
        crate::fault::point("backwards");
        let lines = journal::lines(&self.engine.store.conn, op)?;
        let mut left = Vec::new();
        // created files make room for deleted ones
        let (created, others): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.before.is_absent());
        for line in created.into_iter().chain(others).filter(|l| !l.left) {
            let back = Exchange {
                root: &self.engine.root,
                store: &self.engine.store,
                line,
                from: line.after,
                to: line.before,
                lost: RefCell::default(),
            };
            crate::fault::point("before exchanging back");
            match back.run() {
                Ok(ExchangeStep::Done | ExchangeStep::Already) => {}
                Ok(ExchangeStep::Surprise(why)) => {
                    left.push(format!("{}: {why}", line.path.display()));
                }
                Err(e) => left.push(e.to_string()),
            }
        }
        for line in &lines {
            left.extend(
                remove_temps(&self.engine.root, line, line.after)
                    .iter()
                    .map(saved_as),
            );
            if line.before.is_absent() {
                self.engine.root.remove_parents(&line.path, line.made_dirs);
            }
            self.engine.root.sync_parents(&line.path, line.made_dirs);
        }
        self.unmake_dirs(op)?;
        self.engine.store.write(Durable::Power, |conn| {
            journal::set_outcome(conn, op, OpPhase::RolledBack, &left.join("; "))
        })?;
        Ok(left)
    }

    /// Removes the temporary names beside the files. Returns the skipped paths, and the paths where other
    /// processes' contents were saved.
    fn clean_up(&mut self, op: OpId) -> Result<(Vec<RelPath>, Vec<RelPath>)> {
        let lines = journal::lines(&self.engine.store.conn, op)?;
        let mut saved = Vec::new();
        for line in &lines {
            saved.extend(remove_temps(&self.engine.root, line, line.before));
            crate::fault::point("own name removed");
            if line.after.is_absent() && !line.left {
                self.engine.root.remove_parents(&line.path, line.made_dirs);
                self.engine.root.sync_parents(&line.path, line.made_dirs);
            }
        }
        let left: Vec<RelPath> = lines
            .iter()
            .filter(|l| l.left)
            .map(|l| l.path.clone())
            .collect();
        let state = if left.is_empty() {
            OpPhase::Done
        } else {
            OpPhase::Incomplete
        };
        let detail = lines
            .iter()
            .filter(|l| l.left)
            .map(|l| format!("{}: {}", l.path.display(), l.detail))
            .chain(saved.iter().map(saved_as))
            .collect::<Vec<_>>()
            .join("; ");
        let mut noted = self.finish_dirs(op, &lines)?;
        let Here { root, branch } = self.engine.here;
        let operation = history::operation(&self.engine.store.conn, op)?;
        let is_restore = operation.to_branch.is_none() && operation.kind != OpKind::Save;
        self.engine.store.write(Durable::Process, |conn| {
            if let Some((noted, list)) = &mut noted {
                noted.head = history::head(conn, branch)?;
                scan::set_noted_dirs(conn, root, noted)?;
                if let Some(node) = operation.node.filter(|_| is_restore) {
                    let mut coverage = history::node(conn, node)?.coverage;
                    coverage.set_noted(list.clone());
                    node::set_coverage(conn, node, &coverage)?;
                }
            }
            journal::set_outcome(conn, op, state, &detail)
        })?;
        Ok((left, saved))
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
        let at = |s: &crate::model::FileVersion| s.as_ref().map(|p| p.path.clone());
        Ok(changes
            .iter()
            .rev()
            .find(|c| at(&c.after).as_ref() == Some(path) && at(&c.before).as_ref() != Some(path))
            .map_or(0, |c| c.made_dirs))
    }

    /// Exchanges path after path, until one fails.
    fn exchange_all<'a>(
        &self,
        op: OpId,
        lines: &'a [JournalEntry],
        recovering: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ExchangedLines<'a>> {
        let total = Some(lines.len() as u64);
        // deletions make room for creations
        let (deletions, creations): (Vec<_>, Vec<_>) =
            lines.iter().partition(|l| l.after.is_absent());
        let mut done = 0;
        let mut exchanged = ExchangedLines::default();
        for line in deletions.into_iter().chain(creations) {
            if line.left {
                continue;
            }
            if exchanged.failure.is_some() {
                // never exchanged: there is nothing to roll back
                exchanged.not_ours.push(&line.path);
                continue;
            }
            crate::fault::point("before exchange");
            let exchange = Exchange {
                root: &self.engine.root,
                store: &self.engine.store,
                line,
                from: line.before,
                to: line.after,
                lost: RefCell::default(),
            };
            let step = exchange.run();
            crate::fault::point("after exchange");
            let lost = exchange.lost.into_inner().into_iter();
            exchanged.lost.extend(lost.map(|what| Gap {
                path: Some(line.path.bytes().to_vec()),
                kind: GapKind::Attributes,
                detail: what,
            }));
            match LineOutcome::of(&line.path, step, recovering) {
                LineOutcome::Exchanged => {}
                LineOutcome::NotOurs => exchanged.not_ours.push(&line.path),
                LineOutcome::Skipped(why) => self.engine.store.write(Durable::Power, |conn| {
                    journal::leave(conn, op, &line.path, &why)
                })?,
                LineOutcome::Failed(failure) => {
                    if failure.by_writer {
                        // already swapped back, or never exchanged
                        exchanged.not_ours.push(&line.path);
                    }
                    exchanged.failure = Some(failure);
                }
            }
            done += 1;
            progress(Progress {
                what: "restoring",
                done,
                total,
            });
        }
        Ok(exchanged)
    }
}

fn saved_as(path: &RelPath) -> String {
    format!(
        "content written by another process was saved as {}",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(step: Result<ExchangeStep>, recovering: bool) -> LineOutcome {
        let path = RelPath::new("a.txt").expect("a path");
        LineOutcome::of(&path, step, recovering)
    }

    fn surprise() -> ExchangeStep {
        ExchangeStep::Surprise("was changed by another process".into())
    }

    #[test]
    fn an_exchange_counts_as_ours_only_if_it_was_made_here() {
        for recovering in [false, true] {
            let done = outcome(Ok(ExchangeStep::Done), recovering);
            assert_eq!(done, LineOutcome::Exchanged);
            let already = outcome(Ok(ExchangeStep::Already), recovering);
            assert_eq!(already, LineOutcome::NotOurs);
        }
    }

    #[test]
    fn a_recovery_skips_the_path_that_another_process_changed() {
        let why = "was changed by another process".to_owned();
        assert_eq!(outcome(Ok(surprise()), true), LineOutcome::Skipped(why));
        let error = outcome(Err(Error::CalledOff), true);
        assert_eq!(error, LineOutcome::Skipped(Error::CalledOff.to_string()));
    }

    #[test]
    fn a_restore_ends_at_the_path_that_another_process_changed() {
        let failed = |step| match outcome(step, false) {
            LineOutcome::Failed(failure) => failure,
            other => panic!("{other:?}"),
        };
        let by_writer = failed(Ok(surprise()));
        assert!(by_writer.by_writer);
        assert_eq!(by_writer.why, "a.txt was changed by another process");
        let by_error = failed(Err(Error::CalledOff));
        assert!(!by_error.by_writer);
        assert!(by_error.why.starts_with("a.txt cannot be restored: "));
    }

    #[test]
    fn the_hint_offers_to_leave_a_path_out_except_in_a_switch() {
        let failure = |by_writer| ExchangeFailure {
            why: String::new(),
            by_writer,
        };
        assert!(matches!(failure(true).hint(false), Hint::Writer));
        assert!(!matches!(failure(true).hint(true), Hint::Writer));
        assert!(matches!(failure(false).hint(false), Hint::Fixed));
        assert!(!matches!(failure(false).hint(true), Hint::Fixed));
    }
}
