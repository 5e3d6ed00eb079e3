//! Deletes contents that nothing references, and rewrites packs that are mostly unreferenced.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, params};

use crate::error::{Context, Result};
use crate::model::{ContentId, Image};
use crate::store::tables::reviewed;
use crate::store::{Repacked, packs, pieces};

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
    let inputs: HashSet<i64> = conn
        .prepare_cached("SELECT input FROM call WHERE input IS NOT NULL")?
        .query_map([], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut select = conn
        .prepare_cached("SELECT n, hash, data FROM blob WHERE coding = 3 AND data IS NOT NULL")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (n, hash): (i64, ContentId) = (row.get(0)?, row.get(1)?);
        let data: Vec<u8> = row.get(2)?;
        if referenced.contains(&hash) || inputs.contains(&n) {
            referenced.extend(pieces(&data).into_iter().flatten());
        }
    }
    let mut all: HashMap<i64, Stored> = HashMap::new();
    let mut select = conn
        .prepare_cached("SELECT n, hash, base, size, COALESCE(LENGTH(data), len, 0) FROM blob")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (n, hash): (i64, ContentId) = (row.get(0)?, row.get(1)?);
        let unsigned = |at: usize| -> rusqlite::Result<u64> {
            Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
        };
        all.insert(
            n,
            Stored {
                base: row.get(2)?,
                size: unsigned(3)?,
                len: unsigned(4)?,
                referenced: referenced.contains(&hash) || inputs.contains(&n),
            },
        );
    }
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
    for sql in [
        "SELECT before_image FROM change WHERE before_image IS NOT NULL",
        "SELECT after_image FROM change WHERE after_image IS NOT NULL",
        "SELECT image FROM version WHERE image IS NOT NULL",
        "SELECT image FROM file_state",
        "SELECT image FROM reserved",
        "SELECT before FROM journal",
        "SELECT after FROM journal",
        "SELECT before_image FROM journal_file WHERE before_image IS NOT NULL",
        "SELECT after_image FROM journal_file WHERE after_image IS NOT NULL",
        "SELECT before_image FROM journal_left WHERE before_image IS NOT NULL",
        "SELECT after_image FROM journal_left WHERE after_image IS NOT NULL",
        "SELECT disk FROM journal_edit WHERE disk IS NOT NULL",
        "SELECT wanted FROM journal_edit WHERE wanted IS NOT NULL",
        "SELECT disk FROM pending_save",
        "SELECT wanted FROM pending_save",
        "SELECT image FROM reviewed WHERE image IS NOT NULL",
    ] {
        let mut select = conn.prepare_cached(sql)?;
        for image in select.query_map([], |r| r.get::<_, Image>(0))? {
            referenced.extend(image?.content());
        }
    }
    for sql in [
        "SELECT text FROM journal_edit WHERE text IS NOT NULL",
        "SELECT base FROM journal_edit WHERE base IS NOT NULL",
        "SELECT made FROM journal_edit WHERE made IS NOT NULL",
        "SELECT content FROM node_text",
        "SELECT base FROM node_text WHERE base IS NOT NULL",
        "SELECT made FROM node_text WHERE made IS NOT NULL",
        "SELECT base FROM buffer WHERE base IS NOT NULL",
    ] {
        let mut select = conn.prepare_cached(sql)?;
        for content in select.query_map([], |r| r.get(0))? {
            referenced.insert(content?);
        }
    }
    referenced.extend(reviewed::contents(conn)?);
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
    let mut delete = conn.prepare_cached("DELETE FROM blob WHERE n = ?1")?;
    for n in unreferenced.rows.drain(..some) {
        delete.execute([n])?;
    }
    Ok(unreferenced.rows.len())
}

/// Rewrites one pack that is less than half referenced into a new pack. None: there is no such pack.
pub(super) fn repacked(conn: &Connection, dir: &Path) -> Result<Option<Repacked>> {
    let mut live: HashMap<String, u64> = HashMap::new();
    let mut select = conn.prepare(
        "SELECT pack, SUM(len) FROM blob WHERE data IS NULL AND pack IS NOT NULL GROUP BY pack",
    )?;
    for row in select.query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)?)))? {
        let (pack, len) = row?;
        live.insert(pack, u64::try_from(len).unwrap_or(0));
    }
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
    let packed: i64 = conn.query_row(
        "SELECT COALESCE(SUM(len), 0) FROM blob WHERE data IS NULL",
        params![],
        |r| r.get(0),
    )?;
    Ok(pages * number("page_size")? + u64::try_from(packed).unwrap_or(0))
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
