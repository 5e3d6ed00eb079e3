//! The trait of an agent, and the values that it takes and returns. Knows no agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use serde_json::Value;

use super::answer::{Answer, HookOutput, NotTaken, ToolDecision};
use super::machine::on_path;
use super::settings_plan::SettingsPlan;
use super::spec::{Abilities, AgentSpec};

/// An agent that has hooks.
pub trait Agent: Sync {
    fn spec(&self) -> &'static AgentSpec;

    fn name(&self) -> &'static str {
        self.spec().name
    }

    fn abilities(&self) -> Abilities {
        self.spec().abilities()
    }

    /// Returns the path of the agent's program.
    fn program(&self) -> Option<PathBuf> {
        on_path(self.spec().program)
    }

    /// Returns the name of a tool as the agent's hooks have it, from what the messages of the Agent Client Protocol say.
    /// `call`: the id of the call. `title`: its first title.
    fn acp_tool<'a>(&self, _call: &'a str, _title: Option<&'a str>) -> Option<&'a str> {
        None
    }

    /// Returns the tokens of a turn from the agent's transcript. None: unknown.
    fn tokens(&self, _transcript: &Path, _prompt_id: Option<&str>) -> Option<u64> {
        None
    }
    /// Parses the payload of a hook. Tolerant: unknown fields, events and tools are ignored.
    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError>;

    /// Returns the text of a prompt whose event has none. Waits for it, if it is about to come: the agent does not wait for
    /// this hook.
    fn late_prompt(&self, _payload: &[u8]) -> Option<String> {
        None
    }

    /// Returns the output that tells the agent this answer. An answer without parts is not an output.
    fn answer(&self, event: &AgentEvent, answer: &Answer) -> Result<HookOutput, NotTaken> {
        taken(self, event, answer)
    }

    /// True if the agent waits for the hook of this event. A call cannot be held at another.
    fn waits(&self, _event: &AgentEvent) -> bool {
        true
    }

    /// Returns the time for which a call may be held, where that is shorter than the agent's own limit for hooks.
    fn longest_hold(&self, _event: &AgentEvent) -> Option<Duration> {
        None
    }

    /// Encodes an answer that has parts, all of which the agent takes at this event.
    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput;

    /// Returns the payload of a call with another input. None: the payload is not one of a call.
    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>> {
        let mut payload: Value = serde_json::from_slice(payload).ok()?;
        *payload.get_mut("tool_input")? = input.clone();
        serde_json::to_vec(&payload).ok()
    }

    /// True if the agent lays a changed input over the call's own, and so keeps the fields that it leaves out.
    fn lays_input_over(&self) -> bool {
        false
    }

    /// Returns the text of the error in the payload of a call that failed.
    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        Some(payload.get("error")?.as_str()?.to_owned())
    }

    /// Returns the output in the payload of a call that has run.
    fn output(&self, payload: &[u8]) -> Option<Value> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let fields = ["tool_response", "tool_result", "tool_output"];
        fields.iter().find_map(|field| payload.get(field).cloned())
    }

    /// Names of its usual tools. It may have more.
    fn tools(&self) -> Vec<&'static str>;

    /// Returns the text of a shell command. None: the tool is not a shell.
    fn command(&self, tool: &str, input: &Value) -> Option<String>;

    /// True if a person sits before the agent and can answer its own questions. Read from the hook's environment.
    fn is_attended(&self) -> bool;

    /// Returns a payload of the agent for a prompt in this directory. `doctor` tests a hook with it.
    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8>;

    /// Returns the directory in which an event happened: the one that it reports, or the project's. None if neither
    /// exists.
    fn locate(&self, event: Option<&AgentEvent>) -> Option<PathBuf> {
        let cwd = event.and_then(|event| event.cwd.clone());
        let project = || std::env::var_os(self.spec().project_variable?).map(PathBuf::from);
        cwd.filter(|dir| dir.is_dir())
            .or_else(|| project().filter(|dir| dir.is_dir()))
    }

    /// Returns the path by which the agent is found on this machine.
    fn found(&self) -> Option<String>;

    /// Returns the events of our hooks that the agent skips, since its user has not trusted them. None: it asks for no trust.
    fn untrusted(&self, _dir: &Path) -> Option<Result<Vec<String>>> {
        None
    }

    /// Returns the next step for the user of an agent that does not load the hooks of this project, since nobody has had it trust
    /// the folder. None: it loads them.
    fn distrusts(&self, _project: &Path) -> Option<String> {
        None
    }

    /// Has the agent trust our hooks, in its own way. Requires that its user has said so. Returns their number.
    fn trust(&self, _dir: &Path) -> Result<usize> {
        Ok(0)
    }

    /// Has the agent forget its user's trust in the hooks of a settings file, which are about to go.
    fn forget_trust(&self, _settings: &Path) -> Result<()> {
        Ok(())
    }

    /// Returns the settings files that may have hooks: those of a project, or the user's own. Setup writes the first.
    /// Empty if the home directory is unknown.
    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf>;

    /// Plans an edit of the hooks in a settings file. Writes nothing.
    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan>;

    /// Reads the hooks in a settings file. A file that does not exist has none.
    fn examine(&self, settings: &Path) -> Result<Hooks>;
}

/// Encodes an answer, if the agent takes all of its parts. One without parts is not an output.
pub fn taken<A: Agent + ?Sized>(
    agent: &A,
    event: &AgentEvent,
    answer: &Answer,
) -> Result<HookOutput, NotTaken> {
    let parts = answer.parts();
    let taken = agent.abilities().taken_at(&event.name);
    match parts.iter().find(|part| !taken.contains(part)) {
        None if parts.is_empty() => Ok(HookOutput::default()),
        None => Ok(agent.encode(event, answer)),
        Some(part) => Err(NotTaken {
            agent: agent.name(),
            event: event.name.clone(),
            part: *part,
        }),
    }
}

/// Encodes an answer. One that the agent does not take becomes a denial with the reason, where it can be told one: never the
/// call as it was. Returns the part that was not taken, too.
pub fn taken_or_denied(
    agent: &dyn Agent,
    event: &AgentEvent,
    answer: &Answer,
) -> (HookOutput, Option<NotTaken>) {
    let problem = match agent.answer(event, answer) {
        Ok(output) => return (output, None),
        Err(problem) => problem,
    };
    let reason = format!(
        "Backstitch: {problem}, and the user decided on one. The call did not run. Ask the user."
    );
    let denial = Answer {
        decision: Some(ToolDecision::Deny(reason.clone())),
        ..Answer::default()
    };
    let end = Answer {
        stop: Some(reason),
        ..Answer::default()
    };
    let said = [denial, end]
        .iter()
        .find_map(|answer| agent.answer(event, answer).ok());
    (said.unwrap_or_default(), Some(problem))
}

/// An agent whose calls wait at the gate: one with hooks, or one inside an editor.
pub trait Gated: Sync {
    fn abilities(&self) -> Abilities;

    /// As in [`Agent`].
    fn command(&self, tool: &str, input: &Value) -> Option<String>;

    /// As in [`Agent`].
    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>>;

    /// As in [`Agent`].
    fn error_text(&self, payload: &[u8]) -> Option<String>;

    /// As in [`Agent`].
    fn output(&self, _payload: &[u8]) -> Option<Value> {
        None
    }

    /// As in [`Agent`].
    fn is_attended(&self) -> bool;
}

impl Gated for &dyn Agent {
    fn abilities(&self) -> Abilities {
        Agent::abilities(*self)
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        Agent::command(*self, tool, input)
    }

    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>> {
        Agent::with_input(*self, payload, input)
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        Agent::error_text(*self, payload)
    }

    fn output(&self, payload: &[u8]) -> Option<Value> {
        Agent::output(*self, payload)
    }

    fn is_attended(&self) -> bool {
        Agent::is_attended(*self)
    }
}

/// Reason why a payload is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a JSON object.
    NotJson(String),
    /// A required field is missing.
    Missing(&'static str),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "the payload is not a JSON object: {why}"),
            Self::Missing(field) => write!(f, "the payload has no `{field}`"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Edit of the hooks in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEdit<'a> {
    /// Every event gets a hook that runs this command. An older hook of ours is replaced in its place.
    Install {
        command: &'a str,
        /// True if a call does not run whose hook failed in any way.
        strict: bool,
    },
    /// The same in an empty file, for one that cannot be edited: its user adds the entries by hand.
    Entries {
        command: &'a str,
        strict: bool,
    },
    Uninstall,
}

/// A hook in a settings file that looks like one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    pub event: String,
    /// Its command without the limit and the guard.
    pub command: String,
    /// The whole text that the agent runs.
    pub text: String,
    /// The program that it runs, if the text is exactly one that setup writes for any program.
    pub program: Option<PathBuf>,
    /// The matcher that has the agent run it for some calls alone.
    pub only_for: Option<String>,
}

/// Hooks of ours in a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    pub entries: Vec<HookEntry>,
    /// Events whose hooks may hold a call, and do not know for how long: an older version wrote them.
    pub without_limit: Vec<&'static str>,
    /// True if another version of Backstitch wrote them, so that they may do less.
    pub outdated: bool,
    /// True if a call does not run whose hook was killed together with its shell.
    pub blocks_if_killed: bool,
}

impl Hooks {
    /// Returns the different commands, in the order of the file.
    pub fn commands(&self) -> Vec<&str> {
        let mut commands: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !commands.contains(&entry.command.as_str()) {
                commands.push(&entry.command);
            }
        }
        commands
    }

    /// True if a hook is run each time that this event happens.
    pub fn cover(&self, event: &str) -> bool {
        let mut all = self.entries.iter();
        all.any(|entry| entry.event == event && entry.only_for.is_none())
    }

    /// Returns the different texts of hooks that are not as setup writes them.
    pub fn altered(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.program.is_none()) {
            if !texts.contains(&entry.text.as_str()) {
                texts.push(&entry.text);
            }
        }
        texts
    }

    /// Returns the different programs of the hooks that are exactly as setup writes them. A settings file of a stranger can
    /// have such hooks, too.
    pub fn programs(&self) -> Vec<&Path> {
        let mut programs: Vec<&Path> = Vec::new();
        for program in self
            .entries
            .iter()
            .filter_map(|entry| entry.program.as_deref())
        {
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
        programs
    }
}
