//! Hints after an error, in terms of the command line: its commands and options. Pure.

use backstitch_core::model::{NodeId, OpId};
use backstitch_core::{Hint, Listed};

use super::paint;

pub fn text(hint: &Hint) -> String {
    let step = match hint {
        Hint::Plain(step) | Hint::Terminal(step) => step,
        Hint::Whereabouts { path } => return checkpoints_with(path),
        Hint::SameLabel { label, node } => return nodes_with(label, *node),
        Hint::Undo { op } => return format!("`backstitch undo {op}` undoes it"),
        Hint::UndoBefore { op, turn } => {
            return format!(
                "`backstitch undo {op}` undoes that operation anyway; `backstitch revert t{turn}` reverts the turn"
            );
        }
        Hint::UndoThere { op, branch } => return undo_on(branch, *op),
        Hint::OtherLine { node, branch } => return of_other_branch(branch, *node),
        Hint::BranchAgain { name, head } => return branch_again(name, *head),
        Hint::Begin => {
            "`backstitch checkpoint` records the current state; `backstitch setup` sets up an agent"
        }
        Hint::First => "`backstitch init` records the first one",
        Hint::Revisions => {
            "`backstitch log` lists the checkpoints; name one as c12, t4, @~2, a tag, a branch or a label"
        }
        Hint::List(listed) => list(*listed),
        Hint::Decide => {
            "choose with --on-conflict markers|current|target, limit it with --path, or restore the exact state with --exact"
        }
        Hint::Whole => "leave out --path",
        Hint::LookAgain => "check the new plan with --dry-run, then confirm it",
        Hint::Hunks => {
            "`backstitch diff REV --json` lists the ids of hunks; they change with the content"
        }
        Hint::Scope => "--scope code rewinds only the files; nothing was changed",
        Hint::Unsaved => "save or close it there, or exclude these files with --path",
        Hint::UnsavedThere => {
            "save or close it there, rewind in the editor itself, or exclude it with --path"
        }
        Hint::Writer => {
            "stop the program that writes to it, or exclude it with --path, and try again"
        }
        Hint::Fixed => {
            "fix that, or leave the file as it is: --path restores other files alone, and --on-conflict current restores all that can be replaced"
        }
        Hint::Redo => "`backstitch redo` redoes it",
        Hint::NothingToUndo => {
            "`backstitch rewind` undoes the agent's last turn; `backstitch log` shows the turns before"
        }
        Hint::NoTurn => "`backstitch log` shows the turns, undone ones included",
        Hint::ShorterName => "use a few words; --description has room for more",
        Hint::TooWide => {
            "work in a directory below it, or run `backstitch init` there to use it anyway"
        }
        Hint::Gone => {
            "nothing was recorded; restore the directory, or name another with --workspace"
        }
        Hint::Unwritable => {
            "the store's directory must exist and be writable; --store-dir names another"
        }
        Hint::Newer => "update Backstitch to the newer version, or use another --store-dir",
        Hint::NoHome => "set HOME, or pass --store-dir",
    };
    step.to_owned()
}

fn checkpoints_with(path: &str) -> String {
    let path = paint::argument(path);
    format!("`backstitch log --path {path}` lists the checkpoints that have it; use one of them")
}

fn nodes_with(label: &str, node: NodeId) -> String {
    let label = paint::argument(label);
    format!("name one by its number, such as {node}; `backstitch log --text {label}` lists them")
}

fn undo_on(branch: &str, op: OpId) -> String {
    let branch = paint::argument(branch);
    format!("`backstitch switch {branch}` first, then `backstitch undo {op}`")
}

fn of_other_branch(branch: &str, node: NodeId) -> String {
    let branch = paint::argument(branch);
    format!(
        "`backstitch switch {branch}` switches to its branch; `backstitch rewind {node} --exact` restores its files here; --session S restores the work of that session only"
    )
}

fn branch_again(name: &str, head: NodeId) -> String {
    let name = paint::argument(name);
    format!(
        "`backstitch branch create {name} --from {head}` restores it, then `backstitch switch {name}`"
    )
}

/// Returns the command that lists the valid names.
fn list(listed: Listed) -> &'static str {
    match listed {
        Listed::Sessions => {
            "`backstitch log --all` shows the letter of each session, if there are several"
        }
        Listed::Agents => "`backstitch stats` lists the agents that have reported",
        Listed::Branches => "`backstitch branch` lists the branches",
        Listed::Tags => "`backstitch tag` lists the tags",
        Listed::Operations => "`backstitch oplog` shows the operations",
    }
}
