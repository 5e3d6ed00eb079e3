//! Simulates Claude Code: sends its hook events, in the shapes recorded in `tests/agents/payloads`, and does the work.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Output, World};

/// One session of the agent, or one of its subagents.
///
/// Every event must leave the hook with exit status 0, and without output unless [`Agent::let_complain`] was called.
#[derive(Debug, Clone)]
pub struct Agent<'w> {
    world: &'w World,
    /// Number of the session in its world: all ids of a session derive from it.
    number: u32,
    shared: Arc<Shared>,
    prompt: u32,
    subagent: Option<String>,
}

/// State shared by a session and its subagents.
#[derive(Debug, Default)]
struct Shared {
    prompts: AtomicU32,
    calls: AtomicU32,
    subagents: AtomicU32,
    may_complain: AtomicBool,
    sent: Mutex<Vec<Value>>,
}

/// A tool call between its two events.
#[derive(Debug)]
pub struct Call {
    pub id: String,
    pub tool: &'static str,
    pub input: Value,
    /// Output of the hook before the call.
    pub answer: Output,
}

impl Call {
    /// Decision in the hook's output, such as `deny`; None if it let the call run silently.
    pub fn decision(&self) -> Option<String> {
        let answer: Value = serde_json::from_str(self.answer.stdout.trim()).ok()?;
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        decision.as_str().map(str::to_owned)
    }
}

fn next(counter: &AtomicU32) -> u32 {
    counter.fetch_add(1, Ordering::Relaxed) + 1
}

impl<'w> Agent<'w> {
    pub(super) fn new(world: &'w World, number: u32) -> Self {
        Self {
            world,
            number,
            shared: Arc::default(),
            prompt: 0,
            subagent: None,
        }
    }

    /// Id of the session.
    pub fn session(&self) -> String {
        format!("00000000-0000-4000-8000-{:012}", self.number)
    }

    /// Id of the current prompt.
    pub fn prompt_id(&self) -> String {
        format!(
            "00000000-0000-4000-9000-{:06}{:06}",
            self.number, self.prompt
        )
    }

    /// Path of the session's conversation, one line of JSON per message.
    pub fn transcript(&self) -> std::path::PathBuf {
        let project = self
            .world
            .root
            .to_string_lossy()
            .replace(['/', '.', '_'], "-");
        let directory = self.world.home.join(".claude/projects").join(project);
        directory.join(format!("{}.jsonl", self.session()))
    }

    // ---- events ----------------------------------------------------------------------------------------------------

    /// Allows the hook to report on stderr what it could not record, from now on.
    pub fn let_complain(&self) {
        self.shared.may_complain.store(true, Ordering::Relaxed);
    }

    /// Sends one event with these fields in addition to the usual ones.
    #[track_caller]
    pub fn event(&self, name: &str, fields: Value) -> Output {
        let payload = self.payload(name, fields);
        let output = self.world.hook(&payload).expect_code(0);
        if !self.shared.may_complain.load(Ordering::Relaxed) {
            assert_eq!(output.stderr, "", "the hook complains of {payload}");
        }
        let sent = self.shared.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).push(payload);
        output
    }

    /// Payload of one event with these fields in addition to the usual ones, not sent.
    pub fn payload(&self, name: &str, fields: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session(),
            "transcript_path": self.transcript(),
            "cwd": self.world.root,
            "hook_event_name": name,
        });
        if name != "SessionStart" {
            payload["prompt_id"] = json!(self.prompt_id());
        }
        if !matches!(name, "SessionStart" | "SessionEnd" | "SubagentStart") {
            payload["permission_mode"] = json!("acceptEdits");
        }
        if let Some(id) = &self.subagent {
            payload["agent_id"] = json!(id);
            payload["agent_type"] = json!("general-purpose");
        }
        let Value::Object(fields) = fields else {
            panic!("fields are an object")
        };
        payload.as_object_mut().expect("an object").extend(fields);
        payload
    }

    /// All payloads that this session has sent so far.
    pub fn sent(&self) -> Vec<Value> {
        let sent = self.shared.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The session begins.
    #[track_caller]
    pub fn session_start(&self) -> Output {
        self.event("SessionStart", json!({"source": "startup"}))
    }

    /// The session is resumed.
    #[track_caller]
    pub fn session_resume(&self) -> Output {
        self.event("SessionStart", json!({"source": "resume"}))
    }

    #[track_caller]
    pub fn session_end(&self) -> Output {
        self.event("SessionEnd", json!({"reason": "other"}))
    }

    /// The user sends a prompt: a turn begins.
    #[track_caller]
    pub fn prompt(&mut self, text: &str) -> Output {
        self.prompt = next(&self.shared.prompts);
        self.say("user", text);
        self.event("UserPromptSubmit", json!({"prompt": text}))
    }

    /// A background task has ended and the model is notified: it looks like a prompt, but is not a turn.
    #[track_caller]
    pub fn task_notification(&mut self, task: &str) -> Output {
        let text = format!(
            "<task-notification>\n<task-id>{task}</task-id>\n<status>completed</status>\n</task-notification>"
        );
        self.prompt(&text)
    }

    /// The turn ends.
    #[track_caller]
    pub fn stop(&self) -> Output {
        self.stop_with(&json!([]))
    }

    /// The turn ends while these background tasks still run.
    #[track_caller]
    pub fn stop_with(&self, background_tasks: &Value) -> Output {
        self.say("assistant", "done");
        let fields = json!({
            "stop_hook_active": false, "last_assistant_message": "done",
            "background_tasks": background_tasks, "session_crons": [],
        });
        self.event("Stop", fields)
    }

    /// Appends a message to the transcript.
    fn say(&self, role: &str, text: &str) {
        let path = self.transcript();
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(path)
            .expect("a transcript");
        let row = json!({
            "type": role, "sessionId": self.session(), "promptId": self.prompt_id(),
            "message": {"role": role, "content": text},
        });
        writeln!(file, "{row}").expect("a line");
    }

    // ---- one call, in its parts ------------------------------------------------------------------------------------

    /// A call is about to run.
    #[track_caller]
    pub fn pre(&self, tool: &'static str, input: Value) -> Call {
        let id = format!("toolu_{}_{}", self.number, next(&self.shared.calls));
        let fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        let answer = self.event("PreToolUse", fields);
        Call {
            id,
            tool,
            input,
            answer,
        }
    }

    /// A call has succeeded.
    #[track_caller]
    pub fn post(&self, call: &Call, response: &Value) -> Output {
        let fields = json!({
            "tool_name": call.tool, "tool_input": call.input, "tool_response": response,
            "tool_use_id": call.id, "duration_ms": 12,
        });
        self.event("PostToolUse", fields)
    }

    /// A call has failed; its changes up to then stay.
    #[track_caller]
    pub fn failed(&self, call: &Call, error: &str) -> Output {
        let fields = json!({
            "tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id,
            "error": error, "is_interrupt": false, "duration_ms": 12,
        });
        self.event("PostToolUseFailure", fields)
    }

    /// All calls of one message have ended, with any result.
    #[track_caller]
    pub fn batch(&self, calls: &[&Call]) -> Output {
        let calls = calls.iter().map(|c| {
            json!({
                "tool_name": c.tool, "tool_input": c.input, "tool_use_id": c.id, "tool_response": "done",
            })
        });
        self.event(
            "PostToolBatch",
            json!({"tool_calls": calls.collect::<Vec<_>>()}),
        )
    }

    #[track_caller]
    pub fn pre_edit(&self, path: &str, old: &str, new: &str) -> Call {
        let input = json!({
            "file_path": self.world.path(path), "old_string": old, "new_string": new, "replace_all": false,
        });
        self.pre("Edit", input)
    }

    #[track_caller]
    pub fn pre_write(&self, path: &str, content: &str) -> Call {
        self.pre(
            "Write",
            json!({"file_path": self.world.path(path), "content": content}),
        )
    }

    #[track_caller]
    pub fn pre_bash(&self, command: &str) -> Call {
        self.pre(
            "Bash",
            json!({"command": command, "description": "run a command"}),
        )
    }

    /// Applies an Edit or a Write call. Returns the agent's response to it.
    #[track_caller]
    pub fn apply(&self, call: &Call) -> Value {
        let field = |name: &str| call.input[name].as_str().unwrap_or_default().to_owned();
        let path = field("file_path");
        let before = Path::new(&path).exists().then(|| self.world.read(&path));
        let shown = before.as_ref().map(|text| text.replace("\r\n", "\n"));
        if call.tool == "Write" {
            self.world.write(&path, field("content"));
            return json!({
                "type": if before.is_some() { "update" } else { "create" }, "filePath": path,
                "content": field("content"), "structuredPatch": [], "originalFile": shown, "userModified": false,
            });
        }
        let (old, new) = (field("old_string"), field("new_string"));
        let before = before.unwrap_or_else(|| panic!("{path}: no such file to edit"));
        assert!(before.contains(&old), "{path}: {old:?} is not in it");
        self.world.write(&path, before.replacen(&old, &new, 1));
        json!({
            "filePath": path, "oldString": old, "newString": new, "originalFile": shown,
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        })
    }

    /// Runs a Bash call's command.
    pub fn execute(&self, call: &Call) -> Output {
        self.world
            .sh(call.input["command"].as_str().expect("a command"))
    }

    /// Reports the end of a Bash call.
    #[track_caller]
    pub fn post_bash(&self, call: &Call, output: &Output) -> Output {
        if output.code != 0 {
            let error = format!("Exit code {}\n{}", output.code, output.stderr);
            return self.failed(call, &error);
        }
        let response = json!({
            "stdout": output.stdout, "stderr": output.stderr,
            "interrupted": false, "isImage": false, "noOutputExpected": false,
        });
        self.post(call, &response)
    }

    // ---- whole calls, each alone in its message --------------------------------------------------------------------

    /// Replaces the first `old` in a file by `new`.
    #[track_caller]
    pub fn edit(&self, path: &str, old: &str, new: &str) -> Call {
        let call = self.pre_edit(path, old, new);
        let response = self.apply(&call);
        self.post(&call, &response);
        self.batch(&[&call]);
        call
    }

    /// Writes a whole file.
    #[track_caller]
    pub fn write(&self, path: &str, content: &str) -> Call {
        let call = self.pre_write(path, content);
        let response = self.apply(&call);
        self.post(&call, &response);
        self.batch(&[&call]);
        call
    }

    /// Runs a shell command; a failing one is reported as failed.
    #[track_caller]
    pub fn bash(&self, command: &str) -> Output {
        let call = self.pre_bash(command);
        let output = self.execute(&call);
        self.post_bash(&call, &output);
        self.batch(&[&call]);
        output
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, path: &str) -> Call {
        let call = self.pre("Read", json!({"file_path": self.world.path(path)}));
        let content = self.world.read(path);
        let file = json!({"filePath": self.world.path(path), "content": content, "startLine": 1});
        self.post(&call, &json!({"type": "text", "file": file}));
        self.batch(&[&call]);
        call
    }

    /// Ends a call after its first event: denied by a hook, or stopped by the user.
    #[track_caller]
    pub fn denied(&self, call: &Call) -> Output {
        self.batch(&[call])
    }

    /// A subagent of this session: same session and prompt, an agent id of its own.
    #[track_caller]
    pub fn subagent(&self) -> Agent<'w> {
        let mut subagent = self.clone();
        subagent.subagent = Some(format!("a{:016}", next(&self.shared.subagents)));
        subagent.event("SubagentStart", json!({}));
        subagent
    }

    /// The subagent has finished.
    #[track_caller]
    pub fn subagent_stop(&self) -> Output {
        assert!(self.subagent.is_some(), "not a subagent");
        let fields = json!({
            "stop_hook_active": false, "agent_transcript_path": self.transcript().with_extension("sub.jsonl"),
            "last_assistant_message": "done", "background_tasks": [], "session_crons": [],
        });
        self.event("SubagentStop", fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Keys of an object, without fields that the hook does not use.
    fn keys(value: &Value) -> BTreeSet<&str> {
        let unplayed = ["effort", "numLines", "totalLines", "structuredPatch"];
        let keys = value.as_object().expect("an object").keys();
        keys.map(String::as_str)
            .filter(|k| !unplayed.contains(k))
            .collect()
    }

    #[track_caller]
    fn assert_as_recorded(sent: &Value, name: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/payloads/claude");
        let text = fs::read_to_string(format!("{folder}/{name}.json")).expect(name);
        let recorded: Value = serde_json::from_str(&text).expect(name);
        assert_eq!(keys(sent), keys(&recorded), "{name}");
        for part in ["tool_input", "tool_response"] {
            if recorded[part].is_object() {
                assert_eq!(keys(&sent[part]), keys(&recorded[part]), "{part} of {name}");
            }
        }
    }

    #[test]
    fn events_have_the_recorded_shapes() {
        let world = World::new();
        world.write("a.txt", "one\n");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("change it");
        agent.read("a.txt");
        agent.edit("a.txt", "one", "two");
        agent.write("b.txt", "new\n");
        agent.write("a.txt", "other\n");
        agent.bash("echo more >> a.txt");
        agent.bash("exit 3");
        let call = agent.pre_write("c.txt", "no\n");
        agent.denied(&call);
        let subagent = agent.subagent();
        subagent.edit("a.txt", "more", "less");
        subagent.subagent_stop();
        agent.stop();
        agent.session_end();

        let expected = [
            "SessionStart-startup",
            "UserPromptSubmit",
            "PreToolUse-Read",
            "PostToolUse-Read",
            "PostToolBatch",
            "PreToolUse-Edit",
            "PostToolUse-Edit",
            "PostToolBatch",
            "PreToolUse-Write",
            "PostToolUse-Write",
            "PostToolBatch",
            "PreToolUse-Write",
            "PostToolUse-Write-update",
            "PostToolBatch",
            "PreToolUse-Bash",
            "PostToolUse-Bash",
            "PostToolBatch",
            "PreToolUse-Bash",
            "PostToolUseFailure-Bash",
            "PostToolBatch",
            "PreToolUse-Write",
            "PostToolBatch-denied",
            "SubagentStart",
            "PreToolUse-Edit-in_subagent",
            "PostToolUse-Edit-in_subagent",
            "PostToolBatch-in_subagent",
            "SubagentStop",
            "Stop",
            "SessionEnd",
        ];
        let sent = agent.sent();
        assert_eq!(sent.len(), expected.len());
        for (sent, name) in sent.iter().zip(expected) {
            assert_as_recorded(sent, name);
        }
        assert_eq!(world.read("a.txt"), "other\nless\n");
        assert!(!world.exists("c.txt"));
    }

    #[test]
    fn an_edit_keeps_line_endings_and_reports_them_as_the_agent_does() {
        let world = World::new();
        world.write("crlf.txt", "one\r\nmore\r\n");
        let agent = world.agent();
        let call = agent.pre_edit("crlf.txt", "one", "two");
        let response = agent.apply(&call);
        assert_eq!(world.read("crlf.txt"), "two\r\nmore\r\n");
        assert_eq!(response["originalFile"], "one\nmore\n");
    }

    #[test]
    fn ids_differ_between_sessions_and_prompts() {
        let world = World::new();
        let (mut a, b) = (world.agent(), world.agent());
        assert_ne!(a.session(), b.session());
        let before = a.prompt_id();
        a.prompt("one");
        assert_ne!(a.prompt_id(), before);
        let subagent = a.subagent();
        assert_eq!(
            (subagent.session(), subagent.prompt_id()),
            (a.session(), a.prompt_id())
        );
        assert_eq!(
            fs::read_to_string(a.transcript()).unwrap().lines().count(),
            1
        );
    }
}
