//! Warnings of a run before its first step: choices that widen it, actions that are absent, commands that reach out.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::config::Key;
use backstitch_job::run::{JobListing, LineText, WorkflowAdditions, WorkflowSetup, digest};

use crate::terminal::error::CliResult;
use crate::terminal::out::Out;
use crate::terminal::questions;

use super::list::counted;

/// Words of the command line that an announcement heeds.
pub struct Announcement<'a> {
    /// The user knows the commands that reach out.
    pub yes: bool,
    /// The event that the user named.
    pub event: Option<&'a str>,
    /// Variables of the user's are named on the command line, not in settings.
    pub names_variables: bool,
}

/// Shows what is absent, refused, and reaches out, before the first step. False if the user declines.
pub fn announce(
    said: &Announcement,
    setup: &WorkflowSetup,
    jobs: &[JobListing],
    out: &Out,
) -> CliResult<bool> {
    for warning in warnings(said, setup, jobs) {
        out.note("warning", &warning);
    }
    let seen_in = |job: &JobListing| {
        let (root, file) = (&setup.repository.root, &setup.workflow.file);
        SeenCommands::of(&setup.jobs_dir, root, file, &job.id)
    };
    // all commands of a job with a new one
    let is_new = |job: &&JobListing| {
        let seen = seen_in(job);
        job.reaching.iter().any(|command| !seen.has(command))
    };
    let jobs: Vec<&JobListing> = jobs.iter().filter(is_new).collect();
    if jobs.is_empty() || said.yes {
        return Ok(true);
    }
    for job in &jobs {
        out.note(
            "warning",
            &format!(
                "the job {} has {} that can reach out of the run:",
                job.id,
                counted(job.reaching.len(), "command")
            ),
        );
        for command in &job.reaching {
            out.note("warning", &line_of(command));
        }
    }
    if questions::can_ask() && !out.json && !questions::ask("Run it?")? {
        return Ok(false);
    }
    for job in jobs {
        seen_in(job).add(&job.reaching);
    }
    Ok(true)
}

/// Sentences about choices that widen the run, and about actions that are absent.
fn warnings(said: &Announcement, setup: &WorkflowSetup, jobs: &[JobListing]) -> Vec<String> {
    let mut all = Vec::new();
    let inherited = &setup.environment.inherit;
    if !inherited.is_empty() {
        let source = if said.names_variables {
            "--inherit-env"
        } else {
            Key::InheritEnv.name()
        };
        let names = inherited.join(", ");
        all.push(format!("steps get variables of yours: {names} ({source})"));
    }
    if setup.environment.user_home {
        let text = "steps get your own home directory, with its logins (--user-home)";
        all.push(text.to_owned());
    }
    if setup.in_place {
        let text = "steps change the files of the project itself (--in-place)";
        all.push(text.to_owned());
    }
    let workflow = &setup.workflow;
    let starts = |event: &str| {
        workflow
            .events
            .iter()
            .any(|(known, _)| known.value == event)
    };
    if let Some(event) = said.event.filter(|event| !starts(event)) {
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

fn line_of(part: &LineText) -> String {
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
