//! The trait of an agent: what its declaration says, and what it does otherwise. Knows no agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use serde_json::Value;

use super::answer::{Answer, HookOutput, NotTaken, ToolDecision};
use super::conversations::Conversations;
use super::fields::ParseError;
use super::hook_entries::{HookEdit, Hooks};
use super::machine::on_path;
use super::settings_plan::SettingsPlan;
use super::spec::{Abilities, AgentSpec, HookForm, Sign};

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

    /// Returns the conversations that the agent records. None: they cannot be reached from outside, or not yet.
    fn conversations(&self) -> Option<&'static dyn Conversations> {
        None
    }

    /// Parses the payload of a hook. Tolerant: unknown fields, events and tools are ignored.
    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        (self.spec().parse)(payload)
    }

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
    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        (self.spec().encode)(event, answer)
    }

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
        (self.spec().error_text)(payload)
    }

    /// Returns the output in the payload of a call that has run.
    fn output(&self, payload: &[u8]) -> Option<Value> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let fields = ["tool_response", "tool_result", "tool_output"];
        fields.iter().find_map(|field| payload.get(field).cloned())
    }

    /// Names of its usual tools. It may have more.
    fn tools(&self) -> Vec<&'static str> {
        (self.spec().tools)()
    }

    /// Returns the text of a shell command. None: the tool is not a shell.
    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        (self.spec().command)(tool, input)
    }

    /// True if a person sits before the agent and can answer its own questions. Read from the hook's environment. Most have no
    /// sign of that there, or cannot ask for a hook.
    fn is_attended(&self) -> bool {
        false
    }

    /// Returns a payload of the agent for a prompt in this directory. `doctor` tests a hook with it.
    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        (self.spec().prompt)(dir, prompt).to_string().into_bytes()
    }

    /// Returns the directory in which an event happened: the one that it reports, or the project's. None if neither
    /// exists.
    fn locate(&self, event: Option<&AgentEvent>) -> Option<PathBuf> {
        let cwd = event.and_then(|event| event.cwd.clone());
        let project = || std::env::var_os(self.spec().project_variable?).map(PathBuf::from);
        cwd.filter(|dir| dir.is_dir())
            .or_else(|| project().filter(|dir| dir.is_dir()))
    }

    /// Returns the path by which the agent is found on this machine.
    fn found(&self) -> Option<String> {
        let places = &self.spec().places;
        let found = match places.sign {
            Sign::DirectoryFirst => places.user_dir().filter(|dir| dir.is_dir()),
            Sign::Directory | Sign::Settings => None,
        };
        let sign = || match places.sign {
            Sign::Settings => places.user_settings().filter(|file| file.is_file()),
            Sign::Directory | Sign::DirectoryFirst => places.user_dir().filter(|dir| dir.is_dir()),
        };
        let found = found.or_else(|| self.program()).or_else(sign)?;
        Some(found.display().to_string())
    }

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
    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        self.spec().places.settings(project)
    }

    /// Plans an edit of the hooks in a settings file. Writes nothing.
    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        match self.spec().hooks {
            HookForm::Table(table) => table.plan(settings, edit),
            HookForm::Flat(hooks) => hooks.plan(settings, edit),
            HookForm::Own { plan, .. } => plan(settings, edit),
        }
    }

    /// Reads the hooks in a settings file. A file that does not exist has none.
    fn examine(&self, settings: &Path) -> Result<Hooks> {
        match self.spec().hooks {
            HookForm::Table(table) => table.examine(settings),
            HookForm::Flat(hooks) => hooks.examine(settings),
            HookForm::Own { examine, .. } => examine(settings),
        }
    }
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
