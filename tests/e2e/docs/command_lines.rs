//! Every command line in README, docs and help is run as it stands there. Each runs in worlds that have what such a line needs:
//! a history, held calls, something to undo. It must work in one of them, or be listed below with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{copy, play, typed};
use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::support::{Output, World};

/// Texts that stand for a value of the reader.
const PLACEHOLDERS: [(&str, &str); 5] = [
    (" FILE", " src/main.rs"),
    (" REV", " t4"),
    (" PATH", " src/main.rs"),
    (" ID", " $SESSION"),
    ("/tmp/", "../scratch/"),
];

/// Parts of lines that no world here can carry out, with their exit status and the reason.
const REFUSED: [(&str, i32, &str); 13] = [
    ("backstitch job rm ci-build-3", 3, "it names a run"),
    (
        "backstitch job debug ci.yml -j build",
        1,
        "nobody gives it words, so the job is left",
    ),
    (
        "backstitch job debug --resume",
        3,
        "it needs a run that was cut off",
    ),
    (
        "backstitch acp -- ",
        127,
        "it starts an agent that is not here",
    ),
    (" --unsaved", 3, "it needs an editor"),
    (" --scope both", 1, "it needs the record of a real agent"),
    (
        " --scope conversation",
        1,
        "it needs the record of a real agent",
    ),
    (
        "backstitch summarize t4 --from --edit",
        2,
        "its editor needs a terminal",
    ),
    ("backstitch conversation t4", 3, "no conversation was made"),
    (
        "backstitch summarize t4",
        1,
        "it needs the record of a real agent",
    ),
    ("backstitch clear", 1, "it asks"),
    ("backstitch repl object CID", 3, "it names a value"),
    ("backstitch repl show 4711-", 3, "it names a REPL session"),
];

/// The workflow that lines name, with its job and its step.
const WORKFLOW: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    strategy: {matrix: {node: [18, 20]}}
    steps: [{id: test, run: 'true'}]
";

/// Threads that run lines. A line with held calls waits more than it works.
const THREADS: usize = 4;

/// A command line, and the first page that has it.
type Lines = BTreeMap<String, String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Pages for users, by their paths in the project.
fn pages() -> Vec<PathBuf> {
    let mut open = vec![root().join("server/docs"), root().join("server/clients")];
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "vscode-extension/README.md",
    ]
    .map(|page| root().join(page))
    .into();
    open.push(root().join("nvim-plugin/doc"));
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("docs").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                open.extend((name != "node_modules").then_some(path));
            } else if path
                .extension()
                .is_some_and(|end| end == "md" || end == "txt")
            {
                pages.push(path);
            }
        }
    }
    pages
}

/// Command lines of a page: those of its blocks, and those in its sentences.
fn in_page(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            let typed = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
            lines.extend(typed.starts_with("backstitch ").then(|| typed.to_owned()));
        } else {
            let code = line.split('`').skip(1).step_by(2);
            lines.extend(
                code.filter(|code| code.starts_with("backstitch "))
                    .map(str::to_owned),
            );
        }
    }
    lines
}

/// Examples of a command's help, without their comments.
fn in_help(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    let examples = lines.filter(|line| line.starts_with("backstitch "));
    examples
        .filter_map(|line| line.split("  ").next())
        .map(str::to_owned)
        .collect()
}

fn of_pages() -> Lines {
    let mut all = Lines::new();
    let here = root();
    for page in pages() {
        let name = page.strip_prefix(&here).expect("a page").display();
        // another test runs this page
        if page.ends_with("coming-from.md") {
            continue;
        }
        for line in in_page(&fs::read_to_string(&page).expect("a page")) {
            all.entry(line).or_insert_with(|| name.to_string());
        }
    }
    all
}

/// Lines of the help of all commands, as the recorded screens have it.
fn of_help() -> Lines {
    let mut all = Lines::new();
    for entry in fs::read_dir(root().join("tests/e2e/snapshots")).expect("screens") {
        let path = entry.expect("a screen").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name.starts_with("help") {
            for line in in_help(&fs::read_to_string(&path).expect("help")) {
                all.entry(line).or_insert_with(|| name.clone());
            }
        }
    }
    all
}

/// True for a line that can be run: no form with parts to leave out, no key to press. The output of one that watches is read
/// by other tests while it runs.
fn can_run(line: &str) -> bool {
    !line.contains(['…', '[']) && !line.contains("<TAB>") && !line.contains("--watch")
}

/// Worlds in which a line is tried, one after the other.
#[derive(Clone, Copy, Debug)]
enum Scene {
    /// Turns, operations, and nothing that the lines make.
    Plain,
    /// With branches and tags that the lines name, and an agent that is set up.
    Branches,
    /// At one held call, or at several.
    Held(usize),
}

/// Number of calls that the lines of pages take for granted: `p7` is one of them.
const SEVERAL: usize = 7;

/// Commands about held calls.
const ON_HELD: [&str; 10] = [
    "back", "debug", "deny", "inject", "inspect", "repl", "resume", "skip", "step", "stop",
];

/// The scenes of a line, the likely one first: the others are tried where it fails.
fn scenes(line: &str) -> [Scene; 4] {
    let [plain, branches] = [Scene::Plain, Scene::Branches];
    let [one, several] = [Scene::Held(1), Scene::Held(SEVERAL)];
    let command = line.split_whitespace().nth(1).unwrap_or_default();
    if !ON_HELD.contains(&command) {
        [plain, branches, one, several]
    } else if line.contains(" p") {
        [several, one, plain, branches]
    } else {
        [one, several, plain, branches]
    }
}

/// A world at a scene, and the hooks that wait there.
struct Stage {
    world: World,
    session: String,
}

impl Stage {
    fn new(branches: bool) -> Self {
        let world = World::in_memory();
        world.write("logo.png", [0x89, b'P', 0]);
        let lines: Vec<String> = (1..30).map(|n| format!("let line{n} = {n};\n")).collect();
        world.write("src/auth.rs", lines.concat());
        world.write(".github/workflows/ci.yml", WORKFLOW);
        world.write(".secrets", "KEY=value\n");
        fs::create_dir_all(world.path("../lint")).expect("a directory");
        let session = play(&world);
        if branches {
            world.ok(["fork", "@", "idea3"]);
            world.ok(["setup", "claude-code"]);
        } else {
            world.ok(["branch", "delete", "idea2"]);
            world.ok(["tag", "--delete", "works"]);
        }
        world.write("../home/notes/a.md", "a note\n");
        world.write("../scratch/kept", "");
        world.write("buffer", "text that is not saved\n");
        world.write(
            "payload.json",
            world
                .agent()
                .payload("Stop", serde_json::json!({}))
                .to_string(),
        );
        let input = edit(&world, "src/main.rs", "THREE", "drei").to_string();
        world.write("changed.json", &input);
        world.write("input.json", &input);
        copy(&world, "mkdir -p saved && cp -a $d saved/");
        Self { world, session }
    }

    /// Runs a line, and brings the world back to what it was.
    fn run(&self, line: &str, held: usize) -> Output {
        let world = &self.world;
        let mut hooks = Vec::new();
        if held > 0 {
            world.ok(["breakpoint", "add", "tool", "Edit"]);
            let mut watcher = Watcher::start(world);
            for _ in 0..held {
                let agent = began(world);
                for step in ["a", "b", "c"] {
                    agent.write("steps.txt", step);
                }
                let input = edit(world, "src/main.rs", "FIVE", "fünf");
                hooks.push(HeldHook::start(
                    world,
                    &before(&agent, "c1", "Edit", &input),
                    600,
                ));
                watcher.until("held");
            }
        }
        let mut line = line.to_owned();
        for (from, to) in PLACEHOLDERS {
            line = line.replace(from, to);
        }
        let output = typed(world, &line.replace("$SESSION", &self.session));
        for hook in hooks {
            hook.quit();
        }
        let back = "find $d -mindepth 1 -delete && cp -a saved/$d/. $d/";
        copy(world, back);
        world.sh("rm -rf ../idea3 ../scratch/*").expect_code(0);
        output
    }
}

/// A command that is named without what it needs.
fn is_name(line: &str) -> bool {
    line.chars()
        .all(|sign| sign.is_ascii_lowercase() || sign == ' ')
}

/// Tries a line in one world after the other, and describes how it failed in all of them.
fn failure(stages: &[Stage; 2], line: &str, page: &str) -> Option<String> {
    let refused = REFUSED.iter().find(|row| line.contains(row.0));
    let wanted = refused.map_or(0, |row| row.1);
    let mut seen = Vec::new();
    for scene in scenes(line) {
        let output = match scene {
            Scene::Plain => stages[0].run(line, 0),
            Scene::Branches => stages[1].run(line, 0),
            Scene::Held(calls) => stages[0].run(line, calls),
        };
        if output.code == wanted {
            return None;
        }
        let said = output.stderr.lines().next().unwrap_or_default().to_owned();
        seen.push(format!("  {scene:?}: {} {said}", output.code));
        if output.code == 2 && is_name(line) {
            // it is named without what it needs: its help is there
            let help = stages[0].run(&format!("{line} --help"), 0);
            return (help.code != 0).then(|| format!("{page}: {line}\n{}", seen.concat()));
        }
    }
    Some(format!("{page}: {line}\n{}", seen.join("\n")))
}

fn assert_all_work(lines: &Lines, at_least: usize) {
    let lines: Vec<_> = lines.iter().filter(|(line, _)| can_run(line)).collect();
    assert!(lines.len() > at_least, "{}", lines.len());
    let next = AtomicUsize::new(0);
    // each thread has its own worlds, in which its lines follow one another
    let work = || {
        let stages = [Stage::new(false), Stage::new(true)];
        let taken = std::iter::from_fn(|| lines.get(next.fetch_add(1, Ordering::Relaxed)));
        let failed = taken.filter_map(|(line, page)| failure(&stages, line, page));
        failed.collect::<Vec<String>>()
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let failed = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        failed
            .flat_map(|failed| failed.expect("a thread"))
            .collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_line_of_pages_works() {
    let lines = of_pages();
    for (part, _, reason) in REFUSED {
        assert!(
            lines.keys().any(|line| line.contains(part)),
            "no page has {part}, which is listed since {reason}"
        );
    }
    assert_all_work(&lines, 80);
}

#[test]
fn every_line_of_help_works() {
    assert_all_work(&of_help(), 80);
}
