//! Execution of an operation from its journal alone, forwards or backwards, also after an interruption.

use std::cell::RefCell;
use std::time::Duration;

use super::lines::ExchangeFailure;
use crate::engine::{Engine, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::history::{self, OpKind};
use crate::model::{Here, NodeId, OpId, RelPath};
use crate::restore::Restore;
use crate::restore::exchange::{Exchange, ExchangeStep, remove_temps};
use crate::restore::journal::{self, JournalEntry, Phase};
use crate::restore::types::Gap;
use crate::store::tables::node;
use crate::store::tables::operation::OpPhase;
use crate::store::tables::root::scan;
use crate::store::{self, Durable};

impl Restore<&mut Engine> {
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

    /// Exchanges every path of the journal. While recovering, a path that another process changed is skipped.
    /// Otherwise it ends the restore, and every exchange is rolled back. Returns the owners and attributes that files could
    /// not be given.
    pub(super) fn forwards(
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
        let made = |line: &JournalEntry| u32::from(line.before.is_absent()) * line.made_dirs;
        let changed = lines.iter().map(|line| (&line.path, made(line)));
        self.engine.root.sync_parents(changed);
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
    pub(super) fn record_or_take_back(&mut self, op: OpId) -> Result<NodeId> {
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
        }
        let changed = lines.iter().map(|line| (&line.path, line.made_dirs));
        self.engine.root.sync_parents(changed);
        self.unmake_dirs(op)?;
        self.engine.store.write(Durable::Power, |conn| {
            journal::set_outcome(conn, op, OpPhase::RolledBack, &left.join("; "))
        })?;
        Ok(left)
    }

    /// Removes the temporary names beside the files. Returns the skipped paths, and the paths where other
    /// processes' contents were saved.
    pub(super) fn clean_up(&mut self, op: OpId) -> Result<(Vec<RelPath>, Vec<RelPath>)> {
        let lines = journal::lines(&self.engine.store.conn, op)?;
        let mut saved = Vec::new();
        for line in &lines {
            saved.extend(remove_temps(&self.engine.root, line, line.before));
            crate::fault::point("own name removed");
            if removes(line) {
                self.engine.root.remove_parents(&line.path, line.made_dirs);
            }
        }
        let removed = lines.iter().filter(|line| removes(line));
        let removed = removed.map(|line| (&line.path, line.made_dirs));
        self.engine.root.sync_parents(removed);
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
        let mut dirs = self.finish_dirs(op, &lines)?;
        let Here { root, branch } = self.engine.here;
        let operation = history::operation(&self.engine.store.conn, op)?;
        let is_restore = operation.to_branch.is_none() && operation.kind != OpKind::Save;
        self.engine.store.write(Durable::Process, |conn| {
            if let Some(dirs) = &mut dirs {
                dirs.noted.head = history::head(conn, branch)?;
                scan::set_noted_dirs(conn, root, &dirs.noted)?;
                scan::set_bare_dirs(conn, root, &dirs.bare)?;
                if let Some(node) = operation.node.filter(|_| is_restore) {
                    let mut coverage = history::node(conn, node)?.coverage;
                    coverage.set_noted(dirs.changes.clone());
                    node::set_coverage(conn, node, &coverage)?;
                }
            }
            journal::set_outcome(conn, op, state, &detail)
        })?;
        Ok((left, saved))
    }
}

/// True if the exchange removed a file.
fn removes(line: &JournalEntry) -> bool {
    line.after.is_absent() && !line.left
}

fn saved_as(path: &RelPath) -> String {
    format!(
        "content written by another process was saved as {}",
        path.display()
    )
}
