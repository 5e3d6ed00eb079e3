//! Deletes contents that nothing references, and rewrites packs that are mostly unreferenced.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;

use crate::error::{Context, Result};
use crate::model::{ContentId, Image};
use crate::store::tables::blob::{self, StoredSize};
use crate::store::tables::root::{self, RootFilter};
use crate::store::tables::{
    buffer, call, change, journal, node_text, pending_save, reserved, reviewed, version,
};
use crate::store::{Repacked, packs, pieces};
use crate::worktree::file_state;

/// Contents deleted in one transaction, during which hooks wait.
const BATCH_SIZE: usize = 5000;

/// An unreferenced delta base is deleted if it takes more than this many times the bytes that its deltas save.
const MAX_COST_RATIO: u64 = 2;

/// Stored form of a content.
struct Stored {
    base: Option<i64>,
    size: u64,
    len: u64,
    referenced: bool,
}

/// Contents to delete, and contents to store without a delta base before that.
#[derive(Debug, Default)]
pub(super) struct Unreferenced {
    pub rows: Vec<i64>,
    pub store_whole: Vec<i64>,
}

/// Returns the unreferenced contents. Runs within the transaction that deletes them.
pub(super) fn unreferenced(conn: &Connection) -> Result<Unreferenced> {
    let mut referenced = referenced(conn)?;
    let inputs = call::inputs(conn)?;
    blob::lists_of_pieces(conn, &mut |n, hash, list| {
        if referenced.contains(&hash) || inputs.contains(&n) {
            referenced.extend(pieces(list).into_iter().flatten());
        }
    })?;
    let stored = |row: StoredSize| {
        let stored = Stored {
            base: row.base,
            size: row.size,
            len: row.len,
            referenced: referenced.contains(&row.hash) || inputs.contains(&row.n),
        };
        (row.n, stored)
    };
    let all = blob::sizes(conn)?.into_iter().map(stored).collect();
    Ok(select_rows(&all))
}

/// Selects the rows to delete. The delta base of a content that stays, stays too, unless it costs more than it
/// saves.
fn select_rows(all: &HashMap<i64, Stored>) -> Unreferenced {
    let mut savings: HashMap<i64, u64> = HashMap::new();
    let mut dependents: HashMap<i64, Vec<i64>> = HashMap::new();
    for (n, stored) in all.iter().filter(|(_, s)| s.referenced) {
        let mut at = stored.base;
        while let Some((base, of)) = at.and_then(|b| Some((b, all.get(&b)?))) {
            if of.referenced {
                break;
            }
            // estimated size without a delta base
            *savings.entry(base).or_default() += (stored.size / 3).saturating_sub(stored.len);
            dependents.entry(base).or_default().push(*n);
            at = of.base;
        }
    }
    let is_costly = |n: &i64| {
        let len = all.get(n).map_or(0, |s| s.len);
        len > savings
            .get(n)
            .copied()
            .unwrap_or(0)
            .saturating_mul(MAX_COST_RATIO)
    };
    let mut store_whole: HashSet<i64> = HashSet::new();
    for (base, deltas) in &dependents {
        if is_costly(base) {
            store_whole.extend(deltas);
        }
    }
    let mut stay: HashSet<i64> = HashSet::new();
    for (n, stored) in all.iter().filter(|(_, s)| s.referenced) {
        stay.insert(*n);
        let mut at = stored.base.filter(|_| !store_whole.contains(n));
        while let Some(base) = at {
            stay.insert(base);
            at = all
                .get(&base)
                .and_then(|s| s.base)
                .filter(|_| !store_whole.contains(&base));
        }
    }
    let mut rows: Vec<i64> = all.keys().copied().filter(|n| !stay.contains(n)).collect();
    // deltas before their bases
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let mut store_whole: Vec<i64> = store_whole.into_iter().collect();
    store_whole.sort_unstable();
    Unreferenced { rows, store_whole }
}

fn referenced(conn: &Connection) -> Result<HashSet<ContentId>> {
    let mut referenced = HashSet::new();
    let mut content = |content| {
        referenced.insert(content);
    };
    change::contents(conn, &mut content)?;
    version::contents(conn, &mut content)?;
    reviewed::contents(conn, &mut content)?;
    node_text::contents(conn, &mut content)?;
    journal::contents(conn, &mut content)?;
    referenced.extend(buffer::bases(conn)?);
    let mut image = |image: Image| referenced.extend(image.content());
    file_state::images(conn, &mut image)?;
    reserved::images(conn, &mut image)?;
    pending_save::images(conn, &mut image)?;
    // rules that the last scan used, although their file has changed since
    for root in root::rows(conn, RootFilter::All)? {
        if let Some(excludes) = file_state::excludes(conn, root.id)? {
            referenced.extend(excludes.contents());
        }
    }
    referenced.extend(reviewed::kept_contents(conn)?);
    Ok(referenced)
}

/// Deletes one batch. Returns the number of rows left.
pub(super) fn remove(
    conn: &Connection,
    dir: &Path,
    unreferenced: &mut Unreferenced,
) -> Result<usize> {
    // all of them first, since their bases are deleted next
    for n in unreferenced.store_whole.drain(..) {
        crate::store::put_alone(conn, dir, n)?;
    }
    let some = unreferenced.rows.len().min(BATCH_SIZE);
    for n in unreferenced.rows.drain(..some) {
        blob::delete(conn, n)?;
    }
    Ok(unreferenced.rows.len())
}

/// Rewrites one pack that is less than half referenced into a new pack. None: there is no such pack.
pub(super) fn repacked(conn: &Connection, dir: &Path) -> Result<Option<Repacked>> {
    let live = blob::bytes_by_pack(conn)?;
    for (pack, live) in live {
        let path = packs(dir).join(&pack);
        let whole = std::fs::metadata(&path).at("look at", &path)?.len();
        if live * 2 < whole {
            return Repacked::write(conn, dir, &pack).map(Some);
        }
    }
    Ok(None)
}

/// Bytes that the store needs, without free space that it can reuse.
pub(super) fn size(conn: &Connection) -> Result<u64> {
    let number = |name: &str| -> Result<u64> {
        let value: i64 = conn.query_row(&format!("PRAGMA {name}"), [], |r| r.get(0))?;
        Ok(u64::try_from(value).unwrap_or(0))
    };
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    let packed = blob::packed_bytes(conn)?;
    Ok(pages * number("page_size")? + packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(base: Option<i64>, size: u64, len: u64, referenced: bool) -> Stored {
        Stored {
            base,
            size,
            len,
            referenced,
        }
    }

    #[test]
    fn a_delta_base_stays_while_its_deltas_stay() {
        let all = HashMap::from([
            (1, stored(None, 3000, 1000, false)),
            (2, stored(Some(1), 3000, 50, false)),
            (3, stored(Some(2), 3000, 50, true)),
            (4, stored(Some(2), 3000, 50, false)),
            (5, stored(None, 10, 10, false)),
        ]);
        let unreferenced = select_rows(&all);
        assert_eq!(
            (unreferenced.rows, unreferenced.store_whole),
            (vec![5, 4], Vec::new())
        );
    }

    #[test]
    fn a_costly_base_is_deleted_and_its_deltas_are_stored_whole() {
        let all = HashMap::from([
            (1, stored(None, 9_000_000, 3_000_000, false)),
            (2, stored(Some(1), 3000, 50, true)),
            (3, stored(Some(2), 3000, 50, true)),
        ]);
        let unreferenced = select_rows(&all);
        // the third row is a delta of the second, which stays
        assert_eq!(
            (unreferenced.rows, unreferenced.store_whole),
            (vec![1], vec![2])
        );
    }
}
