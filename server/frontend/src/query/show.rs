//! One checkpoint, and one file of it.

use backstitch_core::model::{ContentId, Image, Kind, NodeId, Opaque, RelPath};
use backstitch_core::{Delta, Engine, Entry};
use serde_json::Value;

use super::{QueryResult, revs};
use crate::file_changes::FileChange;
use crate::to_protocol;

/// A checkpoint; a turn with its steps.
#[derive(Debug)]
pub struct ShownCheckpoint {
    pub entry: Entry,
    pub steps: Vec<Entry>,
}

impl ShownCheckpoint {
    pub fn find(engine: &Engine, rev: &str) -> QueryResult<Self> {
        let id = revs::node(engine, rev)?;
        let history = engine.history();
        let entry = history.entry(id)?;
        let mut steps = Vec::new();
        if entry.node.kind == Kind::Turn {
            for step in history.turn_steps(id)? {
                steps.push(history.entry(step)?);
            }
        }
        Ok(Self { entry, steps })
    }

    /// `files`: its changes with their lines.
    pub fn document(&self, files: Option<&[FileChange]>) -> Value {
        let mut answer = to_protocol::value(&to_protocol::checkpoint(&self.entry));
        if self.entry.node.kind == Kind::Turn {
            let steps: Vec<_> = self.steps.iter().map(to_protocol::checkpoint).collect();
            answer["steps"] = to_protocol::value(&steps);
        }
        if let Some(files) = files {
            let files: Vec<_> = files.iter().map(FileChange::shape).collect();
            answer["files"] = to_protocol::value(&files);
        }
        answer
    }

    /// The changes of the checkpoint and its steps.
    pub fn files(&self, engine: &Engine) -> QueryResult<Vec<FileChange>> {
        let mut all = Vec::new();
        for entry in std::iter::once(&self.entry).chain(&self.steps) {
            all.extend(changes(engine, entry)?);
        }
        Ok(all)
    }
}

/// The changes of one checkpoint with their contents.
pub fn changes(engine: &Engine, entry: &Entry) -> QueryResult<Vec<FileChange>> {
    let delta = |change: &backstitch_core::model::Change| Delta {
        old: change.before.clone(),
        new: change.after.clone(),
    };
    let deltas: Vec<Delta> = entry.changes.iter().map(|c| delta(&c.change)).collect();
    let deltas = engine.comparer().join_similar(&deltas)?;
    let loaded = deltas.iter().map(|delta| FileChange::load(engine, delta));
    Ok(loaded.collect::<backstitch_core::Result<_>>()?)
}

/// A file at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAt {
    Content(ContentId),
    Absent,
    /// It was first scanned later.
    Unknown,
    NotKept(Opaque),
}

/// Returns a file as it was at a checkpoint.
pub fn file_at(engine: &Engine, rev: &str, path: &RelPath) -> QueryResult<(NodeId, FileAt)> {
    let id = revs::node(engine, rev)?;
    let history = engine.history();
    let file = match history.image_at(id, path)? {
        Image::File { content, .. } | Image::Symlink { content } => FileAt::Content(content),
        Image::Absent if history.is_unknown_at(path, id)? => FileAt::Unknown,
        Image::Absent | Image::InGit { .. } => FileAt::Absent,
        Image::Opaque(why) => FileAt::NotKept(why),
    };
    Ok((id, file))
}
