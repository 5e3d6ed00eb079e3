//! The `file_state` table: the state of the head, path by path, with the stat that saves reading the file again. Owns
//! reading and writing these rows.

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::model::{FileId, Image, NodeId, Opaque, RelPath, RootId};
use crate::store::tables::damage::{InRow, read_all};
use crate::store::tables::id_list::IdList;
use crate::store::tables::root::scan;
use crate::store::tables::{file, stray};
use crate::worktree::backed_content;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::disk::Stat;
use crate::worktree::ignore_rules::{self, Excludes};

/// The recorded state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub image: Image,
    pub file: Option<FileId>,
    pub since: Option<NodeId>,
    pub generation: i64,
    pub stat: Stat,
}

pub(crate) type FileStates = FxHashMap<RelPath, FileState>;

impl FileState {
    /// True if this row was too large to capture, its content is known by now, and the file is unchanged.
    pub(crate) fn is_revealed(&self, image: Image, stat: Option<&Stat>) -> bool {
        self.image == Image::Opaque(Opaque::TooLarge)
            && image.content().is_some()
            && stat.is_some_and(|stat| self.stat.is_that_of(stat))
    }
}

const COLUMNS: &str =
    "path, image, file, since, generation, size, mtime, ctime, btime, dev, inode, mode, racy";

fn read(r: &Row<'_>) -> rusqlite::Result<(RelPath, FileState)> {
    Ok((
        r.get(0)?,
        FileState {
            image: r.get(1)?,
            file: r.get(2)?,
            since: r.get(3)?,
            generation: r.get(4)?,
            stat: Stat {
                size: r.get(5)?,
                mtime: r.get(6)?,
                ctime: r.get(7)?,
                btime: r.get(8)?,
                dev: r.get(9)?,
                inode: r.get(10)?,
                mode: r.get(11)?,
                racy: r.get(12)?,
                linked: false,
            },
        },
    ))
}

pub(crate) fn all(conn: &Connection, root: RootId) -> Result<FileStates> {
    let sql = format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query([root])?;
    read_all(conn, "file_state", rows, read)
}

/// Returns the row of a path. Content that only git holds is stored first, as far as this connection may write.
pub(crate) fn get(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileState>> {
    let Some(mut known) = row(conn, root, path)? else {
        return Ok(None);
    };
    known.image = backed_content::materialize(conn, root, path, known.image)?;
    Ok(Some(known))
}

/// Returns the row as stored; content held by git stays with git.
pub(crate) fn row(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileState>> {
    let sql = format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1 AND path = ?2");
    let mut select = conn.prepare_cached(&sql)?;
    let found = select
        .query_row(params![root, path], read)
        .optional()
        .in_row(conn, || {
            format!("row `{}` of table file_state", path.display())
        })?;
    Ok(found.map(|(_, known)| known))
}

/// Replaces a git-backed image with the stored one, in every root with that row.
pub(crate) fn set_materialized(
    conn: &Connection,
    path: &RelPath,
    backed: &Image,
    own: &Image,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE file_state SET image = ?3 WHERE root IN (SELECT id FROM root) AND path = ?1
           AND image = ?2",
    )?
    .execute(params![path, backed, own])?;
    Ok(())
}

/// Returns the files whose content only git holds, with their images.
pub(crate) fn all_git_backed(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, Image)>> {
    // an encoded `InGit` image begins with 4
    let mut select = conn.prepare_cached(
        "SELECT path, image FROM file_state WHERE root = ?1 AND substr(image, 1, 1) = x'04'",
    )?;
    let rows = select.query([root])?;
    read_all(conn, "file_state", rows, |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns files that were adopted after the start and never changed, with the node of their adoption.
pub(crate) fn adopted_unchanged(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, NodeId)>> {
    let mut select = conn.prepare_cached(
        // without the hint SQLite reads the whole table
        "SELECT path, since FROM file_state INDEXED BY file_state_since
         WHERE root = ?1 AND file IS NULL AND since IS NOT NULL",
    )?;
    let rows = select.query_map([root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// True if the root has any row.
pub(crate) fn any(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM file_state WHERE root = ?1")?
        .exists([root])?)
}

/// Returns the last known path of this file, found by inode and birth time. Reads the whole table.
pub(crate) fn path_of(conn: &Connection, root: RootId, s: &Stat) -> Result<Option<RelPath>> {
    if s.btime == 0 {
        return Ok(None);
    }
    Ok(conn
        .prepare_cached(
            "SELECT path FROM file_state WHERE root = ?1 AND inode = ?2 AND dev = ?3 AND btime = ?4",
        )?
        .query_row(params![root, s.inode, s.dev, s.btime], |r| r.get(0))
        .optional()?)
}

/// Way in which a path was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// A walk over the tree visited the path.
    ByWalk,
    /// The path was named or read alone; a walk has not visited it yet, and may never do so.
    ByName,
}

impl Observed {
    pub(crate) fn by(is_named: bool) -> Self {
        if is_named { Self::ByName } else { Self::ByWalk }
    }
}

pub(crate) fn put(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    known: &FileState,
    observed: Observed,
) -> Result<()> {
    save_rules(conn, root, path)?;
    let is_new = || -> Result<bool> {
        let mut there =
            conn.prepare_cached("SELECT 1 FROM file_state WHERE root = ?1 AND path = ?2")?;
        Ok(!there.exists(params![root, path])?)
    };
    if known.stat.size < 0 || observed == Observed::ByName && is_new()? {
        insert_unverified(conn, root, path, known.generation)?;
    }
    let s = &known.stat;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO file_state (root, path, image, file, since, generation, size, mtime, ctime,
           btime, dev, inode, mode, racy) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
    )?
    .execute(params![
        root,
        path,
        known.image,
        known.file,
        known.since,
        known.generation,
        s.size,
        s.mtime,
        s.ctime,
        s.btime,
        s.dev,
        s.inode,
        s.mode,
        s.racy
    ])?;
    Ok(())
}

pub(crate) fn remove(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    save_rules(conn, root, path)?;
    conn.prepare_cached("DELETE FROM file_state WHERE root = ?1 AND path = ?2")?
        .execute(params![root, path])?;
    // moving a directory away and back leaves the stats of its files unchanged
    mark_unverified(conn, root, path)
}

/// Forgets the files in a directory that were adopted and have no change: no one knows that they were ever there.
pub(crate) fn forget_adopted(conn: &Connection, root: RootId, dir: &RelPath) -> Result<()> {
    let (from, to) = range_below(dir.bytes());
    conn.prepare_cached(
        "DELETE FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3 AND file IS NULL",
    )?
    .execute(params![root, from, to])?;
    Ok(())
}

/// Removes all rows of a root.
pub(crate) fn remove_all(conn: &Connection, root: RootId) -> Result<()> {
    conn.execute("DELETE FROM file_state WHERE root = ?1", [root])?;
    Ok(())
}

/// Moves the first nodes of files to this node, which replaces them.
pub(crate) fn move_since(conn: &Connection, nodes: IdList, into: NodeId) -> Result<()> {
    let sql = format!(
        "UPDATE file_state SET since = ?1 WHERE since IN {}",
        nodes.ids()
    );
    conn.prepare_cached(&sql)?.execute([into])?;
    Ok(())
}

/// Passes on the images of all rows.
pub(crate) fn images(conn: &Connection, take: &mut dyn FnMut(Image)) -> Result<()> {
    let mut select = conn.prepare_cached("SELECT path, image FROM file_state")?;
    let mut rows = select.query([])?;
    while let Some(r) = rows.next()? {
        take(r.get(1).in_row(conn, || {
            let path: Vec<u8> = r.get(0).unwrap_or_default();
            let path = String::from_utf8_lossy(&path);
            format!("row `{path}` of table file_state")
        })?);
    }
    Ok(())
}

/// Counts the known paths of a root.
pub(crate) fn count(conn: &Connection, root: RootId) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM file_state WHERE root = ?1";
    Ok(conn.query_row(sql, [root], |r| r.get(0))?)
}

/// Saves the old content of a .gitignore before its row changes. The last scan used it, so it later tells what that
/// scan could not see.
fn save_rules(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    if path.split().1 != ignore_rules::FILE {
        return Ok(());
    }
    let Some(mut excludes) = excludes(conn, root)? else {
        return Ok(());
    };
    let content = row(conn, root, path)?.and_then(|row| row.image.content());
    excludes.note(path, content);
    scan::set_excludes(conn, root, &excludes)
}

/// Returns the ignore rules of the last scan, or None before the first one.
pub(crate) fn excludes(conn: &Connection, root: RootId) -> Result<Option<Excludes>> {
    scan::excludes(conn, root)
}

/// Updates the stat of an unchanged image, unless the row has changed since.
pub(crate) fn update_stat(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    generation: i64,
    s: &Stat,
) -> Result<()> {
    if s.size < 0 {
        mark_unverified(conn, root, path)?;
    }
    conn.prepare_cached(
        "UPDATE file_state SET size=?4, mtime=?5, ctime=?6, btime=?7, dev=?8, inode=?9, mode=?10, racy=?11
         WHERE root = ?1 AND path = ?2 AND generation = ?3",
    )?
    .execute(params![
        root, path, generation, s.size, s.mtime, s.ctime, s.btime, s.dev, s.inode, s.mode, s.racy
    ])?;
    Ok(())
}

/// Makes every later partial scan check this path. The next generation is used because a running walk may already
/// have visited the path.
pub(crate) fn mark_unverified(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    insert_unverified(conn, root, path, scan::generation(conn, root)? + 1)
}

/// Adds a path that partial scans must check.
fn insert_unverified(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    generation: i64,
) -> Result<()> {
    stray::insert(conn, root, path, generation)
}

/// Returns the paths that partial scans must check. None: no full walk has filled the table yet.
pub(crate) fn unverified(conn: &Connection, root: RootId) -> Result<Option<Vec<RelPath>>> {
    if !scan::has_unvisited(conn, root)? {
        return Ok(None);
    }
    stray::paths(conn, root).map(Some)
}

/// Records a full walk that began at generation `since` and did not visit these known paths.
pub(crate) fn record_walk(
    conn: &Connection,
    root: RootId,
    since: i64,
    unvisited: &[RelPath],
    generation: i64,
) -> Result<()> {
    stray::delete_up_to(conn, root, since)?;
    for path in unvisited {
        insert_unverified(conn, root, path, generation)?;
    }
    scan::set_walked(conn, root, generation)
}

/// Returns the rows of paths that may have changed.
pub(crate) fn some(conn: &Connection, root: RootId, touched: &ChangedPaths) -> Result<FileStates> {
    let mut rows = FileStates::default();
    for dir in touched.tops() {
        rows.extend(below(conn, root, dir.bytes())?);
    }
    for path in touched.paths.iter().chain(&touched.trees) {
        if let Some(row) = row(conn, root, path)? {
            rows.insert(path.clone(), row);
        }
    }
    Ok(rows)
}

/// Returns the bounds of the paths in a directory, at any depth; both are outside.
fn range_below(dir: &[u8]) -> (Vec<u8>, Vec<u8>) {
    ([dir, b"/"].concat(), [dir, b"0"].concat())
}

/// Counts the known paths in a directory, at any depth.
pub(crate) fn count_below(conn: &Connection, root: RootId, dir: &RelPath) -> Result<usize> {
    let (from, to) = range_below(dir.bytes());
    Ok(conn
        .prepare_cached(
            "SELECT COUNT(*) FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3",
        )?
        .query_row(params![root, from, to], |r| r.get(0))?)
}

/// Returns the rows in a directory, at any depth.
fn below(conn: &Connection, root: RootId, dir: &[u8]) -> Result<FileStates> {
    let (from, to) = range_below(dir);
    let sql =
        format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query(params![root, from, to])?;
    read_all(conn, "file_state", rows, read)
}

/// True if any known path is in this directory.
pub(crate) fn directory_known(conn: &Connection, root: RootId, dir: &RelPath) -> Result<bool> {
    let (from, to) = range_below(dir.bytes());
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3 LIMIT 1",
        )?
        .exists(params![root, from, to])?)
}

/// Gives a file that never changed an identity, in every root that has it. A file changed in one root is the same
/// file as the unchanged one in another.
pub(crate) fn identify(conn: &Connection, path: &RelPath, since: Option<NodeId>) -> Result<FileId> {
    let id = file::insert(conn, since)?;
    conn.prepare_cached(
        "UPDATE file_state SET file = ?1 WHERE root IN (SELECT id FROM root) AND path = ?2
           AND file IS NULL AND since IS ?3",
    )?
    .execute(params![id, path, since])?;
    if let Some(since) = since {
        file::insert_adopted(conn, since, id)?;
    }
    Ok(id)
}

/// Returns files that were adopted in other roots and never changed since.
pub(crate) fn adopted_elsewhere(
    conn: &Connection,
    root: RootId,
) -> Result<Vec<(RelPath, FileState)>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM file_state INDEXED BY file_state_since
         WHERE root IN (SELECT id FROM root WHERE id <> ?1) AND file IS NULL AND since IS NOT NULL"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query([root])?;
    read_all(conn, "file_state", rows, read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContentId;
    use crate::worktree::disk::NO_STAT;

    const ROOT: RootId = RootId(1);
    const OTHER: RootId = RootId(2);
    const STAT: Stat = Stat {
        size: 4,
        mtime: 1,
        ctime: 2,
        btime: 3,
        dev: 4,
        inode: 5,
        mode: 0o100_644,
        racy: false,
        linked: false,
    };

    /// A store with two roots.
    fn store() -> Connection {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch("INSERT INTO root (id, path) VALUES (1, x'2f61'), (2, x'2f62')")
            .expect("roots");
        conn
    }

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    fn file(text: &str) -> Image {
        Image::File {
            mode: 0o644,
            content: ContentId::of(text.as_bytes()),
            size: text.len() as u64,
        }
    }

    fn state(image: Image) -> FileState {
        FileState {
            image,
            file: None,
            since: None,
            generation: 1,
            stat: STAT,
        }
    }

    fn put_walked(conn: &Connection, root: RootId, at: &str, known: &FileState) {
        put(conn, root, &path(at), known, Observed::ByWalk).expect("put");
    }

    fn read_row(conn: &Connection, at: &str) -> Option<FileState> {
        row(conn, ROOT, &path(at)).expect("read")
    }

    /// The unverified paths, after a walk of the generation before all rows.
    fn unverified_paths(conn: &Connection) -> Vec<String> {
        conn.execute("UPDATE root SET strays = 1", []).expect("set");
        let paths = unverified(conn, ROOT).expect("read").expect("filled");
        let text = |path: &RelPath| String::from_utf8_lossy(path.bytes()).into_owned();
        paths.iter().map(text).collect()
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let conn = store();
        let images = [
            file("a"),
            Image::Symlink {
                content: ContentId::of(b"target"),
            },
            Image::Opaque(Opaque::TooLarge),
            Image::InGit {
                mode: 0o755,
                size: 4,
                object: gix_hash::ObjectId::null(gix_hash::Kind::Sha1),
            },
        ];
        for (at, image) in images.into_iter().enumerate() {
            let at = at.to_string();
            put_walked(&conn, ROOT, &at, &state(image));
            assert_eq!(read_row(&conn, &at), Some(state(image)));
        }
        assert_eq!(all(&conn, ROOT).expect("read").len(), images.len());
        assert!(any(&conn, ROOT).expect("read"));
        assert!(!any(&conn, OTHER).expect("read"));
        let backed = all_git_backed(&conn, ROOT).expect("read");
        assert_eq!(backed, [(path("3"), images[3])]);
    }

    #[test]
    fn a_stat_is_updated_only_in_the_row_that_was_scanned() {
        let conn = store();
        put_walked(&conn, ROOT, "a", &state(file("a")));
        let newer = Stat { mtime: 9, ..STAT };
        update_stat(&conn, ROOT, &path("a"), 0, &newer).expect("updated");
        assert_eq!(read_row(&conn, "a").expect("a row").stat, STAT);
        update_stat(&conn, ROOT, &path("a"), 1, &newer).expect("updated");
        assert_eq!(read_row(&conn, "a").expect("a row").stat, newer);
        assert_eq!(unverified_paths(&conn), Vec::<String>::new());
        update_stat(&conn, ROOT, &path("a"), 1, &NO_STAT).expect("updated");
        assert_eq!(unverified_paths(&conn), ["a"]);
    }

    #[test]
    fn paths_that_no_walk_visited_are_unverified() {
        let conn = store();
        put_walked(&conn, ROOT, "walked", &state(file("a")));
        put(
            &conn,
            ROOT,
            &path("walked"),
            &state(file("b")),
            Observed::ByName,
        )
        .expect("put");
        put(
            &conn,
            ROOT,
            &path("named"),
            &state(file("a")),
            Observed::ByName,
        )
        .expect("put");
        let unproven = FileState {
            stat: NO_STAT,
            ..state(file("a"))
        };
        put_walked(&conn, ROOT, "unproven", &unproven);
        put_walked(&conn, ROOT, "removed", &state(file("a")));
        remove(&conn, ROOT, &path("removed")).expect("removed");
        assert_eq!(read_row(&conn, "removed"), None);
        assert_eq!(unverified_paths(&conn), ["named", "removed", "unproven"]);
    }

    #[test]
    fn a_walk_verifies_the_paths_marked_before_it_began() {
        let conn = store();
        assert_eq!(unverified(&conn, ROOT).expect("read"), None);
        let begun = scan::next_generation(&conn, ROOT).expect("begun");
        put(
            &conn,
            ROOT,
            &path("before"),
            &state(file("a")),
            Observed::ByName,
        )
        .expect("put");
        mark_unverified(&conn, ROOT, &path("during")).expect("marked");
        let recorded = scan::next_generation(&conn, ROOT).expect("recorded");
        record_walk(&conn, ROOT, begun, &[path("ignored")], recorded).expect("recorded");
        assert_eq!(unverified_paths(&conn), ["during", "ignored"]);
        assert_eq!(scan::last_walk(&conn, ROOT).expect("read"), Some(recorded));
    }

    #[test]
    fn a_directory_holds_only_the_paths_below_it() {
        let conn = store();
        for at in ["d/a", "d/e/b", "d.txt", "d-/c", "d0"] {
            put_walked(&conn, ROOT, at, &state(file("a")));
        }
        let count = |dir| count_below(&conn, ROOT, &path(dir)).expect("counted");
        assert_eq!((count("d"), count("d/e"), count("f")), (2, 1, 0));
        let known = |dir| directory_known(&conn, ROOT, &path(dir)).expect("read");
        assert!(known("d/e") && known("d-"));
        assert!(!known("d.txt") && !known("d0") && !known("e"));
        let mut touched = ChangedPaths::default();
        touched.trees.insert(path("d"));
        touched.paths.insert(path("d.txt"));
        let mut rows: Vec<RelPath> = some(&conn, ROOT, &touched)
            .expect("read")
            .into_keys()
            .collect();
        rows.sort();
        assert_eq!(rows, ["d.txt", "d/a", "d/e/b"].map(path));
    }

    #[test]
    fn the_rules_of_the_last_scan_outlive_their_row() {
        let conn = store();
        let text = serde_json::to_string(&Excludes::default()).expect("JSON");
        conn.execute("UPDATE root SET excludes = ?1", [text])
            .expect("set");
        let rules = path("d/.gitignore");
        put_walked(&conn, ROOT, "d/.gitignore", &state(file("old")));
        let at_scan = || {
            let excludes = excludes(&conn, ROOT).expect("read").expect("rules");
            excludes.content_at_scan(&rules, || Some(ContentId::of(b"recorded")))
        };
        // no row yet when the scan ran
        assert_eq!(at_scan(), None);
        conn.execute(
            "UPDATE root SET excludes = ?1",
            [serde_json::to_string(&Excludes::default()).expect("JSON")],
        )
        .expect("set");
        put_walked(&conn, ROOT, "d/.gitignore", &state(file("new")));
        assert_eq!(at_scan(), Some(ContentId::of(b"old")));
        remove(&conn, ROOT, &rules).expect("removed");
        assert_eq!(at_scan(), Some(ContentId::of(b"old")));
    }

    #[test]
    fn an_identity_returns_with_its_path() {
        let conn = store();
        let file = file::insert(&conn, None).expect("a file");
        let former = |at| file::gone_at(&conn, ROOT, &path(at)).expect("read");
        file::set_gone(&conn, ROOT, file, Some(&path("a"))).expect("noted");
        assert_eq!(former("a"), Some(file));
        file::set_gone(&conn, ROOT, file, Some(&path("b"))).expect("noted");
        assert_eq!((former("a"), former("b")), (None, Some(file)));
        file::set_gone(&conn, ROOT, file, None).expect("noted");
        assert_eq!(former("b"), None);
    }

    #[test]
    fn an_unchanged_file_is_the_same_file_in_every_root() {
        let conn = store();
        for root in [ROOT, OTHER] {
            put_walked(&conn, root, "a", &state(file("a")));
            put_walked(&conn, root, "b", &state(file("a")));
        }
        let id = identify(&conn, &path("a"), None).expect("identified");
        for root in [ROOT, OTHER] {
            let file = |at| {
                let row = row(&conn, root, &path(at)).expect("read");
                row.expect("a row").file
            };
            assert_eq!((file("a"), file("b")), (Some(id), None));
        }
    }

    #[test]
    fn a_content_is_revealed_if_only_the_limit_was_raised() {
        let known = state(Image::Opaque(Opaque::TooLarge));
        assert!(known.is_revealed(file("a"), Some(&STAT)));
        assert!(!known.is_revealed(file("a"), Some(&Stat { mtime: 9, ..STAT })));
        assert!(!known.is_revealed(file("a"), None));
        assert!(!known.is_revealed(Image::Absent, Some(&STAT)));
        assert!(!state(file("b")).is_revealed(file("a"), Some(&STAT)));
    }

    #[test]
    fn a_file_is_found_by_inode_and_birth_time() {
        let conn = store();
        put_walked(&conn, ROOT, "a", &state(file("a")));
        let at = |stat: &Stat| path_of(&conn, ROOT, stat).expect("read");
        assert_eq!(at(&Stat { mtime: 9, ..STAT }), Some(path("a")));
        assert_eq!(at(&Stat { inode: 6, ..STAT }), None);
        assert_eq!(at(&Stat { btime: 0, ..STAT }), None);
    }
}
