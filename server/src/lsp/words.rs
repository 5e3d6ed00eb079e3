//! Every word that the language server says to people, in one place, so that another language is another
//! such file. Pure.

use std::fmt::Write as _;

use backstitch_core::model::Certainty;
use backstitch_core::{Author, By, Entry, Work};

use super::document::LeftAlone;
use super::groups::Group;
use crate::render::{self, Paint};

/// Columns of a prompt in a lens.
const PROMPT: usize = 32;

/// What the time is, for ages.
#[derive(Clone, Copy, Debug)]
pub struct Now(pub i64);

impl Now {
    pub fn read() -> Self {
        Self(jiff::Timestamp::now().as_microsecond())
    }

    pub fn ago(self, time: i64) -> String {
        Paint {
            color: false,
            width: 0,
            now: self.0,
        }
        .ago(time)
    }
}

/// `turn 4 “refactor auth” · 2 min ago`.
pub fn turn(author: &Author, work: &Work, now: Now) -> String {
    let mut text = match &work.turn {
        Some(turn) => {
            let prompt = render::cut(&render::clean(&turn.prompt), PROMPT);
            let prompt = if prompt.is_empty() {
                String::new()
            } else {
                format!(" “{prompt}”")
            };
            format!("turn {}{prompt}", turn.number)
        }
        None => render::clean(&work.session.agent),
    };
    if work.session_certainty == Certainty::Uncertain {
        text.push_str(" ?");
    }
    if let Some(time) = author.time {
        text.push_str(" · ");
        text.push_str(&now.ago(time));
    }
    text
}

pub fn rewind_lens(group: &Group, now: Now) -> String {
    let about = group
        .work()
        .map(|work| turn(&group.author, work, now))
        .unwrap_or_default();
    format!("⟲ rewind to here · {about}")
}

/// Of a document that Backstitch does nothing with.
pub fn left_alone(path: &str, why: LeftAlone) -> String {
    match why {
        LeftAlone::TooLarge => {
            format!(
                "{path} is above 10 MiB: it has no lenses, and what is typed into it is not kept."
            )
        }
        LeftAlone::Binary => format!("{path} is binary: it has no lenses."),
    }
}

pub const FORK_LENS: &str = "fork";
pub const DIFF_LENS: &str = "diff";

/// At the top of a file.
pub fn file_lens(count: usize, more: bool, newest: i64, now: Now) -> String {
    let count = if more {
        format!("{count}+")
    } else {
        count.to_string()
    };
    let noun = if count == "1" {
        "checkpoint"
    } else {
        "checkpoints"
    };
    format!("{count} {noun} · {}", now.ago(newest))
}

/// Titles of code actions.
pub mod action {
    pub fn rewind(about: &str) -> String {
        format!("Rewind to before {about}")
    }

    pub fn rewind_file(about: &str) -> String {
        format!("Rewind this file to before {about}")
    }

    pub fn revert(about: &str) -> String {
        format!("Take out only {about}")
    }

    pub fn fork(about: &str) -> String {
        format!("Fork from before {about}")
    }

    pub fn diff(about: &str) -> String {
        format!("Show changes since before {about}")
    }

    pub const UNDO: &str = "Undo the last rewind";
    pub const REDO: &str = "Redo the rewind";
    pub const CHECKPOINT: &str = "Make a checkpoint";
    pub const TIMELINE: &str = "Show the timeline";
}

/// Who wrote a line, for a hover: Markdown, or plain text.
pub fn who(author: &Author, now: Now, markdown: bool) -> Option<String> {
    let bold = |text: &str| {
        if markdown {
            format!("**{}**", escaped(text))
        } else {
            text.to_owned()
        }
    };
    let age = author.time.map(|time| format!(" · {}", now.ago(time)));
    let age = age.unwrap_or_default();
    match &author.by {
        By::Agent(work) => {
            let mut text = match &work.turn {
                Some(turn) => {
                    let prompt = render::cut(&render::clean(&turn.prompt), 120);
                    let name = bold(&format!("turn {}", turn.number));
                    if markdown {
                        format!("{name} “{}”", escaped(&prompt))
                    } else {
                        format!("{name} “{prompt}”")
                    }
                }
                None => bold("a turn that was not recorded"),
            };
            let mut by = vec![render::clean(&work.session.agent)];
            by.extend(work.tool.as_deref().map(render::clean));
            by.extend(work.subagent.as_deref().map(render::clean));
            let by = by.join(" ");
            text.push_str(if markdown { "  \n" } else { "\n" });
            text.push_str(&if markdown { escaped(&by) } else { by });
            if let Some(node) = author.node {
                write!(text, " · {node}").ok();
            }
            text.push_str(&age);
            if work.session_certainty == Certainty::Uncertain {
                text.push_str(" · not certain");
            }
            Some(text)
        }
        By::User => Some(match author.node {
            Some(node) => format!("{} · {node}{age}", bold("you")),
            None => format!("{} · not recorded yet", bold("you")),
        }),
        By::Unknown => Some(format!("{}{age}", bold("nobody can tell who"))),
        By::Before | By::Unsaved => None,
    }
}

/// Text of others within Markdown.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ':' | ';' | '\'' | '"' | '/') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Answers that can be chosen.
pub mod choice {
    pub const CANCEL: &str = "Cancel";
    pub const SHOW: &str = "Show changes";
    pub const MARKERS: &str = "Write conflict markers";
    pub const CURRENT: &str = "Keep the present lines";
    pub const TARGET: &str = "Take the target's lines";
    pub const WRITE: &str = "Write it";
    pub const FORGET: &str = "Leave the file";
    pub const SHOW_TEXT: &str = "Show it";
    pub const FORGET_TEXT: &str = "Forget it";
    pub const FORK: &str = "Make the branch";
    pub const FORK_SWITCH: &str = "Make it and switch to it";
}

/// What an edit of a document is for.
pub const EDIT: &str = "Backstitch: lines of a checkpoint";

pub const CANNOT_ASK: &str =
    "this editor does not show the question that has to be answered first; nothing was changed";
pub const CANNOT_ASK_HINT: &str = "call the command with `confirm: false` to go on without, and with `onConflict` where edits collide";
pub const WHICH_WORKSPACE: &str = "In which workspace?";
pub const WHICH_REWIND: &str = "Rewind to before which turn?";
pub const WHICH_REVERT: &str = "Take out which turn?";
pub const WHICH_FORK: &str = "Fork from before which turn?";
pub const WHICH_BRANCH: &str = "Switch to which branch?";
pub const WHICH_TAG: &str = "Tag the state now as";
pub const NO_BRANCH_HINT: &str = "a fork makes one: the lens or the action above an agent's lines";
/// Names that are offered for a tag.
pub const TAGS: [&str; 3] = ["good", "keep", "try"];

pub fn fork_question(rev: &str) -> String {
    format!("A new branch from {rev} on. The files stay as they are until you switch to it.")
}

pub fn forked(branch: &str) -> String {
    format!("Branch {branch} was made. `backstitch.switch` goes there.")
}

pub fn forked_into(branch: &str, into: &str) -> String {
    format!("Branch {branch} was made, with its files in {into}.")
}

pub fn tagged(checkpoint: &str, tag: &str) -> String {
    format!("{checkpoint} is tagged {tag}.")
}

pub fn checkpoint_made(checkpoint: backstitch_core::model::NodeId, age: &str) -> String {
    format!("Checkpoint {checkpoint} was made {age}.")
}

pub fn nothing_between(from: &str, to: &str) -> String {
    format!("Nothing changed between {from} and {to}.")
}

pub fn stands_in(place: &std::path::Path) -> String {
    format!("It stands in {}.", place.display())
}

/// How far a piece of work is.
pub mod progress {
    use backstitch_core::Progress;

    pub fn far(progress: &Progress) -> String {
        match progress.total {
            Some(total) => format!("{}: {} of {total}", progress.what, progress.done),
            None => format!("{}: {}", progress.what, progress.done),
        }
    }
}

pub const TIMELINE_HEAD: &str = "Newest first. `backstitch.rewind` takes out what came after one of these; tN is the state before turn N.\n\n";

fn agent(entry: &Entry) -> String {
    let session = entry.session.as_ref();
    session.map_or_else(String::new, |session| render::clean(&session.agent))
}

/// One checkpoint of the timeline as text. `whole`: the turns' own rows are not there, and each says whose it is.
pub fn row(entry: &Entry, now: Now, whole: bool) -> String {
    let what = match (&entry.turn, &entry.call, &entry.operation) {
        (_, _, Some(operation)) => format!("{} {}", operation.kind.name(), operation.target),
        (Some(turn), Some(call), _) if whole => format!(
            "t{} {} · {} {}",
            turn.number,
            render::cut(&render::clean(&turn.prompt), 40),
            agent(entry),
            render::clean(&call.tool),
        ),
        (_, Some(call), _) => format!("  {}", render::clean(&call.tool)),
        (Some(turn), None, _) => format!(
            "t{} {} · {}",
            turn.number,
            render::cut(&render::clean(&turn.prompt), 60),
            agent(entry),
        ),
        _ => entry
            .node
            .label
            .as_deref()
            .map_or_else(|| entry.node.kind.name().to_owned(), render::clean),
    };
    let out = if entry.taken_out { "  (taken out)" } else { "" };
    let mut text = format!(
        "{:<6} {what}{out}  {}\n",
        entry.node.id,
        now.ago(entry.node.time)
    );
    for change in &entry.changes {
        let (path, from) = render::place(&change.change.before, &change.change.after);
        let what = render::What::of(&change.change.before, &change.change.after);
        let from = from.map(|from| format!("{} → ", render::path(from)));
        writeln!(
            text,
            "         {} {}{}  +{} -{}",
            what.letter(),
            from.unwrap_or_default(),
            render::path(path),
            change.added,
            change.removed
        )
        .ok();
    }
    text
}

/// A plan in a few words.
pub mod plan {
    use std::fmt::Write as _;

    use backstitch_core::model::RelPath;
    use backstitch_core::restore::{ActionKind, Applied, GapKind, OnConflict, Plan};

    use crate::render;

    /// Paths that are named.
    const NAMED: usize = 3;

    pub fn verb(verb: &str) -> &'static str {
        match verb {
            "revert" => "Revert",
            "undo" => "Undo",
            "redo" => "Redo",
            "switch to" => "Switch",
            _ => "Rewind",
        }
    }

    pub fn looking(verb: &str, rev: Option<&str>) -> String {
        format!("Looking what to {verb} {}", rev.unwrap_or_default())
            .trim_end()
            .to_owned()
    }

    pub fn doing(verb: &str, rev: Option<&str>) -> String {
        capital(&format!("{verb} {}", rev.unwrap_or_default()))
            .trim_end()
            .to_owned()
    }

    pub fn nothing(title: &str, plan: &Plan) -> String {
        let title = capital(title);
        let left = plan.actions.iter().filter(|a| a.kind == ActionKind::Skip);
        let left: Vec<String> = left
            .map(|a| {
                let why = a.reason.as_deref().unwrap_or_default();
                format!("{}: {why}", a.path.display())
            })
            .collect();
        if left.is_empty() {
            format!("{title}: nothing to do, the files are as they would be.")
        } else {
            format!("{title}: nothing was changed. Left alone: {}.", some(&left))
        }
    }

    pub fn conflict(files: usize) -> String {
        format!(
            "edits collide in {}; nothing was changed",
            render::plural(files, "file", "files")
        )
    }

    /// `Rewind to t4: 3 files (1 merged, 1 deleted). Edits collide in a.rs. Not reached: 2 uncertain.`
    pub fn question(title: &str, plan: &Plan, decided: OnConflict) -> String {
        let mut text = String::new();
        if plan.git_moved.is_some() {
            text.push_str("git is not where it was then; only files change. ");
        }
        write!(
            text,
            "{}: {}",
            capital(title),
            files(plan, ["file changes", "files change"], 0)
        )
        .ok();
        if !plan.conflicts.is_empty() {
            let paths: Vec<String> = plan.conflicts.iter().map(|c| c.path.display()).collect();
            write!(text, " Edits collide in {}", some(&paths)).ok();
            text.push_str(match decided {
                OnConflict::Fail => ".",
                OnConflict::Markers => ": both are written, between conflict markers.",
                OnConflict::Current => ": the lines there are now stay.",
                OnConflict::Target => {
                    ": the target's lines take the place of those there are now, yours included."
                }
            });
        }
        let replaced: Vec<String> = plan.replaced().into_iter().map(RelPath::display).collect();
        if !replaced.is_empty() {
            let paths = some(&replaced);
            write!(
                text,
                " In {paths}, text that is not saved is replaced; undo brings it back."
            )
            .ok();
        }
        let gaps: Vec<String> = gaps(plan);
        if !gaps.is_empty() {
            write!(text, " Not reached: {}.", gaps.join(", ")).ok();
        }
        text
    }

    /// `unsaved`: how many of them are still to be saved.
    fn files(plan: &Plan, [one, many]: [&str; 2], unsaved: usize) -> String {
        let count = |kind| plan.actions.iter().filter(|a| a.kind == kind).count();
        let moved = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
        let parts = [
            (count(ActionKind::Merge), "merged with other edits"),
            (count(ActionKind::Create), "created"),
            (count(ActionKind::Delete), "deleted"),
            (unsaved, "to save"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let noun = render::plural(moved.count(), one, many);
        if parts.is_empty() {
            format!("{noun}.")
        } else {
            format!("{noun} ({}).", parts.join(", "))
        }
    }

    fn gaps(plan: &Plan) -> Vec<String> {
        let mut kinds: Vec<(GapKind, usize)> = Vec::new();
        for gap in plan.gaps.iter().filter(|gap| gap.kind != GapKind::GitHead) {
            match kinds.iter_mut().find(|(kind, _)| *kind == gap.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((gap.kind, 1)),
            }
        }
        kinds
            .into_iter()
            .map(|(kind, count)| {
                let files = render::plural(count, "file", "files");
                match kind {
                    GapKind::Uncertain => {
                        let edits = render::plural(count, "edit", "edits");
                        format!("{edits} of which nobody knows whose they are")
                    }
                    GapKind::Unsaved => {
                        format!("{files} with text that is not saved, left as they are")
                    }
                    GapKind::Unknown => format!("{files} whose state then is not known"),
                    other => format!("{files} ({})", other.name().replace('_', " ")),
                }
            })
            .collect()
    }

    fn some(paths: &[String]) -> String {
        let named: Vec<&str> = paths.iter().take(NAMED).map(String::as_str).collect();
        match paths.len().checked_sub(NAMED).filter(|more| *more > 0) {
            Some(more) => format!("{} and {more} more", named.join(", ")),
            None => named.join(", "),
        }
    }

    fn past(verb: &str) -> &'static str {
        match verb {
            "revert" => "Reverted",
            "undo" => "Undid",
            "redo" => "Redid",
            "switch to" => "Switched to",
            _ => "Rewound to",
        }
    }

    /// `unsaved`: documents that show it, and whose files are still to be saved.
    pub fn done(verb: &str, rev: Option<&str>, applied: &Applied, unsaved: &[RelPath]) -> String {
        let target = rev.unwrap_or(&applied.plan.target);
        // short: an editor has one line for it
        let mut text = format!(
            "{} {target}: {}",
            past(verb),
            files(&applied.plan, ["file", "files"], unsaved.len())
        );
        if !applied.incomplete.is_empty() {
            let left: Vec<String> = applied.incomplete.iter().map(RelPath::display).collect();
            write!(
                text,
                " Left as they were, since something wrote to them: {}.",
                some(&left)
            )
            .ok();
        }
        if !applied.saved.is_empty() {
            let saved: Vec<String> = applied.saved.iter().map(RelPath::display).collect();
            write!(
                text,
                " What another process had written was saved as {}.",
                some(&saved)
            )
            .ok();
        }
        text
    }

    fn capital(text: &str) -> String {
        let mut chars = text.chars();
        let first = chars.next().map(char::to_uppercase);
        first.into_iter().flatten().chain(chars).collect()
    }
}
