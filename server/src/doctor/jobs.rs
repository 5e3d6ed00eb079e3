//! CI jobs: the programs that steps start, what the workflows lack here, and runs that are not whole.

use std::fs;
use std::path::Path;

use backstitch_job::host_programs::host_programs;
use backstitch_job::place::RunEntry;
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{ActionSources, LineText, ToolVersions, WorkflowListing};
use backstitch_job::session::is_resumable;

use super::{CheckState, Finding, shown};
use crate::jobs::{self, RunState};

const ABOUT: &str = "jobs";

/// Checks the jobs of a directory with workflows or runs. Elsewhere nothing is found.
pub fn examine(root: &Path) -> Vec<Finding> {
    let files = jobs::workflow_files(root);
    if files.is_empty() && jobs::runs_of(root).is_empty() {
        return Vec::new();
    }
    let sources = jobs::action_sources();
    let mut all = vec![programs(&sources)];
    // the start of a run says why jobs cannot use the directory
    let repository = ProjectRepository::of(root).ok();
    let mut versions = repository
        .as_ref()
        .map(|repository| ToolVersions::new(&sources, repository));
    for file in &files {
        all.extend(workflow(root, file, &sources, versions.as_mut()));
    }
    all.extend(runs(root));
    all
}

/// Names the programs that are here. bash and git are needed by nearly every job.
fn programs(sources: &ActionSources) -> Finding {
    let mut here = Vec::new();
    let mut absent = Vec::new();
    let mut is_needed = false;
    for program in host_programs(&sources.host) {
        if let Some(version) = program.version {
            here.push(format!("{} {version}", program.name).trim().to_owned());
        } else {
            is_needed |= matches!(program.name, "bash" | "git");
            absent.push(format!(
                "{} is absent ({})",
                program.name, program.needed_for
            ));
        }
    }
    let is_whole = absent.is_empty();
    here.extend(absent);
    let said = here.join(", ");
    if is_whole {
        return Finding::good(ABOUT, said);
    }
    let state = if is_needed {
        CheckState::Warning
    } else {
        CheckState::Good
    };
    let hint = "put the program on PATH if a job needs it";
    Finding::new(ABOUT, state, said, hint)
}

/// Names the problems of a workflow, or the actions, tools, versions and shells that it lacks here, and parts that cannot run
/// here.
fn workflow(
    root: &Path,
    file: &Path,
    sources: &ActionSources,
    versions: Option<&mut ToolVersions<'_>>,
) -> Vec<Finding> {
    let name = shown(file.strip_prefix(root).unwrap_or(file));
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            let said = format!("{name} cannot be read: {error}");
            let hint = "save it as UTF-8, and check its permissions";
            return vec![Finding::new(ABOUT, CheckState::Warning, said, hint)];
        }
    };
    let listing = WorkflowListing::of(&name, &text, root, sources);
    if let Some(problem) = listing.problems.first() {
        let hint = "`backstitch job list` shows all problems";
        return vec![Finding::new(
            ABOUT,
            CheckState::Warning,
            problem.to_string(),
            hint,
        )];
    }
    let absent = listing
        .jobs
        .iter()
        .flat_map(|job| job.absent.iter().chain(&job.shells).cloned());
    let other = versions.map(|versions| versions.missing(&name, &text));
    let mut absent: Vec<String> = absent
        .chain(other.unwrap_or_default())
        .map(|note| with_line(&note))
        .collect();
    absent.dedup();
    let mut found = Vec::new();
    if !absent.is_empty() {
        found.push(Finding::new(
            ABOUT,
            CheckState::Warning,
            format!(
                "{name} needs actions or tools that are absent: {}",
                absent.join(", ")
            ),
            "for an action: name its directory by `--action NAME=DIR` of `backstitch job run`, or leave its steps out by `--action NAME=skip`; for a tool: install it in that version",
        ));
    }
    found.extend(elsewhere(&name, &listing));
    found
}

/// Names jobs of other systems, and parts that a run refuses. The machine is not to blame.
fn elsewhere(name: &str, listing: &WorkflowListing) -> Option<Finding> {
    let mut parts = Vec::new();
    for job in &listing.jobs {
        if let Some(label) = &job.elsewhere {
            let (id, line) = (shown(Path::new(&job.id)), label.line);
            let label = shown(Path::new(&label.text));
            parts.push(format!(
                "the job {id} is for {label} (line {line}; --any-system runs it all the same)"
            ));
        }
        parts.extend(job.refused.iter().map(with_line));
    }
    parts.dedup();
    let said = format!(
        "{name} has parts that do not run here: {}",
        parts.join(", ")
    );
    (!parts.is_empty()).then(|| Finding::good(ABOUT, said))
}

fn with_line(note: &LineText) -> String {
    format!("{} (line {})", note.text, note.line)
}

/// Names runs that are damaged or were cut off, and those whose repository is gone.
fn runs(root: &Path) -> Vec<Finding> {
    let dir = match jobs::jobs_dir() {
        Ok(dir) => dir,
        Err(error) => return vec![unreadable(&error.to_string())],
    };
    match jobs::runs(&dir) {
        Ok(all) => all
            .iter()
            .filter_map(|run| run_finding(run, root))
            .collect(),
        Err(error) => vec![unreadable(&error.to_string())],
    }
}

fn unreadable(error: &str) -> Finding {
    let hint = "check the permissions of the directory with the runs";
    Finding::new(
        ABOUT,
        CheckState::Warning,
        format!("the runs cannot be read: {error}"),
        hint,
    )
}

fn run_finding(run: &RunEntry, root: &Path) -> Option<Finding> {
    let id = &run.id;
    let said = match (&run.record, RunState::of(run)) {
        (Err(reason), _) if !run.is_held => format!("the run {id} is damaged: {reason}"),
        (Ok(record), state) if state != RunState::Running && !record.repository.exists() => {
            let repository = shown(&record.repository);
            format!("the repository of the run {id} is gone: {repository}")
        }
        (Ok(_), RunState::CutOff) if jobs::is_of(run, root) => {
            format!("the run {id} was cut off before its end")
        }
        _ => return None,
    };
    let resumes = if is_resumable(run) && jobs::is_of(run, root) {
        format!("`backstitch job debug --resume {id}` continues it, ")
    } else {
        String::new()
    };
    let hint = format!(
        "{resumes}`backstitch job rm {id}` removes it; its logs are in {}",
        shown(&run.dir.join("log"))
    );
    Some(Finding::new(ABOUT, CheckState::Warning, said, hint))
}
