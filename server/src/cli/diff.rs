//! `diff`: the changes between two checkpoints, or between one and the disk.

use backstitch_core::Delta;
use backstitch_core::model::{FileVersion, Kind, NodeId, RelPath};
use serde_json::json;

use super::args;
use super::context::CommandContext;
use super::error::CliResult;
use super::files::{self, FileChange};
use super::out;

pub fn run(context: &mut CommandContext, options: &args::DiffArgs) -> CliResult<()> {
    let paths = context.paths(&options.paths)?;
    for path in &paths {
        context.require(path)?;
    }
    let (deltas, from, to) = match options.revs.as_slice() {
        [from, to] => {
            let (from, to) = (context.node(from)?, context.node(to)?);
            (context.engine.comparer().compare(from, to)?, from, Some(to))
        }
        revs => {
            // compared with the disk, the head is the one from before this scan
            let from = match revs.first() {
                Some(rev) if *rev != "@" && *rev != context.engine.history().branch_name()? => {
                    context.node_now(rev)?
                }
                _ => newest(context)?,
            };
            (
                context
                    .engine
                    .comparer_mut()
                    .compare_with_disk(from, &paths)?,
                from,
                None,
            )
        }
    };
    let wanted = |delta: &&Delta| paths.is_empty() || touches(delta, &paths);
    let deltas = context.engine.comparer().join_similar(deltas)?;
    let changed: Vec<FileChange> = deltas
        .iter()
        .filter(wanted)
        .map(|delta| FileChange::load(&context.engine, delta))
        .collect::<backstitch_core::Result<_>>()?;
    if context.out.json {
        return out::answer(json!({
            "from": from.to_string(),
            "to": to.map_or_else(|| "disk".to_owned(), |id| id.to_string()),
            "files": changed.iter().map(FileChange::shape).collect::<Vec<_>>(),
        }));
    }
    let paint = context.out.paint;
    if options.form.stat {
        context.out.text(&files::stat(&changed, paint))
    } else if options.form.name_status {
        context.out.text(&files::name_status(&changed, paint))
    } else if options.form.word {
        changed
            .iter()
            .try_for_each(|file| context.out.bytes(&file.words()))
    } else {
        files::patches(&changed, context.out)
    }
}

/// Returns the newest checkpoint that is not an edit found on disk. A scan creates such checkpoints, and
/// the same command must give the same answer twice.
fn newest(context: &CommandContext) -> CliResult<NodeId> {
    let head = context.head()?;
    let mut at = head;
    loop {
        let node = context.engine.history().entry(at)?.node;
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
