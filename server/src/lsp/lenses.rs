//! Code lenses: one above each run of lines that an agent wrote last, one at the top of a file with
//! checkpoints. Pure.

use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::{CodeLens, Command, Range};

use super::document::Document;
use super::groups::{self, Group};
use super::position::line_start;
use super::session::Known;
use super::settings::Lenses;
use super::words::{self, Now};
use backstitch_core::Work;

pub fn of(uri: &str, document: &Document, known: &Known, which: Lenses, now: Now) -> Vec<CodeLens> {
    if which == Lenses::Off {
        return Vec::new();
    }
    let mut lenses = Vec::new();
    if let Some(newest) = known.newest {
        let title = words::file_lens(known.checkpoints, known.more, newest, now);
        lenses.push(lens(0, title, "backstitch.timeline", json!({ "uri": uri })));
    }
    let all = groups::groups(&known.blame, &document.text);
    for group in all.iter().filter(|group| wanted(group, known, which)) {
        let Some(rev) = group.rev() else { continue };
        let line = group.lines.start;
        let arguments = json!({ "rev": rev, "uri": uri });
        let title = words::rewind_lens(group, now);
        lenses.push(lens(line, title, "backstitch.rewind", arguments.clone()));
        let name = words::FORK_LENS.to_owned();
        lenses.push(lens(line, name, "backstitch.fork", arguments.clone()));
        let name = words::DIFF_LENS.to_owned();
        lenses.push(lens(line, name, "backstitch.diff", arguments));
    }
    lenses
}

fn lens(line: usize, title: String, command: &str, arguments: Value) -> CodeLens {
    let at = line_start(line);
    CodeLens {
        range: Range { start: at, end: at },
        command: Some(Command {
            title,
            command: command.to_owned(),
            arguments: Some(vec![arguments]),
            tooltip: None,
        }),
        data: None,
    }
}

fn wanted(group: &Group, known: &Known, which: Lenses) -> bool {
    let of = |work: &Work| (work.session.id, work.turn.as_ref().map(|turn| turn.number));
    let (own, last) = (group.work().map(of), known.latest);
    match which {
        Lenses::All => true,
        Lenses::Session => own.map(|own| own.0) == last.map(|last| last.0),
        Lenses::LatestTurn => own == last,
        Lenses::Off => false,
    }
}
