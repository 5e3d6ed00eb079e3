//! References to checkpoints, as typed.

use backstitch_core::model::NodeId;
use backstitch_core::{Engine, Error};

use super::QueryResult;

/// Returns the newest checkpoint, or an error if there is none yet.
pub fn head(engine: &Engine) -> QueryResult<NodeId> {
    let head = engine.history().head()?;
    Ok(head.ok_or_else(|| Error::NoStore(engine.root().to_path_buf()))?)
}

pub fn node(engine: &Engine, rev: &str) -> QueryResult<NodeId> {
    head(engine)?;
    Ok(engine.history().resolve(rev)?)
}

/// Resolves a reference for a command that continues from it. If it names `@` or the current branch, unrecorded
/// changes on disk become a checkpoint first.
pub fn node_now(engine: &mut Engine, rev: &str) -> QueryResult<NodeId> {
    if engine.history().names_head(rev)? {
        engine.capture_mut().record_changes()?;
    }
    node(engine, rev)
}
