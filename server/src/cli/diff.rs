//! `diff`: what changed between two checkpoints, or between one and the disk.

use backstitch_core::Delta;
use backstitch_core::model::{FileState, Kind, NodeId, RelPath};
use serde_json::json;

use super::args;
use super::context::Desk;
use super::error::Result;
use super::files::{self, Changed};
use super::out;

pub fn run(desk: &mut Desk, options: &args::Diff) -> Result<()> {
    let paths = desk.paths(&options.paths)?;
    for path in &paths {
        desk.known(path)?;
    }
    let (deltas, from, to) = match options.revs.as_slice() {
        [from, to] => {
            let (from, to) = (desk.node(from)?, desk.node(to)?);
            (desk.engine.compare(from, to)?, from, Some(to))
        }
        revs => {
            // against the disk, the head is what was recorded before anybody looked for this
            let from = match revs.first() {
                Some(rev) if *rev != "@" && *rev != desk.engine.branch_name()? => {
                    desk.node_now(rev)?
                }
                _ => newest(desk)?,
            };
            (desk.engine.compare_with_disk(from, &paths)?, from, None)
        }
    };
    let wanted = |delta: &&Delta| paths.is_empty() || touches(delta, &paths);
    let deltas = desk.engine.joined_by_likeness(deltas)?;
    let changed: Vec<Changed> = deltas
        .iter()
        .filter(wanted)
        .map(|delta| Changed::load(&desk.engine, delta))
        .collect::<backstitch_core::Result<_>>()?;
    if desk.out.json {
        return out::answer(json!({
            "from": from.to_string(),
            "to": to.map_or_else(|| "disk".to_owned(), |id| id.to_string()),
            "files": changed.iter().map(Changed::shape).collect::<Vec<_>>(),
        }));
    }
    let paint = desk.out.paint;
    if options.form.stat {
        desk.out.text(&files::stat(&changed, paint))
    } else if options.form.name_status {
        desk.out.text(&files::name_status(&changed, paint))
    } else if options.form.word {
        changed
            .iter()
            .try_for_each(|file| desk.out.bytes(&file.words()))
    } else {
        files::patches(&changed, desk.out)
    }
}

/// The head, or what stands before it when it only records edits found on disk: looking at the disk
/// makes such nodes, and the same question twice must have the same answer.
fn newest(desk: &Desk) -> Result<NodeId> {
    let head = desk.head()?;
    let mut at = head;
    loop {
        let node = desk.engine.entry(at)?.node;
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
    let within = |state: &FileState| {
        state
            .as_ref()
            .is_some_and(|p| paths.iter().any(|dir| p.path.within(dir.bytes())))
    };
    within(&delta.old) || within(&delta.new)
}
