//! Records a batch of acts as turns and steps, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Capture;
use super::super::calls::{self, Attribution, Observation, ToolOutcome, Writer, Writers};
use super::super::event::{AgentEvent, Effect, EventKind, ToolCall};
use super::super::named_paths::{NamedPath, named, refresh_entry};
use super::super::named_record::{adopt, out_of_sight, readable_image, record_between, transition};
use super::super::opening::open;
use super::super::reported_edit::{mode_of, row_at_start, store_text};
use super::super::snapshot::Scanned;
use super::super::transition::Transition;
use super::super::visibility::Visibility;
use super::super::write_txn::{ScanContext, WriteTxn};
use super::batch::{Act, Commit, Step};
use super::committed_texts::{Commits, CommittedTexts};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Certainty, ContentId, Coverage, Image, Kind, NodeId, RelPath};
use crate::store;
use crate::store::tables::root::scan;
use crate::store::tables::{node, session, turn};
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state::{self, FileState};

/// Name of the tool of a step.
const TOOL: &str = "edit";
/// Name of a session whose heading was not read.
const UNKNOWN: &str = "unknown";

/// The acts to record, with the disk at the files that they name.
pub(super) struct Batch {
    /// Name of the agent.
    agent: &'static str,
    acts: Vec<Act>,
    commits: Commits,
    entries: BTreeMap<RelPath, DiskEntry>,
    /// Number of steps that name a file and are not recorded yet.
    left: BTreeMap<RelPath, usize>,
    /// Files that several steps name.
    shared: BTreeSet<RelPath>,
    /// Files whose newest step is recorded by its committed texts.
    exact: BTreeSet<RelPath>,
    made_dirs: BTreeMap<RelPath, u32>,
    uncommitted: Vec<NodeId>,
    /// Time of the last change of the history, in nanoseconds since 1970.
    written: i64,
}

impl Batch {
    /// Reads the files that the acts name.
    pub(super) fn new(
        capture: &Capture<&mut Engine>,
        (agent, acts): (&'static str, Vec<Act>),
        uncommitted: Vec<NodeId>,
        written: i64,
    ) -> Result<Self> {
        let commits = Commits::read(&capture.engine.root.path, steps(&acts));
        let mut left: BTreeMap<RelPath, usize> = BTreeMap::new();
        let mut entries = BTreeMap::new();
        for step in steps(&acts) {
            let (named, _) = capture.read_named(&event(agent, "", None), &step.paths)?;
            let paths: BTreeSet<_> = named.iter().map(|(path, _)| path.clone()).collect();
            for path in paths {
                *left.entry(path).or_default() += 1;
            }
            entries.extend(named);
        }
        let several = left.iter().filter(|(_, steps)| **steps > 1);
        Ok(Self {
            agent,
            shared: several.map(|(path, _)| path.clone()).collect(),
            acts,
            commits,
            entries,
            left,
            exact: BTreeSet::new(),
            made_dirs: BTreeMap::new(),
            uncommitted,
            written,
        })
    }

    /// Records the scan, and the acts after it. Returns the nodes of the newest step, if its commit is not known yet.
    pub(super) fn record(&mut self, txn: &WriteTxn<'_>, scanned: Scanned) -> Result<Vec<NodeId>> {
        let seen = Visibility::new(
            txn.conn,
            txn.dir,
            txn.here.root,
            &scanned.known,
            &scanned.excludes,
            &scanned.findings.found,
        )?;
        for path in self.entries.keys() {
            self.made_dirs.insert(path.clone(), seen.made_dirs(path)?);
        }
        let writers = Writers::since(txn.conn, txn.here.root, scanned.since)?;
        let context = ScanContext {
            left_out: self.entries.keys().cloned().collect(),
            ..ScanContext::between()
        };
        txn.record_scan(scanned, &context)?;
        for act in std::mem::take(&mut self.acts) {
            match act {
                Act::Prompt { session, text } => {
                    self.uncommitted.clear();
                    begin_turn(txn, self.agent, session.as_deref(), &text)?;
                }
                Act::Answered(session) => end_work(txn, self.agent, session.as_deref())?,
                Act::Label(commit) => self.label(txn, &commit)?,
                Act::Step(step) => self.step(txn, &step, &writers)?,
            }
        }
        self.record_rest(txn, &writers)?;
        Ok(std::mem::take(&mut self.uncommitted))
    }

    /// Names the newest step by the subject of its commit.
    fn label(&mut self, txn: &WriteTxn<'_>, commit: &Commit) -> Result<()> {
        for id in std::mem::take(&mut self.uncommitted) {
            node::set_label(txn.conn, id, &commit.subject)?;
        }
        Ok(())
    }

    fn step(&mut self, txn: &WriteTxn<'_>, step: &Step, writers: &Writers) -> Result<()> {
        let e = event(self.agent, "Edit", step.session.as_deref());
        let call = ToolCall {
            id: None,
            tool: TOOL.to_owned(),
            input: Vec::new(),
            effect: Effect::Names(step.paths.clone()),
        };
        let Some((session, call)) = open(txn.conn, txn.dir, txn.here.root, &e, &call, None)? else {
            return Ok(());
        };
        let own = Writer { call, session };
        let mut transitions = Vec::new();
        for path in self.paths_of(txn, step) {
            transitions.extend(self.edit(txn, step, &path, own, writers)?);
        }
        let seq = calls::last_event(txn.conn)?;
        calls::close(txn.conn, call, seq, ToolOutcome::Done)?;
        let context = ScanContext {
            observation: Observation::AtEndOf(own),
            ..ScanContext::between()
        };
        let generation = scan::next_generation(txn.conn, txn.here.root)?;
        let none = Coverage::default();
        let made = txn.record(&transitions, &context, &none, false, generation)?;
        self.uncommitted = made.into_iter().collect();
        if let Some(commit) = &step.commit {
            self.label(txn, commit)?;
            end_work(txn, self.agent, step.session.as_deref())?;
        }
        Ok(())
    }

    /// Returns the files of a step. A file that an open call of another agent names is left to that call.
    fn paths_of(&self, txn: &WriteTxn<'_>, step: &Step) -> Vec<RelPath> {
        let places = step.paths.iter().flat_map(|path| {
            let all = named(txn.root, None, path);
            all.into_iter().filter_map(NamedPath::inside)
        });
        let unique: BTreeSet<RelPath> = places.collect();
        let is_free = |path: &RelPath| {
            self.entries.contains_key(path)
                && calls::reserved(txn.conn, txn.here.root, path).is_ok_and(|by| by.is_none())
        };
        unique.into_iter().filter(is_free).collect()
    }

    /// Returns the change of one file by a step.
    fn edit(
        &mut self,
        txn: &WriteTxn<'_>,
        step: &Step,
        path: &RelPath,
        own: Writer,
        writers: &Writers,
    ) -> Result<Option<Transition>> {
        let left = self.left.get_mut(path).map_or(0, |left| {
            *left = left.saturating_sub(1);
            *left
        });
        let Some(entry) = self.entries.get(path).cloned() else {
            return Ok(None);
        };
        let entry = refresh_entry(txn, path, entry)?;
        self.entries.insert(path.clone(), entry.clone());
        let waiting = txn.pending.get(path);
        if waiting.is_some_and(|save| entry.image == save.disk) {
            return Ok(None);
        }
        let row = row_at_start(txn, path, &entry)?;
        self.exact.remove(path);
        let texts = self.commits.of(step, path, entry.bytes.as_deref());
        if let Some(texts) = texts.filter(|_| has_text(&entry)) {
            let edit = self.exact_edit(txn, step, path, (row, &entry), texts, own)?;
            self.exact.insert(path.clone());
            return Ok(edit);
        }
        // the disk has the work of a later step, too
        if left > 0 {
            return Ok(None);
        }
        let before = row.as_ref().map_or(Image::Absent, |row| row.image);
        let image = readable_image(before, entry.image);
        if image == before || !txn.store_entry(path, &entry, &before)? {
            return Ok(None);
        }
        if row.is_none() && out_of_sight(txn, path)? {
            adopt(txn, path, image, entry.stat)?;
            return Ok(None);
        }
        let is_later = entry.stat.is_some_and(|stat| stat.mtime > self.written);
        let attribution = if step.is_with_prompt || is_later || self.shared.contains(path) {
            uncertain(own)
        } else {
            writers.attribute(txn.observation(Observation::AtEndOf(own))?)
        };
        let made_dirs = self.made_dirs.get(path).copied().unwrap_or(0);
        let row = row.as_ref();
        let edit = transition(path, row, image, &entry, attribution, made_dirs);
        Ok(Some(edit))
    }

    /// Returns the change of a file by its committed texts. The user's changes before it are recorded first.
    fn exact_edit(
        &self,
        txn: &WriteTxn<'_>,
        step: &Step,
        path: &RelPath,
        (mut row, entry): (Option<FileState>, &DiskEntry),
        texts: &CommittedTexts,
        own: Writer,
    ) -> Result<Option<Transition>> {
        let content = |row: &Option<FileState>| row.as_ref().and_then(|row| row.image.content());
        let recorded = content(&row);
        let before = texts.before.as_deref().map(ContentId::of);
        let after = ContentId::of(&texts.after);
        if recorded == Some(after) {
            return Ok(None);
        }
        let made_dirs = self.made_dirs.get(path).copied().unwrap_or(0);
        let mode = mode_of(row.as_ref().map_or(Image::Absent, |r| r.image), entry.image);
        let mut is_certain = recorded == before;
        if let (false, Some(id), Some(text)) = (is_certain, before, &texts.before) {
            // an older text is that of a commit without the user's changes
            if step.after_commit || !store::has(txn.conn, &id)? {
                let found = store_text(txn, text, mode, recorded)?;
                if row.is_none() && out_of_sight(txn, path)? {
                    adopt(txn, path, found.image, None)?;
                } else {
                    let generation = scan::next_generation(txn.conn, txn.here.root)?;
                    let user = Attribution::USER;
                    let by_user =
                        transition(path, row.as_ref(), found.image, &found, user, made_dirs);
                    record_between(txn, by_user, generation)?;
                }
                row = file_state::get(txn.conn, txn.here.root, path)?;
                is_certain = true;
            }
        }
        let is_on_disk = entry.image.content() == Some(after);
        let written = if is_on_disk {
            txn.store_entry(path, entry, &Image::Absent)?;
            entry.clone()
        } else {
            store_text(txn, &texts.after, mode, content(&row))?
        };
        let attribution = if is_certain {
            let certain = Certainty::Certain;
            calls::by_call(own.session, own.call, certain, certain)
        } else {
            uncertain(own)
        };
        let (row, image) = (row.as_ref(), written.image);
        let edit = transition(path, row, image, &written, attribution, made_dirs);
        Ok(Some(edit))
    }

    /// Records the changes of files after their newest committed edit. They are not aider's.
    fn record_rest(&self, txn: &WriteTxn<'_>, writers: &Writers) -> Result<()> {
        for path in &self.exact {
            let Some(entry) = self.entries.get(path) else {
                continue;
            };
            let entry = refresh_entry(txn, path, entry.clone())?;
            let row = file_state::get(txn.conn, txn.here.root, path)?;
            let before = row.as_ref().map_or(Image::Absent, |row| row.image);
            let image = readable_image(before, entry.image);
            if image == before || !txn.store_entry(path, &entry, &before)? {
                continue;
            }
            let attribution = writers.attribute(txn.observation(Observation::Between)?);
            let generation = scan::next_generation(txn.conn, txn.here.root)?;
            let rest = transition(path, row.as_ref(), image, &entry, attribution, 0);
            record_between(txn, rest, generation)?;
        }
        Ok(())
    }
}

fn steps(acts: &[Act]) -> impl Iterator<Item = &Step> {
    acts.iter().filter_map(|act| match act {
        Act::Step(step) => Some(step),
        _ => None,
    })
}

/// True if the path is a file, or was one: a link's text is not that of its commit.
fn has_text(entry: &DiskEntry) -> bool {
    matches!(entry.image, Image::Absent) || entry.bytes.is_some() && entry.image.content().is_some()
}

fn uncertain(own: Writer) -> Attribution {
    let uncertain = Certainty::Uncertain;
    calls::by_call(own.session, own.call, uncertain, uncertain)
}

fn event(agent: &str, name: &str, session: Option<&str>) -> AgentEvent {
    AgentEvent {
        agent: agent.to_owned(),
        session: session.unwrap_or(UNKNOWN).to_owned(),
        transcript: None,
        prompt_id: None,
        subagent: None,
        cwd: None,
        process: None,
        other_hooks: None,
        name: name.to_owned(),
        kind: EventKind::Other,
    }
}

/// Begins a turn at the state that the scan has recorded.
fn begin_turn(txn: &WriteTxn<'_>, agent: &str, session: Option<&str>, prompt: &str) -> Result<()> {
    let e = event(agent, "Prompt", session);
    let session = calls::session(txn.conn, txn.here.root, &e)?;
    calls::record_event(txn.conn, &e, session, None, None)?;
    session::set_working(txn.conn, session, true)?;
    let none = Coverage::default();
    let node = txn.node(Kind::Turn, Some(session), None, None, None, &none)?;
    let turn = turn::insert(txn.conn, session, prompt, node)?;
    node::set_turn(txn.conn, node, turn)
}

/// Notes that a session does not work any longer. Edits that it reports later still belong to its newest turn.
fn end_work(txn: &WriteTxn<'_>, agent: &str, session: Option<&str>) -> Result<()> {
    let e = event(agent, "Stop", session);
    // a session without a prompt is none
    if session::id_of(txn.conn, &e.agent, &e.session)?.is_none() {
        return Ok(());
    }
    let session = calls::session(txn.conn, txn.here.root, &e)?;
    let turn = calls::turn(txn.conn, session, None)?;
    calls::record_event(txn.conn, &e, session, turn, None)?;
    session::set_working(txn.conn, session, false)
}
