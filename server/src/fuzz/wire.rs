//! The server behind its transport, in this process, with any input bytes. It does not panic. It answers each
//! well-formed request exactly once, and each unreadable message with an error. It answers a `shutdown` that follows,
//! and ends.
//!
//! An input is a session, one message a line. A line that begins with `!` is raw bytes, with `\r`, `\n` and `\\` as
//! escapes. `/w` at the start of a path is the workspace.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::world::World;
use crate::lsp::session::ServerState;

/// Longer than any request takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of requests in a session: fewer than may be open at once, since no answer is read before all are
/// sent.
const MAX_REQUESTS: usize = 200;
/// Id of the last request.
const LAST: &str = "the last";

/// Runs a session without any workspace, many in a second. Returns false if it was skipped because it names paths
/// outside its world.
pub fn alone(input: &[u8]) -> bool {
    session(input, &World::new(false), false)
}

/// Runs a session in a workspace with a history, and verifies the store afterwards.
pub fn whole(input: &[u8]) -> bool {
    session(input, &World::new(true), true)
}

fn session(input: &[u8], world: &World, store: bool) -> bool {
    let sent = bytes(input, world);
    let expected = Expected::of(&sent);
    if expected.asked > MAX_REQUESTS || expected.bodies.iter().any(|body| world.names_outside(body))
    {
        return false;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(talk(sent, &expected, world));
    if store {
        let verified = world.engine().verifier().verify(&mut |_| {}).unwrap();
        assert_eq!(verified.problems, Vec::<String>::new());
    }
    true
}

/// Returns the bytes that go over the wire.
fn bytes(input: &[u8], world: &World) -> Vec<u8> {
    let mut sent = Vec::new();
    for line in input.split(|b| *b == b'\n') {
        if let Some(raw) = line.strip_prefix(b"!") {
            let mut raw = raw.iter();
            while let Some(byte) = raw.next() {
                sent.push(match byte {
                    b'\\' => match raw.next() {
                        Some(b'r') => b'\r',
                        Some(b'n') => b'\n',
                        Some(other) => *other,
                        None => b'\\',
                    },
                    byte => *byte,
                });
            }
        } else if !line.is_empty() {
            let own = std::str::from_utf8(line).map(|line| world.localized(line).into_bytes());
            let body = own.unwrap_or_else(|_| line.to_vec());
            sent.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
            sent.extend(body);
        }
    }
    sent
}

/// The answers that the server must send.
#[derive(Debug, Default)]
struct Expected {
    /// Number of answers to each id.
    answers: BTreeMap<String, usize>,
    /// Number of additional answers allowed: to messages that have an id and break a rule.
    more: BTreeMap<String, usize>,
    asked: usize,
    /// Bodies that are not JSON or not a message; each gets an error without an id.
    unreadable: usize,
    bodies: Vec<Value>,
    /// The client left, or the rest belongs to an incomplete message.
    over: bool,
}

/// The members of a message; a duplicate is an error.
#[derive(Debug, Deserialize)]
struct Parts {
    jsonrpc: Option<Value>,
    method: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    params: Option<Value>,
    id: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    result: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    error: Option<Value>,
}

/// Some also if the value is null.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Expected {
    /// Reads as the author of a client would who has read the specification; looks for the next header in unreadable
    /// lines.
    fn of(mut sent: &[u8]) -> Self {
        let mut expected = Self::default();
        let mut length = None;
        while let Some(end) = sent.iter().position(|b| *b == b'\n') {
            let line = sent[..end].trim_ascii();
            sent = &sent[end + 1..];
            if !line.is_empty() {
                length = header(line, length);
                continue;
            }
            let Some(count) = length.take() else { continue };
            let Some((body, rest)) = sent.split_at_checked(count) else {
                expected.over = true;
                return expected;
            };
            sent = rest;
            expected.expect(body);
        }
        expected.over |= length.is_some() || !sent.is_empty();
        expected
    }

    fn expect(&mut self, body: &[u8]) {
        let is_object = body.trim_ascii_start().starts_with(b"{");
        let text = std::str::from_utf8(body).ok().filter(|_| is_object);
        let parts = text.map(serde_json::from_str::<Parts>);
        let Some(Ok(parts)) = parts else {
            self.unreadable += 1;
            return;
        };
        if parts.method.is_some() && (parts.result.is_some() || parts.error.is_some()) {
            self.unreadable += 1;
            return;
        }
        let method = parts.method.as_ref().and_then(Value::as_str);
        if let Some(id) = &parts.id {
            let is_id = id.is_i64() || id.is_string();
            let params = parts.params.as_ref();
            let has_params = params.is_none_or(|params| params.is_object() || params.is_array());
            let is_right = parts.jsonrpc.is_some_and(|version| version == "2.0");
            let right = is_right && method.is_some() && is_id && has_params;
            let counted = if right {
                &mut self.answers
            } else {
                &mut self.more
            };
            *counted.entry(id.to_string()).or_default() += 1;
            self.asked += 1;
        }
        self.over |= method == Some("exit");
        self.bodies.extend(parts.params);
    }
}

/// Returns the length from a header line. Another header keeps the length; an unreadable line clears it, unless it
/// ends with a header.
fn header(line: &[u8], length: Option<usize>) -> Option<usize> {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    if text.starts_with("content-type:") {
        return length;
    }
    let (_, value) = text.rsplit_once("content-length:")?;
    value.trim().parse().ok()
}

/// The client, and its connection to the server.
struct Talk {
    out: UnboundedSender<Vec<u8>>,
    from: BufReader<DuplexStream>,
    answers: BTreeMap<String, usize>,
    last: bool,
    version: i32,
}

async fn talk(sent: Vec<u8>, expected: &Expected, world: &World) {
    let (client_out, server_in) = tokio::io::duplex(64 << 10);
    let (server_out, client_in) = tokio::io::duplex(64 << 10);
    let (server, serving) =
        crate::lsp::serve::start(Some(world.store_dir()), server_in, server_out);
    let serving = tokio::spawn(serving);
    let (out, outgoing) = unbounded_channel();
    tokio::spawn(write(client_out, outgoing));
    let mut talk = Talk {
        out,
        from: BufReader::new(client_in),
        answers: BTreeMap::new(),
        last: false,
        version: 1 << 20,
    };
    talk.out.send(sent).unwrap();
    if expected.over {
        drop(talk.out);
        let mut rest = Vec::new();
        let end = talk.from.read_to_end(&mut rest);
        within("it ends", end).await.unwrap();
    } else {
        talk.until(expected).await;
        talk.send(&json!({ "jsonrpc": "2.0", "id": LAST, "method": "shutdown" }));
        while !talk.last {
            talk.next("the shutdown is answered").await;
        }
        talk.send(&json!({ "jsonrpc": "2.0", "method": "exit" }));
        while within("nothing more is said", read(&mut talk.from))
            .await
            .is_some()
        {}
        assert!(talk.has(expected), "{:?}, not {expected:#?}", talk.answers);
    }
    within("it ends", serving).await.unwrap();
    finish_jobs(&server).await;
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(TIMEOUT, future).await;
    done.unwrap_or_else(|late| panic!("{what}: {late} ({} s)", TIMEOUT.as_secs()))
}

/// Waits until every workspace has finished its jobs, and checks that each still accepts some.
async fn finish_jobs(server: &ServerState) {
    for handle in server.workspaces.all() {
        for outcome in [
            handle.ask(|_| Ok(())).await,
            handle.act(false, |_| Ok(())).await,
        ] {
            if let Err(error) = outcome {
                let text = error.to_string();
                assert!(!text.contains("the server failed at this"), "{text}");
            }
        }
    }
}

async fn write(mut to: DuplexStream, mut outgoing: UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = outgoing.recv().await {
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Reads the next message of the server, which must be well-formed.
async fn read(from: &mut BufReader<DuplexStream>) -> Option<Value> {
    let mut line = String::new();
    if from.read_line(&mut line).await.unwrap() == 0 {
        return None;
    }
    let length = line.strip_prefix("Content-Length: ").unwrap().trim_end();
    let mut body = vec![0; length.parse().unwrap()];
    from.read_line(&mut line).await.unwrap();
    assert!(line.ends_with("\r\n\r\n"), "{line:?}");
    from.read_exact(&mut body).await.unwrap();
    Some(serde_json::from_slice(&body).unwrap())
}

impl Talk {
    fn send(&self, message: &Value) {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.out.send(framed.into_bytes()).ok();
    }

    fn has(&self, expected: &Expected) -> bool {
        let count = |all: &BTreeMap<String, usize>, id: &str| all.get(id).copied().unwrap_or(0);
        let ids = self.answers.keys().chain(expected.answers.keys());
        let is_answered = |id: &String| {
            let (answers, least) = (count(&self.answers, id), count(&expected.answers, id));
            answers >= least && (id == "null" || answers <= least + count(&expected.more, id))
        };
        ids.into_iter().all(is_answered) && count(&self.answers, "null") >= expected.unreadable
    }

    async fn until(&mut self, expected: &Expected) {
        while !self.has(expected) {
            let what = "every request is answered";
            if tokio::time::timeout(TIMEOUT, self.next(what))
                .await
                .is_err()
            {
                panic!("{what} once: {:?}, not {expected:#?}", self.answers);
            }
        }
    }

    /// Reads one message, and answers it as an editor does.
    async fn next(&mut self, what: &str) {
        let message = within(what, read(&mut self.from)).await;
        let message = message.unwrap_or_else(|| panic!("{what}: the server ended"));
        let Some(method) = message["method"].as_str() else {
            self.count_answer(&message);
            return;
        };
        let params = &message["params"];
        let result = match method {
            "workspace/applyEdit" => {
                self.apply(&params["edit"]);
                json!({ "applied": true })
            }
            "window/showMessageRequest" => {
                // each answer in turn, and no answer
                self.version += 1;
                let turn = usize::try_from(self.version).unwrap();
                let actions = params["actions"].as_array().unwrap();
                let chosen = actions.get(turn % (actions.len() + 1));
                chosen.cloned().unwrap_or_default()
            }
            "window/showDocument" => json!({ "success": true }),
            _ => Value::Null,
        };
        if message.get("id").is_some() {
            self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        }
    }

    fn count_answer(&mut self, answer: &Value) {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        let both = answer.get("result").is_some() && answer.get("error").is_some();
        assert!(!both, "{answer}");
        let text = answer.to_string();
        assert!(answer["error"]["code"] != -32603, "a panic: {text}");
        assert!(!text.contains("the server failed at this"), "{text}");
        if answer["id"] == LAST {
            self.last = true;
            return;
        }
        *self.answers.entry(answer["id"].to_string()).or_default() += 1;
    }

    /// Sends the edits as changes, the last in the text first.
    fn apply(&mut self, edit: &Value) {
        let mut all: Vec<(String, Vec<Value>)> = Vec::new();
        for change in edit["documentChanges"].as_array().into_iter().flatten() {
            let uri = change["textDocument"]["uri"].as_str().unwrap().to_owned();
            all.push((uri, change["edits"].as_array().unwrap().clone()));
        }
        for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
            all.push((uri.clone(), edits.as_array().unwrap().clone()));
        }
        for (uri, edits) in all {
            self.version += 1;
            let changes = edits.iter().rev();
            let changes =
                changes.map(|edit| json!({ "range": edit["range"], "text": edit["newText"] }));
            let params = json!({
                "textDocument": { "uri": uri, "version": self.version },
                "contentChanges": changes.collect::<Vec<_>>(),
            });
            self.send(
                &json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Once;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const SESSIONS: [&str; 3] = [
        include_str!("../../../tests/fuzz/seeds/editing"),
        include_str!("../../../tests/fuzz/seeds/commands"),
        include_str!("../../../tests/fuzz/seeds/broken"),
    ];
    const EDITORS: [&str; 4] = [
        include_str!("../../../tests/e2e/lsp/caps/vscode.json"),
        include_str!("../../../tests/e2e/lsp/caps/nvim.json"),
        include_str!("../../../tests/e2e/lsp/caps/helix.json"),
        include_str!("../../../tests/e2e/lsp/caps/eglot.json"),
    ];

    /// Number of panics in the server's threads, including those that it survives.
    static PANICS: AtomicUsize = AtomicUsize::new(0);

    fn without_panics(run: impl FnOnce() -> bool) -> bool {
        static COUNTING: Once = Once::new();
        COUNTING.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                let thread = std::thread::current();
                let name = thread.name().unwrap_or_default();
                if name.starts_with("backstitch ") || name.contains("fuzz::wire") {
                    PANICS.fetch_add(1, Ordering::Relaxed);
                }
                before(info);
            }));
        });
        let tried = run();
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "panics, if survived");
        tried
    }

    fn initialize(editor: &str) -> String {
        let capabilities: Value = serde_json::from_str(editor).unwrap();
        let params = json!({
            "capabilities": capabilities, "rootUri": "file:///w",
            "initializationOptions": { "backstitch": { "notifications": true } },
        });
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
    }

    fn all(editor: &str) -> String {
        let [editing, commands, _] = SESSIONS;
        format!("{}\n{editing}{commands}", initialize(editor))
    }

    #[test]
    fn found_inputs_pass() {
        for (file, input) in super::super::found("wire") {
            println!("{}", file.display());
            without_panics(|| alone(&input) | whole(&input));
        }
    }

    #[test]
    fn every_editor_is_served() {
        for editor in EDITORS {
            assert!(without_panics(|| whole(all(editor).as_bytes())));
        }
        assert!(without_panics(|| whole(SESSIONS[2].as_bytes())));
    }

    /// Changes a session: kind of change, position, bytes.
    fn changed(session: &mut Vec<u8>, kind: u8, at: usize, with: &[u8]) {
        let at = at % session.len().max(1);
        let end = session.len().min(at + with.len());
        let line = |from: usize, session: &[u8]| {
            let newline = session[from..].iter().position(|b| *b == b'\n');
            newline.map_or(session.len(), |newline| from + newline + 1)
        };
        match kind {
            0 => session[at..end].copy_from_slice(&with[..end - at]),
            1 => {
                session.drain(at..end);
            }
            2 => {
                session.splice(at..at, with.iter().copied());
            }
            3 => {
                // duplicates a line
                let start = line(at, session);
                let end = line(start.min(session.len()), session);
                let again = session[start..end].to_vec();
                session.splice(start..start, again);
            }
            _ => {
                let start = line(at, session);
                let end = line(start.min(session.len()), session);
                session.drain(start..end);
            }
        }
    }

    fn any_session() -> impl Strategy<Value = Vec<u8>> {
        let changes = vec((0_u8..5, any::<usize>(), vec(any::<u8>(), 1..5)), 0..6);
        (0_usize..EDITORS.len(), changes).prop_map(|(editor, changes)| {
            let mut session = all(EDITORS[editor]).into_bytes();
            for (kind, at, with) in changes {
                changed(&mut session, kind, at, &with);
            }
            session
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(super::super::cases(8, 24)) })]
        #[test]
        fn a_session_with_mistakes_is_served(input in any_session()) {
            without_panics(|| whole(&input));
        }

        #[test]
        fn any_bytes_are_survived(lines in vec(vec(any::<u8>(), 0..40), 0..20)) {
            without_panics(|| alone(&lines.join(&b'\n')));
        }
    }
}
