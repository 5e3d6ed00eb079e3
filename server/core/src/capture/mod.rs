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
use crate::model::{CallId, ContentId, Coverage, Kind, NodeId, Reason, RootId, SessionId, TurnId};
use crate::store;
use crate::store::tables::call::{self, CallEffect};
use crate::store::tables::{change, node, session, turn};

use calls::{Observation, Threads, ToolOutcome, Writer};
pub use event::{AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote};
use same_prompt::LastPrompt;
use write_txn::{AFTER, BEFORE, ScanContext, WriteTxn};

/// Time limit of a scan in a hook. After it, the hook returns with a partial scan.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);

/// Tool inputs of at least this many bytes may contain a file's text. It is then worth reading the
/// file for compression.
const MIN_FILE_TEXT: usize = 1024;

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
        let deadline = Some(Instant::now() + DEADLINE);
        let recorded = self.dispatch(e, deadline)?;
        self.engine.store.tidy();
        Ok(recorded)
    }

    fn dispatch(&mut self, e: &AgentEvent, deadline: Option<Instant>) -> Result<Recorded> {
        match &e.kind {
            EventKind::Other => self.note(e),
            EventKind::SessionStart { source } => {
                // a compaction restarts the session in the middle of its work
                if source == "compact" || self.is_late_start(e, source)? {
                    self.note(e)
                } else {
                    // a proxy may tell the prompt while the disk is read
                    self.thread_ended(e, Threads::All, true, deadline, |conn, session| {
                        if has_begun(conn, session, source)? {
                            return Ok(());
                        }
                        session::set_working(conn, session, false)
                    })
                }
            }
            EventKind::Prompt {
                synthetic: true, ..
            } => self.continued(e),
            EventKind::Prompt { text, .. } => self.prompt(e, text, deadline),
            EventKind::Before(call) => self.open_call(e, call, CallStart::Told, deadline),
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

    /// True if the first start of a session is reported when its work has begun. The hook of a start runs beside the prompt
    /// that a proxy reports.
    fn is_late_start(&self, e: &AgentEvent, source: &str) -> Result<bool> {
        let conn = &self.engine.store.conn;
        match session::id_of(conn, &e.agent, &e.session)? {
            Some(session) => has_begun(conn, session, source),
            None => Ok(false),
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

    /// Links the id of a synthetic prompt to the turn that it continues.
    fn continued(&mut self, e: &AgentEvent) -> Result<Recorded> {
        let root = self.engine.here.root;
        self.engine.store.write(AFTER, |conn| {
            let session = calls::session(conn, root, e)?;
            let turn = calls::turn(conn, session, None)?;
            if let (Some(prompt), Some(turn)) = (&e.prompt_id, turn) {
                turn::name(conn, session, prompt, turn)?;
            }
            session::set_working(conn, session, true)?;
            calls::record_event(conn, e, session, turn, None)
        })?;
        Ok(Recorded::default())
    }

    /// Begins a turn. Records the disk first, so that the turn's node is the state when the prompt
    /// was sent.
    fn prompt(
        &mut self,
        e: &AgentEvent,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            if let Some(prompt) = &e.prompt_id {
                let known = turn::of_prompt(txn.conn, session, prompt)?;
                if let Some(turn) = known {
                    calls::record_event(txn.conn, e, session, Some(turn), None)?;
                    return Ok(Recorded {
                        node: None,
                        pending,
                    });
                }
            }
            if let Some(turn) = told_already(txn.conn, session, e, text)? {
                calls::record_event(txn.conn, e, session, Some(turn), None)?;
                if let Some(prompt) = &e.prompt_id {
                    turn::name(txn.conn, session, prompt, turn)?;
                }
                return Ok(Recorded {
                    node: None,
                    pending,
                });
            }
            let seq = calls::record_event(txn.conn, e, session, None, None)?;
            session::set_working(txn.conn, session, true)?;
            let left = interrupts::left_at_prompt(txn, session)?;
            let context = interrupts::close(txn, &left, seq)?;
            let coverage = Coverage {
                pending,
                ..scanned.findings.coverage.without_standing()
            };
            txn.record_scan(scanned, &context)?;
            let conn = txn.conn;
            let node = txn.node(Kind::Turn, Some(session), None, None, None, &coverage)?;
            let turn = turn::insert(conn, session, text, node)?;
            node::set_turn(conn, node, turn)?;
            if let Some(prompt) = &e.prompt_id {
                turn::name(conn, session, prompt, turn)?;
            }
            Ok(Recorded {
                node: Some(node),
                pending,
            })
        })
    }

    /// Gives the newest turn of a session its prompt, if it began without one: some agents tell the text later.
    pub fn late_prompt(&mut self, e: &AgentEvent, text: &str) -> Result<()> {
        self.notifying_txn(AFTER, (), |txn, ()| {
            let session = calls::session(txn.conn, txn.here.root, e)?;
            turn::set_missing_prompt(txn.conn, session, text)
        })
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
                CallStart::Told => None,
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

    /// Returns the prompt of the newest turn of a session, if it works on it.
    pub fn prompt_at_work(&self, agent: &str, session: &str) -> Result<Option<String>> {
        let conn = &self.engine.store.conn;
        let Some(session) = session::id_of(conn, agent, session)? else {
            return Ok(None);
        };
        match turn::newest_of(conn, session)? {
            Some(turn) if session::is_working(conn, session)? => {
                Ok(Some(turn::row(conn, turn)?.prompt))
            }
            _ => Ok(None),
        }
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

fn outcome(failed: bool) -> ToolOutcome {
    if failed {
        ToolOutcome::Failed
    } else {
        ToolOutcome::Done
    }
}

/// Opens a call. Returns None if it is already open or closed, since the event was sent twice.
/// `like` is a content that its input may resemble.
fn open(
    conn: &Connection,
    dir: &Path,
    root: RootId,
    e: &AgentEvent,
    call: &ToolCall,
    like: Option<ContentId>,
) -> Result<Option<(SessionId, CallId)>> {
    let session = calls::session(conn, root, e)?;
    let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
    if call.id.is_some()
        && calls::find(
            conn,
            session,
            call.id.as_deref(),
            e.subagent.as_deref(),
            &call.tool,
        )?
        .is_some()
    {
        return Ok(None);
    }
    let seq = calls::record_event(conn, e, session, turn, None)?;
    let native = call
        .id
        .clone()
        .unwrap_or_else(|| format!("{}#{seq}", call.tool));
    let input = if call.input.is_empty() {
        None
    } else {
        let like = like.filter(|_| call.input.len() >= MIN_FILE_TEXT);
        let id = store::put(conn, dir, &call.input, like)?;
        Some(store::number(conn, &id)?)
    };
    let id = calls::open(
        conn,
        &calls::Opening {
            root,
            session,
            turn,
            native: &native,
            subagent: e.subagent.as_deref(),
            tool: &call.tool,
            effect: &call.effect,
            input,
            seq,
        },
    )?;
    Ok(Some((session, id)))
}

/// Moment at which a call is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStart {
    /// Before it runs. A second event of the same call is ignored.
    Told,
    /// It may run already, since this time.
    Announced(i64),
    /// Before it runs, whatever was announced.
    Starts,
}

/// Returns the open call of an event, if an earlier event has announced it.
fn announced(
    txn: &WriteTxn<'_>,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<Option<calls::CallRow>> {
    let Some(id) = call.id.as_deref() else {
        return Ok(None);
    };
    let session = calls::session(txn.conn, txn.here.root, e)?;
    let row = calls::find(
        txn.conn,
        session,
        Some(id),
        e.subagent.as_deref(),
        &call.tool,
    )?;
    Ok(row.filter(|row| !row.closed))
}

/// True if a session is at work on a prompt although its first start is only reported now.
fn has_begun(conn: &Connection, session: SessionId, source: &str) -> Result<bool> {
    Ok(["startup", "new"].contains(&source)
        && session::is_working(conn, session)?
        && turn::newest_of(conn, session)?.is_some())
}

/// Returns the open turn of a prompt that another source has told already: an agent may have hooks and stand behind a proxy.
fn told_already(
    conn: &Connection,
    session: SessionId,
    e: &AgentEvent,
    text: &str,
) -> Result<Option<TurnId>> {
    let Some(turn) = turn::newest_of(conn, session)? else {
        return Ok(None);
    };
    // few prompts get beyond this
    if !same_prompt::are_alike(&turn::row(conn, turn)?.prompt, text)
        || !session::is_working(conn, session)?
    {
        return Ok(None);
    }
    let last = LastPrompt {
        has_calls: call::any_of_turn(conn, session, turn)?,
        has_id: turn::has_prompt_id(conn, session, turn)?,
        last_event: calls::newest_event(conn, session)?,
    };
    Ok(last.is_told_by(e).then_some(turn))
}

/// Returns the call that an "after" event reports on. An unknown call is opened now (`true`).
/// Returns None if it has reported already, since the event was sent twice.
pub(crate) fn reported(
    txn: &WriteTxn<'_>,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<(Option<calls::CallRow>, bool)> {
    let session = calls::session(txn.conn, txn.here.root, e)?;
    let find = || {
        calls::find(
            txn.conn,
            session,
            call.id.as_deref(),
            e.subagent.as_deref(),
            &call.tool,
        )
    };
    match find()? {
        Some(row) if !row.closed || row.is_presumed() => Ok((Some(row), false)),
        Some(_) => Ok((None, false)),
        None => {
            open(txn.conn, txn.dir, txn.here.root, e, call, None)?;
            Ok((find()?, true))
        }
    }
}
