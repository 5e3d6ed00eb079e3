//! `job debug --resume`: continues a run whose process was killed.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use backstitch_job::place::environment::Host;
use backstitch_job::report::RunReport;
use backstitch_job::run::{KeptJob, RunProcess, WorkflowEnd};
use backstitch_job::step::mask::Masks;
use backstitch_job::step::stop::StopRequest;

use crate::cli::options::GlobalArgs;
use crate::jobs;
use crate::jobs::launch::{supervisor, take_run};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;

use super::debug::StepTalk;
use super::options::POINTS;
use super::run::{EndedRun, hear_signals};
use super::screen::RunScreen;
use super::setting;
use super::ticker::Ticker;

/// Continues a run: the named one, or with `last` the newest one of this repository.
pub fn run(named: &str, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    let began = SystemTime::now();
    let repository = setting::repository(global)?;
    let config = setting::config(&repository, global);
    let (entry, taken) = take_run(named, &repository.root)?;
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
    let opened = taken.open(process, (POINTS, config.kept_points()));
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
