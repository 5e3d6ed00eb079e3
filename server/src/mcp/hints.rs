//! Next steps after an error, in terms of the tools. Pure.

use backstitch_core::{Hint, Listed};

pub fn text(hint: &Hint) -> String {
    let step = match hint {
        Hint::Plain(step) => step,
        // a step that no tool has
        Hint::Terminal(step) => return format!("in a terminal, {step}"),
        Hint::Begin | Hint::First => {
            "`checkpoint` records the current state; the user sets up an agent with `backstitch setup`"
        }
        Hint::Revisions => {
            "`log` lists the checkpoints; name one as c12, t4, @~2, a tag, a branch or a label"
        }
        Hint::SameLabel { node, .. } => {
            return format!("name one by its number, such as {node}; `log` with `text` lists them");
        }
        Hint::List(listed) => listed_by(*listed),
        Hint::Whereabouts { path } => {
            return format!("`log` with path {path} lists the checkpoints that have it");
        }
        Hint::Decide => {
            "set `on_conflict` to markers, current or target, limit it with `paths`, or set `exact`"
        }
        Hint::Whole => "leave out `paths`",
        Hint::LookAgain => "call `propose_rewind` again: it makes a new plan",
        Hint::Hunks => "`diff` has the ids of hunks; they change with the content",
        Hint::Scope => "only files can be rewound; nothing was changed",
        Hint::Unsaved | Hint::UnsavedThere => {
            "ask the user to save or close it in the editor, or leave these files out of `paths`"
        }
        Hint::Writer => {
            "stop the program that writes to it, or leave it out of `paths`, and try again"
        }
        Hint::Fixed => {
            "leave it out of `paths`, or set `on_conflict` to current, which leaves it as it is"
        }
        Hint::NoTurn | Hint::NothingToUndo => "`log` shows the turns, undone ones included",
        Hint::ShorterName => "use a few words; `description` has room for more",
        Hint::OtherLine { node, .. } => {
            return format!("with `exact`, `rev` {node} restores its files here");
        }
        Hint::Undo { op } => return format!("the user undoes it with `backstitch undo {op}`"),
        Hint::UndoBefore { op, .. } | Hint::UndoThere { op, .. } => {
            return format!("the user undoes it with `backstitch undo {op}`");
        }
        Hint::Redo => "the user redoes it with `backstitch redo`",
        Hint::BranchAgain { name, .. } => {
            return format!("the user restores the branch {name} with `backstitch branch create`");
        }
        Hint::TooWide => {
            "start `backstitch mcp` in a project, or name one with `--workspace`, or have the user run `backstitch init`"
        }
        Hint::Gone => "restore the directory, or name another with `--workspace`",
        Hint::Unwritable => {
            "the store's directory must exist and be writable; `--store-dir` names another"
        }
        Hint::Newer => "update Backstitch to the newer version, or use another `--store-dir`",
        Hint::NoHome => "set HOME, or start `backstitch mcp` with `--store-dir`",
    };
    step.to_owned()
}

fn listed_by(listed: Listed) -> &'static str {
    match listed {
        Listed::Sessions => "`log` with `all` shows the letter of each session",
        Listed::Agents => "`log` with `all` shows the agents",
        Listed::Branches => "`log` lists the branches",
        Listed::Tags => "`log` with `all` shows the tags",
        Listed::Operations => "`log` with kind rewind shows the operations",
    }
}
