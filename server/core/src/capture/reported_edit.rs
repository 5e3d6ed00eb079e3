//! The end of a call that names its files: separates the call's own work from other differences at its paths.

use std::collections::{BTreeMap, BTreeSet};

use super::after_call::{self, recorded};
use super::calls::{self, Attribution, Observation, Writer, Writers, by_hook};
use super::event::{PathReport, Wrote};
use super::named_paths::refresh_entry;
use super::named_record::{adopt, out_of_sight, readable_image, record_between, transition};
use super::renames::follow_renames;
use super::tool_text::{in_style_of, is_plain, replaced};
use super::transition::Transition;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::model::{Certainty, ContentId, Coverage, Image, NodeId, RelPath, SessionId};
use crate::store;
use crate::store::tables::reserved::Reserved;
use crate::store::tables::root::scan;
use crate::store::tables::{change, session};
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state::{self, FileState, FileStates};
use crate::worktree::pending_saves;

/// An edit call at its end, with its report.
#[derive(Clone, Copy)]
pub(super) struct ReportedCall<'a> {
    pub row: &'a calls::CallRow,
    /// True if its "before" event never came.
    pub opened_now: bool,
    pub reports: &'a BTreeMap<RelPath, &'a PathReport>,
    pub failed: bool,
}

/// An edit call at its end, at one path.
struct ReportedEdit<'a> {
    call: ReportedCall<'a>,
    /// The tool's report on this path. A failed call has none.
    report: Option<&'a PathReport>,
    reserved: Option<Reserved>,
}

/// The differences that an edit call leaves behind.
pub(super) struct EditWork {
    /// The work of the call.
    own: Vec<Transition>,
    /// Paths with a further difference.
    rest: Vec<(RelPath, DiskEntry)>,
    /// The rows before the call's work.
    rows: FileStates,
    coverage: Coverage,
}

/// Outcome of an edit call at a path.
enum EditOutcome {
    Nothing,
    /// The whole difference is the call's work.
    All(Transition),
    /// The call's work, if any. The rest of the difference is not.
    Part(Option<Transition>),
}

impl ReportedCall<'_> {
    /// Separates the work of the call from other differences at its paths.
    pub(super) fn work(
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
    pub(super) fn record(&self, txn: &WriteTxn<'_>, mut work: EditWork) -> Result<Option<NodeId>> {
        let own = Writer {
            call: self.row.id,
            session: self.row.session,
        };
        let context = ScanContext {
            observation: Observation::AtEndOf(own),
            ..ScanContext::between()
        };
        follow_renames(&mut work.own, &work.rows);
        let generation = scan::next_generation(txn.conn, txn.here.root)?;
        let has_gaps = !work.coverage.items.is_empty();
        let node = txn.record(&work.own, &context, &work.coverage, has_gaps, generation)?;
        for (path, entry) in work.rest {
            // another call is at work there, and the file may be half written: the rest is left to it
            if calls::reserved(txn.conn, txn.here.root, &path)?.is_some() {
                continue;
            }
            let row = file_state::get(txn.conn, txn.here.root, &path)?;
            let before = row.as_ref().map_or(Image::Absent, |r| r.image);
            let image = readable_image(before, entry.image);
            let is_reformatted = !image.is_too_long() && after_call::reformats(txn, before, image)?;
            let beside = calls::beside(txn.conn, txn.here.root, self.row, &path)?;
            let other_hooks = session::has_other_hooks(txn.conn, self.row.session)?;
            let attribution = further(own, &beside, is_reformatted || other_hooks);
            let rest = transition(&path, row.as_ref(), image, &entry, attribution, 0);
            record_between(txn, rest, generation)?;
        }
        Ok(node)
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
    /// tool's own, so this is not the tool's work, but the user's or that of a call beside it.
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
        let beside = calls::beside(txn.conn, txn.here.root, self.call.row, path)?;
        let own = Writer {
            call: self.call.row.id,
            session: self.call.row.session,
        };
        let author = found_before(own, &beside);
        let by_other = transition(path, row, image, &between, author, 0);
        record_between(txn, by_other, generation)?;
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

    fn is_reserved_absent(&self) -> bool {
        self.reserved.is_some_and(|before| before.image.is_absent())
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
            // tools report an empty text for a file that was not there, too
            (None, _) if self.call.opened_now && !found.is_empty() => {
                return Ok(Some(found.clone()));
            }
            // a file of the user that no scan has seen, and that came since the beginning of the call, or before its
            // announcement; one that is not there now proves nothing
            (None, now) if self.is_reserved_absent() && !found.is_empty() && !now.is_absent() => {
                return Ok(Some(found.clone()));
            }
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

/// Returns the row from which a call started, with pending saves at the path resolved.
pub(super) fn row_at_start(
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
pub(super) fn mode_of(first: Image, second: Image) -> u32 {
    match (first, second) {
        (Image::File { mode, .. }, _) | (_, Image::File { mode, .. }) => mode,
        _ => 0o644,
    }
}

/// Stores a text that was on disk for a while. Returns its entry, which no stat proves.
pub(super) fn store_text(
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

/// Returns the author of a difference that an edit call found, given the calls that may have written the path beside it.
fn found_before(own: Writer, beside: &[Writer]) -> Attribution {
    let is_own = |by: &Writer| by.session == own.session;
    match by_mates(beside) {
        _ if beside.is_empty() => Attribution::USER,
        Some(by_mates) if beside.iter().all(is_own) => by_mates,
        // another agent, or the user
        _ => Writers {
            calls: Vec::new(),
            background: beside.iter().map(|by| by.session).collect(),
        }
        .attribute(Observation::Between),
    }
}

/// Returns the author of a difference beside the text that an edit call reported. `beside`: the other calls that may have
/// written the path. `is_hook`: a hook of the agent's user may have made it.
fn further(own: Writer, beside: &[Writer], is_hook: bool) -> Attribution {
    // a formatter, or the user: a rewind leaves it
    let unknown = Writers::default().attribute(Observation::Unreported(own.session));
    if beside.iter().any(|by| by.session != own.session) {
        return unknown;
    }
    match by_mates(beside) {
        Some(by_mates) => by_mates,
        None if is_hook => by_hook(own),
        None => unknown,
    }
}

/// Attribution to calls of one session: the session is certain, and the step is not. None: there are none, or of several
/// sessions.
fn by_mates(beside: &[Writer]) -> Option<Attribution> {
    let first = beside.first()?;
    let alone = beside.iter().all(|by| by.session == first.session);
    alone.then(|| {
        calls::by_call(
            first.session,
            first.call,
            Certainty::Certain,
            Certainty::Uncertain,
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CallId;

    /// A difference beside the text of an edit call is never certainly the user's, or the session's, if another writes.
    #[test]
    fn a_difference_beside_an_edit_is_as_certain_as_its_writers_tell() {
        use Certainty::{Certain, Uncertain};
        let by = |call, session| Writer {
            call: CallId(call),
            session: SessionId(session),
        };
        let (own, mate, other) = (by(1, 1), by(2, 1), by(3, 2));
        let short = |a: Attribution| {
            let o = a.origin;
            (
                o.session.map(|s| s.0),
                o.call.map(|c| c.0),
                o.session_certainty,
                o.step_certainty,
            )
        };
        let unknown = (Some(1), None, Uncertain, Uncertain);
        let hook = (Some(1), Some(1), Certain, Uncertain);
        let mates = (Some(1), Some(2), Certain, Uncertain);
        for (beside, is_hook, expected) in [
            (&[][..], false, unknown),
            (&[][..], true, hook),
            (&[mate][..], false, mates),
            (&[mate][..], true, mates),
            (&[other][..], false, unknown),
            (&[other][..], true, unknown),
            (&[mate, other][..], true, unknown),
        ] {
            let found = short(further(own, beside, is_hook));
            assert_eq!(found, expected, "{beside:?} {is_hook}");
        }
        let nobody = (None, None, Uncertain, Uncertain);
        for (beside, expected) in [
            (&[][..], (None, None, Certain, Certain)),
            (&[mate][..], mates),
            (&[other][..], (Some(2), None, Uncertain, Uncertain)),
            (&[mate, other][..], nobody),
        ] {
            assert_eq!(short(found_before(own, beside)), expected, "{beside:?}");
        }
    }

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
}
