//! The parts of actions after the last step.

use std::time::Instant;

use crate::builtin::CallPart;

use super::condition::holds;
use super::job::JobRun;
use super::open::{OpenStep, PRE, Post, PostAction, Ran};
use super::step::close_with;
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
        let name = match open.name.part {
            StepPart::Pre => open.name.name.trim_start_matches(PRE),
            StepPart::Main | StepPart::Post => &open.name.name,
        };
        open.name.name = format!("Post {name}");
        open.name.part = StepPart::Post;
        open.github.extend(github);
        let post = Post {
            open,
            condition: condition.to_owned(),
            inputs,
            action,
        };
        // a `pre` has given it its place already, as on GitHub
        if !self.state.post.contains(&key) {
            self.state.post.push(key.clone());
        }
        self.posts.insert(key, post);
    }

    /// Runs the newest post. False if none is left.
    pub(super) fn run_next_post(&mut self) -> bool {
        let Some(key) = self.state.post.pop() else {
            return false;
        };
        self.heed_stop();
        if let Some(post) = self.posts.remove(&key) {
            self.run_post(&post);
        }
        true
    }

    fn run_post(&mut self, post: &Post) {
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
                let (call, inputs) = ((*builtin, CallPart::Post), post.inputs.clone());
                self.call_builtin(&open, call, version, inputs, "")
            }
            PostAction::Node { using, script } => {
                let github = open.github.clone();
                self.run_node(&open, using, script, &post.inputs, github)
            }
        };
        close_with(self, open, ran);
    }
}
