//! Edit calls: tools that name the files they write. Owns the images before and after a call, and
//! checks whether a file holds exactly what the tool reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, params};

use super::calls::{self, Attribution, Observation, Writer, Writers};
use super::event::{AgentEvent, ToolCall, ToolReport, Wrote};
use super::renames::follow_renames;
use super::transition::Transition;
use super::write_txn::{AFTER, BEFORE, ScanContext, WriteTxn};
use super::{Recorded, open, outcome, reported};
use crate::content::MAX_MERGE_BYTES;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{
    Certainty, ContentId, Coverage, Image, Kind, NodeId, Opaque, Reason, RelPath, RootId,
};
use crate::store;
use crate::worktree::disk::NO_STAT;
use crate::worktree::disk::{DiskEntry, Root, Stat};
use crate::worktree::file_state;
use crate::worktree::file_state::{FileState, FileStates};
use crate::worktree::ignore_rules::{ExcludePatterns, Rules, was_ignored};
use crate::worktree::pending_saves;

/// Location of a path that a tool names.
enum NamedPath {
    Inside(RelPath),
    Outside(Vec<u8>, &'static str),
    /// Excluded by the settings and not recorded.
    Excluded(RelPath),
}

pub(crate) const EXCLUDED: &str = "excluded by capture.exclude";

impl Engine {
    /// Before a tool that names its files: records their images durably, and nothing else.
    pub(super) fn open_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[PathBuf],
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let mut pending = false;
        if self.head()?.is_none() {
            // the very first event: the history has no start yet
            let scanned = self.scan(deadline)?;
            pending = scanned.findings.partial;
            self.notifying_txn(BEFORE, scanned, |txn, scanned| {
                txn.record_scan(scanned, &ScanContext::between())
            })?;
        }
        let mut entries = Vec::new();
        let mut coverage = Coverage::default();
        let excluding = self.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let entry = self.disk_entry_stored(&path)?;
                        let missing = if entry.image.is_absent() {
                            self.root.missing_parents(&path)
                        } else {
                            0
                        };
                        entries.push((path, entry, missing));
                    }
                    NamedPath::Outside(path, why) => coverage.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
                    }
                }
            }
        }
        self.notifying_txn(BEFORE, entries, |txn, entries| {
            let like = entries
                .iter()
                .find_map(|(_, entry, _)| entry.image.content());
            let Some((session, id)) = open(txn.conn, txn.dir, txn.here.root, e, call, like)? else {
                return Ok(Recorded { node: None, pending });
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
                txn.conn
                    .prepare_cached("INSERT OR IGNORE INTO reserved (call, path, image, made_dirs) VALUES (?1,?2,?3,?4)")?
                    .execute(params![id, path, entry.image, missing])?;
            }
            Ok(Recorded { node, pending })
        })
    }

    /// Reads the disk entry of a path, compared with its recorded state.
    pub(crate) fn disk_entry(&self, path: &RelPath) -> Result<DiskEntry> {
        read_entry(&self.store.conn, self.here.root, &self.root, path)
    }

    /// Reads the disk entry with its text, also of a large file, unless it is too long to compare.
    pub(crate) fn disk_entry_with_text(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        self.root
            .reread_entry_holding(path, &before, MAX_MERGE_BYTES)
    }

    /// Reads a disk entry that is about to be recorded. A large content is stored here, before the
    /// transaction.
    pub(crate) fn disk_entry_stored(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        let mut entry = self.root.reread_entry(path, &before)?;
        if !self
            .root
            .store_ahead(&self.store, path, &mut entry, &before)?
        {
            entry = self.root.reread_entry(path, &before)?;
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
        let mut all = named(&self.root.path, e.cwd.as_deref(), path);
        let Some(excluding) = excluding else {
            return Ok(all);
        };
        for named in &mut all {
            if let NamedPath::Inside(path) = named
                && excluding.holds(path)
                && file_state::row(&self.store.conn, self.here.root, path)?.is_none()
            {
                *named = NamedPath::Excluded(path.clone());
            }
        }
        Ok(all)
    }

    pub(super) fn after_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[PathBuf],
        report: &ToolReport,
        failed: bool,
    ) -> Result<Recorded> {
        let mut entries = BTreeMap::new();
        let mut uncaptured = Coverage::default();
        let excluding = self.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let entry = self.disk_entry_stored(&path)?;
                        entries.insert(path, entry);
                    }
                    NamedPath::Outside(path, why) => uncaptured.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        uncaptured.note(path.bytes(), Reason::Excluded, EXCLUDED)
                    }
                }
            }
        }
        self.notifying_txn(AFTER, entries, |txn, mut entries| {
            let conn = txn.conn;
            let (row, opened_now) = reported(txn, e, call)?;
            let Some(row) = row else {
                return Ok(Recorded::default());
            };
            // the "before" event has already reported it
            let outside = if opened_now {
                uncaptured
            } else {
                Coverage::default()
            };
            let mut reserved = BTreeMap::new();
            let mut select =
                conn.prepare_cached("SELECT path, image, made_dirs FROM reserved WHERE call = ?1")?;
            let mut rows = select.query([row.id])?;
            while let Some(r) = rows.next()? {
                let path: RelPath = r.get(0)?;
                if !entries.contains_key(&path) {
                    entries.insert(
                        path.clone(),
                        read_entry(conn, txn.here.root, txn.root, &path)?,
                    );
                }
                reserved.insert(
                    path,
                    Reserved {
                        image: r.get(1)?,
                        made_dirs: r.get(2)?,
                    },
                );
            }
            let seq = calls::record_event(conn, e, row.session, row.turn, Some(row.id))?;
            let session = row.session;
            let mut steps = Vec::new();
            let mut rest = Vec::new();
            let mut states = FileStates::default();
            let mut coverage = outside.clone();
            for (path, entry) in entries {
                let entry = refresh_entry(txn, &path, entry)?;
                if let Some(row) = file_state::get(conn, txn.here.root, &path)? {
                    states.insert(path.clone(), row);
                }
                let before = reserved.get(&path).copied();
                let work = ReportedEdit {
                    row: &row,
                    opened_now,
                    report,
                    failed,
                    reserved: before,
                };
                match work.step(txn, &path, &entry, &mut coverage)? {
                    EditOutcome::Nothing => {}
                    EditOutcome::All(step) => steps.push(step),
                    EditOutcome::Part(step) => {
                        steps.extend(step);
                        rest.push((path, entry));
                    }
                }
            }
            calls::close(conn, row.id, seq, outcome(failed))?;
            let own = Writer {
                call: row.id,
                session: row.session,
            };
            let context = ScanContext {
                observation: Observation::AtEndOf(own),
                ..ScanContext::between()
            };
            follow_renames(&mut steps, &states);
            let generation = file_state::next_generation(conn, txn.here.root)?;
            let news = !coverage.items.is_empty();
            let node = txn.record(&steps, &context, &coverage, news, generation)?;
            // any further difference is by an unknown author
            for (path, entry) in rest {
                let row = file_state::get(conn, txn.here.root, &path)?;
                let writers = calls::Writers::default();
                let attribution = writers.attribute(Observation::Unreported(session));
                let image =
                    readable_image(row.as_ref().map_or(Image::Absent, |r| r.image), entry.image);
                let step = transition(&path, row.as_ref(), image, &entry, attribution, 0);
                txn.record(
                    &[step],
                    &ScanContext::between(),
                    &Coverage::default(),
                    false,
                    generation,
                )?;
            }
            Ok(Recorded {
                node,
                pending: false,
            })
        })
    }
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
    let generation = file_state::next_generation(txn.conn, txn.here.root)?;
    let step = transition(path, row.as_ref(), image, entry, attribution, made_dirs);
    txn.record(
        &[step],
        &ScanContext::between(),
        &Coverage::default(),
        false,
        generation,
    )
}

/// Adopts a file whose earlier state is unknown. This is no one's change.
fn adopt(txn: &WriteTxn<'_>, path: &RelPath, image: Image, stat: Option<Stat>) -> Result<()> {
    let known = FileState {
        image,
        file: None,
        since: txn.unshared_head()?,
        generation: file_state::next_generation(txn.conn, txn.here.root)?,
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
    let scanned: Option<i64> = txn.conn.query_row(
        "SELECT scanned FROM root WHERE id = ?1",
        [txn.here.root],
        |r| r.get(0),
    )?;
    if scanned.is_none() {
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
struct ReportedEdit<'a> {
    row: &'a calls::CallRow,
    /// True if its "before" event never came.
    opened_now: bool,
    report: &'a ToolReport,
    failed: bool,
    reserved: Option<Reserved>,
}

/// State of a path at the "before" event.
#[derive(Clone, Copy)]
struct Reserved {
    image: Image,
    made_dirs: u32,
}

impl ReportedEdit<'_> {
    /// Returns the outcome of the call at one path.
    fn step(
        &self,
        txn: &WriteTxn<'_>,
        path: &RelPath,
        entry: &DiskEntry,
        coverage: &mut Coverage,
    ) -> Result<EditOutcome> {
        let conn = txn.conn;
        let root = txn.here.root;
        let mut row = file_state::get(conn, root, path)?;
        if let Some(p) = txn.pending.get(path) {
            if entry.image == p.disk {
                return Ok(EditOutcome::Nothing);
            }
            if entry.image == p.wanted {
                pending_saves::saved(conn, p.id)?;
            } else {
                row = txn.withdraw_if_waiting(path, row)?;
            }
        }
        if let Image::Opaque(why) = entry.image {
            coverage.note(path.bytes(), crate::worktree::scan::reason(why), "named");
        }
        if let Some(found_text) = self.found_text(txn, row.as_ref(), entry)? {
            // the file was written between our reading and the tool's own: not the tool's work
            let content = store::put(
                conn,
                txn.dir,
                found_text.as_bytes(),
                row.as_ref().and_then(|r| r.image.content()),
            )?;
            let mode = match (row.as_ref().map(|r| r.image), entry.image) {
                (Some(Image::File { mode, .. }), _) | (_, Image::File { mode, .. }) => mode,
                _ => 0o644,
            };
            let image = Image::File {
                mode,
                content,
                size: found_text.len() as u64,
            };
            let attribution = Attribution::USER;
            let between = DiskEntry {
                image,
                stat: None,
                bytes: None,
                is_dir: false,
            };
            if row.is_none() && self.opened_now {
                adopt(txn, path, image, None)?;
            } else {
                let generation = file_state::next_generation(conn, root)?;
                let step = transition(path, row.as_ref(), image, &between, attribution, 0);
                txn.record(
                    &[step],
                    &ScanContext::between(),
                    &Coverage::default(),
                    false,
                    generation,
                )?;
            }
            row = file_state::get(conn, root, path)?;
        }
        let before = row.as_ref().map_or(Image::Absent, |r| r.image);
        let image = readable_image(before, entry.image);
        if image == before {
            // Already recorded by another scan. Certain only if the file is exactly what the tool
            // reported.
            if let Some(reserved_before) = self.reserved.filter(|r| r.image != before)
                && self
                    .reported_text(txn, &reserved_before.image, entry)?
                    .is_some_and(|reported_text| entry.holds(&reported_text))
            {
                calls::confirm(conn, self.row.id)?;
            }
            return Ok(EditOutcome::Nothing);
        }
        let reported_text = self.reported_text(txn, &before, entry)?;
        let exact = reported_text
            .as_ref()
            .is_some_and(|reported_text| entry.holds(reported_text));
        if !txn.store_entry(path, entry, &before)? {
            return Ok(EditOutcome::Nothing);
        }
        // named only at the end, or excluded until now: its earlier state is unknown
        let named_at_end = self.reserved.is_none() && !self.opened_now;
        let may_be_older = named_at_end || self.opened_now && !exact;
        if row.is_none() && may_be_older && out_of_sight(txn, path)? {
            adopt(txn, path, image, entry.stat)?;
            return Ok(EditOutcome::Nothing);
        }
        let session = self.row.session;
        let made_dirs = self.reserved.map_or(0, |r| r.made_dirs);
        if let (Some(reported_text), false, false) =
            (&reported_text, exact, self.opened_now || self.row.presumed)
            && matches!(entry.image, Image::File { .. } | Image::Absent)
        {
            let mode = match (entry.image, before) {
                (Image::File { mode, .. }, _) | (_, Image::File { mode, .. }) => mode,
                _ => 0o644,
            };
            let content = store::put(conn, txn.dir, reported_text, before.content())?;
            let image = Image::File {
                mode,
                content,
                size: reported_text.len() as u64,
            };
            let written = DiskEntry {
                image,
                stat: None,
                bytes: None,
                is_dir: false,
            };
            let certain =
                calls::by_call(session, self.row.id, Certainty::Certain, Certainty::Certain);
            let own = transition(path, row.as_ref(), image, &written, certain, made_dirs);
            return Ok(EditOutcome::Part((image != before).then_some(own)));
        }
        let attribution = if exact {
            calls::by_call(session, self.row.id, Certainty::Certain, Certainty::Certain)
        } else if self.failed || self.opened_now || self.row.presumed {
            calls::by_call(
                session,
                self.row.id,
                Certainty::Uncertain,
                Certainty::Uncertain,
            )
        } else {
            let concurrent_sessions =
                calls::concurrent_sessions(conn, txn.here.root, self.row, path)?;
            let (s, t) = if concurrent_sessions.iter().any(|r| *r != session) {
                (Certainty::Uncertain, Certainty::Uncertain)
            } else if concurrent_sessions.contains(&session) {
                (Certainty::Certain, Certainty::Uncertain)
            } else {
                (Certainty::Certain, Certainty::Certain)
            };
            calls::by_call(session, self.row.id, s, t)
        };
        Ok(EditOutcome::All(transition(
            path,
            row.as_ref(),
            image,
            entry,
            attribution,
            made_dirs,
        )))
    }

    /// Returns the text that the tool found, if it differs from the record. Tools report text in
    /// LF, so a file with other line endings proves nothing here.
    fn found_text(
        &self,
        txn: &WriteTxn<'_>,
        row: Option<&FileState>,
        entry: &DiskEntry,
    ) -> Result<Option<String>> {
        let Some(found) = self.report.found.as_ref().filter(|_| !self.failed) else {
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
            (None, _) if self.opened_now => return Ok(Some(found.clone())),
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
        let (Some(wrote), false) = (&self.report.wrote, self.failed) else {
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
                let plain = before_bytes.filter(|before_bytes| is_plain(before_bytes));
                let Some(text) =
                    plain.and_then(|before_bytes| String::from_utf8(before_bytes).ok())
                else {
                    return Ok(None);
                };
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
                if !text.contains(old.as_str()) || (old.is_empty() && !text.is_empty()) {
                    return Ok(None);
                }
                let after = if *all {
                    text.replace(old.as_str(), new)
                } else {
                    text.replacen(old.as_str(), new, 1)
                };
                Ok(Some(in_style_of(&style, &after)))
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

/// Converts an LF text to the line endings of `like`.
fn in_style_of(like: &[u8], text: &str) -> Vec<u8> {
    if is_crlf(like) && !text.contains('\r') {
        text.replace('\n', "\r\n").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}
