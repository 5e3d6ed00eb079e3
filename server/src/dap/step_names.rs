//! Names of the steps of a job, as breakpoints on names find them.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_job::action::{self, ActionRuns};
use backstitch_job::report::{JobName, StepName, StepPart};
use backstitch_job::run::plain_name;
use backstitch_job::template::TokenKind;
use backstitch_job::workflow::{self, Body, StepAction, WorkflowStep};
use globset::{Glob, GlobMatcher};

/// Composite actions within one another whose steps are read.
const MAX_DEPTH: usize = 10;

/// Signs of a pattern.
const PATTERN_SIGNS: [char; 4] = ['*', '?', '[', '{'];

/// The job that is stepped through.
#[derive(Debug)]
pub struct NamedJob {
    file: PathBuf,
    /// Its id, and all that it is called where it stands.
    names: Vec<String>,
}

/// A name or an id of a step. One with values of the run is a pattern.
enum KnownName {
    Text(String),
    Pattern(GlobMatcher),
}

impl NamedJob {
    /// A job in a workflow.
    pub fn of(file: &Path, id: &str) -> NamedJob {
        NamedJob {
            file: file.to_owned(),
            names: vec![id.to_owned()],
        }
    }

    /// Takes the names of the job where it stands: one that a workflow calls has others.
    pub fn stands_in(&mut self, name: &JobName) {
        self.names.truncate(1);
        let names = [&name.id, name.key(), &name.name].map(str::to_owned);
        self.names.extend(names);
    }

    /// True for a step of this job by its name, its id, or one of both after the job's name and a slash. A post has its name alone.
    pub fn has(&self, pattern: &GlobMatcher, step: &StepName) -> bool {
        self.is_named(pattern, &step.name)
            || step.part == StepPart::Main && self.is_named(pattern, &step.id)
    }

    /// The reason why a pattern is not that of a step, as the files are now.
    pub fn missing(&self, pattern: &GlobMatcher) -> Option<String> {
        let job = &self.names[0];
        let known = known_names(&self.file, job)?;
        let text = pattern.glob().glob();
        let step = text.strip_prefix(&format!("{job}/"));
        let is_it = |name: &KnownName| match name {
            KnownName::Text(name) => self.is_named(pattern, name),
            KnownName::Pattern(name) => {
                text.contains(PATTERN_SIGNS) || name.is_match(step.unwrap_or(text))
            }
        };
        (!known.iter().any(is_it)).then(|| {
            format!(
                "No step of {job} has the name or the id {text}. The job stops once one has it."
            )
        })
    }

    fn is_named(&self, pattern: &GlobMatcher, name: &str) -> bool {
        let text = pattern.glob().glob();
        let is_it = |name: &str| pattern.is_match(name) || text == name;
        // a star stands for a slash, too: without one in the pattern the name of a job would do
        let with_job = |job: &String| is_it(&format!("{job}/{name}"));
        is_it(name) || text.contains('/') && self.names.iter().any(with_job)
    }
}

/// Names and ids of the steps of a job, and of the composite actions of its project. None: they are not known.
fn known_names(file: &Path, job: &str) -> Option<Vec<KnownName>> {
    let text = fs::read_to_string(file).ok()?;
    let workflow = workflow::read(&file.to_string_lossy(), &text).0?;
    let job = workflow.jobs.iter().find(|one| one.id.value == job)?;
    let root = file.ancestors().skip(1);
    let mut root = root.filter(|above| above.join(".git").exists());
    let root = root.next().or_else(|| file.parent())?;
    let mut names = Vec::new();
    match &job.body {
        Body::Steps(body) => add_names(&body.steps, root, 0, &mut names),
        Body::Call(_) => return None,
    }
    Some(names)
}

fn add_names(steps: &[WorkflowStep], root: &Path, depth: usize, names: &mut Vec<KnownName>) {
    for step in steps {
        names.push(KnownName::Text(step.id.clone()));
        let name = plain_name(step).unwrap_or_else(|| template_of(step));
        names.push(known_name(&name));
        let StepAction::Uses { uses, .. } = &step.action else {
            continue;
        };
        names.extend(["Pre", "Post"].map(|part| known_name(&format!("{part} {name}"))));
        if uses.value.starts_with("./") && depth < MAX_DEPTH {
            add_names(
                &steps_within(&root.join(&uses.value)),
                root,
                depth + 1,
                names,
            );
        }
    }
}

/// The steps of a composite action.
fn steps_within(directory: &Path) -> Vec<WorkflowStep> {
    let files = ["action.yml", "action.yaml"].map(|name| directory.join(name));
    let read = |file: PathBuf| Some((fs::read_to_string(&file).ok()?, file));
    let Some((text, file)) = files.into_iter().find_map(read) else {
        return Vec::new();
    };
    let action = action::read_to_run(&file.to_string_lossy(), &text).0;
    match action.map(|action| action.runs) {
        Some(ActionRuns::Composite(steps)) => steps,
        Some(ActionRuns::Node(_) | ActionRuns::Docker(_)) | None => Vec::new(),
    }
}

/// A name with expressions, as its file has it.
fn template_of(step: &WorkflowStep) -> String {
    match step.name.as_ref().map(|token| &token.kind) {
        Some(TokenKind::Expression(name)) if name.source.contains("${{") => name.source.clone(),
        _ => "${{ }}".to_owned(),
    }
}

/// A name in which each expression may have any value.
fn known_name(text: &str) -> KnownName {
    let mut parts = text.split("${{");
    let mut pattern = globset::escape(parts.next().unwrap_or_default());
    for part in parts {
        let after = part.split_once("}}").map_or("", |(_, after)| after);
        pattern = format!("{pattern}*{}", globset::escape(after));
    }
    match Glob::new(&pattern) {
        Ok(glob) if text.contains("${{") => KnownName::Pattern(glob.compile_matcher()),
        Ok(_) | Err(_) => KnownName::Text(text.to_owned()),
    }
}
