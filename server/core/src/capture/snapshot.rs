//! Compares the disk with the recorded state, before anything is recorded. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::calls;
use crate::error::Result;
use crate::model::Here;
use crate::model::{CoverageItem, Image, Opaque, Reason, RelPath};
use crate::store::Store;
use crate::store::tables::root::scan;
use crate::vcs::VcsFiles;
use crate::worktree::backed_content;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::clean_index::CleanIndex;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::{DiskEntry, Root, Stat, store_ahead};
use crate::worktree::file_state;
use crate::worktree::file_state::FileStates;
use crate::worktree::ignore_rules::Excludes;
use crate::worktree::ignored_paths;
use crate::worktree::past_times;
use crate::worktree::pending_saves::Pending;
use crate::worktree::scan::{Findings, Found};

/// Parameters of a scan.
#[derive(Clone, Copy)]
pub(crate) struct ScanRequest<'a> {
    /// Paths that may have changed; None: walk the whole tree.
    pub only: Option<&'a ChangedPaths>,
    /// True if a recorder proves that all other paths are unchanged, also directories.
    pub is_proven: bool,
    pub deadline: Option<std::time::Instant>,
    /// Set when the scan is cancelled.
    pub off: Option<&'a std::sync::atomic::AtomicBool>,
}

/// A scan's result with what it was compared against.
pub(crate) struct Scanned {
    pub findings: Findings,
    pub known: FileStates,
    pub excludes: Excludes,
    /// The newest event when the scan began.
    pub since: i64,
    /// The generation of the newest rows when the scan began.
    pub generation: i64,
    /// The directories noted by the last scan. None: there was none, or this one is not complete.
    pub noted_before: Option<NotedDirs>,
    /// True if only some paths were scanned, since nothing else had changed.
    pub targeted: bool,
    /// Signature of the git index that has all git-backed files. None: unchanged, or no file is
    /// git-backed.
    pub index: Option<String>,
}

/// Scans against the recorded state. Reads the database outside any transaction of its own.
pub(crate) fn scan(
    store: &Store,
    root: &Root,
    here: Here,
    request: ScanRequest<'_>,
    tick: &mut dyn FnMut(u64),
) -> Result<Scanned> {
    run_scan(store, root, here, request, true, tick)
}

/// Scans for differences from the recorded state without recording them.
pub(crate) fn differences(
    store: &Store,
    root: &Root,
    here: Here,
    request: ScanRequest<'_>,
) -> Result<Findings> {
    let scanned = run_scan(store, root, here, request, false, &mut |_| {})?;
    let mut findings = scanned.findings;
    if root.has_past_times() {
        let noted = scanned.noted_before.as_ref();
        findings.late = late(store, here, noted, &scanned.known, &findings)?;
    }
    Ok(findings)
}

/// Paths of a run whose times or permission bits are not recorded yet: only a scan that records takes them in.
fn late(
    store: &Store,
    here: Here,
    noted_before: Option<&NotedDirs>,
    known: &FileStates,
    findings: &Findings,
) -> Result<Vec<RelPath>> {
    let has_time = |path: &RelPath, stat: &Stat| {
        let known = known.get(path);
        known.is_some_and(|known| known.stat.mtime == stat.mtime)
    };
    let touched = findings.stat_updates.iter();
    let touched = touched.filter(|(path, stat)| !has_time(path, stat));
    let touched = touched.map(|(path, _)| path.clone());
    let noted = noted_before.map(|before| before.differences_to(&findings.noted_dirs));
    let noted = noted.into_iter().flatten().map(|change| change.path);
    let mut late: Vec<RelPath> = touched.chain(noted).collect();
    if let Some(times) = &findings.dir_times {
        late.extend(past_times::unrecorded_dirs(&store.conn, here.root, times)?);
    }
    Ok(late)
}

fn run_scan(
    store: &Store,
    root: &Root,
    here: Here,
    request: ScanRequest<'_>,
    store_contents: bool,
    tick: &mut dyn FnMut(u64),
) -> Result<Scanned> {
    let conn = &store.conn;
    let since = calls::last_event(conn)?;
    let generation = scan::generation(conn, here.root)?;
    // also without a repository here: another root may still have files in one
    let work_trees = backed_content::backing_work_trees(conn, here.root)?;
    let repositories = backed_content::repositories(&work_trees);
    let stale_entries = backed_content::stale_entries(conn, here.root, &repositories)?;
    let widened = with_paths(request.only, &stale_entries.paths);
    let only = widened.as_ref().or(request.only);
    let known = match only {
        None => file_state::all(conn, here.root)?,
        Some(touched) => file_state::some(conn, here.root, touched)?,
    };
    let clean_index =
        if only.is_none() && root.vcs == VcsFiles::Apart && scan::is_first(conn, here.root)? {
            CleanIndex::of(&root.path)
        } else {
            None
        };
    let index = match &clean_index {
        Some(clean_index) => Some(clean_index.signature.clone()),
        None => stale_entries.index,
    };
    let excludes = root.excludes();
    let pending = Pending::of(conn, here.root)?;
    let others = crate::store::tables::root::below(conn, &root.path)?;
    let noted_before = scan::noted_dirs::<NotedDirs>(conn, here.root)?;
    let against = crate::worktree::scan::Baseline {
        known: &known,
        pending: &pending,
        excludes: &excludes,
        others: &others,
        only,
        store_contents,
        clean_index: clean_index.as_ref(),
        repositories: &repositories,
        work_trees: &work_trees,
        stale_entries: &stale_entries.paths,
        cancel: request.off,
        usual_dir_mode: noted_before.as_ref().map(|noted| noted.usual),
    };
    let deadline = request.deadline;
    let mut findings = crate::worktree::scan::scan(root, &store.dir, &against, deadline, tick)?;
    if store_contents {
        keep_ahead(store, root, &known, deadline, &mut findings)?;
        let walked = std::mem::take(&mut findings.ignored);
        let walked = (only.is_none() && !findings.partial).then_some(walked);
        findings.ignored_now = ignored_paths::compare(&store.dir, root, here.root, walked);
    }
    if let Some(touched) = only {
        complete(conn, root, here, touched, &mut findings)?;
        if let Some(before) = &noted_before {
            // elsewhere a recorder forgets a directory that was made or removed while a call is open
            let is_proven = request.is_proven && root.has_past_times();
            findings.noted_dirs = noted_dirs(root, touched, is_proven, &findings, before);
        }
    }
    let noted_before = noted_before.filter(|_| !findings.partial);
    Ok(Scanned {
        noted_before,
        findings,
        known,
        excludes,
        since,
        generation,
        targeted: only.is_some(),
        index,
    })
}

/// Adds paths to those of a scan of a part: files that git may lose are read while their objects exist. None: there are none
/// to add.
fn with_paths(only: Option<&ChangedPaths>, stale: &FxHashSet<RelPath>) -> Option<ChangedPaths> {
    let mut widened = only.filter(|_| !stale.is_empty())?.clone();
    widened.paths.extend(stale.iter().cloned());
    Some(widened)
}

/// Stores large contents before the transaction that records them, since they are not held in
/// memory. Those that exceed the deadline are left to the next scan.
pub(super) fn keep_ahead(
    store: &Store,
    root: &Root,
    known: &FileStates,
    deadline: Option<std::time::Instant>,
    findings: &mut Findings,
) -> Result<()> {
    let late = || deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline);
    let is_large = |f: &Found| f.bytes.is_none() && f.image.is_large();
    let (mut deferred, mut unstable) = (BTreeSet::new(), BTreeSet::new());
    for found in findings.found.iter_mut().filter(|f| is_large(f)) {
        if late() {
            deferred.insert(found.path.clone());
            continue;
        }
        let row = known.get(&found.path);
        let before = row.map_or(Image::Absent, |row| row.image);
        let mut entry = DiskEntry {
            image: found.image,
            stat: found.stat,
            bytes: None,
            is_dir: false,
        };
        let kept = store_ahead(root, store, &found.path, &mut entry, &before)?;
        let unreadable = matches!(entry.image, Image::Opaque(why) if why != Opaque::TooLarge);
        if !kept || unreadable && before.content().is_some() {
            unstable.insert(found.path.clone());
        }
        (found.image, found.bytes) = (entry.image, entry.bytes);
        found.stat = entry.stat.filter(|stat| !stat.racy);
    }
    if !deferred.is_empty() {
        findings.partial = true;
        findings.coverage.pending = true;
    }
    // a file that keeps changing or became unreadable keeps its last known state, and is scanned
    // again
    for path in &unstable {
        let coverage = &mut findings.coverage;
        coverage.note(path.bytes(), Reason::Unreadable, "kept changing");
    }
    if !unstable.is_empty() || !deferred.is_empty() {
        findings
            .found
            .retain(|f| !deferred.contains(&f.path) && !unstable.contains(&f.path));
        findings.dir_cache_bytes.clear();
    }
    Ok(())
}

/// Completes the coverage of a partial scan: the rest of the tree is as the last scan left it.
fn complete(
    conn: &Connection,
    root: &Root,
    here: Here,
    touched: &ChangedPaths,
    findings: &mut Findings,
) -> Result<()> {
    let before = scan::last(conn, here.root)?;
    let scanned = |path: &[u8]| {
        let path = RelPath::new(path);
        path.is_none_or(|path| touched.paths.contains(&path) || touched.covers(&path))
    };
    let is_gone = |item: &CoverageItem| {
        let path = RelPath::new(item.path.as_slice());
        item.reason == Reason::VersionControl && path.is_some_and(|path| !root.has_entry(&path))
    };
    let new_items = std::mem::take(&mut findings.coverage.items);
    let kept = before
        .coverage
        .items
        .into_iter()
        .filter(|item| item.reason.is_lasting() && !scanned(&item.path) && !is_gone(item))
        .map(|item| CoverageItem {
            detail: match item.detail.as_str() {
                "changed" | "named" => String::new(),
                _ => item.detail,
            },
            ..item
        });
    let mut items: Vec<CoverageItem> = kept.chain(new_items).collect();
    items.sort_by(|a, b| a.path.cmp(&b.path));
    items.dedup_by(|b, a| a.path == b.path && a.reason == b.reason);
    findings.coverage.items = items;
    findings.coverage.ignored = before.coverage.ignored;
    findings.bare_dirs = bare_dirs(conn, root, here, touched, findings, &before.bare_dirs)?;
    Ok(())
}

/// Returns the noted directories after a scan of a part of the tree.
fn noted_dirs(
    root: &Root,
    touched: &ChangedPaths,
    is_proven: bool,
    findings: &Findings,
    before: &NotedDirs,
) -> NotedDirs {
    let bare = findings.bare_dirs.split(|byte| *byte == 0);
    let bare: BTreeSet<RelPath> = bare.filter_map(RelPath::new).collect();
    let mut dirs: BTreeMap<RelPath, u32> = BTreeMap::new();
    let elsewhere = before.iter().filter(|(dir, _)| !touched.covers(dir));
    let mut all: BTreeSet<RelPath> = elsewhere.map(|(dir, _)| dir.clone()).collect();
    all.extend(bare.iter().cloned());
    if root.has_past_times() {
        // the bits of a directory may have changed, and nothing in it
        all.extend(touched.paths.iter().cloned());
    }
    let around = touched.with_parents();
    for dir in all {
        let is_same = is_proven && !around.contains(&dir) && !touched.passes_through(&dir);
        let known = before.mode(&dir).filter(|_| is_same);
        if let Some(mode) = known.or_else(|| root.dir_mode(&dir))
            && (mode != before.usual || bare.contains(&dir))
        {
            dirs.insert(dir, mode);
        }
    }
    dirs.extend(
        findings
            .noted_dirs
            .iter()
            .map(|(dir, mode)| (dir.clone(), mode)),
    );
    let mut noted = NotedDirs::new(before.usual, dirs, root.has_past_times());
    let found = findings.noted_dirs.worktrees.iter();
    let all: BTreeSet<&RelPath> = before.worktrees.iter().chain(found).collect();
    noted.worktrees = all.into_iter().cloned().collect();
    let found = findings.noted_dirs.vcs.iter();
    let still = before.vcs.iter().filter(|entry| root.has_entry(entry));
    noted.set_vcs(still.chain(found).cloned());
    noted
}

/// Returns the directories without files, as known from the last full walk and this scan.
fn bare_dirs(
    conn: &Connection,
    root: &Root,
    here: Here,
    touched: &ChangedPaths,
    findings: &Findings,
    before: &[u8],
) -> Result<Vec<u8>> {
    let dirs = |bytes: &[u8]| -> Vec<RelPath> {
        bytes.split(|b| *b == 0).filter_map(RelPath::new).collect()
    };
    let mut bare: BTreeSet<RelPath> = dirs(before).into_iter().collect();
    bare.retain(|dir| !touched.covers(dir) && root.is_dir(dir.bytes()));
    bare.extend(dirs(&findings.bare_dirs));
    let (gone, present): (Vec<&Found>, Vec<&Found>) =
        findings.found.iter().partition(|f| f.image.is_absent());
    let mut looked_at = BTreeSet::new();
    let left = gone.iter().map(|f| &f.path).chain(&findings.absent);
    // a recorder names a directory alone that is new to the record, and known to it
    let named = touched
        .paths
        .iter()
        .filter(|path| root.is_dir(path.bytes()));
    let dirs = left.filter_map(RelPath::parent).chain(named.cloned());
    for dir in dirs {
        let mut dir = Some(dir);
        while let Some(at) = dir.filter(|at| looked_at.insert(at.clone())) {
            let recorded = file_state::count_below(conn, here.root, &at)?;
            let deleted = gone.iter().filter(|f| f.path.within(at.bytes())).count();
            if recorded > deleted {
                break;
            }
            if root.is_dir(at.bytes()) {
                bare.insert(at.clone());
            }
            dir = at.parent();
        }
    }
    // new ones, too, which have no row yet
    for found in present {
        let mut dir = found.path.parent();
        while let Some(at) = dir {
            bare.remove(&at);
            dir = at.parent();
        }
    }
    let all: Vec<&[u8]> = bare.iter().map(RelPath::bytes).collect();
    Ok(all.join(&0))
}
