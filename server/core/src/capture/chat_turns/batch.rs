//! Entries of a history as the acts that are recorded. Pure.

use std::path::PathBuf;

use crate::chat_history::{ChatHistory, HistoryEntry};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub hash: String,
    pub subject: String,
}

/// The files that one answer has edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub session: Option<String>,
    pub paths: Vec<PathBuf>,
    pub commit: Option<Commit>,
    /// True if the prompt is in the same text, so that no scan was between it and the edit.
    pub is_with_prompt: bool,
    /// True if the agent has committed the user's changes just before.
    pub after_commit: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Prompt {
        session: Option<String>,
        text: String,
    },
    /// The session does not work any longer.
    Answered(Option<String>),
    Step(Step),
    /// The commit of a step that was recorded before.
    Label(Commit),
}

/// Returns the acts of new entries. `session` is the one that continues; `is_uncommitted`: the newest step has no commit yet.
pub(super) fn acts(
    source: &dyn ChatHistory,
    entries: &[HistoryEntry],
    session: Option<String>,
    mut is_uncommitted: bool,
) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut batch = Grouping {
        session,
        ..Grouping::default()
    };
    for entry in entries {
        match entry {
            HistoryEntry::Applied(path) => batch.paths.push(PathBuf::from(path)),
            HistoryEntry::Commit { hash, subject } => {
                let commit = Commit {
                    hash: hash.clone(),
                    subject: subject.clone(),
                };
                if !batch.paths.is_empty() {
                    acts.extend(batch.step(Some(commit)));
                } else if std::mem::take(&mut is_uncommitted) {
                    acts.push(Act::Label(commit));
                } else {
                    batch.after_commit = true;
                }
            }
            HistoryEntry::Session(time) => {
                acts.extend(batch.step(None));
                is_uncommitted = false;
                batch = Grouping {
                    session: Some(time.clone()),
                    is_with_prompt: true,
                    ..Grouping::default()
                };
            }
            HistoryEntry::Prompt(text) => {
                acts.extend(batch.step(None));
                is_uncommitted = false;
                batch.is_with_prompt = true;
                batch.after_commit = false;
                let session = batch.session.clone();
                acts.push(if source.asks_model(text) {
                    let text = text.clone();
                    Act::Prompt { session, text }
                } else {
                    Act::Answered(session)
                });
            }
            HistoryEntry::Answered => {
                acts.extend(batch.step(None));
                acts.push(Act::Answered(batch.session.clone()));
            }
        }
    }
    acts.extend(batch.step(None));
    acts
}

/// The entries since the last act.
#[derive(Default)]
struct Grouping {
    session: Option<String>,
    paths: Vec<PathBuf>,
    is_with_prompt: bool,
    after_commit: bool,
}

impl Grouping {
    /// Returns the step of the files edited so far.
    fn step(&mut self, commit: Option<Commit>) -> Option<Act> {
        let paths = std::mem::take(&mut self.paths);
        if paths.is_empty() {
            return None;
        }
        Some(Act::Step(Step {
            session: self.session.clone(),
            paths,
            commit,
            is_with_prompt: self.is_with_prompt,
            after_commit: std::mem::take(&mut self.after_commit),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat_history::ReaderState;

    /// An agent whose prompts ask its model unless they begin with `/`.
    #[derive(Debug)]
    struct Chat;

    impl ChatHistory for Chat {
        fn agent(&self) -> &'static str {
            "chat"
        }

        fn file(&self) -> &'static str {
            "chat.md"
        }

        fn read(&self, _: &mut ReaderState, _: &str) -> Vec<HistoryEntry> {
            Vec::new()
        }

        fn asks_model(&self, prompt: &str) -> bool {
            !prompt.starts_with('/')
        }
    }

    fn acts(entries: &[HistoryEntry], session: Option<String>, is_uncommitted: bool) -> Vec<Act> {
        super::acts(&Chat, entries, session, is_uncommitted)
    }

    fn commit(hash: &str) -> Commit {
        Commit {
            hash: hash.into(),
            subject: "s".into(),
        }
    }

    fn committed(hash: &str) -> HistoryEntry {
        HistoryEntry::Commit {
            hash: hash.into(),
            subject: "s".into(),
        }
    }

    fn applied(path: &str) -> HistoryEntry {
        HistoryEntry::Applied(path.into())
    }

    fn step(paths: &[&str], hash: Option<&str>) -> Step {
        Step {
            session: None,
            paths: paths.iter().map(PathBuf::from).collect(),
            commit: hash.map(commit),
            is_with_prompt: false,
            after_commit: false,
        }
    }

    #[test]
    fn the_edits_of_an_answer_are_one_step_with_their_commit() {
        let entries = [applied("a"), applied("b"), committed("1"), applied("c")];
        let expected = [
            Act::Step(step(&["a", "b"], Some("1"))),
            Act::Step(step(&["c"], None)),
        ];
        assert_eq!(acts(&entries, None, false), expected);
    }

    #[test]
    fn a_later_commit_is_that_of_the_step_before() {
        let entries = [committed("1"), committed("2")];
        assert_eq!(acts(&entries, None, true), [Act::Label(commit("1"))]);
        assert_eq!(acts(&entries, None, false), []);
        // a prompt comes between
        let entries = [HistoryEntry::Prompt("/commit".into()), committed("1")];
        assert_eq!(acts(&entries, None, true), [Act::Answered(None)]);
    }

    #[test]
    fn a_commit_before_an_edit_is_the_users() {
        let session = || Some("2".to_owned());
        let entries = [
            HistoryEntry::Session("2".into()),
            HistoryEntry::Prompt("go".into()),
            committed("1"),
            applied("a"),
            committed("2"),
            applied("b"),
        ];
        let with = |paths: &[&str], hash, after_commit| {
            Act::Step(Step {
                session: session(),
                is_with_prompt: true,
                after_commit,
                ..step(paths, hash)
            })
        };
        let prompt = Act::Prompt {
            session: session(),
            text: "go".into(),
        };
        let expected = [
            prompt,
            with(&["a"], Some("2"), true),
            with(&["b"], None, false),
        ];
        assert_eq!(acts(&entries, None, false), expected);
    }
}
