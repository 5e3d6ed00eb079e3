//! Arguments of `launch`, and the run made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use backstitch_core::config::{AbsentActions, Config};
use backstitch_core::{Locate, Workspace};
use backstitch_job::builtin::CheckoutMode;
use backstitch_job::place::environment::Host;
use backstitch_job::report::RunReport;
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{ChoiceNames, LineText, RunProcess, WorkflowSetup};
use backstitch_job::session::{PointChoice, ResumableRun};
use backstitch_job::step::mask::Masks;
use backstitch_job::step::stop::StopRequest;
use backstitch_job::workflow;
use serde::Deserialize;
use serde_json::Value;

use super::report::ClientReport;
use super::request::DapRequest;
use super::shared::SharedJob;
use crate::jobs::launch::announcement::{SeenCommands, line_of, unseen, warnings};
use crate::jobs::launch::choice::with_only_job;
use crate::jobs::launch::{JobLaunch, LaunchNames, LaunchedWorkflow, supervisor, take_run};
use crate::terminal::error::CliError;

/// Names of the arguments, which errors tell.
const NAMES: LaunchNames = LaunchNames {
    job: "job",
    matrix: "matrix",
    output: "outputs",
    event: "event",
    event_file: "eventFile",
    input: "inputs",
    env_file: "envFile",
    secret_file: "secretsFile",
    var_file: "varsFile",
    action: "actions",
    checkout: "checkout",
    in_place: "inPlace",
    user_home: "home",
    inherit_env: "inheritEnv",
    choices: ChoiceNames {
        any_system: "\"anySystem\": true",
        matrix: "\"matrix\": {\"KEY\": \"VALUE\"}",
        points: POINTS,
    },
};

/// The argument that chooses steps with checkpoints.
pub const POINTS: &str = "points";

/// The value of `missingActions` at which the job stops before the step.
const PAUSE: &str = "pause";

/// Arguments that would widen a run. They are the user's alone, and a file of a project cannot give them.
const REFUSED: [(&str, &str); 3] = [
    ("home", "run it by `backstitch job debug --user-home`"),
    (
        "inheritEnv",
        "name the variables in your setting jobs.inheritEnv",
    ),
    (
        "inPlace",
        "a job is stepped through in a separate directory alone",
    ),
];

/// Names of the arguments of a launch.
const ARGUMENTS: [&str; 19] = [
    "workflow",
    "job",
    "matrix",
    "inputs",
    "outputs",
    "event",
    "eventFile",
    "envFile",
    "secretsFile",
    "varsFile",
    "actions",
    "missingActions",
    "checkout",
    "step",
    "anySystem",
    POINTS,
    "sync",
    "stopOnEntry",
    "stopAtEnd",
];

/// Arguments that clients add for themselves.
const OF_CLIENTS: [&str; 22] = [
    "adapter",
    "build",
    "console",
    "cwd",
    "debugServer",
    "internalConsoleOptions",
    "label",
    "linux",
    "name",
    "noDebug",
    "order",
    "osx",
    "postDebugTask",
    "preLaunchTask",
    "presentation",
    "request",
    "serverReadyAction",
    "suppressMultipleSessionWarning",
    "tcp_connection",
    "timeout",
    "type",
    "windows",
];

/// `launch`: the workflow, and values as the options of `job debug` have them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchArguments {
    pub workflow: Option<PathBuf>,
    pub job: Option<String>,
    #[serde(default)]
    matrix: BTreeMap<String, Value>,
    #[serde(default)]
    inputs: BTreeMap<String, Value>,
    #[serde(default)]
    outputs: BTreeMap<String, Value>,
    event: Option<String>,
    event_file: Option<PathBuf>,
    env_file: Option<PathBuf>,
    secrets_file: Option<PathBuf>,
    vars_file: Option<PathBuf>,
    /// A directory of the project, or `skip`.
    #[serde(default)]
    actions: BTreeMap<String, String>,
    missing_actions: Option<String>,
    checkout: Option<String>,
    /// A text, or a number.
    step: Option<Value>,
    #[serde(default)]
    any_system: bool,
    /// Names, ids or patterns of steps, or expressions.
    #[serde(default)]
    points: Vec<String>,
    sync: Option<String>,
    /// True where none is given.
    pub stop_on_entry: Option<bool>,
    #[serde(default)]
    pub stop_at_end: bool,
    #[serde(default)]
    pub no_debug: bool,
}

/// A run that has not begun.
pub struct LaunchedRun {
    pub setup: WorkflowSetup,
    /// The job that is stepped through.
    pub job: String,
    /// Its file, and its line there.
    pub place: (PathBuf, u32),
    /// Steps that have checkpoints.
    pub choice: PointChoice,
    /// Edits of files are taken up at each command forward, and not by `:sync` alone.
    pub takes_edits: bool,
    /// Commands that reach out and that the user has not seen.
    pub reaching: Vec<String>,
    /// The same for each job, with the marks of those that were seen.
    pub unseen: Vec<(SeenCommands, Vec<LineText>)>,
    /// True if some of them are in jobs that run before it.
    pub reaches_before: bool,
}

impl LaunchArguments {
    pub fn read(request: &DapRequest) -> Result<LaunchArguments, String> {
        let arguments = &request.arguments;
        for (name, hint) in REFUSED {
            if !arguments[name].is_null() && arguments[name] != Value::Bool(false) {
                return Err(format!(
                    "{name} is not an argument of a configuration: {hint}."
                ));
            }
        }
        request.read()
    }

    /// Arguments of a launch that there are not, in words.
    pub fn unknown(arguments: &Value) -> Vec<String> {
        let names = arguments.as_object().into_iter().flatten();
        let names = names.map(|(name, _)| name.as_str());
        let is_known = |name: &str| {
            ARGUMENTS.contains(&name)
                || OF_CLIENTS.contains(&name)
                || name.starts_with("__")
                || REFUSED.iter().any(|(refused, _)| *refused == name)
        };
        let unknown = names.filter(|name| !is_known(name));
        unknown
            .map(|name| match name {
                "secrets" => "secrets: values of secrets do not stand in a configuration: name a file by secretsFile.".to_owned(),
                name => format!("{name}: launch has no such argument."),
            })
            .collect()
    }

    /// The run of a workflow, with one job that is stepped through.
    pub fn launch(
        &self,
        shared: &Arc<SharedJob>,
        workspace: Option<&Path>,
    ) -> Result<LaunchedRun, String> {
        let client = &shared.client;
        let file = self.workflow.clone().ok_or_else(|| {
            "The configuration names no workflow: \"workflow\": \".github/workflows/ci.yml\"."
                .to_owned()
        })?;
        let directory = workspace.map(Path::to_owned).or_else(|| {
            file.parent()
                .filter(|_| file.is_absolute())
                .map(Path::to_owned)
        });
        let directory = match directory {
            Some(directory) => directory,
            None => std::env::current_dir().map_err(|error| error.to_string())?,
        };
        let repository = ProjectRepository::of(&directory).map_err(|error| error.to_string())?;
        let args = self.arguments(&repository)?;
        let args = match &args.job {
            Some(_) => args,
            None => with_only_job(&args, &repository).map_err(|error| words(&error))?,
        };
        let launched = LaunchedWorkflow::read(&args, &repository).map_err(|error| words(&error))?;
        let config = config_of(&repository);
        let root = repository.root.clone();
        let job = launched.args.job.clone().unwrap_or_default();
        let report = ClientReport::new(shared, &root, Some(job.clone()));
        let report: Arc<Mutex<dyn RunReport>> = Arc::new(Mutex::new(report));
        let mut setup = launched
            .setup(repository, &config, report)
            .map_err(|error| words(&error))?;
        setup.check_job()?;
        let listings = setup.listings();
        for warning in warnings(&launched.args, &setup, &listings) {
            client.say(&format!("warning: {warning}"));
        }
        for line in setup.take_outputs_of_runs() {
            // the argument has the name without dashes
            client.say(&line.replace("--output", NAMES.output));
        }
        let (mut reaching, mut all_unseen) = (Vec::new(), Vec::new());
        let mut reaches_before = false;
        for (listing, seen) in unseen(&setup, &listings) {
            let lines = listing.reaching.iter().map(line_of);
            reaches_before |= listing.id != job;
            reaching.extend(lines.map(|line| format!("{}: {line}", listing.id)));
            all_unseen.push((seen, listing.reaching.clone()));
        }
        let jobs = &launched.workflow.jobs;
        let line = jobs.iter().find(|one| one.id.value == job);
        Ok(LaunchedRun {
            place: (
                root.join(&launched.workflow.file),
                line.map_or(1, |one| one.id.range.start.line),
            ),
            choice: PointChoice::new(POINTS, &self.points, config.kept_points())?,
            takes_edits: self.takes_edits()?,
            setup,
            job,
            reaching,
            unseen: all_unseen,
            reaches_before,
        })
    }

    fn arguments(&self, repository: &ProjectRepository) -> Result<JobLaunch, String> {
        let root = &repository.root;
        let at = |name: &str, option: &str, file: &Option<PathBuf>| {
            let file = file.as_ref();
            let hint = |place: &str| format!("{option} {place}");
            file.map(|file| in_project(root, name, file, hint))
                .transpose()
        };
        let file = self.workflow.clone().unwrap_or_default();
        if root.join(&file).is_file() {
            in_project(root, "workflow", &file, str::to_owned)?;
        }
        let is_there = root.join(&file).is_file();
        Ok(JobLaunch {
            names: &NAMES,
            file: if is_there { root.join(&file) } else { file },
            // Helix gives an empty text where its user names none
            job: self.job.clone().filter(|job| !job.is_empty()),
            matrix: pairs(&self.matrix),
            step: self.step()?,
            outputs: pairs(&self.outputs),
            event: self.event.clone(),
            event_file: at("eventFile", "--eventpath", &self.event_file)?,
            inputs: pairs(&self.inputs),
            env_file: at("envFile", "--env-file", &self.env_file)?,
            secret_file: at("secretsFile", "--secret-file", &self.secrets_file)?,
            var_file: at("varsFile", "--var-file", &self.vars_file)?,
            actions: self.actions(root)?,
            missing_actions: self.missing_actions()?,
            checkout: match self.checkout.as_deref() {
                None | Some("worktree") => CheckoutMode::Worktree,
                Some("head") => CheckoutMode::Head,
                Some(other) => {
                    return Err(format!("checkout is '{other}': write worktree or head."));
                }
            },
            in_place: false,
            user_home: false,
            inherit_env: Vec::new(),
            any_system: self.any_system,
            debug: false,
        })
    }

    fn step(&self) -> Result<Option<String>, String> {
        match &self.step {
            None => Ok(None),
            Some(Value::String(name)) => Ok(Some(name.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(format!(
                "step is {other}: write its id, its name, or its number."
            )),
        }
    }

    /// Directories of actions are those of the project: another one is the user's word.
    fn actions(&self, root: &Path) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for (name, place) in &self.actions {
            if place == "skip" {
                all.push(format!("{name}=skip"));
                continue;
            }
            let hint = |place: &str| format!("--action {name}={place}");
            let dir = in_project(root, "actions", Path::new(place), hint)?;
            all.push(format!("{name}={}", dir.display()));
        }
        Ok(all)
    }

    fn missing_actions(&self) -> Result<Option<AbsentActions>, String> {
        let word = match self.missing_actions.as_deref() {
            None => return Ok(None),
            // the job stops before the step, and the person decides
            Some(PAUSE) => return Ok(Some(AbsentActions::Fail)),
            Some(word) => word,
        };
        let found = AbsentActions::ALL
            .into_iter()
            .find(|one| one.name() == word);
        found.map(Some).ok_or_else(|| {
            let known = AbsentActions::NAMES.join(", ");
            format!("missingActions is '{word}': write one of {PAUSE}, {known}.")
        })
    }

    fn takes_edits(&self) -> Result<bool, String> {
        match self.sync.as_deref() {
            None | Some("auto") => Ok(true),
            Some("never") => Ok(false),
            Some(other) => Err(format!("sync is '{other}': write auto or never.")),
        }
    }
}

/// A path in the project, without links. A launch configuration comes with a project: files and directories elsewhere are the user's
/// word. `hint`: the words of the command line that name it.
fn in_project(
    root: &Path,
    argument: &str,
    place: &Path,
    hint: impl Fn(&str) -> String,
) -> Result<PathBuf, String> {
    let given = root.join(place);
    let found = given.canonicalize();
    let found = found.map_err(|error| format!("{argument}: {}: {error}.", given.display()))?;
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    if found.starts_with(&real) {
        return Ok(found);
    }
    Err(format!(
        "{argument}: {} is not in the project: name it by `backstitch job debug {}`.",
        found.display(),
        hint(&place.to_string_lossy())
    ))
}

/// Settings of a project, or else those of the user.
pub fn config_of(repository: &ProjectRepository) -> Config {
    let workspace = Workspace::find(&Locate {
        workspace: None,
        store_dir: None,
        cwd: &repository.root,
    });
    workspace.map_or_else(|_| Config::of_user(), |workspace| Config::read(&workspace))
}

/// `NAME=VALUE` each, as the options of a command line.
fn pairs(all: &BTreeMap<String, Value>) -> Vec<String> {
    let pairs = all.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    pairs.collect()
}

/// An error with its next step.
pub fn words(error: &CliError) -> String {
    match &error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message.clone(),
    }
}

/// `attach`: a run that another process has left.
#[derive(Debug, Deserialize)]
pub struct AttachArguments {
    /// Its id; none is the newest one of the project that can be continued.
    run: Option<String>,
}

/// A run that continues here.
pub struct ContinuedRun {
    /// Id of the job.
    pub name: String,
    pub taken: ResumableRun,
    pub process: RunProcess,
    pub keep: usize,
    /// The file of the job, and its line there.
    pub place: (PathBuf, u32),
}

impl AttachArguments {
    pub fn take(
        &self,
        shared: &Arc<SharedJob>,
        workspace: Option<&Path>,
    ) -> Result<ContinuedRun, String> {
        let directory = match workspace {
            Some(directory) => directory.to_owned(),
            None => std::env::current_dir().map_err(|error| error.to_string())?,
        };
        let repository = ProjectRepository::of(&directory).map_err(|error| error.to_string())?;
        let root = &repository.root;
        let named = self.run.as_deref().unwrap_or("last");
        let (entry, taken) = take_run(named, root).map_err(|error| words(&error))?;
        let said = |error: std::io::Error| error.to_string();
        let report = ClientReport::new(shared, root, None);
        let file = entry.record.as_ref().map(|record| record.workflow.clone());
        let file = root.join(file.unwrap_or_default());
        let name = taken.job().name().key().to_owned();
        Ok(ContinuedRun {
            name,
            place: (file.clone(), line_of_job(&file, taken.job().name().key())),
            process: RunProcess {
                host: Host::of_process(),
                supervisor: supervisor().map_err(said)?,
                stop: StopRequest::new().map_err(said)?,
                masks: Masks::default(),
                report: Arc::new(Mutex::new(report)),
            },
            keep: config_of(&repository).kept_points(),
            taken,
        })
    }
}

/// The line of a job in its workflow; 1 where it is not there now.
fn line_of_job(file: &Path, job: &str) -> u32 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let workflow = workflow::read(&file.to_string_lossy(), &text).0;
    let jobs = workflow.map(|workflow| workflow.jobs).unwrap_or_default();
    let found = jobs.iter().find(|one| one.id.value == job);
    found.map_or(1, |one| one.id.range.start.line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The page has each argument of a launch, and no other.
    #[test]
    fn the_page_has_all_arguments() {
        let page = include_str!("../../docs/dap.md");
        let table = page.split("| argument | value |").nth(1);
        let table = table.and_then(|rest| rest.split("\n\n").next());
        let rows = table.expect("a table").lines().filter_map(|line| {
            let cell = line.strip_prefix("| `")?.split(" | ").next()?;
            Some(cell.split('`').step_by(2).filter(|name| !name.is_empty()))
        });
        let shown: BTreeSet<String> = rows.flatten().map(str::to_owned).collect();
        let code = include_str!("launch.rs");
        let fields = code.split("pub struct LaunchArguments {").nth(1);
        let fields = fields.and_then(|rest| rest.split("\n}").next());
        let fields = fields.expect("a type").lines().filter_map(|line| {
            let line = line.trim().trim_start_matches("pub ");
            let (name, _) = line.split_once(": ")?;
            let is_name = name
                .chars()
                .all(|one| one.is_ascii_lowercase() || one == '_');
            is_name.then(|| camel(name))
        });
        assert_eq!(shown, fields.collect());
        let known = super::ARGUMENTS.into_iter().chain(["noDebug"]);
        assert_eq!(shown, known.map(str::to_owned).collect());
    }

    fn camel(name: &str) -> String {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| {
            all + &part[..1].to_uppercase() + &part[1..]
        })
    }
}
