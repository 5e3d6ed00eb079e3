//! `job debug`: steps through a job, back and forward, from a terminal or by lines of a script.

mod lines;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};

use backstitch_job::report::{JobEnd, JobName, StepName, StepPart};
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::{JobDriver, JobRun, WorkflowAdditions};
use backstitch_job::session::{
    Forward, JobSession, PointChoice, StopPlace, new_terminal_folder, wait_for_terminal,
};
use backstitch_job::state::StepOutcome;
use backstitch_protocol::JobStop;
use clap::Args;

use crate::cli::options::GlobalArgs;
use crate::jobs;
use crate::jobs::launch::announcement::{SeenCommands, added_lines};
use crate::jobs::launch::choice::{known_names, with_only_job};
use crate::jobs::launch::workflow_file::{read_workflow, workflow_file};
use crate::jobs::words::{CONTINUE, StepAnswer, execute, shell_text};
use crate::render::{BOLD, DIM, Paint, RED, YELLOW, plural};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::Out;
use crate::terminal::paint::one_line;
use crate::terminal::questions;

use super::options::{JobRunArgs, POINTS};
use super::run::run_driven;
use super::screen::{RunScreen, duration};
use super::setting;
use lines::StepLines;

/// Answer to a person who does not agree to an edit of the workflow.
const DECLINED: &str = "Nothing has run. Change the workflow, or give the word again.";

/// Step through a job: forward, back, and forward again after a change
#[derive(Debug, Args)]
#[command(mut_arg("in_place", |arg| arg.hide(true)))]
#[command(mut_arg("job", |arg| arg.help("Step through this job; those that it needs run before it [default: the only one]")))]
#[command(after_help = "Examples:\n  \
    backstitch job debug ci.yml -j build\n  \
    printf 'c\\nb\\n:checkpoints\\n' | backstitch job debug ci.yml -j build --yes\n  \
    backstitch job debug --resume\n\n\
    Words: n (next), s (into), o (out), c (continue), b (back), r (to the start), !COMMAND, an expression, :help.")]
pub struct JobDebugArgs {
    #[command(flatten)]
    run: Option<JobRunArgs>,
    /// Make checkpoints of these steps alone: a name, an id, a pattern of either, or an expression in `${{ }}`
    #[arg(long, value_name = "STEP", requires = "file")]
    points: Vec<String>,
    /// Continue a run whose process was killed: its id, or `last` for the newest one of this repository
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last", conflicts_with = "JobRunArgs")]
    pub resume: Option<String>,
}

pub fn run(args: &JobDebugArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    let Some(run) = &args.run else {
        return Err(CliError::usage("job debug: no workflow is named")
            .hint("name its file, or continue a run with --resume"));
    };
    if run.job.is_some() {
        return run_stepping(run, &args.points, run.hold, global, out);
    }
    let launch = with_only_job(&run.launch(), &setting::repository(global)?)?;
    let run = JobRunArgs {
        job: launch.job,
        ..run.clone()
    };
    run_stepping(&run, &args.points, run.hold, global, out)
}

/// Runs jobs with checkpoints. `points`: the steps that have them; none: all. `holds`: the jobs run until a step fails. Without it the
/// named job stands before its first step.
pub fn run_stepping(
    args: &JobRunArgs,
    points: &[String],
    holds: bool,
    global: &GlobalArgs,
    out: &Out,
) -> CliResult<ExitCode> {
    if args.in_place {
        return Err(CliError::usage(
            "--in-place: a job is stepped through in a separate directory alone",
        )
        .hint("leave the option out, or use `backstitch job run`"));
    }
    let repository = setting::repository(global)?;
    let keep = setting::config(&repository, global).kept_points();
    let choice = PointChoice::new(POINTS, points, keep);
    let choice = choice.map_err(|reason| {
        CliError::usage(format!("{POINTS} {reason}")).hint(
            "write a step's name or id, a pattern such as 'test*', or an expression in ${{ }}",
        )
    })?;
    note_unmatched(&choice, &repository, &args.file, out)?;
    let job = args.job.clone().filter(|_| !holds);
    let (paint, json, yes) = (out.paint, out.json, args.yes);
    let driver_of = move |screen| -> Arc<dyn JobDriver> {
        Arc::new(Stepping {
            job: job.clone(),
            choice: choice.clone(),
            talk: StepTalk {
                screen,
                paint,
                json,
                holds,
                yes,
            },
        })
    };
    run_driven(&args.launch(), yes, Some(&driver_of), global, out)
}

/// Tells words of --points that no step has.
fn note_unmatched(
    choice: &PointChoice,
    repository: &ProjectRepository,
    file: &Path,
    out: &Out,
) -> CliResult<()> {
    if choice.words().is_empty() {
        return Ok(());
    }
    let file = workflow_file(repository, file)?;
    let (name, text) = read_workflow(repository, &file)?;
    let workflow = backstitch_job::workflow::read(&name, &text).0;
    let Some(known) = workflow.as_ref().and_then(known_names) else {
        return Ok(());
    };
    for word in choice.without_match(&known) {
        let named = known.iter().filter(|name| !name.starts_with("__"));
        let named: Vec<&str> = named.map(String::as_str).collect();
        out.note(
            "warning",
            &format!(
                "--points {word}: no step of {name} has this name or id; there are: {}",
                named.join(", ")
            ),
        );
    }
    Ok(())
}

/// The driver of a job that begins.
struct Stepping {
    /// The job that stands before its first step. None: all jobs run until a step fails.
    job: Option<String>,
    choice: PointChoice,
    talk: StepTalk,
}

/// Reads lines, and shows where the job stands.
pub struct StepTalk {
    pub screen: Arc<Mutex<RunScreen>>,
    pub paint: Paint,
    pub json: bool,
    /// The job runs until a step fails. Its end, and the end of the lines, end the talk: nobody waits for a word.
    pub holds: bool,
    /// The user knows the commands that reach out, also new ones.
    pub yes: bool,
}

impl JobDriver for Stepping {
    fn drives(&self, job: &JobName) -> bool {
        self.job.as_ref().is_none_or(|id| job.is_within(id))
    }

    fn drive(&self, job: JobRun) -> JobEnd {
        let mut session = match JobSession::begin(job, self.choice.clone()) {
            Ok(session) => session,
            Err(end) => return *end,
        };
        let talked = self.talk.talk(&mut session, None);
        session.finish(talked.err().map(|error| error.to_string()))
    }
}

/// Runs a shell on this terminal. Returns its end in words.
fn shell_here(session: &mut JobSession) -> Result<String, String> {
    let mut shell = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    shell
        .args(["job", "shell"])
        .arg(new_terminal_folder(session));
    let mut shell = shell.spawn().map_err(|error| error.to_string())?;
    let ended = wait_for_terminal(session);
    let _ = shell.wait();
    session.keep()?;
    Ok(session.job().mask(&shell_text(&ended?)))
}

impl StepTalk {
    /// Reads lines until the person quits, or there are none. The first answer has a text.
    pub fn talk(&self, session: &mut JobSession, text: Option<&str>) -> CliResult<()> {
        let holds = self.holds;
        if !self.json {
            let screen = Arc::clone(&self.screen);
            session
                .notes()
                .hear(Box::new(move |text| said(&screen, text)));
        }
        if holds {
            let ran = session.forward(Forward::On);
            if let Err(reason) = session.keep().and(ran) {
                self.fail(&reason, None)?;
            }
        }
        if holds && matches!(session.stop(), StopPlace::End) {
            return Ok(());
        }
        let mut lines = StepLines::new(session.job().stop_request())?;
        self.show(session, text)?;
        while let Some(line) = lines.next(session)? {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let mut notes = Vec::new();
            let answer = self.carry_out(session, line, &mut notes)?;
            // the answer comes after the state is safe
            let answer = session.keep().and(answer);
            notes.extend(session.notes().take());
            let with_notes = |text: Option<String>| -> Option<String> {
                let all: Vec<String> = notes.iter().cloned().chain(text).collect();
                (!all.is_empty()).then(|| all.join("\n"))
            };
            match answer {
                Ok(StepAnswer::Quit) => return Ok(()),
                Ok(StepAnswer::Moved(text)) => self.show(session, with_notes(text).as_deref())?,
                Ok(StepAnswer::Said(text)) => {
                    let text = with_notes(Some(text)).unwrap_or_default();
                    self.say(&text)?;
                }
                Ok(StepAnswer::Ran { output, said }) => {
                    let all = [output, said].into_iter();
                    // a terminal has the output already
                    let all = all
                        .skip(usize::from(!self.json))
                        .filter(|text| !text.is_empty());
                    let text: Vec<String> = all.collect();
                    self.say(&with_notes(Some(text.join("\n"))).unwrap_or_default())?;
                }
                Ok(StepAnswer::Asks(_)) => self.say(DECLINED)?,
                Ok(StepAnswer::OpensShell) => {
                    let opened = if lines.is_typed() {
                        shell_here(session)
                    } else {
                        Err("No terminal is here: write !COMMAND.".to_owned())
                    };
                    match opened {
                        Ok(text) => self.say(&with_notes(Some(text)).unwrap_or_default())?,
                        Err(reason) => self.fail(&reason, with_notes(None))?,
                    }
                }
                Err(reason) => self.fail(&session.job().mask(&reason), with_notes(None))?,
            }
            if holds && matches!(session.stop(), StopPlace::End) {
                return Ok(());
            }
        }
        if holds {
            self.run_rest(session)?;
        }
        Ok(())
    }

    /// Runs the rest as without a hold, since nobody decides.
    fn run_rest(&self, session: &mut JobSession) -> CliResult<()> {
        let mut notes = Vec::new();
        while !matches!(session.stop(), StopPlace::End) {
            let ran = self.carry_out(session, CONTINUE, &mut notes)?;
            if !matches!(ran, Ok(StepAnswer::Moved(_))) {
                break;
            }
        }
        if notes.is_empty() {
            return Ok(());
        }
        self.say(&notes.join("\n"))
    }

    /// Does what a line says. Parts that an edit of the workflow added run once the person knows them.
    fn carry_out(
        &self,
        session: &mut JobSession,
        line: &str,
        notes: &mut Vec<String>,
    ) -> CliResult<Result<StepAnswer, String>> {
        loop {
            match execute(session, line) {
                Ok(StepAnswer::Asks(added)) if self.agrees(session, &added, notes)? => {
                    session.agree(&added);
                }
                answer => return Ok(answer),
            }
        }
    }

    /// Tells what edits of the workflow have added: a terminal asks before commands that reach out, a script has it in its notes.
    fn agrees(
        &self,
        session: &JobSession,
        added: &WorkflowAdditions,
        notes: &mut Vec<String>,
    ) -> CliResult<bool> {
        let jobs_dir = jobs::jobs_dir()?;
        let mut added = added.clone();
        let job = session.job();
        let root = &job.repository().root;
        let seen = SeenCommands::of(&jobs_dir, root, &added.file, &job.job_name().id);
        added.reaching.retain(|command| !seen.has(command));
        let lines = added_lines(&added).into_iter();
        let lines = lines.map(|line| session.job().mask(&line));
        if self.json {
            notes.extend(lines);
            return Ok(true);
        }
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            self.write_content(&lines.join("\n"));
        }
        if added.reaching.is_empty() || self.yes || !questions::can_ask() {
            return Ok(true);
        }
        if !questions::ask("Run it?")? {
            return Ok(false);
        }
        seen.add(&added.reaching);
        Ok(true)
    }

    fn write(&self, text: &str) {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        screen.said(text);
    }

    /// Writes a text from outside.
    fn write_content(&self, text: &str) {
        said(&self.screen, text);
    }

    fn say(&self, text: &str) -> CliResult<()> {
        if self.json {
            return answer(&JobStop {
                said: Some(text.to_owned()),
                ..JobStop::default()
            });
        }
        self.write_content(text);
        Ok(())
    }

    fn fail(&self, reason: &str, notes: Option<String>) -> CliResult<()> {
        if self.json {
            return answer(&JobStop {
                said: notes,
                error: Some(reason.to_owned()),
                ..JobStop::default()
            });
        }
        if let Some(notes) = notes {
            self.write_content(&notes);
        }
        self.write(&format!(
            "{} {}",
            self.paint.on(RED, "error"),
            one_line(reason)
        ));
        Ok(())
    }

    /// Shows where the job stands.
    fn show(&self, session: &JobSession, text: Option<&str>) -> CliResult<()> {
        let available = session.points().available().len();
        if self.json {
            let (word, name, reason) = match session.stop() {
                StopPlace::Before(step) => ("before", Some(&step.name), None),
                StopPlace::Frozen(frozen) => ("frozen", Some(&frozen.name), None),
                StopPlace::Failed(name, end) => ("failed", Some(name), end.reason.as_ref()),
                StopPlace::End => ("end", None, None),
            };
            let cancelled = "the job was cancelled: a request to end came".to_owned();
            let is_cancelled = session.job().state().status() == StepOutcome::Cancelled;
            let reason = reason.or(is_cancelled.then_some(&cancelled));
            let is_frozen = matches!(session.stop(), StopPlace::Frozen(_));
            return answer(&JobStop {
                stop: Some(word.to_owned()),
                path: name.map(|name| name.path.clone()),
                step: name.map(|name| name.name.clone()),
                line: name.map(|name| name.line),
                attempt: session.attempt(),
                steps: Some(session.job().step_count()),
                reason: reason.cloned(),
                processes: is_frozen.then(|| session.job().processes().len()),
                checkpoints: Some(available),
                said: text.map(str::to_owned),
                error: None,
            });
        }
        if let Some(text) = text {
            self.write_content(text);
        }
        self.write(&self.place_line(session));
        Ok(())
    }

    /// The line that says where the job stands: `■ before step 4 of 9: Test  attempt 2  checkpoints: 3`.
    fn place_line(&self, session: &JobSession) -> String {
        let number = |name: &StepName| {
            let place = step_number(&name.path);
            let part = match name.part {
                StepPart::Post => "the post of step",
                StepPart::Pre | StepPart::Main => "step",
            };
            let shown = one_line(&name.name);
            format!("{part} {place} of {}: {shown}", session.job().step_count())
        };
        let (style, place) = match session.stop() {
            StopPlace::Before(step) => (BOLD, format!("before {}", number(&step.name))),
            StopPlace::Frozen(frozen) => {
                let after = duration(frozen.ran);
                let count = plural(session.job().processes().len(), "process", "processes");
                let place = number(&frozen.name);
                (YELLOW, format!("frozen after {after} in {place} – {count}"))
            }
            StopPlace::Failed(name, end) => {
                let reason = end.reason.as_deref().unwrap_or("it failed");
                (
                    RED,
                    format!("failed: {} – {}", number(name), one_line(reason)),
                )
            }
            StopPlace::End if session.job().state().status() == StepOutcome::Cancelled => (
                YELLOW,
                "at the end of the job, which was cancelled".to_owned(),
            ),
            StopPlace::End => (BOLD, "at the end of the job".to_owned()),
        };
        let attempt = session.attempt().filter(|attempt| *attempt > 1);
        let attempt = attempt.map(|attempt| format!("attempt {attempt}  "));
        let about = format!(
            "{}checkpoints: {}",
            attempt.unwrap_or_default(),
            session.points().available().len()
        );
        format!(
            "{}  {}",
            self.paint.on(style, &format!("■ {place}")),
            self.paint.on(DIM, &about)
        )
    }
}

/// Shows a text from outside.
fn said(screen: &Mutex<RunScreen>, text: &str) {
    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
    screen.said_content(text);
}

/// The number of a step: `4`, or `4.2` within a composite action.
fn step_number(path: &[usize]) -> String {
    let numbers: Vec<String> = path.iter().map(|place| (place + 1).to_string()).collect();
    numbers.join(".")
}

/// Prints an answer as one line of JSON.
fn answer(stop: &JobStop) -> CliResult<()> {
    Out::json_line(&setting::document(stop)?)
}
