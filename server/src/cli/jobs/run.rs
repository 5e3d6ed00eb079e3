//! `job run`: runs jobs of a workflow, each in a separate directory.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use backstitch_core::config::{AbsentActions, Config};
use backstitch_job::builtin::{BuiltinOptions, CheckoutMode};
use backstitch_job::expr::Value;
use backstitch_job::place::environment::{EnvironmentOptions, Host};
use backstitch_job::place::prune;
use backstitch_job::report::RunReport;
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{
    ActionSources, JobDriver, MissingActions, RunOptions, WorkflowEnd, WorkflowSetup,
};
use backstitch_job::state::StepOutcome;
use backstitch_job::step::mask::Masks;
use backstitch_job::step::process::SupervisorCommand;
use backstitch_job::step::stop::StopRequest;
use backstitch_job::workflow::{self, Workflow};
use backstitch_protocol::JobRunReport;

use crate::cli::context;
use crate::cli::options::GlobalArgs;
use crate::jobs;
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};

use super::announce::{Announcement, announce};
use super::choice::{check_choice, with_only_job};
use super::files::pairs_of;
use super::given::{dict_of, event_of, inputs_of, outputs_of, pair_of};
use super::list::{counted, read_workflow, workflow_file};
use super::options::{CheckoutWord, JobRunArgs};
use super::screen::RunScreen;
use super::ticker::Ticker;

use super::setting;

pub fn run(args: &JobRunArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    run_driven(args, None, global, out)
}

/// Makes the driver of a job from the receiver of its events.
pub type DriverOf<'a> = &'a dyn Fn(Arc<Mutex<RunScreen>>) -> Arc<dyn JobDriver>;

/// Runs the jobs, one of them by a driver.
pub fn run_driven(
    args: &JobRunArgs,
    driver_of: Option<DriverOf>,
    global: &GlobalArgs,
    out: &Out,
) -> CliResult<ExitCode> {
    let with_job;
    let args = if args.step.is_some() && args.job.is_none() {
        with_job = with_only_job(args, global)?;
        &with_job
    } else {
        args
    };
    let repository = setting::repository(global)?;
    let file = workflow_file(&repository, &args.file)?;
    let (name, text) = read_workflow(&repository, &file)?;
    let (workflow, problems) = workflow::read(&name, &text);
    let Some(workflow) = workflow else {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(CliError::new(ExitKind::Failed, all.join("\nerror: "))
            .hint("`backstitch job list` lists the problems of all workflows"));
    };
    check_choice(args, &workflow)?;
    if args.checkout == CheckoutWord::Head && repository.sha.is_none() {
        let error = "--checkout head: the repository has no commit";
        return Err(CliError::new(ExitKind::NotFound, error)
            .hint("commit the files, or leave the option out for those of the working tree"));
    }
    let config = setting::config(&repository, global);
    context::warn_about_settings(&config, out);
    let began = SystemTime::now();
    let mut setup = WorkflowSetup {
        text: text.as_str().into(),
        ..setup_of(args, repository, workflow, &config, out)?
    };
    for line in setup.take_outputs_of_runs() {
        out.note("note", &line);
    }
    let said = Announcement {
        yes: args.yes,
        event: args.event.as_deref(),
        names_variables: !args.inherit_env.is_empty(),
    };
    if !announce(&said, &setup, &setup.listings(), out)? {
        return Err(CliError::new(ExitKind::Declined, "nothing has run")
            .hint("look at these lines in the workflow; `--yes` runs it without the question"));
    }
    let screen = Arc::new(Mutex::new(RunScreen::new(out, out.json)));
    let setup = WorkflowSetup {
        report: Arc::clone(&screen) as Arc<Mutex<dyn RunReport>>,
        driver: driver_of.map(|driver_of| driver_of(Arc::clone(&screen))),
        ..setup
    };
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

fn setup_of(
    args: &JobRunArgs,
    repository: ProjectRepository,
    workflow: Workflow,
    config: &Config,
    out: &Out,
) -> CliResult<WorkflowSetup> {
    let masks = Masks::default();
    let secrets = dict_of("--secret-file", args.secret_file.as_deref())?;
    for (_, value) in secrets.iter() {
        masks.add(&value.to_text());
    }
    let env = args.env_file.as_deref();
    let env = env.map(|file| pairs_of("--env-file", file)).transpose()?;
    let jobs_dir = jobs::jobs_dir()?;
    let matrix = args
        .matrix
        .iter()
        .map(|text| pair_of("--matrix", text))
        .collect::<CliResult<_>>()?;
    let given = outputs_of(args)?;
    let actions = setting::action_sources(&args.actions)?;
    let event = event_of(args, &repository, &workflow)?;
    let token = secrets
        .get("GITHUB_TOKEN")
        .map(Value::to_text)
        .unwrap_or_default();
    Ok(WorkflowSetup {
        text: "".into(),
        inputs: inputs_of(args, &workflow)?,
        event,
        actor: std::env::var("USER").unwrap_or_else(|_| "backstitch".to_owned()),
        token,
        vars: dict_of("--var-file", args.var_file.as_deref())?,
        secrets,
        job: args.job.clone(),
        matrix,
        any_system: args.any_system,
        in_place: args.in_place,
        host: Host::of_process(),
        environment: EnvironmentOptions {
            user_home: args.user_home,
            inherit: inherited(args, config),
        },
        options: RunOptions {
            actions: actions.clone(),
            missing_actions: match args.missing_actions.unwrap_or_else(|| config.choice()) {
                AbsentActions::Fail => MissingActions::Fail,
                AbsentActions::Skip => MissingActions::Skip,
            },
            builtin: BuiltinOptions {
                checkout: match args.checkout {
                    CheckoutWord::Worktree => CheckoutMode::Worktree,
                    CheckoutWord::Head => CheckoutMode::Head,
                },
                repositories: directories(&actions),
                host: Host::of_process(),
                ..BuiltinOptions::default()
            },
            debug: args.debug,
            only: args.step.clone(),
            outputs: given.steps,
            needs: given.jobs,
            env: env.unwrap_or_default().into_iter().collect(),
        },
        supervisor: supervisor()?,
        masks,
        stop: StopRequest::new()?,
        report: Arc::new(Mutex::new(RunScreen::new(out, true))),
        driver: None,
        artifacts: Arc::default(),
        jobs_dir,
        repository: Arc::new(repository),
        workflow: Arc::new(workflow),
        caller: None,
    })
}

/// Directories of actions, which stand for repositories, too.
fn directories(actions: &ActionSources) -> Vec<(String, PathBuf)> {
    let named = actions.named.iter();
    named
        .filter_map(|(name, dir)| Some((name.clone(), dir.clone()?)))
        .collect()
}

/// The command line of this program that supervises a step.
pub fn supervisor() -> CliResult<SupervisorCommand> {
    Ok(SupervisorCommand {
        program: std::env::current_exe()?,
        arguments: vec!["job".into(), "step".into()],
        builtin: vec!["job".into(), "builtin".into()],
        run: None,
    })
}

/// Names of the user's variables that steps get: those of the command line, or else of the settings.
fn inherited(args: &JobRunArgs, config: &Config) -> Vec<String> {
    match args.inherit_env.as_slice() {
        [] => config.inherited_variables(),
        named => named.to_vec(),
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
