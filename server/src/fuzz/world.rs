//! A small workspace with a history, or an empty directory, created for each input. Owns the paths that a message may
//! name: nothing outside, so that no input of a fuzzer touches the machine.

use std::path::{Path, PathBuf};

use backstitch_agents as agents;
use backstitch_core::{Engine, Locate, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lsp::documents::uri;
use crate::opening;

/// Path of the workspace in inputs.
const ROOT: &str = "/w";

#[derive(Debug)]
pub struct World {
    dir: TempDir,
}

const FILES: [(&str, &str); 3] = [
    ("a.txt", "one\ntwo\nthree\nfour\n"),
    (
        "src/b.txt",
        "r\u{e9}sum\u{e9}\r\n𝄞 = 1\r\nlast line, without an end",
    ),
    ("empty", ""),
];

impl World {
    /// Creates the directory, in memory if the system has `/dev/shm`. `history`: with files, a checkpoint
    /// and a turn of an agent; else without any file.
    pub fn new(history: bool) -> Self {
        let memory = Path::new("/dev/shm");
        let dir = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
        let world = Self { dir: dir.unwrap() };
        if history {
            world.fill();
        }
        world
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub fn store_dir(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub fn engine(&self) -> Engine {
        let workspace = Workspace::find(&Locate {
            workspace: Some(&self.root()),
            store_dir: Some(&self.store_dir()),
            cwd: self.dir.path(),
        });
        Engine::open_with(&workspace.unwrap(), opening::SERVER).unwrap()
    }

    fn fill(&self) {
        for (path, text) in FILES {
            let path = self.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut engine = self.engine();
        engine.capture_mut().checkpoint(Some("start")).unwrap();
        let agent = agents::agent("claude-code").unwrap();
        let mut send = |name: &str, more: Value| {
            let mut payload = json!({
                "session_id": "s1", "prompt_id": "p1", "cwd": self.root(), "hook_event_name": name,
                "transcript_path": self.root().join("t.jsonl"), "permission_mode": "acceptEdits",
            });
            let more = more.as_object().unwrap().clone();
            payload.as_object_mut().unwrap().extend(more);
            let event = agent.parse(payload.to_string().as_bytes()).unwrap();
            engine.capture_mut().record(&event).unwrap();
        };
        let file = self.root().join("a.txt");
        let edit = json!({
            "tool_name": "Edit", "tool_use_id": "e1",
            "tool_input": { "file_path": file, "old_string": "two", "new_string": "2\n2" },
        });
        send("UserPromptSubmit", json!({ "prompt": "make it two" }));
        send("PreToolUse", edit.clone());
        std::fs::write(&file, "one\n2\n2\nthree\nfour\n").unwrap();
        let mut done = edit;
        done["tool_response"] = json!({
            "filePath": file, "oldString": "two", "newString": "2\n2", "originalFile": FILES[0].1,
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        });
        send("PostToolUse", done);
        send("Stop", json!({ "stop_hook_active": false }));
    }

    /// Returns the input with the workspace's real path in it.
    pub fn localized(&self, line: &str) -> String {
        let root = self.root().display().to_string();
        let line = line.replace(&format!("file://{ROOT}"), &format!("file://{root}"));
        let coded = root.replace('/', "%2F");
        let line = line.replace(
            &format!("//{}/", ROOT.replace('/', "%2F")),
            &format!("//{coded}/"),
        );
        line.replace(&format!("\"{ROOT}"), &format!("\"{root}"))
    }

    /// True if a message names a path outside.
    pub fn names_outside(&self, message: &Value) -> bool {
        match message {
            Value::Array(all) => all.iter().any(|value| self.names_outside(value)),
            Value::Object(all) => all
                .iter()
                .any(|(key, value)| self.is_outside(key, value) || self.names_outside(value)),
            _ => false,
        }
    }

    fn is_outside(&self, key: &str, value: &Value) -> bool {
        const PLACES: [&str; 7] = [
            "uri",
            "rootUri",
            "rootPath",
            "workspace",
            "into",
            "paths",
            "cwd",
        ];
        let Some(text) = value.as_str() else {
            let mut all = value.as_array().into_iter().flatten();
            return all.any(|value| value.is_string() && self.is_outside(key, value));
        };
        if !PLACES.contains(&key) {
            return false;
        }
        let full = uri::to_path(text).unwrap_or_else(|| text.into());
        let own = uri::Virtual::parse(text).map(|own| own.root);
        let full = own.unwrap_or(full);
        let inside = full.starts_with(self.root());
        let up = full.components().any(|part| part.as_os_str() == "..");
        let nowhere = text.starts_with("untitled:");
        up || !(inside || nowhere)
    }
}
