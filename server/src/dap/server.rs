//! The session of one client, and the job that it starts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use backstitch_job::step::stop::StopRequest;
use dapts::{BreakpointEvent, BreakpointEventReason};
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;

use super::client::DapClient;
use super::evaluate::JobQuestion;
use super::launch::{ContinuedRun, LaunchArguments, LaunchedRun};
use super::machine::{self, ClientDriver, MachineCommand};
use super::shared::{QueuedKind, SharedJob};
use super::step_names::NamedJob;
use super::view::JobView;
use crate::jobs::words::LineEffect;

/// A job that waits until the client has told its breakpoints.
pub enum JobStart {
    Launched(Box<LaunchArguments>, Box<LaunchedRun>),
    Continued(Box<ContinuedRun>),
}

/// The session of one client.
pub struct DapServer {
    pub shared: Arc<SharedJob>,
    pub client: DapClient,
    /// Directory that the command line names.
    pub workspace: Option<PathBuf>,
    pub is_initialized: bool,
    /// Lines of the client begin at this number.
    pub first_line: u32,
    /// Columns of the client begin at this number.
    pub first_column: usize,
    /// Steps to which a client may go, by their numbers from 1.
    targets: Vec<(PathBuf, u32)>,
    pub launched: Option<JobStart>,
    pub is_configured: bool,
    /// True for a job that another process began.
    pub is_attached: bool,
    pub commands: Option<Sender<MachineCommand>>,
    pub stop: Option<StopRequest>,
    pub job: Option<JoinHandle<()>>,
    /// Requests to terminate so far.
    pub terminations: u32,
    /// True: an interrupt ends the adapter at once.
    can_be_interrupted: Arc<AtomicBool>,
}

impl DapServer {
    pub fn new(client: DapClient, workspace: Option<PathBuf>) -> DapServer {
        DapServer {
            shared: Arc::new(SharedJob::new(client.clone())),
            client,
            workspace,
            is_initialized: false,
            first_line: 1,
            first_column: 1,
            targets: Vec::new(),
            launched: None,
            is_configured: false,
            is_attached: false,
            commands: None,
            stop: None,
            job: None,
            terminations: 0,
            can_be_interrupted: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Takes the job, and tells the client which of its breakpoints on names have a step.
    pub fn names_job(&self, file: &Path, job: &str) {
        let known = self.shared.breakpoints().set_job(NamedJob::of(file, job));
        for breakpoint in known {
            let reason = BreakpointEventReason::Changed;
            let event = BreakpointEvent { breakpoint, reason };
            self.client.event("breakpoint", &event);
        }
    }

    /// The number of a step: its file, and its first line.
    pub fn target_number(&mut self, place: (PathBuf, u32)) -> u64 {
        let known = self.targets.iter().position(|known| *known == place);
        let found = known.unwrap_or_else(|| {
            self.targets.push(place);
            self.targets.len() - 1
        });
        found as u64 + 1
    }

    pub fn target(&self, number: u64) -> Option<(PathBuf, u32)> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.targets.get(place).cloned()
    }

    /// Starts the job, once the client has launched it and told its breakpoints.
    pub fn start(&mut self) {
        if !self.is_configured || self.job.is_some() {
            return;
        }
        let Some(start) = self.launched.take() else {
            return;
        };
        let (commands, received) = channel();
        self.commands = Some(commands);
        let shared = Arc::clone(&self.shared);
        let mut driver = ClientDriver {
            shared: Arc::clone(&self.shared),
            commands: Mutex::new(received),
            job: String::new(),
            place: (PathBuf::new(), 1),
            choice: None,
            takes_edits: true,
            stop_on_entry: true,
            stop_at_end: false,
            unseen: Mutex::default(),
        };
        let (name, method);
        let work: Box<dyn FnOnce() + Send> = match start {
            JobStart::Launched(arguments, mut launched) => {
                driver.unseen = Mutex::new(std::mem::take(&mut launched.unseen));
                (name, method) = (launched.job.clone(), "launch");
                self.stop = Some(launched.setup.stop.clone());
                self.client.hide_by(&launched.setup.masks);
                for line in &launched.reaching {
                    let line = format!("This can reach out of the run: {line}");
                    self.client.say(&line);
                }
                // nobody has seen these commands, so the job stands before its first step, or before those that it needs
                let stops = !launched.reaching.is_empty() && !launched.reaches_before;
                driver.stop_on_entry = arguments.stop_on_entry.unwrap_or(true) || stops;
                driver.stop_at_end = arguments.stop_at_end;
                driver.job.clone_from(&launched.job);
                let view = JobView::of_job(launched.job.clone(), launched.place.clone());
                self.shared.publish(view);
                driver.place = launched.place.clone();
                driver.choice = Some(launched.choice.clone());
                driver.takes_edits = launched.takes_edits;
                let drives = stops || !arguments.no_debug;
                Box::new(move || machine::run(*launched, driver, drives, &shared))
            }
            JobStart::Continued(continued) => {
                (name, method) = (continued.name.clone(), "attach");
                self.stop = Some(continued.process.stop.clone());
                self.client.hide_by(&continued.process.masks);
                driver.place = continued.place.clone();
                Box::new(move || machine::run_continued(*continued, &driver, &shared))
            }
        };
        self.shared.runs();
        let process = json!({"name": name, "isLocalProcess": true, "startMethod": method});
        self.client.event("process", &process);
        let thread = thread::Builder::new().name("job".to_owned());
        match thread.spawn(work) {
            Ok(job) => self.job = Some(job),
            Err(error) => {
                self.client.say(&format!("The job cannot start: {error}."));
                self.shared.ended();
                self.client.event("terminated", &Value::Null);
            }
        }
    }

    /// The number from 1 of a line that the client names.
    pub fn line_of(&self, line: u32) -> u32 {
        line.saturating_add(1 - self.first_line)
    }

    /// The line as the client counts.
    pub fn client_line(&self, line: u32) -> u32 {
        line.saturating_sub(1 - self.first_line)
    }

    /// Lets an interrupt end the adapter, unless a client has asked for the end of the job.
    pub fn hear_interrupts(&self) -> io::Result<()> {
        let condition = Arc::clone(&self.can_be_interrupted);
        signal_hook::flag::register_conditional_default(SIGINT, condition).map(drop)
    }

    /// From now on the job comes to its end: nvim-dap sends an interrupt as soon as its request is answered.
    pub fn outlasts_interrupts(&self) {
        self.can_be_interrupted.store(false, Ordering::SeqCst);
    }

    /// Ends the job, and waits for its end.
    pub fn end(&mut self) {
        // a job that stands sees first that its client has left, and runs nothing
        self.commands = None;
        self.shared.leave();
        if let Some(stop) = &self.stop {
            // the first wish cancels the step that runs, the second kills it
            stop.request();
            stop.request();
        }
        if let Some(job) = self.job.take() {
            let _ = job.join();
            self.shared.ended();
        }
    }

    /// Asks the job, which answers at its stop. False if it runs.
    pub fn ask(&self, asked: JobQuestion) -> bool {
        let takes = match asked.effect() {
            LineEffect::Runs | LineEffect::Moves => self.shared.takes(QueuedKind::Move),
            LineEffect::Stays => self.shared.takes(QueuedKind::Ask),
            LineEffect::Reads => self.shared.answers(),
        };
        takes && self.send(MachineCommand::Ask(asked))
    }

    /// Gives the job a command that it has taken. False if it has ended.
    pub fn send(&self, command: MachineCommand) -> bool {
        let commands = self.commands.as_ref();
        commands.is_some_and(|commands| commands.send(command).is_ok())
    }
}
