//! Has `line` breakpoints follow files that were renamed, as the history knows it.

use crate::opening;
use backstitch_control::{Breakpoint, BreakpointId, Control};
use backstitch_core::model::RelPath;
use backstitch_core::{Engine, Workspace};

/// Moves the `line` breakpoints whose files are gone, and have another name by now. Returns all breakpoints if any was
/// moved. A file that was renamed before the history saw it is found later; one whose name is taken again is not.
pub fn follow(
    workspace: &Workspace,
    control: &Control,
    breakpoints: &[Breakpoint],
) -> Option<Vec<Breakpoint>> {
    let missing: Vec<_> = breakpoints
        .iter()
        .filter_map(|one| Some((one.id, missing(workspace, one)?)))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let engine = Engine::open_with(workspace, opening::HOOK.existing()).ok()?;
    let mut moved = false;
    for (id, path) in missing {
        moved |= follow_one(workspace, control, &engine, id, &path).is_some();
    }
    moved.then(|| control.breakpoints().all().ok()).flatten()
}

/// Returns the path of a `line` breakpoint if no file is there.
pub fn missing(workspace: &Workspace, breakpoint: &Breakpoint) -> Option<RelPath> {
    let path = &breakpoint.spec.lines()?.path;
    let is_there = workspace.root.join(path).symlink_metadata().is_ok();
    (!is_there).then(|| RelPath::new(path.as_bytes())).flatten()
}

fn follow_one(
    workspace: &Workspace,
    control: &Control,
    engine: &Engine,
    id: BreakpointId,
    path: &RelPath,
) -> Option<()> {
    let others = engine.history().other_paths(path).ok()?;
    let is_file = |path: &RelPath| workspace.root.join(path.to_path()).is_file();
    let now = others.into_iter().find(is_file)?;
    control.breakpoints().move_to(id, &now).ok()
}
