//! The parts of actions before the first step, as GitHub's runner has them.
//!
//! They are those of actions that are known at the job's beginning, also within composite actions. Actions of the workspace are not
//! known then. The `pre` of a composite action is that of all actions in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action::{ActionFile, ActionRuns};
use crate::report::StepPart;
use crate::state::StepOutcome;
use crate::template::{TemplateToken, expand_variables};
use crate::workflow::{StepAction, WorkflowStep};

use super::action::github_of;
use super::chosen::runs_with;
use super::condition::holds;
use super::job::JobRun;
use super::open::{OpenStep, PRE, PostAction, Ran};
use super::uses::{FoundAction, MAX_DEPTH, UsesText, read_action};

/// An action with a `pre`: its own, or those of the steps in it.
struct PreAction {
    directory: PathBuf,
    action: ActionFile,
    /// Steps of a composite action that have one, by their places.
    inner: Vec<(usize, PreAction)>,
}

impl JobRun {
    /// Runs the `pre` parts of all steps of the job.
    pub(super) fn run_pre_parts(&mut self) {
        let steps = Arc::clone(&self.frame().steps);
        for (place, step) in steps.iter().enumerate() {
            let only = self.setup.options.only.as_deref();
            if only.is_some_and(|only| !runs_with(&steps, step, place, only)) {
                continue;
            }
            if let Some(pre) = pre_of(self, step, &mut Vec::new()) {
                run_pre(self, step, vec![place], &pre);
            }
        }
    }
}

/// The `pre` of a step; none if it has none, or if its action is not known yet. `above`: the directories of the actions around it.
fn pre_of(run: &JobRun, step: &WorkflowStep, above: &mut Vec<PathBuf>) -> Option<PreAction> {
    let StepAction::Uses { uses, .. } = &step.action else {
        return None;
    };
    let directory = directory_of(run, &uses.value)?;
    // one that contains itself fails its step
    if above.len() > MAX_DEPTH || above.contains(&directory) {
        return None;
    }
    // the step itself names what is wrong with its action
    let action = read_action(&directory).ok()?;
    let inner = match &action.runs {
        ActionRuns::Node(node) => {
            node.pre.as_ref()?;
            Vec::new()
        }
        ActionRuns::Composite(steps) => {
            above.push(directory.clone());
            let places = steps.iter().enumerate();
            let inner: Vec<_> = places
                .filter_map(|(place, step)| Some((place, pre_of(run, step, above)?)))
                .collect();
            above.pop();
            if inner.is_empty() {
                return None;
            }
            inner
        }
        ActionRuns::Docker(_) => return None,
    };
    Some(PreAction {
        directory,
        action,
        inner,
    })
}

/// The directory of an action that is known at the job's beginning.
fn directory_of(run: &JobRun, uses: &str) -> Option<PathBuf> {
    match UsesText::parse(uses) {
        UsesText::Own(path) => run.own_directory(&path).ok(),
        UsesText::Remote(action) => match run.setup.options.actions.find(&action) {
            FoundAction::Directory(directory) => Some(directory),
            FoundAction::Builtin(_) | FoundAction::Skipped | FoundAction::Absent => None,
        },
        UsesText::Workspace(_) | UsesText::Docker(_) | UsesText::Invalid(_) => None,
    }
}

/// Runs the `pre` of a step: its program, or those within its composite action.
fn run_pre(run: &mut JobRun, step: &WorkflowStep, path: Vec<usize>, pre: &PreAction) {
    let StepAction::Uses { uses, with } = &step.action else {
        return;
    };
    let mut open = run.open(step, path);
    open.name.part = StepPart::Pre;
    let env = run.add_step_env(&mut open);
    open.name.name = format!("{PRE}{}", run.display_name(&open));
    let condition = match &pre.action.runs {
        ActionRuns::Node(node) => node.pre_if.as_str(),
        ActionRuns::Composite(_) | ActionRuns::Docker(_) => "always()",
    };
    match env.and_then(|()| holds(condition, &run.at_step(&open))) {
        Ok(true) => {}
        Ok(false) => return run.skip(&open, condition),
        Err(reason) => {
            run.report().step_started(&open.name);
            return run.close(&open, Ran::failed(reason));
        }
    }
    run.report().step_started(&open.name);
    let ran = match inputs(run, &open, with.as_ref(), &pre.action) {
        Ok(inputs) => run_parts(run, &open, &uses.value, pre, &inputs),
        Err(reason) => Ran::failed(reason),
    };
    run.close(&open, ran);
}

fn inputs(
    run: &mut JobRun,
    open: &OpenStep,
    with: Option<&TemplateToken>,
    action: &ActionFile,
) -> Result<Vec<(String, String)>, String> {
    let given = with.map(|with| expand_variables(with, &run.at_step(open)));
    let given = given
        .transpose()
        .map_err(|error| run.template_error(&open.name.file, &error))?;
    run.inputs_of(open, action, given.unwrap_or_default())
}

fn run_parts(
    run: &mut JobRun,
    open: &OpenStep,
    uses: &str,
    pre: &PreAction,
    inputs: &[(String, String)],
) -> Ran {
    let github = github_of(uses, &pre.directory, open);
    let script = |name: &str| -> PathBuf { Path::new(&pre.directory).join(name) };
    match &pre.action.runs {
        ActionRuns::Node(node) => {
            let using = &node.using.value;
            // it runs also if the step does not
            if let Some(post) = &node.post {
                let action = PostAction::Node {
                    using: using.clone(),
                    script: script(post),
                };
                run.add_post(open, &node.post_if, inputs.to_vec(), github.clone(), action);
            }
            let main = node.pre.as_deref().unwrap_or_default();
            // no part before the first step is frozen
            let ran = run.run_node(open, using, &script(main), inputs, github);
            ran.unwrap_or_else(Ran::succeeded)
        }
        ActionRuns::Composite(steps) => {
            let steps = Arc::new(steps.clone());
            run.enter(open, &pre.action, Arc::clone(&steps), inputs, github);
            for (place, inner) in &pre.inner {
                let mut path = open.name.path.clone();
                path.push(*place);
                run_pre(run, &steps[*place], path, inner);
            }
            let frame = run.frames.pop();
            Ran {
                outcome: frame.map_or(StepOutcome::Success, |frame| frame.status),
                ..Ran::succeeded()
            }
        }
        ActionRuns::Docker(_) => Ran::succeeded(),
    }
}
