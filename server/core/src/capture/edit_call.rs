//! Edit calls: tools that name the files they write. Records the images before and after a call.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Capture;
use super::Recorded;
use super::calls::{self, Observation, Writers};
use super::event::{AgentEvent, ToolCall, ToolReport, Wrote};
use super::named_paths::{NamedPath, named, read_entry, refresh_entry};
use super::named_record::{out_of_sight, update_record};
use super::opening::{CallStart, announced, open, outcome, reported};
use super::reported_edit::ReportedCall;
use super::tool_text::reports_by_path;
use super::write_txn::{AFTER, BEFORE, ScanContext, WriteTxn};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Coverage, Image, Kind, RelPath};
use crate::store::tables::reserved::{self, Reserved};
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state;

/// Time for which a hook waits for a file that another process is just writing, and between two looks at it.
const WRITER_TIMEOUT: Duration = Duration::from_millis(100);
const WRITER_INTERVAL: Duration = Duration::from_millis(5);

impl Capture<&mut Engine> {
    /// Reads files again that are half written, until they are whole or the time is over.
    fn wait_for_writers(
        &self,
        entries: &mut [(RelPath, DiskEntry)],
        report: &ToolReport,
    ) -> Result<()> {
        let end = Instant::now() + WRITER_TIMEOUT;
        for (path, entry) in entries {
            while is_half_written(entry, report) && Instant::now() < end {
                std::thread::sleep(WRITER_INTERVAL);
                *entry = self.disk_entry_stored(path)?;
            }
        }
        Ok(())
    }

    /// Before a tool that names its files: records their images durably, and nothing else.
    pub(super) fn open_naming(
        &mut self,
        e: &AgentEvent,
        (call, opening): (&ToolCall, CallStart),
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
            let opened = open(txn.conn, txn.dir, txn.here.root, e, call, like)?;
            let id = match opened {
                Some((_, id)) => Some(id),
                None if opening == CallStart::Reported => None,
                // it names further paths, or starts only now
                None => announced(txn, e, call)?.map(|row| row.id),
            };
            let Some(id) = id else {
                return Ok(Recorded {
                    node: None,
                    pending,
                });
            };
            if let Some((session, _)) = opened
                && !coverage.items.is_empty()
            {
                let turn = calls::turn(txn.conn, session, e.prompt_id.as_deref())?;
                txn.node(Kind::Step, Some(session), turn, Some(id), None, &coverage)?;
            }
            let writers = Writers::since(txn.conn, txn.here.root, calls::last_event(txn.conn)?)?;
            let mut node = None;
            for (path, entry, missing) in entries {
                let entry = refresh_entry(txn, &path, entry)?;
                if matches!(opening, CallStart::Announced(_))
                    && let Some(image) = image_before_announcement(txn, &path)?
                {
                    let reserved = Reserved {
                        image,
                        made_dirs: missing,
                    };
                    reserved::insert(txn.conn, id, &path, reserved)?;
                    continue;
                }
                if opening == CallStart::Starts && opened.is_none() {
                    reserved::release(txn.conn, id, &path)?;
                }
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
        let (mut entries, uncaptured) = self.read_named(e, paths)?;
        if !failed {
            self.wait_for_writers(&mut entries, report)?;
        }
        let mut reports = reports_by_path(report, |path| {
            let named = named(&self.engine.root, e.cwd.as_deref(), path);
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

/// True if a file is empty that a call reports to have written something to: another process is just writing it.
fn is_half_written(entry: &DiskEntry, report: &ToolReport) -> bool {
    let is_empty = matches!(entry.image, Image::File { size: 0, .. });
    is_empty
        && report.paths.iter().any(|path| match &path.wrote {
            Some(Wrote::Whole(text)) => !text.is_empty(),
            Some(Wrote::Replace { new, .. }) => !new.is_empty(),
            None => false,
        })
}

/// Returns the image from which a call started that may have written already: the recorded one. The call's report tells
/// its work from other differences. None: nothing is recorded of the path, or it waits for a save, so that the disk counts.
fn image_before_announcement(txn: &WriteTxn<'_>, path: &RelPath) -> Result<Option<Image>> {
    if txn.pending.get(path).is_some() {
        return Ok(None);
    }
    let row = file_state::get(txn.conn, txn.here.root, path)?;
    Ok(match row {
        Some(row) => Some(row.image),
        None if out_of_sight(txn, path)? => None,
        None => Some(Image::Absent),
    })
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
