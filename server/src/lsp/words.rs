//! Every word that the language server says to people, in one place, so that another language is another
//! such file. Pure.

use backstitch_core::model::Certainty;
use backstitch_core::{Author, By, Work};

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

pub const FORK_LENS: &str = "fork";
pub const DIFF_LENS: &str = "diff";

/// At the top of a file.
pub fn file_lens(count: usize, more: bool, newest: i64, now: Now) -> String {
    let count = if more {
        format!("{count}+")
    } else {
        count.to_string()
    };
    let noun = if count == "1" { "checkpoint" } else { "checkpoints" };
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
                text.push_str(&format!(" · {node}"));
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
    pub const UNCERTAIN: &str = "Take out the uncertain, too";
}
