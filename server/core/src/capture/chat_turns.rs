//! Turns of an agent without hooks: each scan reads the text that it has appended to its chat history since the scan before.
//! Where there is no such file, this costs one stat a scan. The format is the agent's (`ChatHistory`).
//!
//! - A session is named by its heading, a prompt begins a turn, and a file that the agent reports as edited is the turn's step.
//!   Changes that it does not report are attributed as in any other scan.
//! - Where the agent has committed the edit, the commit has the exact texts before and after it (`committed_texts.rs`). Other
//!   changes of the file are then no part of the step. Otherwise the whole difference is the step's.
//! - A history that exists when a root is scanned first is not replayed. Where one was written anew,
//!   only sessions count that are newer than the newest one that was read.

mod batch;
mod committed_texts;
mod record;

use std::io::{Read, Seek, SeekFrom};
use std::ops::Deref;
use std::time::Instant;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Capture;
use super::write_txn::{AFTER, BEFORE};
use crate::chat_history::{ChatHistory, HistoryEntry, ReaderState};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{ContentId, NodeId, RelPath, RootId};
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::root::scan;
use crate::worktree::disk::Stat;
use batch::{Act, acts};
use record::Batch;

/// Appended text above this size is read from its end.
const MAX_TEXT: u64 = 8 << 20;
/// Largest difference between the clock and the times of files, in microseconds.
const CLOCK_LAG: i64 = 1_000_000;
/// Number of bytes before a position by which its file is recognized.
const CHECKED: u64 = 1024;

/// Position up to which a history was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// Number of bytes that were read.
    offset: u64,
    /// Hash of the bytes before it.
    check: String,
    /// Size and time of change when it was read.
    size: i64,
    mtime: i64,
    reader: ReaderState,
    /// The newest step, if its commit was not known yet.
    uncommitted: Vec<NodeId>,
}

/// Text of a history that was not read before.
struct AppendedText {
    entries: Vec<HistoryEntry>,
    /// The session that continues at the beginning of the text.
    session: Option<String>,
    position: Position,
}

impl Position {
    fn of(conn: &Connection, root: RootId) -> Result<Option<Self>> {
        let text: Option<String> = meta::get(conn, &MetaKey::ChatHistory(root))?;
        // a damaged position is none: the file is then read from its end
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn save(&self, conn: &Connection, root: RootId) -> Result<()> {
        let text = crate::store::to_json(self)?;
        meta::set(conn, &MetaKey::ChatHistory(root), text)
    }

    fn is_current(&self, stat: &Stat) -> bool {
        (self.size, self.mtime) == (stat.size, stat.mtime)
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the stat of a history that may have text which was not read yet, and the position in it.
    fn grown_history(&self) -> Result<Option<(Stat, Option<Position>)>> {
        let Some(source) = self.engine.options.chat_history else {
            return Ok(None);
        };
        let is_file = |stat: &Stat| stat.kind().is_file();
        let stat = self.engine.root.stat_at(source.file().as_bytes());
        let Some(stat) = stat.filter(is_file) else {
            return Ok(None);
        };
        let position = Position::of(&self.engine.store.conn, self.engine.here.root)?;
        let is_read = |position: &Position| position.is_current(&stat);
        if position.as_ref().is_some_and(is_read) {
            return Ok(None);
        }
        Ok(Some((stat, position)))
    }

    /// True if the agent may have written something that no scan has read yet.
    pub(super) fn has_unread_history(&self) -> Result<bool> {
        Ok(self.grown_history()?.is_some())
    }
}

impl Capture<&mut Engine> {
    /// Records the work of the agent since the last scan, if there is any. The caller holds the lock of captures.
    pub(super) fn read_chat_history(&mut self, deadline: Option<Instant>) -> Result<()> {
        let Some(source) = self.engine.options.chat_history else {
            return Ok(());
        };
        let Some((stat, known)) = self.grown_history()? else {
            return Ok(());
        };
        let (root, is_first) = {
            let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
            (root, scan::is_first(conn, root)?)
        };
        // the authors of changes that a scan has not reached are not known
        if !is_first && self.scan_is_pending()? {
            return Ok(());
        }
        let uncommitted = known.as_ref().map(|known| known.uncommitted.clone());
        let Some(mut new) = self.new_text(source, stat, known)? else {
            return Ok(());
        };
        if !self.engine.config().records_automatically() {
            new.entries.clear();
        }
        let uncommitted = uncommitted.unwrap_or_default();
        let acts = acts(
            source,
            &new.entries,
            new.session.take(),
            !uncommitted.is_empty(),
        );
        if acts.is_empty() {
            new.position.uncommitted = uncommitted;
            let position = new.position;
            return self
                .engine
                .store
                .write(AFTER, |conn| position.save(conn, root));
        }
        self.record_acts(source.agent(), acts, (new.position, uncommitted), deadline)
    }

    fn record_acts(
        &mut self,
        agent: &'static str,
        acts: Vec<Act>,
        (mut position, uncommitted): (Position, Vec<NodeId>),
        deadline: Option<Instant>,
    ) -> Result<()> {
        let scanned = self.scan_disk(deadline)?;
        if scanned.findings.partial {
            return Ok(());
        }
        let mtime = position.mtime;
        let mut batch = Batch::new(self, (agent, acts), uncommitted, mtime)?;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            position.uncommitted = batch.record(txn, scanned)?;
            position.save(txn.conn, txn.here.root)
        })
    }

    /// Reads the text after a position. None: the file cannot be read.
    fn new_text(
        &self,
        source: &dyn ChatHistory,
        stat: Stat,
        known: Option<Position>,
    ) -> Result<Option<AppendedText>> {
        let Some(path) = RelPath::new(source.file()) else {
            return Ok(None);
        };
        let Some(mut file) = self.engine.root.open_file(&path) else {
            return Ok(None);
        };
        let size = u64::try_from(stat.size).unwrap_or(0);
        let Ok(same) = known
            .as_ref()
            .map(|known| known.is_of(&mut file, size))
            .transpose()
        else {
            return Ok(None);
        };
        let start = match &known {
            Some(known) if same == Some(true) => known.offset,
            _ => 0,
        };
        let Ok((text, end)) = text_between(&mut file, start, size) else {
            return Ok(None);
        };
        let (mut reader, newest) = match known {
            Some(known) if same == Some(true) => (known.reader, None),
            Some(known) => (ReaderState::default(), known.reader.session),
            None => (ReaderState::default(), None),
        };
        let session = reader.session.clone();
        let mut entries = source.read(&mut reader, &text);
        match same {
            Some(true) => {}
            Some(false) => keep_newer(&mut entries, newest.as_deref()),
            None if self.is_new(&stat)? => {}
            None => entries.clear(),
        }
        // sessions never seem older than what was read
        if reader.session < newest {
            reader.session = newest;
        }
        let Ok(check) = check(&mut file, end) else {
            return Ok(None);
        };
        let position = Position {
            offset: end,
            check,
            size: stat.size,
            mtime: stat.mtime,
            reader,
            uncommitted: Vec::new(),
        };
        Ok(Some(AppendedText {
            entries,
            session,
            position,
        }))
    }

    /// True if the file was made after the last scan of the root.
    fn is_new(&self, stat: &Stat) -> Result<bool> {
        let last = scan::before(&self.engine.store.conn, self.engine.here.root)?.scanned;
        // a file system that does not store the time of birth has that of the change
        let made = if stat.btime > 0 {
            stat.btime
        } else {
            stat.mtime
        };
        // the clock of a file system is a little behind
        Ok(last.is_some_and(|last| made / 1000 + CLOCK_LAG > last))
    }
}

impl Position {
    /// True if the file still has the text before the position.
    fn is_of(&self, file: &mut std::fs::File, size: u64) -> std::io::Result<bool> {
        Ok(self.offset <= size && check(file, self.offset)? == self.check)
    }
}

/// Returns the hash of the bytes before an offset.
fn check(file: &mut std::fs::File, offset: u64) -> std::io::Result<String> {
    let start = offset.saturating_sub(CHECKED);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(offset - start).read_to_end(&mut bytes)?;
    Ok(ContentId::of(&bytes).to_string())
}

/// Returns the complete lines between two offsets, and the end of the last one. A long text is read from its end only.
fn text_between(file: &mut std::fs::File, start: u64, end: u64) -> std::io::Result<(String, u64)> {
    let from = start.max(end.saturating_sub(MAX_TEXT));
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(end - from).read_to_end(&mut bytes)?;
    let complete = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    bytes.truncate(complete);
    let end = from + complete as u64;
    if from > start {
        let first = bytes
            .iter()
            .position(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        bytes.drain(..first);
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), end))
}

/// Keeps the entries from the first session that is newer than `newest`.
fn keep_newer(entries: &mut Vec<HistoryEntry>, newest: Option<&str>) {
    let is_newer = |entry: &HistoryEntry| matches!(entry, HistoryEntry::Session(time) if Some(time.as_str()) > newest);
    let first = entries.iter().position(is_newer);
    entries.drain(..first.unwrap_or(entries.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> std::fs::File {
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, text).expect("written");
        file
    }

    #[test]
    fn only_complete_lines_are_read() {
        let mut file = file(b"one\ntwo\nthr");
        let read = text_between(&mut file, 4, 11).expect("read");
        assert_eq!(read, ("two\n".into(), 8));
        let read = text_between(&mut file, 8, 11).expect("read");
        assert_eq!(read, (String::new(), 8));
    }

    #[test]
    fn of_a_long_text_the_end_is_read_from_a_complete_line() {
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        let size = (MAX_TEXT / 100 + 10) * 100;
        let text = line.repeat(usize::try_from(size / 100).expect("a number"));
        let (text, end) = text_between(&mut file(&text), 0, size).expect("read");
        assert_eq!(end, size);
        assert!(text.len() as u64 <= MAX_TEXT && text.len() % 100 == 0);
    }

    #[test]
    fn text_that_is_not_utf_8_is_read() {
        let (text, _) = text_between(&mut file(b"a\xff\n"), 0, 3).expect("read");
        assert_eq!(text, "a\u{fffd}\n");
    }

    #[test]
    fn a_position_belongs_to_its_text() {
        let mut old = file(b"some text");
        let position = Position {
            offset: 9,
            check: check(&mut old, 9).expect("read"),
            ..Position::default()
        };
        for (text, same) in [
            (&b"some text"[..], true),
            (b"some text and more", true),
            (b"some", false),
            (b"other text and more", false),
        ] {
            let is_same = position.is_of(&mut file(text), text.len() as u64);
            assert_eq!(is_same.expect("read"), same);
        }
    }

    #[test]
    fn of_a_history_that_was_written_anew_newer_sessions_count() {
        let session = |time: &str| HistoryEntry::Session(time.into());
        let all = [
            session("1"),
            HistoryEntry::Answered,
            session("2"),
            session("3"),
        ];
        for (newest, kept) in [(None, 4), (Some("1"), 2), (Some("2"), 1), (Some("3"), 0)] {
            let mut entries = all.to_vec();
            keep_newer(&mut entries, newest);
            assert_eq!(entries, all[4 - kept..], "{newest:?}");
        }
    }
}
