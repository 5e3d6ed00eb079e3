//! Edit calls: tools that name the files they write. Owns the images before and after a call, and
//! checks whether a file holds exactly what the tool reported.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;

use super::Capture;
use super::calls::{self, Attribution, Observation, Writer, Writers};
use super::event::{AgentEvent, PathReport, ToolCall, ToolReport, Wrote};
use super::renames::follow_renames;
use super::transition::Transition;
use super::write_txn::{AFTER, BEFORE, ScanContext, WriteTxn};
use super::{Recorded, open, outcome, reported};
use crate::content::MAX_MERGE_BYTES;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{
    Certainty, ContentId, Coverage, Image, Kind, NodeId, Opaque, Reason, RelPath, RootId, SessionId,
};
use crate::store;
use crate::store::tables::change;
use crate::store::tables::reserved::{self, Reserved};
use crate::store::tables::root::scan;
use crate::worktree::disk::{DiskEntry, NO_STAT, Root, Stat};
use crate::worktree::file_state::{self, FileState, FileStates};
use crate::worktree::ignore_rules::{ExcludePatterns, Rules, was_ignored};
use crate::worktree::pending_saves;

/// Location of a path that a tool names.
enum NamedPath {
    Inside(RelPath),
    Outside(Vec<u8>, &'static str),
    /// Excluded by the settings and not recorded.
    Excluded(RelPath),
}

impl NamedPath {
    fn inside(self) -> Option<RelPath> {
        match self {
            Self::Inside(path) => Some(path),
            Self::Outside(..) | Self::Excluded(_) => None,
        }
    }
}

pub(crate) const EXCLUDED: &str = "excluded by capture.exclude";

impl Capture<&mut Engine> {
    /// Before a tool that names its files: records their images durably, and nothing else.
    pub(super) fn open_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[PathBuf],
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let mut pending = false;
        if self.engine.history().head()?.is_none() {
            // the very first event: the history has no start yet
            let scanned = self.scan(deadline)?;
            pending = scanned.findings.partial;
            self.notifying_txn(BEFORE, scanned, |txn, scanned| {
                txn.record_scan(scanned, &ScanContext::between())
            })?;
        }
        let (entries, coverage) = self.read_named(e, paths)?;
        let with_missing_parents = |(path, entry): (RelPath, DiskEntry)| {
            let missing = if entry.image.is_absent() {
                self.engine.root.missing_parents(&path)
            } else {
                0
            };
            (path, entry, missing)
        };
        let entries: Vec<_> = entries.into_iter().map(with_missing_parents).collect();
        self.notifying_txn(BEFORE, entries, |txn, entries| {
            let like = entries
                .iter()
                .find_map(|(_, entry, _)| entry.image.content());
            let Some((session, id)) = open(txn.conn, txn.dir, txn.here.root, e, call, like)? else {
                return Ok(Recorded {
                    node: None,
                    pending,
                });
            };
            if !coverage.items.is_empty() {
                let turn = calls::turn(txn.conn, session, e.prompt_id.as_deref())?;
                txn.node(Kind::Step, Some(session), turn, Some(id), None, &coverage)?;
            }
            let writers = Writers::since(txn.conn, txn.here.root, calls::last_event(txn.conn)?)?;
            let mut node = None;
            for (path, entry, missing) in entries {
                let entry = refresh_entry(txn, &path, entry)?;
                let attribution = writers.attribute(txn.observation(Observation::Between)?);
                node = update_record(txn, &path, &entry, attribution, missing)?.or(node);
                let reserved = Reserved {
                    image: entry.image,
                    made_dirs: missing,
                };
                reserved::insert(txn.conn, id, &path, reserved)?;
            }
            Ok(Recorded { node, pending })
        })
    }

    /// After a tool that names its files: records their changes, as far as they are the tool's own.
    pub(super) fn after_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[PathBuf],
        report: &ToolReport,
        failed: bool,
    ) -> Result<Recorded> {
        let (entries, uncaptured) = self.read_named(e, paths)?;
        let mut reports = reports_by_path(report, |path| {
            let named = named(&self.engine.root.path, e.cwd.as_deref(), path);
            named.into_iter().filter_map(NamedPath::inside).collect()
        });
        self.notifying_txn(AFTER, entries, |txn, entries| {
            let (row, opened_now) = reported(txn, e, call)?;
            let Some(row) = row else {
                return Ok(Recorded::default());
            };
            let reserved = reserved::of_call(txn.conn, row.id)?;
            if let [only] = report.paths.as_slice() {
                // a link may lead elsewhere than at the "before" event
                for path in reserved.keys() {
                    reports.entry(path.clone()).or_insert(only);
                }
            }
            let entries = with_reserved(txn, entries, &reserved)?;
            let seq = calls::record_event(txn.conn, e, row.session, row.turn, Some(row.id))?;
            let ended = ReportedCall {
                row: &row,
                opened_now,
                reports: &reports,
                failed,
            };
            // the "before" event has already reported it
            let coverage = if opened_now {
                uncaptured
            } else {
                Coverage::default()
            };
            let work = ended.work(txn, entries, &reserved, coverage)?;
            calls::close(txn.conn, row.id, seq, outcome(failed))?;
            Ok(Recorded {
                node: ended.record(txn, work)?,
                pending: false,
            })
        })
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Reads the disk entry of a path, compared with its recorded state.
    pub(crate) fn disk_entry(&self, path: &RelPath) -> Result<DiskEntry> {
        read_entry(
            &self.engine.store.conn,
            self.engine.here.root,
            &self.engine.root,
            path,
        )
    }

    /// Reads a path as the record expects it, with pending saves applied.
    pub(crate) fn expected_entry(&self, path: &RelPath) -> Result<DiskEntry> {
        let mut entry = self.disk_entry_with_text(path)?;
        let pending = pending_saves::Pending::of(&self.engine.store.conn, self.engine.here.root)?;
        if let Some(p) = pending.get(path)
            && pending.overlay(path, p.wanted, &mut entry)
        {
            entry.bytes = p
                .wanted
                .content()
                .map(|c| self.engine.content(&c))
                .transpose()?;
        }
        Ok(entry)
    }

    /// Reads the disk entry with its text, also of a large file, unless it is too long to compare.
    pub(crate) fn disk_entry_with_text(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        self.engine
            .root
            .reread_entry_holding(path, &before, MAX_MERGE_BYTES)
    }

    /// Reads a disk entry that is about to be recorded. A large content is stored here, before the
    /// transaction.
    pub(crate) fn disk_entry_stored(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        let mut entry = self.engine.root.reread_entry(path, &before)?;
        if !self
            .engine
            .root
            .store_ahead(&self.engine.store, path, &mut entry, &before)?
        {
            entry = self.engine.root.reread_entry(path, &before)?;
        }
        Ok(entry)
    }

    /// Locates a path that a tool names. A path that is already recorded is not excluded.
    fn named(
        &self,
        e: &AgentEvent,
        path: &Path,
        excluding: Option<&ExcludePatterns>,
    ) -> Result<Vec<NamedPath>> {
        let mut all = named(&self.engine.root.path, e.cwd.as_deref(), path);
        let Some(excluding) = excluding else {
            return Ok(all);
        };
        for named in &mut all {
            if let NamedPath::Inside(path) = named
                && excluding.holds(path)
                && file_state::row(&self.engine.store.conn, self.engine.here.root, path)?.is_none()
            {
                *named = NamedPath::Excluded(path.clone());
            }
        }
        Ok(all)
    }

    /// Reads the named paths that are captured. Returns them with the coverage of the others.
    fn read_named(
        &self,
        e: &AgentEvent,
        paths: &[PathBuf],
    ) -> Result<(Vec<(RelPath, DiskEntry)>, Coverage)> {
        let mut entries = Vec::new();
        let mut coverage = Coverage::default();
        let excluding = self.engine.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let entry = self.disk_entry_stored(&path)?;
                        entries.push((path, entry));
                    }
                    NamedPath::Outside(path, why) => coverage.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
                    }
                }
            }
        }
        Ok((entries, coverage))
    }
}

/// Returns the report on each path. `places` resolves a reported path. Several reports on one path prove nothing, since
/// each may start from the text of another.
fn reports_by_path<'a>(
    report: &'a ToolReport,
    places: impl Fn(&Path) -> Vec<RelPath>,
) -> BTreeMap<RelPath, &'a PathReport> {
    let mut reports: BTreeMap<RelPath, Option<&PathReport>> = BTreeMap::new();
    for report in &report.paths {
        for path in places(&report.path) {
            let entry = reports.entry(path);
            entry
                .and_modify(|known| *known = None)
                .or_insert(Some(report));
        }
    }
    let only_one = |(path, report): (RelPath, Option<&'a PathReport>)| Some((path, report?));
    reports.into_iter().filter_map(only_one).collect()
}

/// Adds the entries of reserved paths that the "after" event does not name.
fn with_reserved(
    txn: &WriteTxn<'_>,
    entries: Vec<(RelPath, DiskEntry)>,
    reserved: &BTreeMap<RelPath, Reserved>,
) -> Result<BTreeMap<RelPath, DiskEntry>> {
    let mut entries: BTreeMap<RelPath, DiskEntry> = entries.into_iter().collect();
    for path in reserved.keys() {
        if !entries.contains_key(path) {
            let entry = read_entry(txn.conn, txn.here.root, txn.root, path)?;
            entries.insert(path.clone(), entry);
        }
    }
    Ok(entries)
}

fn read_entry(conn: &Connection, root: RootId, disk: &Root, path: &RelPath) -> Result<DiskEntry> {
    let row = file_state::get(conn, root, path)?;
    disk.reread_entry(path, &row.map_or(Image::Absent, |row| row.image))
}

/// Returns `entry` if it is still current, otherwise reads the path again.
fn refresh_entry(txn: &WriteTxn<'_>, path: &RelPath, entry: DiskEntry) -> Result<DiskEntry> {
    if txn.is_unchanged(path, &entry.image, entry.stat) {
        return Ok(entry);
    }
    read_entry(txn.conn, txn.here.root, txn.root, path)
}

/// Outcome of an edit call at a path.
enum EditOutcome {
    Nothing,
    /// The whole difference is the call's work.
    All(Transition),
    /// The call's work, if any. The rest of the difference is not.
    Part(Option<Transition>),
}

/// Resolves a named path: to the file itself and, through a link, to its target.
pub(super) fn places(root: &Path, cwd: Option<&Path>, path: &Path) -> Vec<PathBuf> {
    let full = match cwd {
        Some(cwd) if path.is_relative() => cwd.join(path),
        _ if path.is_relative() => root.join(path),
        _ => path.to_path_buf(),
    };
    // the existing part of the path is canonicalized; the tool is about to create the rest
    let real = |path: &Path| -> Option<PathBuf> {
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
    places
}

/// Locates the places of a named path.
fn named(root: &Path, cwd: Option<&Path>, path: &Path) -> Vec<NamedPath> {
    let inside = |place: &PathBuf| {
        let outside = |why| NamedPath::Outside(crate::model::os_bytes(place.as_os_str()), why);
        match place.strip_prefix(root).ok().and_then(RelPath::from_path) {
            Some(path) => {
                if path.is_in_vcs() {
                    outside("inside a version-control folder")
                } else {
                    NamedPath::Inside(path)
                }
            }
            None => outside("outside the workspace"),
        }
    };
    places(root, cwd, path).iter().map(inside).collect()
}

/// Updates the record of one path to its current disk entry before a call starts from it.
fn update_record(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    entry: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Result<Option<NodeId>> {
    let row = file_state::get(txn.conn, txn.here.root, path)?;
    let before = row.as_ref().map_or(Image::Absent, |r| r.image);
    let image = readable_image(before, entry.image);
    if before == image {
        if let Some(p) = txn.pending.get(path).filter(|p| p.wanted == entry.image) {
            pending_saves::saved(txn.conn, p.id)?;
        }
        return Ok(None);
    }
    if calls::reserved(txn.conn, txn.here.root, path)?.is_some() {
        return Ok(None);
    }
    let waiting = txn.pending.get(path).zip(row.as_ref());
    if let Some((p, row)) = waiting.filter(|(p, row)| p.disk == image && p.wanted == row.image) {
        // the call starts from the disk, not from the outcome that was never saved
        let (node, _) = txn.withdraw_outcome(row, p, entry.stat)?;
        return Ok(Some(node));
    }
    if !txn.store_entry(path, entry, &before)? {
        return Ok(None);
    }
    let revealed = row
        .as_ref()
        .filter(|row| row.is_revealed(image, entry.stat.as_ref()));
    if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight(txn, path)? {
        // its earlier state is unknown, so this is not a change
        adopt(txn, path, image, entry.stat)?;
        return Ok(None);
    }
    let attribution = match revealed {
        Some(_) => Attribution::USER,
        None => attribution,
    };
    let generation = scan::next_generation(txn.conn, txn.here.root)?;
    let before_call = transition(path, row.as_ref(), image, entry, attribution, made_dirs);
    record_between(txn, before_call, generation)
}

/// Adopts a file whose earlier state is unknown. This is no one's change.
fn adopt(txn: &WriteTxn<'_>, path: &RelPath, image: Image, stat: Option<Stat>) -> Result<()> {
    let known = FileState {
        image,
        file: None,
        since: txn.unshared_head()?,
        generation: scan::next_generation(txn.conn, txn.here.root)?,
        stat: stat.unwrap_or(NO_STAT),
    };
    file_state::put(
        txn.conn,
        txn.here.root,
        path,
        &known,
        file_state::Observed::ByName,
    )
}

/// Returns the current image, or the last known one if the file cannot be read.
fn readable_image(before: Image, now: Image) -> Image {
    match now {
        Image::Opaque(why) if why != Opaque::TooLarge && before.content().is_some() => before,
        now => now,
    }
}

fn out_of_sight(txn: &WriteTxn<'_>, path: &RelPath) -> Result<bool> {
    if scan::is_first(txn.conn, txn.here.root)? {
        return Ok(true);
    }
    let excludes = file_state::excludes(txn.conn, txn.here.root)?.unwrap_or_default();
    let (mut failed, mut is_damaged) = (None, false);
    let mut text = |file: &RelPath| {
        let recorded = || match file_state::get(txn.conn, txn.here.root, file) {
            Ok(row) => row?.image.content(),
            Err(e) => {
                failed = Some(e);
                None
            }
        };
        let content = excludes.content_at_scan(file, recorded)?;
        let read = store::get(txn.conn, txn.dir, &content);
        is_damaged |= read.is_err();
        read.ok()
    };
    let was_ignored = was_ignored(&Rules::base(&excludes), path, &mut text);
    // rules that cannot be read may have hidden anything
    failed.map_or(Ok(was_ignored || is_damaged), Err)
}

/// Returns the transition of a path that was read by its name.
pub(crate) fn transition(
    path: &RelPath,
    row: Option<&FileState>,
    image: Image,
    entry: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Transition {
    let observed_by = file_state::Observed::ByName;
    Transition::new(
        path,
        row,
        (image, entry.stat),
        attribution,
        made_dirs,
        observed_by,
    )
}

/// An edit call at its end, with its report.
#[derive(Clone, Copy)]
struct ReportedCall<'a> {
    row: &'a calls::CallRow,
    /// True if its "before" event never came.
    opened_now: bool,
    reports: &'a BTreeMap<RelPath, &'a PathReport>,
    failed: bool,
}

/// An edit call at its end, at one path.
struct ReportedEdit<'a> {
    call: ReportedCall<'a>,
    /// The tool's report on this path. A failed call has none.
    report: Option<&'a PathReport>,
    reserved: Option<Reserved>,
}

/// The differences that an edit call leaves behind.
struct EditWork {
    /// The work of the call.
    own: Vec<Transition>,
    /// Paths with a further difference.
    rest: Vec<(RelPath, DiskEntry)>,
    /// The rows before the call's work.
    rows: FileStates,
    coverage: Coverage,
}

impl ReportedCall<'_> {
    /// Separates the work of the call from other differences at its paths.
    fn work(
        &self,
        txn: &WriteTxn<'_>,
        entries: BTreeMap<RelPath, DiskEntry>,
        reserved: &BTreeMap<RelPath, Reserved>,
        coverage: Coverage,
    ) -> Result<EditWork> {
        let mut work = EditWork {
            own: Vec::new(),
            rest: Vec::new(),
            rows: FileStates::default(),
            coverage,
        };
        for (path, entry) in entries {
            let entry = refresh_entry(txn, &path, entry)?;
            if let Some(row) = file_state::get(txn.conn, txn.here.root, &path)? {
                work.rows.insert(path.clone(), row);
            }
            let edit = ReportedEdit {
                call: *self,
                report: self.reports.get(&path).copied().filter(|_| !self.failed),
                reserved: reserved.get(&path).copied(),
            };
            match edit.outcome(txn, &path, &entry, &mut work.coverage)? {
                EditOutcome::Nothing => {}
                EditOutcome::All(transition) => work.own.push(transition),
                EditOutcome::Part(transition) => {
                    work.own.extend(transition);
                    work.rest.push((path, entry));
                }
            }
        }
        Ok(work)
    }

    /// Records the work of the call as its step, and further differences after it. Returns the node
    /// of the step.
    fn record(&self, txn: &WriteTxn<'_>, mut work: EditWork) -> Result<Option<NodeId>> {
        let context = ScanContext {
            observation: Observation::AtEndOf(Writer {
                call: self.row.id,
                session: self.row.session,
            }),
            ..ScanContext::between()
        };
        follow_renames(&mut work.own, &work.rows);
        let generation = scan::next_generation(txn.conn, txn.here.root)?;
        let has_gaps = !work.coverage.items.is_empty();
        let node = txn.record(&work.own, &context, &work.coverage, has_gaps, generation)?;
        // any further difference is by an unknown author
        let unknown = Observation::Unreported(self.row.session);
        let attribution = Writers::default().attribute(unknown);
        for (path, entry) in work.rest {
            let row = file_state::get(txn.conn, txn.here.root, &path)?;
            let before = row.as_ref().map_or(Image::Absent, |r| r.image);
            let image = readable_image(before, entry.image);
            let rest = transition(&path, row.as_ref(), image, &entry, attribution, 0);
            record_between(txn, rest, generation)?;
        }
        Ok(node)
    }
}

/// Records a transition that is not the work of a call.
fn record_between(
    txn: &WriteTxn<'_>,
    transition: Transition,
    generation: i64,
) -> Result<Option<NodeId>> {
    let (context, none) = (ScanContext::between(), Coverage::default());
    txn.record(&[transition], &context, &none, false, generation)
}

/// Returns the row from which a call started, with pending saves at the path resolved.
fn row_at_start(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    entry: &DiskEntry,
) -> Result<Option<FileState>> {
    let row = file_state::get(txn.conn, txn.here.root, path)?;
    match txn.pending.get(path) {
        Some(p) if entry.image == p.wanted => {
            pending_saves::saved(txn.conn, p.id)?;
            Ok(row)
        }
        Some(_) => txn.withdraw_if_waiting(path, row),
        None => Ok(row),
    }
}

/// Returns the permission bits of the first of two images that is a file.
fn mode_of(first: Image, second: Image) -> u32 {
    match (first, second) {
        (Image::File { mode, .. }, _) | (_, Image::File { mode, .. }) => mode,
        _ => 0o644,
    }
}

/// Stores a text that was on disk for a while. Returns its entry, which no stat proves.
fn store_text(
    txn: &WriteTxn<'_>,
    text: &[u8],
    mode: u32,
    like: Option<ContentId>,
) -> Result<DiskEntry> {
    let image = Image::File {
        mode,
        content: store::put(txn.conn, txn.dir, text, like)?,
        size: text.len() as u64,
    };
    Ok(DiskEntry {
        image,
        stat: None,
        bytes: None,
        is_dir: false,
    })
}

/// Returns the certainty of session and step of a call's change, given the sessions that may have
/// written the path beside it.
fn certainty_beside(
    session: SessionId,
    concurrent_sessions: &BTreeSet<SessionId>,
) -> (Certainty, Certainty) {
    if concurrent_sessions.iter().any(|r| *r != session) {
        (Certainty::Uncertain, Certainty::Uncertain)
    } else if concurrent_sessions.contains(&session) {
        (Certainty::Certain, Certainty::Uncertain)
    } else {
        (Certainty::Certain, Certainty::Certain)
    }
}

impl ReportedEdit<'_> {
    /// Returns the outcome of the call at one path.
    fn outcome(
        &self,
        txn: &WriteTxn<'_>,
        path: &RelPath,
        entry: &DiskEntry,
        coverage: &mut Coverage,
    ) -> Result<EditOutcome> {
        let waiting = txn.pending.get(path);
        if waiting.is_some_and(|p| entry.image == p.disk) {
            return Ok(EditOutcome::Nothing);
        }
        let mut row = row_at_start(txn, path, entry)?;
        if let Image::Opaque(why) = entry.image {
            coverage.note(path.bytes(), crate::worktree::scan::reason(why), "named");
        }
        if let Some(found_text) = self.found_text(txn, row.as_ref(), entry)? {
            self.record_found_text(txn, path, row.as_ref(), entry, &found_text)?;
            row = file_state::get(txn.conn, txn.here.root, path)?;
        }
        let before = row.as_ref().map_or(Image::Absent, |r| r.image);
        let image = readable_image(before, entry.image);
        if image == before {
            self.confirm_if_exact(txn, before, entry)?;
            return Ok(EditOutcome::Nothing);
        }
        let reported_text = self.reported_text(txn, &before, entry)?;
        let exact = reported_text
            .as_ref()
            .is_some_and(|reported_text| entry.holds(reported_text));
        if !txn.store_entry(path, entry, &before)? {
            return Ok(EditOutcome::Nothing);
        }
        if row.is_none() && self.may_be_older(exact) && out_of_sight(txn, path)? {
            adopt(txn, path, image, entry.stat)?;
            return Ok(EditOutcome::Nothing);
        }
        let made_dirs = self.reserved.map_or(0, |r| r.made_dirs);
        if let Some(reported_text) = reported_text.filter(|_| self.wrote_part(exact, entry)) {
            let mode = mode_of(entry.image, before);
            let written = store_text(txn, &reported_text, mode, before.content())?;
            let (image, certain) = (written.image, self.certain());
            let own = transition(path, row.as_ref(), image, &written, certain, made_dirs);
            return Ok(EditOutcome::Part((image != before).then_some(own)));
        }
        let attribution = self.attribution(txn, path, exact)?;
        Ok(EditOutcome::All(transition(
            path,
            row.as_ref(),
            image,
            entry,
            attribution,
            made_dirs,
        )))
    }

    /// Records the text that the tool found. The file was written between our reading and the
    /// tool's own, so this is not the tool's work.
    fn record_found_text(
        &self,
        txn: &WriteTxn<'_>,
        path: &RelPath,
        row: Option<&FileState>,
        entry: &DiskEntry,
        found_text: &str,
    ) -> Result<()> {
        let recorded = row.map_or(Image::Absent, |r| r.image);
        let mode = mode_of(recorded, entry.image);
        let between = store_text(txn, found_text.as_bytes(), mode, recorded.content())?;
        let image = between.image;
        if row.is_none() && self.call.opened_now {
            return adopt(txn, path, image, None);
        }
        let generation = scan::next_generation(txn.conn, txn.here.root)?;
        let by_user = transition(path, row, image, &between, Attribution::USER, 0);
        record_between(txn, by_user, generation)?;
        Ok(())
    }

    /// Makes a change that another scan has recorded certain, if the file is exactly what the tool
    /// reported.
    fn confirm_if_exact(&self, txn: &WriteTxn<'_>, now: Image, entry: &DiskEntry) -> Result<()> {
        let Some(before) = self.reserved.filter(|r| r.image != now) else {
            return Ok(());
        };
        let reported_text = self.reported_text(txn, &before.image, entry)?;
        if reported_text.is_some_and(|reported_text| entry.holds(&reported_text)) {
            change::confirm(txn.conn, self.call.row.id)?;
        }
        Ok(())
    }

    /// True if a file without a row may be older than the call: it was named only at the end, or
    /// excluded until now.
    fn may_be_older(&self, exact: bool) -> bool {
        let named_at_end = self.reserved.is_none() && !self.call.opened_now;
        named_at_end || self.call.opened_now && !exact
    }

    /// True if only the reported text is the call's work, and the disk has another one.
    fn wrote_part(&self, exact: bool, entry: &DiskEntry) -> bool {
        let has_both_events = !self.call.opened_now && !self.call.row.is_presumed();
        !exact && has_both_events && matches!(entry.image, Image::File { .. } | Image::Absent)
    }

    /// Returns the attribution of a change that is the call's for certain.
    fn certain(&self) -> Attribution {
        self.by_call((Certainty::Certain, Certainty::Certain))
    }

    fn by_call(&self, (session_c, step_c): (Certainty, Certainty)) -> Attribution {
        let row = self.call.row;
        calls::by_call(row.session, row.id, session_c, step_c)
    }

    /// Returns the attribution of the whole difference at a path.
    fn attribution(&self, txn: &WriteTxn<'_>, path: &RelPath, exact: bool) -> Result<Attribution> {
        if exact {
            return Ok(self.certain());
        }
        let row = self.call.row;
        if self.call.failed || self.call.opened_now || row.is_presumed() {
            return Ok(self.by_call((Certainty::Uncertain, Certainty::Uncertain)));
        }
        let concurrent = calls::concurrent_sessions(txn.conn, txn.here.root, row, path)?;
        Ok(self.by_call(certainty_beside(row.session, &concurrent)))
    }

    /// Returns the text that the tool found, if it differs from the record. Tools report text in
    /// LF, so a file with other line endings proves nothing here.
    fn found_text(
        &self,
        txn: &WriteTxn<'_>,
        row: Option<&FileState>,
        entry: &DiskEntry,
    ) -> Result<Option<String>> {
        let Some(found) = self.report.and_then(|report| report.found.as_ref()) else {
            return Ok(None);
        };
        if found.contains('\r') || entry.bytes.as_ref().is_some_and(|b| b.contains(&b'\r')) {
            return Ok(None);
        }
        // anything recorded since the "before" event may be this call's own work, recorded early
        let now = row.map_or(Image::Absent, |r| r.image);
        if self.reserved.is_some_and(|before| before.image != now) {
            return Ok(None);
        }
        // through a link the tool reads another file's text
        let recorded = match (row.map(|r| r.image), entry.image) {
            (_, Image::Symlink { .. }) => return Ok(None),
            (Some(image), now) if image.is_too_long() || now.is_too_long() => return Ok(None),
            (Some(Image::File { content, .. }), _) => recorded(txn, &content)?,
            (None, _) if self.call.opened_now => return Ok(Some(found.clone())),
            _ => return Ok(None),
        };
        let Some(recorded) = recorded else {
            return Ok(None);
        };
        if recorded.contains(&b'\r') || !is_plain(&recorded) {
            return Ok(None);
        }
        Ok((recorded != found.as_bytes()).then(|| found.clone()))
    }

    /// Returns the text that the tool reports as its result, if any. Tools report text in LF; it is
    /// converted to the line endings of the file.
    fn reported_text(
        &self,
        txn: &WriteTxn<'_>,
        before: &Image,
        entry: &DiskEntry,
    ) -> Result<Option<Vec<u8>>> {
        let Some(wrote) = self.report.and_then(|report| report.wrote.as_ref()) else {
            return Ok(None);
        };
        if before.is_too_long() || entry.image.is_too_long() {
            return Ok(None);
        }
        let now = entry.bytes.as_deref().unwrap_or_default();
        match wrote {
            // the line endings of a large file are not known
            Wrote::Whole(text) if entry.image.is_large() && entry.bytes.is_none() => Ok(entry
                .holds(text.as_bytes())
                .then(|| text.clone().into_bytes())),
            // with another encoding the report proves nothing
            Wrote::Whole(_) if !is_plain(now) => Ok(None),
            Wrote::Whole(text) => Ok(Some(in_style_of(now, text))),
            Wrote::Replace { old, new, all } => {
                let before_bytes = match before.content() {
                    Some(content) => recorded(txn, &content)?,
                    None => Some(Vec::new()),
                };
                Ok(before_bytes.and_then(|before| replaced(before, (old, new), *all)))
            }
        }
    }
}

/// Reads a recorded content. Returns None if it is damaged: the comparison fails, not the event.
fn recorded(txn: &WriteTxn<'_>, content: &ContentId) -> Result<Option<Vec<u8>>> {
    match store::get(txn.conn, txn.dir, content) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Error::Blob { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// True if the bytes are UTF-8 without a byte-order mark, so that a tool's report matches them.
fn is_plain(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xef\xbb\xbf") && std::str::from_utf8(bytes).is_ok()
}

fn is_crlf(bytes: &[u8]) -> bool {
    let mut lines = bytes
        .split_inclusive(|b| *b == b'\n')
        .filter(|l| l.ends_with(b"\n"))
        .peekable();
    lines.peek().is_some() && lines.all(|l| l.ends_with(b"\r\n"))
}

/// Returns the text after a replacement that a tool reports in LF. None: the tool cannot have done this to that text.
fn replaced(before: Vec<u8>, (old, new): (&str, &str), all: bool) -> Option<Vec<u8>> {
    let text = Some(before).filter(|before| is_plain(before))?;
    let text = String::from_utf8(text).ok()?;
    let style = if is_crlf(text.as_bytes()) {
        text.clone().into_bytes()
    } else {
        Vec::new()
    };
    let text = if style.is_empty() {
        text
    } else {
        text.replace("\r\n", "\n")
    };
    // text that is missing cannot have been replaced this way
    if !text.contains(old) || (old.is_empty() && !text.is_empty()) {
        return None;
    }
    let after = if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    };
    Some(in_style_of(&style, &after))
}

/// Converts an LF text to the line endings of `like`.
fn in_style_of(like: &[u8], text: &str) -> Vec<u8> {
    if is_crlf(like) && !text.contains('\r') {
        text.replace('\n', "\r\n").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_beside_other_sessions_is_uncertain() {
        use Certainty::{Certain, Uncertain};
        let beside = |sessions: &[i64]| {
            let sessions = sessions.iter().copied().map(SessionId).collect();
            certainty_beside(SessionId(1), &sessions)
        };
        assert_eq!(beside(&[]), (Certain, Certain));
        assert_eq!(beside(&[1]), (Certain, Uncertain));
        assert_eq!(beside(&[2]), (Uncertain, Uncertain));
        assert_eq!(beside(&[1, 2]), (Uncertain, Uncertain));
    }

    #[test]
    fn an_unreadable_file_keeps_its_recorded_content() {
        let content = Image::File {
            mode: 0o644,
            content: ContentId::of(b"text"),
            size: 4,
        };
        let (unreadable, large) = (
            Image::Opaque(Opaque::Unreadable),
            Image::Opaque(Opaque::TooLarge),
        );
        assert_eq!(readable_image(content, unreadable), content);
        assert_eq!(readable_image(content, large), large);
        assert_eq!(readable_image(Image::Absent, unreadable), unreadable);
        assert_eq!(readable_image(content, Image::Absent), Image::Absent);
    }

    #[test]
    fn a_reported_text_gets_the_line_endings_of_its_file() {
        assert_eq!(in_style_of(b"a\r\nb\r\n", "x\ny\n"), b"x\r\ny\r\n");
        assert_eq!(in_style_of(b"a\r\nb\n", "x\ny\n"), b"x\ny\n");
        assert_eq!(in_style_of(b"no line ending", "x\n"), b"x\n");
        assert_eq!(in_style_of(b"a\r\n", "x\r\ny\n"), b"x\r\ny\n");
    }

    fn report(path: &str, wrote: (&str, &str)) -> PathReport {
        PathReport {
            path: path.into(),
            found: None,
            wrote: Some(Wrote::Replace {
                old: wrote.0.to_owned(),
                new: wrote.1.to_owned(),
                all: false,
            }),
        }
    }

    /// Resolves a path as below `/w`; `link` is a link to `b`.
    fn places(path: &Path) -> Vec<RelPath> {
        let own = path.strip_prefix("/w").ok().and_then(RelPath::from_path);
        let target = path.ends_with("link").then(|| RelPath::new("b")).flatten();
        own.into_iter().chain(target).collect()
    }

    #[test]
    fn each_path_has_its_own_report() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/b", ("two", "2")),
                report("/elsewhere/c", ("three", "3")),
            ],
        };
        let reports = reports_by_path(&all, places);
        let text = |path: &str, before: &str| {
            let report = reports.get(&RelPath::new(path)?)?;
            let Some(Wrote::Replace { old, new, all }) = &report.wrote else {
                return None;
            };
            replaced(before.as_bytes().to_vec(), (old, new), *all)
        };
        assert_eq!(text("a", "one two\n").as_deref(), Some(&b"1 two\n"[..]));
        assert_eq!(text("b", "one two\n").as_deref(), Some(&b"one 2\n"[..]));
        assert_eq!(text("b", "one two\r\n").as_deref(), Some(&b"one 2\r\n"[..]));
        assert_eq!(text("b", "one\n"), None, "it has nothing to replace");
        assert_eq!(reports.len(), 2);
    }

    #[test]
    fn several_reports_on_one_path_prove_nothing() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/link", ("two", "2")),
                report("/w/b", ("2", "3")),
            ],
        };
        let reports = reports_by_path(&all, places);
        let paths: Vec<String> = reports.keys().map(RelPath::display).collect();
        assert_eq!(paths, ["a", "link"]);
    }
}
