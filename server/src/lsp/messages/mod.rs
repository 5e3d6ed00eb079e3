//! All texts that the language server shows to people, in one place, so that they can be translated: here those of
//! lenses, actions, hovers and questions, in the submodules the rest by subject. Pure.

pub mod arguments;
pub mod control;
pub mod hint;
pub mod known_editors;
pub mod notice;
pub mod plan;
pub mod refusal;
pub mod view;

use std::fmt::Write as _;

use backstitch_core::model::Certainty;
use backstitch_core::model::Turn;
use backstitch_core::{AgentWork, Author, By};
use backstitch_protocol::REWIND_LENS;

use crate::lsp::documents::blame_groups::Group;
use crate::markdown::escaped;
use crate::render::{self, Paint};

/// Maximum columns of a prompt in a lens.
const PROMPT_COLUMNS: usize = 32;

/// The current time, for ages.
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

/// Formats `turn 4 “refactor auth” · 2 min ago`.
pub fn turn(author: &Author, work: &AgentWork, now: Now) -> String {
    let mut text = match &work.turn {
        Some(turn) => {
            let prompt = render::cut(&render::clean(&turn.prompt), PROMPT_COLUMNS);
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

/// Formats `turn 4`; the agent's name if the turn is not known.
pub fn name(work: &AgentWork) -> String {
    match &work.turn {
        Some(turn) => format!("turn {}", turn.number),
        None => render::clean(&work.session.agent),
    }
}

/// Formats `“refactor auth”`; the agent's name if the turn is not known.
pub fn prompt(work: &AgentWork) -> String {
    let prompt = work.turn.as_ref().map(|turn| render::clean(&turn.prompt));
    match prompt.filter(|prompt| !prompt.is_empty()) {
        Some(prompt) => format!("“{}”", render::cut(&prompt, PROMPT_COLUMNS)),
        None => name(work),
    }
}

pub fn rewind_lens(group: &Group, now: Now) -> String {
    let about = group
        .work()
        .map(|work| turn(&group.author, work, now))
        .unwrap_or_default();
    format!("{REWIND_LENS} · {about}")
}

/// Escapes `$(`, which VS Code would draw as an icon.
pub fn without_icons(title: &str) -> String {
    title.replace("$(", "\\$(")
}

pub const REVERT_TURN_LENS: &str = "Revert turn";
pub const REVERT_HERE_LENS: &str = "Revert here";
pub const SHORT_DIFF_LENS: &str = "Diff";
pub const FORK_LENS: &str = "fork";
pub const DIFF_LENS: &str = "diff";

/// Title of the lens at the top of a file.
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

/// Title of the lens that leads to a file's other turns.
pub fn earlier_turns_lens(count: usize) -> String {
    format!(
        "{}…",
        render::plural(count, "earlier turn", "earlier turns")
    )
}

/// Titles of code actions.
pub mod action {
    use crate::render;

    pub fn rewind(about: &str) -> String {
        format!("Rewind to before {about}")
    }

    pub fn rewind_file(about: &str) -> String {
        format!("Rewind this file to before {about}")
    }

    /// Later turns' changes of these lines are undone, too. `name`: of a turn, or its prompt in quotes for a short list.
    pub fn rewind_lines(name: &str) -> String {
        format!("Rewind these lines to before {name}")
    }

    pub fn revert(about: &str) -> String {
        format!("Revert only {about}")
    }

    pub fn fork(about: &str) -> String {
        format!("Fork from before {about}")
    }

    pub fn diff_of(name: &str) -> String {
        format!("Show what {name} changed here")
    }

    pub fn diff(about: &str) -> String {
        format!("Show changes since before {about}")
    }

    /// `prompt`: in quotes; for a short list.
    pub fn revert_in_file(prompt: &str) -> String {
        format!("Revert {prompt} in this file")
    }

    pub fn revert_turn(prompt: &str) -> String {
        format!("Revert {prompt}")
    }

    /// A rewind, which undoes the later turns of the session, too.
    pub fn rewind_with_later_turns(prompt: &str, later: usize) -> String {
        let turns = render::plural(later, "later turn", "later turns");
        format!("Rewind to before {prompt} and {turns}")
    }

    pub const UNDO: &str = "Undo the last rewind";
    pub const REDO: &str = "Redo the rewind";
    pub const CHECKPOINT: &str = "Make a checkpoint";
    pub const TIMELINE: &str = "Show the timeline";
}

/// Formats the author of a line for a hover, as Markdown or plain text.
pub fn hover_author(author: &Author, now: Now, markdown: bool) -> Option<String> {
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
                None => bold("an unrecorded turn"),
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
        By::Unknown => Some(format!("{}{age}", bold("unknown author"))),
        By::Before | By::Unsaved => None,
    }
}

/// Formats the number of lines of a change that a hover leaves out.
pub fn more_lines(count: usize) -> String {
    format!(" … {}", render::plural(count, "more line", "more lines"))
}

/// Formats the number of files that are left out.
pub fn more_files(count: usize) -> String {
    format!(" … {}", render::plural(count, "more file", "more files"))
}

/// Answers to questions.
pub mod choice {
    pub const CANCEL: &str = "Cancel";
    pub const CONVERSATION: &str = "Make Conversation";
    pub const SHOW: &str = "Show changes";
    pub const MARKERS: &str = "Write conflict markers";
    pub const CURRENT: &str = "Keep the current lines";
    pub const TARGET: &str = "Take the target's lines";
    pub const MINE: &str = "Keep my lines";
    pub const DISK: &str = "Take the lines on disk";
    pub const MERGE: &str = "Merge";
    pub const KEEP_MINE: &str = "Keep Mine";
    pub const WRITE: &str = "Write it";
    pub const FORGET: &str = "Leave the file";
    pub const SHOW_TEXT: &str = "Show it";
    pub const FORGET_TEXT: &str = "Forget it";
    pub const FORK: &str = "Create the branch";
    pub const FORK_SWITCH: &str = "Create it and switch to it";
}

/// Description of our edits of documents.
pub const EDIT: &str = "Backstitch: lines of a checkpoint";

pub const WHICH_WORKSPACE: &str = "In which workspace?";
pub const WHICH_REWIND: &str = "Rewind to before which turn?";
pub const WHICH_REVERT: &str = "Revert which turn?";
pub const WHICH_FORK: &str = "Fork from before which turn?";
pub const WHICH_BRANCH: &str = "Switch to which branch?";
pub const WHICH_TAG: &str = "Tag the state now as";
/// Names that are offered for a tag.
pub const TAGS: [&str; 3] = ["good", "keep", "try"];

/// Formats a turn that a question offers.
pub fn offered(turn: &Turn, age: &str) -> String {
    let prompt = render::cut(&render::clean(&turn.prompt), 40);
    format!("t{} “{prompt}” · {age}", turn.number)
}

pub fn fork_question(rev: &str) -> String {
    format!("Create a branch at {rev}? The files stay as they are until you switch to it.")
}

pub fn forked(branch: &str) -> String {
    format!("Branch {branch} was created. `backstitch.switch` switches to it.")
}

pub fn forked_into(branch: &str, into: &str) -> String {
    format!("Branch {branch} was created, with its files in {into}.")
}

pub fn tagged(checkpoint: &str, tag: &str) -> String {
    format!("{checkpoint} is tagged {tag}.")
}

pub fn pinned(checkpoint: &str, pinned: bool) -> String {
    if pinned {
        format!("{checkpoint} is pinned: it is never removed.")
    } else {
        format!("{checkpoint} is no longer pinned.")
    }
}

pub fn checkpoint_made(checkpoint: backstitch_core::model::NodeId, age: &str) -> String {
    format!("Checkpoint {checkpoint} was made {age}.")
}

pub fn nothing_between(from: &str, to: &str) -> String {
    format!("Nothing changed between {from} and {to}.")
}

pub const NOTHING_TO_REVIEW: &str = "Nothing to review.";

pub fn nothing_of(turn: &str) -> String {
    format!("{turn} itself changed nothing here.")
}

pub fn shown_in(place: &std::path::Path) -> String {
    format!("It is in {}.", place.display())
}

/// Progress of long work.
pub mod progress {
    use backstitch_core::Progress;

    pub fn report(progress: &Progress) -> String {
        match progress.total {
            Some(total) => format!("{}: {} of {total}", progress.what, progress.done),
            None => format!("{}: {}", progress.what, progress.done),
        }
    }
}
