//! Code lenses: one above each run of lines that an agent wrote last, and one at the top of a file with checkpoints.
//! Pure.

use std::borrow::Cow;

use serde::Serialize;
use tower_lsp::gen_lsp_types::Range;

use super::blame_groups::{self, Group};
use super::document::Document;
use super::messages::{self, Now};
use super::position::line_start;
use super::session::DocumentHistory;
use super::settings::Lenses;
use backstitch_core::AgentWork;

/// LSP's lens, serialized without a value tree in between, since there may be thousands.
#[derive(Debug, Serialize)]
pub struct Lens<'a> {
    range: Range,
    command: LensCommand<'a>,
}

#[derive(Debug, Serialize)]
struct LensCommand<'a> {
    title: Cow<'static, str>,
    command: &'static str,
    arguments: [Arguments<'a>; 1],
}

#[derive(Clone, Debug, Serialize)]
struct Arguments<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rev: Option<String>,
    uri: &'a str,
}

pub fn of<'a>(
    uri: &'a str,
    document: &Document,
    history: &DocumentHistory,
    which: Lenses,
    now: Now,
) -> Vec<Lens<'a>> {
    if which == Lenses::Off {
        return Vec::new();
    }
    let mut lenses = Vec::new();
    if let Some(newest) = history.newest {
        let title = messages::file_lens(history.checkpoints, history.more, newest, now);
        let arguments = Arguments { rev: None, uri };
        lenses.push(lens(0, title.into(), "backstitch.timeline", arguments));
    }
    let all = blame_groups::groups(&history.blame, &document.text);
    for group in all.iter().filter(|group| wanted(group, history, which)) {
        let Some(rev) = group.rev() else { continue };
        let line = group.lines.start;
        let rev = Some(rev);
        let arguments = Arguments { rev, uri };
        let titles = [
            (
                messages::rewind_lens(group, now).into(),
                "backstitch.rewind",
            ),
            (messages::FORK_LENS.into(), "backstitch.fork"),
            (messages::DIFF_LENS.into(), "backstitch.diff"),
        ];
        let group = titles.map(|(title, command)| lens(line, title, command, arguments.clone()));
        lenses.extend(group);
    }
    lenses
}

fn lens<'a>(
    line: usize,
    title: Cow<'static, str>,
    command: &'static str,
    arguments: Arguments<'a>,
) -> Lens<'a> {
    let at = line_start(line);
    Lens {
        range: Range { start: at, end: at },
        command: LensCommand {
            title,
            command,
            arguments: [arguments],
        },
    }
}

fn wanted(group: &Group, history: &DocumentHistory, which: Lenses) -> bool {
    let of = |work: &AgentWork| (work.session.id, work.turn.as_ref().map(|turn| turn.number));
    let (own, last) = (group.work().map(of), history.latest);
    match which {
        Lenses::All => true,
        Lenses::Session => own.map(|own| own.0) == last.map(|last| last.0),
        Lenses::LatestTurn => own == last,
        Lenses::Off => false,
    }
}
