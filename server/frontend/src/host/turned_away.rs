//! Sessions that are not recorded, since their directory is not a workspace: a note of each in the user's state directory, for
//! the people who look for their work in a project.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use backstitch_core::capture::{AgentEvent, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::binding::private_dir;

/// Time after which a note is old.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);
/// Bytes of a note that are read.
const MAX_NOTE: u64 = 1 << 20;

/// A session that was turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedAway {
    pub agent: String,
    /// The agent's own id of it.
    pub session: String,
    /// The directory that it works in.
    pub cwd: PathBuf,
    /// The reason, for people.
    pub reason: String,
    /// Its last prompt, which begins the turn if a later edit shows where it belongs.
    pub prompt: Option<String>,
    pub prompt_id: Option<String>,
}

impl TurnedAway {
    fn file(state: &Path, agent: &str, session: &str) -> PathBuf {
        let hash = blake3::hash(session.as_bytes()).to_hex();
        dir(state).join(format!("{agent}-{}", &hash.as_str()[..16]))
    }

    /// Notes an event of a session that could not be placed. A failure costs the note alone.
    pub fn note(state: &Path, event: &AgentEvent, cwd: &Path, reason: &str) {
        let (prompt, prompt_id) = if let EventKind::Prompt {
            text,
            synthetic: false,
        } = &event.kind
        {
            (Some(text.clone()), event.prompt_id.clone())
        } else {
            let known = Self::of(state, &event.agent, &event.session);
            known.map_or((None, None), |known| (known.prompt, known.prompt_id))
        };
        let note = Self {
            agent: event.agent.clone(),
            session: event.session.clone(),
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf()),
            reason: reason.to_owned(),
            prompt,
            prompt_id,
        };
        let Ok(text) = serde_json::to_vec(&note) else {
            return;
        };
        let file = Self::file(state, &note.agent, &note.session);
        let written = private_dir(&dir(state))
            .and_then(|()| tempfile::NamedTempFile::new_in(dir(state)))
            .and_then(|mut part| {
                std::io::Write::write_all(&mut part, &text)?;
                part.persist(&file).map_err(std::io::Error::from)
            });
        drop(written);
    }

    /// Returns the note of a session.
    pub fn of(state: &Path, agent: &str, session: &str) -> Option<Self> {
        read(&Self::file(state, agent, session))
    }

    /// Returns the sessions that were turned away lately at a directory or above it, newest first. Their work in it is not
    /// recorded, or only in part.
    pub fn recent(root: &Path) -> Vec<Self> {
        let Ok(state) = backstitch_core::state_dir() else {
            return Vec::new();
        };
        let now = SystemTime::now();
        let mut found: Vec<(SystemTime, Self)> = Vec::new();
        for entry in fs::read_dir(dir(&state)).into_iter().flatten().flatten() {
            let Some(time) = entry.metadata().ok().and_then(|meta| meta.modified().ok()) else {
                continue;
            };
            if now.duration_since(time).is_ok_and(|age| age > MAX_AGE) {
                fs::remove_file(entry.path()).ok();
            } else if let Some(note) = read(&entry.path()).filter(|n| root.starts_with(&n.cwd)) {
                found.push((time, note));
            }
        }
        found.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        found.into_iter().map(|(_, note)| note).collect()
    }

    /// The facts, for JSON.
    pub fn facts(&self) -> Value {
        json!({
            "agent": self.agent,
            "session": self.session,
            "cwd": self.cwd.to_string_lossy(),
            "reason": self.reason,
        })
    }
}

fn dir(state: &Path) -> PathBuf {
    state.join("turned-away")
}

fn read(file: &Path) -> Option<TurnedAway> {
    let meta = fs::metadata(file).ok()?;
    if !meta.is_file() || meta.len() > MAX_NOTE {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind) -> AgentEvent {
        AgentEvent {
            agent: "codex".into(),
            session: "../s".into(),
            transcript: None,
            prompt_id: Some("p1".into()),
            subagent: None,
            cwd: None,
            process: None,
            other_hooks: None,
            name: String::new(),
            kind,
        }
    }

    #[test]
    fn a_note_keeps_the_last_prompt() {
        let state = tempfile::tempdir().unwrap();
        let note = |kind| TurnedAway::note(state.path(), &event(kind), Path::new("/h"), "no");
        let prompt = |text: &str| EventKind::Prompt {
            text: text.into(),
            synthetic: false,
        };
        let kept = || TurnedAway::of(state.path(), "codex", "../s").unwrap();
        note(EventKind::Other);
        assert_eq!(kept().prompt, None);
        note(prompt("one"));
        note(prompt("two"));
        note(EventKind::Other);
        assert_eq!(kept().prompt.as_deref(), Some("two"));
        assert_eq!(kept().prompt_id.as_deref(), Some("p1"));
        assert_eq!(TurnedAway::of(state.path(), "codex", "other"), None);
    }
}
