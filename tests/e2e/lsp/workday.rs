//! A working day in minutes: two people type, save, close and undo while an agent works next to them. No saved text is
//! lost, client and server agree on every document, and no server's memory grows.
//!
//! The test plays a short day. `BACKSTITCH_WORKDAY=300` plays one with this many steps of the agent, `BACKSTITCH_SEED`
//! repeats one; its table of times and memory is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;
use crate::support::agent::Agent;
use crate::support::rng::{Rng, cases};

/// Steps of the agent in the day that the test plays: in an ordinary run, and in a long one.
const SHORT: u64 = 16;
const LONG: u64 = 40;
const FILES: usize = 36;
const LINES: usize = 60;
/// Average number of steps between two prompts.
const TURN: usize = 12;
/// Number of steps per rewind.
const REWIND: usize = 15;
/// Limit for a server's memory growth from the first tenth of a day to its end: far above the size of its caches.
const GROWTH: u64 = 64 << 20;

/// One of the two people, with an editor.
struct Person<'w> {
    world: &'w World,
    client: Client<'w>,
    /// True if clean documents are reloaded as soon as their file changes; otherwise when the person looks at them.
    reloads: bool,
    /// Text of each open document at the last load or save.
    saved: BTreeMap<String, String>,
    /// Unsaved typed words, by document.
    typed: BTreeMap<String, BTreeSet<String>>,
    /// Last typed word of each document.
    last: BTreeMap<String, String>,
}

impl<'w> Person<'w> {
    fn sits_down(world: &'w World, editor: Editor, reloads: bool) -> Self {
        let own = if reloads {
            json!({ "reloadsFromDisk": true, "notifications": true })
        } else {
            Value::Null
        };
        let mut client = Client::with(world, editor, &own);
        client.inclined = vec![
            "Rewind",
            "Undo",
            "Redo",
            "Revert",
            "Keep the current lines",
            "Write it",
        ];
        Self {
            world,
            client,
            reloads,
            saved: BTreeMap::new(),
            typed: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    fn open(&mut self, path: &str) {
        self.client.open(path);
        self.saved.insert(path.to_owned(), self.world.read(path));
    }

    fn is_dirty(&self, path: &str) -> bool {
        let saved = self.saved.get(path);
        saved.is_some_and(|saved| self.client.text(path) != saved)
    }

    fn dirty(&self) -> Vec<String> {
        let open = self.saved.keys();
        open.filter(|path| self.is_dirty(path)).cloned().collect()
    }

    /// Reloads clean documents that changed on disk; closes deleted ones.
    fn looks(&mut self) {
        let clean = self.saved.keys().filter(|path| !self.is_dirty(path));
        let clean: Vec<String> = clean.cloned().collect();
        for path in clean {
            if !self.world.exists(&path) {
                self.client.close(&path);
                self.forgets(&path);
                continue;
            }
            let text = self.world.read(&path);
            if text == self.client.text(&path) {
                continue;
            }
            if self.reloads {
                let all = 0..self.client.text(&path).len();
                self.client.replace(&path, all, &text);
            } else {
                self.client.reload(&path);
            }
            self.saved.insert(path, text);
        }
    }

    /// Discards the unsaved words of a document.
    fn forgets(&mut self, path: &str) {
        self.saved.remove(path);
        self.typed.remove(path);
        self.last.remove(path);
    }

    /// Types a word on its own line, key by key.
    fn types(&mut self, path: &str, word: &str, rng: &mut Rng) -> usize {
        let text = self.client.text(path);
        let mut starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        starts.push(0);
        let mut at = *rng.pick(&starts);
        let line = format!("{word} {}\n", rng.pick(&["é", "😀", "e\u{301}", "plain"]));
        for (count, c) in line.chars().enumerate() {
            self.client.replace(path, at..at, &c.to_string());
            at += c.len_utf8();
            if count == 4 && rng.once_in(8) {
                // a typing error
                self.client.replace(path, at..at, "x");
                self.client.replace(path, at..at + 1, "");
            }
        }
        let typed = self.typed.entry(path.to_owned()).or_default();
        typed.insert(word.to_owned());
        self.last.insert(path.to_owned(), word.to_owned());
        line.chars().count()
    }

    /// Removes the last typed word, if it is still there unchanged.
    fn takes_back(&mut self, path: &str, kept: &mut BTreeSet<String>) {
        let Some(word) = self.last.remove(path) else {
            return;
        };
        let text = self.client.text(path).to_owned();
        let Some(at) = text.find(&word) else { return };
        let line = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        self.client.replace(path, at..line, "");
        kept.remove(&word);
        if let Some(typed) = self.typed.get_mut(path) {
            typed.remove(&word);
        }
    }

    /// Saves a document. An editor warns before it overwrites what the other person has saved meanwhile: then the file
    /// is reloaded, and the typed text is discarded.
    fn saves(&mut self, path: &str, kept: &mut BTreeSet<String>) {
        let text = self.client.text(path);
        let there = self.world.exists(path).then(|| self.world.read(path));
        let would_lose = |there: &String| {
            let mut others = kept.iter().filter(|word| there.contains(*word));
            others.any(|word| !text.contains(word))
        };
        if let Some(there) = there.filter(would_lose) {
            self.typed.remove(path);
            self.last.remove(path);
            self.saved.insert(path.to_owned(), there);
            self.client.reload(path);
            return;
        }
        self.client.save(path);
        let text = self.client.text(path).to_owned();
        self.saved.insert(path.to_owned(), text);
        kept.extend(self.typed.remove(path).unwrap_or_default());
    }

    fn saves_all(&mut self, kept: &mut BTreeSet<String>) {
        for path in self.dirty() {
            self.saves(&path, kept);
        }
    }

    /// Runs a command. Returns its result, or the reason why it was not done.
    fn commands(&mut self, command: &str, arguments: &Value) -> Result<Value, Value> {
        let params = json!({ "command": command, "arguments": [arguments] });
        let id = self.client.begin("workspace/executeCommand", params);
        let response = self.client.response(id);
        let result = &response["result"];
        let error = [&response["error"], &result["error"]];
        let error = error.into_iter().find(|error| !error.is_null());
        error.map_or_else(|| Ok(result.clone()), |error| Err(error.clone()))
    }

    /// Memory of the server, in bytes.
    fn memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.client.server());
        let status = std::fs::read_to_string(status).expect("the server's status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let count = line.and_then(|line| line.split_whitespace().nth(1));
        count
            .and_then(|count| count.parse::<u64>().ok())
            .expect("a size")
            << 10
    }
}

/// Durations of each kind of request.
#[derive(Default)]
struct Times(BTreeMap<&'static str, Vec<Duration>>);

impl Times {
    fn of<T>(&mut self, what: &'static str, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = run();
        self.0.entry(what).or_default().push(began.elapsed());
        done
    }

    fn table(&mut self) -> String {
        let mut table = format!("{:<28}{:>7}{:>11}{:>11}\n", "", "count", "p50 ms", "p99 ms");
        for (what, times) in &mut self.0 {
            times.sort();
            let at = |percent: usize| {
                let time = times[(times.len() - 1) * percent / 100];
                time.as_secs_f64() * 1000.0
            };
            let (count, half, most) = (times.len(), at(50), at(99));
            writeln!(table, "{what:<28}{count:>7}{half:>11.2}{most:>11.2}").expect("a text");
        }
        table
    }
}

struct Day<'w> {
    world: &'w World,
    people: [Person<'w>; 2],
    agent: Agent<'w>,
    rng: Rng,
    times: Times,
    /// Words that were saved and not removed by a person.
    kept: BTreeSet<String>,
    words: usize,
    keys: usize,
    steps: usize,
    rewinds: usize,
    refused: BTreeMap<String, usize>,
    /// Files that the agent created.
    made: Vec<String>,
}

impl<'w> Day<'w> {
    fn begin(world: &'w World, seed: u64) -> Self {
        Self {
            world,
            people: [
                Person::sits_down(world, Editor::Vscode, true),
                Person::sits_down(world, Editor::Helix, false),
            ],
            agent: world.agent(),
            rng: Rng::new(seed),
            times: Times::default(),
            kept: BTreeSet::new(),
            words: 0,
            keys: 0,
            steps: 0,
            rewinds: 0,
            refused: BTreeMap::new(),
            made: Vec::new(),
        }
    }

    fn files(&self) -> Vec<String> {
        let made = self.made.iter().filter(|path| self.world.exists(path));
        let base = (0..FILES).map(file).filter(|path| self.world.exists(path));
        base.chain(made.cloned()).collect()
    }

    // ---- the agent -------------------------------------------------------------------------------------------------

    fn step(&mut self) {
        self.steps += 1;
        let files = self.files();
        let path = self.rng.pick(&files).clone();
        let text = self.world.read(&path);
        let own: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("base") || line.starts_with("agent"))
            .filter(|line| text.matches(&format!("{line}\n")).count() == 1)
            .collect();
        let (step, kind) = (self.steps, self.rng.below(10));
        if kind < 6 && !own.is_empty() {
            let old = (*self.rng.pick(&own)).to_owned();
            let new = match kind {
                0..4 => format!("agent {step}\n"),
                4 => format!("{old}\nagent {step}\n"),
                _ => format!("agent {step}\nagent {step} more\n"),
            };
            let call = self.agent.pre_edit(&path, &format!("{old}\n"), &new);
            self.meanwhile(&path);
            // a person may have saved another text
            if self.world.read(&path).contains(&format!("{old}\n")) {
                let response = self.agent.apply(&call);
                self.agent.post(&call, &response);
            } else {
                self.agent
                    .failed(&call, "String to replace not found in file");
            }
            self.agent.batch(&[&call]);
        } else if kind < 8 {
            let path = format!("made/{step}.txt");
            self.agent
                .write(&path, &format!("agent {step}\nbase {step}\n"));
            self.made.push(path);
        } else {
            let command = self.shell(step, &path);
            self.agent.bash(&command);
        }
    }

    fn shell(&mut self, step: usize, path: &str) -> String {
        let unsaid = |path: &&String| {
            self.world
                .read(path)
                .lines()
                .all(|l| !l.starts_with("word"))
        };
        let open = |path: &&String| self.people.iter().all(|p| !p.saved.contains_key(*path));
        let made = self.made.iter().filter(|path| self.world.exists(path));
        let mine: Vec<String> = made.filter(unsaid).filter(open).cloned().collect();
        if mine.is_empty() || self.rng.once_in(2) {
            return format!("echo 'agent {step}' >> {path}; echo {step} > made.count");
        }
        let gone = self.rng.pick(&mine).clone();
        if self.rng.once_in(2) {
            return format!("rm {gone}");
        }
        let moved = format!("made/{step}.moved");
        self.made.push(moved.clone());
        format!("mv {gone} {moved}")
    }

    /// Actions of the people while a call of the agent is open; they do not touch its file.
    fn meanwhile(&mut self, path: &str) {
        if self.rng.once_in(6) {
            let who = self.rng.below(2);
            let other = self.people[who].dirty().into_iter().find(|p| p != path);
            if let Some(other) = other {
                self.people[who].saves(&other, &mut self.kept);
            }
        }
    }

    // ---- the people ------------------------------------------------------------------------------------------------

    /// Next action of one person.
    fn act(&mut self) {
        let who = self.rng.below(2);
        self.people[who].looks();
        let open: Vec<String> = self.people[who].saved.keys().cloned().collect();
        if open.len() < 4 || self.rng.once_in(12) {
            let files = self.files();
            let path = self.rng.pick(&files).clone();
            if !open.contains(&path) {
                self.people[who].open(&path);
            }
            return;
        }
        let path = self.rng.pick(&open).clone();
        let elsewhere = self.people[1 - who].is_dirty(&path);
        match self.rng.below(16) {
            // two people in one file are not simulated
            0..7 if !elsewhere => {
                self.words += 1;
                let word = format!("word{}.", self.words);
                let person = &mut self.people[who];
                self.keys += person.types(&path, &word, &mut self.rng);
            }
            7 if !elsewhere => self.people[who].takes_back(&path, &mut self.kept),
            8..11 if self.people[who].is_dirty(&path) => {
                self.people[who].saves(&path, &mut self.kept);
            }
            11 => {
                let person = &mut self.people[who];
                if person.is_dirty(&path) && self.rng.once_in(2) {
                    person.saves(&path, &mut self.kept);
                }
                if !person.is_dirty(&path) {
                    person.client.close(&path);
                    person.forgets(&path);
                }
            }
            _ => self.ask(who, &path),
        }
    }

    /// Requests of an editor while a person reads.
    fn ask(&mut self, who: usize, path: &str) {
        let client = &mut self.people[who].client;
        let uri = client.uri(path);
        let document = json!({ "uri": uri });
        let lines = client.text(path).lines().count();
        let line = self.rng.below(lines.max(1));
        let times = &mut self.times;
        // next to a key press: a round trip
        let end = client.text(path).len();
        times.of("didChange and an answer", || {
            client.replace(path, end..end, "x");
            let echo = json!({ "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } } });
            client.ok("codeLens/resolve", echo);
        });
        client.replace(path, end..end + 1, "");
        let lens = json!({ "textDocument": document });
        times.of("codeLens", || client.ok("textDocument/codeLens", lens));
        let at = json!({ "textDocument": document, "position": { "line": line, "character": 0 } });
        times.of("hover", || client.ok("textDocument/hover", at));
        let blame = times.of("blame", || {
            client.ok("backstitch/blame", json!({ "uri": uri }))
        });
        agrees(&blame, client.text(path), client.documents[&uri].version);
    }

    /// One person rewinds or reverts something.
    fn rewind(&mut self) {
        let who = self.rng.below(2);
        self.people[who].looks();
        let (command, arguments) = self.choice(who);
        let person = &mut self.people[who];
        let times = &mut self.times;
        let answer = times.of("executeCommand (a restore)", || {
            person.commands(&command, &arguments)
        });
        match answer {
            Ok(answer) if answer["operation"].is_string() => {
                self.rewinds += 1;
                assert!(answer.get("not_taken").is_none(), "{answer}");
                let awaited = answer.get("awaited");
                assert!(awaited.is_none(), "{answer}");
            }
            Ok(_) => *self.refused.entry("nothing to do".into()).or_default() += 1,
            Err(error) => {
                let kind = error["data"]["kind"].as_str().or(error["kind"].as_str());
                let kind = kind.unwrap_or_else(|| panic!("{command} {arguments}: {error}"));
                let expected = ["refused", "conflict", "not_found"];
                assert!(expected.contains(&kind), "{command} {arguments}: {error}");
                *self.refused.entry(kind.to_owned()).or_default() += 1;
                for person in &mut self.people {
                    person.saves_all(&mut self.kept);
                }
            }
        }
        // an editor warns before it overwrites what the other person saved meanwhile: nobody does that
        for path in self.people[who].dirty() {
            if self.people[1 - who].saved.contains_key(&path) {
                self.people[who].saves(&path, &mut self.kept);
            }
        }
        for person in &mut self.people {
            person.looks();
        }
        self.nothing_is_lost(&format!("{command} {arguments}"));
    }

    fn choice(&mut self, who: usize) -> (String, Value) {
        let person = &mut self.people[who];
        let open: Vec<String> = person.saved.keys().cloned().collect();
        if self.rng.below(5) < 2 && !open.is_empty() {
            let path = self.rng.pick(&open).clone();
            let lenses = person.client.lenses(&path);
            let mut rewinds = lenses.into_iter().map(|(_, _, command)| command);
            if let Some(lens) = rewinds.find(|c| c["command"] == "backstitch.rewind") {
                return ("backstitch.rewind".into(), lens["arguments"][0].clone());
            }
        }
        let turns = person
            .client
            .ok("backstitch/timeline", json!({ "kind": "turn", "limit": 3 }));
        let turns = turns["checkpoints"].as_array().expect("turns");
        let turn = self.rng.pick(turns)["id"].clone();
        match self.rng.below(4) {
            0 => ("backstitch.undo".into(), json!({})),
            1 => ("backstitch.revert".into(), json!({ "turn": turn })),
            2 => ("backstitch.redo".into(), json!({})),
            _ => ("backstitch.rewind".into(), json!({ "rev": turn })),
        }
    }

    // ---- what must hold --------------------------------------------------------------------------------------------

    /// Asserts that every saved word is in a file, or in the document from which it would be saved.
    fn nothing_is_lost(&self, after: &str) {
        let files = self.files().into_iter().map(|path| self.world.read(path));
        let mut all: String = files.collect();
        for person in &self.people {
            for path in person.dirty() {
                all.push_str(person.client.text(&path));
            }
        }
        let lost: Vec<&String> = self
            .kept
            .iter()
            .filter(|word| !all.contains(*word))
            .collect();
        assert!(lost.is_empty(), "{after}: lost {lost:?}");
    }

    /// Asserts that client and server agree on every document, to the byte: a word is typed into each, and the store's
    /// text must then equal the editor's.
    fn both_sides_agree(&mut self) {
        for who in 0..2 {
            self.people[1 - who].saves_all(&mut self.kept);
            let person = &mut self.people[who];
            person.looks();
            let open: Vec<String> = person.saved.keys().cloned().collect();
            for path in &open {
                person.types(path, "the end", &mut self.rng);
                let uri = person.client.uri(path);
                let blame = person.client.ok("backstitch/blame", json!({ "uri": uri }));
                agrees(
                    &blame,
                    person.client.text(path),
                    person.client.documents[&uri].version,
                );
            }
            until_unsaved(self.world, &open);
            let made = person.commands("backstitch.checkpoint", &json!({ "label": "the end" }));
            let id = made.expect("a checkpoint")["id"].clone();
            let id = id.as_str().expect("an id");
            for path in &open {
                let kept = self.world.ok(["cat", id, path, "--unsaved"]).stdout;
                assert_eq!(kept, person.client.text(path), "{path}");
            }
            person.saves_all(&mut self.kept);
            self.people[1 - who].looks();
        }
    }

    /// Asserts that the record equals the disk.
    fn record_and_disk_agree(&self) {
        until_unsaved(self.world, &[]);
        let world = self.world;
        assert_eq!(world.json(["status"])["pending_saves"], json!([]));
        world.ok(["checkpoint"]);
        for path in self.files() {
            let recorded = world.ok(["cat", "@", &path]).stdout;
            assert_eq!(recorded, world.read(&path), "{path}");
        }
        assert_eq!(world.json(["diff", "@"])["files"], json!([]));
        world.ok(["verify"]);
    }
}

fn file(number: usize) -> String {
    format!("src/{}/file{number}.txt", number % 5)
}

/// Asserts that a blame covers exactly the text of its editor.
fn agrees(blame: &Value, text: &str, version: i64) {
    assert_eq!(blame["version"], version);
    let runs = blame["runs"].as_array().expect("runs").iter();
    let lines: u64 = runs
        .map(|run| run["count"].as_u64().expect("a count"))
        .sum();
    let expected = u64::try_from(text.lines().count()).expect("a count");
    assert_eq!(lines, expected, "{blame}");
}

/// Waits until exactly these documents are recorded as unsaved.
fn until_unsaved(world: &World, paths: &[String]) {
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let status = world.json(["status"]);
        let editors = status["editors"].as_array().cloned().unwrap_or_default();
        let all = editors.iter().filter_map(|e| e["unsaved"].as_array());
        let unsaved: BTreeSet<&str> = all.flatten().filter_map(Value::as_str).collect();
        if unsaved == paths {
            return;
        }
        assert!(Instant::now() < deadline, "{unsaved:?}, not {paths:?}");
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

#[test]
fn a_working_day() {
    let steps = cases("BACKSTITCH_WORKDAY", SHORT, LONG);
    let seed = Rng::seed("BACKSTITCH_SEED", 20_261_121);
    let steps = usize::try_from(steps).expect("a count");
    println!("seed {seed}, {steps} steps");
    let world = World::in_memory();
    for number in 0..FILES {
        let lines = (0..LINES).map(|line| format!("base {number} {line}\n"));
        world.write(file(number), lines.collect::<String>());
    }
    world.git_ok(["init", "-q", "-b", "main"]);
    world.git_ok(["add", "-A"]);
    world.git_ok(["commit", "-q", "-m", "start"]);
    let mut day = Day::begin(&world, seed);
    day.agent.session_start();
    let mut early = None;
    for step in 0..steps {
        if step % TURN == 0 {
            day.agent.prompt(&format!("prompt {}", step / TURN + 1));
        }
        day.step();
        while day.keys < 20 * (step + 1) {
            day.act();
            day.nothing_is_lost("what somebody did");
        }
        if step % TURN == TURN - 1 || step + 1 == steps {
            day.agent.stop();
        }
        day.nothing_is_lost("a step");
        let mut tries = 0;
        while day.rewinds < (step + 1) / REWIND {
            day.rewind();
            tries += 1;
            assert!(tries < 60, "nothing can be taken back: {:?}", day.refused);
        }
        if step + 1 == (steps / 10).max(1) {
            early = Some([0, 1].map(|who| day.people[who].memory()));
        }
    }
    day.both_sides_agree();
    day.record_and_disk_agree();
    day.nothing_is_lost("the day");
    println!(
        "{} keys, {} words, {} steps, {} restores, not done: {:?}\n{}",
        day.keys,
        day.words,
        day.steps,
        day.rewinds,
        day.refused,
        day.times.table()
    );
    let early = early.expect("a tenth");
    for (person, early) in day.people.into_iter().zip(early) {
        let late = person.memory();
        println!("memory {}, at first {}", megabytes(late), megabytes(early));
        assert!(late < early + GROWTH, "from {early} to {late} bytes");
        person.client.leave();
    }
}
