//! Entries of a history as the acts that are recorded. Pure.

use std::path::PathBuf;

use super::history::HistoryEntry;

/// Commands of aider that ask the model. Their prompts are turns; other commands are not.
const ASKING: [&str; 6] = ["/ask", "/code", "/architect", "/context", "/lint", "/test"];

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
    /// True if aider has committed the user's changes just before.
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
                acts.push(if is_turn(text) {
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

/// True if a prompt goes to the model: it is not a command, or one that asks the model.
fn is_turn(prompt: &str) -> bool {
    if prompt.starts_with('!') {
        return false;
    }
    let word = prompt.split_whitespace().next().unwrap_or_default();
    !prompt.starts_with('/') || ASKING.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_command_is_no_turn_unless_it_asks_the_model() {
        for (prompt, turn) in [
            ("fix it", true),
            ("/ask why", true),
            ("/code\nfix it", true),
            ("/add a.txt", false),
            ("/undo", false),
            ("/asking", false),
            ("!ls", false),
            ("use / here", true),
        ] {
            assert_eq!(is_turn(prompt), turn, "{prompt}");
        }
    }
}
