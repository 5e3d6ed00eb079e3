//! Names of agents and tools. Pure.

use std::path::Path;

use backstitch_agents::{self as agents, AGENTS};

/// Most characters of an agent's own name.
const LONGEST: usize = 40;

/// Returns our name of an agent, from its program or from its own name. An unknown agent keeps its own name, in letters that
/// are safe everywhere.
pub fn agent(name: &str) -> String {
    // `@scope/claude-code-acp`
    let own = name.rsplit('/').next().unwrap_or(name);
    let mut safe = String::new();
    for c in own.to_lowercase().chars().take(LONGEST) {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            safe.push(c);
        } else if !safe.ends_with('-') {
            safe.push('-');
        }
    }
    let safe = safe.trim_matches(['-', '.']);
    let is_one = |start: &&&str| {
        let rest = safe.strip_prefix(**start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
    };
    let mut specs = AGENTS.iter().map(|agent| agent.spec());
    match specs.find(|spec| spec.acp_names.iter().find(is_one).is_some()) {
        Some(spec) => spec.name.to_owned(),
        None if safe.is_empty() => "agent".to_owned(),
        None => safe.to_owned(),
    }
}

/// Returns the name of an agent by its command line. The last part of a program's path counts.
pub fn of_program(program: &Path) -> String {
    let stem = program.file_stem().unwrap_or_default();
    agent(&stem.to_string_lossy())
}

/// The facts from which a tool's name is read.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts<'a> {
    /// The agent's own name of the tool.
    pub told: Option<&'a str>,
    pub call: &'a str,
    /// The first title of the call.
    pub title: Option<&'a str>,
    pub kind: Option<&'a str>,
}

/// Returns the name of a tool as the agent's hooks have it, as far as the messages tell it, else its kind.
pub fn tool(agent: &str, facts: ToolFacts<'_>) -> String {
    let word = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !text.is_empty() && text.len() <= 64 && text.chars().all(is_word)
    };
    let from_messages =
        agents::agent(agent).and_then(|agent| agent.acp_tool(facts.call, facts.title));
    let told = facts.told.or(from_messages).filter(|name| word(name));
    told.or(facts.kind).unwrap_or("other").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_our_names_or_a_safe_one_of_their_own() {
        for (own, ours) in [
            ("gemini-cli", "gemini"),
            ("qwen-code", "qwen"),
            ("OpenCode", "opencode"),
            ("@zed-industries/claude-code-acp", "claude-code"),
            ("claude-agent-acp", "claude-code"),
            ("codex-acp", "codex"),
            ("GitHub Copilot", "copilot"),
            ("goose", "goose"),
            ("geminid", "geminid"),
            ("My Agent! \u{202e}(v2)", "my-agent-v2"),
            ("../..", "agent"),
            ("", "agent"),
        ] {
            assert_eq!(agent(own), ours, "{own}");
        }
        assert_eq!(of_program(Path::new("/opt/bin/gemini.js")), "gemini");
        assert_eq!(agent(&"x".repeat(999)).len(), LONGEST);
    }

    #[test]
    fn tools_have_the_names_of_hooks_where_messages_tell_them() {
        let facts = ToolFacts {
            told: None,
            call: "write_file__write_file_1_0",
            title: Some("Writing to src/added.rs"),
            kind: Some("edit"),
        };
        assert_eq!(tool("gemini", facts), "write_file");
        assert_eq!(tool("goose", facts), "edit");
        assert_eq!(tool("opencode", facts), "edit");
        let told = ToolFacts {
            told: Some("edit_file"),
            ..facts
        };
        assert_eq!(tool("qwen", told), "edit_file");
        let titled = ToolFacts {
            title: Some("apply_patch"),
            ..facts
        };
        assert_eq!(tool("opencode", titled), "apply_patch");
    }
}
