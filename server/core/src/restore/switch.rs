//! Going to another branch: every file from its state at this head to its state at that one. No node is
//! made for it; what the user takes along becomes one on the other branch.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::params;

use super::goal::Turnout;
use super::journal::{self, Line, Phase};
use super::plan::{Draft, gap_of, opaque};
use super::record::record_documents;
use super::replay::Replay;
use super::types::{Conflict, FilePlan, OnConflict, Resolution};
use crate::capture::settle::NO_STAT;
use crate::disk::Stat;
use crate::editors::pending;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, Here, NewChange, NewNode, branches};
use crate::known;
use crate::model::{
    BranchId, ChangeId, Coverage, FileId, FileState, GitHead, Image, Kind, NodeId, OpId, Origin,
    RelPath, Role,
};
use crate::rules::{Rules, was_ignored};
use crate::scan::Known;
use crate::store::{self, Durable};

impl Draft<'_> {
    pub(super) fn switch(&mut self, turnout: &Turnout) -> Result<()> {
        let engine = self.engine;
        let conn = &engine.store.conn;
        let there = branches::info(conn, engine.here, turnout.to)?;
        if let Some(dir) = &there.root {
            return Err(Error::refused(
                format!("{} is the branch of {}", there.name, dir.display()),
                "work there, or fork it: one branch has one directory at a time",
            ));
        }
        let to = there
            .head
            .ok_or_else(|| Error::NoStore(engine.root.path.clone()))?;
        let ancestry = Ancestry::new(conn);
        let carried = if turnout.carry {
            engine.users_last_edits(&ancestry, self.head)?
        } else {
            BTreeMap::new()
        };
        let mut files = engine.files_between(&ancestry, self.head, to)?;
        files.extend(engine.adopted_between(&ancestry, self.head, to)?);
        files.extend(carried.keys());
        let mut unknown_there = Vec::new();
        for file in files {
            let before = if engine.known_at(&ancestry, file, self.head)? {
                history::state_at(&ancestry, file, self.head)?
            } else {
                None
            };
            if !engine.known_at(&ancestry, file, to)? {
                unknown_there.push((file, before));
                continue;
            }
            let after = history::state_at(&ancestry, file, to)?;
            if before.is_none()
                && let Some(placed) = &after
                && engine.root.look(&placed.path)?.image == placed.image
            {
                continue;
            }
            let mut part = FilePlan {
                file,
                before,
                after,
                taken_out: Vec::new(),
                put_back: Vec::new(),
                as_user: false,
                merged: false,
                new_content: None,
            };
            if let Some(edits) = carried.get(&file)
                && !self.carry(&ancestry, turnout, to, edits, &mut part)?
            {
                continue;
            }
            self.take(part);
        }
        // what only this branch knows stays, unless the other one needs its place
        let arriving: BTreeSet<RelPath> = self
            .plan
            .files
            .iter()
            .filter_map(|f| f.after.as_ref().map(|p| p.path.clone()))
            .collect();
        for (file, before) in unknown_there {
            if before.as_ref().is_some_and(|p| arriving.contains(&p.path)) {
                self.take(FilePlan {
                    file,
                    before,
                    after: None,
                    taken_out: Vec::new(),
                    put_back: Vec::new(),
                    as_user: false,
                    merged: false,
                    new_content: None,
                });
            }
        }
        self.finish(&ancestry, Some(to))
    }

    fn take(&mut self, part: FilePlan) {
        if part.before == part.after && !part.as_user {
            return;
        }
        let unkept = opaque(&part.before).or_else(|| opaque(&part.after));
        let at = part.before.as_ref().or(part.after.as_ref());
        match (unkept, at) {
            (Some(why), Some(at)) => self.skip(
                at.path.clone(),
                gap_of(why),
                "its content is not kept; it stays as it is",
            ),
            _ => self.plan.files.push(part),
        }
    }

    /// Merges the user's edits onto the other branch's state. `false`: they collide, and nobody decided.
    fn carry(
        &mut self,
        ancestry: &Ancestry<'_>,
        turnout: &Turnout,
        to: NodeId,
        edits: &BTreeSet<ChangeId>,
        part: &mut FilePlan,
    ) -> Result<bool> {
        let now = history::in_force(ancestry, part.file, to)?;
        let wanted: BTreeSet<ChangeId> = now.union(edits).copied().collect();
        if wanted == now {
            return Ok(true);
        }
        let outcome = Replay {
            store: &self.engine.store,
            file: part.file,
            current: &part.after,
            now: &now,
            wanted: &wanted,
            // to the replay, what is put back is the target's side; to the user it is what stands here
            on_conflict: match self.r.on_conflict {
                OnConflict::Current => OnConflict::Target,
                OnConflict::Target => OnConflict::Current,
                other => other,
            },
            target: "your edits",
        }
        .run()?;
        let resolution = match self.r.on_conflict {
            OnConflict::Fail => None,
            OnConflict::Markers => Some(Resolution::Markers),
            OnConflict::Current => Some(Resolution::Current),
            OnConflict::Target => Some(Resolution::Target),
        };
        let collide = !outcome.conflicts.is_empty();
        let conflicts = outcome.conflicts.into_iter();
        self.plan.conflicts.extend(conflicts.map(|c| Conflict {
            resolution,
            reason: format!("carried to {}: {}", turnout.target, c.reason),
            ..c
        }));
        if collide && self.r.on_conflict == OnConflict::Fail {
            return Ok(false);
        }
        part.as_user = outcome.state != part.after;
        part.merged = outcome.merged;
        part.new_content = outcome.content;
        part.after = outcome.state;
        Ok(true)
    }
}

/// A file's way from one branch to the other.
struct Way {
    file: FileId,
    before: FileState,
    /// None: not known there.
    after: Option<FileState>,
}

impl Engine {
    /// The user's edits at the tip of the chain, after which nothing else was recorded.
    fn users_last_edits(
        &self,
        ancestry: &Ancestry<'_>,
        head: NodeId,
    ) -> Result<BTreeMap<FileId, BTreeSet<ChangeId>>> {
        let conn = &self.store.conn;
        let mut edits: BTreeMap<FileId, BTreeSet<ChangeId>> = BTreeMap::new();
        let mut at = Some(head);
        while let Some(id) = at {
            let node = history::node(conn, id)?;
            let changes = history::changes_of_node(conn, id)?;
            let users = |c: &crate::model::Change| c.role == Role::Edit && c.origin == Origin::USER;
            if node.kind != Kind::External || !changes.iter().all(users) {
                break;
            }
            for change in changes {
                edits.entry(change.file).or_default().insert(change.id);
            }
            at = ancestry.parent(id)?;
        }
        Ok(edits)
    }

    /// The files whose record a switch moves.
    fn ways(&self, from: NodeId, to: NodeId) -> Result<Vec<Way>> {
        let _moment = self.store.reading()?;
        let ancestry = Ancestry::new(&self.store.conn);
        let mut files = self.files_between(&ancestry, from, to)?;
        files.extend(self.adopted_between(&ancestry, from, to)?);
        let way = |file: FileId| -> Result<Way> {
            let known = |node| self.known_at(&ancestry, file, node);
            let state = |node| history::state_at(&ancestry, file, node);
            Ok(Way {
                file,
                before: if known(from)? { state(from)? } else { None },
                after: known(to)?.then(|| state(to)).transpose()?,
            })
        };
        files.into_iter().map(way).collect()
    }

    /// Records a switch by its journal: the root's branch, what is on disk by now, and what was carried.
    pub(super) fn record_switch(&mut self, op: OpId, to: BranchId) -> Result<NodeId> {
        let conn = &self.store.conn;
        let lines = journal::lines(conn, op)?;
        let carried: Vec<_> = journal::files(conn, op)?
            .into_iter()
            .filter(|f| f.as_user)
            .collect();
        let (here, root) = (self.here, &self.root);
        let there = Here { branch: to, ..here };
        let heads = (history::head(conn, here.branch)?, history::head(conn, to)?);
        let (Some(from), Some(target)) = heads else {
            return Err(Error::NoStore(root.path.clone()));
        };
        // the lock is held: nothing of this moves before it is written
        let ways = self.ways(from, target)?;
        let ancestry = Ancestry::new(conn);
        let mut only_here: Vec<(RelPath, Known)> = Vec::new();
        for (path, row) in known::all(conn, here.root)? {
            if let (None, Some(since)) = (row.file, row.since)
                && !ancestry.is_ancestor(since, target)?
            {
                only_here.push((path, row));
            }
        }
        let mut stats: HashMap<RelPath, Stat> = HashMap::new();
        let mut incomplete = false;
        for Line { path, left, .. } in &lines {
            incomplete |= left;
            if let Some(stat) = root.stat(path).filter(|_| !left) {
                stats.insert(path.clone(), Stat { racy: true, ..stat });
            }
        }
        let edits = journal::edits(conn, op)?;
        let git = crate::git::head(&root.path);
        let dir = self.store.dir.clone();
        let node = self.store.write(Durable::Power, |conn| {
            let unsaved = edits.iter().any(|e| e.text.is_some());
            let left = unsaved.then(|| {
                let new = NewNode {
                    kind: Kind::Manual,
                    session: None,
                    turn: None,
                    call: None,
                    label: Some("not saved before a switch"),
                    git: &git,
                    coverage: &Coverage::default(),
                };
                history::insert_node(conn, here, &new)
            });
            let left = left.transpose()?;
            let generation = known::next_generation(conn, here.root)?;
            let records = Records {
                conn,
                here,
                generation,
                stats: &stats,
            };
            // what came into sight on this branch alone gets an identity, by which it is found again
            let mut strangers: Vec<(RelPath, Image)> = Vec::new();
            for (path, row) in &only_here {
                let file = known::identify(conn, path, row.since)?;
                history::note_base(conn, file, path, row.image)?;
                known::remove(conn, here.root, path)?;
                strangers.push((path.clone(), row.image));
            }
            for way in &ways {
                if let Some(before) = &way.before {
                    known::remove(conn, here.root, &before.path)?;
                    if way.after.is_none() {
                        strangers.push((before.path.clone(), before.image));
                    }
                }
            }
            for way in &ways {
                if let Some(after) = &way.after {
                    records.place(way.file, &way.before, after)?;
                }
                let after = way.after.iter().flatten();
                for placed in way.before.iter().chain(after) {
                    pending::done(conn, here.root, &placed.path)?;
                }
            }
            record_documents(conn, here, op, left, &edits)?;
            branches::take_over(conn, here.root, to)?;
            conn.execute(
                "UPDATE root SET branch = ?2 WHERE id = ?1",
                params![here.root, to],
            )?;
            // they are on disk still: the other branch takes them up, unless it ignores them
            strangers.retain(|(path, _)| !matches!(known::get(conn, here.root, path), Ok(Some(_))));
            let mut seen = seen_there(conn, here, &dir, strangers)?;
            seen.retain(|(path, _)| root.stat(path).is_some());
            let mut node = None;
            if !carried.is_empty() || !seen.is_empty() {
                let label = (!carried.is_empty())
                    .then(|| branches::info(conn, there, here.branch).map(|b| b.name))
                    .transpose()?
                    .map_or("came into sight".to_owned(), |name| {
                        format!("carried from {name}")
                    });
                node = Some(external(conn, there, &label, &git)?);
            }
            if let Some(node) = node {
                for part in &carried {
                    let before = &history::state_at(&Ancestry::new(conn), part.file, target)?;
                    let change = NewChange {
                        node,
                        file: part.file,
                        before,
                        after: &part.after,
                        origin: Origin::USER,
                        provisional: false,
                        made_dirs: 0,
                    };
                    history::insert_edit(conn, Some(target), &change)?;
                    if let Some(before) = before {
                        known::remove(conn, here.root, &before.path)?;
                    }
                    records.place(part.file, before, &part.after)?;
                }
                for (path, image) in seen {
                    let row = Known {
                        image,
                        file: None,
                        since: Some(node),
                        generation,
                        stat: NO_STAT,
                    };
                    known::put(conn, here.root, &path, &row)?;
                }
            }
            conn.execute(
                "UPDATE operation SET node = ?2, state = ?3, detail = ?4 WHERE id = ?1",
                params![
                    op,
                    target,
                    Phase::Recorded.name(),
                    if incomplete { "incomplete" } else { "" }
                ],
            )?;
            Ok(node.unwrap_or(target))
        })?;
        self.here = there;
        crate::fault::point("recorded");
        Ok(node)
    }
}

/// The rows of what is known to be on disk, for files that go somewhere else.
struct Records<'a> {
    conn: &'a rusqlite::Connection,
    here: Here,
    generation: i64,
    stats: &'a HashMap<RelPath, Stat>,
}

impl Records<'_> {
    fn place(&self, file: FileId, before: &FileState, after: &FileState) -> Result<()> {
        let Some(after) = after else {
            let left = before.as_ref().map(|p| &p.path);
            return match left {
                Some(_) => known::note_identity(self.conn, self.here.root, file, left),
                None => Ok(()),
            };
        };
        let row = Known {
            image: after.image,
            file: Some(file),
            since: history::since(self.conn, file)?,
            generation: self.generation,
            // what was not exchanged just now is read at the next look
            stat: self.stats.get(&after.path).copied().unwrap_or(NO_STAT),
        };
        known::put(self.conn, self.here.root, &after.path, &row)?;
        known::note_identity(self.conn, self.here.root, file, None)
    }
}

/// Those that the rules, as they are by now, do not ignore.
fn seen_there(
    conn: &rusqlite::Connection,
    here: Here,
    dir: &std::path::Path,
    paths: Vec<(RelPath, Image)>,
) -> Result<Vec<(RelPath, Image)>> {
    if paths.is_empty() {
        return Ok(paths);
    }
    let rules = Rules::base(&known::excludes(conn, here.root)?.unwrap_or_default());
    let mut text = |file: &RelPath| {
        let row = known::get(conn, here.root, file).ok()??;
        store::get(conn, dir, &row.image.content()?).ok()
    };
    Ok(paths
        .into_iter()
        .filter(|(path, _)| !was_ignored(&rules, path, &mut text))
        .collect())
}

fn external(conn: &rusqlite::Connection, here: Here, label: &str, git: &GitHead) -> Result<NodeId> {
    let new = NewNode {
        kind: Kind::External,
        session: None,
        turn: None,
        call: None,
        label: Some(label),
        git,
        coverage: &Coverage::default(),
    };
    history::insert_node(conn, here, &new)
}
