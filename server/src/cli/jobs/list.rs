//! `job list`: workflows with their jobs, and the runs that are kept.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use backstitch_job::expr::{Dict, Value};
use backstitch_job::place::RunEntry;
use backstitch_job::position::WorkflowProblem;
use backstitch_job::run::{
    ActionSources, JobListing, LineText, MatrixListing, ToolVersions, WorkflowListing,
};
use backstitch_job::session::is_resumable;
use backstitch_protocol::{FileProblem, JobEntry, JobList, JobRuns, LineNote, WorkflowEntry};
use clap::Args;

use crate::cli::options::GlobalArgs;
use crate::jobs::launch::sources_of;
use crate::jobs::launch::workflow_file::{read_workflow, workflow_file};
use crate::jobs::{self, RunState, WORKFLOWS, workflow_files};
use crate::render::{BOLD, CYAN, DIM, Paint, RED, YELLOW, counted};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};
use crate::terminal::paint::{one_line, visible};

use super::options::ACTION;
use super::setting;

/// List workflows with their jobs, problems, and what a run would not find here
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch job list\n  backstitch job list ci.yml\n  backstitch job list --runs"
)]
pub struct JobListArgs {
    /// Workflow file, or its name in .github/workflows [default: all of them]
    pub file: Option<PathBuf>,
    /// List the runs that are kept
    #[arg(long, conflicts_with = "file")]
    pub runs: bool,
    /// Directory of an action that is not here, or `skip` for its steps
    #[arg(long = "action", value_name = "NAME=DIR")]
    pub actions: Vec<String>,
}

/// Lists workflows or runs. A workflow with problems is exit code 1.
pub fn run(args: &JobListArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    if args.runs {
        return list_runs(out);
    }
    let repository = setting::repository(global)?;
    let sources = sources_of(ACTION, &args.actions)?;
    let files = match &args.file {
        Some(file) => vec![workflow_file(&repository, file)?],
        None => workflow_files(&repository.root),
    };
    let mut listings = Vec::new();
    let mut versions = ToolVersions::new(&sources, &repository);
    for file in files {
        match read_workflow(&repository, &file) {
            Ok((name, text)) => {
                let mut listing = WorkflowListing::of(&name, &text, &repository.root, &sources);
                listing.add_absent(versions.missing(&name, &text));
                listings.push(listing);
            }
            // the others are listed
            Err(error) if args.file.is_none() => {
                let name = file.strip_prefix(&repository.root).unwrap_or(&file);
                listings.push(WorkflowListing::unreadable(
                    &name.to_string_lossy(),
                    &error.message,
                ));
            }
            Err(error) => return Err(error),
        }
    }
    let failed = listings.iter().any(|listing| !listing.problems.is_empty());
    if out.json {
        let workflows = listings.iter().map(entry_of).collect();
        out::answer(setting::document(&JobList { workflows })?)?;
    } else if listings.is_empty() {
        out.text(&format!("No workflows are in {WORKFLOWS}.\n"))?;
    } else {
        let texts: Vec<String> = listings
            .iter()
            .map(|listing| text_of(listing, out.paint))
            .collect();
        out.drawn(&texts.join("\n"))?;
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn text_of(listing: &WorkflowListing, paint: Paint) -> String {
    let mut text = paint.on(BOLD, &visible(&listing.file));
    let mut about: Vec<String> = listing.name.iter().map(|name| one_line(name)).collect();
    if !listing.events.is_empty() {
        about.push(format!("on {}", listing.events.join(", ")));
    }
    if !about.is_empty() {
        let _ = write!(text, "  {}", paint.on(DIM, &about.join(" · ")));
    }
    text.push('\n');
    for problem in &listing.problems {
        let _ = writeln!(
            text,
            "  {} {}",
            paint.on(RED, "error"),
            visible(&problem.to_string())
        );
    }
    let width = listing
        .jobs
        .iter()
        .map(|job| job.id.chars().count())
        .max()
        .unwrap_or(0);
    for job in &listing.jobs {
        text.push_str(&job_text(job, width, paint));
    }
    text
}

fn job_text(job: &JobListing, width: usize, paint: Paint) -> String {
    let mut facts = vec![format!("line {}", job.line)];
    match (&job.calls, &job.runs_on) {
        (Some(calls), _) => facts.push(format!("calls {calls}")),
        (None, Some(runs_on)) => facts.push(one_line(runs_on)),
        (None, None) => {}
    }
    if job.steps > 0 {
        facts.push(counted(job.steps, "step"));
    }
    match &job.matrix {
        MatrixListing::None => {}
        MatrixListing::Combinations(all) => facts.push(format!("matrix of {}", all.len())),
        MatrixListing::Later(expression) => {
            facts.push(format!("matrix from {}", one_line(expression)));
        }
    }
    if !job.needs.is_empty() {
        facts.push(format!("needs {}", job.needs.join(", ")));
    }
    let name = format!("{:width$}", job.id);
    let mut text = format!("  {}  {}\n", paint.on(CYAN, &name), facts.join(" · "));
    if let MatrixListing::Combinations(all) = &job.matrix {
        for combination in all.iter().take(8) {
            let _ = writeln!(
                text,
                "  {:width$}    {}",
                "",
                paint.on(DIM, &combination_text(combination))
            );
        }
        if all.len() > 8 {
            let _ = writeln!(
                text,
                "  {:width$}    {}",
                "",
                paint.on(DIM, &format!("… {} more", all.len() - 8))
            );
        }
    }
    for (word, style, notes) in [
        ("absent", YELLOW, &job.absent),
        ("refused", RED, &job.refused),
        ("reaches out", YELLOW, &job.reaching),
    ] {
        for note in notes {
            let note = format!("line {}: {}", note.line, one_line(&note.text));
            let _ = writeln!(text, "  {:width$}  {} {note}", "", paint.on(style, word));
        }
    }
    text
}

/// Values of a combination: `os=ubuntu-latest node=20`.
pub fn combination_text(combination: &Dict) -> String {
    let values = combination.iter().map(|(name, value)| {
        let value = match value {
            Value::Array(_) | Value::Object(_) => {
                value.to_json().split_whitespace().collect::<String>()
            }
            plain => plain.to_text(),
        };
        format!("{name}={value}")
    });
    one_line(&values.collect::<Vec<_>>().join(" "))
}

fn entry_of(listing: &WorkflowListing) -> WorkflowEntry {
    WorkflowEntry {
        file: listing.file.clone(),
        name: listing.name.clone(),
        events: listing.events.clone(),
        jobs: listing.jobs.iter().map(job_entry).collect(),
        problems: listing.problems.iter().map(problem_of).collect(),
    }
}

fn problem_of(problem: &WorkflowProblem) -> FileProblem {
    FileProblem {
        file: problem.file.clone(),
        line: problem.range.map(|range| range.start.line),
        column: problem.range.map(|range| range.start.column),
        message: problem.message.clone(),
    }
}

fn job_entry(job: &JobListing) -> JobEntry {
    let notes = |notes: &[LineText]| {
        let notes = notes.iter().map(|note| LineNote {
            line: note.line,
            text: note.text.clone(),
        });
        notes.collect()
    };
    let json = |combination: &Dict| {
        let value = Value::from(combination.clone()).to_json();
        serde_json::from_str(&value).unwrap_or(serde_json::Value::Null)
    };
    let (matrix, matrix_later) = match &job.matrix {
        MatrixListing::None => (None, None),
        MatrixListing::Combinations(all) => (Some(all.iter().map(json).collect()), None),
        MatrixListing::Later(expression) => (None, Some(expression.clone())),
    };
    JobEntry {
        id: job.id.clone(),
        name: job.name.clone(),
        line: job.line,
        runs_on: job.runs_on.clone(),
        needs: job.needs.clone(),
        calls: job.calls.clone(),
        steps: job.steps,
        matrix,
        matrix_later,
        absent: notes(&job.absent),
        refused: notes(&job.refused),
        reaching: notes(&job.reaching),
    }
}

fn list_runs(out: &Out) -> CliResult<ExitCode> {
    let all = runs()?;
    if out.json {
        let runs = all.iter().map(jobs::kept_run).collect();
        out::answer(setting::document(&JobRuns { runs })?)?;
    } else if all.is_empty() {
        out.text("No runs are kept.\n")?;
    } else {
        let id_width = all.iter().map(|run| run.id.chars().count()).max();
        let (id_width, state_width) = (id_width.unwrap_or(0), "cancelled".len());
        let lines = all.iter().map(|run| {
            let project = run.record.as_ref().ok();
            let project = project.map(|record| record.repository.display().to_string());
            let dir = run.dir.display().to_string();
            let mut about = vec![out.paint.ago(jobs::started(run))];
            about.extend(project.map(|project| one_line(&project)));
            about.push(one_line(&dir));
            if is_resumable(run) {
                about.push(format!(
                    "`backstitch job debug --resume {}` continues it",
                    run.id
                ));
            }
            format!(
                "{}  {:state_width$}  {}\n",
                out.paint.on(CYAN, &format!("{:id_width$}", run.id)),
                RunState::of(run).shown(),
                out.paint.on(DIM, &about.join(" · "))
            )
        });
        out.drawn(&lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs that are kept, the newest first.
pub fn runs() -> CliResult<Vec<RunEntry>> {
    let dir = jobs::jobs_dir()?;
    jobs::runs(&dir).map_err(|error| {
        CliError::new(
            ExitKind::Failed,
            format!("{} cannot be read: {error}", dir.display()),
        )
    })
}

/// Ids of the jobs around the current directory, each with its workflow.
pub fn known_jobs() -> CliResult<Vec<(String, String)>> {
    let repository = setting::repository_of(None)?;
    let sources = ActionSources::default();
    let mut jobs = Vec::new();
    for file in workflow_files(&repository.root) {
        let Ok((name, text)) = read_workflow(&repository, &file) else {
            continue;
        };
        let listed = WorkflowListing::of(&name, &text, &repository.root, &sources).jobs;
        jobs.extend(listed.into_iter().map(|job| (job.id, name.clone())));
    }
    Ok(jobs)
}
