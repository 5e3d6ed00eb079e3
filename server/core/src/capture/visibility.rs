//! Visibility of paths to the last scan. Tells files created since then from files that only became
//! visible.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::error::Result;
use crate::model::{Reason, RelPath, RootId};
use crate::store;
use crate::store::tables::root;
use crate::worktree::file_state::{self, FileStates};
use crate::worktree::ignore_rules::{Excludes, Rules, was_ignored};
use crate::worktree::scan::Found;

/// The view of the tree that the last scan had.
pub(super) struct Visibility<'a> {
    conn: &'a Connection,
    /// The directory of the store.
    dir: &'a Path,
    root: RootId,
    /// The rows when the scan began.
    known: &'a FileStates,
    /// The rules of the last scan, if they have changed.
    old_rules: Option<(Arc<Rules>, Excludes)>,
    unreadable: Vec<Vec<u8>>,
    bare: BTreeSet<Vec<u8>>,
}

impl<'a> Visibility<'a> {
    /// Reads the view of the last scan, to compare it with a scan under the rules `now`.
    pub(super) fn new(
        conn: &'a Connection,
        dir: &'a Path,
        root: RootId,
        known: &'a FileStates,
        now: &Excludes,
        found: &[Found],
    ) -> Result<Self> {
        let last = root::scan::last(conn, root)?;
        let excludes = file_state::excludes(conn, root)?.unwrap_or_default();
        let rule_file = |f: &Found| f.path.split().1 == crate::worktree::ignore_rules::FILE;
        let changed = excludes != *now || found.iter().any(rule_file);
        Ok(Self {
            conn,
            dir,
            root,
            known,
            old_rules: changed.then(|| (Rules::base(&excludes), excludes)),
            unreadable: last
                .coverage
                .items
                .into_iter()
                .filter(|i| i.reason == Reason::Unreadable)
                .map(|i| i.path)
                .collect(),
            bare: last
                .bare_dirs
                .split(|b| *b == 0)
                .map(<[u8]>::to_vec)
                .collect(),
        })
    }

    /// True if the last scan could not have seen this path. Its earlier state is then unknown.
    pub(super) fn was_out_of_sight(&self, path: &RelPath) -> bool {
        if self.unreadable.iter().any(|dir| path.within(dir)) {
            return true;
        }
        let Some((rules, excludes)) = &self.old_rules else {
            return false;
        };
        let (conn, dir, known) = (self.conn, self.dir, self.known);
        let mut is_damaged = false;
        let mut text = |file: &RelPath| {
            let content = excludes.content_at_scan(file, || known.get(file)?.image.content())?;
            let read = store::get(conn, dir, &content);
            is_damaged |= read.is_err();
            read.ok()
        };
        // rules that cannot be read may have hidden anything
        was_ignored(rules, path, &mut text) || is_damaged
    }

    /// The same for what is in a directory.
    pub(super) fn dir_was_out_of_sight(&self, dir: &RelPath) -> bool {
        let inside = RelPath::new([dir.bytes(), b"/-"].concat());
        inside.is_some_and(|inside| self.was_out_of_sight(&inside))
    }

    /// Returns how many directories above a created path are not known to have existed before it.
    pub(super) fn made_dirs(&self, path: &RelPath) -> Result<u32> {
        let mut made = 0;
        let mut dir = path.parent();
        while let Some(at) = dir {
            if self.bare.contains(at.bytes())
                || file_state::directory_known(self.conn, self.root, &at)?
            {
                break;
            }
            made += 1;
            dir = at.parent();
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, Coverage, Image};
    use crate::store::migrate;
    use crate::worktree::disk::NO_STAT;
    use crate::worktree::file_state::{FileState, Observed};

    const ROOT: RootId = RootId(1);

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    fn found(at: &str) -> Found {
        Found {
            path: path(at),
            image: file(b"found"),
            stat: None,
            bytes: None,
        }
    }

    fn file(text: &[u8]) -> Image {
        Image::File {
            mode: 0o644,
            content: ContentId::of(text),
            size: text.len() as u64,
        }
    }

    fn row(text: &[u8]) -> FileState {
        FileState {
            image: file(text),
            file: None,
            since: None,
            generation: 1,
            stat: NO_STAT,
        }
    }

    fn global(rules: &str) -> Excludes {
        Excludes {
            global: rules.into(),
            ..Excludes::default()
        }
    }

    /// A root as a scan left it.
    struct LastScan {
        dir: tempfile::TempDir,
        conn: Connection,
        known: FileStates,
    }

    impl LastScan {
        fn new(excludes: &Excludes, coverage: &Coverage, bare_dirs: &[u8]) -> Self {
            let conn = migrate::in_memory();
            let json = |value| serde_json::to_string(value).expect("JSON");
            conn.execute(
                "INSERT INTO root (id, path, excludes, coverage, bare_dirs) VALUES (?1,x'2f',?2,?3,?4)",
                rusqlite::params![
                    ROOT,
                    json(excludes),
                    serde_json::to_string(coverage).expect("JSON"),
                    bare_dirs
                ],
            )
            .expect("a root");
            Self {
                dir: tempfile::tempdir().expect("a temporary directory"),
                conn,
                known: FileStates::default(),
            }
        }

        fn under(excludes: &Excludes) -> Self {
            Self::new(excludes, &Coverage::default(), b"")
        }

        /// Adds a .gitignore with this text, and stores the text.
        fn with_rules(mut self, at: &str, text: &[u8]) -> Self {
            store::put(&self.conn, self.dir.path(), text, None).expect("stored");
            self.known.insert(path(at), row(text));
            self
        }

        fn view(&self, now: &Excludes, found: &[Found]) -> Visibility<'_> {
            let dir = self.dir.path();
            Visibility::new(&self.conn, dir, ROOT, &self.known, now, found).expect("read")
        }
    }

    #[test]
    fn a_path_under_the_same_rules_was_in_sight() {
        let rules = global("*.log\n");
        let last = LastScan::under(&rules).with_rules(".gitignore", b"build/\n");
        let view = last.view(&rules, &[found("a.log"), found("build/x")]);
        assert!(!view.was_out_of_sight(&path("a.txt")));
        assert!(!view.was_out_of_sight(&path("a.log")));
        assert!(!view.was_out_of_sight(&path("build/x")));
    }

    #[test]
    fn a_path_that_the_former_rules_hid_was_out_of_sight() {
        let last = LastScan::under(&global("*.log\n"));
        let view = last.view(&global(""), &[]);
        assert!(view.was_out_of_sight(&path("d/a.log")));
        assert!(!view.was_out_of_sight(&path("d/a.txt")));
    }

    #[test]
    fn a_changed_gitignore_is_read_as_the_last_scan_had_it() {
        let rules = global("");
        let last = LastScan::under(&rules).with_rules("d/.gitignore", b"build/\n");
        let view = last.view(&rules, &[found("d/.gitignore")]);
        assert!(view.was_out_of_sight(&path("d/build/x")));
        assert!(view.dir_was_out_of_sight(&path("d/build")));
        assert!(!view.dir_was_out_of_sight(&path("build")));
        assert!(!view.was_out_of_sight(&path("build/x")));
    }

    #[test]
    fn a_gitignore_whose_row_changed_after_the_scan_counts_as_it_was() {
        let mut then = global("");
        then.note(&path(".gitignore"), Some(ContentId::of(b"old\n")));
        let last = LastScan::under(&then)
            .with_rules("elsewhere", b"old\n")
            .with_rules(".gitignore", b"new\n");
        let view = last.view(&global(""), &[]);
        assert!(view.was_out_of_sight(&path("old")));
        assert!(!view.was_out_of_sight(&path("new")));
    }

    #[test]
    fn rules_that_cannot_be_read_may_have_hidden_anything() {
        let rules = global("");
        let mut last = LastScan::under(&rules);
        last.known.insert(path(".gitignore"), row(b"not stored\n"));
        let view = last.view(&rules, &[found(".gitignore")]);
        assert!(view.was_out_of_sight(&path("a.txt")));
    }

    #[test]
    fn an_unreadable_directory_was_out_of_sight() {
        let mut coverage = Coverage::default();
        coverage.note(b"locked", Reason::Unreadable, "");
        coverage.note(b"large.bin", Reason::TooLarge, "");
        let last = LastScan::new(&Excludes::default(), &coverage, b"");
        let view = last.view(&Excludes::default(), &[]);
        assert!(view.was_out_of_sight(&path("locked/d/a.txt")));
        assert!(!view.was_out_of_sight(&path("locked.txt")));
        assert!(!view.was_out_of_sight(&path("large.bin")));
    }

    #[test]
    fn directories_above_a_created_path_are_made_unless_they_were_known() {
        let last = LastScan::new(&Excludes::default(), &Coverage::default(), b"bare\0bare/d");
        let known = path("known/a.txt");
        file_state::put(&last.conn, ROOT, &known, &row(b""), Observed::ByWalk).expect("put");
        let view = last.view(&Excludes::default(), &[]);
        for (at, expected) in [
            ("a.txt", 0),
            ("new/a.txt", 1),
            ("new/d/e/a.txt", 3),
            ("known/b.txt", 0),
            ("known/new/b.txt", 1),
            ("known.d/b.txt", 1),
            ("bare/a.txt", 0),
            ("bare/d/a.txt", 0),
            ("bare/e/a.txt", 1),
        ] {
            assert_eq!(view.made_dirs(&path(at)).expect("read"), expected, "{at}");
        }
    }
}
