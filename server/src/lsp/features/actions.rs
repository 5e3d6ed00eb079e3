//! Code actions: the commands of lenses, for editors that draw none, and commands that make sense at any place. Pure.

use std::ops::Range;

use backstitch_core::restore::Reversible;
use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionResponse, Command,
};

use crate::lsp::documents::blame_groups::{self, Group};
use crate::lsp::documents::document::Document;
use crate::lsp::messages::{self, Now, action};
use crate::lsp::session::{DocumentHistory, TurnsInForce};

/// Maximum number of turns in a selection that get their own actions.
const MAX_TURNS: usize = 4;

/// Selection of the actions.
#[derive(Clone, Copy, Debug)]
pub enum Offer {
    /// All, with those that undo and redo an operation if there is one.
    All(Reversible),
    /// A few on lines that an agent wrote.
    AgentLines,
}

/// Returns the actions for some lines. `turns_in_force`: those that a rewind may undo.
pub fn of(
    uri: &str,
    document: &Document,
    history: &DocumentHistory,
    lines: &Range<usize>,
    offer: Offer,
    turns_in_force: &TurnsInForce,
) -> Vec<Command> {
    let now = Now::read();
    let groups = blame_groups::groups(&history.blame, &document.text);
    let turns = turns(&groups, lines);
    let commands = turns.iter().filter_map(|(rev, group, own)| match offer {
        Offer::All(_) => of_turn(uri, rev, group, own, now),
        Offer::AgentLines => of_agent_lines(uri, rev, group, own, turns_in_force, now),
    });
    let mut commands: Vec<Command> = commands.flatten().collect();
    if let Offer::All(reversible) = offer {
        let general = [
            (action::UNDO, "backstitch.undo", reversible.undo.is_some()),
            (action::REDO, "backstitch.redo", reversible.redo.is_some()),
            (action::CHECKPOINT, "backstitch.checkpoint", true),
            (action::TIMELINE, "backstitch.timeline", true),
        ];
        let general = general.into_iter().filter(|(.., possible)| *possible);
        let here = json!({ "uri": uri });
        commands
            .extend(general.map(|(title, name, _)| command(title.to_owned(), name, here.clone())));
    }
    commands
}

/// Returns commands as the client takes them. `literals`: it accepts more than commands.
pub fn answer(commands: Vec<Command>, literals: bool) -> Vec<CodeActionResponse> {
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

/// Returns the revisions before the turns of some lines, each with its first group and its selected lines. The range
/// ends where another turn's lines begin.
fn turns<'g>(groups: &'g [Group], lines: &Range<usize>) -> Vec<(String, &'g Group, Range<usize>)> {
    let mut turns: Vec<(String, &Group, Range<usize>)> = Vec::new();
    let mut previous = None;
    for group in groups.iter().filter(|group| group.overlaps(lines)) {
        let Some(rev) = group.rev() else { continue };
        let own = group.lines.start.max(lines.start)..group.lines.end.min(lines.end);
        match turns.iter().position(|(turn, ..)| *turn == rev) {
            Some(at) if previous.as_ref() == Some(&rev) => turns[at].2.end = own.end,
            None if turns.len() < MAX_TURNS => turns.push((rev.clone(), group, own)),
            _ => {}
        }
        previous = Some(rev);
    }
    turns
}

/// Returns the actions for one turn. `lines`: its selected lines.
fn of_turn(
    uri: &str,
    rev: &str,
    group: &Group,
    lines: &Range<usize>,
    now: Now,
) -> Option<Vec<Command>> {
    let work = group.work()?;
    let (about, name) = (
        messages::turn(&group.author, work, now),
        messages::name(work),
    );
    let here = || json!({ "rev": rev, "uri": uri });
    let with = |key: &str, value: Value| {
        let mut arguments = here();
        arguments[key] = value;
        arguments
    };
    let file = with("paths", json!([uri]));
    let at = with("lines", json!([lines.start, lines.end]));
    let mut commands = vec![
        command(action::rewind(&about), "backstitch.rewind", here()),
        command(action::rewind_file(&about), "backstitch.rewind", file),
        command(action::rewind_lines(&name), "backstitch.rewind", at),
    ];
    let own = if work.turn.is_some() {
        let turn = json!({ "turn": rev, "uri": uri });
        let revert = action::revert(&about);
        commands.push(command(revert, "backstitch.revert", turn.clone()));
        turn
    } else {
        // a step without a turn is the difference between the state before it and its own state
        with("rev2", json!(rev.trim_end_matches('^')))
    };
    commands.extend([
        command(action::diff_of(&name), "backstitch.diff", own),
        command(action::diff(&about), "backstitch.diff", here()),
        command(action::fork(&about), "backstitch.fork", here()),
    ]);
    Some(commands)
}

/// Returns the actions for one turn in the short list. *Revert* reverts exactly that turn, in this file or as a whole.
/// These lines alone are rewound. A rewind, which undoes the later turns of its session, too, is offered where there are any.
fn of_agent_lines(
    uri: &str,
    rev: &str,
    group: &Group,
    lines: &Range<usize>,
    turns_in_force: &TurnsInForce,
    now: Now,
) -> Option<Vec<Command>> {
    let work = group.work()?;
    let prompt = messages::prompt(work);
    let age = group.author.time.map(|time| now.ago(time));
    let aged = |title: String| match &age {
        Some(age) => format!("{title} · {age}"),
        None => title,
    };
    let at = json!({ "rev": rev, "uri": uri, "lines": [lines.start, lines.end] });
    let turn = match &work.turn {
        Some(_) => json!({ "turn": rev, "uri": uri }),
        // the state before a step is named after it
        None => json!({ "step": rev.trim_end_matches('^'), "uri": uri }),
    };
    let mut file = turn.clone();
    file["paths"] = json!([uri]);
    let mut commands = vec![
        command(aged(action::rewind_lines(&prompt)), "backstitch.rewind", at),
        command(
            aged(action::revert_in_file(&prompt)),
            "backstitch.revert",
            file,
        ),
        command(
            aged(action::revert_turn(&prompt)),
            "backstitch.revert",
            turn,
        ),
    ];
    let number = work.turn.as_ref().map(|turn| turn.number);
    let later = number.map_or(0, |number| turns_in_force.later(work.session.id, number));
    if later > 0 {
        let here = json!({ "rev": rev, "uri": uri });
        let title = action::rewind_with_later_turns(&prompt, later);
        commands.push(command(aged(title), "backstitch.rewind", here));
    }
    Some(commands)
}

/// A kind of refactoring, so that editors show no light bulb for it.
pub const KIND: &str = "refactor.rewrite.backstitch";

/// True if the client asks for actions of this kind.
pub fn is_requested(context: &CodeActionContext) -> bool {
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
