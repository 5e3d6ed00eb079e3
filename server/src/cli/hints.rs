//! The next step after an error, as the command line has it: its commands and options. Pure.

use backstitch_core::{Hint, Listed};

pub fn words(hint: &Hint) -> String {
    let step = match hint {
        Hint::Plain(step) | Hint::Terminal(step) => step,
        Hint::Whereabouts { path } => {
            return format!(
                "`backstitch log --path {path}` shows at which checkpoints it was there; any of them can be named"
            );
        }
        Hint::Undo { op } => return format!("`backstitch undo {op}` takes that back"),
        Hint::UndoBefore { op, turn } => {
            return format!(
                "`backstitch undo {op}` undoes that operation all the same; `backstitch rewind t{turn}` takes out the turn"
            );
        }
        Hint::UndoThere { op, branch } => {
            return format!("`backstitch switch {branch}` first, then `backstitch undo {op}`");
        }
        Hint::OtherLine { node } => {
            return format!(
                "`backstitch switch` goes to a branch; `backstitch rewind {node} --exact` makes the files equal to it here; --session S takes over the work of that session alone"
            );
        }
        Hint::BranchAgain { name, head } => {
            return format!(
                "`backstitch branch create {name} --from {head}` brings it back, then `backstitch switch {name}`"
            );
        }
        Hint::Begin => {
            "`backstitch checkpoint` records the state now; `backstitch setup` lets an agent report"
        }
        Hint::First => "`backstitch init` takes the first one",
        Hint::Revisions => {
            "`backstitch log` lists what there is; c12, t4, @~2, a tag, a branch or a label name one"
        }
        Hint::List(listed) => list(*listed),
        Hint::Decide => {
            "choose with --on-conflict markers|current|target, narrow it with --path, or take the state as it was with --exact"
        }
        Hint::Whole => "leave out --path",
        Hint::LookAgain => "look at the new plan (--dry-run), then confirm that one",
        Hint::Hunks => {
            "`backstitch diff REV --json` gives the ids of hunks; they change with the content"
        }
        Hint::Unsaved => "save or close it there, or leave these files out with --path",
        Hint::UnsavedThere => {
            "save or close it there, or rewind in the editor itself, or leave it out with --path"
        }
        Hint::Writer => "close what writes to it, or leave it out with --path, and try again",
        Hint::Redo => "`backstitch redo` brings it back",
        Hint::NothingToUndo => {
            "`backstitch rewind t<N>` takes out what an agent did; `backstitch log` shows the turns"
        }
        Hint::ShorterName => "a few words are enough; --description says what a branch is for",
        Hint::TooWide => "work in a directory below it, or run `backstitch init` there to insist",
        Hint::Gone => "nothing was recorded; bring it back, or name another with --workspace",
        Hint::Unwritable => {
            "the store's directory has to be there and writable; --store-dir names another"
        }
        Hint::Newer => "install the newer version, or use another --store-dir",
        Hint::NoHome => "set HOME, or pass --store-dir",
    };
    step.to_owned()
}

/// What could have been named.
fn list(listed: Listed) -> &'static str {
    match listed {
        Listed::Sessions => "`backstitch log --all --json` shows the sessions",
        Listed::Agents => "`backstitch stats` names the agents that have reported",
        Listed::Branches => "`backstitch branch` lists the branches",
        Listed::Tags => "`backstitch tag` lists the tags",
        Listed::Operations => "`backstitch oplog` shows the operations",
    }
}
