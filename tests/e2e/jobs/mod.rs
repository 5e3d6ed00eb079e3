//! Jobs of CI workflows over the real binary: `job list` and `job run`.

pub mod act;
mod actions;
pub mod back;
mod before;
mod cancelled_actions;
mod faults;
mod health;
mod isolation;
mod known_failures;
mod leftovers;
mod lists;
mod masks;
mod matchers;
mod progress;
pub mod real;
mod results;
mod settings;
mod steps;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{Output, World};

/// A repository with one workflow, `ci.yml`.
pub fn workflow(text: &str) -> World {
    workflow_with(text, &[])
}

/// A repository with a workflow and other files.
pub fn workflow_with(text: &str, files: &[(&str, &str)]) -> World {
    let mut all = vec![(".github/workflows/ci.yml", text)];
    all.extend_from_slice(files);
    World::committed(&all)
}

/// A job with these steps, as YAML that begins at the column of `- `.
pub fn job(steps: &str) -> String {
    let steps = steps.trim_matches('\n').replace('\n', "\n      ");
    format!("on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      {steps}\n")
}

/// Starts `job run ci.yml`, whose output is read while it runs.
fn start(world: &World) -> Child {
    let mut command = world.backstitch();
    command
        .args(["job", "run", "ci.yml"])
        .stdout(Stdio::piped());
    command.spawn().expect("a run")
}

/// Starts `job run ci.yml` and waits until a step prints `ready`. Returns the run and the lines that follow.
fn run_until_ready(world: &World) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut runner = start(world);
    let mut lines = BufReader::new(runner.stdout.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok);
    assert!(lines.any(|line| line.trim() == "ready"), "the step runs");
    (runner, lines)
}

/// The end of a run.
struct Ran {
    output: Output,
    report: Value,
    /// Directory of the newest run.
    place: PathBuf,
}

impl Ran {
    fn result(&self) -> &str {
        self.report["result"].as_str().expect("a result")
    }

    /// The step of this name, in the first job.
    fn step(&self, name: &str) -> &Value {
        let steps = self.report["jobs"][0]["steps"].as_array().expect("steps");
        let named = |step: &&Value| step["name"] == name || step["id"] == name;
        steps
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("{name} in {:#}", self.report))
    }

    fn outcomes(&self) -> Vec<String> {
        let jobs = self.report["jobs"].as_array().expect("jobs");
        let steps = jobs
            .iter()
            .flat_map(|job| job["steps"].as_array().expect("steps"));
        let outcomes = steps.map(|step| {
            format!(
                "{} {}",
                step["name"].as_str().expect("a name"),
                step["outcome"].as_str().expect("an outcome")
            )
        });
        outcomes.collect()
    }

    /// All logs of the run, as one text; empty for a run that has not begun.
    fn log(&self) -> String {
        let entries = fs::read_dir(self.place.join("log")).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let texts = files.iter().map(|file| fs::read(file).expect("a log"));
        texts
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .collect()
    }

    /// A file of the job's workspace.
    fn file(&self, path: &str) -> String {
        let file = self.workspace().join(path);
        fs::read_to_string(&file).unwrap_or_else(|error| {
            panic!(
                "{}: {error}\n{:#}\n{}",
                file.display(),
                self.report,
                self.log()
            )
        })
    }

    fn workspace(&self) -> PathBuf {
        self.place.join("files/work/work/work")
    }
}

/// Runs `ci.yml` with these arguments.
fn run(world: &World, args: &[&str]) -> Ran {
    let mut all = vec!["--json", "job", "run", "ci.yml", "--yes"];
    all.extend_from_slice(args);
    let output = world.run(all);
    let report =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let place = newest(world);
    Ran {
        output,
        report,
        place,
    }
}

/// Directory of the newest run.
pub fn newest(world: &World) -> PathBuf {
    let runs = world.state.join("backstitch/jobs");
    let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
    let places = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("run.json").exists());
    let newest = places.max_by_key(|path| {
        fs::metadata(path.join("run.json"))
            .and_then(|file| file.modified())
            .ok()
    });
    newest.unwrap_or(runs)
}
