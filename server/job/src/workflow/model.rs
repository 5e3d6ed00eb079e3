//! Types of a workflow. Fields that may have expressions are tokens of its template.

use crate::position::{Located, Range};
use crate::template::Token;

/// One workflow file that has no problems.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Path, relative to the repository.
    pub file: String,
    pub name: Option<String>,
    pub run_name: Option<Token>,
    /// Names of the events that start it, with what `on` says of each.
    pub events: Vec<(Located<String>, Option<Token>)>,
    /// Inputs of `workflow_dispatch` and `workflow_call`.
    pub dispatch_inputs: Vec<Input>,
    pub call: Option<Call>,
    /// A mapping.
    pub env: Option<Token>,
    pub defaults: Defaults,
    pub jobs: Vec<Job>,
    /// Keys that a local run does not heed, such as `permissions`.
    pub unheeded: Vec<Located<String>>,
}

/// An input that a workflow declares.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: String,
    pub kind: InputKind,
    pub required: bool,
    pub default: Option<Token>,
    pub options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    String,
    Boolean,
    Number,
    Choice,
    Environment,
}

/// `on.workflow_call`: what a caller gives and gets.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub inputs: Vec<Input>,
    /// Names of secrets, with `required`.
    pub secrets: Vec<(String, bool)>,
    /// Names of outputs, with their templates.
    pub outputs: Vec<(String, Token)>,
}

/// `defaults.run`.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    pub shell: Option<Token>,
    pub working_directory: Option<Token>,
    /// The whole of `run`, if it is one expression.
    pub expression: Option<Token>,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub id: Located<String>,
    pub name: Option<Token>,
    pub needs: Vec<Located<String>>,
    /// The condition with its implied status, as GitHub evaluates it; `success()` if the file has none.
    pub condition: String,
    pub strategy: Strategy,
    /// Its steps, or the workflow that it calls.
    pub body: Body,
}

/// `strategy`.
#[derive(Clone, Debug, Default)]
pub struct Strategy {
    /// A mapping with `include`, `exclude` and axes, or one expression.
    pub matrix: Option<Token>,
    pub fail_fast: Option<Token>,
    pub max_parallel: Option<Token>,
    /// The whole strategy, if it is one expression.
    pub expression: Option<Token>,
}

#[derive(Clone, Debug)]
pub enum Body {
    Steps(Box<StepsBody>),
    /// `uses` of a job: a reusable workflow.
    Call(Box<CallBody>),
}

#[derive(Clone, Debug)]
pub struct StepsBody {
    pub runs_on: Token,
    pub env: Option<Token>,
    pub defaults: Defaults,
    pub outputs: Vec<(String, Token)>,
    pub timeout_minutes: Option<Token>,
    pub continue_on_error: Option<Token>,
    /// Places of `container` and `services`, which are refused.
    pub container: Option<Token>,
    pub services: Option<Token>,
    pub steps: Vec<Step>,
    /// Keys that a local run does not heed, such as `concurrency`.
    pub unheeded: Vec<Located<String>>,
}

#[derive(Clone, Debug)]
pub struct CallBody {
    pub uses: Located<String>,
    pub with: Option<Token>,
    pub secrets: Secrets,
}

/// `secrets` of a job that calls a workflow.
#[derive(Clone, Debug)]
pub enum Secrets {
    None,
    Inherit,
    Mapping(Token),
}

#[derive(Clone, Debug)]
pub struct Step {
    /// Its `id`, or the one that GitHub makes: `__run_2`.
    pub id: String,
    /// The whole step; its start is the line of the first key.
    pub range: Range,
    pub name: Option<Token>,
    /// The condition with its implied status; `success()` if the file has none.
    pub condition: String,
    /// A mapping.
    pub env: Option<Token>,
    pub timeout_minutes: Option<Token>,
    pub continue_on_error: Option<Token>,
    pub action: StepAction,
}

#[derive(Clone, Debug)]
pub enum StepAction {
    Run {
        script: Token,
        shell: Option<Token>,
        working_directory: Option<Token>,
    },
    Uses {
        uses: Located<String>,
        /// A mapping.
        with: Option<Token>,
    },
    /// `background`, `wait`, `wait-all`, `cancel`, `parallel`: read, and refused by a run.
    Background(Located<String>),
}
