//! Capture: an agent's events and looks at the disk become nodes of the history. Owns when to look and
//! to whom a change is put down; never changes a file of the workspace.

pub(crate) mod calls;
mod event;
pub(crate) mod settle;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};

use crate::disk::Look;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::known;
use crate::model::{
    CallId, Certainty, Coverage, Image, Kind, NodeId, Opaque, Origin, Placed, Reason, RelPath,
    SessionId, TurnId,
};
use crate::rules::{Rules, was_ignored};
use crate::scan::Known;
use crate::store::{self, Durable};

use calls::{Found as Situation, Outcome, Verdict, Writer, Writers};
pub use event::{AgentEvent, Effect, EventKind, Told, ToolCall, Wrote};
use settle::{AFTER, BEFORE, Cause, Desk, NO_STAT, Scanned, Step};

/// How long a hook may look at the tree before the rest goes on without it.
const DEADLINE: Duration = Duration::from_secs(2);

/// What became of an event.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The node it made, if any.
    pub node: Option<NodeId>,
    /// A scan ran out of time: `backstitch scan` must go on in the background.
    pub pending: bool,
}

/// Where the paths that a tool names lie.
enum Named {
    Inside(RelPath),
    Outside(Vec<u8>, &'static str),
}

impl Engine {
    /// Takes in one event of an agent.
    pub fn record(&mut self, e: &AgentEvent) -> Result<Recorded> {
        let lock = self.store.restore_lock(false, DEADLINE)?;
        if lock.is_none() {
            return Err(Error::refused(
                "a rewind is under way and did not end within 2 s",
                "the event was not recorded; what it changed is found by the next scan",
            ));
        }
        let deadline = Some(Instant::now() + DEADLINE);
        match &e.kind {
            EventKind::Other => self.note(e),
            EventKind::SessionStart { source } => {
                // a compaction starts the session anew in the midst of its work
                if source == "compact" {
                    self.note(e)
                } else {
                    self.thread_ended(e, None, true, deadline, |_, _| Ok(()))
                }
            }
            EventKind::Prompt {
                synthetic: true, ..
            } => self.continued(e),
            EventKind::Prompt { text, .. } => self.prompt(e, text, deadline),
            EventKind::Before(call) => match &call.effect {
                Effect::Reads => self.open_reading(e, call),
                Effect::Names(paths) => self.open_naming(e, call, paths, deadline),
                Effect::Any { .. } => self.open_writing(e, call, deadline),
            },
            EventKind::After { call, told, failed } => self.after(e, call, told, *failed, deadline),
            EventKind::BatchEnd | EventKind::SubagentStop => {
                self.thread_ended(e, Some(e.subagent.as_deref()), false, deadline, |_, _| {
                    Ok(())
                })
            }
            EventKind::Stop { background } => {
                let background = *background;
                let done =
                    self.thread_ended(e, Some(None), false, deadline, move |conn, session| {
                        set_background(conn, session, i64::from(background))
                    })?;
                self.store.tidy();
                Ok(done)
            }
            EventKind::SessionEnd => {
                let done = self.thread_ended(e, None, false, deadline, |_, _| Ok(()))?;
                self.store.tidy();
                Ok(done)
            }
            EventKind::Compact => self.before_compaction(e, deadline),
        }
    }

    /// Goes on with a scan that ran out of time, until it is done.
    pub fn continue_scan(&mut self) -> Result<()> {
        let scanned = self.scan(None)?;
        self.settle(AFTER, scanned, |desk, scanned| {
            desk.take_in(scanned, &Cause::between())?;
            Ok(())
        })
    }

    /// Looks at the disk; what has changed becomes a node.
    pub fn look(&mut self) -> Result<Coverage> {
        let _lock = self.capture_lock()?;
        self.look_unlocked()
    }

    pub(crate) fn look_unlocked(&mut self) -> Result<Coverage> {
        let scanned = self.scan(None)?;
        let coverage = scanned.findings.coverage.clone();
        self.settle(BEFORE, scanned, |desk, scanned| {
            desk.take_in(scanned, &Cause::between())
        })?;
        Ok(coverage)
    }

    /// A checkpoint by hand.
    pub fn checkpoint(&mut self, label: Option<&str>) -> Result<NodeId> {
        let _lock = self.capture_lock()?;
        let scanned = self.scan(None)?;
        self.settle(BEFORE, scanned, |desk, scanned| {
            let coverage = scanned.findings.coverage.clone();
            desk.take_in(scanned, &Cause::between())?;
            desk.node(Kind::Manual, None, None, None, label, &coverage)
        })
    }

    fn capture_lock(&self) -> Result<store::Lock> {
        self.store
            .restore_lock(false, Duration::from_secs(30))?
            .ok_or_else(|| {
                Error::refused(
                    "a rewind is under way",
                    "wait until it is done, then try again",
                )
            })
    }

    fn scan(&self, deadline: Option<Instant>) -> Result<Scanned> {
        settle::scan(&self.store, &self.root, self.here, deadline)
    }

    /// One write transaction at the desk; gaps that hooks left behind are taken in with the next node.
    fn settle<S, T>(
        &mut self,
        durable: Durable,
        with: S,
        f: impl FnOnce(&Desk<'_>, S) -> Result<T>,
    ) -> Result<T> {
        let git = crate::git::head(&self.root.path);
        let gaps = store::gaps::take(&self.store.dir);
        let (dir, root, here) = (self.store.dir.clone(), &self.root, self.here);
        let done = self.store.write(durable, |conn| {
            let desk = Desk {
                conn,
                dir: &dir,
                root,
                here,
                git: &git,
            };
            if let Some(gaps) = &gaps
                && desk.head()?.is_some()
                && !gaps.gaps.is_empty()
            {
                let mut coverage = Coverage::default();
                for (_, what) in &gaps.gaps {
                    coverage.note(b".", Reason::Failed, what.clone());
                }
                desk.node(
                    Kind::External,
                    None,
                    None,
                    None,
                    Some("not recorded"),
                    &coverage,
                )?;
            }
            f(&desk, with)
        });
        match (done, gaps) {
            (Ok(value), Some(gaps)) => {
                gaps.done();
                Ok(value)
            }
            (Ok(value), None) => Ok(value),
            (Err(e), gaps) => {
                for (_, what) in gaps.iter().flat_map(|g| &g.gaps) {
                    store::gaps::append(&self.store.dir, what);
                }
                if let Some(gaps) = gaps {
                    gaps.done();
                }
                Err(e)
            }
        }
    }

    fn note(&mut self, e: &AgentEvent) -> Result<Recorded> {
        self.store.write(AFTER, |conn| {
            let session = calls::session(conn, e)?;
            let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
            calls::record_event(conn, e, session, turn, None)
        })?;
        Ok(Recorded::default())
    }

    /// A prompt that nobody typed: its id leads to the turn that it continues.
    fn continued(&mut self, e: &AgentEvent) -> Result<Recorded> {
        self.store.write(AFTER, |conn| {
            let session = calls::session(conn, e)?;
            let turn = calls::turn(conn, session, None)?;
            if let (Some(prompt), Some(turn)) = (&e.prompt_id, turn) {
                calls::name_turn(conn, session, prompt, turn)?;
            }
            calls::record_event(conn, e, session, turn, None)
        })?;
        Ok(Recorded::default())
    }

    /// A turn begins: what the disk shows is settled first, so that the turn's node is the state at the
    /// moment the prompt was sent.
    fn prompt(
        &mut self,
        e: &AgentEvent,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.settle(BEFORE, scanned, |desk, scanned| {
            let session = calls::session(desk.conn, e)?;
            if let Some(prompt) = &e.prompt_id {
                let told: Option<TurnId> = desk
                    .conn
                    .prepare_cached("SELECT turn FROM prompt WHERE session = ?1 AND native = ?2")?
                    .query_row(params![session, prompt], |r| r.get(0))
                    .optional()?;
                if let Some(turn) = told {
                    calls::record_event(desk.conn, e, session, Some(turn), None)?;
                    return Ok(Recorded {
                        node: None,
                        pending,
                    });
                }
            }
            let seq = calls::record_event(desk.conn, e, session, None, None)?;
            let cause = presume(desk, session, Some(None), seq)?;
            let coverage = Coverage {
                pending,
                ..scanned.findings.coverage.clone()
            };
            desk.take_in(scanned, &cause)?;
            let conn = desk.conn;
            let number: i64 =
                conn.query_row("SELECT COALESCE(MAX(number), 0) + 1 FROM turn", [], |r| {
                    r.get(0)
                })?;
            let node = desk.node(Kind::Turn, Some(session), None, None, None, &coverage)?;
            conn.prepare_cached(
                "INSERT INTO turn (number, session, prompt, node, started) VALUES (?1,?2,?3,?4,?5)",
            )?
            .execute(params![number, session, text, node, store::now()])?;
            let turn = TurnId(conn.last_insert_rowid());
            conn.prepare_cached("UPDATE node SET turn = ?1 WHERE id = ?2")?
                .execute(params![turn, node])?;
            if let Some(prompt) = &e.prompt_id {
                calls::name_turn(conn, session, prompt, turn)?;
            }
            Ok(Recorded {
                node: Some(node),
                pending,
            })
        })
    }

    fn before_compaction(&mut self, e: &AgentEvent, deadline: Option<Instant>) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.settle(BEFORE, scanned, |desk, scanned| {
            let session = calls::session(desk.conn, e)?;
            let turn = calls::turn(desk.conn, session, e.prompt_id.as_deref())?;
            calls::record_event(desk.conn, e, session, turn, None)?;
            let coverage = scanned.findings.coverage.clone();
            desk.take_in(scanned, &Cause::between())?;
            let label = Some("before compaction");
            let node = desk.node(Kind::Manual, Some(session), turn, None, label, &coverage)?;
            Ok(Recorded {
                node: Some(node),
                pending,
            })
        })
    }

    fn open_reading(&mut self, e: &AgentEvent, call: &ToolCall) -> Result<Recorded> {
        let dir = self.store.dir.clone();
        self.store.write(AFTER, |conn| {
            open(conn, &dir, e, call)?;
            Ok(Recorded::default())
        })
    }

    /// Before a tool that may write anything: what has changed until now is not its doing.
    fn open_writing(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.settle(BEFORE, scanned, |desk, scanned| {
            let node = desk.take_in(scanned, &Cause::between())?;
            open(desk.conn, desk.dir, e, call)?;
            Ok(Recorded { node, pending })
        })
    }

    /// Before a tool that names its files: their images, and nothing else, are made durable.
    fn open_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[std::path::PathBuf],
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let mut pending = false;
        if self.head()?.is_none() {
            // the very first event: there is no start yet to stand on
            let scanned = self.scan(deadline)?;
            pending = scanned.findings.partial;
            self.settle(BEFORE, scanned, |desk, scanned| {
                desk.take_in(scanned, &Cause::between())
            })?;
        }
        let mut looks = Vec::new();
        let mut coverage = Coverage::default();
        for path in paths {
            for named in named(&self.root.path, e.cwd.as_deref(), path) {
                match named {
                    Named::Inside(path) => {
                        let look = self.root.look(&path)?;
                        let missing = if look.image.is_absent() {
                            self.root.missing_parents(&path)
                        } else {
                            0
                        };
                        looks.push((path, look, missing));
                    }
                    Named::Outside(path, why) => coverage.note(&path, Reason::Outside, why),
                }
            }
        }
        self.settle(BEFORE, looks, |desk, looks| {
            let Some((session, id)) = open(desk.conn, desk.dir, e, call)? else {
                return Ok(Recorded { node: None, pending });
            };
            if !coverage.items.is_empty() {
                let turn = calls::turn(desk.conn, session, e.prompt_id.as_deref())?;
                desk.node(Kind::Step, Some(session), turn, Some(id), None, &coverage)?;
            }
            let writers = Writers::since(desk.conn, calls::last_event(desk.conn)?)?;
            let mut node = None;
            for (path, look, missing) in looks {
                let verdict = writers.judge(Situation::Between);
                node = bring_up_to_date(desk, &path, &look, verdict, missing)?.or(node);
                desk.conn
                    .prepare_cached("INSERT OR IGNORE INTO reserved (call, path, image, made_dirs) VALUES (?1,?2,?3,?4)")?
                    .execute(params![id, path, look.image, missing])?;
            }
            Ok(Recorded { node, pending })
        })
    }

    fn after(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        told: &Told,
        failed: bool,
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        match &call.effect {
            Effect::Reads => self.store.write(AFTER, |conn| {
                let session = calls::session(conn, e)?;
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
            Effect::Names(paths) => self.after_naming(e, call, paths, told, failed),
            Effect::Any { background } => {
                let scanned = self.scan(deadline)?;
                let pending = scanned.findings.partial;
                self.settle(AFTER, scanned, |desk, scanned| {
                    let conn = desk.conn;
                    let (row, opened_now) = reported(desk, e, call)?;
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
                    let situation = if opened_now {
                        Situation::Unreported(row.session)
                    } else {
                        Situation::AtEndOf(own)
                    };
                    let cause = Cause {
                        situation,
                        ..Cause::between()
                    };
                    let node = desk.take_in(scanned, &cause)?;
                    calls::confirm(conn, row.id)?;
                    calls::close(conn, row.id, seq, outcome(failed))?;
                    if *background {
                        set_background(conn, row.session, 1)?;
                    }
                    Ok(Recorded { node, pending })
                })
            }
        }
    }

    fn after_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[std::path::PathBuf],
        told: &Told,
        failed: bool,
    ) -> Result<Recorded> {
        let mut looks = BTreeMap::new();
        for path in paths {
            for named in named(&self.root.path, e.cwd.as_deref(), path) {
                if let Named::Inside(path) = named {
                    let look = self.root.look(&path)?;
                    looks.insert(path, look);
                }
            }
        }
        self.settle(AFTER, looks, |desk, mut looks| {
            let conn = desk.conn;
            let (row, opened_now) = reported(desk, e, call)?;
            let Some(row) = row else {
                return Ok(Recorded::default());
            };
            let mut made = BTreeMap::new();
            let mut select =
                conn.prepare_cached("SELECT path, made_dirs FROM reserved WHERE call = ?1")?;
            let mut rows = select.query([row.id])?;
            while let Some(r) = rows.next()? {
                let path: RelPath = r.get(0)?;
                made.insert(path.clone(), r.get::<_, u32>(1)?);
                if !looks.contains_key(&path) {
                    let look = desk.root.look(&path)?;
                    looks.insert(path, look);
                }
            }
            let seq = calls::record_event(conn, e, row.session, row.turn, Some(row.id))?;
            let mut steps = Vec::new();
            let mut coverage = Coverage::default();
            for (path, look) in looks {
                let work = Work {
                    row: &row,
                    opened_now,
                    told,
                    failed,
                };
                let dirs = made.get(&path).copied().unwrap_or(0);
                steps.extend(work.step(desk, path, look, dirs, &mut coverage)?);
            }
            // closed before it is recorded: its own reservation must not hold it up
            calls::close(conn, row.id, seq, outcome(failed))?;
            let own = Writer {
                call: row.id,
                session: row.session,
            };
            let cause = Cause {
                situation: Situation::AtEndOf(own),
                ..Cause::between()
            };
            let generation = known::next_generation(conn, desk.here.root)?;
            let news = !coverage.items.is_empty();
            let node = desk.record(&steps, &cause, &coverage, news, generation)?;
            Ok(Recorded {
                node,
                pending: false,
            })
        })
    }

    /// A thread is at its end (`thread`: None means all of the session): calls of it that never reported
    /// are over, and what they left is nobody's for sure.
    fn thread_ended(
        &mut self,
        e: &AgentEvent,
        thread: Option<Option<&str>>,
        look_anyway: bool,
        deadline: Option<Instant>,
        also: impl FnOnce(&Connection, SessionId) -> Result<()>,
    ) -> Result<Recorded> {
        let open = {
            let session = self
                .store
                .conn
                .prepare_cached("SELECT id FROM session WHERE agent = ?1 AND native = ?2")?
                .query_row(params![e.agent, e.session], |r| r.get(0))
                .optional()?;
            match session {
                Some(session) => calls::open_of(&self.store.conn, session, thread)?,
                None => Vec::new(),
            }
        };
        if !look_anyway && open.iter().all(|c| c.effect == 0) {
            self.store.write(AFTER, |conn| {
                let session = calls::session(conn, e)?;
                let turn = calls::turn(conn, session, e.prompt_id.as_deref())?;
                let seq = calls::record_event(conn, e, session, turn, None)?;
                for call in &open {
                    calls::close(conn, call.id, seq, Outcome::Presumed)?;
                }
                also(conn, session)
            })?;
            return Ok(Recorded::default());
        }
        let scanned = self.scan(deadline)?;
        let pending = scanned.findings.partial;
        self.settle(BEFORE, scanned, |desk, scanned| {
            let session = calls::session(desk.conn, e)?;
            let turn = calls::turn(desk.conn, session, e.prompt_id.as_deref())?;
            let seq = calls::record_event(desk.conn, e, session, turn, None)?;
            let cause = presume(desk, session, thread, seq)?;
            let node = desk.take_in(scanned, &cause)?;
            also(desk.conn, session)?;
            Ok(Recorded { node, pending })
        })
    }
}

fn outcome(failed: bool) -> Outcome {
    if failed {
        Outcome::Failed
    } else {
        Outcome::Done
    }
}

fn set_background(conn: &Connection, session: SessionId, running: i64) -> Result<()> {
    conn.prepare_cached("UPDATE session SET background = ?2 WHERE id = ?1")?
        .execute(params![session, running])?;
    Ok(())
}

/// Closes calls that never reported; the cause under which what they left is settled.
fn presume(
    desk: &Desk<'_>,
    session: SessionId,
    thread: Option<Option<&str>>,
    seq: i64,
) -> Result<Cause> {
    let mut cause = Cause::between();
    for call in calls::open_of(desk.conn, session, thread)? {
        let mut select = desk
            .conn
            .prepare_cached("SELECT path FROM reserved WHERE call = ?1")?;
        for path in select.query_map([call.id], |r| r.get::<_, RelPath>(0))? {
            cause.unreported.insert(path?, session);
        }
        if call.effect == 2 {
            cause.situation = Situation::Unreported(session);
        }
        calls::close(desk.conn, call.id, seq, Outcome::Presumed)?;
    }
    Ok(cause)
}

/// Opens a call; None where it is open or over already (an event told twice).
fn open(
    conn: &Connection,
    dir: &Path,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<Option<(SessionId, CallId)>> {
    let session = calls::session(conn, e)?;
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
    let input = match call.input.is_empty() {
        true => None,
        false => Some(store::number(
            conn,
            &store::put(conn, dir, &call.input, None)?,
        )?),
    };
    let id = calls::open(
        conn,
        &calls::Opening {
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

/// The call that an "after" event reports on. One never heard of is opened now (`true`); one that has
/// reported already is None: the event was told twice.
fn reported(
    desk: &Desk<'_>,
    e: &AgentEvent,
    call: &ToolCall,
) -> Result<(Option<calls::Row>, bool)> {
    let session = calls::session(desk.conn, e)?;
    let find = || {
        calls::find(
            desk.conn,
            session,
            call.id.as_deref(),
            e.subagent.as_deref(),
            &call.tool,
        )
    };
    match find()? {
        Some(row) if !row.closed || row.presumed => Ok((Some(row), false)),
        Some(_) => Ok((None, false)),
        None => {
            open(desk.conn, desk.dir, e, call)?;
            Ok((find()?, true))
        }
    }
}

/// Where a named path lies: the file itself and, through a link, what it leads to.
fn named(root: &Path, cwd: Option<&Path>, path: &Path) -> Vec<Named> {
    let full = match cwd {
        Some(cwd) if path.is_relative() => cwd.join(path),
        _ if path.is_relative() => root.join(path),
        _ => path.to_path_buf(),
    };
    // the part of the path that exists is made real; the rest is what the tool is about to make
    let real = |path: &Path| -> Option<std::path::PathBuf> {
        let mut missing = Vec::new();
        let mut at = path;
        loop {
            if let Ok(real) = at.canonicalize() {
                return Some(missing.iter().rev().fold(real, |p, name| p.join(name)));
            }
            missing.push(at.file_name()?.to_owned());
            at = at.parent()?;
        }
    };
    let mut places = Vec::new();
    let parent_real = full
        .parent()
        .and_then(real)
        .zip(full.file_name())
        .map(|(dir, name)| dir.join(name));
    for place in parent_real.into_iter().chain(real(&full)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let inside = |place: &std::path::PathBuf| {
        let outside = |why| Named::Outside(crate::model::os_bytes(place.as_os_str()), why);
        match place.strip_prefix(root).ok().and_then(RelPath::from_path) {
            Some(path) => {
                let vcs = path
                    .bytes()
                    .split(|b| *b == b'/')
                    .any(|part| crate::scan::VCS.contains(&part));
                if vcs {
                    outside("inside a version-control folder")
                } else {
                    Named::Inside(path)
                }
            }
            None => outside("outside the workspace"),
        }
    };
    places.iter().map(inside).collect()
}

/// Makes the record of one path equal to what was just seen there, before a call goes on from it.
fn bring_up_to_date(
    desk: &Desk<'_>,
    path: &RelPath,
    look: &Look,
    verdict: Verdict,
    made_dirs: u32,
) -> Result<Option<NodeId>> {
    let row = known::get(desk.conn, desk.here.root, path)?;
    let before = row.as_ref().map_or(Image::Absent, |r| r.image);
    let image = seen(before, look.image);
    if before == image || calls::reserved(desk.conn, path)?.is_some() {
        return Ok(None);
    }
    if let Some(bytes) = &look.bytes {
        store::put(desk.conn, desk.dir, bytes, before.content())?;
    }
    let generation = known::next_generation(desk.conn, desk.here.root)?;
    if row.is_none() && out_of_sight(desk, path)? {
        // never scanned before: its earlier state is not known, and this is not a change
        let known = Known {
            image,
            file: None,
            since: desk.head()?,
            generation,
            stat: look.stat.unwrap_or(NO_STAT),
        };
        known::put(desk.conn, desk.here.root, path, &known)?;
        return Ok(None);
    }
    let step = transition(path, row, image, look, verdict, made_dirs);
    desk.record(
        &[step],
        &Cause::between(),
        &Coverage::default(),
        false,
        generation,
    )
}

/// What cannot be read keeps the state last known.
fn seen(before: Image, now: Image) -> Image {
    match now {
        Image::Opaque(why) if why != Opaque::TooLarge && before.content().is_some() => before,
        now => now,
    }
}

fn out_of_sight(desk: &Desk<'_>, path: &RelPath) -> Result<bool> {
    let scanned: Option<i64> = desk.conn.query_row(
        "SELECT scanned FROM root WHERE id = ?1",
        [desk.here.root],
        |r| r.get(0),
    )?;
    if scanned.is_none() {
        return Ok(true);
    }
    let then = known::excludes(desk.conn, desk.here.root)?.unwrap_or_default();
    let mut text = |file: &RelPath| {
        let content = match then.then(file) {
            Some(content) => content?,
            None => known::get(desk.conn, desk.here.root, file)
                .ok()??
                .image
                .content()?,
        };
        store::get(desk.conn, desk.dir, &content).ok()
    };
    Ok(was_ignored(&Rules::base(&then), path, &mut text))
}

fn transition(
    path: &RelPath,
    row: Option<Known>,
    image: Image,
    look: &Look,
    verdict: Verdict,
    made_dirs: u32,
) -> Step {
    let placed = |image: Image| {
        (!image.is_absent()).then(|| Placed {
            path: path.clone(),
            image,
        })
    };
    Step {
        file: row.as_ref().and_then(|r| r.file),
        since: row.as_ref().and_then(|r| r.since),
        before: placed(row.as_ref().map_or(Image::Absent, |r| r.image)),
        after: placed(image),
        stat: look.stat,
        verdict,
        made_dirs: if row.is_some() { 0 } else { made_dirs },
    }
}

/// A reported edit call at its end.
struct Work<'a> {
    row: &'a calls::Row,
    /// Its "before" event never came.
    opened_now: bool,
    told: &'a Told,
    failed: bool,
}

impl Work<'_> {
    /// What the call did at one path, if anything.
    fn step(
        &self,
        desk: &Desk<'_>,
        path: RelPath,
        look: Look,
        made_dirs: u32,
        coverage: &mut Coverage,
    ) -> Result<Option<Step>> {
        let conn = desk.conn;
        let root = desk.here.root;
        let mut row = known::get(conn, root, &path)?;
        if let Image::Opaque(why) = look.image {
            coverage.note(path.bytes(), crate::scan::reason(why), "named");
        }
        if let Some(found) = self.found(desk, row.as_ref(), &look)? {
            // somebody wrote the file between the look before and the tool's own: not the tool's doing
            let content = store::put(
                conn,
                desk.dir,
                found.as_bytes(),
                row.as_ref().and_then(|r| r.image.content()),
            )?;
            let mode = match (row.as_ref().map(|r| r.image), look.image) {
                (Some(Image::File { mode, .. }), _) | (_, Image::File { mode, .. }) => mode,
                _ => 0o644,
            };
            let image = Image::File {
                mode,
                content,
                size: found.len() as u64,
            };
            let verdict = Verdict {
                origin: Origin::USER,
                provisional: false,
            };
            let between = Look {
                image,
                stat: None,
                bytes: None,
                is_dir: false,
            };
            if row.is_none() && self.opened_now {
                let generation = known::next_generation(conn, root)?;
                let since = desk.head()?;
                known::put(
                    conn,
                    root,
                    &path,
                    &Known {
                        image,
                        file: None,
                        since,
                        generation,
                        stat: NO_STAT,
                    },
                )?;
            } else {
                let generation = known::next_generation(conn, root)?;
                let step = transition(&path, row, image, &between, verdict, 0);
                desk.record(
                    &[step],
                    &Cause::between(),
                    &Coverage::default(),
                    false,
                    generation,
                )?;
            }
            row = known::get(conn, root, &path)?;
        }
        let before = row.as_ref().map_or(Image::Absent, |r| r.image);
        let image = seen(before, look.image);
        if image == before {
            return Ok(None);
        }
        let exact = self.wrote(desk, &before, &look)?;
        if let Some(bytes) = &look.bytes {
            store::put(conn, desk.dir, bytes, before.content())?;
        }
        if row.is_none() && self.opened_now && !exact && out_of_sight(desk, &path)? {
            let (since, generation) = (desk.head()?, known::next_generation(conn, root)?);
            let stat = look.stat.unwrap_or(NO_STAT);
            known::put(
                conn,
                root,
                &path,
                &Known {
                    image,
                    file: None,
                    since,
                    generation,
                    stat,
                },
            )?;
            return Ok(None);
        }
        let session = self.row.session;
        let verdict = if exact {
            settle::by_call(session, self.row.id, Certainty::Certain, Certainty::Certain)
        } else if self.failed || self.opened_now || self.row.presumed {
            settle::by_call(
                session,
                self.row.id,
                Certainty::Uncertain,
                Certainty::Uncertain,
            )
        } else {
            let rivals = calls::rivals(conn, self.row, &path)?;
            let (s, t) = if rivals.iter().any(|r| *r != session) {
                (Certainty::Uncertain, Certainty::Uncertain)
            } else if rivals.contains(&session) {
                (Certainty::Certain, Certainty::Uncertain)
            } else {
                (Certainty::Certain, Certainty::Certain)
            };
            settle::by_call(session, self.row.id, s, t)
        };
        Ok(Some(transition(
            &path, row, image, &look, verdict, made_dirs,
        )))
    }

    /// The text that the tool found, where it differs from the record. Told in LF whatever the file has,
    /// so a file with other line endings says nothing here.
    fn found(&self, desk: &Desk<'_>, row: Option<&Known>, look: &Look) -> Result<Option<String>> {
        let Some(found) = self.told.found.as_ref().filter(|_| !self.failed) else {
            return Ok(None);
        };
        if found.contains('\r') || look.bytes.as_ref().is_some_and(|b| b.contains(&b'\r')) {
            return Ok(None);
        }
        let recorded = match row.and_then(|r| r.image.content()) {
            Some(content) => store::get(desk.conn, desk.dir, &content)?,
            None if row.is_none() && self.opened_now => return Ok(Some(found.clone())),
            None => return Ok(None),
        };
        if recorded.contains(&b'\r') || String::from_utf8(recorded.clone()).is_err() {
            return Ok(None);
        }
        Ok((recorded != found.as_bytes()).then(|| found.clone()))
    }

    /// Whether the file is just what the tool says it wrote, from just what it says it found.
    fn wrote(&self, desk: &Desk<'_>, before: &Image, look: &Look) -> Result<bool> {
        let (Some(wrote), Some(now), false) = (&self.told.wrote, &look.bytes, self.failed) else {
            return Ok(false);
        };
        Ok(match wrote {
            Wrote::Whole(text) => text.as_bytes() == now.as_slice(),
            Wrote::Replace { old, new, all } => {
                let Some(content) = before.content() else {
                    return Ok(false);
                };
                let Ok(text) = String::from_utf8(store::get(desk.conn, desk.dir, &content)?) else {
                    return Ok(false);
                };
                let after = if *all {
                    text.replace(old.as_str(), new)
                } else {
                    text.replacen(old.as_str(), new, 1)
                };
                after.as_bytes() == now.as_slice()
            }
        })
    }
}
