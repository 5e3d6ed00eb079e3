//! The conversation between client and agent: from its messages to events of the agent, and to the lines that wait. One
//! state for both directions. Reads files through the caller's function, and writes nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstitch_control::now;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolReport};
use serde_json::json;

use super::acts::{CallKey, ObservedEvent, ProxyAct, QUESTION, Question};
use super::message::{AcpMessage, Params, PermissionOption, ResultFields, ToolUpdate};
use super::names;
use super::report::FileText;
use super::session_calls::{SessionCalls, bound};
use super::tool_call::{CallProgress, OpenCall, ReadFileText};

/// The version of the protocol that is understood.
const VERSION: u64 = 1;
/// Time by which an agent may announce a call after it has begun, in microseconds: opencode tells a short command once it is
/// done.
const LATE_NEWS: i64 = 1_000_000;
/// A request of the client that waits for the agent's answer.
#[derive(Debug)]
enum ClientRequest {
    Initialize,
    Open(Option<PathBuf>),
    Load(String),
    Prompt(String),
    Close(String),
}

/// A request of the agent that waits for the client's answer.
#[derive(Debug)]
enum AgentRequest {
    Write {
        call: CallKey,
        path: PathBuf,
        /// The call is this request.
        is_own: bool,
    },
    Permission {
        call: CallKey,
        options: Vec<PermissionOption>,
    },
    Terminal(CallKey),
    Exit(CallKey),
}

/// The state of both directions.
#[derive(Debug)]
pub struct Traffic {
    agent: String,
    /// True once another version is negotiated.
    is_foreign: bool,
    client_requests: HashMap<String, ClientRequest>,
    agent_requests: HashMap<String, AgentRequest>,
    sessions: HashMap<String, SessionCalls>,
}

impl Traffic {
    pub fn new(program: &Path) -> Self {
        Self {
            agent: names::of_program(program),
            is_foreign: false,
            client_requests: HashMap::new(),
            agent_requests: HashMap::new(),
            sessions: HashMap::new(),
        }
    }

    /// Takes a line of the client.
    pub fn take_of_client(
        &mut self,
        message: &AcpMessage<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some(method) = message.method() else {
            return self.client_answers(message, read);
        };
        let Some(params) = message.params() else {
            return Vec::new();
        };
        let session = params.session();
        let mut acts = Vec::new();
        let request = match (method.as_str(), session) {
            ("initialize", _) => Some(ClientRequest::Initialize),
            ("session/new" | "session/fork", _) => Some(ClientRequest::Open(params.cwd())),
            ("session/load" | "session/resume", Some(session)) => {
                let at = self.session(&session);
                at.is_loading = true;
                at.cwd = params.cwd().or(at.cwd.take());
                Some(ClientRequest::Load(session))
            }
            ("session/prompt", Some(session)) => {
                let text = params.prompt();
                acts.extend(self.prompt(&session, text));
                Some(ClientRequest::Prompt(session))
            }
            ("session/close", Some(session)) => Some(ClientRequest::Close(session)),
            ("session/cancel", Some(session)) => {
                acts.push(ProxyAct::Cancel(session));
                None
            }
            _ => None,
        };
        if let (Some(request), Some(id)) = (request, message.id()) {
            bound(&mut self.client_requests);
            self.client_requests.insert(id.to_owned(), request);
        }
        acts
    }

    /// Takes a line of the agent.
    pub fn take_of_agent(
        &mut self,
        message: &AcpMessage<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some(method) = message.method() else {
            return self.agent_answers(message);
        };
        let params = message.params().filter(|_| !self.is_foreign);
        let Some((params, session)) = params.and_then(|params| Some((params, params.session()?)))
        else {
            return Vec::new();
        };
        match (method.as_str(), message.id()) {
            ("session/update", _) => match params.update() {
                Some(update) => self.update(&session, update, read),
                None => Vec::new(),
            },
            (QUESTION, Some(id)) => self.question(&session, id, params, read),
            ("fs/write_text_file", Some(id)) => self.write(session, id, params, read),
            ("terminal/create", Some(id)) => self.terminal(session, id, params, read),
            ("terminal/wait_for_exit", Some(id)) => {
                let call = params.terminal().and_then(|terminal| {
                    let at = self.sessions.get(&session)?;
                    at.terminals.get(&terminal).cloned()
                });
                if let Some(call) = call {
                    let exit = AgentRequest::Exit(CallKey { session, call });
                    self.wait(id, exit);
                }
                Vec::new()
            }
            ("terminal/release" | "terminal/kill", Some(_)) => {
                let ended = params.terminal().and_then(|terminal| {
                    self.sessions.get_mut(&session)?.terminals.remove(&terminal)
                });
                let ended = ended.and_then(|call| self.end(&session, &call, false, read));
                ended.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Notes that a question was answered by the proxy itself: the call does not run.
    pub fn refused(&mut self, id: &str) {
        if let Some(AgentRequest::Permission { call, .. }) = self.agent_requests.remove(id)
            && let Some(call) = self.call(&call)
        {
            call.refused = true;
        }
    }

    /// Takes the end of the agent.
    pub fn end_all(&mut self) -> Vec<ObservedEvent> {
        let sessions: Vec<String> = self.sessions.keys().cloned().collect();
        let end = |session: String| {
            let observed = self.observed(&session, "SessionEnd", EventKind::SessionEnd);
            self.sessions.remove(&session);
            observed
        };
        sessions.into_iter().map(end).collect()
    }

    fn session(&mut self, session: &str) -> &mut SessionCalls {
        if !self.sessions.contains_key(session) {
            bound(&mut self.sessions);
        }
        self.sessions.entry(session.to_owned()).or_default()
    }

    fn call(&mut self, key: &CallKey) -> Option<&mut OpenCall> {
        self.sessions
            .get_mut(&key.session)?
            .calls
            .get_mut(&key.call)
    }

    fn wait(&mut self, id: &str, request: AgentRequest) {
        bound(&mut self.agent_requests);
        self.agent_requests.insert(id.to_owned(), request);
    }

    fn observed(&self, session: &str, name: &str, kind: EventKind) -> ObservedEvent {
        let cwd = self.sessions.get(session).and_then(|at| at.cwd.clone());
        ObservedEvent {
            event: AgentEvent {
                agent: self.agent.clone(),
                session: session.to_owned(),
                transcript: None,
                prompt_id: None,
                subagent: None,
                cwd,
                process: None,
                other_hooks: None,
                name: name.to_owned(),
                kind,
            },
            unasked: false,
        }
    }

    fn prompt(&mut self, session: &str, text: String) -> Vec<ProxyAct> {
        let at = self.session(session);
        at.is_loading = false;
        let kind = EventKind::Prompt {
            text,
            synthetic: false,
        };
        let prompt = self.observed(session, "session/prompt", kind);
        let mut acts = vec![ProxyAct::RecordFirst(prompt)];
        if self.is_foreign {
            // its calls are not understood: changes until the next prompt are the session's, and uncertain
            let runs_on = EventKind::Stop { background: true };
            acts.push(ProxyAct::RecordFirst(
                self.observed(session, "Stop", runs_on),
            ));
        }
        acts
    }

    fn client_answers(
        &mut self,
        message: &AcpMessage<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some(request) = message.id().and_then(|id| self.agent_requests.remove(id)) else {
            return Vec::new();
        };
        match request {
            AgentRequest::Write { call, path, is_own } => {
                if let Some(call) = self.call(&call)
                    && !message.is_error()
                {
                    call.after_write(&path, read);
                }
                let end =
                    is_own.then(|| self.end(&call.session, &call.call, message.is_error(), read));
                end.flatten().into_iter().collect()
            }
            AgentRequest::Permission { call: key, options } => {
                let outcome = message
                    .result()
                    .and_then(ResultFields::outcome)
                    .unwrap_or_default();
                let chosen = options
                    .iter()
                    .find(|option| Some(&option.option_id) == outcome.option_id.as_ref());
                let allows = chosen.is_some_and(|option| option.kind.starts_with("allow"));
                let Some(call) = self.call(&key) else {
                    return Vec::new();
                };
                if outcome.outcome != "selected" || !allows {
                    call.refused = true;
                    return Vec::new();
                }
                if call.started {
                    return Vec::new();
                }
                call.open(read, true);
                vec![ProxyAct::RecordFirst(self.starts(&key, QUESTION, None))]
            }
            AgentRequest::Terminal(key) => {
                let terminal = message.result().and_then(ResultFields::terminal);
                let at = self.sessions.get_mut(&key.session);
                if let Some((terminal, at)) = terminal.zip(at) {
                    at.terminals.insert(terminal, key.call);
                    return Vec::new();
                }
                let end = self.end(&key.session, &key.call, true, read);
                end.into_iter().collect()
            }
            AgentRequest::Exit(key) => {
                let exit = message.result().and_then(ResultFields::exit_code);
                if let Some(call) = self.call(&key) {
                    call.set_exit(exit);
                }
                let failed = message.is_error() || exit.is_some_and(|exit| exit != 0);
                let end = self.end(&key.session, &key.call, failed, read);
                end.into_iter().collect()
            }
        }
    }

    fn agent_answers(&mut self, message: &AcpMessage<'_>) -> Vec<ProxyAct> {
        let Some(request) = message.id().and_then(|id| self.client_requests.remove(id)) else {
            return Vec::new();
        };
        let result = message.result();
        match request {
            ClientRequest::Initialize => result.map_or_else(Vec::new, |it| self.initialized(it)),
            ClientRequest::Open(cwd) => {
                let Some(session) = result.and_then(ResultFields::session) else {
                    return Vec::new();
                };
                self.session(&session).cwd = cwd;
                vec![self.session_starts(&session, "startup")]
            }
            ClientRequest::Load(session) => {
                self.session(&session).is_loading = false;
                if message.is_error() {
                    return Vec::new();
                }
                vec![self.session_starts(&session, "resume")]
            }
            ClientRequest::Prompt(session) => {
                if self.is_foreign && !message.is_error() {
                    return Vec::new();
                }
                if let Some(at) = self.sessions.get_mut(&session) {
                    at.calls.clear();
                    at.newest.clear();
                }
                let stop = EventKind::Stop { background: false };
                vec![ProxyAct::Record(self.observed(&session, "Stop", stop))]
            }
            ClientRequest::Close(session) => {
                if message.is_error() {
                    return Vec::new();
                }
                let observed = self.observed(&session, "SessionEnd", EventKind::SessionEnd);
                self.sessions.remove(&session);
                vec![ProxyAct::Record(observed)]
            }
        }
    }

    fn initialized(&mut self, result: &ResultFields<'_>) -> Vec<ProxyAct> {
        if let Some(name) = result.agent_name() {
            self.agent = names::agent(&name);
        }
        match result.version() {
            Some(VERSION) | None => Vec::new(),
            Some(version) => {
                self.is_foreign = true;
                vec![ProxyAct::Say(format!(
                    "acp: client and agent speak version {version}, and only version {VERSION} is understood: turns are \
                     recorded by scans, calls are not"
                ))]
            }
        }
    }

    fn session_starts(&self, session: &str, source: &str) -> ProxyAct {
        let kind = EventKind::SessionStart {
            source: source.to_owned(),
        };
        ProxyAct::Record(self.observed(session, "SessionStart", kind))
    }

    /// Takes a message about a tool call.
    fn update(
        &mut self,
        session: &str,
        update: &ToolUpdate<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some(id) = update.id().filter(|_| update.is_of_call()) else {
            return Vec::new();
        };
        let agent = self.agent.clone();
        let at = self.session(session);
        if at.is_loading {
            return Vec::new();
        }
        let call = at.call(&id);
        let progress = call.merge(update);
        let key = CallKey {
            session: session.to_owned(),
            call: id,
        };
        if let Some(CallProgress::Ended { failed }) = progress {
            let end = self.end(session, &key.call, failed, read);
            return end.into_iter().collect();
        }
        let opens = !call.is_open() && !call.refused && call.can_open(progress);
        if opens || call.has_more_paths() {
            call.open(read, false);
            let announced = EventKind::Announced {
                call: call.tool_call(&agent, &key.call),
                at: now() - LATE_NEWS,
            };
            let is_pending = call.is_scanned() && progress == Some(CallProgress::Pending);
            let observed = self.observed(session, "tool_call", announced);
            return vec![if is_pending {
                ProxyAct::RecordDelayed(observed)
            } else {
                ProxyAct::Record(observed)
            }];
        }
        Vec::new()
    }

    /// Takes the agent's question about a call.
    fn question(
        &mut self,
        session: &str,
        id: &str,
        params: &Params<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some((update, call_id)) = params
            .tool_call()
            .and_then(|update| Some((update, update.id()?)))
        else {
            return Vec::new();
        };
        let at = self.session(session);
        at.is_loading = false;
        let call = at.call(&call_id);
        call.merge(update);
        call.asked = true;
        let is_early = call.is_scanned() && !call.started;
        let options = params.options();
        let key = CallKey {
            session: session.to_owned(),
            call: call_id,
        };
        self.wait(
            id,
            AgentRequest::Permission {
                call: key.clone(),
                options: options.clone(),
            },
        );
        let agent = self.agent.clone();
        let Some(held) = self
            .call(&key)
            .map(|call| call.held_call(&agent, &key.call, read))
        else {
            return Vec::new();
        };
        let observed = self.observed(session, QUESTION, EventKind::Before(held));
        let ask = ProxyAct::Ask(Box::new(Question {
            id: id.to_owned(),
            event: observed.event,
            options,
        }));
        let withdraw = is_early.then_some(ProxyAct::Withdraw(key));
        withdraw.into_iter().chain([ask]).collect()
    }

    /// Takes the agent's request to write a file. It belongs to the call that names the file, else to the newest one that may
    /// write, else it is a call by itself.
    fn write(
        &mut self,
        session: String,
        id: &str,
        params: &Params<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let Some(path) = params.path().filter(|path| path.is_absolute()) else {
            return Vec::new();
        };
        let at = self.session(&session);
        let named = at.find(|call| call.may_write(&path) && !call.refused);
        let of_call = named.or_else(|| at.find(|call| call.is_edit() && !call.refused));
        let is_own = of_call.is_none();
        let call = of_call.unwrap_or_else(|| {
            let call = format!("fs/write_text_file {id}");
            let input = json!({ "path": path.to_string_lossy() });
            let made = OpenCall::of_request("write_text_file", Some(path.clone()), &input);
            at.add(&call, made);
            call
        });
        let key = CallKey { session, call };
        let mut acts = Vec::new();
        if let Some(call) = self.call(&key)
            && !call.is_scanned()
            && call.before_write(&path, read)
        {
            call.open(read, false);
            let starts = self.starts(&key, "fs/write_text_file", Some(&path));
            acts.push(ProxyAct::RecordFirst(starts));
        }
        let write = AgentRequest::Write {
            call: key,
            path,
            is_own,
        };
        self.wait(id, write);
        acts
    }

    /// Takes the agent's request to run a command in a terminal of the client.
    fn terminal(
        &mut self,
        session: String,
        id: &str,
        params: &Params<'_>,
        read: ReadFileText<'_>,
    ) -> Vec<ProxyAct> {
        let at = self.session(&session);
        if at.find(OpenCall::is_edit).is_some() {
            return Vec::new();
        }
        let call = format!("terminal/create {id}");
        let input = json!({ "command": params.command_line() });
        let mut made = OpenCall::of_request("terminal", None, &input);
        made.open(read, false);
        at.add(&call, made);
        let key = CallKey { session, call };
        let starts = self.starts(&key, "terminal/create", None);
        self.wait(id, AgentRequest::Terminal(key));
        vec![ProxyAct::RecordFirst(starts)]
    }

    /// Returns the event that a call starts to write. `path`: this file alone.
    fn starts(&mut self, key: &CallKey, name: &str, path: Option<&Path>) -> ObservedEvent {
        let agent = self.agent.clone();
        let starts = self.call(key).map(|call| {
            call.started = true;
            EventKind::Starts(call.starting(&agent, &key.call, path))
        });
        self.observed(&key.session, name, starts.unwrap_or(EventKind::Other))
    }

    /// Ends a call. None: it did nothing, or is not known.
    fn end(
        &mut self,
        session: &str,
        id: &str,
        failed: bool,
        read: ReadFileText<'_>,
    ) -> Option<ProxyAct> {
        let at = self.sessions.get_mut(session)?;
        let call = at.calls.remove(id)?;
        at.newest.retain(|one| one != id);
        if call.refused && !call.is_open() {
            return None;
        }
        let mut ended = call.tool_call(&self.agent, id);
        if call.refused {
            // it was announced, and has not run
            ended.effect = Effect::Reads;
        }
        let report = if failed {
            ToolReport::default()
        } else {
            call.report(read)
        };
        let kind = EventKind::After {
            call: ended,
            report,
            failed,
        };
        let observed = self.observed(session, "tool_call_update", kind);
        Some(ProxyAct::Record(ObservedEvent {
            unasked: !call.asked,
            ..observed
        }))
    }
}

/// Reads a file as a text of a usual size.
pub fn read_text(path: &Path) -> FileText {
    /// Above this size the call is attributed by the time of its changes.
    const LARGEST: u64 = 8 << 20;
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= LARGEST => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return FileText::Absent,
        _ => return FileText::Unknown,
    }
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => FileText::Present(text),
        _ => FileText::Unknown,
    }
}
