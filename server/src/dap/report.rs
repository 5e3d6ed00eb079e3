//! Events of a run for the client: output with groups and places, the ends of steps, and the jobs that run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_job::report::{
    Annotation, JobEnd, JobName, Level, RunReport, StepEnd, StepName, StepPart, Stream,
};
use backstitch_job::state::StepOutcome;
use dapts::{OutputEvent, OutputEventCategory, OutputEventGroup, ThreadEvent, ThreadEventReason};
use serde_json::json;

use super::breakpoints::source_of;
use super::client::DapClient;
use super::failures::step_failure;
use super::shared::{JOB_THREAD, SharedJob};
use super::view::{FrameView, own_file};

/// Bytes of a step's output that the client gets. All of it is in its log.
const MAX_SHOWN: usize = 10 * 1024 * 1024;

/// Receiver of a run's events.
pub struct ClientReport {
    client: DapClient,
    shared: Arc<SharedJob>,
    /// The project, where the files of messages are.
    root: PathBuf,
    /// The job that is stepped through.
    job: Option<String>,
    /// Threads of the other jobs that run, by their ids.
    threads: BTreeMap<String, u64>,
    last_thread: u64,
    /// Steps that run, the inner one last. One that is left out never begins.
    begun: Vec<(Vec<usize>, StepPart)>,
    /// Checkpoints of steps that have begun, by their paths, and attempts.
    checkpoints: BTreeMap<Vec<usize>, (usize, u32)>,
    shown: usize,
    left_out: usize,
    /// Groups of the step that are open; true for those of which the client has the beginning.
    groups: Vec<bool>,
}

impl ClientReport {
    pub fn new(shared: &Arc<SharedJob>, root: &Path, job: Option<String>) -> ClientReport {
        ClientReport {
            client: shared.client.clone(),
            shared: Arc::clone(shared),
            root: root.to_owned(),
            job,
            threads: BTreeMap::new(),
            last_thread: JOB_THREAD,
            begun: Vec::new(),
            checkpoints: BTreeMap::new(),
            shown: 0,
            left_out: 0,
            groups: Vec::new(),
        }
    }

    fn thread_of(&mut self, job: &JobName) -> u64 {
        if self.job.as_ref().is_none_or(|id| job.is_within(id)) {
            return JOB_THREAD;
        }
        let next = self.last_thread + 1;
        let thread = *self.threads.entry(job.id.clone()).or_insert(next);
        self.last_thread = self.last_thread.max(thread);
        thread
    }

    /// A line with a place, or one that begins or ends a group. False if it is left out.
    fn line(
        &mut self,
        text: String,
        place: Option<(&Path, u32)>,
        group: Option<OutputEventGroup>,
    ) -> bool {
        let size = text.len();
        let event = self.event_of(text, place, group);
        let is_shown = self.shown + size <= MAX_SHOWN && self.client.line(&event);
        if is_shown {
            self.shown += size;
        } else {
            self.left_out += size;
        }
        is_shown
    }

    /// The beginning or the end of a step, which the client always gets.
    fn bound(&self, text: String, place: Option<(&Path, u32)>, group: Option<OutputEventGroup>) {
        let event = self.event_of(text, place, group);
        if !event.output.is_empty() || event.group.is_some() {
            self.client.event("output", &event);
        }
    }

    fn event_of(
        &self,
        text: String,
        place: Option<(&Path, u32)>,
        group: Option<OutputEventGroup>,
    ) -> OutputEvent {
        let (file, line) = place.unzip();
        OutputEvent {
            category: Some(OutputEventCategory::Console),
            output: text,
            source: file.map(source_of),
            line,
            // VS Code draws a group once: lines that come later than its first ones would never be seen
            group: group.filter(|_| !self.client.is_vscode()),
            ..OutputEvent::default()
        }
    }

    fn end_groups(&mut self) {
        while !self.groups.is_empty() {
            self.group(None);
        }
    }
}

impl RunReport for ClientReport {
    fn job_started(&mut self, job: &JobName) {
        let thread_id = self.thread_of(job);
        let reason = ThreadEventReason::Started;
        self.client
            .event("thread", &ThreadEvent { reason, thread_id });
    }

    fn step_started(&mut self, step: &StepName) {
        self.groups.clear();
        (self.shown, self.left_out) = (0, 0);
        self.shared.step_facts().begin_step();
        *self.shared.running() = Some(FrameView::running(step, &self.root));
        let file = own_file(&self.root, &step.file);
        // a step back has left the steps that this one is not in
        while let Some((path, _)) = self.begun.last()
            && !(step.path.len() > path.len() && step.path.starts_with(path))
        {
            self.begun.pop();
            self.bound(String::new(), None, Some(OutputEventGroup::End));
        }
        self.begun.push((step.path.clone(), step.part));
        let text = if self.client.is_vscode() {
            // bold, where no group tells it from the output
            format!("\x1b[1m{}\x1b[0m\n", step.name)
        } else {
            format!("{}\n", step.name)
        };
        let place = Some((file.as_path(), step.line));
        self.bound(text, place, Some(OutputEventGroup::Start));
    }

    fn checkpoint_made(&mut self, step: &StepName, place: usize, attempt: u32) {
        self.checkpoints.insert(step.path.clone(), (place, attempt));
    }

    fn output(&mut self, stream: Stream, text: &[u8]) {
        let category = match stream {
            Stream::Stdout => OutputEventCategory::Stdout,
            Stream::Stderr => OutputEventCategory::Stderr,
        };
        self.shared.step_facts().add_output(text);
        let is_full = self.shown + text.len() > MAX_SHOWN;
        if is_full || !self.client.output(category, &String::from_utf8_lossy(text)) {
            self.left_out += text.len();
            return;
        }
        self.shown += text.len();
    }

    fn group(&mut self, title: Option<&str>) {
        let Some(title) = title else {
            if self.groups.pop() == Some(true) {
                self.bound(String::new(), None, Some(OutputEventGroup::End));
            }
            return;
        };
        let is_shown = self.line(format!("{title}\n"), None, Some(OutputEventGroup::Start));
        self.groups.push(is_shown);
    }

    fn annotation(&mut self, annotation: &Annotation) {
        if annotation.level == Level::Debug {
            return;
        }
        if annotation.level == Level::Error {
            let mut facts = self.shared.step_facts();
            facts.errors.push(annotation.message.clone());
            if let Some(file) = &annotation.file {
                let line = annotation.line.map(|line| format!(":{line}"));
                let place = format!("{file}{}: {}", line.unwrap_or_default(), annotation.message);
                facts.places.push(place);
            }
        }
        let code = annotation.code.as_ref().map(|code| format!("{code}: "));
        let text = format!(
            "{}: {}{}\n",
            annotation.level.as_str(),
            code.unwrap_or_default(),
            annotation.message
        );
        let file = annotation.file.as_ref().map(|file| self.root.join(file));
        let file = file.filter(|file| file.is_file());
        let place = file.as_deref().zip(annotation.line);
        self.line(text, place, None);
    }

    fn step_ended(&mut self, step: &StepName, end: &StepEnd) {
        *self.shared.running() = None;
        self.end_groups();
        if end.outcome == StepOutcome::Failure && end.conclusion == StepOutcome::Success {
            let text = step_failure(step, end);
            self.shared.step_facts().continued.push(text);
        }
        if self.left_out > 0 {
            let more = crate::render::bytes(u64::try_from(self.left_out).unwrap_or_default());
            self.client
                .say(&format!("… {more} more in the log of the step"));
        }
        let outcome = end.outcome.as_str();
        let reason = end.reason.as_ref().map(|reason| format!(": {reason}"));
        let reason = reason.unwrap_or_default();
        let this = (step.path.clone(), step.part);
        if self.begun.last() == Some(&this) {
            self.begun.pop();
            let text = format!("{outcome} in {} ms{reason}\n", end.milliseconds);
            self.bound(text, None, None);
            self.bound(String::new(), None, Some(OutputEventGroup::End));
        } else {
            let file = own_file(&self.root, &step.file);
            let text = format!("{}: {outcome}{reason}\n", step.name);
            self.bound(text, Some((&file, step.line)), None);
        }
        let (checkpoint, attempt) = self.checkpoints.remove(&step.path).unzip();
        self.client.event(
            "backstitchStep",
            &json!({
                "path": step.path, "index": step.path.last(), "id": step.id, "name": step.name,
                "attempt": attempt, "checkpoint": checkpoint,
                "outcome": outcome, "conclusion": end.conclusion.as_str(), "ms": end.milliseconds, "reason": end.reason,
            }),
        );
    }

    fn notice(&mut self, text: &str) {
        self.client.say(text);
    }

    fn job_ended(&mut self, job: &JobName, end: &JobEnd) {
        let thread_id = self.thread_of(job);
        let name = self.client.mask(&job.name);
        let reason = end.reason.as_ref().map(|reason| self.client.mask(reason));
        self.client.event(
            "backstitchJob",
            &json!({
                "id": job.id, "name": name, "result": end.result.as_str(), "ms": end.milliseconds,
                "reason": reason, "directory": end.directory,
            }),
        );
        let reason = reason.map(|reason| format!(": {reason}"));
        self.client.say(&format!(
            "The job {name} ended: {}{}",
            end.result.as_str(),
            reason.unwrap_or_default()
        ));
        let reason = ThreadEventReason::Exited;
        self.client
            .event("thread", &ThreadEvent { reason, thread_id });
        self.threads.remove(&job.id);
    }
}
