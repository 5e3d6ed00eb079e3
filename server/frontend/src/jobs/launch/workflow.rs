//! A workflow that starts, and the run made of it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use backstitch_core::config::{AbsentActions, Config};
use backstitch_job::builtin::{BuiltinOptions, CheckoutMode};
use backstitch_job::expr::Value;
use backstitch_job::place::environment::{EnvironmentOptions, Host};
use backstitch_job::report::RunReport;
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{ActionSources, MissingActions, RunOptions, WorkflowSetup};
use backstitch_job::step::mask::Masks;
use backstitch_job::step::process::SupervisorCommand;
use backstitch_job::step::stop::StopRequest;
use backstitch_job::workflow::{self, Workflow};

use super::super::{action_sources, jobs_dir};
use super::arguments::{JobLaunch, problems_of};
use super::choice::{check_choice, with_only_job};
use super::files::pairs_of;
use super::given::{dict_of, event_of, inputs_of, outputs_of, pair_of};
use super::workflow_file::{read_workflow, workflow_file};
use crate::terminal::error::{CliError, CliResult, ExitKind};

/// A workflow that has the job and the step that its arguments name.
#[derive(Clone, Debug)]
pub struct LaunchedWorkflow {
    /// A step that is named alone has its job.
    pub args: JobLaunch,
    pub workflow: Workflow,
    pub text: String,
}

impl LaunchedWorkflow {
    pub fn read(args: &JobLaunch, repository: &ProjectRepository) -> CliResult<LaunchedWorkflow> {
        let args = if args.step.is_some() && args.job.is_none() {
            with_only_job(args, repository)?
        } else {
            args.clone()
        };
        let file = workflow_file(repository, &args.file)?;
        let (name, text) = read_workflow(repository, &file)?;
        let (workflow, problems) = workflow::read(&name, &text);
        let Some(workflow) = workflow else {
            return Err(problems_of(&problems));
        };
        check_choice(&args, &workflow)?;
        if args.checkout == CheckoutMode::Head && repository.sha.is_none() {
            let error = format!("{} head: the repository has no commit", args.names.checkout);
            return Err(CliError::new(ExitKind::NotFound, error)
                .hint("commit the files, or leave the option out for those of the working tree"));
        }
        Ok(LaunchedWorkflow {
            args,
            workflow,
            text,
        })
    }

    /// The run, which has not begun.
    pub fn setup(
        &self,
        repository: ProjectRepository,
        config: &Config,
        report: Arc<Mutex<dyn RunReport>>,
    ) -> CliResult<WorkflowSetup> {
        let (args, workflow) = (&self.args, &self.workflow);
        let masks = Masks::default();
        let secrets = dict_of(args.names.secret_file, args.secret_file.as_deref())?;
        for (_, value) in secrets.iter() {
            masks.add(&value.to_text());
        }
        let env = args.env_file.as_deref();
        let env = env.map(|file| pairs_of(args.names.env_file, file));
        let env = env.transpose()?;
        let matrix = args.matrix.iter();
        let matrix = matrix.map(|text| pair_of(args.names.matrix, text));
        let matrix = matrix.collect::<CliResult<_>>()?;
        let given = outputs_of(args)?;
        let actions = named_actions(args)?;
        let event = event_of(args, &repository, workflow)?;
        let token = secrets.get("GITHUB_TOKEN").map(Value::to_text);
        Ok(WorkflowSetup {
            text: self.text.as_str().into(),
            inputs: inputs_of(args, workflow)?,
            event,
            actor: std::env::var("USER").unwrap_or_else(|_| "backstitch".to_owned()),
            token: token.unwrap_or_default(),
            vars: dict_of(args.names.var_file, args.var_file.as_deref())?,
            secrets,
            job: args.job.clone(),
            matrix,
            any_system: args.any_system,
            names: args.names.choices,
            in_place: args.in_place,
            host: Host::of_process(),
            environment: EnvironmentOptions {
                user_home: args.user_home,
                inherit: inherited(args, config),
            },
            options: RunOptions {
                missing_actions: missing_actions(args, config),
                builtin: BuiltinOptions {
                    checkout: args.checkout,
                    repositories: directories(&actions),
                    host: Host::of_process(),
                    ..BuiltinOptions::default()
                },
                actions,
                debug: args.debug,
                only: args.step.clone(),
                outputs: given.steps,
                needs: given.jobs,
                env: env.unwrap_or_default().into_iter().collect(),
            },
            supervisor: supervisor()?,
            masks,
            stop: StopRequest::new()?,
            report,
            driver: None,
            artifacts: Arc::default(),
            jobs_dir: jobs_dir()?,
            repository: Arc::new(repository),
            workflow: Arc::new(workflow.clone()),
            caller: None,
        })
    }
}

/// The command line of this program that supervises a step.
pub fn supervisor() -> io::Result<SupervisorCommand> {
    Ok(SupervisorCommand {
        program: std::env::current_exe()?,
        arguments: vec!["job".into(), "step".into()],
        builtin: vec!["job".into(), "builtin".into()],
        run: None,
    })
}

/// Directories of actions: those that are named, and the caches of GitHub's runner and of act.
fn named_actions(args: &JobLaunch) -> CliResult<ActionSources> {
    sources_of(args.names.action, &args.actions)
}

/// The same for one option.
pub fn sources_of(option: &str, named: &[String]) -> CliResult<ActionSources> {
    let mut sources = action_sources();
    for text in named {
        let Some((name, place)) = text.split_once('=') else {
            return Err(CliError::usage(format!("{option} {text}: no '='")).hint(
                "write NAME=DIR, such as acme/lint@v2=../lint, or NAME=skip to leave its steps out",
            ));
        };
        let place = match place {
            "skip" => None,
            dir => {
                let dir = PathBuf::from(dir);
                if !dir.is_dir() {
                    return Err(CliError::usage(format!(
                        "{option} {text}: {} is not a directory",
                        dir.display()
                    ))
                    .hint("write NAME=DIR with a directory that has an action.yml"));
                }
                Some(dir.canonicalize()?)
            }
        };
        sources.named.insert(name.to_owned(), place);
    }
    Ok(sources)
}

/// Directories of actions, which stand for repositories, too.
fn directories(actions: &ActionSources) -> Vec<(String, PathBuf)> {
    let named = actions.named.iter();
    named
        .filter_map(|(name, dir)| Some((name.clone(), dir.clone()?)))
        .collect()
}

fn missing_actions(args: &JobLaunch, config: &Config) -> MissingActions {
    match args.missing_actions.unwrap_or_else(|| config.choice()) {
        AbsentActions::Fail => MissingActions::Fail,
        AbsentActions::Skip => MissingActions::Skip,
    }
}

/// Names of the user's variables that steps get: those of the arguments, or else of the settings.
fn inherited(args: &JobLaunch, config: &Config) -> Vec<String> {
    match args.inherit_env.as_slice() {
        [] => config.inherited_variables(),
        named => named.to_vec(),
    }
}
