//! Code lenses: a group above each run of lines that an agent wrote last, and one at the top of a file with checkpoints;
//! in the short form a group for each turn. Pure.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tower_lsp::gen_lsp_types::Range;

use crate::lsp::documents::blame_groups::{self, Group};
use crate::lsp::documents::document::Document;
use crate::lsp::documents::position::line_start;
use crate::lsp::messages::{self, Now};
use crate::lsp::session::DocumentHistory;
use crate::lsp::session::settings::Lenses;
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

#[derive(Clone, Debug, Default, Serialize)]
struct Arguments<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rev: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<[&'a str; 1]>,
    uri: &'a str,
}

/// Form of the lenses that a client shows.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub which: Lenses,
    /// One group for each turn, with short titles, and none for the file.
    pub short: bool,
    /// The client draws `$(name)` as an icon.
    pub draws_icons: bool,
}

/// Number of turns with lenses in a file, the newest ones: more would push the code apart. One lens leads to the others.
const MAX_TURNS: usize = 5;
/// The same in the full form, which a user chooses to see more.
const MAX_TURNS_FULL: usize = 20;

pub fn of<'a>(
    uri: &'a str,
    document: &Document,
    history: &DocumentHistory,
    form: Form,
    now: Now,
) -> Vec<Lens<'a>> {
    if form.which == Lenses::Off {
        return Vec::new();
    }
    let all = blame_groups::groups(&history.blame, &document.text);
    let mut shown: Vec<&Group> = all.iter().collect();
    shown.retain(|group| group.rev().is_some() && wanted(group, history, form.which));
    let max_turns = if form.short {
        MAX_TURNS
    } else {
        MAX_TURNS_FULL
    };
    let earlier = keep_newest_turns(&mut shown, max_turns);
    let mut lenses = Vec::new();
    if form.short {
        let first = first_of_turns(shown).into_iter();
        lenses.extend(first.flat_map(|group| short(uri, group)));
        lenses.extend(earlier_lens(uri, earlier));
        return lenses;
    }
    // two groups on one line would have no order
    let on_first_line = shown.first().is_some_and(|group| group.lines.start == 0);
    if let Some(newest) = history.newest.filter(|_| !on_first_line) {
        let title = messages::file_lens(history.checkpoints, history.more, newest, now);
        let arguments = Arguments {
            uri,
            ..Arguments::default()
        };
        lenses.push(lens((0, 0), title.into(), "backstitch.timeline", arguments));
    }
    for group in shown {
        let title = messages::rewind_lens(group, now);
        let title = if form.draws_icons {
            messages::without_icons(&title)
        } else {
            title
        };
        let titles = [
            (title.into(), "backstitch.rewind"),
            (messages::FORK_LENS.into(), "backstitch.fork"),
            (messages::DIFF_LENS.into(), "backstitch.diff"),
        ];
        let arguments = Arguments {
            rev: group.rev(),
            uri,
            ..Arguments::default()
        };
        let parts = (0..).zip(titles);
        lenses.extend(parts.map(|(at, (title, command))| {
            lens((group.lines.start, at), title, command, arguments.clone())
        }));
    }
    lenses.extend(earlier_lens(uri, earlier));
    lenses
}

/// Keeps the groups of at most this many turns, the newest. Returns the number of other turns.
fn keep_newest_turns(shown: &mut Vec<&Group>, max_turns: usize) -> usize {
    let mut newest: BTreeMap<Option<String>, Option<i64>> = BTreeMap::new();
    for group in shown.iter() {
        let time = newest.entry(group.rev()).or_default();
        *time = group.author.time.max(*time);
    }
    let mut turns: Vec<_> = newest.into_iter().collect();
    turns.sort_by_key(|(_, time)| Reverse(*time));
    let earlier: BTreeSet<_> = turns
        .into_iter()
        .skip(max_turns)
        .map(|turn| turn.0)
        .collect();
    shown.retain(|group| !earlier.contains(&group.rev()));
    earlier.len()
}

/// Returns the lens that leads to the list of turns, at the top of the file, after the others there.
fn earlier_lens(uri: &str, earlier: usize) -> Option<Lens<'_>> {
    let title = messages::earlier_turns_lens(earlier).into();
    let arguments = Arguments {
        uri,
        ..Arguments::default()
    };
    (earlier > 0).then(|| lens((0, 3), title, "backstitch.timeline", arguments))
}

/// Keeps the first run of each turn.
fn first_of_turns(groups: Vec<&Group>) -> Vec<&Group> {
    let mut seen = BTreeSet::new();
    let new = |group: &&Group| seen.insert(group.rev());
    groups.into_iter().filter(new).collect()
}

/// Returns the lenses of a turn in their short form.
fn short<'a>(uri: &'a str, group: &Group) -> [Lens<'a>; 3] {
    let rev = group.rev();
    let is_turn = group.work().is_some_and(|work| work.turn.is_some());
    let at = |rev: Option<String>| Arguments {
        rev,
        uri,
        ..Arguments::default()
    };
    // exactly this turn: later ones stay
    let whole = Arguments {
        turn: rev.clone().filter(|_| is_turn),
        // the state before a step is named after it
        step: rev
            .as_deref()
            .filter(|_| !is_turn)
            .map(|rev| rev.trim_end_matches('^').to_owned()),
        ..at(None)
    };
    let here = Arguments {
        paths: Some([uri]),
        ..whole.clone()
    };
    let line = group.lines.start;
    [
        lens(
            (line, 0),
            messages::REVERT_TURN_LENS.into(),
            "backstitch.revert",
            whole,
        ),
        lens(
            (line, 1),
            messages::REVERT_HERE_LENS.into(),
            "backstitch.revert",
            here,
        ),
        lens(
            (line, 2),
            messages::SHORT_DIFF_LENS.into(),
            "backstitch.diff",
            at(rev),
        ),
    ]
}

/// `at`: line and character. The lenses of one line have distinct characters, which give their order.
fn lens<'a>(
    at: (usize, u32),
    title: Cow<'static, str>,
    command: &'static str,
    arguments: Arguments<'a>,
) -> Lens<'a> {
    let mut start = line_start(at.0);
    start.character = at.1;
    Lens {
        range: Range { start, end: start },
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
