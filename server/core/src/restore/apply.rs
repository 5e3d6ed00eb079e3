//! Carrying out a plan: journal, stage beside the targets, exchange one by one, look at what was
//! displaced, record the node. And recovery: from the journal alone, forwards or backwards.

use std::time::{Duration, Instant};

use rusqlite::params;

use super::goal::Aim;
use super::journal::{self, Begin, JournalFile, Line, Phase};
use super::types::{Applied, Plan, Request};
use crate::capture::settle::NO_STAT;
use crate::disk::{Look, Place, Root};
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::history::{self, NewChange, NewNode};
use crate::known;
use crate::model::{Coverage, Image, Kind, NodeId, OpId, Origin, RelPath};
use crate::scan::Known;
use crate::store::{self, Durable, Store};

/// A foreign content that turned up under one of our own names gets this name beside the file.
const SAVED: &str = ".backstitch-saved-";

/// How one path's exchange came out.
enum Step {
    Done,
    /// It was so already, by somebody else's hand unless an earlier run was cut off here.
    Already,
    /// Another writer was there first; nothing was overwritten.
    Surprise(String),
}

impl Engine {
    /// Does what the request means. With a fingerprint: just what was shown under it, or nothing.
    pub fn apply(
        &mut self,
        r: &Request,
        fingerprint: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Applied> {
        let lock = self.store.restore_lock(true, Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "another rewind is under way, or a capture that does not end",
                "try again in a moment",
            )
        })?;
        self.recover_locked()?;
        self.look_unlocked()?;
        let plan = self.plan_recorded(r)?;
        if fingerprint.is_some_and(|f| f != plan.fingerprint) {
            return Err(Error::refused(
                "the files changed since this plan was shown",
                "look at the new plan (--dry-run), then confirm that one",
            ));
        }
        let open = plan.open_conflicts();
        if open > 0 {
            return Err(Error::refused(
                format!(
                    "{} in the way; nothing was changed",
                    counted(open, "conflict")
                ),
                "choose with --on-conflict markers|current|target, narrow it with --path, or take the state as it was with --exact",
            ));
        }
        if plan.is_empty() {
            return Ok(Applied {
                plan,
                node: None,
                operation: None,
                incomplete: Vec::new(),
                refused: Vec::new(),
            });
        }
        let aim = self.aim(r, plan.head)?;
        let op = self.begin(&plan, &aim)?;
        self.forwards(op, false, progress)?;
        let node = self.record_restore(op)?;
        let incomplete = self.clean_up(op)?;
        Ok(Applied {
            plan,
            node: Some(node),
            operation: Some(op),
            incomplete,
            refused: Vec::new(),
        })
    }

    /// Finishes what a process left half done, if there is something and nobody is at it.
    pub(crate) fn recover(&mut self) -> Result<()> {
        if journal::open(&self.store.conn, self.here)?.is_none() {
            return Ok(());
        }
        match self.store.restore_lock(true, Duration::from_millis(500))? {
            Some(_lock) => self.recover_locked(),
            // whoever holds the lock is the one who works on it
            None => Ok(()),
        }
    }

    /// The lock under which captures look at the disk. A restore whose process died, maybe while this
    /// waited for it, is finished first: nobody records a tree that is half done.
    pub(crate) fn quiet_lock(&mut self, wait: Duration) -> Result<Option<store::Lock>> {
        let until = Instant::now() + wait;
        let left = || until.saturating_duration_since(Instant::now());
        loop {
            let Some(lock) = self.store.restore_lock(false, left())? else {
                return Ok(None);
            };
            if journal::open(&self.store.conn, self.here)?.is_none() {
                return Ok(Some(lock));
            }
            drop(lock);
            match self.store.restore_lock(true, left())? {
                Some(_lock) => self.recover_locked()?,
                None => return Ok(None),
            }
        }
    }

    fn recover_locked(&mut self) -> Result<()> {
        while let Some((op, phase)) = journal::open(&self.store.conn, self.here)? {
            match phase {
                Phase::Open => {
                    self.forwards(op, true, &mut |_| {})?;
                    self.record_restore(op)?;
                    self.clean_up(op)?;
                }
                Phase::Backwards => {
                    self.backwards(op)?;
                }
                Phase::Recorded => {
                    self.clean_up(op)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, plan: &Plan, aim: &Aim) -> Result<OpId> {
        let here = self.here;
        let mut lines = Vec::new();
        for (path, (before, after)) in journal::transitions(&plan.files) {
            if before == after {
                continue;
            }
            let made_dirs = match (before.is_absent(), after.is_absent()) {
                (true, _) => self.root.missing_parents(&path),
                (_, true) => self.dirs_made_with(plan, &path)?,
                _ => 0,
            };
            lines.push(Line {
                path,
                before,
                after,
                made_dirs,
                temp: None,
                left: false,
                detail: String::new(),
            });
        }
        let dir = self.store.dir.clone();
        let op = self.store.write(Durable::Power, |conn| {
            for part in &plan.files {
                if let Some(content) = &part.new_content {
                    let like = part.before.as_ref().and_then(|p| p.image.content());
                    store::put(conn, &dir, content, like)?;
                }
            }
            journal::begin(
                conn,
                here,
                &Begin {
                    kind: aim.kind,
                    of: aim.of,
                    target: &aim.target,
                    files: &plan.files,
                    lines: &lines,
                },
            )
        })?;
        crate::fault::point("journal written");
        Ok(op)
    }

    /// How many directories came into being with the file that now leaves this path.
    fn dirs_made_with(&self, plan: &Plan, path: &RelPath) -> Result<u32> {
        let Some(part) = plan
            .files
            .iter()
            .find(|f| f.before.as_ref().is_some_and(|p| p.path == *path))
        else {
            return Ok(0);
        };
        let changes = history::changes_of_file(&self.store.conn, part.file)?;
        let at = |s: &crate::model::FileState| s.as_ref().map(|p| p.path.clone());
        Ok(changes
            .iter()
            .rev()
            .find(|c| at(&c.after).as_ref() == Some(path) && at(&c.before).as_ref() != Some(path))
            .map_or(0, |c| c.made_dirs))
    }

    /// Exchanges every path of the journal. While recovering, what another writer has is left alone;
    /// otherwise it ends the whole restore, and everything is taken back.
    fn forwards(
        &mut self,
        op: OpId,
        recovering: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let lines = journal::lines(&self.store.conn, op)?;
        let total = Some(lines.len() as u64);
        // what goes makes room for what comes
        let (going, coming): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.after.is_absent());
        let mut done = 0;
        let mut not_ours = Vec::new();
        let mut surprise = None;
        for line in going.into_iter().chain(coming) {
            if line.left {
                continue;
            }
            crate::fault::point("before exchange");
            let outcome = Exchange {
                root: &self.root,
                store: &self.store,
                line,
                from: line.before,
                to: line.after,
            }
            .run();
            crate::fault::point("after exchange");
            match outcome {
                Ok(Step::Done) => {}
                Ok(Step::Already) => not_ours.push(&line.path),
                Ok(Step::Surprise(why)) if recovering => {
                    self.store.write(Durable::Power, |conn| {
                        journal::leave(conn, op, &line.path, &why)
                    })?;
                }
                Ok(Step::Surprise(why)) => {
                    // swapped back already, or never touched
                    not_ours.push(&line.path);
                    surprise = Some(Error::refused(
                        format!(
                            "{} {why}; everything was put back as it was",
                            line.path.display()
                        ),
                        "close what writes to it, or leave it out with --path, and try again",
                    ));
                    break;
                }
                Err(e) if recovering => {
                    let why = e.to_string();
                    self.store.write(Durable::Power, |conn| {
                        journal::leave(conn, op, &line.path, &why)
                    })?;
                }
                Err(e) => {
                    surprise = Some(Error::refused(
                        format!(
                            "{} cannot be restored: {e}; everything was put back as it was",
                            line.path.display()
                        ),
                        "mend that, and try again",
                    ));
                    break;
                }
            }
            done += 1;
            progress(Progress {
                what: "restoring",
                done,
                total,
            });
        }
        if let Some(error) = surprise {
            self.store.write(Durable::Power, |conn| {
                for path in not_ours {
                    journal::leave(conn, op, path, "somebody else's")?;
                }
                journal::set_state(conn, op, Phase::Backwards.name(), &error.to_string())
            })?;
            self.backwards(op)?;
            return Err(error);
        }
        for line in &lines {
            let made = if line.before.is_absent() {
                line.made_dirs
            } else {
                0
            };
            self.root.sync_parents(&line.path, made);
        }
        crate::fault::point("exchanged");
        Ok(())
    }

    fn backwards(&mut self, op: OpId) -> Result<()> {
        crate::fault::point("backwards");
        let lines = journal::lines(&self.store.conn, op)?;
        let mut left = Vec::new();
        // what came makes room for what had gone
        let (came, others): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.before.is_absent());
        for line in came.into_iter().chain(others).filter(|l| !l.left) {
            let back = Exchange {
                root: &self.root,
                store: &self.store,
                line,
                from: line.after,
                to: line.before,
            };
            crate::fault::point("before exchanging back");
            match back.run() {
                Ok(Step::Done | Step::Already) => {}
                Ok(Step::Surprise(why)) => left.push(format!("{}: {why}", line.path.display())),
                Err(e) => left.push(e.to_string()),
            }
        }
        for line in &lines {
            left.extend(self.remove_temps(line, line.after).iter().map(saved_as));
            if line.before.is_absent() {
                self.root.remove_parents(&line.path, line.made_dirs);
            }
            self.root.sync_parents(&line.path, line.made_dirs);
        }
        self.store.write(Durable::Power, |conn| {
            journal::set_state(conn, op, "rolled back", &left.join("; "))
        })
    }

    /// Records what a restore did as a node at the head, by its journal.
    fn record_restore(&mut self, op: OpId) -> Result<NodeId> {
        let lines = journal::lines(&self.store.conn, op)?;
        let files = journal::files(&self.store.conn, op)?;
        let made = history::operation(&self.store.conn, op)?;
        let git = crate::git::head(&self.root.path);
        let (root, here) = (&self.root, self.here);
        let stats: Vec<(RelPath, Option<crate::disk::Stat>)> = lines
            .iter()
            .map(|l| (l.path.clone(), root.stat(&l.path)))
            .collect();
        let node = self.store.write(Durable::Power, |conn| {
            let head = history::head(conn, here.branch)?.ok_or_else(|| {
                Error::refused("the history has no head", "`backstitch verify` says more")
            })?;
            let label = made.kind.name();
            let label = format!("{label} {}", made.target);
            let new = NewNode {
                kind: Kind::Rewind,
                session: None,
                turn: None,
                call: None,
                label: Some(&label),
                git: &git,
                coverage: &Coverage::default(),
            };
            let node = history::insert_node(conn, here, &new)?;
            let generation = known::next_generation(conn, here.root)?;
            let left = |p: &Option<crate::model::Placed>| {
                p.as_ref()
                    .is_some_and(|p| lines.iter().any(|l| l.left && l.path == p.path))
            };
            let mut incomplete = false;
            let whole: Vec<&JournalFile> = files
                .iter()
                .filter(|f| {
                    let alone = left(&f.before) || left(&f.after);
                    incomplete |= alone;
                    !alone
                })
                .collect();
            for part in &whole {
                let arrives = part
                    .after
                    .as_ref()
                    .filter(|a| part.before.as_ref().is_none_or(|b| b.path != a.path));
                let made_dirs = arrives
                    .and_then(|a| lines.iter().find(|l| l.path == a.path))
                    .map_or(0, |l| l.made_dirs);
                let change = NewChange {
                    node,
                    file: part.file,
                    before: &part.before,
                    after: &part.after,
                    origin: Origin::USER,
                    provisional: false,
                    made_dirs,
                };
                if part.as_user {
                    history::insert_edit(conn, Some(head), &change)?;
                } else {
                    history::insert_restore(conn, head, &change, &part.taken_out, &part.put_back)?;
                }
            }
            // rows: first what leaves, then what arrives, since one may take the other's place
            for part in &whole {
                if let Some(from) = &part.before {
                    known::remove(conn, here.root, &from.path)?;
                }
            }
            for part in &whole {
                let since = conn
                    .prepare_cached("SELECT since FROM file WHERE id = ?1")?
                    .query_row([part.file], |r| r.get(0))?;
                if let Some(to) = &part.after {
                    let stat = stats
                        .iter()
                        .find(|(p, _)| *p == to.path)
                        .and_then(|(_, s)| *s);
                    let row = Known {
                        image: to.image,
                        file: Some(part.file),
                        since,
                        generation,
                        // the content may have changed between the exchange and this look
                        stat: stat.map_or(NO_STAT, |s| crate::disk::Stat { racy: true, ..s }),
                    };
                    known::put(conn, here.root, &to.path, &row)?;
                    known::note_identity(conn, here.root, part.file, None)?;
                } else {
                    let from = part.before.as_ref().map(|p| &p.path);
                    known::note_identity(conn, here.root, part.file, from)?;
                }
            }
            conn.execute(
                "UPDATE operation SET node = ?2, state = ?3, detail = ?4 WHERE id = ?1",
                params![
                    op,
                    node,
                    Phase::Recorded.name(),
                    if incomplete { "incomplete" } else { "" }
                ],
            )?;
            Ok(node)
        })?;
        crate::fault::point("recorded");
        Ok(node)
    }

    /// Removes our own names beside the files; the paths that were left alone.
    fn clean_up(&mut self, op: OpId) -> Result<Vec<RelPath>> {
        let lines = journal::lines(&self.store.conn, op)?;
        let mut saved = Vec::new();
        for line in &lines {
            saved.extend(self.remove_temps(line, line.before));
            crate::fault::point("own name removed");
            if line.after.is_absent() && !line.left {
                self.root.remove_parents(&line.path, line.made_dirs);
                self.root.sync_parents(&line.path, line.made_dirs);
            }
        }
        let left: Vec<RelPath> = lines
            .iter()
            .filter(|l| l.left)
            .map(|l| l.path.clone())
            .collect();
        let state = if left.is_empty() {
            "done"
        } else {
            "incomplete"
        };
        let detail = lines
            .iter()
            .filter(|l| l.left)
            .map(|l| format!("{}: {}", l.path.display(), l.detail))
            .chain(saved.iter().map(saved_as))
            .collect::<Vec<_>>()
            .join("; ");
        self.store.write(Durable::Process, |conn| {
            journal::set_state(conn, op, state, &detail)
        })?;
        Ok(left)
    }

    fn remove_temps(&self, line: &Line, expected: Image) -> Vec<RelPath> {
        let temp = line.temp.as_ref();
        let aside = temp.and_then(|t| t.sibling(&aside(t.split().1)));
        [temp.cloned(), aside]
            .into_iter()
            .flatten()
            .filter_map(|own| self.remove_temp(line, &own, expected))
            .collect()
    }

    /// Removes what lies under our name, unless it is a content that nobody has recorded: that one is
    /// given a name that shows, which is returned.
    fn remove_temp(&self, line: &Line, path: &RelPath, expected: Image) -> Option<RelPath> {
        let gone = || -> Result<Option<RelPath>> {
            let Some(temp) = self.root.place(path)? else {
                return Ok(None);
            };
            let (_, own) = path.split();
            temp.sibling(&staging(own))?.remove()?;
            let image = temp.look()?.image;
            if image == expected || image == line.before || image == line.after {
                return temp.remove().map(|()| None);
            }
            if !image.is_absent() {
                let (_, name) = line.path.split();
                let number = own.get(crate::disk::TEMP_PREFIX.len()..).unwrap_or(own);
                let saved = [name, SAVED.as_bytes(), number].concat();
                if temp.rename_to_free(&temp.sibling(&saved)?)? {
                    return Ok(path.sibling(&saved));
                }
            }
            Ok(None)
        };
        // what cannot be removed stays hidden and harmless
        gone().ok().flatten()
    }
}

fn saved_as(path: &RelPath) -> String {
    format!("what another writer left was saved as {}", path.display())
}

/// The name under which a content is still being written.
fn staging(temp: &[u8]) -> Vec<u8> {
    [temp, b"-part"].concat()
}

/// Where a target lies for a moment that cannot be exchanged in one step.
fn aside(temp: &[u8]) -> Vec<u8> {
    [temp, b"-old"].concat()
}

/// One path's way from one image to another.
struct Exchange<'a> {
    root: &'a Root,
    store: &'a Store,
    line: &'a Line,
    from: Image,
    to: Image,
}

impl Exchange<'_> {
    fn run(&self) -> Result<Step> {
        let path = &self.line.path;
        if let Some((temp, place)) = self.temp()?.zip(self.root.place(path)?) {
            temp.mend(&place, &temp.sibling(&self.aside())?)?;
        }
        let was_there = self.root.look(path)?;
        if was_there.image == self.to && !blocked(&was_there) {
            return self.already_there();
        }
        if was_there.image != self.from {
            return Ok(Step::Surprise(
                "was changed by someone else meanwhile".into(),
            ));
        }
        if !self.to.is_absent() {
            self.root.make_parents(path)?;
        }
        let Some(place) = self.root.place(path)? else {
            return Ok(Step::Done);
        };
        let Some(temp) = self.temp()? else {
            return Ok(Step::Done);
        };
        if was_there.is_dir {
            // only what is empty by now is in the way: whatever held something was a conflict
            remove_empty(&self.root.path.join(path.to_path()));
        }
        if !self.to.is_absent() {
            self.stage(&temp)?;
        }
        match (self.from.is_absent(), self.to.is_absent()) {
            (true, true) => Ok(Step::Done),
            (true, false) => Ok(if temp.rename_to_free(&place)? {
                Step::Done
            } else {
                temp.remove()?;
                Step::Surprise("was created by someone else meanwhile".into())
            }),
            (false, true) => {
                if !place.rename_to_free(&temp)? {
                    return Ok(Step::Surprise(
                        "was removed by someone else meanwhile".into(),
                    ));
                }
                crate::fault::point("displaced");
                if temp.look()?.image == self.from {
                    return Ok(Step::Done);
                }
                temp.rename_to_free(&place)?;
                Ok(Step::Surprise(
                    "was changed by someone else meanwhile".into(),
                ))
            }
            (false, false) => {
                match temp.exchange(&place, &temp.sibling(&self.aside())?) {
                    Ok(()) => {}
                    Err(_) if !place.exists() => {
                        temp.remove()?;
                        return Ok(Step::Surprise(
                            "was removed by someone else meanwhile".into(),
                        ));
                    }
                    Err(e) => return Err(e),
                }
                crate::fault::point("displaced");
                if temp.look()?.image == self.from {
                    return Ok(Step::Done);
                }
                temp.exchange(&place, &temp.sibling(&self.aside())?)?;
                Ok(Step::Surprise(
                    "was changed by someone else meanwhile".into(),
                ))
            }
        }
    }

    /// The path is what it is to be, by an earlier run of this. If that run was cut off before it looked
    /// at what it displaced, that is looked at now.
    fn already_there(&self) -> Result<Step> {
        let Some(temp) = self.temp()? else {
            return Ok(Step::Already);
        };
        let displaced = temp.look()?.image;
        if displaced.is_absent() {
            return Ok(Step::Already);
        }
        if displaced == self.from || displaced == self.to {
            return Ok(Step::Done);
        }
        let Some(place) = self.root.place(&self.line.path)? else {
            return Ok(Step::Done);
        };
        if self.to.is_absent() {
            temp.rename_to_free(&place)?;
        } else {
            temp.exchange(&place, &temp.sibling(&self.aside())?)?;
        }
        Ok(Step::Surprise(
            "was changed by someone else meanwhile".into(),
        ))
    }

    /// Our name for it, if the directory for that is there.
    fn temp(&self) -> Result<Option<Place<'_>>> {
        match &self.line.temp {
            Some(temp) => self.root.place(temp),
            None => Ok(None),
        }
    }

    /// The name that an exchange in steps needs beside it.
    fn aside(&self) -> Vec<u8> {
        aside(self.line.temp.as_ref().map_or(&b""[..], |t| t.split().1))
    }

    /// Puts the new content beside the target, whole or not at all under its name.
    fn stage(&self, temp: &Place<'_>) -> Result<()> {
        let there = temp.look()?.image;
        if there == self.to {
            return Ok(());
        }
        if !there.is_absent() {
            return Err(Error::refused(
                format!(
                    "{} holds something unknown under a name of Backstitch",
                    self.line.path.display()
                ),
                "move that file away, then try again",
            ));
        }
        let own = self.line.temp.as_ref().map_or(&b""[..], |t| t.split().1);
        let staging = staging(own);
        let part = temp.sibling(&staging)?;
        part.remove()?;
        let content = self
            .to
            .content()
            .map(|c| self.store.content(&c))
            .transpose()?
            .unwrap_or_default();
        part.create(&self.to, &content)?;
        crate::fault::point("staged");
        part.rename_to_free(temp)?;
        Ok(())
    }
}

/// A directory where nothing should be, or a file is to come.
fn blocked(look: &Look) -> bool {
    look.is_dir
}

fn remove_empty(dir: &std::path::Path) {
    if let Ok(entries) = std::fs::read_dir(dir) {
        for entry in entries
            .flatten()
            .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        {
            remove_empty(&entry.path());
        }
    }
    // only ever an empty one
    std::fs::remove_dir(dir).ok();
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 {
        format!("1 {what} is")
    } else {
        format!("{n} {what}s are")
    }
}
