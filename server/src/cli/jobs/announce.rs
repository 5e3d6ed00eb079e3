//! Warnings of a run before its first step: choices that widen it, actions that are absent, commands that reach out.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::config::Key;
use backstitch_job::run::{JobListing, LineText, WorkflowAdditions, WorkflowSetup};

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
    jobs: &[&JobListing],
    text: &str,
    out: &Out,
) -> CliResult<bool> {
    for warning in warnings(said, setup, jobs) {
        out.note("warning", &warning);
    }
    let reaching: Vec<String> = jobs
        .iter()
        .flat_map(|job| job.reaching.iter().map(line_of))
        .collect();
    if reaching.is_empty() || said.yes || is_known(&setup.jobs_dir, text) {
        return Ok(true);
    }
    out.note(
        "warning",
        &format!(
            "this workflow has {} that can reach out of the run:",
            counted(reaching.len(), "command")
        ),
    );
    for line in &reaching {
        out.note("warning", line);
    }
    if questions::can_ask() && !out.json && !questions::ask("Run it?")? {
        return Ok(false);
    }
    remember(&setup.jobs_dir, text);
    Ok(true)
}

/// Sentences about choices that widen the run, and about actions that are absent.
fn warnings(said: &Announcement, setup: &WorkflowSetup, jobs: &[&JobListing]) -> Vec<String> {
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

/// File that marks a workflow text whose commands the user has seen.
fn mark_of(jobs_dir: &Path, text: &str) -> PathBuf {
    jobs_dir
        .join("seen")
        .join(backstitch_job::run::digest(text))
}

/// True if the user has seen the commands of a workflow text.
pub fn is_known(jobs_dir: &Path, text: &str) -> bool {
    mark_of(jobs_dir, text).exists()
}

/// Notes that the user has seen the commands of a workflow text.
pub fn remember(jobs_dir: &Path, text: &str) {
    let mark = mark_of(jobs_dir, text);
    // without the mark the commands are shown again
    let _ = mark.parent().map(fs::create_dir_all);
    let _ = fs::write(mark, "");
}
