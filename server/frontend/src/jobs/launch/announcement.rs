//! Warnings of a start before its first step: choices that widen it, actions that are absent, commands that reach out.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::config::Key;
use backstitch_job::run::{JobListing, LineText, WorkflowAdditions, WorkflowSetup, digest};

use crate::render::counted;

use super::arguments::JobLaunch;

/// Sentences about choices that widen the run, and about actions that are absent.
pub fn warnings(args: &JobLaunch, setup: &WorkflowSetup, jobs: &[JobListing]) -> Vec<String> {
    let mut all = Vec::new();
    let inherited = &setup.environment.inherit;
    if !inherited.is_empty() {
        let source = match args.inherit_env.as_slice() {
            [] => Key::InheritEnv.name(),
            _ => args.names.inherit_env,
        };
        let names = inherited.join(", ");
        all.push(format!("steps get variables of yours: {names} ({source})"));
    }
    if setup.environment.user_home {
        all.push(format!(
            "steps get your own home directory, with its logins ({})",
            args.names.user_home
        ));
    }
    if setup.in_place {
        all.push(format!(
            "steps change the files of the project itself ({})",
            args.names.in_place
        ));
    }
    let workflow = &setup.workflow;
    let starts = |event: &str| {
        workflow
            .events
            .iter()
            .any(|(known, _)| known.value == event)
    };
    if let Some(event) = args.event.as_deref().filter(|event| !starts(event)) {
        all.push(format!("{}: no event {event} starts it", workflow.file));
    }
    for job in jobs {
        let absent = job.absent.iter().map(absent);
        all.extend(absent.map(|text| format!("{}: {text}", job.id)));
        let refused = job.refused.iter().map(line_of);
        all.extend(refused.map(|text| format!("{}: refused, {text}", job.id)));
    }
    all
}

/// Jobs with a command that reaches out and that the user has not seen. All such commands of them are shown.
pub fn unseen<'a>(
    setup: &WorkflowSetup,
    jobs: &'a [JobListing],
) -> Vec<(&'a JobListing, SeenCommands)> {
    let seen_in = |job: &JobListing| {
        let (root, file) = (&setup.repository.root, &setup.workflow.file);
        SeenCommands::of(&setup.jobs_dir, root, file, &job.id)
    };
    let all = jobs.iter().map(|job| (job, seen_in(job)));
    all.filter(|(job, seen)| job.reaching.iter().any(|command| !seen.has(command)))
        .collect()
}

/// `line 7: git push`
pub fn line_of(part: &LineText) -> String {
    format!("line {}: {}", part.line, part.text)
}

fn absent(action: &LineText) -> String {
    format!(
        "the action {} (line {}) is absent",
        action.text, action.line
    )
}

/// Lines about parts that edits of a workflow have added while its job stands.
pub fn added_lines(added: &WorkflowAdditions) -> Vec<String> {
    let absent = added.absent.iter().map(absent);
    let mut lines: Vec<String> = absent
        .map(|text| format!("The workflow has changed: {text}."))
        .collect();
    if !added.reaching.is_empty() {
        lines.push(format!(
            "The workflow has changed, and has {} more that can reach out of the run:",
            counted(added.reaching.len(), "command")
        ));
        let commands = added.reaching.iter().map(line_of);
        lines.extend(commands.map(|line| format!("  {line}")));
    }
    lines
}

/// Commands that reach out and that the user has seen: in one job of one workflow file.
#[derive(Debug)]
pub struct SeenCommands {
    /// Directory of the marks.
    dir: PathBuf,
    /// The workflow file and the job.
    place: String,
}

impl SeenCommands {
    /// `file`: path of the workflow, relative to the repository.
    pub fn of(jobs_dir: &Path, root: &Path, file: &str, job: &str) -> Self {
        Self {
            dir: jobs_dir.join("seen"),
            place: format!("{}\0{file}\0{job}", root.display()),
        }
    }

    pub fn has(&self, command: &LineText) -> bool {
        self.mark(command).exists()
    }

    pub fn add(&self, commands: &[LineText]) {
        // without a mark the command is shown again
        let _ = fs::create_dir_all(&self.dir);
        for command in commands {
            let _ = fs::write(self.mark(command), "");
        }
    }

    fn mark(&self, command: &LineText) -> PathBuf {
        let text = format!("{}\0{}", self.place, command.text);
        self.dir.join(digest(&text))
    }
}
