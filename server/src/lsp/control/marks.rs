//! Lenses and code actions about held calls and breakpoints in one document, for editors without panels.

use std::ops::Range;

use backstitch_control::{RegionState, follow};
use backstitch_protocol::Text;
use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::{CodeLens, Command};

use crate::lsp::documents::document::Document;
use crate::lsp::documents::position::line_start;
use crate::lsp::messages::control as messages;
use crate::lsp::session::ServerState;
use crate::lsp::session::control_state::{HeldHere, Shown};

/// A mark of a document: lines from 0.
enum Mark<'a> {
    Held(Range<usize>, &'a HeldHere),
    Stops(Range<usize>),
}

fn marks<'a>(shown: &'a Shown, document: &Document) -> Vec<Mark<'a>> {
    let Some(place) = &document.place else {
        return Vec::new();
    };
    let path = place.path.display();
    let mut marks = Vec::new();
    for held in shown.held.values() {
        let of_file = held
            .predicted
            .iter()
            .find(|file| Text::plain(&file.path) == Some(path.as_str()));
        if let Some(file) = of_file {
            let line = file.line.unwrap_or(0);
            let end = line + file.removed.unwrap_or(1).max(1);
            marks.push(Mark::Held(line..end, held));
        }
    }
    for (one, base) in &shown.lines {
        let Some(set) = one.spec.lines() else {
            continue;
        };
        if set.path != path || !one.enabled {
            continue;
        }
        let text = document.as_saved().unwrap_or_else(|| document.bytes());
        if let RegionState::Present(range) = follow(base, set.range, &text) {
            let start = (range.start as usize).saturating_sub(1);
            marks.push(Mark::Stops(start..start + range.count as usize));
        }
    }
    marks
}

/// Returns the lenses of held calls and breakpoints. None for a client that draws them itself.
pub fn lenses(server: &ServerState, document: &Document) -> Vec<CodeLens> {
    let Some(shown) = shown(server, document) else {
        return Vec::new();
    };
    marks(&shown, document)
        .into_iter()
        .map(|mark| match mark {
            Mark::Held(lines, held) => {
                let arguments = json!({ "pause": held.pause.id.to_string() });
                lens(
                    lines.start,
                    messages::lens(&held.pause),
                    "backstitch.inspect",
                    arguments,
                )
            }
            Mark::Stops(lines) => {
                let uri = document.place.as_ref().map(|place| {
                    crate::lsp::documents::uri::of_path(
                        &place.handle.root().join(place.path.to_path()),
                    )
                });
                let arguments =
                    json!({ "uri": uri, "lines": [lines.start, lines.end.max(lines.start + 1)] });
                let title = messages::LENS_STOPS.to_owned();
                lens(
                    lines.start,
                    title,
                    "backstitch.breakpoint.toggle",
                    arguments,
                )
            }
        })
        .collect()
}

fn shown(server: &ServerState, document: &Document) -> Option<std::sync::Arc<Shown>> {
    if server.client.features().own.panels {
        return None;
    }
    let place = document.place.as_ref()?;
    server.control.of(&place.handle)
}

fn lens(line: usize, title: String, name: &str, arguments: Value) -> CodeLens {
    let start = line_start(line);
    CodeLens {
        range: tower_lsp::gen_lsp_types::Range { start, end: start },
        command: Some(command(title, name, arguments)),
        data: None,
    }
}

fn command(title: String, name: &str, arguments: Value) -> Command {
    Command {
        title,
        command: name.to_owned(),
        arguments: Some(vec![arguments]),
        tooltip: None,
    }
}

/// Commands at some lines, for editors without panels.
#[derive(Default)]
pub struct Actions {
    /// Decisions on the calls that are held there. They come before everything else: an agent waits.
    pub decisions: Vec<Command>,
    /// Sets or takes away the breakpoint of these lines.
    pub breakpoint: Option<Command>,
}

pub fn actions(
    server: &ServerState,
    uri: &str,
    document: &Document,
    lines: &Range<usize>,
) -> Actions {
    if server.client.features().own.panels || document.place.is_none() {
        return Actions::default();
    }
    let shown = shown(server, document).unwrap_or_default();
    let mut decisions = Vec::new();
    let mut stops = false;
    let overlaps = |other: &Range<usize>| {
        lines.start < other.end.max(other.start + 1) && other.start < lines.end
    };
    for mark in marks(&shown, document) {
        match mark {
            Mark::Held(at, held) if overlaps(&at) => {
                let pause = &held.pause;
                let here = json!({ "pause": pause.id.to_string(), "uri": uri });
                let all = [
                    (messages::action_continue(pause), "backstitch.resume"),
                    (messages::action_deny(pause), "backstitch.deny"),
                    (messages::action_details(pause), "backstitch.inspect"),
                ];
                decisions.extend(all.map(|(title, name)| command(title, name, here.clone())));
            }
            Mark::Stops(at) if overlaps(&at) => stops = true,
            _ => {}
        }
    }
    let title = if stops {
        messages::ACTION_NO_STOP
    } else {
        messages::ACTION_STOP_HERE
    };
    let breakpoint = command(
        title.to_owned(),
        "backstitch.breakpoint.toggle",
        json!({ "uri": uri, "lines": [lines.start, lines.end] }),
    );
    Actions {
        decisions,
        breakpoint: Some(breakpoint),
    }
}
