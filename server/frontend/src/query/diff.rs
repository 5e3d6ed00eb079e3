//! The changes between two checkpoints, or between one and the disk.

use backstitch_core::model::{FileVersion, Kind, NodeId, RelPath};
use backstitch_core::{Delta, Engine};
use serde_json::{Value, json};

use super::{QueryResult, revs};
use crate::file_changes::FileChange;

/// Two states and the files that differ.
#[derive(Debug)]
pub struct ComparedStates {
    pub from: NodeId,
    /// None: the disk.
    pub to: Option<NodeId>,
    pub files: Vec<FileChange>,
    /// Number of further files, beyond the limit of the request.
    pub left: usize,
}

impl ComparedStates {
    pub fn document(&self) -> Value {
        json!({
            "from": self.from.to_string(),
            "to": self.to.map_or_else(|| "disk".to_owned(), |id| id.to_string()),
            "files": self.files.iter().map(FileChange::shape).collect::<Vec<_>>(),
        })
    }
}

/// Compares two states: of two references, of one and the disk, or of the newest checkpoint and the disk. `paths`: files
/// and directories to compare; empty means all. `limit`: maximum number of files whose contents are read.
pub fn compare(
    engine: &mut Engine,
    revs: &[String],
    paths: &[RelPath],
    limit: Option<usize>,
) -> QueryResult<ComparedStates> {
    let (deltas, from, to) = match revs {
        [from, to] => {
            let (from, to) = (revs::node(engine, from)?, revs::node(engine, to)?);
            (engine.comparer().compare(from, to)?, from, Some(to))
        }
        revs => {
            // compared with the disk, the head is the one from before this scan
            let from = match revs.first() {
                Some(rev) if *rev != "@" && *rev != engine.history().branch_name()? => {
                    revs::node_now(engine, rev)?
                }
                _ => newest(engine)?,
            };
            let deltas = engine.comparer_mut().compare_with_disk(from, paths)?;
            (deltas, from, None)
        }
    };
    let wanted = |delta: &&Delta| paths.is_empty() || touches(delta, paths);
    let deltas = engine.comparer().join_similar(&deltas)?;
    let deltas: Vec<&Delta> = deltas.iter().filter(wanted).collect();
    let count = limit.map_or(deltas.len(), |limit| limit.min(deltas.len()));
    let files = deltas[..count]
        .iter()
        .map(|delta| FileChange::load(engine, delta))
        .collect::<backstitch_core::Result<_>>()?;
    Ok(ComparedStates {
        from,
        to,
        files,
        left: deltas.len() - count,
    })
}

/// Returns the newest checkpoint that is not an edit found on disk. A scan creates such checkpoints, and
/// the same command must give the same answer twice.
fn newest(engine: &Engine) -> QueryResult<NodeId> {
    let head = revs::head(engine)?;
    let mut at = head;
    loop {
        let node = engine.history().entry(at)?.node;
        if node.kind != Kind::External {
            return Ok(at);
        }
        match node.parent {
            Some(parent) => at = parent,
            None => return Ok(head),
        }
    }
}

fn touches(delta: &Delta, paths: &[RelPath]) -> bool {
    let within = |state: &FileVersion| {
        state
            .as_ref()
            .is_some_and(|p| paths.iter().any(|dir| p.path.within(dir.bytes())))
    };
    within(&delta.old) || within(&delta.new)
}
