//! The parts of actions before the first step and after the last one.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::action::{ActionFile, ActionRuns};
use crate::template::{TemplateToken, expand_variables};
use crate::workflow::{StepAction, WorkflowStep};

use super::action::{github_of, read_action};
use super::condition::holds;
use super::job::JobRun;
use super::open::{OpenStep, Post, PostAction, Ran};
use super::uses::{FoundAction, UsesText};
use crate::report::StepPart;

impl JobRun {
    pub(super) fn add_post(
        &mut self,
        open: &OpenStep,
        condition: &str,
        inputs: Vec<(String, String)>,
        github: Vec<(&'static str, String)>,
        action: PostAction,
    ) {
        let key = open.name.key();
        let mut open = open.clone();
        open.name.part = StepPart::Post;
        open.name.name = format!("Post {}", open.name.name);
        open.github.extend(github);
        let post = Post {
            open,
            condition: condition.to_owned(),
            inputs,
            action,
        };
        self.state.post.retain(|there| *there != key);
        self.state.post.push(key.clone());
        self.posts.insert(key, post);
    }

    /// Runs the posts, the newest first.
    pub(super) fn run_posts(&mut self) {
        while let Some(key) = self.state.post.pop() {
            self.heed_stop();
            if let Some(post) = self.posts.remove(&key) {
                self.run_post(&post);
            }
        }
    }

    pub(super) fn run_post(&mut self, post: &Post) {
        let mut open = post.open.clone();
        open.status = self.state.status();
        open.began = Instant::now();
        // variables that later steps set are seen, as by the runner
        let own = std::mem::replace(&mut open.env, self.state.env.clone());
        for (name, value) in own.iter() {
            if open.env.get(name).is_none() {
                open.env.set(name, value);
            }
        }
        match holds(&post.condition, &self.at_step(&open)) {
            Ok(true) => {}
            Ok(false) => return self.skip(&open, &post.condition),
            Err(reason) => {
                self.report().step_started(&open.name);
                return self.close(&open, Ran::failed(reason));
            }
        }
        self.report().step_started(&open.name);
        let ran = match &post.action {
            PostAction::Builtin { builtin, version } => {
                self.post_builtin(&open, *builtin, version, &post.inputs)
            }
            PostAction::Node { using, script } => {
                let github = open.github.clone();
                self.run_node(&open, using, script, &post.inputs, github)
            }
        };
        self.close(&open, ran);
    }

    /// Runs the `pre` parts of actions that are here before the first step. Those of the workspace are not: GitHub's runner leaves
    /// their `pre` out, too.
    pub(super) fn run_pre_parts(&mut self) {
        let steps = Arc::clone(&self.frame().steps);
        for (place, step) in steps.iter().enumerate() {
            let StepAction::Uses { uses, with } = &step.action else {
                continue;
            };
            let directory = match UsesText::parse(&uses.value) {
                UsesText::Own(path) => self.own_directory(&path).ok(),
                UsesText::Remote(action) => match self.setup.options.actions.find(&action) {
                    FoundAction::Directory(directory) => Some(directory),
                    FoundAction::Builtin(_) | FoundAction::Skipped | FoundAction::Absent => None,
                },
                UsesText::Workspace(_) | UsesText::Docker(_) | UsesText::Invalid(_) => None,
            };
            let Some(directory) = directory else { continue };
            // the step itself names what is wrong with its action
            let Ok(action) = read_action(&directory) else {
                continue;
            };
            if let ActionRuns::Node(node) = &action.runs
                && let Some(pre) = &node.pre
            {
                let part = (
                    node.using.value.as_str(),
                    pre.as_str(),
                    node.pre_if.as_str(),
                );
                self.run_pre(step, place, with.as_ref(), &action, &directory, part);
            }
        }
    }

    pub(super) fn run_pre(
        &mut self,
        step: &WorkflowStep,
        place: usize,
        with: Option<&TemplateToken>,
        action: &ActionFile,
        directory: &Path,
        (using, pre, condition): (&str, &str, &str),
    ) {
        let mut open = self.open(step, vec![place]);
        open.name.part = StepPart::Pre;
        open.name.name = format!("Pre {}", self.display_name(&open));
        match holds(condition, &self.at_step(&open)) {
            Ok(true) => {}
            Ok(false) => return self.skip(&open, condition),
            Err(reason) => return self.close(&open, Ran::failed(reason)),
        }
        self.report().step_started(&open.name);
        let given = with
            .map(|with| expand_variables(with, &self.at_step(&open)))
            .transpose();
        let ran = match given {
            Err(error) => Ran::failed(self.template_error(&open.name.file, &error)),
            Ok(given) => match self.inputs_of(&open, action, given.unwrap_or_default()) {
                Err(reason) => Ran::failed(reason),
                Ok(inputs) => {
                    let uses = open.step.id.clone();
                    let github = github_of(&uses, directory, &open);
                    self.run_node(&open, using, &directory.join(pre), &inputs, github)
                }
            },
        };
        self.close(&open, ran);
    }
}
