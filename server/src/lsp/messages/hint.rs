//! Next step after an error of the engine, for an editor: commands of the language server and their arguments, and
//! the terminal only if there is no other way.

use backstitch_core::{Hint, Listed};
use backstitch_protocol::Offer;
use serde_json::{Value, json};

pub fn text(hint: &Hint) -> String {
    let step = match hint {
        Hint::Plain(step) => step,
        Hint::Terminal(step) => return in_a_terminal(step),
        Hint::Begin => {
            "`backstitch.checkpoint` records the state now; in a terminal, `backstitch setup` sets up an agent"
        }
        Hint::First => "`backstitch.checkpoint` makes the first one",
        Hint::Revisions => {
            "`backstitch.timeline` lists the checkpoints; name one by c12, t4, @~2, a tag, a branch or a label"
        }
        Hint::List(listed) => return list(*listed),
        Hint::Whereabouts { path } => {
            return format!(
                "`backstitch.timeline` with the `uri` of {path} shows the checkpoints that have it; name one of them"
            );
        }
        Hint::SameLabel { node, .. } => {
            return format!("name one by its number, such as {node}");
        }
        Hint::Decide => super::refusal::CONFLICT_HINT,
        Hint::Whole => "leave out `paths`",
        Hint::LookAgain => "check the new plan, then confirm it",
        Hint::Hunks => "`backstitch/diff` gives the ids of hunks; they change with the content",
        Hint::Scope => "scope `code` rewinds only the files; nothing was changed",
        Hint::Unsaved => "save or close it there, or name the files with `paths`",
        Hint::UnsavedThere => {
            "save or close it there, or rewind in that editor itself, or name the files with `paths`"
        }
        Hint::Writer => {
            "stop the program that writes to it, or name the other files with `paths`, and try again"
        }
        Hint::Fixed => "fix that, or leave the file as it is: name the other files with `paths`",
        Hint::Undo { op } => return format!("`backstitch.undo` with `op` {op} undoes it"),
        Hint::Redo => "`backstitch.redo` restores it",
        Hint::NothingToUndo => {
            "`backstitch.rewind` with `rev` @turn undoes the agent's last turn; without `rev` it asks which turn"
        }
        Hint::NoTurn => "`backstitch.timeline` shows the turns, undone ones included",
        Hint::UndoBefore { op, turn } => {
            return format!(
                "`backstitch.undo` with `op` {op} undoes that operation anyway; `backstitch.revert` with `turn` t{turn} reverts the turn"
            );
        }
        Hint::UndoThere { op, branch } => {
            return format!(
                "`backstitch.switch` with `branch` {branch} first, then `backstitch.undo` with `op` {op}"
            );
        }
        Hint::OtherLine { node, branch } => {
            return format!(
                "`backstitch.switch` with `branch` {branch} switches to it; `backstitch.rewind` with `rev` {node} and `exact` restores its files here; `session` restores the work of that session only"
            );
        }
        Hint::BranchAgain { name, head } => {
            return format!(
                "`backstitch.fork` with `rev` {head} and `name` {name} restores it, then `backstitch.switch` switches to it"
            );
        }
        Hint::ShorterName => "a few words are enough",
        Hint::TooWide => {
            "open a directory below it, or, in a terminal, run `backstitch init` there to use it anyway"
        }
        Hint::Gone => "nothing was recorded; restore it, or open another",
        Hint::Unwritable => {
            "the store's directory must exist and be writable; `backstitch lsp --store-dir` names another"
        }
        Hint::Newer => {
            "install the newer version and restart the language server, or start it with another store: `backstitch --store-dir DIR lsp`"
        }
        Hint::NoHome => {
            "set HOME where the language server is started, or start it with a store: `backstitch --store-dir DIR lsp`"
        }
    };
    step.to_owned()
}

/// Returns the next steps that commands take.
pub fn offers(hint: &Hint) -> Vec<Offer> {
    let offer = |title: &str, command: &str, arguments: Value| Offer {
        title: title.to_owned(),
        command: command.to_owned(),
        arguments,
    };
    match hint {
        Hint::NothingToUndo => vec![offer(
            "Rewind Last Turn",
            "backstitch.rewind",
            json!({ "rev": "@turn" }),
        )],
        Hint::UndoBefore { op, turn } => {
            let (turn, op) = (format!("t{turn}"), op.to_string());
            let undo_turn = json!({ "turn": turn });
            vec![
                offer("Revert the Turn", "backstitch.revert", undo_turn),
                offer(
                    "Undo the Operation Before",
                    "backstitch.undo",
                    json!({ "op": op }),
                ),
            ]
        }
        Hint::Undo { op } => vec![offer("Undo", "backstitch.undo", json!({ "op": op }))],
        Hint::Redo => vec![offer("Redo", "backstitch.redo", json!({}))],
        Hint::UndoThere { branch, .. } => {
            let title = format!("Switch to {branch}");
            let there = json!({ "branch": branch });
            vec![offer(&title, "backstitch.switch", there)]
        }
        Hint::OtherLine { node, branch } => vec![
            offer(
                &format!("Switch to {branch}"),
                "backstitch.switch",
                json!({ "branch": branch }),
            ),
            offer(
                "Restore That State Here",
                "backstitch.rewind",
                json!({ "rev": node.to_string(), "exact": true }),
            ),
        ],
        Hint::BranchAgain { name, head } => {
            let title = format!("Bring Back {name}");
            let branch = json!({ "rev": head.to_string(), "name": name });
            vec![offer(&title, "backstitch.fork", branch)]
        }
        Hint::First | Hint::Begin => vec![offer(
            "Make a Checkpoint",
            "backstitch.checkpoint",
            json!({}),
        )],
        _ => Vec::new(),
    }
}

fn in_a_terminal(step: &str) -> String {
    format!("in a terminal: {step}")
}

/// Formats how to list the possible names.
fn list(listed: Listed) -> String {
    match listed {
        Listed::Sessions => "`backstitch/sessions` lists the sessions".to_owned(),
        Listed::Branches => "`backstitch.switch` without `branch` offers them".to_owned(),
        Listed::Agents => in_a_terminal("`backstitch stats` names the agents that have reported"),
        Listed::Tags => in_a_terminal("`backstitch tag` lists the tags"),
        Listed::Operations => in_a_terminal("`backstitch oplog` shows the operations"),
    }
}

/// A hint in the words of the terminal, whose options are fields here.
pub fn of_terminal(hint: &str) -> String {
    hint.replace("--scope code", "scope `code`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options of the command line are never the next step in an editor, except for the start of the server itself.
    #[test]
    fn no_options_where_there_is_no_command_line() {
        let op = || backstitch_core::model::OpId(7);
        let node = || backstitch_core::model::NodeId(9);
        for hint in [
            Hint::Begin,
            Hint::First,
            Hint::Revisions,
            Hint::List(Listed::Branches),
            Hint::List(Listed::Sessions),
            Hint::Whereabouts {
                path: "a.rs".into(),
            },
            Hint::Decide,
            Hint::Whole,
            Hint::LookAgain,
            Hint::Hunks,
            Hint::Scope,
            Hint::Unsaved,
            Hint::UnsavedThere,
            Hint::Writer,
            Hint::Fixed,
            Hint::Undo { op: "op7".into() },
            Hint::Redo,
            Hint::NothingToUndo,
            Hint::UndoBefore { op: op(), turn: 4 },
            Hint::UndoThere {
                op: op(),
                branch: "idea".into(),
            },
            Hint::OtherLine {
                node: node(),
                branch: "idea".into(),
            },
            Hint::BranchAgain {
                name: "idea".into(),
                head: node(),
            },
            Hint::ShorterName,
            Hint::TooWide,
            Hint::Gone,
        ] {
            let text = text(&hint);
            assert!(!text.contains("--"), "{text}");
            let spoken = text.split("in a terminal").next().unwrap_or_default();
            assert!(!spoken.contains("`backstitch "), "{text}");
        }
        let terminal = text(&Hint::Terminal("`backstitch verify` says more".into()));
        assert_eq!(terminal, "in a terminal: `backstitch verify` says more");
    }
}
