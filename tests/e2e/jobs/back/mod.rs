//! Jobs that step back: `job debug` over the real binary, by lines of a script.

mod additions;
mod again;
mod attempts;
mod beside_actdbg;
mod called;
pub(super) mod conversation;
mod demo;
mod edits;
mod edits_of_kinds;
mod exact;
mod freezing;
mod hold;
mod kills;
mod limits;
mod pending_step;
mod points;
mod restored_state;
mod resume;
mod scenarios;
mod second_runs;
mod shell_commands;
pub mod stepped;
mod story;
mod terminal;
mod variables;
pub mod walk;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{World, finish};

/// A debugged job: the answers to its lines, and its end.
struct Debugged {
    /// JSON of each answer, in their order. The first one says where the job stands at its beginning.
    answers: Vec<Value>,
    place: PathBuf,
    code: i32,
}

/// Steps through the job `build` of `ci.yml`.
fn debug(world: &World, lines: &[&str]) -> Debugged {
    let mut command = world.backstitch();
    command.args(["--json", "job", "debug", "ci.yml", "-j", "build", "--yes"]);
    let output = finish(&mut command, (lines.join("\n") + "\n").as_bytes());
    let values = serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>();
    let answers = values.collect::<Result<Vec<Value>, _>>();
    let mut answers = answers.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    answers.pop().expect("the end of the job");
    answers.iter_mut().for_each(remove_times);
    Debugged {
        answers,
        place: super::newest(world),
        code: output.code,
    }
}

/// Takes the times out of an answer that lists checkpoints.
fn remove_times(answer: &mut Value) {
    let Some(said) = answer["said"].as_str() else {
        return;
    };
    let is_time = |text: &str| text.len() == 8 && text.split(':').count() == 3;
    let lines = said.split('\n').map(|line| match line.rsplit_once("  ") {
        Some((rest, time)) if rest.contains("] before '") && is_time(time) => rest,
        _ => line,
    });
    answer["said"] = lines.collect::<Vec<_>>().join("\n").into();
}

impl Debugged {
    /// The answer to the line at this place, from 0.
    fn answer(&self, line: usize) -> &Value {
        &self.answers[line + 1]
    }

    /// `before Build`, `failed Build`, `end`: the place after a line. An error is its text.
    fn stop(&self, line: usize) -> String {
        let answer = self.answer(line);
        if let Some(error) = answer["error"].as_str() {
            return format!("error: {error}");
        }
        let word = answer["stop"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        match answer["step"].as_str() {
            Some(step) => format!("{word} {step}"),
            None => word.to_owned(),
        }
    }

    fn said(&self, line: usize) -> &str {
        let answer = self.answer(line);
        answer["said"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
    }

    fn checkpoints(&self, line: usize) -> u64 {
        self.answer(line)["checkpoints"].as_u64().expect("a number")
    }

    fn workspace(&self) -> PathBuf {
        self.place.join("files/work/work/work")
    }

    fn file(&self, path: &str) -> String {
        let file = self.workspace().join(path);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

/// The workflow of the tests.
const FILE: &str = ".github/workflows/ci.yml";

/// Modes, and contents or targets, by path.
type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// All below a directory but `.git`.
fn tree(root: &Path) -> Files {
    let is_git = |path: &str| path.split('/').any(|name| name == ".git");
    let all = exact::exact(root).into_iter();
    let files = all.filter(|(path, _)| !is_git(path));
    files
        .map(|(path, (mode, _, content))| (path, (mode, content)))
        .collect()
}

/// Writes the workflow anew, with a part of its text replaced.
fn edit(world: &World, from: &str, to: &str) {
    let text = world.read(FILE);
    assert!(text.contains(from), "{text}");
    world.write(FILE, text.replace(from, to));
}
