//! A workspace and its history, as the kill test models them: the owner of each file, the files at each checkpoint,
//! and the expected result of each restore.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Killer;
use crate::support::agent::Agent;
use crate::support::rng::Rng;
use crate::support::tree::{self, Entry, Kind, Tree, assert_same, difference};
use crate::support::{Output, World};

/// Files whose name begins with this are the user's; the agent owns all others.
const USERS: &str = "u";

pub struct Story<'w> {
    world: &'w World,
    agent: Agent<'w>,
    turns: Vec<(String, Tree)>,
    kept: Vec<(String, Tree)>,
    calls: u32,
    prompts: u32,
    tokens: u32,
    /// No other writer changed the agent's files, and every hook reported.
    sure: bool,
    /// Expected results of `undo` and `redo`, while they are possible.
    undo: Option<Tree>,
    redo: Option<Tree>,
}

/// The hook event to kill: the number of events before it.
type Victim<'k> = Option<(usize, &'k mut Killer)>;

impl<'w> Story<'w> {
    pub fn begin(world: &'w World, rng: &mut Rng) -> Self {
        world.git_ok(["init", "-q", "-b", "main"]);
        for name in [
            "src/a0.txt",
            "src/a1.txt",
            "src/a2.txt",
            "deep/er/a3.txt",
            "a4.txt",
            "u0.txt",
            "u1.txt",
        ] {
            let lines: Vec<String> = (0..12).map(|n| format!("{name} line {n}\n")).collect();
            world.write(name, lines.concat());
        }
        world.write("run.sh", "#!/bin/sh\n");
        world.set_mode("run.sh", 0o755);
        world.symlink("src/a1.txt", "link");
        if rng.once_in(3) {
            // too large for the database: goes to a pack
            world.write("a-big.bin", rng.bytes(1_280_000));
        }
        let mut story = Self {
            world,
            agent: world.agent(),
            turns: Vec::new(),
            kept: Vec::new(),
            calls: 0,
            prompts: 0,
            tokens: 0,
            sure: true,
            undo: None,
            redo: None,
        };
        story.turn(rng, None);
        story.turn(rng, None);
        story
    }

    // ---- the rounds ------------------------------------------------------------------------------------------------

    /// Runs a turn of the agent in which one hook is killed, or kills a command that scans.
    pub fn kill_a_capture(&mut self, rng: &mut Rng, killer: &mut Killer) {
        self.user_edits(rng);
        self.sure = false;
        if rng.once_in(3) {
            let (what, args) = *rng.pick(&[
                ("checkpoint", &["checkpoint", "-m", "killed"][..]),
                ("diff", &["diff"]),
                ("scan", &["scan"]),
            ]);
            let before = self.files();
            killer.run(rng, what, self.world.backstitch().args(args), "");
            assert_same(&self.files(), &before);
        } else {
            let at = rng.below(9);
            self.turn(rng, Some((at, killer)));
        }
        self.reopen(rng, killer);
        self.keep();
        if rng.once_in(4) {
            let (rev, tree) = rng.pick(&self.kept).clone();
            self.world.ok(["rewind", &rev, "--exact"]);
            assert_same(&self.files(), &tree);
            self.keep();
        }
    }

    /// Kills a restore; then the user may edit, and the recovery may be killed, too.
    pub fn kill_a_restore(&mut self, rng: &mut Rng, killer: &mut Killer) {
        let (what, args, after) = self.choose(rng);
        let before = self.files();
        let known = self.operations().len();
        let died = killer.run(rng, what, self.world.backstitch().args(&args), "");
        if !died {
            assert_same(&self.files(), &after);
            self.settled(what, before);
            return self.check(rng);
        }
        let mut foreign = BTreeMap::new();
        if rng.once_in(3) {
            self.interfere(rng, &before, &after, &mut foreign);
        }
        self.reopen(rng, killer);
        let operations = self.operations();
        let done = operations.len() > known;
        let operation = if done {
            operations[0].clone()
        } else {
            Value::Null
        };
        let context = format!("{what} {args:?}\n{operation:#}\nby others: {foreign:?}");
        self.assert_outcome(&before, &after, &foreign, &operation, &context);
        if done && operation["state"] == "done" {
            // a restore reported as done was done, even if another writer changed it later
            let node = operation["checkpoint"].as_str().expect("a checkpoint");
            let tree = self.materialized(node);
            assert!(tree == after, "{context}\n{}", difference(&after, &tree));
        }
        if foreign.is_empty() {
            self.undo = self.undo.take().filter(|_| !done);
            self.redo = self.redo.take().filter(|_| !done);
            if done {
                self.settled(what, before);
            }
        } else {
            self.sure = false;
            self.undo = None;
            self.redo = None;
            if done {
                // a foreign change that equals the result of the restore is not only theirs
                foreign.retain(|path, theirs| {
                    let theirs = theirs.as_ref();
                    theirs != before.get(path) && theirs != after.get(path)
                });
                self.undo_beside(&foreign, &context);
            }
        }
        self.check(rng);
    }

    /// Hooks run while a rewind dies: they wait for it, and the next process finishes it.
    pub fn rewind_dies_beside_hooks(&mut self, rng: &mut Rng) {
        if self.turns.len() < 4 || rng.once_in(3) {
            self.turn(rng, None);
        }
        let (rev, after) = rng.pick(&self.kept).clone();
        let before = self.files();
        let changed =
            |entries: &[Value]| entries.iter().filter(|e| e["kind"] == "external").count();
        let externals = changed(&self.log());
        let mut rewind = self.world.backstitch();
        rewind
            .args(["rewind", &rev, "--exact"])
            .env("BACKSTITCH_FAULT", (8 + rng.below(40)).to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut rewind = rewind.spawn().expect("a rewind");
        let hooks: Vec<_> = (0..3)
            .map(|_| self.call("PreToolUse", "Bash", &json!({"command": "true"})))
            .collect();
        std::thread::scope(|scope| {
            for payload in &hooks {
                scope.spawn(|| quiet(self.world.hook(payload)));
            }
        });
        rewind.wait().expect("an end");
        self.world.ok(["verify"]);
        let tree = self.files();
        assert!(
            tree == before || tree == after,
            "half done:\n{}\n{}",
            difference(&before, &tree),
            difference(&after, &tree)
        );
        assert_eq!(
            changed(&self.log()),
            externals,
            "somebody recorded a tree half done"
        );
        self.sure = false;
        self.keep();
    }

    /// Asserts that every kept checkpoint is still there.
    pub fn end(&self) {
        for (rev, tree) in &self.kept {
            assert_same(&self.materialized(rev), tree);
        }
        let (rev, tree) = self.kept.first().expect("a checkpoint");
        self.world.ok(["rewind", rev, "--exact"]);
        assert_same(&self.files(), tree);
    }

    // ---- what is done ----------------------------------------------------------------------------------------------

    /// Chooses a restore, with its expected result.
    fn choose(&mut self, rng: &mut Rng) -> (&'static str, Vec<String>, Tree) {
        let text = |args: &[&str]| args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        if rng.once_in(2) {
            if let Some(tree) = self.undo.clone() {
                return ("undo", text(&["undo"]), tree);
            }
            if let Some(tree) = self.redo.clone() {
                return ("redo", text(&["redo"]), tree);
            }
        }
        if rng.once_in(3) || self.turns.len() < 3 {
            self.user_edits(rng);
            self.turn(rng, None);
        }
        let now = self.files();
        if self.sure && rng.once_in(4) {
            let made = format!("only-{}.txt", self.prompts);
            if now.contains_key(Path::new(&made)) {
                let (turn, _) = self.turns.last().expect("a turn");
                let args = text(&["revert", turn, "--path", &made]);
                let mut after = now;
                after.remove(Path::new(&made));
                return ("revert", args, after);
            }
        }
        if self.sure && rng.once_in(2) {
            let (turn, tree) = rng.pick(&self.turns).clone();
            let users = |path: &Path| path.to_string_lossy().starts_with(USERS);
            let mut after: Tree = tree.into_iter().filter(|(path, _)| !users(path)).collect();
            after.extend(now.into_iter().filter(|(path, _)| users(path)));
            return ("rewind", text(&["rewind", &turn]), after);
        }
        let (rev, tree) = rng.pick(&self.kept).clone();
        ("exact", text(&["rewind", &rev, "--exact"]), tree)
    }

    /// Updates the expected undo and redo after a restore.
    fn settled(&mut self, what: &str, before: Tree) {
        if before == self.files() {
            // a restore without changes is not an operation
            return;
        }
        (self.undo, self.redo) = match what {
            "undo" => (None, Some(before)),
            _ => (Some(before), None),
        };
    }

    /// Runs an undo while another writer's changes are in the way: it works, or says why not and changes nothing.
    fn undo_beside(&self, foreign: &BTreeMap<PathBuf, Option<Entry>>, context: &str) {
        let now = self.files();
        let output = self.world.run(["undo"]);
        let tree = self.files();
        assert!(output.code < 2, "{context}\n{output}");
        if output.code == 1 {
            assert!(
                tree == now,
                "{context}\n{output}\n{}",
                difference(&now, &tree)
            );
        }
        for path in foreign.keys() {
            let (a, b) = (now.get(path), tree.get(path));
            // a file that moves back to its old name keeps what was written into it
            let came = tree.iter().filter(|(path, _)| !now.contains_key(*path));
            let moved = a.is_some() && came.map(|(_, entry)| Some(entry)).any(|c| keeps(a, c));
            assert!(
                keeps(a, b) || (b.is_none() && moved),
                "undo took {}: {a:?} {b:?}\n{context}\n{output}",
                path.display()
            );
        }
    }

    /// Another writer changes files that the restore covers, and others.
    fn interfere(
        &mut self,
        rng: &mut Rng,
        before: &Tree,
        after: &Tree,
        foreign: &mut BTreeMap<PathBuf, Option<Entry>>,
    ) {
        let moved: Vec<&PathBuf> = before
            .keys()
            .chain(after.keys())
            .filter(|p| before.get(*p) != after.get(*p))
            .collect();
        for _ in 0..=rng.below(2) {
            let path = if moved.is_empty() || rng.once_in(5) {
                PathBuf::from("u1.txt")
            } else {
                (*rng.pick(&moved)).clone()
            };
            let full = self.world.path(&path);
            // without an exchange of names a path may be empty while it is restored: then nothing was deleted
            let deleted = fs::remove_file(&full).is_ok();
            if rng.once_in(3) {
                if deleted {
                    foreign.insert(path, None);
                }
            } else {
                self.tokens += 1;
                self.world
                    .write(&path, format!("somebody else {}\n", self.tokens));
                foreign.insert(path.clone(), self.files().remove(&path));
            }
        }
    }

    /// The user edits files of their own.
    fn user_edits(&mut self, rng: &mut Rng) {
        self.tokens += 1;
        let name = rng.pick(&["u0.txt", "u1.txt", "u2.txt"]);
        let text = format!("user {}\n", self.tokens);
        self.world.write(name, text);
        (self.undo, self.redo) = (None, None);
    }

    /// Runs a turn of the agent: a new file, an edit, a shell command.
    fn turn(&mut self, rng: &mut Rng, mut victim: Victim<'_>) {
        self.prompts += 1;
        let turn = self.prompts;
        let text = format!("turn {turn}");
        let killed = &mut victim;
        self.send(
            rng,
            killed,
            &self.event("SessionStart", json!({"source": "resume"})),
        );
        let start = self.files();
        self.send(
            rng,
            killed,
            &self.event("UserPromptSubmit", json!({"prompt": text})),
        );

        let only = format!("only-{turn}.txt");
        let input =
            json!({"file_path": self.world.path(&only), "content": format!("only {turn}\n")});
        self.act(rng, killed, "Write", &input, |world| {
            world.write(&only, format!("only {turn}\n"));
        });

        let name = *rng.pick(&["src/a0.txt", "src/a1.txt", "deep/er/a3.txt", "a4.txt"]);
        if self.world.exists(name) {
            let old = self.world.read(name);
            let new = format!("{old}turn {turn}\n");
            let input = json!({"file_path": self.world.path(name), "content": new});
            self.act(rng, killed, "Write", &input, |world| {
                world.write(name, &new);
            });
        }
        let commands = [
            format!("echo sh {turn} >> src/a2.txt; echo sh {turn} > new-{turn}.txt"),
            format!("mkdir -p made/{turn} && cp src/a0.txt made/{turn}/copy && rm -f a4.txt"),
            "mv src/a2.txt src/moved.txt || mv src/moved.txt src/a2.txt; chmod 600 run.sh"
                .to_owned(),
            format!(
                "ln -sfn src/a{}.txt link; chmod 755 run.sh; rm -f only-1.txt",
                turn % 3
            ),
            format!("for i in 1 2 3 4 5 6; do echo {turn}.$i > deep/many-$i.txt; done"),
        ];
        let command = rng.pick(&commands).clone();
        self.act(rng, killed, "Bash", &json!({"command": command}), |world| {
            world.sh(&command);
        });
        self.send(
            rng,
            killed,
            &self.event("Stop", json!({"background_tasks": []})),
        );
        if victim.is_none() {
            let log = self.log();
            let node = log.iter().find(|e| e["kind"] == "turn").expect("a turn");
            self.turns
                .push((node["turn"].as_str().expect("a name").to_owned(), start));
            self.keep();
        }
        (self.undo, self.redo) = (None, None);
    }

    /// Runs one tool call with its two events.
    fn act(
        &mut self,
        rng: &mut Rng,
        killed: &mut Victim<'_>,
        tool: &str,
        input: &Value,
        work: impl FnOnce(&World),
    ) {
        let before = self.call("PreToolUse", tool, input);
        let mut after = before.clone();
        after["hook_event_name"] = json!("PostToolUse");
        after["tool_response"] = json!({});
        self.send(rng, killed, &before);
        work(self.world);
        self.send(rng, killed, &after);
    }

    fn event(&self, name: &str, fields: Value) -> Value {
        let mut payload = self.agent.payload(name, fields);
        payload["prompt_id"] = json!(format!("prompt-{}", self.prompts));
        payload
    }

    fn call(&mut self, name: &str, tool: &str, input: &Value) -> Value {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.event(
            name,
            json!({"tool_name": tool, "tool_input": input, "tool_use_id": id}),
        )
    }

    fn send(&self, rng: &mut Rng, victim: &mut Victim<'_>, payload: &Value) {
        match victim {
            Some((0, killer)) => {
                let before = self.files();
                killer.run(
                    rng,
                    "hook",
                    &mut self.world.hook_command(),
                    &payload.to_string(),
                );
                assert_same(&self.files(), &before);
                victim.as_mut().expect("a victim").0 = usize::MAX;
            }
            _ => quiet(self.world.hook(payload)),
        }
        if let Some((left, _)) = victim {
            *left -= 1;
        }
    }

    /// Starts the next processes, of which some are killed, too. Then waits until nothing runs.
    fn reopen(&mut self, rng: &mut Rng, killer: &mut Killer) {
        for _ in 0..rng.below(3) {
            let openers: [&[&str]; 4] = [
                &["status"],
                &["verify"],
                &["log", "--all"],
                &["diff", "--stat"],
            ];
            let mut command: Command = self.world.backstitch();
            let mut input = String::new();
            if rng.once_in(3) {
                command = self.world.hook_command();
                input = self
                    .event("SessionStart", json!({"source": "resume"}))
                    .to_string();
            } else {
                command.args(*rng.pick(&openers));
            }
            if !killer.run(rng, "recovery", &mut command, &input) {
                break;
            }
        }
        self.at_rest();
    }

    // ---- what is checked -------------------------------------------------------------------------------------------

    /// Asserts that no operation is open, the store is intact, and Backstitch left no file in the workspace.
    fn at_rest(&self) {
        let status = self.world.json(["status"]);
        assert_eq!(status["open_operation"], Value::Null, "{status:#}");
        self.world.ok(["verify"]);
        let open = self.operations();
        assert!(open.iter().all(|o| o["state"] != "open"), "{open:#?}");
        let ours = |path: &&PathBuf| path.to_string_lossy().contains(".backstitch");
        let files = self.files();
        let left: Vec<_> = files.keys().filter(ours).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    fn assert_outcome(
        &self,
        before: &Tree,
        after: &Tree,
        foreign: &BTreeMap<PathBuf, Option<Entry>>,
        operation: &Value,
        context: &str,
    ) {
        let now = self.files();
        let happened = matches!(operation["state"].as_str(), Some("done" | "incomplete"));
        let wanted = if happened { after } else { before };
        for path in before
            .keys()
            .chain(after.keys())
            .chain(foreign.keys())
            .chain(now.keys())
        {
            let shown = path.display();
            let is = now.get(path);
            let Some(theirs) = foreign.get(path) else {
                assert!(
                    is == wanted.get(path),
                    "{shown}: {is:?}\n{context}\n{}",
                    difference(wanted, &now)
                );
                continue;
            };
            let theirs = theirs.as_ref();
            // the restore may still redo a path that equals its state before the restore
            let redone = theirs == before.get(path) && is == after.get(path);
            assert!(
                is == theirs || redone,
                "{shown}: {is:?} instead of {theirs:?}\n{context}"
            );
        }
        assert!(
            !foreign.is_empty() || operation["state"] != "incomplete",
            "{context}"
        );
    }

    /// Checks the record of the current state, and of one earlier checkpoint.
    fn check(&mut self, rng: &mut Rng) {
        self.at_rest();
        self.keep();
        let (rev, tree) = rng.pick(&self.kept);
        assert_same(&self.materialized(rev), tree);
    }

    /// Keeps a checkpoint of the current state for later checks.
    fn keep(&mut self) {
        let made = self.world.json(["checkpoint", "-m", "kept"]);
        let id = made["id"].as_str().expect("an id").to_owned();
        self.kept.push((id, self.files()));
    }

    fn materialized(&self, rev: &str) -> Tree {
        let into = self.world.home.join("materialized");
        fs::remove_dir_all(&into).ok();
        let into_text = into.to_str().expect("UTF-8");
        self.world.ok(["materialize", rev, "--into", into_text]);
        without_directories(tree::tree(&into))
    }

    fn files(&self) -> Tree {
        without_directories(self.world.tree())
    }

    fn operations(&self) -> Vec<Value> {
        let answer = self.world.json(["oplog"]);
        answer["operations"].as_array().expect("a list").clone()
    }

    fn log(&self) -> Vec<Value> {
        let answer = self.world.json(["log", "--all"]);
        answer["checkpoints"].as_array().expect("a list").clone()
    }
}

/// The history holds only files; directories follow from them.
fn without_directories(mut tree: Tree) -> Tree {
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

#[track_caller]
fn quiet(output: Output) {
    let output = output.expect_code(0);
    assert!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output}"
    );
}

/// True if nothing of another writer's file is lost: it is unchanged, or merged with every line still there.
fn keeps(left: Option<&Entry>, now: Option<&Entry>) -> bool {
    let (Some(left), Some(now)) = (left, now) else {
        return left == now;
    };
    let lines: Vec<&[u8]> = now.bytes.split(|b| *b == b'\n').collect();
    left == now
        || (left.kind == now.kind
            && left
                .bytes
                .split(|b| *b == b'\n')
                .all(|l| lines.contains(&l)))
}
