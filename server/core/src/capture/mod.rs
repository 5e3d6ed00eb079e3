//! Capture: turns agent events and disk scans into nodes of the history. Owns when to scan and how
//! changes are attributed; never changes a file of the workspace.

pub(crate) mod after_call;
pub(crate) mod calls;
mod chat_turns;
pub(crate) use calls::inactive_before;
pub use interrupts::AtWork;
mod cross_root;
mod decision;
mod edit_call;
mod event;
mod interrupts;
mod named_ignored;
pub(crate) mod named_paths;
pub(crate) mod named_record;
mod named_worktrees;
pub(crate) mod observe;
mod opening;
mod prompt;
mod reconcile;
mod record_nodes;
mod record_scan;
mod renames;
mod reported_edit;
mod same_prompt;
mod snapshot;
mod tool_text;
mod transcript;
pub(crate) mod transition;
mod visibility;
pub(crate) mod withdraw;
pub(crate) mod write_txn;

#[cfg(test)]
mod cost;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Coverage, Kind, NodeId, Reason, SessionId};
use crate::store::tables::call::{self, CallEffect};
use crate::store::tables::{change, session};

use calls::{Observation, Threads, ToolOutcome, Writer};
pub use event::{AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote};
pub(crate) use opening::reported;
use opening::{CallStart, announced, open, outcome};
use write_txn::{AFTER, BEFORE, ScanContext};

/// Time limit of a scan in a hook. After it, the hook returns with a partial scan.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);

/// Result of recording an event.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The node it made, if any.
    pub node: Option<NodeId>,
    /// True if a scan ran out of time: `backstitch scan` must continue it in the background.
    pub pending: bool,
}

/// Records the events of agents, and the changes that scans find. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Capture<E> {
    engine: E,
}

impl Engine {
    /// Capture of events and of changes on disk: questions.
    pub fn capture(&self) -> Capture<&Self> {
        Capture { engine: self }
    }

    /// Capture of events and of changes on disk.
    pub fn capture_mut(&mut self) -> Capture<&mut Self> {
        Capture { engine: self }
    }
}

impl Capture<&mut Engine> {
    /// Records one event of an agent, unless the settings turn recording off.
    pub fn record(&mut self, e: &AgentEvent) -> Result<Recorded> {
        if !self.engine.config().records_automatically() {
            return Ok(Recorded::default());
        }
        match self.route(e)? {
            Some(e) => self.record_here(&e),
            None => Ok(Recorded::default()),
        }
    }

    fn record_here(&mut self, e: &AgentEvent) -> Result<Recorded> {
        let lock = self.engine.quiet_lock(DEADLINE)?;
        if lock.is_none() {
            return Err(Error::refused(
                "a rewind is under way and did not end within 2 s",
                "the event was not recorded; the next scan will find its changes",
            ));
        }
        // a step back must find all that a step did, however long the scan takes
        let is_run = self.engine.root.has_past_times();
        let deadline = (!is_run).then(|| Instant::now() + DEADLINE);
        let recorded = self.dispatch(e, deadline)?;
        self.engine.store.tidy();
        Ok(recorded)
    }

    fn dispatch(&mut self, e: &AgentEvent, deadline: Option<Instant>) -> Result<Recorded> {
        match &e.kind {
            EventKind::Other => self.note(e),
            EventKind::SessionStart { source } => self.session_start(e, source, deadline),
            EventKind::Prompt {
                synthetic: true, ..
            } => self.continued(e),
            EventKind::Prompt { text, .. } => self.prompt(e, text, deadline),
            EventKind::Before(call) => self.open_call(e, call, CallStart::Reported, deadline),
            EventKind::Announced { call, at } => {
                self.open_call(e, call, CallStart::Announced(*at), deadline)
            }
            EventKind::Starts(call) => self.open_call(e, call, CallStart::Starts, deadline),
            EventKind::After {
                call,
                report,
                failed,
            } => self.after(e, call, report, *failed, deadline),
            EventKind::BatchEnd | EventKind::SubagentStop => self.thread_ended(
                e,
                Threads::One(e.subagent.as_deref()),
                false,
                deadline,
                |_, _| Ok(()),
            ),
            EventKind::Stop { background } => {
                let background = *background;
                // scan for the task's changes before the task is forgotten
                let ended = !background && self.has_background(e)?;
                self.thread_ended(
                    e,
                    Threads::One(None),
                    ended,
                    deadline,
                    move |conn, session| {
                        session::set_working(conn, session, false)?;
                        session::set_background(conn, session, background)
                    },
                )
            }
            EventKind::SessionEnd => {
                let ended = self.has_background(e)?;
                self.thread_ended(e, Threads::All, ended, deadline, |conn, session| {
                    session::set_working(conn, session, false)?;
                    session::set_background(conn, session, false)
                })
            }
            EventKind::Compact => self.before_compaction(e, deadline),
        }
    }

    fn open_call(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        opening: CallStart,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        match &call.effect {
            Effect::Reads => self.open_reading(e, call),
            Effect::Names(paths) => self.open_naming(e, (call, opening), paths, deadline),
            Effect::Any { .. } => self.open_writing(e, (call, opening), deadline),
        }
    }

    fn note(&mut self, e: &AgentEvent) -> Result<Recorded> {
        let root = self.engine.here.root;
        self.engine.store.write(AFTER, |conn| {
            let session = calls::session(conn, root, e)?;
            let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
            calls::record_event(conn, e, session, turn, None)
        })?;
        Ok(Recorded::default())
    }

    fn before_compaction(&mut self, e: &AgentEvent, deadline: Option<Instant>) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            let turn = calls::turn(txn.conn, session, e.prompt_id.as_deref())?;
            calls::record_event(txn.conn, e, session, turn, None)?;
            let coverage = scanned.findings.coverage.without_standing();
            txn.record_scan(scanned, &ScanContext::between())?;
            let label = Some("before compaction");
            let node = txn.node(Kind::Manual, Some(session), turn, None, label, &coverage)?;
            Ok(Recorded {
                node: Some(node),
                pending,
            })
        })
    }

    fn open_reading(&mut self, e: &AgentEvent, call: &ToolCall) -> Result<Recorded> {
        let ignored = self.read_named_ignored(e, call)?;
        if !ignored.is_empty() {
            return self.notifying_txn(BEFORE, ignored, |txn, ignored| {
                named_ignored::record(txn, &ignored)?;
                open(txn.conn, txn.dir, txn.here.root, e, call, None)?;
                Ok(Recorded::default())
            });
        }
        let (dir, root) = (self.engine.store.dir.clone(), self.engine.here.root);
        self.engine.store.write(AFTER, |conn| {
            open(conn, &dir, root, e, call, None)?;
            Ok(Recorded::default())
        })
    }

    /// Before a tool that may write anything: records the changes so far, which are not the tool's.
    fn open_writing(
        &mut self,
        e: &AgentEvent,
        (call, opening): (&ToolCall, CallStart),
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        let ignored = self.read_named_ignored(e, call)?;
        let worktrees = self.read_named_worktrees(e, call, deadline);
        self.notifying_txn(BEFORE, (scanned, worktrees), |txn, (scanned, worktrees)| {
            let open = || open(txn.conn, txn.dir, txn.here.root, e, call, None);
            let idle_until = match opening {
                CallStart::Reported => None,
                CallStart::Starts => announced(txn, e, call)?.map(|row| (row.id, i64::MAX)),
                // the call is open at this scan: it may have written
                CallStart::Announced(at) => open()?.map(|(_, id)| (id, at)),
            };
            let context = ScanContext {
                idle_until,
                ..ScanContext::between()
            };
            let node = txn.record_scan(scanned, &context)?;
            named_ignored::record(txn, &ignored)?;
            named_worktrees::record(txn, worktrees)?;
            open()?;
            Ok(Recorded { node, pending })
        })
    }

    fn after(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        report: &ToolReport,
        failed: bool,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let root = self.engine.here.root;
        match &call.effect {
            Effect::Reads => self.engine.store.write(AFTER, |conn| {
                let session = calls::session(conn, root, e)?;
                let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
                let row = calls::find(
                    conn,
                    session,
                    call.id.as_deref(),
                    e.subagent.as_deref(),
                    &call.tool,
                )?;
                let seq = calls::record_event(conn, e, session, turn, row.as_ref().map(|r| r.id))?;
                if let Some(row) = row.filter(|r| !r.closed) {
                    calls::close(conn, row.id, seq, outcome(failed))?;
                }
                Ok(Recorded::default())
            }),
            Effect::Names(paths) => self.after_naming(e, call, paths, report, failed),
            Effect::Any { background } => {
                if !*background {
                    self.forget_worktrees(e, call)?;
                }
                let scanned = self.scan(deadline)?;
                let pending = scanned.findings.partial;
                self.notifying_txn(AFTER, scanned, |txn, scanned| {
                    let conn = txn.conn;
                    let (row, opened_now) = reported(txn, e, call)?;
                    let Some(row) = row else {
                        return Ok(Recorded {
                            node: None,
                            pending,
                        });
                    };
                    let seq = calls::record_event(conn, e, row.session, row.turn, Some(row.id))?;
                    let own = Writer {
                        call: row.id,
                        session: row.session,
                    };
                    let observation = if opened_now {
                        Observation::Unreported(row.session)
                    } else {
                        Observation::AtEndOf(own)
                    };
                    let mut coverage = Coverage::default();
                    if let Some(cwd) = outside(&txn.root.path, e.cwd.as_deref()) {
                        let place = crate::model::os_bytes(cwd.as_os_str());
                        coverage.note(
                            &place,
                            Reason::Outside,
                            "a command ran outside the workspace",
                        );
                    }
                    let context = ScanContext {
                        observation,
                        coverage,
                        ..ScanContext::between()
                    };
                    let node = txn.record_scan(scanned, &context)?;
                    change::confirm(conn, row.id)?;
                    calls::close(conn, row.id, seq, outcome(failed))?;
                    if let Some(exit) = report.exit {
                        call::set_exit(conn, row.id, exit)?;
                    }
                    if *background {
                        session::set_background(conn, row.session, true)?;
                    }
                    Ok(Recorded { node, pending })
                })
            }
        }
    }

    /// Ends threads of a session. Closes their calls that never reported.
    fn thread_ended(
        &mut self,
        e: &AgentEvent,
        threads: Threads<'_>,
        force_scan: bool,
        deadline: Option<Instant>,
        finish: impl FnOnce(&Connection, SessionId) -> Result<()>,
    ) -> Result<Recorded> {
        let open = {
            let session = session::id_of(&self.engine.store.conn, &e.agent, &e.session)?;
            match session {
                Some(session) => calls::open_of(
                    &self.engine.store.conn,
                    self.engine.here.root,
                    session,
                    threads,
                )?,
                None => Vec::new(),
            }
        };
        if !force_scan && open.iter().all(|c| c.effect == CallEffect::Reads) {
            let root = self.engine.here.root;
            self.engine.store.write(AFTER, |conn| {
                let session = calls::session(conn, root, e)?;
                let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
                let seq = calls::record_event(conn, e, session, turn, None)?;
                for call in &open {
                    calls::close(conn, call.id, seq, ToolOutcome::Presumed)?;
                }
                finish(conn, session)
            })?;
            return Ok(Recorded::default());
        }
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            let turn = calls::turn(txn.conn, session, e.prompt_id.as_deref())?;
            let seq = calls::record_event(txn.conn, e, session, turn, None)?;
            let left = interrupts::left_open(txn, session, threads)?;
            let context = interrupts::close(txn, &left, seq)?;
            let node = txn.record_scan(scanned, &context)?;
            finish(txn.conn, session)?;
            // the session may have stopped working, also where no file changed
            txn.notify.set(true);
            Ok(Recorded { node, pending })
        })
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the sessions that work on a prompt now.
    pub fn at_work(&self) -> Result<Vec<AtWork>> {
        interrupts::at_work(&self.engine.store.conn, self.engine.here.root)
    }

    /// True if shell commands of the session are known to run in the background.
    fn has_background(&self, e: &AgentEvent) -> Result<bool> {
        session::has_background(&self.engine.store.conn, &e.agent, &e.session)
    }
}

/// Returns the directory that a command ran in, if it is outside the workspace.
fn outside(root: &Path, cwd: Option<&Path>) -> Option<std::path::PathBuf> {
    let real = cwd?.canonicalize().ok()?;
    (!real.starts_with(root)).then_some(real)
}
