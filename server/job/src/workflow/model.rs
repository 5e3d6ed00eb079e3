//! Types of a workflow. Fields that may have expressions are tokens of its template.

use serde::{Deserialize, Serialize};

use crate::position::{Located, Range};
use crate::template::TemplateToken;

/// One workflow file that has no problems.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Path, relative to the repository.
    pub file: String,
    pub name: Option<String>,
    pub run_name: Option<TemplateToken>,
    /// Names of the events that start it, with what `on` says of each.
    pub events: Vec<(Located<String>, Option<TemplateToken>)>,
    /// Inputs of `workflow_dispatch` and `workflow_call`.
    pub dispatch_inputs: Vec<WorkflowInput>,
    pub call: Option<WorkflowCall>,
    /// A mapping.
    pub env: Option<TemplateToken>,
    pub defaults: Defaults,
    pub jobs: Vec<WorkflowJob>,
    /// Keys that a local run does not heed, such as `permissions`.
    pub unheeded: Vec<Located<String>>,
}

/// An input that a workflow declares.
#[derive(Clone, Debug)]
pub struct WorkflowInput {
    pub name: String,
    pub kind: InputKind,
    pub required: bool,
    pub default: Option<TemplateToken>,
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
pub struct WorkflowCall {
    pub inputs: Vec<WorkflowInput>,
    /// Names of secrets, with `required`.
    pub secrets: Vec<(String, bool)>,
    /// Names of outputs, with their templates.
    pub outputs: Vec<(String, TemplateToken)>,
}

/// `defaults.run`.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    pub shell: Option<TemplateToken>,
    pub working_directory: Option<TemplateToken>,
    /// The whole of `run`, if it is one expression.
    pub expression: Option<TemplateToken>,
}

#[derive(Clone, Debug)]
pub struct WorkflowJob {
    pub id: Located<String>,
    pub name: Option<TemplateToken>,
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
    pub matrix: Option<TemplateToken>,
    pub fail_fast: Option<TemplateToken>,
    pub max_parallel: Option<TemplateToken>,
    /// The whole strategy, if it is one expression.
    pub expression: Option<TemplateToken>,
}

#[derive(Clone, Debug)]
pub enum Body {
    Steps(Box<StepsBody>),
    /// `uses` of a job: a reusable workflow.
    Call(Box<CallBody>),
}

#[derive(Clone, Debug)]
pub struct StepsBody {
    pub runs_on: TemplateToken,
    pub env: Option<TemplateToken>,
    pub defaults: Defaults,
    pub outputs: Vec<(String, TemplateToken)>,
    pub timeout_minutes: Option<TemplateToken>,
    pub continue_on_error: Option<TemplateToken>,
    /// Places of `container` and `services`, which are refused.
    pub container: Option<TemplateToken>,
    pub services: Option<TemplateToken>,
    pub steps: Vec<WorkflowStep>,
    /// Keys that a local run does not heed, such as `concurrency`.
    pub unheeded: Vec<Located<String>>,
}

#[derive(Clone, Debug)]
pub struct CallBody {
    pub uses: Located<String>,
    pub with: Option<TemplateToken>,
    pub secrets: Secrets,
}

impl Workflow {
    /// The calls of other workflows, in the order of the file.
    pub fn calls(&self) -> impl Iterator<Item = &CallBody> {
        self.jobs.iter().filter_map(|job| match &job.body {
            Body::Call(call) => Some(call.as_ref()),
            Body::Steps(_) => None,
        })
    }
}

impl CallBody {
    /// Path of the called workflow in the same repository. None: it is in another one.
    pub fn own_path(&self) -> Option<&str> {
        let uses = &self.uses.value;
        uses.strip_prefix("./").or_else(|| uses.strip_prefix("$/"))
    }
}

/// `secrets` of a job that calls a workflow.
#[derive(Clone, Debug)]
pub enum Secrets {
    None,
    Inherit,
    Mapping(TemplateToken),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowStep {
    /// Its `id`, or the one that GitHub makes: `__run_2`.
    pub id: String,
    /// The whole step; its start is the line of the first key.
    pub range: Range,
    pub name: Option<TemplateToken>,
    /// The condition with its implied status; `success()` if the file has none.
    pub condition: String,
    /// A mapping.
    pub env: Option<TemplateToken>,
    pub timeout_minutes: Option<TemplateToken>,
    pub continue_on_error: Option<TemplateToken>,
    pub action: StepAction,
}

impl WorkflowStep {
    /// A step that does nothing, where there is none.
    pub fn nothing() -> WorkflowStep {
        WorkflowStep {
            id: String::new(),
            range: Range::default(),
            name: None,
            condition: "success()".to_owned(),
            env: None,
            timeout_minutes: None,
            continue_on_error: None,
            action: StepAction::Run {
                script: TemplateToken::text(Range::default(), ""),
                shell: None,
                working_directory: None,
            },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StepAction {
    Run {
        script: TemplateToken,
        shell: Option<TemplateToken>,
        working_directory: Option<TemplateToken>,
    },
    Uses {
        uses: Located<String>,
        /// A mapping.
        with: Option<TemplateToken>,
    },
    /// `background`, `wait`, `wait-all`, `cancel`, `parallel`: read, and refused by a run.
    Background(Located<String>),
}
