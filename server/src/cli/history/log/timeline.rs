//! Drawing of the timeline: a row for each checkpoint, as a list, by branch or as a graph. Pure.

use std::collections::{HashMap, HashSet};

use anstyle::Style;
use backstitch_core::model::{BranchId, Kind, NodeId, Role, TurnId};
use backstitch_core::{BranchInfo, Entry, EntryChange};
use unicode_width::UnicodeWidthStr;

use crate::cli::files;
use crate::cli::history::entry_words::{
    coverage_note, directories, is_undone, operation_text, squashed_text, turn_name,
};
use crate::cli::history::graph::{self, GraphRow, Note};
use crate::render::{
    self, BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, PLAIN, Paint, PathChange, YELLOW,
};
use crate::terminal::line::TextLine;
use crate::to_protocol;

/// Maximum columns of a shell command in its row.
const COMMAND_COLUMNS: usize = 48;
/// Maximum columns of a prompt in the row of a step.
const PROMPT_COLUMNS: usize = 32;
/// Branches listed at one head.
const HEADS: usize = 3;
/// Paths listed on one line.
const PATHS_INLINE: usize = 3;

#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Letter of the session; 0 if all are of one session.
    letter: usize,
    turn: usize,
    id: usize,
    tool: usize,
}

impl Columns {
    pub fn of(entries: &[Entry]) -> Self {
        let widest = |f: &dyn Fn(&Entry) -> usize| entries.iter().map(f).max().unwrap_or(0);
        let sessions: HashSet<_> = entries
            .iter()
            .filter_map(|e| e.session.as_ref())
            .map(|s| s.id)
            .collect();
        let letter = widest(&|e| e.session.as_ref().map_or(0, |s| s.id.letter().width()));
        Self {
            letter: if sessions.len() > 1 { letter + 1 } else { 0 },
            turn: widest(&|e| turn_name(e).width()) + 1,
            id: widest(&|e| e.node.id.to_string().width()) + 2,
            tool: widest(&|e| who(e).width()).min(16) + 2,
        }
    }
}

pub struct Timeline {
    pub paint: Paint,
    pub graph: bool,
    pub paths: usize,
    pub columns: Columns,
    /// Turns that need not be named at their steps.
    pub turns: HashSet<TurnId>,
    /// Checkpoint at which the only shown branch starts.
    pub start: Option<NodeId>,
    /// Branches by head; true marks the current one.
    pub heads: HashMap<NodeId, Vec<(String, bool)>>,
    pub order: RowOrder,
}

/// Order of the rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowOrder {
    pub newest_first: bool,
    /// True if there are older checkpoints that are not shown.
    pub continues: bool,
}

/// Neighbors of a row in its lane.
#[derive(Clone, Copy, Debug)]
struct Joins {
    above: bool,
    below: bool,
}

impl RowOrder {
    /// Returns the neighbors of a row. `newest`: nothing newer is in its lane. `oldest`: it is the oldest row of all.
    fn joins(self, newest: bool, oldest: bool) -> Joins {
        if self.newest_first {
            Joins {
                above: !newest,
                below: !oldest || self.continues,
            }
        } else {
            Joins {
                above: true,
                below: !newest,
            }
        }
    }

    /// Puts rows, which are oldest first, in this order.
    fn apply<T>(self, rows: &mut [T]) {
        if self.newest_first {
            rows.reverse();
        }
    }
}

impl Timeline {
    fn draw<'a>(&self, oldest_first: impl Iterator<Item = &'a Entry>, text: &mut String) {
        let entries: Vec<&Entry> = oldest_first.collect();
        let count = entries.len();
        let mut rows: Vec<(usize, &Entry)> = entries.into_iter().enumerate().collect();
        self.order.apply(&mut rows);
        for (n, entry) in rows {
            self.entry(entry, "", self.order.joins(n + 1 == count, n == 0), text);
        }
    }

    /// Draws one chain, which may span branches.
    pub fn chain(&self, oldest_first: &[&Entry], branches: &[BranchInfo], text: &mut String) {
        let mut before = None;
        let mut rows = Vec::new();
        for (n, entry) in oldest_first.iter().enumerate() {
            let branch = entry.node.branch;
            if before.is_some_and(|b| b != branch)
                && let Some(branch) = branches.iter().find(|b| b.id == branch)
            {
                rows.push((n, Err(Note::Becomes(branch))));
            }
            before = Some(branch);
            rows.push((n, Ok(*entry)));
        }
        self.order.apply(&mut rows);
        for (n, row) in rows {
            let joins = self.order.joins(n + 1 == oldest_first.len(), n == 0);
            match row {
                Ok(entry) => self.entry(entry, "", joins, text),
                Err(note) => self.note("", &note, text),
            }
        }
    }

    /// Draws each branch with its own rows. If this is one of several pages, skips branches without rows.
    pub fn sections(
        &self,
        oldest_first: &[&Entry],
        branches: &[BranchInfo],
        whole: bool,
        text: &mut String,
    ) {
        let shown: HashSet<BranchId> = oldest_first.iter().map(|e| e.node.branch).collect();
        let mut others = 0;
        let mut sections = String::new();
        let mut sorted = by_age(branches);
        self.order.apply(&mut sorted);
        for branch in sorted {
            if !shown.contains(&branch.id) && (branch.deleted || !whole) {
                others += usize::from(!branch.deleted);
                continue;
            }
            sections.push_str(&branch_header(branch, self.paint));
            let own = oldest_first.iter().filter(|e| e.node.branch == branch.id);
            self.draw(own.copied(), &mut sections);
        }
        if others > 0 {
            let others = render::plural(others, "more branch", "more branches");
            let note = format!("… {others} without a checkpoint on this page: `backstitch branch`");
            let note = TextLine::new().add(DIM, note).draw(self.paint);
            if self.order.newest_first {
                sections.push_str(&note);
            } else {
                text.push_str(&note);
            }
        }
        text.push_str(&sections);
    }

    pub fn graph(&self, mut rows: Vec<GraphRow>, text: &mut String) {
        if self.order.newest_first {
            graph::newest_first(&mut rows);
        }
        let count = rows.len();
        for (n, row) in rows.into_iter().enumerate() {
            match row {
                GraphRow::Entry { entry, lanes, last } => {
                    let joins = self.order.joins(last, n + 1 == count);
                    self.entry(entry, &lanes, joins, text);
                }
                GraphRow::Note { lanes, note } => self.note(&lanes, &note, text),
            }
        }
    }

    /// Draws a note about branches between two rows.
    fn note(&self, lanes: &str, note: &Note, text: &mut String) {
        let line = TextLine::new().add(DIM, lanes);
        let named = |line: TextLine, branch: &BranchInfo| {
            let style = if branch.current { GREEN.bold() } else { BOLD };
            line.add(style, render::clean(&branch.name))
        };
        let line = match note {
            Note::Leaves(branch) => forked(named(line, branch), branch)
                .add(DIM, if branch.deleted { ", deleted" } else { "" }),
            Note::Continues(branch) => named(line, branch).add(DIM, "  continues"),
            Note::Becomes(branch) => forked(named(line, branch), branch),
            Note::Stub(branch) => {
                let head = branch.head.map(|id| id.to_string()).unwrap_or_default();
                let what = format!("  {}, newest {head}", count(branch));
                named(line, branch).add(DIM, what)
            }
            Note::MoreStubs(more) => {
                let more = render::plural(*more, "more branch", "more branches");
                line.add(DIM, format!("… and {more}: `backstitch log --all --graph`"))
            }
        };
        text.push_str(&line.draw(self.paint));
    }

    fn entry(&self, entry: &Entry, lanes: &str, joins: Joins, text: &mut String) {
        let node = &entry.node;
        let (mark, style) = mark(node.kind);
        let step = node.kind == Kind::Step;
        let lead = match (self.graph, step) {
            (true, true) if joins.above && joins.below => "├─",
            (true, true) if joins.below => "╭─",
            (true, true) => "╰─",
            (false, true) => "  ",
            (_, false) => "",
        };
        let mut line = TextLine::new().add(DIM, format!("{lanes}{lead}")).column(
            style,
            mark,
            if step { 2 } else { 4 },
        );
        let named = turn_name(entry);
        let id_style = if named.is_empty() { BLUE } else { DIM };
        line = line.column(BOLD, &named, self.columns.turn).column(
            id_style,
            &node.id.to_string(),
            self.columns.id,
        );
        if self.columns.letter > 0 {
            let session = entry.session.as_ref();
            let letter = session.map(|s| s.id.letter()).unwrap_or_default();
            let style = session.map_or(render::PLAIN, |s| render::session_style(s.id));
            line = line.column(style, &letter, self.columns.letter);
        }
        line = self.describe(line, entry);
        if entry.pinned {
            line = line.add(YELLOW, "  [pinned]");
        }
        for tag in &entry.tags {
            line = line.add(YELLOW, format!("  [{}]", render::clean(tag)));
        }
        let heads = self.heads.get(&node.id).map_or(&[][..], Vec::as_slice);
        for (name, current) in heads.iter().take(HEADS) {
            let style = if *current { GREEN.bold() } else { GREEN };
            line = line.add(style, format!("  ◀ {name}"));
        }
        if let Some(more) = heads.len().checked_sub(HEADS).filter(|more| *more > 0) {
            line = line.add(DIM, format!(" and {more} more"));
        }
        if !self.graph {
            line = inline_changes(line, &entry.changes);
            if let Some(note) = coverage_note(&node.coverage) {
                line = line.add(YELLOW, format!("  ! {note}"));
            }
        }
        text.push_str(
            &line
                .right(self.right(entry))
                .faded(is_undone(entry))
                .draw(self.paint),
        );
        if self.graph {
            self.below(entry, lanes, joins, text);
        }
    }

    /// Adds a description of the checkpoint to its line.
    fn describe(&self, line: TextLine, entry: &Entry) -> TextLine {
        let node = &entry.node;
        let label = node.label.as_deref().map(render::clean).unwrap_or_default();
        match node.kind {
            Kind::Turn if self.start == Some(node.id) => line
                .plain(prompt(entry))
                .add(DIM, "  (the branch starts before it)"),
            Kind::Turn => line.plain(prompt(entry)),
            Kind::Step => {
                let line = line.column(CYAN, &who(entry), self.columns.tool);
                let subagent = entry
                    .call
                    .as_ref()
                    .is_some_and(|call| call.subagent.is_some());
                let line = if subagent {
                    line.add(DIM, "by a subagent  ")
                } else {
                    line
                };
                let mut line = line;
                if let Some(command) = &entry.command {
                    let words = to_protocol::command_line(command);
                    line = line.plain(render::cut(&words, COMMAND_COLUMNS));
                } else if !label.is_empty() {
                    let label = render::cut(&label, COMMAND_COLUMNS);
                    line = line.plain(format!("“{label}”"));
                }
                if let Some(turn) = &entry.turn
                    && !self.turns.contains(&turn.id)
                {
                    let prompt = render::cut(&prompt(entry), PROMPT_COLUMNS);
                    line = line.add(DIM, format!("  t{} “{prompt}”", turn.number));
                }
                match directories(entry) {
                    dirs if !dirs.is_empty() => line.add(DIM, format!("  {dirs}")),
                    _ if entry.changes.is_empty() => line.add(DIM, "  no changes"),
                    _ => line,
                }
            }
            Kind::External => line
                .column(YELLOW, &who(entry), self.columns.tool)
                .add(DIM, directories(entry)),
            Kind::Rewind => line.add(MAGENTA, operation_text(entry)),
            Kind::Manual if label.is_empty() => line.plain("checkpoint"),
            Kind::Manual => line.plain(format!("“{label}”")),
            Kind::Squash => {
                let text = node.squashed.as_ref().map(squashed_text);
                line.add(DIM, text.unwrap_or_else(|| "older checkpoints".into()))
            }
            Kind::Import => line.add(DIM, "imported"),
        }
    }

    fn right(&self, entry: &Entry) -> String {
        let ago = self.paint.ago(entry.node.time);
        match (&entry.session, entry.node.kind) {
            (Some(session), Kind::Turn) => format!("{} · {ago}", render::clean(&session.agent)),
            _ => ago,
        }
    }

    /// Draws the changed paths and the skipped ones below the checkpoint.
    fn below(&self, entry: &Entry, lanes: &str, joins: Joins, text: &mut String) {
        let indent = 4 + self.columns.turn + self.columns.id;
        let lead = || {
            TextLine::new()
                .add(DIM, lanes)
                .column(DIM, if joins.below { "│" } else { "" }, indent)
        };
        let shown = if entry.changes.len() > self.paths {
            self.paths - 1
        } else {
            self.paths
        };
        let names = entry.changes.iter().take(shown).map(change_name);
        let width = files::name_width(names, self.paint);
        for change in entry.changes.iter().take(shown) {
            let what = PathChange::of(&change.change.before, &change.change.after);
            let name = render::cut(&change_name(change), width);
            let line = lead()
                .add(what.style(), what.letter().to_string())
                .plain("  ")
                .column(PLAIN, &name, width + 2);
            let line = files::with_counts(line, change.binary, (change.added, change.removed));
            text.push_str(
                &line
                    .faded(is_undone(entry) && self.paint.color)
                    .draw(self.paint),
            );
        }
        if let Some(more) = entry
            .changes
            .len()
            .checked_sub(shown)
            .filter(|more| *more > 0)
        {
            text.push_str(
                &lead()
                    .add(DIM, format!("… and {more} more"))
                    .draw(self.paint),
            );
        }
        if let Some(note) = coverage_note(&entry.node.coverage) {
            text.push_str(&lead().add(YELLOW, format!("! {note}")).draw(self.paint));
        }
    }
}

/// Returns the rows for `show` and the demo: the same look, without branches.
pub fn rows(oldest_first: &[Entry], paint: Paint, paths: usize) -> String {
    let timeline = Timeline {
        paint,
        graph: true,
        paths,
        columns: Columns::of(oldest_first),
        // the caller names the turn
        turns: turns(oldest_first.iter()),
        start: None,
        heads: HashMap::new(),
        order: RowOrder::default(),
    };
    let mut text = String::new();
    timeline.draw(oldest_first.iter(), &mut text);
    text
}

pub fn turns<'a>(entries: impl Iterator<Item = &'a Entry>) -> HashSet<TurnId> {
    let turns = entries.filter_map(|entry| entry.turn.as_ref());
    turns.map(|turn| turn.id).collect()
}

/// Sorts branches by age, the current one last.
fn by_age(branches: &[BranchInfo]) -> Vec<&BranchInfo> {
    let mut sorted: Vec<&BranchInfo> = branches.iter().collect();
    sorted.sort_by_key(|branch| (branch.current, branch.created));
    sorted
}

fn branch_header(branch: &BranchInfo, paint: Paint) -> String {
    let mark = if branch.current { "▶ " } else { "  " };
    let style = if branch.current { GREEN.bold() } else { BOLD };
    let line = TextLine::new().add(style, format!("{mark}{}", render::clean(&branch.name)));
    forked(line, branch).draw(paint)
}

/// Adds a mark for the current branch, and the fork point.
fn forked(mut line: TextLine, branch: &BranchInfo) -> TextLine {
    if branch.current {
        line = line.add(DIM, " (current)");
    }
    match branch.fork_point {
        Some(point) => {
            let parent = render::clean(branch.parent.as_deref().unwrap_or("?"));
            line.add(DIM, format!("  forked from {parent} at {point}"))
        }
        None => line,
    }
}

fn count(branch: &BranchInfo) -> String {
    let nodes = usize::try_from(branch.nodes).unwrap_or_default();
    render::plural(nodes, "checkpoint", "checkpoints")
}

fn mark(kind: Kind) -> (&'static str, Style) {
    match kind {
        Kind::Turn => ("●", GREEN.bold()),
        Kind::Step => ("○", GREEN),
        Kind::External => ("◇", YELLOW),
        Kind::Manual => ("◆", BLUE),
        Kind::Rewind => ("⟲", MAGENTA),
        Kind::Squash => ("▪", DIM),
        Kind::Import => ("◈", BLUE),
    }
}

fn prompt(entry: &Entry) -> String {
    let prompt = entry
        .turn
        .as_ref()
        .map(|turn| render::clean(&turn.prompt))
        .unwrap_or_default();
    if prompt.is_empty() {
        "(no prompt)".to_owned()
    } else {
        prompt
    }
}

/// Returns the tool of a step, or `you` for edits that no agent reported, or `unknown`.
fn who(entry: &Entry) -> String {
    match entry.node.kind {
        Kind::Step => {
            let tool = entry.call.as_ref().map(|call| render::clean(&call.tool));
            tool.filter(|tool| !tool.is_empty())
                .unwrap_or_else(|| "step".to_owned())
        }
        // a note without changes
        Kind::External if entry.changes.is_empty() && entry.node.label.is_some() => {
            render::clean(entry.node.label.as_deref().unwrap_or_default())
        }
        Kind::External if is_uncertain(entry) => likely_author(entry),
        Kind::External => "you".to_owned(),
        _ => String::new(),
    }
}

/// True if it has edits, and the author of each is uncertain.
fn is_uncertain(entry: &Entry) -> bool {
    let mut edits = entry.changes.iter().map(|c| &c.change);
    !entry.changes.is_empty() && edits.all(|c| c.role == Role::Edit && c.origin.is_uncertain())
}

/// Returns the likely author of uncertain edits.
fn likely_author(entry: &Entry) -> String {
    let named = entry.session.as_ref().filter(|session| {
        let mut origins = entry.changes.iter().map(|c| c.change.origin.session);
        origins.any(|origin| origin == Some(session.id))
    });
    named.map_or_else(
        || "unknown".to_owned(),
        |session| format!("{}?", render::clean(&session.agent)),
    )
}

/// Returns the path, its former path, and `?` if the author of the change is uncertain.
fn change_name(change: &EntryChange) -> String {
    let (path, from) = render::place(&change.change.before, &change.change.after);
    let name = files::name(path, from);
    let uncertain = change.change.role == Role::Edit && change.change.origin.is_uncertain();
    if uncertain { format!("{name} ?") } else { name }
}

fn inline_changes(mut line: TextLine, changes: &[EntryChange]) -> TextLine {
    for (n, change) in changes.iter().take(PATHS_INLINE).enumerate() {
        let what = PathChange::of(&change.change.before, &change.change.after);
        let name_style = if what == PathChange::Modify {
            PLAIN
        } else {
            what.style()
        };
        let name = change_name(change);
        let line_with_name = line
            .plain(if n > 0 { ", " } else { "  " })
            .add(name_style, name);
        let counted = change.binary || change.added + change.removed > 0;
        let line_with_gap = line_with_name.plain(if counted { " " } else { "" });
        line = files::with_counts(line_with_gap, change.binary, (change.added, change.removed));
    }
    match changes
        .len()
        .checked_sub(PATHS_INLINE)
        .filter(|more| *more > 0)
    {
        Some(more) => line.add(DIM, format!(" and {more} more")),
        None => line,
    }
}

#[cfg(test)]
mod tests;
