//! The progress of a run on the terminal, and its record for JSON and the summary.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use backstitch_job::report::{
    Annotation, JobEnd, JobName, Level, RunReport, StepEnd, StepName, StepPart, Stream,
};
use backstitch_job::state::StepOutcome;
use backstitch_protocol::{JobReport, StepAnnotation, StepReport};

use crate::render::{BOLD, DIM, GREEN, PLAIN, Paint, RED, YELLOW};
use crate::terminal::out::{LiveOut, Out};
use crate::terminal::paint::{cut, one_line};

/// Bytes of output that a step shows. All of it is in its log.
const MAX_SHOWN: usize = 10 * 1024 * 1024;

/// Time without output after which the step is shown with its time.
const SILENCE: Duration = Duration::from_millis(900);

/// Columns of a step's name in the line with its time.
const MAX_NAME: usize = 40;

/// Receiver of a run's events.
pub struct RunScreen {
    paint: Paint,
    /// Nothing but the record is kept.
    silent: bool,
    /// Output of steps is left out.
    quiet: bool,
    live: LiveOut,
    pub jobs: Vec<JobReport>,
    steps: Vec<StepReport>,
    annotations: Vec<StepAnnotation>,
    shown: usize,
    left_out: usize,
    depth: usize,
    /// Start of the step that runs, and its name.
    running: Option<(Instant, String)>,
    /// Time of the last output.
    written: Instant,
    /// A failure to write ends the output, not the run.
    closed: bool,
}

impl RunScreen {
    pub fn new(out: &Out, silent: bool) -> RunScreen {
        RunScreen {
            paint: out.paint,
            silent,
            quiet: out.quiet,
            live: out.live(),
            jobs: Vec::new(),
            steps: Vec::new(),
            annotations: Vec::new(),
            shown: 0,
            left_out: 0,
            depth: 0,
            running: None,
            written: Instant::now(),
            closed: false,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.silent && !self.closed {
            self.written = Instant::now();
            self.closed = self.live.write(bytes).is_err();
        }
    }

    fn line(&mut self, text: &str) {
        let indent = "  ".repeat(self.depth);
        self.write(format!("{indent}{text}\n").as_bytes());
    }

    /// Writes lines that stand beside those of the steps.
    pub fn said(&mut self, text: &str) {
        self.live.end_progress();
        self.write(format!("{text}\n").as_bytes());
    }

    /// The same for a text from outside, such as a value or a patch: on a terminal nothing in it acts.
    pub fn said_content(&mut self, text: &str) {
        self.live.end_progress();
        let shown = self.live.content(text.as_bytes()).into_owned();
        self.write(&shown);
        self.write(b"\n");
    }

    /// Shows the step that runs.
    fn progress(&mut self) {
        if let Some((began, name)) = self.running.as_ref().filter(|_| !self.silent) {
            let time = whole_seconds(began.elapsed());
            // the time stays in sight however long the name is
            let name = cut(&one_line(name), MAX_NAME);
            self.live.show_progress(&format!("… {name}  {time}"));
        }
    }

    /// Shows the step that runs if it has printed nothing for a while. Called each second.
    pub fn tick(&mut self) {
        if self.written.elapsed() >= SILENCE {
            self.progress();
        }
    }

    fn word(&self, outcome: StepOutcome) -> String {
        let (style, word) = match outcome {
            StepOutcome::Success => (GREEN, "ok"),
            StepOutcome::Failure => (RED, "failed"),
            StepOutcome::Cancelled => (YELLOW, "cancelled"),
            StepOutcome::Skipped => (DIM, "skipped"),
        };
        self.paint.on(style, word)
    }

    /// A table of all jobs, with the reasons of those that did not succeed.
    pub fn summary(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        let width = jobs
            .iter()
            .map(|job| job.name.chars().count())
            .max()
            .unwrap_or(0);
        self.depth = 0;
        self.write(b"\n");
        for job in &jobs {
            let outcome = StepOutcome::parse(&job.result).unwrap_or(StepOutcome::Failure);
            let name = format!("{:width$}", one_line(&job.name));
            let failed: Vec<&str> = job
                .steps
                .iter()
                .filter(|step| step.conclusion == "failure" && step.path.len() == 1)
                .map(|step| step.name.as_str())
                .collect();
            let mut line = format!("{}  {}", self.paint.on(BOLD, &name), self.word(outcome));
            if job.ms > 0 {
                let _ = write!(line, "  {}", milliseconds(job.ms));
            }
            if !failed.is_empty() && outcome != StepOutcome::Success {
                let _ = write!(line, "  at {}", one_line(&failed.join(", ")));
            }
            if let Some(reason) = &job.reason {
                let _ = write!(line, "  {}", one_line(reason));
            }
            self.line(&line);
        }
        self.jobs = jobs;
    }
}

impl RunReport for RunScreen {
    fn job_started(&mut self, job: &JobName) {
        self.steps.clear();
        self.depth = 0;
        let name = self.paint.on(BOLD, &one_line(&job.name));
        self.line(&name);
    }

    fn step_started(&mut self, step: &StepName) {
        self.annotations.clear();
        (self.shown, self.left_out) = (0, 0);
        self.running = Some((Instant::now(), step.name.clone()));
        self.depth = step.path.len();
        let title = self.paint.on(BOLD, &one_line(&step.name));
        self.line(&title);
    }

    fn output(&mut self, _stream: Stream, text: &[u8]) {
        if self.quiet || self.silent {
            return;
        }
        if self.shown + text.len() > MAX_SHOWN {
            self.left_out += text.len();
            self.progress();
            return;
        }
        self.shown += text.len();
        let indent = "  ".repeat(self.depth + 1);
        let mut shown = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            shown.extend_from_slice(indent.as_bytes());
            shown.extend_from_slice(&self.live.content(line));
        }
        self.write(&shown);
    }

    fn group(&mut self, title: Option<&str>) {
        if let Some(title) = title
            && !self.quiet
        {
            let title = self.paint.on(DIM, &one_line(title));
            self.depth += 1;
            self.line(&title);
            self.depth -= 1;
        }
    }

    fn annotation(&mut self, annotation: &Annotation) {
        let (style, level) = match annotation.level {
            Level::Debug => (DIM, "debug"),
            Level::Notice => (PLAIN, "notice"),
            Level::Warning => (YELLOW, "warning"),
            Level::Error => (RED, "error"),
        };
        let place = match (&annotation.file, annotation.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        let title = annotation.title.as_ref().or(annotation.code.as_ref());
        let title = title.map(|title| format!("{title}: ")).unwrap_or_default();
        let (first, rest) = annotation
            .message
            .split_once('\n')
            .unwrap_or((&annotation.message, ""));
        let text = format!(
            "{} {}",
            self.paint.on(style, level),
            one_line(&format!("{place}{title}{first}"))
        );
        self.depth += 1;
        self.line(&text);
        for line in rest.lines() {
            self.line(&format!("  {}", one_line(line)));
        }
        self.depth -= 1;
        self.annotations.push(StepAnnotation {
            level: level.to_owned(),
            message: annotation.message.clone(),
            title: annotation.title.clone(),
            code: annotation.code.clone(),
            file: annotation.file.clone(),
            line: annotation.line,
            column: annotation.column,
        });
    }

    fn step_ended(&mut self, step: &StepName, end: &StepEnd) {
        self.running = None;
        self.depth = step.path.len();
        if self.left_out > 0 {
            let more = format!("… {} MB more in the log", self.left_out / (1024 * 1024) + 1);
            let more = self.paint.on(DIM, &more);
            self.line(&more);
        }
        let mut text = self.word(end.outcome);
        if end.conclusion != end.outcome {
            text.push_str(", and the job continues (continue-on-error)");
        }
        if end.outcome == StepOutcome::Skipped {
            text = format!("{text}  {}", one_line(&step.name));
        } else {
            let _ = write!(text, "  {}", milliseconds(end.milliseconds));
        }
        if let Some(reason) = &end.reason {
            let _ = write!(text, "  {}", one_line(reason));
        }
        self.line(&text);
        self.steps.push(StepReport {
            annotations: std::mem::take(&mut self.annotations),
            ..step_report(step, end)
        });
    }

    fn step_frozen(&mut self, _step: &StepName) {
        self.running = None;
        self.live.end_progress();
    }

    fn step_thawed(&mut self, step: &StepName) {
        self.running = Some((Instant::now(), step.name.clone()));
        self.depth = step.path.len();
    }

    fn had_ended(&mut self, steps: &[(StepName, StepEnd)]) {
        // the annotations of known ones stay
        let new = steps.iter().skip(self.steps.len());
        let new = new.map(|(step, end)| step_report(step, end));
        self.steps.extend(new);
    }

    fn taken_back(&mut self, ended: usize) {
        self.steps.truncate(ended);
    }

    fn notice(&mut self, text: &str) {
        let text = format!("{} {}", self.paint.on(YELLOW, "note"), one_line(text));
        self.line(&text);
    }

    fn job_ended(&mut self, job: &JobName, end: &JobEnd) {
        self.running = None;
        self.live.end_progress();
        let outputs = end
            .outputs
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()));
        self.jobs.push(JobReport {
            id: job.id.clone(),
            name: job.name.clone(),
            result: end.result.as_str().to_owned(),
            reason: end.reason.clone(),
            ms: end.milliseconds,
            outputs: serde_json::Value::Object(outputs.collect()),
            directory: end.directory.as_ref().map(|dir| dir.display().to_string()),
            steps: std::mem::take(&mut self.steps),
        });
    }
}

fn step_report(step: &StepName, end: &StepEnd) -> StepReport {
    let part = match step.part {
        StepPart::Pre => "pre",
        StepPart::Main => "main",
        StepPart::Post => "post",
    };
    StepReport {
        path: step.path.clone(),
        id: step.id.clone(),
        name: step.name.clone(),
        part: part.to_owned(),
        file: step.file.clone(),
        line: step.line,
        outcome: end.outcome.as_str().to_owned(),
        conclusion: end.conclusion.as_str().to_owned(),
        reason: end.reason.clone(),
        ms: end.milliseconds,
        annotations: Vec::new(),
    }
}

fn milliseconds(ms: u64) -> String {
    duration(Duration::from_millis(ms))
}

/// A duration that is shown while it passes: `7 s`, `3 min 5 s`.
fn whole_seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => duration(time),
    }
}

/// A duration for people: `40 ms`, `1.2 s`, `3 min 5 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
