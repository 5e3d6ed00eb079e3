//! Real agents behind the proxy, offline against a scripted model, with a client of the protocol's makers before it.
//!
//! Where one is not installed, a test says so and passes; with `CI=true` it fails.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, Error, FileSystemCapabilities, InitializeRequest,
    NewSessionRequest, PermissionOptionKind, PromptRequest, ReadTextFileRequest,
    ReadTextFileResponse, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, TextContent,
    WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{AcpAgent, AcpAgentConfig, Agent, Client};
use serde_json::{Value, json};

use super::{sides, story};
use crate::control::Watcher;
use crate::real_agents::agents;
use crate::real_claude::rig;
use crate::support::{World, binary, finish};

const ONE: &str = "fn main() {\n    println!(\"one\");\n}\n";

/// An agent, its command, and its tools.
struct Real {
    name: &'static str,
    args: &'static [&'static str],
    edit: &'static str,
    write: &'static str,
    shell: &'static str,
    /// It asks before it runs a command.
    asks: bool,
    /// It reads files through its client. Gemini does not take the answer that a file is absent.
    reads: bool,
}

const ALL: [Real; 3] = [
    Real {
        name: "gemini",
        args: &["--experimental-acp"],
        edit: "replace",
        write: "write_file",
        shell: "run_shell_command",
        asks: true,
        reads: false,
    },
    Real {
        name: "qwen",
        args: &["--experimental-acp"],
        edit: "edit",
        write: "write_file",
        shell: "run_shell_command",
        asks: true,
        reads: true,
    },
    Real {
        name: "opencode",
        args: &["acp"],
        edit: "edit",
        write: "write",
        shell: "bash",
        asks: false,
        reads: true,
    },
];

/// A real agent's workspace, and the command that starts it behind the proxy.
struct Session {
    world: World,
    agents: PathBuf,
    agent: &'static Real,
}

/// The client's part of a conversation.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Questions of the agent.
    questions: usize,
    /// Reasons why turns ended.
    ends: Vec<String>,
}

impl Session {
    fn new(test: &str, agent: &'static Real, with_hooks: bool) -> Option<Self> {
        let agents = agents(&format!("acp::{test}"), agent.name)?;
        let script = rig().join("scripts/multi_turn.json");
        let content: Value =
            serde_json::from_str(&fs::read_to_string(script).expect("a script")).expect("JSON");
        let files = content["workspace"].as_object().expect("files").iter();
        let files: Vec<_> = files
            .map(|(path, text)| (path.as_str(), text.as_str().expect("text")))
            .collect();
        let world = World::committed(&files);
        if with_hooks {
            let path = std::env::var("PATH").expect("a path");
            let path = format!("{}:{path}", agents.join("bin").display());
            let mut setup = world.backstitch();
            setup
                .args(["setup", agent.name, "--scope", "user"])
                .env("PATH", path);
            finish(&mut setup, b"").expect_code(0);
        }
        Some(Self {
            world,
            agents,
            agent,
        })
    }

    /// The command of the agent behind the proxy. `script`: of the model.
    fn command(&self, script: &PathBuf) -> AcpAgent {
        let world = &self.world;
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let mut args = vec![
            text(&rig().join("run_beside.py")),
            self.agent.name.to_owned(),
        ];
        for (option, value) in [
            ("--dest", &self.agents),
            ("--script", script),
            ("--workspace", &world.root),
            ("--home", &world.home),
        ] {
            args.extend([option.to_owned(), text(value)]);
        }
        for (name, value) in world.env() {
            if ["XDG_STATE_HOME", "XDG_CONFIG_HOME"].contains(&name) {
                args.extend(["--env".to_owned(), format!("{name}={}", value.display())]);
            }
        }
        args.extend(
            [
                "--",
                &binary::path().to_string_lossy(),
                "acp",
                "--",
                "{agent}",
            ]
            .map(str::to_owned),
        );
        args.extend(self.agent.args.iter().map(|arg| (*arg).to_owned()));
        AcpAgent::new(AcpAgentConfig::new("python3").args(args))
    }

    fn script(&self, part: Option<Value>) -> PathBuf {
        let Some(part) = part else {
            return rig().join("scripts/multi_turn.json");
        };
        let path = self.world.home.join("script.json");
        let whole = json!({ self.agent.name: part });
        fs::write(&path, whole.to_string()).expect("written");
        path
    }

    /// Sends prompts, one after the other, and allows what the agent asks. `between`: runs before each prompt but the first.
    fn play(&self, part: Option<Value>, prompts: &[&str], between: impl Fn(usize)) -> Told {
        let told = Arc::new(Mutex::new(Told::default()));
        let questions = Arc::clone(&told);
        let (root, ends) = (self.world.root.clone(), Arc::clone(&told));
        let client = Client
            .v1()
            .name("backstitch-tests")
            .on_receive_notification(
                async move |_: SessionNotification, _| Ok(()),
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |asked: RequestPermissionRequest, responder, _| {
                    questions.lock().expect("unpoisoned").questions += 1;
                    let allow = asked
                        .options
                        .iter()
                        .find(|option| option.kind == PermissionOptionKind::AllowOnce);
                    let id = allow.expect("an option").option_id.clone();
                    responder.respond(RequestPermissionResponse::new(
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
                    ))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: ReadTextFileRequest, responder, _| {
                    if let Ok(text) = fs::read_to_string(&asked.path) {
                        return responder.respond(ReadTextFileResponse::new(text));
                    }
                    let path = asked.path.display().to_string();
                    responder.respond_with_error(Error::resource_not_found(Some(path)).into())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |asked: WriteTextFileRequest, responder, _| {
                    fs::write(&asked.path, &asked.content).expect("written");
                    responder.respond(WriteTextFileResponse::new())
                },
                agent_client_protocol::on_receive_request!(),
            );
        let conversation = client.connect_with(
            self.command(&self.script(part)),
            async |connection: ConnectionTo<Agent>| {
                let files = FileSystemCapabilities::new()
                    .read_text_file(self.agent.reads)
                    .write_text_file(true);
                let hello = InitializeRequest::new(ProtocolVersion::V1)
                    .client_capabilities(ClientCapabilities::new().fs(files));
                connection.send_request(hello).block_task().await?;
                let new = NewSessionRequest::new(root);
                let session = connection.send_request(new).block_task().await?.session_id;
                for (number, prompt) in prompts.iter().enumerate() {
                    if number > 0 {
                        between(number);
                    }
                    let text = ContentBlock::Text(TextContent::new(*prompt));
                    let prompt = PromptRequest::new(session.clone(), vec![text]);
                    let end = connection.send_request(prompt).block_task().await?;
                    let reason = format!("{:?}", end.stop_reason);
                    ends.lock().expect("unpoisoned").ends.push(reason);
                }
                Ok(())
            },
        );
        futures::executor::block_on(conversation).expect("a conversation");
        let told = told.lock().expect("unpoisoned").clone();
        assert!(told.ends.iter().all(|end| end == "EndTurn"), "{told:?}");
        told
    }
}

/// Three turns with an edit of the user in between: each edit is one step with its tool, turn and image before it, with hooks and
/// without, and a rewind takes turns out and keeps the user's edit.
#[test]
fn three_turns_are_recorded_once_with_hooks_and_without() {
    let test = "three_turns_are_recorded_once_with_hooks_and_without";
    for agent in &ALL {
        for with_hooks in [false, true] {
            let Some(session) = Session::new(test, agent, with_hooks) else {
                return;
            };
            let world = &session.world;
            let prompts = [
                "change one to two",
                "add added.rs and change two to three",
                "delete old.rs",
            ];
            session.play(None, &prompts, |number| {
                if number == 2 {
                    world.write("notes.txt", "first note\nmine\n");
                }
            });
            let of_case = format!("{}, hooks: {with_hooks}", agent.name);
            let told = [
                "change one to two".to_owned(),
                format!("{} src/main.rs", agent.edit),
                "add added.rs and change two to three".to_owned(),
                format!("{} src/added.rs", agent.write),
                format!("{} src/main.rs", agent.shell),
                "external notes.txt".to_owned(),
                "delete old.rs".to_owned(),
                format!("{} src/old.rs", agent.shell),
            ];
            assert_eq!(story(world), told, "{of_case}");
            assert_eq!(
                sides(world, "c3", "src/main.rs"),
                (ONE.to_owned(), ONE.replace("one", "two")),
                "{of_case}"
            );
            let log = world.json(["log", "--all"]);
            let all = log["checkpoints"].as_array().expect("checkpoints").iter();
            let turns: Vec<&str> = all
                .rev()
                .filter(|one| one["kind"] == "step")
                .filter_map(|one| one["turn"].as_str())
                .collect();
            assert_eq!(turns, ["t1", "t2", "t2", "t3"], "{of_case}");
            let blame = world.json(["blame", "src/main.rs"]);
            assert_eq!(blame["lines"][1]["by"], "agent", "{of_case}: {blame:#}");
            assert_eq!(
                blame["runs"][1]["step_certainty"], "certain",
                "{of_case}: {blame:#}"
            );
            assert_eq!(
                blame["runs"][1]["agent"], agent.name,
                "{of_case}: {blame:#}"
            );
            world.ok(["rewind", "t2", "--yes"]);
            assert_eq!(
                world.read("src/main.rs"),
                ONE.replace("one", "two"),
                "{of_case}"
            );
            assert!(
                !world.exists("src/added.rs") && world.exists("src/old.rs"),
                "{of_case}"
            );
            assert_eq!(world.read("notes.txt"), "first note\nmine\n", "{of_case}");
            world.ok(["verify"]);
        }
    }
}

/// A command that a breakpoint concerns is refused before the client is asked; one that is let go is asked as ever.
#[test]
fn questions_of_real_agents_are_held() {
    for agent in ALL.iter().filter(|agent| agent.asks) {
        let Some(session) = Session::new("questions_of_real_agents_are_held", agent, false) else {
            return;
        };
        let world = &session.world;
        world.ok(["breakpoint", "add", "command", "theirs"]);
        let args = json!({"command": "echo theirs > out.txt", "description": "run it", "is_background": false});
        let part = json!([{ "tool": agent.shell, "args": args }, { "text": "done" }]);
        for decision in [&["deny", "-m", "leave it"][..], &["resume"][..]] {
            let told = std::thread::scope(|scope| {
                let mut watcher = Watcher::start(world);
                let playing = scope.spawn(|| session.play(Some(part.clone()), &["go on"], |_| {}));
                let pause = watcher.until("held");
                assert_eq!(pause["tool"], agent.shell, "{pause:#}");
                assert!(!world.exists("out.txt"));
                world.ok(decision);
                playing.join().expect("it ends")
            });
            let runs = decision[0] == "resume";
            assert_eq!(told.questions, usize::from(runs), "{}", agent.name);
            assert_eq!(world.exists("out.txt"), runs, "{}", agent.name);
        }
    }
}
