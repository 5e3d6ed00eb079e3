//! The guard against agents that decide for themselves: the one place where a deciding command of any front end is
//! refused that comes from inside an agent. The attempt is kept, and told to the user. It protects from accidents, not
//! from code of the same user.

use backstitch_agents as agents;
use backstitch_control::{Control, Pause, PauseFilter, Subject, ancestors, starter};
use backstitch_core::config::Config;
use backstitch_core::{Result, Workspace};

/// The front end that a command comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face<'a> {
    Terminal,
    /// A language server. Its client is this editor, which it runs inside of: the editor's own agents, and those that it
    /// starts, do not make it an agent's.
    Server(&'a str),
}

impl Face<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Terminal => "cli",
            Self::Server(editor) => editor,
        }
    }
}

/// The reason why a command is taken for an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// This variable is set in the environment.
    Mark(&'static str),
    /// This agent is an ancestor of the process.
    Ancestor(String),
}

/// A decision that is refused: the reason and the next step, for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedDecision {
    pub reason: String,
    pub hint: &'static str,
}

/// Words for the agent. They name no way round: a model would take it.
const ASK: &str = "the decision is your user's: tell them what you would like to have done, and why; they do it in their \
                   own editor or terminal. `propose_rewind` of `backstitch mcp` asks them for a rewind";
const ASK_EDITOR: &str = "this editor was started from inside an agent: its user decides in a terminal or an editor of \
                          their own";

/// Refuses a deciding command from inside an agent, and keeps the attempt for the user. None: a person runs it, or the
/// user's settings let agents decide. `command`: its name, without values.
pub fn refuse(
    workspace: Option<&Workspace>,
    face: Face<'_>,
    command: &str,
) -> Result<Option<RefusedDecision>> {
    let Some(from) = check(workspace, face)? else {
        return Ok(None);
    };
    let reason = from.reason(face);
    if let Some(workspace) = workspace.filter(|workspace| workspace.store_dir.is_dir()) {
        // a database that cannot be written refuses all the same
        let _ = Control::open(workspace)
            .and_then(|control| control.note_attempt(face.name(), command, &from.sign()));
    }
    let hint = match face {
        Face::Terminal => ASK,
        Face::Server(_) => ASK_EDITOR,
    };
    Ok(Some(RefusedDecision { reason, hint }))
}

/// Returns the reason why this process is taken for an agent's.
pub fn check(workspace: Option<&Workspace>, face: Face<'_>) -> Result<Option<FromAgent>> {
    let may_decide = match workspace {
        Some(workspace) => Config::of(workspace).agents_may_control(),
        None => Config::of_user().agents_may_control(),
    };
    if may_decide {
        return Ok(None);
    }
    let mut marks = agents::marks();
    if let Some(mark) = marks.find(|name| std::env::var_os(name).is_some()) {
        return Ok(Some(FromAgent::Mark(mark)));
    }
    let control = workspace.map(Control::open_existing).transpose()?.flatten();
    let Some(control) = control else {
        return Ok(None);
    };
    let mut above = ancestors(std::process::id());
    if let Face::Server(_) = face {
        // the editor itself, which may run hooks, and tools of agents
        let editor = starter();
        above.retain(|process| Some(*process) != editor);
    }
    let pauses = control.pauses().list(PauseFilter::All)?;
    let is_above = |pause: &&Pause| {
        let agent = pause.call.agent_process.filter(|agent| agent.pid > 1);
        marks_agent(pause) && agent.is_some_and(|agent| above.contains(&agent))
    };
    let found = pauses.iter().rev().find(is_above);
    Ok(found.map(|pause| FromAgent::Ancestor(pause.call.agent.clone())))
}

/// True if the process of a pause is an agent, from which commands may come. A process that lives and held a call once
/// is the same agent still; programs and proposals count only while they wait: a program is not an agent, and an editor may
/// have proposed for one.
fn marks_agent(pause: &Pause) -> bool {
    match pause.call.subject {
        Subject::Call => true,
        // its process is the editor
        Subject::Edit => false,
        Subject::Program | Subject::Proposal => pause.state.is_open(),
    }
}

impl FromAgent {
    /// The reason in words.
    fn reason(&self, face: Face<'_>) -> String {
        let what = match face {
            Face::Terminal => "this command runs",
            Face::Server(_) => "this language server runs",
        };
        match self {
            Self::Mark(name) => {
                format!(
                    "{what} inside an agent ({name} is set), which may not decide on its own calls"
                )
            }
            Self::Ancestor(agent) => {
                format!("{what} inside {agent}, which may not decide on its own calls")
            }
        }
    }

    /// The sign by which it was known, for the user.
    fn sign(&self) -> String {
        match self {
            Self::Mark(name) => format!("{name} is set"),
            Self::Ancestor(agent) => format!("it runs inside {agent}"),
        }
    }
}
