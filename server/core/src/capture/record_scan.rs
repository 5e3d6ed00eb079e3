//! Records the result of a scan as nodes and changes, in one transaction. Paths whose row changed
//! since the scan are read again. Follows renames and attributes each change.

use rusqlite::params;

use super::calls::{self, Attribution, Observation, Writers, by_open_edit};
use super::renames::follow_renames;
use super::snapshot::Scanned;
use super::transition::Transition;
use super::visibility::Visibility;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::history;
use crate::model::{Coverage, Image, Kind, NodeId, Placed, Reason};
use crate::store;
use crate::worktree::disk::NO_STAT;
use crate::worktree::file_state;
use crate::worktree::file_state::FileState;
use crate::worktree::pending_saves;
use crate::worktree::scan::{Findings, Found, Materialized};

impl WriteTxn<'_> {
    /// Stores the content of a found file. `like` is a content that it probably resembles.
    fn store_found(&self, found: &Found, like: Option<&Image>) -> Result<bool> {
        self.store_bytes(&found.path, found.image, found.bytes.as_deref(), like)
    }

    /// Copies the content that git had of a file to the store, unless it was copied already or the
    /// file changed.
    fn store_materialized(&self, materialized: &Materialized) -> Result<()> {
        if let Some(bytes) = &materialized.bytes {
            store::put(self.conn, self.dir, bytes, None)?;
        }
        file_state::set_materialized(
            self.conn,
            &materialized.path,
            &materialized.backed,
            &materialized.own,
        )
    }

    /// Records a scan. Returns the new node, if any.
    pub(crate) fn record_scan(
        &self,
        scanned: Scanned,
        context: &ScanContext,
    ) -> Result<Option<NodeId>> {
        let Scanned {
            findings,
            known,
            mut excludes,
            since,
            generation: scan_generation,
            targeted,
            index,
        } = scanned;
        let Findings {
            found,
            materialized,
            stat_updates,
            unvisited,
            linked: _,
            saved,
            pack,
            coverage,
            partial,
            bare_dirs,
            dir_cache_bytes,
        } = findings;
        if let Some(pack) = &pack {
            pack.insert(self.conn)?;
        }
        for materialized in &materialized {
            self.store_materialized(materialized)?;
        }
        let (scanned_before, pending_before, coverage_before): (Option<i64>, i64, String) = self
            .conn
            .prepare_cached("SELECT scanned, pending, coverage FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        let overall = self.observation(context.observation)?;
        let writers = Writers::since(self.conn, self.here.root, since)?;
        // a path read by name is not in the dir cache of the last full walk
        let observed_by = if targeted {
            file_state::Observed::ByName
        } else {
            file_state::Observed::ByWalk
        };
        let mut steps = Vec::new();
        let mut adopted = Vec::new();
        let visibility = Visibility::new(self, &known, &excludes, &found)?;
        // the first scan looks up no rows path by path
        let is_new = known.is_empty() && !file_state::any(self.conn, self.here.root)?;
        let any_reserved = calls::any_reserved(self.conn)?;
        for mut found in found {
            let row = if is_new {
                None
            } else {
                file_state::row(self.conn, self.here.root, &found.path)?
            };
            if row.as_ref().is_some_and(|row| row.image == found.image) {
                continue;
            }
            let row = match row {
                Some(row) if row.image.object().is_some() => {
                    file_state::get(self.conn, self.here.root, &found.path)?
                }
                row => row,
            };
            let scanned_row = known.get(&found.path);
            // only the first scan trusts a git object as it is
            let late_git_object =
                found.image.object().is_some() && (row.is_some() || scanned_before.is_some());
            let recorded_since =
                row.as_ref().map(|r| r.generation) != scanned_row.map(|k| k.generation);
            let changed_since = scanned_before.is_some()
                && !self.is_unchanged(&found.path, &found.image, found.stat);
            if late_git_object || recorded_since || changed_since {
                // the scanned state is outdated
                let record = row.as_ref().map_or(Image::Absent, |r| r.image);
                let mut now = self.root.reread_entry(&found.path, &record)?;
                self.pending.overlay(&found.path, record, &mut now);
                found = Found {
                    path: found.path,
                    image: now.image,
                    stat: now.stat,
                    bytes: now.bytes,
                };
            }
            let before = row.as_ref().map_or(Image::Absent, |r| r.image);
            if found.image == before {
                continue;
            }
            let reserved = if any_reserved {
                calls::reserved(self.conn, self.here.root, &found.path)?
            } else {
                None
            };
            if reserved.is_some() && context.reserved_stay {
                if found.path.split().1 == crate::worktree::ignore_rules::FILE {
                    // not recorded yet, but this scan applied its rules
                    if self.store_found(&found, Some(&before))? {
                        excludes.note(&found.path, found.image.content());
                    }
                }
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            if !self.store_found(&found, Some(&before))? {
                file_state::mark_unverified(self.conn, self.here.root, &found.path)?;
                continue;
            }
            let revealed = row
                .as_ref()
                .filter(|row| row.is_revealed(found.image, found.stat.as_ref()));
            let out_of_sight =
                || scanned_before.is_none() || visibility.was_out_of_sight(&found.path);
            if revealed.is_some_and(|row| row.file.is_none()) || row.is_none() && out_of_sight() {
                adopted.push(found);
                continue;
            }
            let made_dirs = if row.is_none() {
                visibility.made_dirs(&found.path)?
            } else {
                0
            };
            let attribution = match (reserved, context.unreported.get(&found.path)) {
                // only the size limit was raised
                _ if revealed.is_some() => Attribution::USER,
                (Some(by), _) => by_open_edit(by),
                (None, Some(session)) => writers.attribute(Observation::Unreported(*session)),
                (None, None) => writers.attribute(overall),
            };
            let waiting = row.as_ref().zip(self.pending.get(&found.path));
            if let Some((known, p)) = waiting.filter(|(known, p)| p.wanted == known.image)
                && (attribution.origin.session.is_some()
                    || self.is_based_on_disk(p, found.image)?)
            {
                // an agent, or a user who undid the outcome, started from the text on disk
                let (_, on_disk) = self.withdraw_outcome(known, p, None)?;
                if found.image != p.disk {
                    steps.push(step(
                        found,
                        Some(on_disk),
                        attribution,
                        made_dirs,
                        observed_by,
                    ));
                }
                continue;
            }
            steps.push(step(found, row, attribution, made_dirs, observed_by));
        }
        // adopted files and finished waits make no node
        let has_adopted_or_saved = !adopted.is_empty() || !saved.is_empty();
        for save_id in saved {
            pending_saves::saved(self.conn, save_id)?;
        }
        follow_renames(&mut steps, &known);
        let generation = file_state::next_generation(self.conn, self.here.root)?;
        for (path, stat) in &stat_updates {
            let generation_then = known.get(path).map_or(0, |k| k.generation);
            file_state::update_stat(self.conn, self.here.root, path, generation_then, stat)?;
        }
        let mut full_coverage = coverage;
        full_coverage
            .items
            .extend(context.coverage.items.iter().cloned());
        let baseline = self.head()?.is_none();
        let node = if baseline {
            Some(self.node(
                Kind::Manual,
                None,
                None,
                None,
                Some("start"),
                &full_coverage,
            )?)
        } else {
            let has_new_gaps = has_reportable_gaps(&full_coverage)
                && !(steps.is_empty() && self.is_already_reported(context, &full_coverage)?);
            self.record(&steps, context, &full_coverage, has_new_gaps, generation)?
        };
        let since_node = if adopted.is_empty() || baseline {
            None
        } else {
            self.unshared_head()?
        };
        for found in adopted {
            // Before the first full scan is done, the start has every file that the scan finds. An
            // adopted file gets its own identity: the deletion of an earlier file at the path was
            // recorded, and this creation was not.
            let row = FileState {
                image: found.image,
                file: None,
                since: since_node,
                generation,
                stat: found.stat.unwrap_or(NO_STAT),
            };
            file_state::put(self.conn, self.here.root, &found.path, &row, observed_by)?;
        }
        if !partial && !targeted {
            file_state::record_walk(
                self.conn,
                self.here.root,
                scan_generation,
                &unvisited,
                generation,
            )?;
            self.dir_cache_bytes.replace(Some(dir_cache_bytes));
        }
        crate::fault::point("found taken in");
        let done = (!partial).then(store::now);
        let pending = i64::from(partial) * late_author(context);
        let reported_before = serde_json::from_str(&coverage_before).ok();
        if has_adopted_or_saved
            || pending != pending_before
            || !reported_before.is_some_and(|reported| same_gaps(&reported, &full_coverage))
        {
            self.notify.set(true);
        }
        self.conn.execute(
            "UPDATE root SET scanned = COALESCE(?2, scanned), pending = ?3, coverage = ?4,
               excludes = COALESCE(?5, excludes),
               bare_dirs = COALESCE(?6, bare_dirs), git_index = COALESCE(?7, git_index) WHERE id = ?1",
            params![
                self.here.root,
                done,
                pending,
                serde_json::to_string(&full_coverage).unwrap_or_default(),
                // a targeted scan did not walk the tree with the current rules
                (!partial && !targeted).then(|| serde_json::to_string(&excludes).unwrap_or_default()),
                (!partial).then_some(bare_dirs),
                // after a partial scan, the paths not read may have objects that git no longer has
                index.map(|index| if partial { String::new() } else { index })
            ],
        )?;
        Ok(node)
    }

    /// True if the newest checkpoint reports the same coverage for a scan between calls.
    fn is_already_reported(&self, context: &ScanContext, coverage: &Coverage) -> Result<bool> {
        if !matches!(context.observation, Observation::Between) {
            return Ok(false);
        }
        let Some(head) = self.head()? else {
            return Ok(false);
        };
        Ok(same_gaps(
            &history::node(self.conn, head)?.coverage,
            coverage,
        ))
    }
}

/// Attribution for changes that a partial scan did not reach: a session id, or -1 for none.
fn late_author(context: &ScanContext) -> i64 {
    match context.observation {
        Observation::AtEndOf(writer) => writer.session.0,
        Observation::Unreported(session) | Observation::Late(Some(session)) => session.0,
        Observation::Between | Observation::Late(None) => -1,
    }
}

/// True if both leave out the same paths. The count of new files is ignored, since it differs from
/// scan to scan.
fn same_gaps(a: &Coverage, b: &Coverage) -> bool {
    (a.ignored, a.pending, &a.items) == (b.ignored, b.pending, &b.items)
}

fn has_reportable_gaps(coverage: &Coverage) -> bool {
    coverage.pending
        || coverage.items.iter().any(|i| {
            matches!(
                i.reason,
                Reason::Failed | Reason::Outside | Reason::Excluded
            ) || i.detail == "changed"
                || i.detail == "named"
        })
}

fn step(
    found: Found,
    row: Option<FileState>,
    attribution: Attribution,
    made_dirs: u32,
    observed_by: file_state::Observed,
) -> Transition {
    let Found {
        path, image, stat, ..
    } = found;
    let placed = |image: Image| {
        (!image.is_absent()).then(|| Placed {
            path: path.clone(),
            image,
        })
    };
    Transition {
        file: row.as_ref().and_then(|r| r.file),
        since: row.as_ref().and_then(|r| r.since),
        before: placed(row.map_or(Image::Absent, |r| r.image)),
        after: placed(image),
        stat,
        attribution,
        made_dirs,
        observed_by,
    }
}
