//! Properties that the fuzz targets (`tests/fuzz`) exercise, and ordinary tests in short: settings, references,
//! stored contents, git's index. Each takes any bytes and panics if a rule is broken.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use crate::config::{self, Key};
use crate::git::objects::Repository;
use crate::history::{self};
use crate::model::Here;
use crate::model::{BranchId, ContentId, RelPath, RootId};
use crate::store;
use crate::worktree::dir_cache;
use crate::worktree::disk::NO_STAT;
use crate::worktree::git_index::Index;

/// Parses a settings file: every fault has a line of the file, and every parsed setting can be written and parsed
/// again.
pub fn settings(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let base = Path::new("/base");
    let (settings, faults) = config::parse(text, base);
    let lines = text.split('\n').count();
    for (line, what) in faults {
        assert!(line <= lines, "line {line} of {lines}: {what}");
        assert!(!what.is_empty());
    }
    for (key, setting) in settings.iter() {
        let value = setting.json();
        let again = key.read(&value, &value.to_string(), Some(base));
        assert_eq!(again.as_ref(), Ok(setting), "{}", key.name());
        assert_eq!(Key::named(key.name()), Some(key));
    }
}

thread_local! {
    static HISTORY: Connection = history_of_three();
}

/// Makes a history with three checkpoints, a turn, a tag, a label and two branches.
fn history_of_three() -> Connection {
    let conn = store::migrate::in_memory();
    conn.execute_batch(
        "INSERT INTO branch (id, name, created) VALUES (1, 'main', 0);
         INSERT INTO root (id, path, branch) VALUES (1, x'2f77', 1);
         INSERT INTO session (id, agent, native, started, seen) VALUES (1, 'a', 's', 0, 0);
         INSERT INTO node (id, depth, kind, branch, root, time) VALUES (1, 0, 'manual', 1, 1, 0);
         INSERT INTO node (id, parent, depth, kind, branch, root, time, label)
           VALUES (2, 1, 1, 'manual', 1, 1, 0, 'by^hand'), (5, 2, 2, 'turn', 1, 1, 0, NULL);
         INSERT INTO turn (id, number, session, prompt, node, started) VALUES (1, 4, 1, 'p', 5, 0);
         UPDATE node SET turn = 1 WHERE id = 5;
         INSERT INTO branch (id, name, head, parent, fork_point, created) VALUES (2, 'idea/2', 2, 1, 2, 0);
         INSERT INTO tag (name, node, created) VALUES ('works', 1, 0);
         UPDATE branch SET head = 5 WHERE id = 1;",
    )
    .expect("a history");
    conn
}

/// Resolves a reference that a user typed: to an existing checkpoint, or to an error with a message.
pub fn reference(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    HISTORY.with(|conn| {
        let here = Here {
            root: RootId(1),
            branch: BranchId(1),
        };
        history::names_head(text, "main");
        match history::resolve(conn, here, text) {
            Ok(node) => assert!([1, 2, 5].contains(&node.0), "{text} is {node}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        if history::branches::check_name(conn, text).is_ok() {
            let found = history::resolve(conn, here, text);
            assert!(found.is_err(), "a name that is free is {found:?}");
        }
    });
}

const WANTED: &[u8] = b"what it was\n";

thread_local! {
    static CONTENTS: Connection = store::migrate::in_memory();
}

/// Reads a content with arbitrary stored bytes: the result is the original content or an error.
pub fn content(input: &[u8]) {
    let Some(([coding, size, of_base], data)) = input.split_first_chunk::<3>() else {
        return;
    };
    let (base, data) = data.split_at(usize::from(*of_base).min(data.len()));
    let wanted = ContentId::of(WANTED);
    // one content, one row
    if base == WANTED {
        return;
    }
    CONTENTS.with(|conn| check_stored(conn, (*coding, *size), base, data, wanted));
}

fn check_stored(conn: &Connection, how: (u8, u8), base: &[u8], data: &[u8], wanted: ContentId) {
    let (coding, size) = how;
    let dir = Path::new("/nowhere");
    conn.execute("DELETE FROM blob", []).expect("emptied");
    conn.execute(
        "INSERT INTO blob (n, hash, size, coding, data) VALUES (1, ?1, ?2, ?3, ?4)",
        params![ContentId::of(base), base.len(), 0, base],
    )
    .expect("a row");
    let (based, pos) = if coding & 4 == 0 {
        (None, 0)
    } else {
        (Some(1), 1)
    };
    let packed = coding & 8 != 0;
    conn.execute(
        "INSERT INTO blob (n, hash, size, coding, base, pos, data, pack, at, len) VALUES (2, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            wanted,
            u64::from(size) << (coding >> 4),
            coding & 3,
            based,
            pos,
            (!packed).then_some(data),
            packed.then_some("no.pack"),
            size,
            size,
        ],
    )
    .expect("a row");
    if let Ok(bytes) = store::get(conn, dir, &wanted) {
        assert_eq!(bytes, WANTED);
    }
    let mut read = Vec::new();
    let whole = store::read(conn, dir, &wanted, &mut |bytes| {
        read.extend_from_slice(bytes);
        Ok(())
    });
    if whole.is_ok() {
        assert_eq!(read, WANTED);
    }
    let mut reader = store::ContentReader::new(conn, dir);
    if let Ok(bytes) = reader.get(&wanted) {
        assert_eq!(&*bytes, WANTED);
    }
}

thread_local! {
    static REPOSITORY: PathBuf = repository();
}

/// Makes an empty repository for this thread.
fn repository() -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    let name = format!("backstitch-fuzz-{}-{thread}", std::process::id());
    let root = std::env::temp_dir().join(name);
    std::fs::create_dir_all(root.join(".git/objects")).expect("a repository");
    root
}

/// Parses a git index, after a byte for its kind and with a possible shared index after it; or a directory cache. Any
/// input gives a well-formed result or none.
pub fn index(input: &[u8]) {
    let Some((&kind, bytes)) = input.split_first() else {
        return;
    };
    if kind & 4 != 0 {
        return dir_cache::exercise(bytes);
    }
    REPOSITORY.with(|root| {
        let git = root.join(".git");
        let format = if kind & 1 == 0 { "sha1" } else { "sha256" };
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(git.join(name), bytes).expect("written");
        write(
            "config",
            format!("[extensions]\nobjectformat = {format}\n").as_bytes(),
        );
        let (own, shared) = bytes.split_at(if kind & 2 == 0 {
            bytes.len()
        } else {
            bytes.len() / 2
        });
        write("index", own);
        write(&format!("sharedindex.{}", "0".repeat(40)), shared);
        let repository = Repository::of(root).expect("a repository");
        let Some(index) = Index::read(&repository) else {
            return;
        };
        for (path, object) in index.entries() {
            assert_eq!(object.kind(), repository.kind());
            if let Some(path) = RelPath::new(path) {
                index.holds(&path, &object);
                assert!(
                    index.clean(&path, &NO_STAT).is_none(),
                    "no file has this stat"
                );
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Returns inputs that once broke a rule.
    fn found(target: &str) -> Vec<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/found");
        let files = std::fs::read_dir(std::path::Path::new(folder).join(target));
        let files = files.into_iter().flatten();
        files
            .map(|file| std::fs::read(file.expect("an entry").path()).expect("an input"))
            .collect()
    }

    #[test]
    fn found_inputs_pass() {
        for (target, exercise) in [
            ("settings", super::settings as fn(&[u8])),
            ("reference", super::reference),
            ("content", super::content),
            ("index", super::index),
        ] {
            let all = found(target);
            assert!(!all.is_empty(), "{target}");
            for input in &all {
                exercise(input);
            }
        }
    }

    proptest! {
        #[test]
        fn any_settings(text in "(\\[?[a-zA-Z.]{1,12}\\]?( = (-?[0-9]{1,20}|\"[ -~]{0,12}\"|\\[[^\\n]{0,12}\\]))?\\n?){0,8}") {
            super::settings(text.as_bytes());
        }

        #[test]
        fn any_reference(text in "[ctop@~^0-9a-z/\" .-]{0,16}") {
            super::reference(text.as_bytes());
        }

        #[test]
        fn any_index(kind in any::<u8>(), bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            super::index(&[&[kind], bytes.as_slice()].concat());
            let header = [&[kind & 3], b"DIRC\0\0\0\x02\0\0\0\x01".as_slice(), &bytes].concat();
            super::index(&header);
        }

        #[test]
        fn any_content(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            super::content(&bytes);
        }
    }
}
