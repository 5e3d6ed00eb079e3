//! Contents that nothing names any more: their rows go, and packs of which most is gone are written anew.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, params};

use crate::error::{Context, Result};
use crate::model::{ContentId, Image};
use crate::store::{Repacked, packs, pieces};

/// Contents removed in one transaction: hooks wait that long.
const AT_ONCE: usize = 5000;

/// A content that is kept only since others are stored against it is given up where it takes more than so many times
/// what they would take without it.
const HEAVY: u64 = 2;

/// What is stored of a content.
struct Stored {
    base: Option<i64>,
    size: u64,
    len: u64,
    named: bool,
}

/// Contents that may go, and those that are first to be stored by themselves.
#[derive(Debug, Default)]
pub(super) struct Dead {
    pub rows: Vec<i64>,
    pub alone: Vec<i64>,
}

/// Reads what everything names. Within the transaction that removes the rest.
pub(super) fn dead(conn: &Connection) -> Result<Dead> {
    let mut named = named(conn)?;
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
        if named.contains(&hash) || inputs.contains(&n) {
            named.extend(pieces(&data).into_iter().flatten());
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
                named: named.contains(&hash) || inputs.contains(&n),
            },
        );
    }
    Ok(choose(&all))
}

/// A content against which one is stored that stays, stays too, unless it is heavier than what it spares.
fn choose(all: &HashMap<i64, Stored>) -> Dead {
    let mut spares: HashMap<i64, u64> = HashMap::new();
    let mut leans: HashMap<i64, Vec<i64>> = HashMap::new();
    for (n, stored) in all.iter().filter(|(_, s)| s.named) {
        let mut at = stored.base;
        while let Some((base, of)) = at.and_then(|b| Some((b, all.get(&b)?))) {
            if of.named {
                break;
            }
            // about what it takes by itself
            *spares.entry(base).or_default() += (stored.size / 3).saturating_sub(stored.len);
            leans.entry(base).or_default().push(*n);
            at = of.base;
        }
    }
    let heavy = |n: &i64| {
        let len = all.get(n).map_or(0, |s| s.len);
        len > spares.get(n).copied().unwrap_or(0).saturating_mul(HEAVY)
    };
    let mut alone: HashSet<i64> = HashSet::new();
    for (base, leaning) in &leans {
        if heavy(base) {
            alone.extend(leaning);
        }
    }
    let mut stay: HashSet<i64> = HashSet::new();
    for (n, stored) in all.iter().filter(|(_, s)| s.named) {
        stay.insert(*n);
        let mut at = stored.base.filter(|_| !alone.contains(n));
        while let Some(base) = at {
            stay.insert(base);
            at = all
                .get(&base)
                .and_then(|s| s.base)
                .filter(|_| !alone.contains(&base));
        }
    }
    let mut rows: Vec<i64> = all.keys().copied().filter(|n| !stay.contains(n)).collect();
    // those first that stand on others
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let mut alone: Vec<i64> = alone.into_iter().collect();
    alone.sort_unstable();
    Dead { rows, alone }
}

fn named(conn: &Connection) -> Result<HashSet<ContentId>> {
    let mut named = HashSet::new();
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
    ] {
        let mut select = conn.prepare_cached(sql)?;
        for image in select.query_map([], |r| r.get::<_, Image>(0))? {
            named.extend(image?.content());
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
            named.insert(content?);
        }
    }
    Ok(named)
}

/// Removes some of them; how many are left.
pub(super) fn remove(conn: &Connection, dir: &Path, dead: &mut Dead) -> Result<usize> {
    // all of them at once: what they stand on goes next
    for n in dead.alone.drain(..) {
        crate::store::put_alone(conn, dir, n)?;
    }
    let some = dead.rows.len().min(AT_ONCE);
    let mut delete = conn.prepare_cached("DELETE FROM blob WHERE n = ?1")?;
    for n in dead.rows.drain(..some) {
        delete.execute([n])?;
    }
    Ok(dead.rows.len())
}

/// Packs of which less than half is named: what of them is, into a new one. None: there is no such pack.
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

/// What is needed of the store, without room that is free to be filled again.
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

    fn stored(base: Option<i64>, size: u64, len: u64, named: bool) -> Stored {
        Stored {
            base,
            size,
            len,
            named,
        }
    }

    #[test]
    fn what_others_are_stored_against_stays() {
        let all = HashMap::from([
            (1, stored(None, 3000, 1000, false)),
            (2, stored(Some(1), 3000, 50, false)),
            (3, stored(Some(2), 3000, 50, true)),
            (4, stored(Some(2), 3000, 50, false)),
            (5, stored(None, 10, 10, false)),
        ]);
        let dead = choose(&all);
        assert_eq!((dead.rows, dead.alone), (vec![5, 4], Vec::new()));
    }

    #[test]
    fn a_heavy_one_goes_and_what_it_spared_stands_alone() {
        let all = HashMap::from([
            (1, stored(None, 9_000_000, 3_000_000, false)),
            (2, stored(Some(1), 3000, 50, true)),
            (3, stored(Some(2), 3000, 50, true)),
        ]);
        let dead = choose(&all);
        // the third one leans on the second, which stays
        assert_eq!((dead.rows, dead.alone), (vec![1], vec![2]));
    }
}
