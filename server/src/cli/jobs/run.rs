//! `job run`: runs jobs of a workflow, each in a separate directory.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use backstitch_core::config::Config;
use backstitch_job::place::prune;
use backstitch_job::report::RunReport;
use backstitch_job::run::{JobDriver, WorkflowEnd};
use backstitch_job::state::StepOutcome;
use backstitch_job::step::stop::StopRequest;
use backstitch_protocol::JobRunReport;

use crate::cli::context;
use crate::cli::options::GlobalArgs;
use crate::jobs::launch::{JobLaunch, LaunchedWorkflow};
use crate::render::counted;
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};

use super::announce::announce;
use super::options::JobRunArgs;
use super::screen::RunScreen;
use super::setting;
use super::ticker::Ticker;

pub fn run(args: &JobRunArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    run_driven(&args.launch(), args.yes, None, global, out)
}

/// Makes the driver of a job from the receiver of its events.
pub type DriverOf<'a> = &'a dyn Fn(Arc<Mutex<RunScreen>>) -> Arc<dyn JobDriver>;

/// Runs the jobs, one of them by a driver. `yes`: the user knows the commands that reach out.
pub fn run_driven(
    args: &JobLaunch,
    yes: bool,
    driver_of: Option<DriverOf>,
    global: &GlobalArgs,
    out: &Out,
) -> CliResult<ExitCode> {
    let repository = setting::repository(global)?;
    let launched = LaunchedWorkflow::read(args, &repository)?;
    let config = setting::config(&repository, global);
    context::warn_about_settings(&config, out);
    let began = SystemTime::now();
    let screen = Arc::new(Mutex::new(RunScreen::new(out, out.json)));
    let report = Arc::clone(&screen) as Arc<Mutex<dyn RunReport>>;
    let mut setup = launched.setup(repository, &config, report)?;
    for line in setup.take_outputs_of_runs() {
        out.note("note", &line);
    }
    if !announce(&launched.args, yes, &setup, &setup.listings(), out)? {
        return Err(CliError::new(ExitKind::Declined, "nothing has run")
            .hint("look at these lines in the workflow; `--yes` runs it without the question"));
    }
    setup.driver = driver_of.map(|driver_of| driver_of(Arc::clone(&screen)));
    hear_signals(&setup.stop, driver_of.is_some())?;
    let ticker = Ticker::start(&screen)?;
    let end = setup.run();
    drop(ticker);
    let end = end.map_err(|reason| CliError::new(ExitKind::Failed, reason))?;
    let ended = EndedRun {
        end,
        screen,
        jobs_dir: setup.jobs_dir,
        began,
    };
    ended.report(&config, out)
}

/// A run that has ended, and what people read of it.
pub struct EndedRun {
    pub end: WorkflowEnd,
    pub screen: Arc<Mutex<RunScreen>>,
    pub jobs_dir: PathBuf,
    /// Start of the command. Runs since then are not removed.
    pub began: SystemTime,
}

impl EndedRun {
    /// Prints the end, and removes old runs.
    pub fn report(self, config: &Config, out: &Out) -> CliResult<ExitCode> {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.end.result();
        if out.json {
            let report = JobRunReport {
                result: result.as_str().to_owned(),
                jobs: std::mem::take(&mut screen.jobs),
            };
            out::answer(setting::document(&report)?)?;
        } else {
            screen.summary();
            let places: Vec<&str> = screen
                .jobs
                .iter()
                .filter_map(|job| job.directory.as_deref())
                .collect();
            if !places.is_empty() {
                let places = places.join("\n  ");
                // a closed pipe does not change the outcome
                out.remark(&format!("Logs and files:\n  {places}\n")).ok();
            }
        }
        remove_old_runs(&self.jobs_dir, config.kept_runs(), self.began, out);
        Ok(match result {
            StepOutcome::Success | StepOutcome::Skipped => ExitCode::SUCCESS,
            StepOutcome::Failure | StepOutcome::Cancelled => ExitCode::FAILURE,
        })
    }
}

/// Removes runs above the number of the settings, once there are new ones.
fn remove_old_runs(jobs_dir: &Path, keep: usize, began: SystemTime, out: &Out) {
    let (removed, failed) = prune(jobs_dir, keep, began).unwrap_or_else(|error| {
        let dir = jobs_dir.display();
        (
            Vec::new(),
            vec![format!("old runs in {dir} were not removed: {error}")],
        )
    });
    for reason in failed {
        out.note("warning", &reason);
    }
    if !removed.is_empty() {
        out.remark(&format!(
            "Removed {} (jobs.keepRuns = {keep}).\n",
            counted(removed.len(), "older run")
        ))
        .ok();
    }
}

/// Ctrl-C freezes a step that a person steps over. Else it cancels the job, as a request to end does; the second one kills it. So does
/// the end of the terminal, but for a job that can be resumed: that one ends as by a kill.
pub fn hear_signals(stop: &StopRequest, is_resumable: bool) -> CliResult<()> {
    let all = [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ];
    for signal in all {
        if is_resumable && signal == signal_hook::consts::SIGHUP {
            continue;
        }
        let (mut heard, told) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(signal, told)?;
        let stop = stop.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                let mut byte = [0];
                while heard.read(&mut byte).is_ok_and(|count| count > 0) {
                    if signal != signal_hook::consts::SIGINT || !stop.freeze() {
                        stop.request();
                    }
                }
            })?;
    }
    Ok(())
}
