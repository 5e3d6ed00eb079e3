//! Response times of the running language server: over its pipes, from the first byte of the request to the last byte
//! of the response.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::blame;
use crate::client::{Client, noop, uri};
use crate::measure::{Times, alternating};
use crate::place::{Place, Programs};
use crate::rng::Rng;
use crate::rows::Report;
use crate::table::Goal;

const FILE: &str = "long.rs";
const LINES: usize = 10_000;
const FLOOR: &str = "a request that does nothing";
/// Checkpoints of a file for each prompt.
const EDITS_PER_TURN: usize = 10;
/// Number of rounds for operations that take less than a millisecond.
const FAST_ROUNDS: usize = 201;
/// Time without messages after which a server counts as idle.
const QUIET: Duration = Duration::from_millis(300);
/// Limit for the memory of the idle server, in MB.
const MEMORY_LIMIT: f64 = 60.0;

/// Measures a long document with many recorded changes.
pub fn measure_document(
    report: &mut Report,
    programs: &Programs,
    checkpoints: usize,
    runs: usize,
) -> Result<()> {
    let place = Place::new(programs)?;
    let mut rng = Rng::new(10);
    let mut text = blame::long_file(&mut rng, LINES);
    fs::write(place.root.join(FILE), text.concat())?;
    for n in 0..checkpoints {
        if n % EDITS_PER_TURN == 0 {
            place.prompt()?;
        }
        blame::change(&place, FILE, &mut rng, &mut text)?;
    }
    let text = text.concat();
    let name = format!("{LINES} lines, {checkpoints} checkpoints");
    lenses(report, &place, &name, &text, runs)?;
    keys(report, &place, &name, &text)?;
    lens_refresh(report, &place, &name, runs)
}

fn lenses(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    text: &str,
    runs: usize,
) -> Result<()> {
    let document = uri(&place.root.join(FILE));
    let asked = json!({"textDocument": {"uri": document}});
    let mut floor = Client::start(place.server(), &place.root)?;
    // a new server each time; the user's waiting time begins with opening the document
    let cold = |forget: &str| -> Result<Duration> {
        place.database()?.execute_batch(forget)?;
        let mut client = Client::start(place.server(), &place.root)?;
        client.noop()?;
        let began = Instant::now();
        client.open(&document, text)?;
        let opened = began.elapsed();
        let (took, lenses) = client.request("textDocument/codeLens", &asked)?;
        ensure!(lenses.as_array().is_some_and(|l| l.len() > 1), "no lenses");
        client.leave()?;
        Ok(opened + took)
    };
    let goal = Goal::AtMost(100.0);
    let what = "lenses, never asked before";
    let first = || cold("DELETE FROM blame; DELETE FROM counted");
    let times = alternating(runs, first, || floor.noop())?;
    report.times(name, what, FLOOR, &times, goal);
    let what = "lenses, server just started";
    let times = alternating(runs, || cold(""), || floor.noop())?;
    report.times(name, what, FLOOR, &times, goal);

    let mut client = Client::start(place.server(), &place.root)?;
    client.open(&document, text)?;
    let (_, first) = client.request("textDocument/codeLens", &asked)?;
    let count = first.as_array().map_or(0, Vec::len);
    client.wait_until_quiet(QUIET)?;
    let mut warm = || -> Result<Duration> {
        let (took, lenses) = client.request("textDocument/codeLens", &asked)?;
        ensure!(
            lenses.as_array().map_or(0, Vec::len) == count,
            "other lenses"
        );
        Ok(took)
    };
    let times = alternating(runs.max(51), &mut warm, || floor.noop())?;
    let name = format!("{name}, {count} lenses");
    report.times(&name, "lenses, warm", FLOOR, &times, Goal::AtMost(5.0));
    client.leave()?;
    floor.leave()
}

/// Measures a key press, next to the same key press in a document without history.
fn keys(report: &mut Report, place: &Place<'_>, name: &str, text: &str) -> Result<()> {
    let new = place.another()?;
    fs::write(new.root.join(FILE), text)?;
    new.run(&["checkpoint", "-m", "start"])?;
    let mut long = Typist::start(place, text)?;
    let mut short = Typist::start(&new, text)?;
    let mut floor = Client::start(place.server(), &place.root)?;
    let times = alternating(FAST_ROUNDS, || long.key(), || floor.noop())?;
    let what = "a key, and a request behind it";
    report.times(name, what, FLOOR, &times, Goal::Above(0.2));
    let times = alternating(FAST_ROUNDS, || long.key(), || short.key())?;
    let limit = "the same in a file with 1 checkpoint";
    report.times(
        name,
        "a key, beside one without history",
        limit,
        &times,
        Goal::Ratio(1.2),
    );
    long.client.leave()?;
    short.client.leave()?;
    floor.leave()
}

/// Types in a document whose lenses are shown.
struct Typist {
    client: Client,
    document: String,
    version: i64,
}

impl Typist {
    fn start(place: &Place<'_>, text: &str) -> Result<Self> {
        let document = uri(&place.root.join(FILE));
        let mut client = Client::start(place.server(), &place.root)?;
        client.open(&document, text)?;
        let asked = json!({"textDocument": {"uri": document}});
        client.request("textDocument/codeLens", &asked)?;
        client.wait_until_quiet(QUIET)?;
        Ok(Self {
            client,
            document,
            version: 1,
        })
    }

    fn key(&mut self) -> Result<Duration> {
        self.version += 1;
        let at = json!({"line": LINES / 2, "character": 4});
        let told = json!({
            "textDocument": {"uri": self.document, "version": self.version},
            "contentChanges": [{"range": {"start": at, "end": at}, "text": "x"}],
        });
        let (method, asked) = noop();
        let behind = (method, &asked);
        let key = ("textDocument/didChange", &told);
        Ok(self.client.notify_and_request(key, behind)?.0)
    }
}

/// Measures the time from a record by another process until the client is asked to refresh its lenses.
fn lens_refresh(report: &mut Report, place: &Place<'_>, name: &str, runs: usize) -> Result<()> {
    let mut client = Client::start(place.server(), &place.root)?;
    client.wait_until_quiet(QUIET)?;
    let mut hooks = Vec::new();
    let mut told = Vec::new();
    for _ in 0..runs.max(21) {
        let hook = place.prompting();
        let began = Instant::now();
        let hook = std::thread::spawn(hook);
        let heard = client.wait_for("workspace/codeLens/refresh")?;
        hooks.push(hook.join().map_err(|_| anyhow!("the hook"))??);
        told.push(heard.at - began);
        client.wait_until_quiet(QUIET)?;
    }
    let times = (Times::of(told), Times::of(hooks));
    let what = "a hook's whole process until lenses are refreshed";
    let limit = "the hook's process alone";
    report.times(name, what, limit, &times, Goal::Above(20.0));
    client.leave()
}

/// Measures a page of the timeline, as a panel requests it.
pub fn measure_timeline(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    runs: usize,
) -> Result<()> {
    let mut client = Client::start(place.server(), &place.root)?;
    let mut floor = Client::start(place.server(), &place.root)?;
    let mut page = |what: &'static str, asked: &Value| -> Result<()> {
        let ours = || -> Result<Duration> {
            let (took, page) = client.request("backstitch/timeline", asked)?;
            let rows = page["checkpoints"].as_array().map_or(0, Vec::len);
            ensure!(rows == 200, "a page of {rows} rows");
            Ok(took)
        };
        let times = alternating(runs.max(21), ours, || floor.noop())?;
        report.times(name, what, FLOOR, &times, Goal::AtMost(10.0));
        Ok(())
    };
    page("backstitch/timeline, 200 rows", &json!({}))?;
    page("the same, all branches", &json!({"allBranches": true}))?;
    client.leave()?;
    floor.leave()
}

/// Numbers of files that a shell command changes.
const CHANGED_FILES: [usize; 2] = [1, 10];

/// Measures the end of a shell command while a language server watches the files, next to a hook that scans nothing.
fn shell_end_while_watched(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    file: &str,
) -> Result<()> {
    let mut client = Client::start(place.server(), &place.root)?;
    loop {
        let heard = client.wait_for("backstitch/status")?;
        if heard.message["params"]["recorder"]["state"] == "watching" {
            break;
        }
    }
    let dir = place.root.join("touched");
    fs::create_dir_all(&dir)?;
    for (count, what) in CHANGED_FILES.into_iter().zip([
        "a shell call's end, recorder, 1 file",
        "a shell call's end, recorder, 10 files",
    ]) {
        let mut round = 0;
        let end = || -> Result<Duration> {
            round += 1;
            let call = place.shell();
            place.before(&call)?;
            for n in 0..count {
                fs::write(dir.join(format!("{n}.txt")), format!("{what} {round}\n"))?;
            }
            place.after(&call)
        };
        let limit = || place.after(&place.read_call(file));
        let times = alternating(21, end, limit)?;
        let floor = "a hook that looks at no file";
        report.times(name, what, floor, &times, Goal::Above(10.0));
    }
    client.leave()
}

/// Measures the server when idle, with one document of the tree open.
pub fn measure_tree(report: &mut Report, place: &Place<'_>, name: &str, file: &str) -> Result<()> {
    shell_end_while_watched(report, place, name, file)?;
    let mut client = Client::start(place.server(), &place.root)?;
    let document = uri(&place.root.join(file));
    client.open(&document, &fs::read_to_string(place.root.join(file))?)?;
    let asked = json!({"textDocument": {"uri": document}});
    client.request("textDocument/codeLens", &asked)?;
    client.request("backstitch/timeline", &json!({"uri": document}))?;
    client.wait_until_quiet(Duration::from_secs(2))?;
    if let Some(memory) = client.memory() {
        report.memory(name, "idle language server, resident", memory, MEMORY_LIMIT);
    }
    client.leave()
}
