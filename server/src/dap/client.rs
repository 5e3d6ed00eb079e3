//! The way to the client: one queue, so that messages keep their order, and a thread that writes them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use backstitch_job::step::mask::Masks;
use dapts::{OutputEvent, OutputEventCategory};
use serde::Serialize;
use serde_json::{Value, json};

use super::frames;
use super::paths::ClientPaths;

/// Time for which output waits for more.
const BATCH_TIME: Duration = Duration::from_millis(16);

/// Bytes of output in one event.
const BATCH_SIZE: usize = 64 * 1024;

/// Bytes of output that wait for a slow client. Later output is left out, so no step waits.
const MAX_WAITING: usize = 8 * 1024 * 1024;

/// Bytes of a line with a place, beside its text.
const LINE_SIZE: usize = 1024;

/// Requests of a person's, whose errors a client shows. Others ask by themselves, or have a place for an error.
const SHOWN_ERRORS: [&str; 7] = [
    "launch",
    "attach",
    "stepBack",
    "reverseContinue",
    "restartFrame",
    "goto",
    "pause",
];

/// The request for a terminal.
pub const RUN_IN_TERMINAL: &str = "runInTerminal";

/// A client. Clones write to the same one.
#[derive(Clone)]
pub struct DapClient {
    queue: Sender<DapMessage>,
    /// Bytes of output in the queue.
    waiting: Arc<AtomicUsize>,
    is_vscode: Arc<AtomicBool>,
    is_neovim: Arc<AtomicBool>,
    opens_terminals: Arc<AtomicBool>,
    paths: Arc<Mutex<ClientPaths>>,
    /// Masks of the run, once there is one.
    masks: Arc<OnceLock<Masks>>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

enum DapMessage {
    /// A message without its number.
    Message(Value),
    Output(OutputEventCategory, String),
    /// A line with a place, and its size.
    Line(Value, usize),
    Close,
}

impl DapClient {
    /// A client on standard output.
    pub fn start() -> io::Result<DapClient> {
        DapClient::of(io::stdout())
    }

    /// Starts the thread that writes to the client.
    pub fn of(to: impl Write + Send + 'static) -> io::Result<DapClient> {
        let (queue, waiting_messages) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&waiting);
        let writer = thread::Builder::new().name("client".to_owned());
        let writer = writer.spawn(move || {
            // a client that reads nothing any longer ends the writing, and not the job
            let _ = write_all(to, &waiting_messages, &counted);
        })?;
        Ok(DapClient {
            queue,
            waiting,
            is_vscode: Arc::default(),
            is_neovim: Arc::default(),
            opens_terminals: Arc::default(),
            paths: Arc::default(),
            masks: Arc::default(),
            writer: Arc::new(Mutex::new(Some(writer))),
        })
    }

    /// Takes the name that the client has in the protocol.
    pub fn named(&self, name: Option<&str>) {
        let is_vscode = name.is_some_and(|name| name.starts_with("vscode"));
        self.is_vscode.store(is_vscode, Ordering::Relaxed);
        let is_neovim = name.is_some_and(|name| name.contains("neovim"));
        self.is_neovim.store(is_neovim, Ordering::Relaxed);
    }

    /// The ways in which the client names files.
    pub fn paths(&self) -> MutexGuard<'_, ClientPaths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the masks of the run.
    pub fn hide_by(&self, masks: &Masks) {
        // a session has one run
        let _ = self.masks.set(masks.clone());
    }

    /// A text without secrets.
    pub fn mask(&self, text: &str) -> String {
        let masks = self.masks.get();
        masks.map_or_else(|| text.to_owned(), |masks| masks.apply(text))
    }

    /// True for VS Code and the editors that are made of it. Some of their ways differ from the protocol's.
    pub fn is_vscode(&self) -> bool {
        self.is_vscode.load(Ordering::Relaxed)
    }

    /// True for nvim-dap.
    pub fn is_neovim(&self) -> bool {
        self.is_neovim.load(Ordering::Relaxed)
    }

    /// Takes the client's word that it opens terminals.
    pub fn may_open_terminals(&self, may: bool) {
        self.opens_terminals.store(may, Ordering::Relaxed);
    }

    /// Asks the client to run a program on a terminal. False if it opens none.
    pub fn run_in_terminal(&self, title: &str, directory: &Path, program: &[String]) -> bool {
        if !self.opens_terminals.load(Ordering::Relaxed) {
            return false;
        }
        self.send(DapMessage::Message(json!({
            "type": "request", "command": RUN_IN_TERMINAL,
            "arguments": {"kind": "integrated", "title": title, "cwd": directory, "args": program},
        })));
        true
    }

    pub fn respond(&self, request: i64, command: &str, body: Option<Value>) {
        let mut message = json!({
            "type": "response", "request_seq": request, "success": true, "command": command,
        });
        if let Some(mut body) = body {
            self.paths().name_in(&mut body);
            message["body"] = body;
        }
        self.send(DapMessage::Message(message));
    }

    pub fn refuse(&self, request: i64, command: &str, reason: &str) {
        let shows = SHOWN_ERRORS.contains(&command);
        let message = json!({
            "type": "response", "request_seq": request, "success": false, "command": command, "message": reason,
            "body": {"error": {"id": 1, "format": "{reason}", "variables": {"reason": reason}, "showUser": shows}},
        });
        self.send(DapMessage::Message(message));
    }

    pub fn event(&self, name: &str, body: &impl Serialize) {
        let mut body = serde_json::to_value(body).unwrap_or_default();
        self.paths().name_in(&mut body);
        let mut message = json!({"type": "event", "event": name});
        if !body.is_null() {
            message["body"] = body;
        }
        self.send(DapMessage::Message(message));
    }

    /// Output without a place. False if it is left out, since the client is slow.
    pub fn output(&self, category: OutputEventCategory, text: &str) -> bool {
        if self.waiting.load(Ordering::Relaxed) + text.len() > MAX_WAITING {
            return false;
        }
        self.waiting.fetch_add(text.len(), Ordering::Relaxed);
        self.send(DapMessage::Output(category, text.to_owned()));
        true
    }

    /// A line with a place or a group, of which a step may write many. False if it is left out, since the client is slow.
    pub fn line(&self, event: &OutputEvent) -> bool {
        let size = event.output.len() + LINE_SIZE;
        if self.waiting.load(Ordering::Relaxed) + size > MAX_WAITING {
            return false;
        }
        self.waiting.fetch_add(size, Ordering::Relaxed);
        let mut body = serde_json::to_value(event).unwrap_or_default();
        self.paths().name_in(&mut body);
        self.send(DapMessage::Line(body, size));
        true
    }

    /// A line of the adapter itself.
    pub fn say(&self, text: &str) {
        let line = format!("{}\n", self.mask(text.trim_end()));
        self.output(OutputEventCategory::Console, &line);
    }

    /// Writes what is left.
    pub fn close(&self) {
        self.send(DapMessage::Close);
        let writer = self.writer.lock();
        let writer = writer.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }

    fn send(&self, message: DapMessage) {
        // the writer has ended with its client
        let _ = self.queue.send(message);
    }
}

fn write_all(
    mut to: impl Write,
    queue: &Receiver<DapMessage>,
    waiting: &AtomicUsize,
) -> io::Result<()> {
    let mut number = 0;
    let mut write = |mut message: Value| {
        number += 1;
        message["seq"] = number.into();
        frames::write(&mut to, message.to_string().as_bytes())
    };
    let mut next = None;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => match queue.recv() {
                Ok(message) => message,
                Err(_) => return Ok(()),
            },
        };
        match message {
            DapMessage::Message(message) => write(message)?,
            DapMessage::Output(category, mut text) => {
                next = gather(queue, &category, &mut text);
                waiting.fetch_sub(text.len(), Ordering::Relaxed);
                for part in parts(&text) {
                    let event = OutputEvent {
                        category: Some(category.clone()),
                        output: part.to_owned(),
                        ..OutputEvent::default()
                    };
                    let body = serde_json::to_value(event).unwrap_or_default();
                    write(json!({"type": "event", "event": "output", "body": body}))?;
                }
            }
            DapMessage::Line(body, size) => {
                waiting.fetch_sub(size, Ordering::Relaxed);
                write(json!({"type": "event", "event": "output", "body": body}))?;
            }
            DapMessage::Close => return Ok(()),
        }
    }
}

/// Adds output that follows at once. Returns the message after it.
fn gather(
    queue: &Receiver<DapMessage>,
    category: &OutputEventCategory,
    text: &mut String,
) -> Option<DapMessage> {
    let since = Instant::now();
    while text.len() < BATCH_SIZE {
        let left = BATCH_TIME.checked_sub(since.elapsed())?;
        match queue.recv_timeout(left) {
            Ok(DapMessage::Output(of, more)) if of == *category => text.push_str(&more),
            Ok(other) => return Some(other),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

/// A text in pieces of at most the size of an event.
fn parts(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = text;
    while rest.len() > BATCH_SIZE {
        let (part, after) = rest.split_at(rest.floor_char_boundary(BATCH_SIZE));
        all.push(part);
        rest = after;
    }
    all.push(rest);
    all
}
