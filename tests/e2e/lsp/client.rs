//! A client of the language server over its real pipes: it holds documents as an editor does, and accounts for every
//! message. A client dropped with an unanswered request fails its test.

use std::borrow::Borrow;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::message_types::Shapes;
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A real editor, whose client capabilities were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Editor {
    Vscode,
    Nvim,
    Helix,
    Eglot,
}

impl Editor {
    pub const ALL: [Self; 4] = [Self::Vscode, Self::Nvim, Self::Helix, Self::Eglot];

    fn capabilities(self) -> Value {
        let text = match self {
            Self::Vscode => include_str!("caps/vscode.json"),
            Self::Nvim => include_str!("caps/nvim.json"),
            Self::Helix => include_str!("caps/helix.json"),
            Self::Eglot => include_str!("caps/eglot.json"),
        };
        serde_json::from_str(text).expect("recorded capabilities")
    }

    fn name(self) -> &'static str {
        match self {
            Self::Vscode => "Visual Studio Code",
            Self::Nvim => "Neovim",
            Self::Helix => "helix",
            Self::Eglot => "Eglot",
        }
    }
}

#[derive(Debug)]
pub struct Client<'w> {
    world: &'w World,
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<Value>,
    next: i64,
    /// Capabilities of the server.
    pub capabilities: Value,
    pub encoding: String,
    pub documents: BTreeMap<String, Open>,
    /// Answers to the server's next questions, in this order.
    answers: VecDeque<String>,
    /// Default answers: the first of these that a question offers.
    pub inclined: Vec<&'static str>,
    pub asked: Vec<String>,
    /// The answers that each question offered.
    pub offered: Vec<Vec<String>>,
    pub said: Vec<String>,
    pub shown: Vec<String>,
    pub refreshed: usize,
    /// Number of times that it was asked to request diagnostics again.
    pub problems_refreshed: usize,
    /// The settings section that the server gets when it asks, and how often it asked.
    pub settings: Value,
    pub pulled: usize,
    pub notified: Vec<(String, Value)>,
    /// Treatment of edits of the server.
    pub edits: Edits,
    /// Text typed when the next edit of the server arrives, before it is applied: document, old text, new text.
    pub types_meanwhile: Option<(String, String, String)>,
    /// Text typed right after the next edit of the server, and sent together with it: old text, new text.
    pub types_after: Option<(String, String)>,
    /// Changes that are made but not sent yet.
    late: Vec<Value>,
    /// Number of edits that the server requested.
    pub edited: usize,
    /// Progress of long work: its token, and its value.
    pub progress: Vec<(Value, Value)>,
    /// Labels of the server's edits.
    pub labels: Vec<String>,
    /// True while questions are left unanswered.
    pub holds_answers: bool,
    held: Vec<Value>,
    responses: BTreeMap<i64, Value>,
    pub shapes: Shapes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edits {
    /// Applied, and sent as every change is.
    Taken,
    /// Applied, and sent before the next request or when idle, but not while waiting for a response, as Eglot does it.
    Late,
    /// Reported as applied, but not applied: as an editor whose user said no.
    Pretended,
    /// Reported as not applied.
    Refused,
    /// Neither applied nor answered, until `answer_held` is called.
    Held,
}

#[derive(Clone, Debug)]
pub struct Open {
    pub text: String,
    pub version: i64,
}

impl<'w> Client<'w> {
    pub fn start(world: &'w World, editor: Editor) -> Self {
        Self::with(world, editor, &Value::Null)
    }

    /// Starts a client; `own` is `initializationOptions.backstitch`.
    pub fn with(world: &'w World, editor: Editor, own: &Value) -> Self {
        Self::in_folders(world, editor, own, &[""])
    }

    /// Starts a client with these folders open.
    pub fn in_folders(world: &'w World, editor: Editor, own: &Value, folders: &[&str]) -> Self {
        Self::launch(world, world.backstitch(), editor, own, folders)
    }

    /// Starts a client of a server that dies at its n-th fault point.
    pub fn that_dies(world: &'w World, editor: Editor, point: usize) -> Self {
        let mut command = world.backstitch();
        command.env("BACKSTITCH_FAULT", point.to_string());
        Self::launch(world, command, editor, &Value::Null, &[""])
    }

    /// Starts a client of a server with this variable in its environment.
    pub fn with_variable(world: &'w World, editor: Editor, name: &str, own: &Value) -> Self {
        let mut command = world.backstitch();
        command.env(name, "1");
        Self::launch(world, command, editor, own, &[""])
    }

    fn launch(
        world: &'w World,
        mut command: Command,
        editor: Editor,
        own: &Value,
        folders: &[&str],
    ) -> Self {
        command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the server starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("piped");
        let (tell, incoming) = channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            while let Some(message) = read(&mut stdout) {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            world,
            child,
            stdin,
            incoming,
            next: 0,
            capabilities: Value::Null,
            encoding: String::new(),
            documents: BTreeMap::new(),
            answers: VecDeque::new(),
            inclined: Vec::new(),
            asked: Vec::new(),
            offered: Vec::new(),
            said: Vec::new(),
            shown: Vec::new(),
            refreshed: 0,
            problems_refreshed: 0,
            settings: Value::Null,
            pulled: 0,
            notified: Vec::new(),
            edits: match editor {
                Editor::Eglot => Edits::Late,
                _ => Edits::Taken,
            },
            types_meanwhile: None,
            types_after: None,
            late: Vec::new(),
            edited: 0,
            progress: Vec::new(),
            labels: Vec::new(),
            holds_answers: false,
            held: Vec::new(),
            responses: BTreeMap::new(),
            shapes: Shapes::default(),
        };
        let folders = folders.iter().map(|path| {
            let uri = client.uri(path);
            json!({ "uri": uri, "name": path })
        });
        let folders: Vec<Value> = folders.collect();
        let mut params = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": editor.name() },
            "rootUri": folders.first().map(|folder| &folder["uri"]),
            "capabilities": editor.capabilities(),
            "workspaceFolders": (!folders.is_empty()).then_some(&folders),
        });
        if !own.is_null() {
            params["initializationOptions"] = json!({ "backstitch": own });
        }
        let answer = client.ok("initialize", params);
        client.capabilities = answer["capabilities"].clone();
        let encoding = client.capabilities["positionEncoding"].as_str();
        encoding
            .unwrap_or("utf-16")
            .clone_into(&mut client.encoding);
        client.notify("initialized", json!({}));
        client
    }

    pub fn uri(&self, path: &str) -> String {
        let root = self.world.path("").canonicalize().expect("a root");
        let full = if path.is_empty() {
            root
        } else {
            root.join(path)
        };
        format!("file://{}", full.display()).replace(' ', "%20")
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    pub fn notify(&mut self, method: &str, params: impl Borrow<Value>) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params.borrow() }));
    }

    /// Sends a request without waiting. Returns its id.
    pub fn begin(&mut self, method: &str, params: impl Borrow<Value>) -> i64 {
        self.idle();
        self.next += 1;
        let id = self.next;
        self.shapes.asked(id, method, params.borrow());
        self.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.borrow() }),
        );
        id
    }

    /// Waits for the whole response to a request.
    pub fn response(&mut self, id: i64) -> Value {
        self.until(|client| client.responses.contains_key(&id));
        self.responses.remove(&id).expect("there")
    }

    pub fn ok(&mut self, method: &str, params: impl Borrow<Value>) -> Value {
        let id = self.begin(method, params);
        let response = self.response(id);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    pub fn fails(&mut self, method: &str, params: impl Borrow<Value>) -> Value {
        let id = self.begin(method, params);
        let response = self.response(id);
        response
            .get("error")
            .cloned()
            .unwrap_or_else(|| panic!("{method} was answered: {response}"))
    }

    pub fn command(&mut self, command: &str, arguments: impl Borrow<Value>) -> Value {
        self.ok(
            "workspace/executeCommand",
            json!({ "command": command, "arguments": [arguments.borrow()] }),
        )
    }

    /// Sets the answer to the server's next question. Empty: it is closed without one.
    pub fn will_choose(&mut self, answer: &str) {
        self.answers.push_back(answer.to_owned());
    }

    /// Forgets the answers to questions that did not come.
    pub fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// Handles messages until a condition holds.
    pub fn until(&mut self, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        while !holds(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => panic!("nothing more came: {self:#?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the server ended: {self:#?}"),
            }
        }
    }

    fn take(&mut self, message: Value) {
        let Some(method) = message["method"].as_str() else {
            let id = message["id"].as_i64().unwrap_or(-1);
            self.shapes.response(id, &message);
            self.responses.insert(id, message);
            return;
        };
        let method = method.to_owned();
        let params = message["params"].clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let result = match method.as_str() {
            "workspace/applyEdit" => {
                self.edited += 1;
                let annotations = params["edit"]["changeAnnotations"].as_object();
                let labels = annotations.into_iter().flat_map(|all| all.values());
                self.labels
                    .extend(labels.map(|annotation| text(&annotation["label"])));
                if let Some((path, old, new)) = self.types_meanwhile.take() {
                    self.type_over(&path, &old, &new);
                }
                // text was typed meanwhile: an editor that gets versions refuses the edit
                let old = self.is_old(&params["edit"]);
                match self.edits {
                    Edits::Held => {
                        self.held.push(message);
                        return;
                    }
                    Edits::Taken | Edits::Late if !old => self.apply(&params["edit"]),
                    _ => {}
                }
                json!({ "applied": self.edits != Edits::Refused && !old })
            }
            "window/showMessageRequest" => {
                let question = text(&params["message"]);
                let offered = params["actions"].as_array().expect("answers");
                let titles = offered.iter().map(|action| text(&action["title"]));
                self.offered.push(titles.collect());
                if self.holds_answers {
                    self.asked.push(question);
                    self.held.push(message);
                    return;
                }
                self.asked.push(question.clone());
                let is_offered = |title: &str| offered.iter().find(|a| a["title"] == title);
                let mut usual = self.inclined.iter().copied().chain(["Keep Mine"]);
                let chosen = match self.answers.pop_front() {
                    Some(answer) if answer.is_empty() => Some(&Value::Null),
                    Some(answer) => is_offered(&answer),
                    None => usual.find_map(is_offered),
                };
                chosen
                    .cloned()
                    .unwrap_or_else(|| panic!("nobody expected this: {question}: {offered:?}"))
            }
            "window/showDocument" => {
                self.shown.push(text(&params["uri"]));
                json!({ "success": true })
            }
            "window/workDoneProgress/create" => Value::Null,
            "$/progress" => {
                let told = (params["token"].clone(), params["value"].clone());
                self.progress.push(told);
                return;
            }
            "workspace/configuration" => {
                self.pulled += 1;
                json!([self.settings])
            }
            "workspace/codeLens/refresh" => {
                self.refreshed += 1;
                Value::Null
            }
            "workspace/diagnostic/refresh" => {
                self.problems_refreshed += 1;
                Value::Null
            }
            "window/showMessage" | "window/logMessage" => {
                self.said.push(text(&params["message"]));
                return;
            }
            _ => {
                assert!(message.get("id").is_none(), "an unknown request: {message}");
                self.shapes.notification(&method, &params);
                self.notified.push((method, params));
                return;
            }
        };
        let id = message["id"].clone();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Answers held questions and edits.
    pub fn answer_held(&mut self) {
        for message in std::mem::take(&mut self.held) {
            self.take(message);
        }
    }

    pub fn open(&mut self, path: &str) {
        let text = self.world.read(path);
        self.open_with(path, &text);
    }

    pub fn open_with(&mut self, path: &str, text: &str) {
        let uri = self.uri(path);
        let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let open = Open {
            text: text.to_owned(),
            version: 1,
        };
        self.documents.insert(uri, open);
    }

    /// The text of a document, or None if it is not open.
    pub fn has(&self, path: &str) -> Option<&str> {
        let open = self.documents.get(&self.uri(path));
        open.map(|open| open.text.as_str())
    }

    pub fn text(&self, path: &str) -> &str {
        &self.documents[&self.uri(path)].text
    }

    /// Replaces the first occurrence, as a user who types.
    pub fn type_over(&mut self, path: &str, old: &str, new: &str) {
        let uri = self.uri(path);
        let range = self.range(&uri, old);
        self.change(&uri, &[json!({ "range": range, "newText": new })]);
    }

    /// Range of the first such text in a document.
    fn range(&self, uri: &str, of: &str) -> Value {
        let text = &self.documents[uri].text;
        let at = text.find(of).unwrap_or_else(|| panic!("no {of} in {uri}"));
        json!({ "start": self.position(text, at), "end": self.position(text, at + of.len()) })
    }

    /// Replaces some bytes of a document, as one key does.
    pub fn replace(&mut self, path: &str, bytes: std::ops::Range<usize>, new: &str) {
        let uri = self.uri(path);
        let text = &self.documents[&uri].text;
        let range = json!({
            "start": self.position(text, bytes.start),
            "end": self.position(text, bytes.end),
        });
        self.change(&uri, &[json!({ "range": range, "newText": new })]);
    }

    /// Process id of the server.
    pub fn server(&self) -> u32 {
        self.child.id()
    }

    /// Applies edits of one version, the last in the text first, and sends the changes.
    fn change(&mut self, uri: &str, edits: &[Value]) {
        let changes = self.edit(uri, edits);
        self.send_changes(uri, &changes);
    }

    /// Applies edits that refer to one text, and returns them as changes.
    fn edit(&mut self, uri: &str, edits: &[Value]) -> Vec<Value> {
        let mut text = self.documents[uri].text.clone();
        let mut changes = Vec::new();
        let mut sorted: Vec<&Value> = edits.iter().collect();
        sorted.sort_by_key(|edit| self.offset(&text, &edit["range"]["start"]));
        for edit in sorted.into_iter().rev() {
            let start = self.offset(&text, &edit["range"]["start"]);
            let end = self.offset(&text, &edit["range"]["end"]);
            let new = edit["newText"].as_str().expect("text");
            text.replace_range(start..end, new);
            changes.push(json!({ "range": edit["range"], "text": new }));
        }
        let open = self.documents.get_mut(uri).expect("open");
        open.text = text;
        changes
    }

    /// Sends changes as the next version of a document.
    fn send_changes(&mut self, uri: &str, changes: &[Value]) {
        let open = self.documents.get_mut(uri).expect("open");
        open.version += 1;
        let document = json!({ "uri": uri, "version": open.version });
        let change = json!({ "textDocument": document, "contentChanges": changes });
        if self.edits == Edits::Late {
            self.late.push(change);
        } else {
            self.notify("textDocument/didChange", change);
        }
    }

    /// Sends changes that were held back.
    pub fn idle(&mut self) {
        for change in std::mem::take(&mut self.late) {
            self.notify("textDocument/didChange", change);
        }
    }

    /// True if an edit is for a document that was changed or closed since.
    fn is_old(&self, edit: &Value) -> bool {
        let mut changes = edit["documentChanges"].as_array().into_iter().flatten();
        changes.any(|change| {
            let document = &change["textDocument"];
            let uri = document["uri"].as_str().unwrap_or_default();
            let own = self.documents.get(uri);
            let told = document["version"].as_i64();
            told.is_some_and(|told| own.is_none_or(|own| told != own.version))
        })
    }

    fn apply(&mut self, edit: &Value) {
        let mut all: Vec<(String, Vec<Value>)> = Vec::new();
        for change in edit["documentChanges"].as_array().into_iter().flatten() {
            if change["kind"] == "rename" {
                let (old, new) = (change["oldUri"].clone(), change["newUri"].clone());
                let path = |uri: &Value| uri.as_str().expect("a URI").to_owned();
                self.rename_uri(&path(&old), &path(&new));
                continue;
            }
            let uri = change["textDocument"]["uri"].as_str().expect("a URI");
            let version = &change["textDocument"]["version"];
            assert_eq!(*version, self.documents[uri].version, "the version edited");
            all.push((
                uri.to_owned(),
                change["edits"].as_array().expect("edits").clone(),
            ));
        }
        for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
            all.push((uri.clone(), edits.as_array().expect("edits").clone()));
        }
        for (uri, edits) in all {
            let mut changes = self.edit(&uri, &edits);
            if let Some((old, new)) = self.types_after.take() {
                let range = self.range(&uri, &old);
                changes.extend(self.edit(&uri, &[json!({ "range": range, "newText": new })]));
            }
            self.send_changes(&uri, &changes);
        }
    }

    pub fn save(&mut self, path: &str) {
        let text = self.documents[&self.uri(path)].text.clone();
        self.save_as(path, &text);
    }

    /// Saves a document for which the editor writes this content.
    pub fn save_as(&mut self, path: &str, content: &str) {
        let uri = self.uri(path);
        self.world.write(path, content);
        self.idle();
        self.notify(
            "textDocument/didSave",
            json!({ "textDocument": { "uri": uri } }),
        );
    }

    /// Renames the file of an open document, as editors do: the document keeps its text, saved or not.
    pub fn rename(&mut self, old: &str, new: &str) {
        self.rename_uri(&self.uri(old), &self.uri(new));
    }

    fn rename_uri(&mut self, old: &str, new: &str) {
        let path = |uri: &str| uri.strip_prefix("file://").expect("a file").to_owned();
        let to = path(new);
        let dir = std::path::Path::new(&to).parent().expect("a directory");
        std::fs::create_dir_all(dir).expect("directories");
        std::fs::rename(path(old), &to).expect("renamed");
        let open = self.documents.remove(old).expect("open");
        let closed = json!({ "textDocument": { "uri": old } });
        self.notify("textDocument/didClose", closed);
        let document = json!({ "uri": new, "languageId": "text", "version": 1, "text": open.text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.documents
            .insert(new.to_owned(), Open { version: 1, ..open });
        let files = json!([{ "oldUri": old, "newUri": new }]);
        self.notify("workspace/didRenameFiles", json!({ "files": files }));
    }

    pub fn close(&mut self, path: &str) {
        let uri = self.uri(path);
        self.documents.remove(&uri).expect("open");
        self.notify(
            "textDocument/didClose",
            json!({ "textDocument": { "uri": uri } }),
        );
    }

    /// Reloads a clean document, as an editor does.
    pub fn reload(&mut self, path: &str) {
        self.close(path);
        self.open(path);
    }

    /// Titles and commands of a document's lenses, with their lines.
    pub fn lenses(&mut self, path: &str) -> Vec<(u64, String, Value)> {
        let uri = self.uri(path);
        let lenses = self.ok(
            "textDocument/codeLens",
            json!({ "textDocument": { "uri": uri } }),
        );
        let lenses = lenses.as_array().cloned().unwrap_or_default();
        let row = |lens: Value| {
            (
                lens["range"]["start"]["line"].as_u64().expect("a line"),
                lens["command"]["title"]
                    .as_str()
                    .expect("a title")
                    .to_owned(),
                lens["command"].clone(),
            )
        };
        lenses.into_iter().map(row).collect()
    }

    /// Titles of the code actions offered for some lines, with their commands.
    pub fn actions(&mut self, path: &str, lines: std::ops::Range<usize>) -> Vec<(String, Value)> {
        let uri = self.uri(path);
        let params = json!({
            "textDocument": { "uri": uri },
            "range": {
                "start": { "line": lines.start, "character": 0 },
                "end": { "line": lines.end - 1, "character": 0 },
            },
            "context": { "diagnostics": [] },
        });
        let actions = self.ok("textDocument/codeAction", params);
        let actions = actions.as_array().cloned().unwrap_or_default();
        let row = |action: Value| {
            let command = if action["command"].is_object() {
                action["command"].clone()
            } else {
                action.clone()
            };
            (
                action["title"].as_str().expect("a title").to_owned(),
                command,
            )
        };
        actions.into_iter().map(row).collect()
    }

    /// Runs the command of a lens or an action.
    pub fn run(&mut self, command: &Value) -> Value {
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        self.ok("workspace/executeCommand", params)
    }

    /// The text of a document in a range.
    pub fn text_in(&self, path: &str, range: &Value) -> &str {
        let text = self.text(path);
        let (start, end) = (
            self.offset(text, &range["start"]),
            self.offset(text, &range["end"]),
        );
        &text[start..end]
    }

    /// Version of a document.
    pub fn version(&self, path: &str) -> i64 {
        self.documents[&self.uri(path)].version
    }

    fn position(&self, text: &str, at: usize) -> Value {
        let before = &text[..at];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        json!({ "line": line, "character": self.units(&before[start..]) })
    }

    fn offset(&self, text: &str, position: &Value) -> usize {
        let line = usize::try_from(position["line"].as_u64().expect("a line")).expect("small");
        let units = usize::try_from(position["character"].as_u64().expect("units")).expect("small");
        let start = match line {
            0 => 0,
            line => match text.match_indices('\n').nth(line - 1) {
                Some((at, _)) => at + 1,
                None => return text.len(),
            },
        };
        let rest = text[start..].split('\n').next().unwrap_or_default();
        let mut at = 0;
        for c in rest.chars() {
            if self.units(&rest[..at]) >= units {
                break;
            }
            at += c.len_utf8();
        }
        start + at
    }

    fn units(&self, text: &str) -> usize {
        match self.encoding.as_str() {
            "utf-8" => text.len(),
            "utf-32" => text.chars().count(),
            _ => text.encode_utf16().count(),
        }
    }

    /// Number of threads of the server.
    pub fn threads(&self) -> usize {
        let tasks = format!("/proc/{}/task", self.child.id());
        std::fs::read_dir(tasks).expect("tasks").count()
    }

    /// Ends the server, with or without `shutdown` before. Returns its exit code.
    pub fn exit(mut self) -> Option<i32> {
        self.notify("exit", Value::Null);
        self.stdin = None;
        self.child.wait().expect("it ends").code()
    }

    /// Shuts the server down as a client does, and makes sure that it exits.
    pub fn leave(mut self) {
        self.ok("shutdown", Value::Null);
        assert_eq!(self.exit(), Some(0));
    }

    /// True if the server was killed. Open requests are no longer answered.
    pub fn was_killed(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.signal() == Some(9);
            }
            if Instant::now() > deadline {
                return false;
            }
            std::thread::yield_now();
        }
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.stdin = None;
        self.child.kill().ok();
        self.child.wait().ok();
        if !std::thread::panicking() {
            assert!(self.answers.is_empty(), "never asked: {:?}", self.answers);
        }
    }
}

/// The next message. None: the other side has ended.
pub fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse::<usize>().ok();
        }
    }
    let mut body = vec![0; length?];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
