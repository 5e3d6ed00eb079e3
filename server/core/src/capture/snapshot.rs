//! A look at the disk over what the store knows of it, before anything of it is settled. Changes nothing.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::calls;
use crate::documents::pending::Pending;
use crate::error::Result;
use crate::history::Here;
use crate::model::{CoverageItem, Image, Opaque, Reason, RelPath};
use crate::store::Store;
use crate::worktree::disk::{DiskEntry, Root};
use crate::worktree::file_state;
use crate::worktree::git::backed_content;
use crate::worktree::git::clean_index::CleanIndex;
use crate::worktree::ignore_rules::Excludes;
use crate::worktree::recorder::ChangedPaths;
use crate::worktree::scan::{FileStates, Findings, Found};

/// A look at the disk.
#[derive(Clone, Copy)]
pub(crate) struct ScanRequest<'a> {
    /// What alone can have changed; None: the whole tree is walked.
    pub only: Option<&'a ChangedPaths>,
    pub deadline: Option<std::time::Instant>,
    /// Set when nobody wants it any more.
    pub off: Option<&'a std::sync::atomic::AtomicBool>,
}

/// A scan's result with what it was compared against.
pub(crate) struct Scanned {
    pub findings: Findings,
    pub known: FileStates,
    pub excludes: Excludes,
    /// The newest event when it began.
    pub since: i64,
    /// The generation of the newest rows when it began.
    pub generation: i64,
    /// Not all of the tree was looked at: nothing else had changed.
    pub some: bool,
    /// What git's index was that has all that is lent. None: as before, or nothing is.
    pub index: Option<String>,
}

/// Runs a scan against what the store knows. Reads the database outside any transaction of its own.
pub(crate) fn scan(
    store: &Store,
    root: &Root,
    here: Here,
    glance: ScanRequest<'_>,
    tick: &mut dyn FnMut(u64),
) -> Result<Scanned> {
    look(store, root, here, glance, true, tick)
}

/// The same, to see where the disk is not as it is known, and not to record it.
pub(crate) fn differences(
    store: &Store,
    root: &Root,
    here: Here,
    glance: ScanRequest<'_>,
) -> Result<Findings> {
    Ok(look(store, root, here, glance, false, &mut |_| {})?.findings)
}

fn look(
    store: &Store,
    root: &Root,
    here: Here,
    glance: ScanRequest<'_>,
    keep: bool,
    tick: &mut dyn FnMut(u64),
) -> Result<Scanned> {
    let ScanRequest {
        only,
        deadline,
        off,
    } = glance;
    let conn = &store.conn;
    let since = calls::last_event(conn)?;
    let generation = file_state::generation(conn, here.root)?;
    // also where no repository is left: another root may have a file still
    let places = backed_content::lenders(conn, here.root)?;
    let repositories = backed_content::repositories(&places);
    let stale_entries = backed_content::stale_entries(conn, here.root, &repositories)?;
    // what git may lose is read while it is there
    let more = only
        .filter(|_| !stale_entries.paths.is_empty())
        .map(|only| {
            let mut more = only.clone();
            more.paths.extend(stale_entries.paths.iter().cloned());
            more
        });
    let only = more.as_ref().or(only);
    let known = match only {
        None => file_state::all(conn, here.root)?,
        Some(touched) => file_state::some(conn, here.root, touched)?,
    };
    let lender = if only.is_none() && file_state::is_first_look(conn, here.root)? {
        CleanIndex::of(&root.path)
    } else {
        None
    };
    let index = match &lender {
        Some(lender) => Some(lender.signature.clone()),
        None => stale_entries.index,
    };
    let excludes = root.excludes();
    let pending = Pending::of(conn, here.root)?;
    let others = crate::roots::below(conn, &root.path)?;
    let against = crate::worktree::scan::Baseline {
        known: &known,
        pending: &pending,
        excludes: &excludes,
        others: &others,
        only,
        keep,
        clean_index: lender.as_ref(),
        repositories: &repositories,
        places: &places,
        stale_entries: &stale_entries.paths,
        off,
    };
    let mut findings = crate::worktree::scan::scan(root, &store.dir, &against, deadline, tick)?;
    if keep {
        keep_ahead(store, root, &known, deadline, &mut findings)?;
    }
    if let Some(touched) = only {
        complete(conn, root, here, touched, &mut findings)?;
    }
    Ok(Scanned {
        findings,
        known,
        excludes,
        since,
        generation,
        some: only.is_some(),
        index,
    })
}

/// Large contents are not held: they are stored before anybody waits for the transaction that names them. What there is
/// no time for is left to who goes on.
fn keep_ahead(
    store: &Store,
    root: &Root,
    known: &FileStates,
    deadline: Option<std::time::Instant>,
    findings: &mut Findings,
) -> Result<()> {
    let late = || deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline);
    let is_large = |f: &Found| f.bytes.is_none() && f.image.is_large();
    let (mut left, mut restless) = (BTreeSet::new(), BTreeSet::new());
    for found in findings.found.iter_mut().filter(|f| is_large(f)) {
        if late() {
            left.insert(found.path.clone());
            continue;
        }
        let row = known.get(&found.path);
        let before = row.map_or(Image::Absent, |row| row.image);
        let mut look = DiskEntry {
            image: found.image,
            stat: found.stat,
            bytes: None,
            is_dir: false,
        };
        let kept = root.keep_ahead(store, &found.path, &mut look, &before)?;
        let unreadable = matches!(look.image, Image::Opaque(why) if why != Opaque::TooLarge);
        if !kept || unreadable && before.content().is_some() {
            restless.insert(found.path.clone());
        }
        (found.image, found.bytes) = (look.image, look.bytes);
        found.stat = look.stat.filter(|stat| !stat.racy);
    }
    if !left.is_empty() {
        findings.partial = true;
        findings.coverage.pending = true;
    }
    // what does not rest, or cannot be read any more, keeps the state last known, and is looked at again
    for path in &restless {
        let coverage = &mut findings.coverage;
        coverage.note(path.bytes(), Reason::Unreadable, "changed all the time");
    }
    if !restless.is_empty() || !left.is_empty() {
        findings
            .found
            .retain(|f| !left.contains(&f.path) && !restless.contains(&f.path));
        findings.dir_cache_bytes.clear();
    }
    Ok(())
}

/// What a look at some of the tree says of all of it: the rest is as the last one left it.
fn complete(
    conn: &Connection,
    root: &Root,
    here: Here,
    touched: &ChangedPaths,
    findings: &mut Findings,
) -> Result<()> {
    let (coverage, bare): (String, Option<Vec<u8>>) = conn
        .prepare_cached("SELECT coverage, bare_dirs FROM root WHERE id = ?1")?
        .query_row([here.root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let before = file_state::coverage_from(conn, here.root, &coverage)?;
    let looked_at = |path: &[u8]| {
        let path = RelPath::new(path);
        path.is_none_or(|path| touched.paths.contains(&path) || touched.covers(&path))
    };
    let lasting = |reason| {
        matches!(
            reason,
            Reason::Unreadable | Reason::TooLarge | Reason::Special
        )
    };
    let news = std::mem::take(&mut findings.coverage.items);
    let kept = before
        .items
        .into_iter()
        .filter(|item| lasting(item.reason) && !looked_at(&item.path))
        .map(|item| CoverageItem {
            detail: match item.detail.as_str() {
                "changed" | "named" => String::new(),
                _ => item.detail,
            },
            ..item
        });
    let mut items: Vec<CoverageItem> = kept.chain(news).collect();
    items.sort_by(|a, b| a.path.cmp(&b.path));
    findings.coverage.items = items;
    findings.coverage.ignored = before.ignored;
    findings.bare_dirs = bare_dirs(
        conn,
        root,
        here,
        touched,
        findings,
        &bare.unwrap_or_default(),
    )?;
    Ok(())
}

/// The directories in which no file is, as far as the last whole walk and this look tell.
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
    let (gone, here_now): (Vec<&Found>, Vec<&Found>) =
        findings.found.iter().partition(|f| f.image.is_absent());
    for found in here_now {
        let mut dir = found.path.parent();
        while let Some(at) = dir {
            bare.remove(&at);
            dir = at.parent();
        }
    }
    for found in &gone {
        let mut dir = found.path.parent();
        while let Some(at) = dir {
            let left = file_state::count_below(conn, here.root, &at)?;
            let went = gone.iter().filter(|f| f.path.within(at.bytes())).count();
            if left > went {
                break;
            }
            if root.is_dir(at.bytes()) {
                bare.insert(at.clone());
            }
            dir = at.parent();
        }
    }
    let all: Vec<&[u8]> = bare.iter().map(RelPath::bytes).collect();
    Ok(all.join(&0))
}
