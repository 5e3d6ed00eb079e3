//! `job debug --resume`: continues a run whose process was killed.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use backstitch_job::place::RunEntry;
use backstitch_job::place::environment::Host;
use backstitch_job::report::RunReport;
use backstitch_job::run::{KeptJob, RunProcess, WorkflowEnd};
use backstitch_job::session::{CannotResume, ResumableRun, is_resumable};
use backstitch_job::step::mask::Masks;
use backstitch_job::step::stop::StopRequest;

use crate::cli::options::GlobalArgs;
use crate::jobs::{self, launch::supervisor};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;

use super::debug::StepTalk;
use super::list::runs;
use super::run::{EndedRun, hear_signals};
use super::screen::RunScreen;
use super::setting;
use super::ticker::Ticker;

/// Word for the newest run that can be resumed. No id of a run has it.
const LAST: &str = "last";

/// The command that lists the runs.
const LIST: &str = "`backstitch job list --runs` lists the runs, and those that can be resumed";

/// Continues a run: the named one, or with `last` the newest one of this repository.
pub fn run(named: &str, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    let began = SystemTime::now();
    let repository = setting::repository(global)?;
    let config = setting::config(&repository, global);
    let named = Some(named).filter(|named| *named != LAST);
    let entry = chosen(named, &repository.root)?;
    let taken = ResumableRun::take(&entry).map_err(|error| refused(&error))?;
    note_workflow(taken.job(), out);
    let name = taken.job().name().clone();
    let screen = Arc::new(Mutex::new(RunScreen::new(out, out.json)));
    let process = RunProcess {
        host: Host::of_process(),
        supervisor: supervisor()?,
        stop: StopRequest::new()?,
        masks: Masks::default(),
        report: Arc::clone(&screen) as Arc<Mutex<dyn RunReport>>,
    };
    hear_signals(&process.stop, true)?;
    let ticker = Ticker::start(&screen)?;
    let opened = taken.open(process, config.kept_points());
    let (mut session, notes, close) = opened.map_err(|reason| {
        let text = format!("the run {} does not continue: {reason}", entry.id);
        CliError::new(ExitKind::Failed, text).hint(format!(
            "its files stay in {}; `backstitch job rm {}` removes them",
            entry.dir.display(),
            entry.id
        ))
    })?;
    let talk = StepTalk {
        screen: Arc::clone(&screen),
        paint: out.paint,
        json: out.json,
        holds: false,
        yes: false,
    };
    let said = format!("Continued the run {}. {}", entry.id, notes.join(" "));
    let talked = talk.talk(&mut session, Some(said.trim_end()));
    let end = session.close(talked.err().map(|error| error.to_string()), close);
    drop(ticker);
    let ended = EndedRun {
        end: WorkflowEnd {
            jobs: vec![(name, end)],
            outputs: Vec::new(),
        },
        screen,
        jobs_dir: jobs::jobs_dir()?,
        began,
    };
    ended.report(&config, out)
}

/// The run that the user means.
fn chosen(named: Option<&str>, root: &std::path::Path) -> CliResult<RunEntry> {
    let mut all = runs()?;
    let place = |wanted: &dyn Fn(&RunEntry) -> bool| all.iter().position(wanted);
    let is_own = |run: &RunEntry| named.is_none() && jobs::is_of(run, root);
    let found = place(&|run| Some(run.id.as_str()) == named)
        .or_else(|| place(&|run| is_own(run) && is_resumable(run)))
        // its error names the process that has it
        .or_else(|| place(&|run| is_own(run) && run.is_held));
    found.map(|place| all.swap_remove(place)).ok_or_else(|| {
        let text = match named {
            Some(id) => format!("{id}: no such run"),
            None => format!("no run of {} can be resumed", root.display()),
        };
        CliError::new(ExitKind::NotFound, text).hint(LIST)
    })
}

/// The reason and the next step.
fn refused(error: &CannotResume) -> CliError {
    let (kind, hint) = match error {
        CannotResume::Ended {
            again: (workflow, job),
            ..
        } => (
            ExitKind::Refused,
            format!("start a new one: backstitch job debug {workflow} -j {job}"),
        ),
        CannotResume::Held { .. } => (
            ExitKind::Refused,
            "continue there, or end that process, then resume".to_owned(),
        ),
        CannotResume::NoPoints(id) => (
            ExitKind::Refused,
            format!("start a new one, and remove it: backstitch job rm {id}"),
        ),
        CannotResume::NoRepository { id, .. } => (
            ExitKind::NotFound,
            format!("move it back there, or remove the run: backstitch job rm {id}"),
        ),
        CannotResume::Processes { .. } => (
            ExitKind::Refused,
            "end them, then resume: they may still write to its files".to_owned(),
        ),
        CannotResume::Damaged { id, .. } => (
            ExitKind::Failed,
            format!("remove the run: backstitch job rm {id}"),
        ),
    };
    CliError::new(kind, error.to_string()).hint(hint)
}

/// Says that the run has another text than the workflow's file.
fn note_workflow(job: &KeptJob, out: &Out) {
    let file = job.root().join(job.file());
    match std::fs::read_to_string(&file) {
        Ok(text) if text == job.text() => {}
        Ok(_) => out.note(
            "note",
            &format!(
                "{} has changed since the run began: the steps ahead take it up",
                job.file()
            ),
        ),
        Err(_) => out.note(
            "warning",
            &format!(
                "{} is gone: the run continues with the text that it began with",
                job.file()
            ),
        ),
    }
}
