//! Actions of directories: their inputs, and the way into composite ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action::{ActionFile, ActionRuns};
use crate::builtin::CallPart;
use crate::contexts::At;
use crate::state::{EnvVariables, StepOutcome};
use crate::template::{TemplateToken, expand_text, expand_variables};
use crate::workflow::WorkflowStep;

use super::frame::{Composite, Frame};
use super::job::{JobRun, texts};
use super::open::{OpenStep, PostAction, Ran};
use super::own::export;
use super::uses::{FoundAction, MAX_DEPTH, MissingActions, UsesText, read_action};

impl JobRun {
    /// Runs an action; none if a composite action was entered, whose steps come next, or if its program was frozen.
    pub(super) fn run_action(
        &mut self,
        open: &OpenStep,
        uses: &str,
        with: Option<&TemplateToken>,
    ) -> Option<Ran> {
        let inputs = with
            .map(|with| expand_variables(with, &self.at_step(open)))
            .transpose();
        let inputs = match inputs {
            Ok(inputs) => inputs.unwrap_or_default(),
            Err(error) => return Some(Ran::failed(self.template_error(&open.name.file, &error))),
        };
        let workspace = &self.setup.place.workspace;
        match UsesText::parse(uses) {
            UsesText::Workspace(path) => {
                let directory = workspace.join(path);
                self.run_directory(open, uses, &directory, inputs)
            }
            UsesText::Own(path) => match self.own_directory(&path) {
                Ok(directory) => self.run_directory(open, uses, &directory, inputs),
                Err(reason) => Some(Ran::failed(reason)),
            },
            UsesText::Docker(image) => Some(Ran::failed(format!(
                "The step uses the image '{image}', and containers are not supported here. Leave the step out, or run its commands on the host."
            ))),
            UsesText::Invalid(text) => Some(Ran::failed(format!(
                "Expected format {{org}}/{{repo}}[/path]@ref. Actual '{text}'"
            ))),
            UsesText::Remote(action) => match self.setup.options.actions.find(&action) {
                FoundAction::Directory(directory) => {
                    self.run_directory(open, uses, &directory, inputs)
                }
                FoundAction::Builtin(builtin) => {
                    let call = (builtin, CallPart::Main);
                    self.call_builtin(open, call, &action.git_ref, inputs, uses)
                }
                FoundAction::Skipped => Some(left_out(uses, "it is left out, as you said")),
                FoundAction::Absent => Some(self.absent(uses, "no directory and no cache has it")),
            },
        }
    }

    /// The decision about an action that is not here.
    pub(super) fn absent(&self, uses: &str, why: &str) -> Ran {
        match self.setup.options.missing_actions {
            MissingActions::Skip => left_out(uses, why),
            MissingActions::Fail => Ran::failed(format!(
                "The action '{uses}' is absent: {why}. Name a directory with --action {uses}=DIR, or leave such steps out with \
                 --missing-actions skip."
            )),
        }
    }

    /// The directory of `$/path`: the workflow's own repository at its commit.
    pub(super) fn own_directory(&self, path: &Path) -> Result<PathBuf, String> {
        export(
            &self.setup.repository,
            path,
            &self.setup.place.temp.join("_own"),
        )
    }

    /// Reads the action of a directory, and runs or enters it.
    fn run_directory(
        &mut self,
        open: &OpenStep,
        uses: &str,
        directory: &Path,
        inputs: Vec<(String, String)>,
    ) -> Option<Ran> {
        let action = match read_action(directory) {
            Ok(action) => action,
            Err(reason) => return Some(Ran::failed(reason)),
        };
        let inputs = match self.inputs_of(open, &action, inputs) {
            Ok(inputs) => inputs,
            Err(reason) => return Some(Ran::failed(reason)),
        };
        let github = github_of(uses, directory, open);
        match &action.runs {
            ActionRuns::Composite(steps) => {
                if self.frames.len() > MAX_DEPTH {
                    return Some(Ran::failed(format!(
                        "Composite actions are nested more than {MAX_DEPTH} deep, at '{uses}'."
                    )));
                }
                let steps = Arc::new(steps.clone());
                self.enter(open, &action, steps, &inputs, github);
                None
            }
            ActionRuns::Node(node) => {
                let using = &node.using.value;
                let is_local = matches!(UsesText::parse(uses), UsesText::Workspace(_));
                if is_local && node.pre.is_some() {
                    let notice =
                        format!("`pre` execution is not supported for local action from '{uses}'");
                    self.report().notice(&notice);
                }
                if let Some(post) = &node.post {
                    let action = PostAction::Node {
                        using: using.clone(),
                        script: directory.join(post),
                    };
                    self.add_post(open, &node.post_if, inputs.clone(), github.clone(), action);
                }
                self.run_node(open, using, &directory.join(&node.main), &inputs, github)
            }
            ActionRuns::Docker(_) => Some(Ran::failed(format!(
                "The action '{uses}' runs in a container, and containers are not supported here. Leave it out with --action {uses}=skip."
            ))),
        }
    }

    /// Inputs with the defaults of the action. The names are those of the action.
    pub(super) fn inputs_of(
        &mut self,
        open: &OpenStep,
        action: &ActionFile,
        given: Vec<(String, String)>,
    ) -> Result<Vec<(String, String)>, String> {
        let mut inputs = Vec::new();
        for input in &action.inputs {
            let own = given
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&input.name));
            let value = match (own, &input.default) {
                (Some((_, value)), _) => value.clone(),
                (None, Some(default)) => {
                    let value = expand_text(default, &self.at_step(open));
                    value.map_err(|error| self.template_error(&action.file, &error))?
                }
                (None, None) => String::new(),
            };
            inputs.push((input.name.clone(), value));
        }
        for (name, value) in given {
            if !inputs
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(&name))
            {
                let known: Vec<&str> = action
                    .inputs
                    .iter()
                    .map(|input| input.name.as_str())
                    .collect();
                let notice = format!(
                    "Unexpected input(s) '{name}', valid inputs are ['{}']",
                    known.join("', '")
                );
                self.report().notice(&notice);
                inputs.push((name, value));
            }
        }
        Ok(inputs)
    }

    pub(super) fn enter(
        &mut self,
        open: &OpenStep,
        action: &ActionFile,
        steps: Arc<Vec<WorkflowStep>>,
        inputs: &[(String, String)],
        github: Vec<(&'static str, String)>,
    ) {
        let scope = if open.scope.is_empty() {
            open.step.id.clone()
        } else {
            format!("{}.{}", open.scope, open.step.id)
        };
        let mut env = EnvVariables::default();
        // variables of the state may change within; those of the step stay
        for (name, value) in open.env.iter() {
            if self.state.env.get(name) != Some(value) {
                env.set(name, value);
            }
        }
        // a second run of the action does not see results of the first
        self.state.steps.remove(&scope);
        self.frames.push(Frame {
            scope,
            path: open.name.path.clone(),
            file: action.file.clone(),
            steps,
            next: 0,
            env,
            status: StepOutcome::Success,
            deadline: open.deadline,
            composite: Some(Composite {
                open: open.clone(),
                inputs: texts(inputs),
                outputs: action
                    .outputs
                    .iter()
                    .filter_map(|(name, token)| Some((name.clone(), token.clone()?)))
                    .collect(),
                github,
            }),
        });
    }

    /// Ends the composite action whose steps have ended: its outputs, and its result as that of the step that uses it.
    pub(super) fn leave_composite(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let Some(composite) = frame.composite else {
            return;
        };
        let mut env = self.state.env.clone();
        env.extend(frame.env.iter());
        let inner = At {
            facts: &self.setup.facts,
            state: &self.state,
            scope: &frame.scope,
            env: &env,
            inputs: Some(&composite.inputs),
            status: frame.status,
            github: &composite.github,
            workspace: &self.setup.place.workspace,
            home: &self.setup.place.home,
        };
        let mut ran = Ran {
            outcome: frame.status,
            ..Ran::succeeded()
        };
        for (name, token) in &composite.outputs {
            match expand_text(token, &inner) {
                Ok(value) => ran.outputs.set(name, &value),
                Err(error) => {
                    ran.outcome = StepOutcome::Failure;
                    ran.reason = Some(self.template_error(&frame.file, &error));
                }
            }
        }
        self.close(&composite.open, ran);
    }
}

/// The end of a step whose action does not run.
fn left_out(uses: &str, why: &str) -> Ran {
    Ran {
        outcome: StepOutcome::Skipped,
        reason: Some(format!("The action '{uses}' did not run: {why}.")),
        outputs: EnvVariables::default(),
    }
}

/// Values of `github` within an action.
pub(super) fn github_of(
    uses: &str,
    directory: &Path,
    open: &OpenStep,
) -> Vec<(&'static str, String)> {
    let mut github = vec![("action_path", directory.to_string_lossy().into_owned())];
    match UsesText::parse(uses) {
        UsesText::Remote(action) => {
            github.push(("action_repository", action.repository.clone()));
            github.push(("action_ref", action.git_ref));
        }
        _ => github.push(("action", open.step.id.clone())),
    }
    github
}
