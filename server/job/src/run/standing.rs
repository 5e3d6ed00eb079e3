//! A job that stands between two steps.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::expr::{Value, evaluate};
use crate::place::RunPlace;
use crate::report::{JobName, StepEnd, StepName, StepPart};
use crate::repository::ProjectRepository;
use crate::state::{EnvVariables, StepOutcome, StepResult};
use crate::step::StepProgram;
use crate::step::stop::StopRequest;
use crate::template::expand_bool;
use crate::workflow::{StepAction, WorkflowStep};

use super::additions::SeenWorkflow;
use super::frame::Frame;
use super::job::JobRun;
use super::open::{OpenStep, Prepared, ReachedOut};
use super::uses::UsesText;

/// A shell, and the script that it runs.
#[derive(Clone, Debug)]
pub struct ShellProgram {
    pub shell: PathBuf,
    pub script: String,
}

/// The end of a shell command.
#[derive(Clone, Debug)]
pub struct ShellRan {
    pub outcome: StepOutcome,
    pub reason: Option<String>,
    /// True if the command has written outputs. They are of no step, and are not kept.
    pub has_outputs: bool,
    /// The variables that the command began with.
    pub environment: Vec<(String, String)>,
    /// The end of its output, without secrets.
    pub output: String,
}

/// Bytes of a command's output that an answer has.
const MAX_SHELL_OUTPUT: u64 = 65_536;

/// Makes the program of a shell command from PATH and the working directory.
pub type ShellOf<'a> = dyn Fn(&str, &Path) -> Result<ShellProgram, String> + 'a;

/// A job that stands: a step runs on a command alone.
#[derive(Debug)]
pub struct StandingJob {
    pub(super) run: JobRun,
    pub(super) seen: SeenWorkflow,
}

/// Steps that have not run, with their places, where a job stands.
#[derive(Clone, Debug, Default)]
pub struct StepsAhead {
    /// Those of the job, or of the composite action in which the job stands.
    pub here: Vec<(Vec<usize>, WorkflowStep)>,
    /// Those around it.
    pub around: Vec<(Vec<usize>, WorkflowStep)>,
    /// Directories of the composite actions in which the job stands, with the steps that use them.
    pub entered: Vec<(PathBuf, StepName)>,
}

impl StandingJob {
    /// Begins a job: the parts of actions before the first step run.
    pub fn begin(mut run: JobRun) -> StandingJob {
        run.begin();
        StandingJob {
            seen: SeenWorkflow::of(&run.setup.text),
            run,
        }
    }

    /// A job that began in another process. Its state is to be set.
    pub fn continued(run: JobRun) -> StandingJob {
        run.report().job_started(&run.setup.name);
        StandingJob {
            seen: SeenWorkflow::of(&run.setup.text),
            run,
        }
    }

    pub fn place(&self) -> &RunPlace {
        self.run.place()
    }

    /// Runs the next step, or a post. False at the end of the job.
    pub fn run_next(&mut self) -> bool {
        self.run.run_next()
    }

    pub fn job_name(&self) -> &JobName {
        &self.run.setup.name
    }

    /// The user's repository.
    pub fn repository(&self) -> &ProjectRepository {
        &self.run.setup.repository
    }

    /// True within a composite action whose failure does not count (`continue-on-error`).
    pub fn is_within_continued(&self) -> bool {
        let composites = self
            .run
            .frames
            .iter()
            .filter_map(|frame| frame.composite.as_ref());
        let mut tokens = composites.filter_map(|composite| {
            let token = composite.open.step.continue_on_error.as_ref()?;
            expand_bool(token, &self.run.at_step(&composite.open)).ok()
        });
        tokens.any(|continues| continues)
    }

    /// The user's wishes about the step that runs.
    pub fn stop_request(&self) -> StopRequest {
        self.run.setup.stop.clone()
    }

    /// Number of the job's steps.
    pub fn step_count(&self) -> usize {
        self.run.setup.body.steps.len()
    }

    /// Programs that steps have started so far, and steps that have ended, with those that were skipped.
    pub fn counts(&self) -> (u64, usize) {
        (self.run.programs, self.run.ended.len())
    }

    /// Ends the processes that later programs left running. Returns how many programs had some.
    pub fn end_programs_after(&mut self, programs: u64) -> usize {
        let before = self.run.leftovers.len();
        self.run.leftovers.retain(|(number, _)| *number <= programs);
        before - self.run.leftovers.len()
    }

    /// The end of the last step, once.
    pub fn take_last(&mut self) -> Option<(StepName, StepEnd)> {
        self.run.last.take()
    }

    /// Tells that later ends of steps than so many do not count. Returns the steps among them that may have reached out.
    pub fn taken_back(&mut self, ended: usize) -> Vec<ReachedOut> {
        self.run.ended.truncate(ended);
        self.run.report().taken_back(ended);
        let reached = std::mem::take(&mut self.run.reached);
        let (kept, reached) = reached.into_iter().partition(|step| step.ended < ended);
        self.run.reached = kept;
        reached
    }

    /// Takes back the wishes to stop: they were meant for the step that ran.
    pub fn forgive_stop(&mut self) {
        self.run.setup.stop.forgive();
        self.run.heeded = 0;
    }

    /// A text without secrets.
    pub fn mask(&self, text: &str) -> String {
        self.run.setup.masks.apply(text)
    }

    /// Evaluates an expression, with or without `${{ }}`, at the step that runs next.
    pub fn evaluate_pending(&mut self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let inner = text.strip_prefix("${{");
        let inner = inner.and_then(|inner| inner.strip_suffix("}}"));
        let text = inner.unwrap_or(text);
        let value = match self.pending_open() {
            Some(open) => evaluate(text, &self.run.at_step(&open)),
            None => evaluate(text, &self.run.at()),
        };
        value.map_err(|error| error.message)
    }

    /// Changes the result of a step that has ended: its conclusion, and the status around it.
    pub fn set_conclusion(&mut self, name: &StepName, outcome: StepOutcome) {
        let frame = self.run.frame();
        let scope = frame.scope.clone();
        let results = self.run.state.steps.get_mut(&scope);
        if let Some(result) = results.and_then(|results| results.get_mut(&name.id)) {
            result.outcome = Some(outcome);
            result.conclusion = Some(outcome);
        }
        // the status before the step, since a merge cannot take a failure back
        let before = self.run.status_before;
        if self.run.frames.len() > 1 {
            self.run.frame().status = before.merge(outcome);
        } else {
            self.run.state.status = Some(before.merge(outcome));
        }
    }

    /// Results of the steps beside the one where the job stands: of the job, or of a composite action.
    pub fn results_here(&mut self) -> &mut IndexMap<String, StepResult> {
        let scope = self.run.frames.last().map(|frame| frame.scope.clone());
        let steps = &mut self.run.state.steps;
        steps.entry(scope.unwrap_or_default()).or_default()
    }

    /// The steps that have not run.
    pub fn steps_ahead(&self) -> StepsAhead {
        let mut ahead = StepsAhead::default();
        let mut frames = self.run.frames.iter();
        if let Some(frame) = frames.next_back() {
            ahead.here = steps_of(frame);
        }
        ahead.around = frames.rev().flat_map(steps_of).collect();
        let composites = self
            .run
            .frames
            .iter()
            .filter_map(|frame| frame.composite.as_ref());
        for composite in composites {
            if let StepAction::Uses { uses, .. } = &composite.open.step.action
                && let UsesText::Workspace(dir) = UsesText::parse(&uses.value)
            {
                ahead.entered.push((dir, composite.open.name.clone()));
            }
        }
        ahead
    }

    /// Sets a variable for the steps that follow. PATH may be as a shell has it: directories before the one that a step finds are
    /// directories of the job. Err: a sentence about a variable that steps have from the runner, or that no program can have.
    pub fn set_for_steps(&mut self, name: &str, value: &str) -> Result<(), String> {
        check_variable(name, value)?;
        let open = self.shell_open();
        let files = self.run.command_files(&open);
        let mut of_files = files.variables().into_iter();
        let is_fixed = self.run.variables.iter().any(|(fixed, _)| fixed == name)
            || of_files.any(|(fixed, _)| fixed == name);
        if is_fixed {
            return Err(format!(
                "{name} is not set: the runner sets it for each step."
            ));
        }
        if name != "PATH" {
            self.run.state.set_variable(name, value);
            return Ok(());
        }
        let now = self.run.layers(&open, &[], &files).path();
        let front = value
            .strip_suffix(&now)
            .map(|front| front.trim_end_matches(':'));
        if let Some(front) = front {
            let added = front.split(':').filter(|dir| !dir.is_empty());
            for dir in added.rev() {
                self.run.state.prepend_path(dir);
            }
        } else {
            self.run.state.path.clear();
            self.run.state.set_variable("PATH", value);
        }
        Ok(())
    }

    /// The step for which a shell command runs: the next one, or the job's end.
    fn shell_open(&mut self) -> OpenStep {
        let next = self.pending_open();
        next.unwrap_or_else(|| self.run.open(&WorkflowStep::nothing(), vec![usize::MAX]))
    }

    /// Runs a shell command with all that the next step finds. `at`: its directory, where that is there; else the workspace.
    pub fn run_shell(&mut self, shell_of: &ShellOf, at: Option<&Path>) -> Result<ShellRan, String> {
        let mut open = self.shell_open();
        open.name.part = StepPart::Main;
        "shell".clone_into(&mut open.name.name);
        if self.run.frozen.is_some() {
            // the files of the frozen step are its own
            open.name.path.push(usize::MAX);
        }
        open.deadline = None;
        let workspace = self.run.setup.place.workspace.clone();
        let temp = self.run.setup.place.temp.clone();
        let wanted = at.map(Path::to_owned).into_iter().chain([workspace]);
        let found = wanted.into_iter().find(|place| place.is_dir());
        let directory = found.unwrap_or_else(|| temp.clone());
        let file = temp.join("_shell.sh");
        let environment = std::cell::RefCell::new(Vec::new());
        let ran = self.run.run_program(&open, &[], &|layers| {
            let variables = layers.variables();
            let text = |text: &OsString| text.to_string_lossy().into_owned();
            let pairs = variables
                .iter()
                .map(|(name, value)| (text(name), text(value)));
            environment.replace(pairs.collect());
            let program = shell_of(&layers.path(), &directory)?;
            fs::write(&file, &program.script)
                .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
            Ok(Prepared {
                header: String::new(),
                program: StepProgram {
                    program: program.shell,
                    arguments: vec![file.as_os_str().to_owned()],
                    directory: directory.clone(),
                    environment: variables,
                },
            })
        });
        // a wish to stop was meant for the command
        self.forgive_stop();
        let ran = ran.ok_or("The command was frozen.")?;
        let outputs: EnvVariables = ran.outputs;
        Ok(ShellRan {
            outcome: ran.outcome,
            reason: ran.reason,
            has_outputs: !outputs.is_empty(),
            environment: environment.into_inner(),
            output: tail_of(&self.run.log_file(&open.name.key(), &open.name.name)),
        })
    }
}

/// Err: no program can have this variable.
/// Tells the report of a job that a step has a checkpoint.
pub fn tell_checkpoint(job: &StandingJob, step: &StepName, place: usize, attempt: u32) {
    job.run.report().checkpoint_made(step, place, attempt);
}

fn check_variable(name: &str, value: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err("The variable has no name.".to_owned());
    }
    if name.contains(['=', '\0']) {
        return Err(format!(
            "{name:?} is not set: the name of a variable has no = and no NUL."
        ));
    }
    if value.contains('\0') {
        return Err(format!(
            "{name} is not set: the value of a variable has no NUL."
        ));
    }
    Ok(())
}

/// The end of a log, from the beginning of a line. No more than that is read.
fn tail_of(log: &Path) -> String {
    let read = || -> std::io::Result<(u64, Vec<u8>)> {
        let mut file = fs::File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(MAX_SHELL_OUTPUT);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(MAX_SHELL_OUTPUT).read_to_end(&mut bytes)?;
        Ok((from, bytes))
    };
    let (from, bytes) = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let cut = text.find('\n').filter(|_| from > 0);
    cut.map_or(&*text, |at| &text[at + 1..])
        .trim_end()
        .to_owned()
}

fn steps_of(frame: &Frame) -> Vec<(Vec<usize>, WorkflowStep)> {
    let all = frame.steps.iter().enumerate().skip(frame.next);
    let path = |place| [frame.path.as_slice(), &[place]].concat();
    all.map(|(place, step)| (path(place), step.clone()))
        .collect()
}
