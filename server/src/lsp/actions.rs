//! Code actions: everything that a lens does, for editors that draw none, and what helps at any place. Pure.

use std::ops::Range;

use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionResponse, Command,
};

use super::document::Document;
use super::groups;
use super::session::Known;
use super::words::{self, Now, action};

/// More turns than these within one selection are not offered one by one.
const TURNS: usize = 4;

/// What is offered for some lines. `literals`: the client takes more than commands.
pub fn of(
    uri: &str,
    document: &Document,
    known: &Known,
    lines: &Range<usize>,
    now: Now,
    literals: bool,
) -> Vec<CodeActionResponse> {
    let mut commands = Vec::new();
    let mut named = Vec::new();
    let groups = groups::groups(&known.blame, &document.text);
    for group in groups.iter().filter(|group| group.touches(lines)) {
        let (Some(rev), Some(work)) = (group.rev(), group.work()) else {
            continue;
        };
        if named.contains(&rev) || named.len() == TURNS {
            continue;
        }
        let about = words::turn(&group.author, work, now);
        let target = json!({ "rev": rev, "uri": uri });
        commands.push(command(
            action::rewind(&about),
            "backstitch.rewind",
            target.clone(),
        ));
        commands.push(command(
            action::rewind_file(&about),
            "backstitch.rewind",
            json!({ "rev": rev, "uri": uri, "paths": [uri] }),
        ));
        if work.turn.is_some() {
            commands.push(command(
                action::revert(&about),
                "backstitch.revert",
                json!({ "turn": rev, "uri": uri }),
            ));
        }
        commands.push(command(
            action::diff(&about),
            "backstitch.diff",
            target.clone(),
        ));
        commands.push(command(action::fork(&about), "backstitch.fork", target));
        named.push(rev);
    }
    let here = json!({ "uri": uri });
    for (title, name) in [
        (action::UNDO, "backstitch.undo"),
        (action::REDO, "backstitch.redo"),
        (action::CHECKPOINT, "backstitch.checkpoint"),
        (action::TIMELINE, "backstitch.timeline"),
    ] {
        commands.push(command(title.to_owned(), name, here.clone()));
    }
    let answer = |command: Command| {
        if literals {
            CodeActionResponse::CodeAction(CodeAction {
                title: command.title.clone(),
                kind: Some(CodeActionKind::from(KIND.to_owned())),
                command: Some(command),
                ..CodeAction::default()
            })
        } else {
            CodeActionResponse::Command(command)
        }
    };
    commands.into_iter().map(answer).collect()
}

/// A kind of refactoring, so that no light bulb calls for it.
pub const KIND: &str = "refactor.rewrite.backstitch";

/// Whether the client asks for such actions.
pub fn asked(context: &CodeActionContext) -> bool {
    let within = |kind: &CodeActionKind| {
        let kind: String = kind.clone().into();
        kind.is_empty() || KIND == kind || KIND.starts_with(&format!("{kind}."))
    };
    context
        .only
        .as_ref()
        .is_none_or(|only| only.iter().any(within))
}

fn command(title: String, name: &str, arguments: Value) -> Command {
    Command {
        title,
        command: name.to_owned(),
        arguments: Some(vec![arguments]),
        tooltip: None,
    }
}
