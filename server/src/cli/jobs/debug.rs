//! `job debug`: steps through a job, back and forward, from a terminal or by lines of a script.

mod words;

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use backstitch_job::report::{JobEnd, JobName};
use backstitch_job::run::{JobDriver, JobRun};
use backstitch_job::session::{JobSession, StopPlace};
use backstitch_protocol::JobStop;
use clap::Args;

use crate::cli::control::repl::ReplLine;
use crate::cli::options::GlobalArgs;
use crate::render::{BOLD, DIM, Paint, RED};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;
use crate::terminal::paint::one_line;

use super::run::{JobRunArgs, run_driven};
use super::screen::RunScreen;
use super::setting;
use words::{StepAnswer, execute};

/// Step through a job: forward, back, and forward again after a change
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    backstitch job debug ci.yml -j build\n  \
    printf 'c\\nb\\n:checkpoints\\n' | backstitch job debug ci.yml -j build --yes\n\n\
    Words: n (next), s (into), o (out), c (continue), b (back), r (to the start), !COMMAND, an expression, :help.")]
pub struct JobDebugArgs {
    #[command(flatten)]
    run: JobRunArgs,
}

pub fn run(args: &JobDebugArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    let Some(job) = args.run.job.clone() else {
        return Err(CliError::usage("job debug: no job is named").hint("name it with --job"));
    };
    if args.run.in_place {
        return Err(CliError::new(
            ExitKind::Refused,
            "--in-place: a job is stepped through in a separate directory alone",
        )
        .hint("leave the option out, or use `backstitch job run`"));
    }
    let (paint, json) = (out.paint, out.json);
    let driver_of = move |screen| -> Arc<dyn JobDriver> {
        Arc::new(Stepping {
            job: job.clone(),
            screen,
            paint,
            json,
        })
    };
    run_driven(&args.run, Some(&driver_of), global, out)
}

/// The driver: reads lines, and shows where the job stands.
struct Stepping {
    job: String,
    screen: Arc<Mutex<RunScreen>>,
    paint: Paint,
    json: bool,
}

impl JobDriver for Stepping {
    fn drives(&self, job: &JobName) -> bool {
        job.id == self.job
    }

    fn drive(&self, job: JobRun) -> JobEnd {
        let mut session = match JobSession::begin(job) {
            Ok(session) => session,
            Err(end) => return *end,
        };
        let talked = self.talk(&mut session);
        session.finish(talked.err().map(|error| error.to_string()))
    }
}

impl Stepping {
    /// Reads lines until the person quits, or there are none.
    fn talk(&self, session: &mut JobSession) -> CliResult<()> {
        let mut lines = StepLines::new()?;
        self.show(session, None)?;
        while let Some(line) = lines.next()? {
            let line = line.trim();
            let answer = match line {
                "" => continue,
                line => execute(session, line),
            };
            match answer {
                Ok(StepAnswer::Quit) => return Ok(()),
                Ok(StepAnswer::Moved(text)) => self.show(session, text.as_deref())?,
                Ok(StepAnswer::Said(text)) => self.say(&text)?,
                Err(reason) => self.fail(&reason)?,
            }
        }
        Ok(())
    }

    fn write(&self, text: &str) {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        screen.said(text);
    }

    fn say(&self, text: &str) -> CliResult<()> {
        if self.json {
            return answer(&JobStop {
                said: Some(text.to_owned()),
                ..JobStop::default()
            });
        }
        self.write(text);
        Ok(())
    }

    fn fail(&self, reason: &str) -> CliResult<()> {
        if self.json {
            return answer(&JobStop {
                error: Some(reason.to_owned()),
                ..JobStop::default()
            });
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
                StopPlace::Failed(name, end) => ("failed", Some(name), end.reason.as_ref()),
                StopPlace::End => ("end", None, None),
            };
            return answer(&JobStop {
                stop: Some(word.to_owned()),
                path: name.map(|name| name.path.clone()),
                step: name.map(|name| name.name.clone()),
                line: name.map(|name| name.line),
                reason: reason.cloned(),
                checkpoints: Some(available),
                said: text.map(str::to_owned),
                error: None,
            });
        }
        if let Some(text) = text {
            self.write(text);
        }
        let place = match session.stop() {
            StopPlace::Before(step) => {
                let number = step.name.path.first().map_or(0, |place| place + 1);
                format!("before step {number}: {}", one_line(&step.name.name))
            }
            StopPlace::Failed(name, end) => {
                let reason = end.reason.as_deref().unwrap_or("it failed");
                format!("failed: {} – {}", one_line(&name.name), one_line(reason))
            }
            StopPlace::End => "at the end of the job".to_owned(),
        };
        let points = format!("checkpoints: {available}");
        self.write(&format!(
            "{}  {}",
            self.paint.on(BOLD, &format!("■ {place}")),
            self.paint.on(DIM, &points)
        ));
        Ok(())
    }
}

/// Prints an answer as one line of JSON.
fn answer(stop: &JobStop) -> CliResult<()> {
    Out::json_line(&setting::document(stop)?)
}

/// Lines from a terminal, with history, or from a script.
enum StepLines {
    Typed(Box<ReplLine>),
    Read(std::io::Lines<std::io::StdinLock<'static>>),
}

impl StepLines {
    fn new() -> CliResult<StepLines> {
        if std::io::stdin().is_terminal() {
            Ok(StepLines::Typed(Box::new(ReplLine::new(
                serde_json::Value::Null,
            )?)))
        } else {
            Ok(StepLines::Read(std::io::stdin().lock().lines()))
        }
    }

    fn next(&mut self) -> CliResult<Option<String>> {
        match self {
            StepLines::Typed(line) => line.next("job> ", ""),
            StepLines::Read(lines) => Ok(lines.next().transpose()?),
        }
    }
}
