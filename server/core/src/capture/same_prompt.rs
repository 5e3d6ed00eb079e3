//! One prompt, told by two sources: the hooks of an agent, and a proxy before it. Pure.

use super::event::AgentEvent;

/// The newest prompt of a session, in a turn that has not ended.
#[derive(Clone, Debug)]
pub(super) struct LastPrompt {
    pub has_calls: bool,
    /// True if the agent has named its turn with an id.
    pub has_id: bool,
    /// Name of the newest event of the session.
    pub last_event: Option<String>,
}

impl LastPrompt {
    /// True if an event with a like text tells this prompt once more: its turn has just begun, and another kind of event has
    /// told it. A source tells each prompt once, so that the same event with the same text is a new prompt.
    pub(super) fn is_told_by(&self, e: &AgentEvent) -> bool {
        let is_of_two_turns = self.has_id && e.prompt_id.is_some();
        let is_of_another_source = self.last_event.as_ref().is_some_and(|name| *name != e.name);
        !self.has_calls && !is_of_two_turns && is_of_another_source
    }
}

/// True if two sources mean the same text. One of them may have more: files that the user mentions, or their contents.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String { text.split_whitespace().collect::<Vec<_>>().join(" ") };
    let (one, other) = (words(one), words(other));
    let (short, long) = if one.len() <= other.len() {
        (&one, &other)
    } else {
        (&other, &one)
    };
    short == long || !short.is_empty() && long.starts_with(short.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::EventKind;

    fn event(name: &str, prompt_id: Option<&str>) -> AgentEvent {
        AgentEvent {
            agent: "qwen".into(),
            session: "s".into(),
            transcript: None,
            prompt_id: prompt_id.map(str::to_owned),
            subagent: None,
            cwd: None,
            process: None,
            other_hooks: None,
            name: name.into(),
            kind: EventKind::Other,
        }
    }

    fn last() -> LastPrompt {
        LastPrompt {
            has_calls: false,
            has_id: false,
            last_event: Some("session/prompt".into()),
        }
    }

    #[test]
    fn texts_of_two_sources_are_alike() {
        assert!(are_alike("fix it", "fix it"));
        assert!(are_alike("fix it", " fix\n it\n"));
        assert!(are_alike("fix it", "fix it\n@src/main.rs"));
        assert!(are_alike("fix it\n@src/main.rs", "fix it"));
        assert!(!are_alike("fix it", "fix that"));
        assert!(!are_alike("fix it", ""));
    }

    #[test]
    fn a_prompt_of_two_sources_is_one() {
        assert!(last().is_told_by(&event("UserPromptSubmit", Some("p1"))));
        let named = LastPrompt {
            has_id: true,
            ..last()
        };
        assert!(named.is_told_by(&event("BeforeAgent", None)));
    }

    #[test]
    fn the_same_source_tells_two_prompts() {
        assert!(!last().is_told_by(&event("session/prompt", None)));
        let named = LastPrompt {
            has_id: true,
            ..last()
        };
        assert!(!named.is_told_by(&event("UserPromptSubmit", Some("p2"))));
    }

    #[test]
    fn a_prompt_after_calls_is_new() {
        let at_work = LastPrompt {
            has_calls: true,
            ..last()
        };
        assert!(!at_work.is_told_by(&event("UserPromptSubmit", None)));
    }
}
