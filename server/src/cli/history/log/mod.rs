//! `log`: the timeline as text, as a graph and as JSON, newest first.

pub mod timeline;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;

use backstitch_core::config::Config;
use backstitch_core::model::{Kind, NodeId};
use backstitch_core::{BranchInfo, Engine, Entry, LogFilter, Workspace};
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::{self, CommandContext};
use crate::cli::history::entry_words::name_targets;
use crate::cli::history::graph;
use crate::cli::history::log::timeline::{Columns, RowOrder, Timeline, turns};
use crate::cli::options::GlobalArgs;
use crate::cli::{choice, complete};
use crate::host::turned_away::TurnedAway;
use crate::query::when::{self, End};
use crate::render::{self, DIM};
use crate::terminal::error::CliResult;
use crate::terminal::out::{self, Out};
use crate::{safeguards, to_protocol};

/// Default number of checkpoints: one or two screens.
const LIMIT: usize = 40;
/// Paths listed below one checkpoint of the graph.
const PATHS: usize = 6;
/// States that rows stand for in every command.
/// Bytes of text that a log compares at most to find renamed files. Beyond, a row has a deletion and a creation.
const MAX_COMPARED: u64 = 16 << 20;
const STATES: &str = "t4: the state before that turn; c12: the state after that checkpoint\n";
const EMPTY: &str = "\
Nothing has been recorded in this workspace yet.

  backstitch setup                record what your agents do
  backstitch checkpoint           record the current state
  backstitch demo                 try it in a scratch directory
";

/// Show the timeline, newest first: turns, steps, your own edits, rewinds
#[derive(Debug, Args)]
#[command(
    visible_alias = "timeline",
    after_help = "Examples:\n  \
        backstitch log\n  \
        backstitch log --graph -n 50\n  \
        backstitch log --path src/main.rs\n  \
        backstitch log --text \"parse* error\"      prompts, labels and tool inputs\n  \
        backstitch log --kind turn --since 3d\n  \
        backstitch log --before c12              the next page, older than c12\n  \
        backstitch log --reverse                 the oldest first\n  \
        backstitch log --all --json\n\nIn every command t4 means the state before that turn, c12 the state after that checkpoint."
)]
pub struct LogArgs {
    /// Show at most N checkpoints [default: 40; with --json or --all: no limit]
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = number)]
    pub limit: Option<usize>,
    /// Show the oldest first
    #[arg(long)]
    pub reverse: bool,
    /// Show every branch, not just the current one
    #[arg(long)]
    pub all: bool,
    /// Draw the history as a graph
    #[arg(long)]
    pub graph: bool,
    /// Show only this session (its letter, its id or a unique prefix)
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Show only the work of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Show only changes of this file or directory
    #[arg(long, value_name = "PATH")]
    pub path: Option<OsString>,
    /// Show only checkpoints with all these words in a prompt, label or tool input; `word*` matches any
    /// ending. A call that changed nothing has no checkpoint and is not found
    #[arg(long, value_name = "WORDS")]
    pub text: Option<String>,
    /// Show only checkpoints of this kind
    #[arg(long, value_name = "KIND", value_parser = choice::one_of(&Kind::LISTED, Kind::name))]
    pub kind: Option<Kind>,
    /// Show the history of this branch instead of the current one
    #[arg(long, value_name = "NAME", conflicts_with = "all", add = complete::branches())]
    pub branch: Option<String>,
    /// Show only checkpoints from this time on: 2h, 3d, 2026-11-20, 2026-11-20T09:30
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show only checkpoints up to this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Show only checkpoints older than this one: the next page
    #[arg(long, value_name = "REV", add = complete::revisions())]
    pub before: Option<String>,
}

impl LogArgs {
    pub fn is_filtered(&self) -> bool {
        let texts = [
            &self.session,
            &self.agent,
            &self.text,
            &self.branch,
            &self.since,
            &self.until,
            &self.before,
        ];
        self.path.is_some() || self.kind.is_some() || texts.iter().any(|t| t.is_some())
    }
}

impl TerminalCommand for LogArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("log")
    }
}

impl OnHistory for LogArgs {
    fn traits(&self) -> Traits {
        Traits {
            paged: true,
            empty: Some(nothing),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

/// Parses a count. The parser's own message names the type of the number.
fn number(typed: &str) -> Result<usize, String> {
    typed
        .parse()
        .map_err(|_| format!("`{typed}` is not a number"))
}

/// Prints the timeline of a workspace without a store.
fn nothing(global: &GlobalArgs, out: &Out) -> CliResult<()> {
    note_turned_away(global, out)?;
    if !out.json {
        return out.text(EMPTY);
    }
    out::answer(json!({ "checkpoints": [], "branches": [], "head": null, "branch": "main" }))
}

/// Tells of sessions whose work in a workspace without a store is not recorded.
fn note_turned_away(global: &GlobalArgs, out: &Out) -> CliResult<()> {
    if out.json {
        return Ok(());
    }
    let workspace = context::find(global)?;
    note_earlier_stores(&workspace, out);
    if let Some(said) = safeguards::turned_away(&TurnedAway::recent(&workspace.root)) {
        out.note(
            "note",
            &format!("{said}; {}", safeguards::NEXT_STEP_OF_TURNED_AWAY),
        );
    }
    Ok(())
}

/// Tells of stores that a setting has hidden: the timeline is short without them.
fn note_earlier_stores(workspace: &Workspace, out: &Out) {
    for one in safeguards::earlier_stores(workspace, &Config::of(workspace)) {
        out.note("note", &one.line());
    }
}

/// Joins renamed files that were edited, as `show` and `diff` do. The JSON has the files of the history.
fn join_renames(engine: &Engine, entries: &mut [Entry]) {
    let mut budget = MAX_COMPARED;
    for entry in entries {
        let joined = engine
            .comparer()
            .join_similar_changes(&mut entry.changes, &mut budget);
        // a text that is damaged leaves the row as it is: `verify` reports it
        joined.ok();
    }
}

fn run(context: &mut CommandContext, options: &LogArgs) -> CliResult<()> {
    let filter = filter(context, options)?;
    let limit = filter.limit.map(|n| n - 1);
    if filter.text.is_some() {
        context.engine.read_words()?;
    }
    if context.out.json {
        return json(&context.engine, &LogFilter { limit, ..filter });
    }
    note_earlier_stores(&context.workspace, context.out);
    let mut entries = context.engine.history().log(&filter)?;
    let older = limit.is_some_and(|n| entries.len() > n);
    entries.truncate(limit.unwrap_or(usize::MAX));
    let branches = context.engine.history().branches()?;
    if entries.is_empty() && !older {
        return context.out.text(if options.is_filtered() {
            "No checkpoint matches.\n"
        } else {
            EMPTY
        });
    }
    name_targets(&context.engine, &mut entries);
    join_renames(&context.engine, &mut entries);
    let timeline = Timeline {
        paint: context.out.paint,
        graph: options.graph,
        paths: if context.out.verbose {
            usize::MAX
        } else {
            PATHS
        },
        columns: Columns::of(&entries),
        turns: turns(entries.iter().filter(|entry| entry.node.kind == Kind::Turn)),
        start: start(&branches, options),
        heads: heads(&branches),
        order: RowOrder {
            newest_first: !options.reverse,
            continues: older,
        },
    };
    let mut text = String::new();
    // for people: a row stands for the same state in every command
    if std::io::stdout().is_terminal() && !context.out.quiet && !entries.is_empty() {
        text.push_str(&timeline.paint.on(DIM, STATES));
    }
    let more = older.then(|| {
        let more = match entries.last() {
            Some(oldest) => format!("… more: backstitch log --before {}\n", oldest.node.id),
            None => "… more: backstitch log -n N\n".to_owned(),
        };
        timeline.paint.on(DIM, &more)
    });
    let more = more.as_deref().unwrap_or_default();
    if options.reverse {
        text.push_str(more);
    }
    let oldest_first: Vec<&Entry> = entries.iter().rev().collect();
    if options.graph {
        let named = options.branch.as_deref();
        let trunk = branches.iter().find(|b| match named {
            Some(name) => b.name == name,
            None => b.current,
        });
        let trunk = trunk.and_then(|b| Some((b.id, b.head?)));
        let rows = graph::rows(&oldest_first, &branches, trunk);
        timeline.graph(rows, &mut text);
    } else if options.all && branches.len() > 1 {
        timeline.sections(&oldest_first, &branches, !older, &mut text);
    } else {
        timeline.chain(&oldest_first, &branches, &mut text);
    }
    if !options.reverse {
        text.push_str(more);
    }
    context.out.drawn(&text)
}

/// Prints the timeline as JSON, each row as soon as it is read: a long history has many.
fn json(engine: &Engine, filter: &LogFilter) -> CliResult<()> {
    let history = engine.history();
    // read before the first row is written, since they may fail
    let branches = history.branches()?;
    let others = json!({
        "branches": branches.iter().map(to_protocol::branch).collect::<Vec<_>>(),
        "head": history.head()?.map(|id| id.to_string()),
        "branch": history.branch_name()?,
    });
    let mut list = None;
    history.log_each(filter, |entry| -> CliResult<()> {
        let list = match &mut list {
            Some(list) => list,
            none => none.insert(out::ListAnswer::begin("checkpoints")?),
        };
        list.item(&to_protocol::value(&to_protocol::checkpoint(&entry)))
    })?;
    match list {
        Some(list) => list.end(others),
        None => out::ListAnswer::begin("checkpoints")?.end(others),
    }
}

fn filter(context: &CommandContext, options: &LogArgs) -> CliResult<LogFilter> {
    let path = options
        .path
        .as_deref()
        .map(|path| context.path(path))
        .transpose()?
        .flatten();
    let unlimited = context.out.json || options.all;
    let limit = options.limit.or((!unlimited).then_some(LIMIT));
    let now = context.out.paint.now;
    let time = |typed: &Option<String>, end| {
        let zone = jiff::tz::TimeZone::system();
        let typed = typed.as_deref();
        typed
            .map(|typed| when::read(typed, end, now, &zone))
            .transpose()
    };
    let before = options.before.as_deref();
    Ok(LogFilter {
        // One more than shown, to detect a further page.
        limit: limit.map(|n| n.saturating_add(1)),
        session: options.session.clone(),
        agent: options.agent.clone(),
        path,
        text: options.text.clone(),
        kind: options.kind,
        branch: options.branch.clone(),
        since: time(&options.since, End::First)?,
        until: time(&options.until, End::Last)?,
        before: before.map(|rev| context.node(rev)).transpose()?,
        all_branches: options.all,
    })
}

/// Returns the branches by head, if there is more than one branch.
fn heads(branches: &[BranchInfo]) -> HashMap<NodeId, Vec<(String, bool)>> {
    let mut heads: HashMap<NodeId, Vec<(String, bool)>> = HashMap::new();
    let named: Vec<&BranchInfo> = branches.iter().filter(|b| !b.deleted).collect();
    if named.len() > 1 {
        for branch in named {
            if let Some(head) = branch.head {
                let name = (render::clean(&branch.name), branch.current);
                heads.entry(head).or_default().push(name);
            }
        }
    }
    // the current one first
    for names in heads.values_mut() {
        names.sort_by_key(|(_, current)| !current);
    }
    heads
}

/// Returns the fork point of the branch that is shown, if it is one alone.
fn start(branches: &[BranchInfo], options: &LogArgs) -> Option<NodeId> {
    let shown = branches.iter().find(|branch| match &options.branch {
        Some(name) => branch.name == *name,
        None => branch.current,
    });
    shown?.fork_point.filter(|_| !options.all)
}
