//! Verifies the store: every content against its hash, every change against its chain.

use std::collections::HashMap;

use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{ContentId, FileId, FileVersion, Image};
use crate::store::tables::root::scan;
use crate::store::tables::{
    blob, call, change, changed_files, file, journal, node_checks, node_text, operation,
};
use crate::worktree::{backed_content, file_state};

/// Maximum number of places that are listed for a content.
const PLACES: usize = 8;

#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub blobs: u64,
    pub nodes: u64,
    pub changes: u64,
    pub problems: Vec<String>,
}

impl Verified {
    /// Lists an error as a problem, so that the rest is still verified.
    fn note<T>(&mut self, what: &str, result: Result<T>) -> Option<T> {
        result
            .map_err(|e| self.problems.push(format!("{what}: {e}")))
            .ok()
    }
}

/// Checks of the whole store.
#[derive(Clone, Copy, Debug)]
pub struct Verifier<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Checks of the whole store.
    pub fn verifier(&self) -> Verifier<'_> {
        Verifier { engine: self }
    }
}

impl Verifier<'_> {
    /// Reads everything once. Lists problems without repairing them. Everything not listed is readable.
    pub fn verify(self, progress: &mut dyn FnMut(Progress)) -> Result<Verified> {
        let mut out = Verified::default();
        // before the read transaction, since another process may commit meanwhile
        let lost = out.note("the newest checkpoint", self.engine.store.lost());
        out.problems.extend(lost.flatten());
        let _moment = self.engine.store.reading()?;
        let sound = self.verify_database(&mut out);
        out.note("database", sound);
        let read = self.verify_contents(&mut out, progress);
        out.note("contents", read);
        let counted = self.verify_nodes(&mut out);
        out.note("nodes", counted);
        let checked = self.verify_changes(&mut out, progress);
        out.note("changes", checked);
        let checked = self.verify_heads(&mut out);
        out.note("file states", checked);
        Ok(out)
    }

    fn verify_database(self, out: &mut Verified) -> Result<()> {
        let conn = &self.engine.store.conn;
        let mut select = conn.prepare("PRAGMA integrity_check")?;
        for line in select.query_map([], |r| r.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                out.problems.push(format!("database: {line}"));
            }
        }
        let mut select = conn.prepare("PRAGMA foreign_key_check")?;
        let mut dangling = 0;
        for row in select.query_map([], |_| Ok(()))? {
            row?;
            dangling += 1;
        }
        if dangling > 0 {
            out.problems.push(format!(
                "database: {dangling} rows refer to rows that are missing"
            ));
        }
        Ok(())
    }

    /// Reads all contents and counts the readable ones.
    fn verify_contents(self, out: &mut Verified, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let conn = &self.engine.store.conn;
        let total: Option<u64> = out.note("contents", blob::count(conn));
        let mut lost = Vec::new();
        for (done, id) in (1..).zip(blob::hashes(conn)?) {
            match id {
                Ok(id) => match self.engine.store.read(&id, &mut |_| Ok(())) {
                    Ok(()) => out.blobs += 1,
                    Err(e) => lost.push((id, e)),
                },
                Err(e) => out.problems.push(e.to_string()),
            }
            progress(Progress {
                what: "reading contents",
                done,
                total,
            });
        }
        if lost.is_empty() {
            return Ok(());
        }
        let mut places = lost.iter().map(|(id, _)| (*id, Vec::new())).collect();
        let found = self.places(&mut places);
        out.note("where contents belong", found);
        for (id, e) in lost {
            let (at, more) = (&places[&id], places[&id].len().saturating_sub(PLACES));
            let at = at[..at.len() - more].join(", ");
            out.problems.push(match (at.is_empty(), more) {
                (true, _) => e.to_string(),
                (false, 0) => format!("{e}: {at}"),
                (false, more) => format!("{e}: {at} and {more} more"),
            });
        }
        Ok(())
    }

    /// Adds to each of these contents the files and checkpoints it belongs to.
    fn places(self, of: &mut HashMap<ContentId, Vec<String>>) -> Result<()> {
        let conn = &self.engine.store.conn;
        let mut add = |content: Option<ContentId>, place: &dyn Fn() -> String| {
            if let Some(places) = content.and_then(|id| of.get_mut(&id)) {
                places.push(place());
            }
        };
        for (path, row) in file_state::all(conn, self.engine.here.root)? {
            // a file that has changed is found with its changes
            if row.file.is_none() {
                add(row.image.content(), &|| match row.since {
                    Some(since) => format!("{} since {since}", path.display()),
                    None => format!("{} since the start", path.display()),
                });
            }
        }
        for file in file::ids(conn)? {
            for change in history::changes_of_file(conn, file?)? {
                for (state, at) in [(&change.before, "before"), (&change.after, "at")] {
                    if let Some(placed) = state {
                        let node = change.node;
                        add(placed.image.content(), &|| {
                            format!("{} {at} {node}", placed.path.display())
                        });
                    }
                }
            }
        }
        for (content, tool) in call::input_contents(conn)? {
            add(Some(content), &|| format!("the input of a call of {tool}"));
        }
        Ok(())
    }

    /// Reads all nodes and counts the readable ones.
    fn verify_nodes(self, out: &mut Verified) -> Result<()> {
        let conn = &self.engine.store.conn;
        for kind in node_checks::kinds(conn)? {
            if out.note("a node", kind).is_some() {
                out.nodes += 1;
            }
        }
        self.verify_lists(out)?;
        for (node, path) in node_text::missing(conn)? {
            out.problems.push(format!(
                "{node}: unsaved text of {} is missing",
                path.display()
            ));
        }
        for node_checks::ChainRow { id, parent, before } in node_checks::chains(conn)? {
            if parent != before {
                out.problems.push(format!(
                    "the parent of {id} is not the node before it on its branch"
                ));
            }
        }
        Ok(())
    }

    /// Checks that all JSON in rows can be read.
    fn verify_lists(self, out: &mut Verified) -> Result<()> {
        let conn = &self.engine.store.conn;
        for id in node_checks::ids(conn)? {
            out.note("a node", id.and_then(|id| history::node(conn, id)));
        }
        let root = self.engine.here.root;
        out.note("the last look", scan::unfinished(conn, root));
        out.note("the last look", scan::coverage(conn, root));
        out.note("the last look", file_state::excludes(conn, root));
        for damaged in journal::damaged_lists(conn)? {
            out.note::<()>("an operation", Err(damaged));
        }
        for damaged in call::damaged(conn)? {
            out.note::<()>("a call", Err(damaged));
        }
        for damaged in operation::damaged(conn)? {
            out.note::<()>("an operation", Err(damaged));
        }
        Ok(())
    }

    /// Checks that every change begins where the one before it ended, and that its set is consistent.
    fn verify_changes(self, out: &mut Verified, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let total = out.note("changes", change::count(conn));
        for file in file::ids(conn)? {
            let checked =
                file.and_then(|file| self.verify_file(&ancestry, file, total, out, progress));
            out.note("changes of a file", checked);
        }
        Ok(())
    }

    fn verify_file(
        self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        total: Option<u64>,
        out: &mut Verified,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let conn = &self.engine.store.conn;
        let changes = history::changes_of_file(conn, file)?;
        for (at, change) in changes.iter().enumerate() {
            out.changes += 1;
            progress(Progress {
                what: "checking changes",
                done: out.changes,
                total,
            });
            let mut before: Option<&FileVersion> = None;
            for earlier in changes[..at].iter().rev() {
                if ancestry.is_ancestor(earlier.node, change.node)? {
                    before = Some(&earlier.after);
                    break;
                }
            }
            if before.is_some_and(|b| *b != change.before) {
                out.problems.push(format!(
                    "{}: a change does not begin where the one before it ended",
                    change.node
                ));
            }
            for content in [&change.before, &change.after]
                .into_iter()
                .flatten()
                .filter_map(|p| p.image.content())
            {
                if !crate::store::has(conn, &content)? {
                    out.problems
                        .push(format!("{}: content {content} is missing", change.node));
                }
            }
            if history::version(conn, file, history::set_at(conn, file, change.node)?)?.is_none() {
                out.problems.push(format!(
                    "{}: the state after a change is not recorded",
                    change.node
                ));
            }
            let set = history::in_force(ancestry, file, change.node)?;
            if history::SetHash::of(&set) != history::set_at(conn, file, change.node)? {
                out.problems.push(format!(
                    "{}: the edits in force do not match their record",
                    change.node
                ));
            }
        }
        Ok(())
    }

    /// Checks that the file states match the head.
    fn verify_heads(self, out: &mut Verified) -> Result<()> {
        let conn = &self.engine.store.conn;
        let Some(head) = self.engine.history().head()? else {
            return Ok(());
        };
        let ancestry = Ancestry::new(conn);
        let mut placed = HashMap::new();
        let mut in_git = Vec::new();
        for (path, row) in file_state::all(conn, self.engine.here.root)? {
            if let Image::InGit { object, .. } = row.image {
                in_git.push((path.clone(), object));
            }
            if let Some(content) = row.image.content()
                && !crate::store::has(conn, &content)?
            {
                out.problems
                    .push(format!("{}: its content is missing", path.display()));
            }
            if let Some(file) = row.file {
                placed.insert(file, (path, row.image));
            }
        }
        for path in backed_content::missing(conn, self.engine.here.root, &in_git)? {
            out.problems.push(format!(
                "{}: its content was only in git, which no longer has it",
                path.display()
            ));
        }
        for file in changed_files::all(conn)? {
            // a file first captured on another branch is unknown on this one
            let state = self
                .engine
                .history()
                .known_at(&ancestry, file, head)
                .and_then(|known| Ok(history::state_at(&ancestry, file, head)?.filter(|_| known)));
            let Some(state) = out.note("a file at the head", state) else {
                continue;
            };
            let known: Option<(_, Image)> = placed.get(&file).cloned();
            // a fork lacks files that could not be written to it
            let unkept = |p: &crate::model::Placed| matches!(p.image, Image::Opaque(_));
            if known.is_none() && state.as_ref().is_some_and(unkept) {
                continue;
            }
            if state.as_ref().map(|p| (p.path.clone(), p.image)) != known {
                out.problems.push(format!(
                    "the file state does not match the head: {}",
                    state.map_or_else(|| "a deleted file".to_owned(), |p| p.path.display())
                ));
            }
        }
        Ok(())
    }
}
