//! `job run`: runs jobs of a workflow, each in a separate directory.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, thread};

use backstitch_core::config::{AbsentActions, Config};
use backstitch_job::builtin::{BuiltinOptions, CheckoutMode};
use backstitch_job::expr::{Dict, Value};
use backstitch_job::place::environment::{EnvironmentOptions, Host};
use backstitch_job::place::prune;
use backstitch_job::report::RunReport;
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{
    JobDriver, JobListing, MissingActions, RunOptions, WorkflowEnd, WorkflowEvent, WorkflowSetup,
    jobs_of,
};
use backstitch_job::state::{EnvVariables, StepOutcome};
use backstitch_job::step::mask::Masks;
use backstitch_job::step::process::SupervisorCommand;
use backstitch_job::step::stop::StopRequest;
use backstitch_job::workflow::{self, InputKind, Workflow};
use backstitch_protocol::JobRunReport;
use clap::{Args, ValueEnum};

use crate::cli::choice::one_of;
use crate::cli::context;
use crate::cli::options::GlobalArgs;
use crate::jobs;
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};

use super::announce::{Announcement, announce};
use super::files::pairs_of;
use super::list::{counted, read_workflow, workflow_file};
use super::screen::RunScreen;
use super::ticker::Ticker;

use super::setting;

/// Run jobs of a workflow, each in a separate directory: the project is not touched
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    backstitch job run ci.yml -j build\n  \
    backstitch job run ci.yml -j build --matrix node=20 --secret-file .secrets\n  \
    backstitch job run ci.yml -j build --step test\n  \
    backstitch job run ci.yml --action acme/lint@v2=../lint --missing-actions skip\n\n\
    The exit code is 0 if all jobs succeed, and 1 if one fails.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct JobRunArgs {
    /// Workflow file, or its name in .github/workflows
    pub file: PathBuf,
    /// Run this job, and those that it needs [default: all jobs]
    #[arg(short, long)]
    pub job: Option<String>,
    /// Choose the combination of a matrix with this value [default: the first one for this system]
    #[arg(long, value_name = "KEY=VALUE")]
    pub matrix: Vec<String>,
    /// Run this step alone: its id, its name, or its number from 1
    #[arg(long, requires = "job")]
    pub step: Option<String>,
    /// Output of a step that does not run
    #[arg(long = "output", value_name = "STEP.NAME=VALUE", requires = "step")]
    pub outputs: Vec<String>,
    /// Event that starts the workflow [default: push, else the first one that the workflow names]
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// File with the payload of the event, in JSON
    #[arg(long, value_name = "FILE")]
    pub eventpath: Option<PathBuf>,
    /// Input of `workflow_dispatch`
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// File with variables of the environment
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// File with secrets: no output shows them
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// File with values of `vars`
    #[arg(long, value_name = "FILE")]
    pub var_file: Option<PathBuf>,
    /// Directory of an action that is not here, or `skip` for its steps
    #[arg(long = "action", value_name = "NAME=DIR")]
    pub actions: Vec<String>,
    /// Treatment of steps whose action is absent [default: the setting jobs.missingActions]
    #[arg(long, value_name = "WORD", value_parser = one_of(&AbsentActions::ALL, AbsentActions::name))]
    pub missing_actions: Option<AbsentActions>,
    /// Files that checkout brings: those of the working tree with your edits, or those of the last commit
    #[arg(long, value_name = "WORD", default_value = "worktree")]
    pub checkout: CheckoutWord,
    /// Run in the project itself: steps change your files
    #[arg(long)]
    pub in_place: bool,
    /// Give steps your own home directory, with its logins
    #[arg(long)]
    pub user_home: bool,
    /// Give steps this variable of your environment [default: those of the setting jobs.inheritEnv]
    #[arg(long = "inherit-env", value_name = "NAME")]
    pub inherit_env: Vec<String>,
    /// Run jobs for other systems here, too
    #[arg(long)]
    pub any_system: bool,
    /// Wait at a step that fails: look around, step back, and continue by the words of `job debug`
    #[arg(long)]
    pub hold: bool,
    /// Show the lines of `::debug::`
    #[arg(long)]
    pub debug: bool,
    /// Do not ask before a workflow with commands that reach out runs for the first time
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckoutWord {
    Worktree,
    Head,
}

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
    let repository = setting::repository(global)?;
    let file = workflow_file(&repository, &args.file)?;
    let (name, text) = read_workflow(&repository, &file)?;
    let (workflow, problems) = workflow::read(&name, &text);
    let Some(workflow) = workflow else {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(CliError::new(ExitKind::Failed, all.join("\n"))
            .hint("`backstitch job list` lists the problems of all workflows"));
    };
    check_choice(args, &workflow)?;
    let config = setting::config(&repository, global);
    context::warn_about_settings(&config, out);
    let began = SystemTime::now();
    let setup = WorkflowSetup {
        text: text.as_str().into(),
        ..setup_of(args, repository, workflow, &config, out)?
    };
    let listed = jobs_of(&setup.workflow, &setup.options.actions);
    let chosen: Vec<&JobListing> = listed
        .iter()
        .filter(|job| args.job.as_ref().is_none_or(|id| *id == job.id))
        .collect();
    let said = Announcement {
        yes: args.yes,
        event: args.event.as_deref(),
        names_variables: !args.inherit_env.is_empty(),
    };
    if !announce(&said, &setup, &chosen, &text, out)? {
        return Err(CliError::new(ExitKind::Declined, "nothing has run"));
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
                out.remark(&format!("Logs and files:\n  {places}\n"))?;
            }
        }
        remove_old_runs(&self.jobs_dir, config.kept_runs(), self.began, out)?;
        Ok(match result {
            StepOutcome::Success | StepOutcome::Skipped => ExitCode::SUCCESS,
            StepOutcome::Failure | StepOutcome::Cancelled => ExitCode::FAILURE,
        })
    }
}

/// Removes runs above the number of the settings, once there are new ones.
fn remove_old_runs(jobs_dir: &Path, keep: usize, began: SystemTime, out: &Out) -> CliResult<()> {
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
        ))?;
    }
    Ok(())
}

/// Refuses a job or a step that the workflow does not have.
fn check_choice(args: &JobRunArgs, workflow: &Workflow) -> CliResult<()> {
    let Some(id) = &args.job else { return Ok(()) };
    let Some(job) = workflow.jobs.iter().find(|job| job.id.value == *id) else {
        let known: Vec<&str> = workflow
            .jobs
            .iter()
            .map(|job| job.id.value.as_str())
            .collect();
        return Err(CliError::new(
            ExitKind::NotFound,
            format!("{id}: no such job in {}", workflow.file),
        )
        .hint(format!("jobs there: {}", known.join(", "))));
    };
    let Some(step) = &args.step else {
        return Ok(());
    };
    let steps = match &job.body {
        workflow::Body::Steps(body) => body.steps.as_slice(),
        workflow::Body::Call(_) => &[],
    };
    let is_known = steps
        .iter()
        .enumerate()
        .any(|(place, known)| backstitch_job::run::step_matches(known, place, step));
    if !is_known {
        return Err(CliError::new(
            ExitKind::NotFound,
            format!("{step}: no such step in the job {id}"),
        )
        .hint("name it by its id, its name, or its number from 1"));
    }
    Ok(())
}

fn setup_of(
    args: &JobRunArgs,
    repository: ProjectRepository,
    workflow: Workflow,
    config: &Config,
    out: &Out,
) -> CliResult<WorkflowSetup> {
    let masks = Masks::default();
    let secrets = dict_of(args.secret_file.as_deref())?;
    for (_, value) in secrets.iter() {
        masks.add(&value.to_text());
    }
    let env = args
        .env_file
        .as_deref()
        .map(pairs_of)
        .transpose()?
        .unwrap_or_default();
    let jobs_dir = jobs::jobs_dir()?;
    let matrix = args
        .matrix
        .iter()
        .map(|text| pair_of("--matrix", text))
        .collect::<CliResult<_>>()?;
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
        vars: dict_of(args.var_file.as_deref())?,
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
            actions: setting::action_sources(&args.actions)?,
            missing_actions: match args.missing_actions.unwrap_or_else(|| config.choice()) {
                AbsentActions::Fail => MissingActions::Fail,
                AbsentActions::Skip => MissingActions::Skip,
            },
            builtin: BuiltinOptions {
                checkout: match args.checkout {
                    CheckoutWord::Worktree => CheckoutMode::Worktree,
                    CheckoutWord::Head => CheckoutMode::Head,
                },
                host: Host::of_process(),
                ..BuiltinOptions::default()
            },
            debug: args.debug,
            only: args.step.clone(),
            outputs: outputs_of(args)?,
            env: env.into_iter().collect(),
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
    })
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

fn pair_of(option: &str, text: &str) -> CliResult<(String, String)> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| {
        CliError::usage(format!("{option} {text}: no '='")).hint("write NAME=VALUE")
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

fn dict_of(file: Option<&Path>) -> CliResult<Dict> {
    let mut dict = Dict::default();
    for (name, value) in file.map(pairs_of).transpose()?.unwrap_or_default() {
        dict.set(&name, value.into());
    }
    Ok(dict)
}

fn outputs_of(args: &JobRunArgs) -> CliResult<BTreeMap<String, EnvVariables>> {
    let mut all: BTreeMap<String, EnvVariables> = BTreeMap::new();
    for text in &args.outputs {
        let (place, value) = pair_of("--output", text)?;
        let (step, name) = place.split_once('.').ok_or_else(|| {
            CliError::usage(format!("--output {text}: no '.'")).hint("write STEP.NAME=VALUE")
        })?;
        all.entry(step.to_owned()).or_default().set(name, &value);
    }
    Ok(all)
}

/// Inputs of `workflow_dispatch`, with the types that the workflow declares (J19).
fn inputs_of(args: &JobRunArgs, workflow: &Workflow) -> CliResult<Dict> {
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for text in &args.inputs {
        let (name, value) = pair_of("--input", text)?;
        if !workflow
            .dispatch_inputs
            .iter()
            .any(|input| input.name == name)
        {
            let known: Vec<&str> = workflow
                .dispatch_inputs
                .iter()
                .map(|input| input.name.as_str())
                .collect();
            return Err(CliError::usage(format!(
                "--input {name}: {} declares no such input",
                workflow.file
            ))
            .hint(format!("its inputs: {}", known.join(", "))));
        }
        given.insert(name, value);
    }
    let mut inputs = Dict::default();
    for input in &workflow.dispatch_inputs {
        let default = input.default.as_ref().map(|token| match &token.kind {
            backstitch_job::template::TokenKind::Text(text) => text.clone(),
            backstitch_job::template::TokenKind::Bool(value) => value.to_string(),
            backstitch_job::template::TokenKind::Number(value) => Value::Number(*value).to_text(),
            _ => String::new(),
        });
        let Some(text) = given.remove(&input.name).or(default) else {
            continue;
        };
        let value = match input.kind {
            InputKind::Boolean => match text.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                _ => {
                    return Err(CliError::usage(format!(
                        "--input {}={text}: the input is a boolean",
                        input.name
                    ))
                    .hint("write true or false"));
                }
            },
            InputKind::Number => Value::Number(text.parse().map_err(|_| {
                CliError::usage(format!(
                    "--input {}={text}: the input is a number",
                    input.name
                ))
            })?),
            InputKind::Choice if !input.options.contains(&text) => {
                return Err(CliError::usage(format!(
                    "--input {}={text}: the input has no such option",
                    input.name
                ))
                .hint(format!("its options: {}", input.options.join(", "))));
            }
            InputKind::String | InputKind::Choice | InputKind::Environment => text.into(),
        };
        inputs.set(&input.name, value);
    }
    Ok(inputs)
}

/// Name of the event: as given, else `push` if it starts the workflow, else the first one that does.
fn event_name(args: &JobRunArgs, workflow: &Workflow) -> String {
    let known: Vec<&str> = workflow
        .events
        .iter()
        .map(|(event, _)| event.value.as_str())
        .collect();
    let of_workflow = known.iter().find(|event| **event == "push");
    let given = args.event.as_deref();
    given
        .or(of_workflow.or(known.first()).copied())
        .unwrap_or("push")
        .to_owned()
}

/// The event: its file, or what GitHub would at least tell of it. Its inputs are texts (J19).
fn event_of(
    args: &JobRunArgs,
    repository: &ProjectRepository,
    workflow: &Workflow,
) -> CliResult<WorkflowEvent> {
    let name = event_name(args, workflow);
    let payload = if let Some(file) = &args.eventpath {
        let text = fs::read_to_string(file).map_err(|error| {
            CliError::new(
                ExitKind::Failed,
                format!("{} cannot be read: {error}", file.display()),
            )
        })?;
        Value::from_json(&text).map_err(|error| {
            CliError::new(
                ExitKind::Failed,
                format!("{} is not JSON: {error}", file.display()),
            )
        })?
    } else {
        let mut event = Dict::default();
        event.set("ref", repository.git_ref.as_str().into());
        event.set("after", repository.sha.clone().unwrap_or_default().into());
        let mut about = Dict::default();
        about.set(
            "full_name",
            format!("{}/{}", repository.owner, repository.name).into(),
        );
        about.set("name", repository.name.as_str().into());
        about.set("default_branch", repository.default_branch.as_str().into());
        let mut owner = Dict::default();
        owner.set("login", repository.owner.as_str().into());
        about.set("owner", owner.into());
        event.set("repository", about.into());
        if name == "workflow_dispatch" {
            let mut texts = Dict::default();
            for (name, value) in inputs_of(args, workflow)?.iter() {
                texts.set(name, value.to_text().into());
            }
            event.set("inputs", texts.into());
        }
        event.into()
    };
    Ok(WorkflowEvent {
        name,
        payload,
        file: PathBuf::new(),
    })
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
