//! Edit calls: tools that name the files they write. Owns the images before and after, and the question
//! whether a file is just what the tool says it made of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, params};

use super::calls::{self, Attribution, Observation, Writer, Writers};
use super::event::{AgentEvent, ToolCall, ToolReport, Wrote};
use super::record_scan::{self, AFTER, BEFORE, NO_STAT, ScanContext, Transition, WriteTxn};
use super::renames::follow_renames;
use super::{Recorded, open, outcome, reported};
use crate::documents::pending;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::merge::LONGEST;
use crate::model::{
    Certainty, ContentId, Coverage, Image, Kind, NodeId, Opaque, Placed, Reason, RelPath, RootId,
};
use crate::store;
use crate::worktree::disk::{DiskEntry, Root, Stat};
use crate::worktree::file_state;
use crate::worktree::ignore_rules::{Excluding, Rules, was_ignored};
use crate::worktree::scan::{FileState, FileStates};

/// Where the paths that a tool names lie.
enum NamedPath {
    Inside(RelPath),
    Outside(Vec<u8>, &'static str),
    /// The settings exclude it, and nothing is recorded of it.
    Excluded(RelPath),
}

pub(crate) const EXCLUDED: &str = "capture.exclude has it";

impl Engine {
    /// Before a tool that names its files: their images, and nothing else, are made durable.
    pub(super) fn open_naming(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        paths: &[PathBuf],
        deadline: Option<Instant>,
    ) -> Result<Recorded> {
        let mut pending = false;
        if self.head()?.is_none() {
            // the very first event: there is no start yet to stand on
            let scanned = self.scan(deadline)?;
            pending = scanned.findings.partial;
            self.settle(BEFORE, scanned, |txn, scanned| {
                txn.take_in(scanned, &ScanContext::between())
            })?;
        }
        let mut looks = Vec::new();
        let mut coverage = Coverage::default();
        let excluding = self.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let look = self.look_ahead(&path)?;
                        let missing = if look.image.is_absent() {
                            self.root.missing_parents(&path)
                        } else {
                            0
                        };
                        looks.push((path, look, missing));
                    }
                    NamedPath::Outside(path, why) => coverage.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
                    }
                }
            }
        }
        self.settle(BEFORE, looks, |txn, looks| {
            let like = looks
                .iter()
                .find_map(|(_, look, _)| look.image.content());
            let Some((session, id)) = open(txn.conn, txn.dir, txn.here.root, e, call, like)? else {
                return Ok(Recorded { node: None, pending });
            };
            if !coverage.items.is_empty() {
                let turn = calls::turn(txn.conn, session, e.prompt_id.as_deref())?;
                txn.node(Kind::Step, Some(session), turn, Some(id), None, &coverage)?;
            }
            let writers = Writers::since(txn.conn, txn.here.root, calls::last_event(txn.conn)?)?;
            let mut node = None;
            for (path, look, missing) in looks {
                let look = still(txn, &path, look)?;
                let attribution = writers.attribute(txn.situation(Observation::Between)?);
                node = bring_up_to_date(txn, &path, &look, attribution, missing)?.or(node);
                txn.conn
                    .prepare_cached("INSERT OR IGNORE INTO reserved (call, path, image, made_dirs) VALUES (?1,?2,?3,?4)")?
                    .execute(params![id, path, look.image, missing])?;
            }
            Ok(Recorded { node, pending })
        })
    }

    /// What stands at a path, over what is recorded of it.
    pub(crate) fn look_known(&self, path: &RelPath) -> Result<DiskEntry> {
        look_at(&self.store.conn, self.here.root, &self.root, path)
    }

    /// The same for who needs its text: that of a large file is held, too, unless it is too long to be compared.
    pub(crate) fn look_held(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        self.root.look_with(path, &before, LONGEST)
    }

    /// The same of one that is to be recorded: a large content is stored then, before anybody waits for that.
    pub(crate) fn look_ahead(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        let mut look = self.root.look_over(path, &before)?;
        if !self
            .root
            .keep_ahead(&self.store, path, &mut look, &before)?
        {
            look = self.root.look_over(path, &before)?;
        }
        Ok(look)
    }

    /// Where a path that a tool names lies. What is recorded already is not excluded any more.
    fn named(
        &self,
        e: &AgentEvent,
        path: &Path,
        excluding: Option<&Excluding>,
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
        told: &ToolReport,
        failed: bool,
    ) -> Result<Recorded> {
        let mut looks = BTreeMap::new();
        let mut missed = Coverage::default();
        let excluding = self.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let look = self.look_ahead(&path)?;
                        looks.insert(path, look);
                    }
                    NamedPath::Outside(path, why) => missed.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        missed.note(path.bytes(), Reason::Excluded, EXCLUDED)
                    }
                }
            }
        }
        self.settle(AFTER, looks, |txn, mut looks| {
            let conn = txn.conn;
            let (row, opened_now) = reported(txn, e, call)?;
            let Some(row) = row else {
                return Ok(Recorded::default());
            };
            // where the "before" event came, it has said so already
            let outside = if opened_now {
                missed
            } else {
                Coverage::default()
            };
            let mut reserved = BTreeMap::new();
            let mut select =
                conn.prepare_cached("SELECT path, image, made_dirs FROM reserved WHERE call = ?1")?;
            let mut rows = select.query([row.id])?;
            while let Some(r) = rows.next()? {
                let path: RelPath = r.get(0)?;
                if !looks.contains_key(&path) {
                    looks.insert(path.clone(), look_at(conn, txn.here.root, txn.root, &path)?);
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
            let mut others = Vec::new();
            let mut names = FileStates::default();
            let mut coverage = outside.clone();
            for (path, look) in looks {
                let look = still(txn, &path, look)?;
                if let Some(row) = file_state::get(conn, txn.here.root, &path)? {
                    names.insert(path.clone(), row);
                }
                let before = reserved.get(&path).copied();
                let work = ReportedEdit {
                    row: &row,
                    opened_now,
                    told,
                    failed,
                    reserved: before,
                };
                match work.step(txn, &path, &look, &mut coverage)? {
                    EditOutcome::Nothing => {}
                    EditOutcome::All(step) => steps.push(step),
                    EditOutcome::Part(step) => {
                        steps.extend(step);
                        others.push((path, look));
                    }
                }
            }
            calls::close(conn, row.id, seq, outcome(failed))?;
            let own = Writer {
                call: row.id,
                session: row.session,
            };
            let cause = ScanContext {
                situation: Observation::AtEndOf(own),
                ..ScanContext::between()
            };
            follow_renames(&mut steps, &names);
            let generation = file_state::next_generation(conn, txn.here.root)?;
            let news = !coverage.items.is_empty();
            let node = txn.record(&steps, &cause, &coverage, news, generation)?;
            // what stands there beyond the tool's own words is somebody's: nobody can say whose
            for (path, look) in others {
                let row = file_state::get(conn, txn.here.root, &path)?;
                let writers = calls::Writers::default();
                let attribution = writers.attribute(Observation::Unreported(session));
                let image = seen(row.as_ref().map_or(Image::Absent, |r| r.image), look.image);
                let step = transition(&path, row.as_ref(), image, &look, attribution, 0);
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

fn look_at(conn: &Connection, root: RootId, disk: &Root, path: &RelPath) -> Result<DiskEntry> {
    let row = file_state::get(conn, root, path)?;
    disk.look_over(path, &row.map_or(Image::Absent, |row| row.image))
}

/// What was seen before this transaction, if it is there still: else what is there now.
fn still(txn: &WriteTxn<'_>, path: &RelPath, look: DiskEntry) -> Result<DiskEntry> {
    if txn.stands(path, &look.image, look.stat) {
        return Ok(look);
    }
    look_at(txn.conn, txn.here.root, txn.root, path)
}

/// What an edit call did at a path.
enum EditOutcome {
    Nothing,
    /// The whole difference is its work.
    All(Transition),
    /// Its work, if any; the rest of the difference is not.
    Part(Option<Transition>),
}

/// What a named path stands for: the file itself and, through a link, what it leads to.
pub(super) fn places(root: &Path, cwd: Option<&Path>, path: &Path) -> Vec<PathBuf> {
    let full = match cwd {
        Some(cwd) if path.is_relative() => cwd.join(path),
        _ if path.is_relative() => root.join(path),
        _ => path.to_path_buf(),
    };
    // the part of the path that exists is made real; the rest is what the tool is about to make
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

/// Where they lie.
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

/// Makes the record of one path equal to what was just seen there, before a call goes on from it.
fn bring_up_to_date(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    look: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Result<Option<NodeId>> {
    let row = file_state::get(txn.conn, txn.here.root, path)?;
    let before = row.as_ref().map_or(Image::Absent, |r| r.image);
    let image = seen(before, look.image);
    if before == image {
        if let Some(p) = txn.pending.get(path).filter(|p| p.wanted == look.image) {
            pending::saved(txn.conn, p.id)?;
        }
        return Ok(None);
    }
    if calls::reserved(txn.conn, txn.here.root, path)?.is_some() {
        return Ok(None);
    }
    let waits = txn.pending.get(path).zip(row.as_ref());
    if let Some((p, row)) = waits.filter(|(p, row)| p.disk == image && p.wanted == row.image) {
        // the call goes on from what the disk holds, and not from what was never saved
        let (node, _) = txn.take_back(row, p, look.stat)?;
        return Ok(Some(node));
    }
    if !txn.keep_seen(path, look, &before)? {
        return Ok(None);
    }
    let revealed = row
        .as_ref()
        .filter(|row| row.is_revealed(image, look.stat.as_ref()));
    if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight(txn, path)? {
        // its earlier state is not known, and this is not a change
        adopt(txn, path, image, look.stat)?;
        return Ok(None);
    }
    let attribution = match revealed {
        Some(_) => Attribution::USER,
        None => attribution,
    };
    let generation = file_state::next_generation(txn.conn, txn.here.root)?;
    let step = transition(path, row.as_ref(), image, look, attribution, made_dirs);
    txn.record(
        &[step],
        &ScanContext::between(),
        &Coverage::default(),
        false,
        generation,
    )
}

/// Takes up a file whose earlier state is not known: no change of anybody's.
fn adopt(txn: &WriteTxn<'_>, path: &RelPath, image: Image, stat: Option<Stat>) -> Result<()> {
    let known = FileState {
        image,
        file: None,
        since: txn.own_head()?,
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

/// What cannot be read keeps the state last known.
fn seen(before: Image, now: Image) -> Image {
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
    let then = file_state::excludes(txn.conn, txn.here.root)?.unwrap_or_default();
    let (mut failed, mut is_damaged) = (None, false);
    let mut text = |file: &RelPath| {
        let recorded = || match file_state::get(txn.conn, txn.here.root, file) {
            Ok(row) => row?.image.content(),
            Err(e) => {
                failed = Some(e);
                None
            }
        };
        let content = then.went_by(file, recorded)?;
        let read = store::get(txn.conn, txn.dir, &content);
        is_damaged |= read.is_err();
        read.ok()
    };
    let was_ignored = was_ignored(&Rules::base(&then), path, &mut text);
    // rules that cannot be read may have hidden anything
    failed.map_or(Ok(was_ignored || is_damaged), Err)
}

pub(crate) fn transition(
    path: &RelPath,
    row: Option<&FileState>,
    image: Image,
    look: &DiskEntry,
    attribution: Attribution,
    made_dirs: u32,
) -> Transition {
    let placed = |image: Image| {
        (!image.is_absent()).then(|| Placed {
            path: path.clone(),
            image,
        })
    };
    Transition {
        file: row.and_then(|r| r.file),
        since: row.and_then(|r| r.since),
        before: placed(row.map_or(Image::Absent, |r| r.image)),
        after: placed(image),
        stat: look.stat,
        attribution,
        made_dirs: if row.is_some() { 0 } else { made_dirs },
        met: file_state::Observed::ByName,
    }
}

/// A reported edit call at its end.
struct ReportedEdit<'a> {
    row: &'a calls::CallRow,
    /// Its "before" event never came.
    opened_now: bool,
    told: &'a ToolReport,
    failed: bool,
    reserved: Option<Reserved>,
}

/// What the "before" event noted of a path.
#[derive(Clone, Copy)]
struct Reserved {
    image: Image,
    made_dirs: u32,
}

impl ReportedEdit<'_> {
    /// What the call did at one path, if anything.
    fn step(
        &self,
        txn: &WriteTxn<'_>,
        path: &RelPath,
        look: &DiskEntry,
        coverage: &mut Coverage,
    ) -> Result<EditOutcome> {
        let conn = txn.conn;
        let root = txn.here.root;
        let mut row = file_state::get(conn, root, path)?;
        if let Some(p) = txn.pending.get(path) {
            if look.image == p.disk {
                return Ok(EditOutcome::Nothing);
            }
            if look.image == p.wanted {
                pending::saved(conn, p.id)?;
            } else {
                row = txn.not_saved(path, row)?;
            }
        }
        if let Image::Opaque(why) = look.image {
            coverage.note(path.bytes(), crate::worktree::scan::reason(why), "named");
        }
        if let Some(found) = self.found(txn, row.as_ref(), look)? {
            // somebody wrote the file between the look before and the tool's own: not the tool's doing
            let content = store::put(
                conn,
                txn.dir,
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
        let image = seen(before, look.image);
        if image == before {
            // taken in early by somebody else's look; sure only if it is just what the tool says it wrote
            if let Some(was) = self.reserved.filter(|r| r.image != before)
                && self
                    .left(txn, &was.image, look)?
                    .is_some_and(|left| look.holds(&left))
            {
                calls::confirm(conn, self.row.id)?;
            }
            return Ok(EditOutcome::Nothing);
        }
        let left = self.left(txn, &before, look)?;
        let exact = left.as_ref().is_some_and(|left| look.holds(left));
        if !txn.keep_seen(path, look, &before)? {
            return Ok(EditOutcome::Nothing);
        }
        // named at the end alone, or excluded until now: what it was before is not known
        let unseen = self.reserved.is_none() && !self.opened_now;
        let may_be_older = unseen || self.opened_now && !exact;
        if row.is_none() && may_be_older && out_of_sight(txn, path)? {
            adopt(txn, path, image, look.stat)?;
            return Ok(EditOutcome::Nothing);
        }
        let session = self.row.session;
        let made_dirs = self.reserved.map_or(0, |r| r.made_dirs);
        if let (Some(left), false, false) = (&left, exact, self.opened_now || self.row.presumed)
            && matches!(look.image, Image::File { .. } | Image::Absent)
        {
            let mode = match (look.image, before) {
                (Image::File { mode, .. }, _) | (_, Image::File { mode, .. }) => mode,
                _ => 0o644,
            };
            let content = store::put(conn, txn.dir, left, before.content())?;
            let image = Image::File {
                mode,
                content,
                size: left.len() as u64,
            };
            let then = DiskEntry {
                image,
                stat: None,
                bytes: None,
                is_dir: false,
            };
            let sure =
                record_scan::by_call(session, self.row.id, Certainty::Certain, Certainty::Certain);
            let own = transition(path, row.as_ref(), image, &then, sure, made_dirs);
            return Ok(EditOutcome::Part((image != before).then_some(own)));
        }
        let attribution = if exact {
            record_scan::by_call(session, self.row.id, Certainty::Certain, Certainty::Certain)
        } else if self.failed || self.opened_now || self.row.presumed {
            record_scan::by_call(
                session,
                self.row.id,
                Certainty::Uncertain,
                Certainty::Uncertain,
            )
        } else {
            let rivals = calls::rivals(conn, txn.here.root, self.row, path)?;
            let (s, t) = if rivals.iter().any(|r| *r != session) {
                (Certainty::Uncertain, Certainty::Uncertain)
            } else if rivals.contains(&session) {
                (Certainty::Certain, Certainty::Uncertain)
            } else {
                (Certainty::Certain, Certainty::Certain)
            };
            record_scan::by_call(session, self.row.id, s, t)
        };
        Ok(EditOutcome::All(transition(
            path,
            row.as_ref(),
            image,
            look,
            attribution,
            made_dirs,
        )))
    }

    /// The text that the tool found, where it differs from the record. ToolReport in LF whatever the file has,
    /// so a file with other line endings says nothing here.
    fn found(
        &self,
        txn: &WriteTxn<'_>,
        row: Option<&FileState>,
        look: &DiskEntry,
    ) -> Result<Option<String>> {
        let Some(found) = self.told.found.as_ref().filter(|_| !self.failed) else {
            return Ok(None);
        };
        if found.contains('\r') || look.bytes.as_ref().is_some_and(|b| b.contains(&b'\r')) {
            return Ok(None);
        }
        // what was recorded since the look before may be this call's own work, taken in early
        let now = row.map_or(Image::Absent, |r| r.image);
        if self.reserved.is_some_and(|before| before.image != now) {
            return Ok(None);
        }
        // through a link the tool finds the text of another file
        let recorded = match (row.map(|r| r.image), look.image) {
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

    /// What the tool says it left in the file, where it says so. It tells its texts in LF; a file that
    /// keeps another style gets them in that.
    fn left(
        &self,
        txn: &WriteTxn<'_>,
        before: &Image,
        look: &DiskEntry,
    ) -> Result<Option<Vec<u8>>> {
        let (Some(wrote), false) = (&self.told.wrote, self.failed) else {
            return Ok(None);
        };
        if before.is_too_long() || look.image.is_too_long() {
            return Ok(None);
        }
        let now = look.bytes.as_deref().unwrap_or_default();
        match wrote {
            // in which style it is, is not known of a large one
            Wrote::Whole(text) if look.image.is_large() && look.bytes.is_none() => Ok(look
                .holds(text.as_bytes())
                .then(|| text.clone().into_bytes())),
            // in another encoding than it is told in, it says nothing
            Wrote::Whole(_) if !is_plain(now) => Ok(None),
            Wrote::Whole(text) => Ok(Some(in_style_of(now, text))),
            Wrote::Replace { old, new, all } => {
                let was = match before.content() {
                    Some(content) => recorded(txn, &content)?,
                    None => Some(Vec::new()),
                };
                let plain = was.filter(|was| is_plain(was));
                let Some(text) = plain.and_then(|was| String::from_utf8(was).ok()) else {
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
                // what is not there cannot have been replaced in just this way
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

/// A recorded content. None where it is damaged: that costs the comparison with it, not the event.
fn recorded(txn: &WriteTxn<'_>, content: &ContentId) -> Result<Option<Vec<u8>>> {
    match store::get(txn.conn, txn.dir, content) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Error::Blob { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether every line of it ends in CR LF.
/// UTF-8 without a byte-order mark: what a tool tells of it are its bytes.
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

/// A text told in LF, in the line endings of `like`.
fn in_style_of(like: &[u8], text: &str) -> Vec<u8> {
    if is_crlf(like) && !text.contains('\r') {
        text.replace('\n', "\r\n").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}
