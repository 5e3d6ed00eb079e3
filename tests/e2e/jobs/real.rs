//! Real workflows, those of published packages (`tests/jobs/packages.mjs`), are listed without a false problem. Their jobs end as
//! with act.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::act::{act, packages};
use super::job;
use crate::support::{World, finish, rng, skip};

/// Workflows, at least: 110 of crates and 23 of source packages in November 2026.
pub const MIN_WORKFLOWS: usize = 100;

/// Jobs that no absent tool ends, at least, and those of them that succeed. One toolchain without others gives 36 and 15.
const MIN_JOBS: usize = 20;
const MIN_SUCCESSFUL: usize = 12;

/// Jobs that take more than ten seconds, by their package and id: a long run has them, too.
const LONG: [(&str, &str); 4] = [
    ("arraydeque", "tests"),
    ("dashmap", "lint"),
    ("fixedbitset", "build_x86_64"),
    ("proc-macro-crate", "test"),
];

/// An action that only saves time, and has no counterpart here.
const CACHE: &str = "Swatinem/rust-cache";

/// Lines of a script of `tests/jobs`, each a JSON object.
pub fn script(name: &str, packages: &Path, input: &[u8]) -> Vec<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("node");
    command.arg(tests.join("jobs").join(name));
    if input.is_empty() {
        command.arg(tests.join("../Cargo.lock"));
    }
    let told = finish(command.arg(packages), input).expect_code(0);
    let object = |line: &str| serde_json::from_str(line).expect("JSON");
    told.stdout.lines().map(object).collect()
}

/// A job of a published package.
struct RealJob {
    name: String,
    archive: PathBuf,
    package: String,
    file: String,
    event: String,
    job: String,
    steps: Vec<String>,
    uses: Vec<String>,
}

impl RealJob {
    fn of(value: &Value) -> RealJob {
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        let texts = |key: &str| {
            let all = value[key].as_array().expect("a list").iter();
            all.map(|text| text.as_str().expect("a text").to_owned())
                .collect()
        };
        RealJob {
            name: format!("{} {} {}", text("package"), text("file"), text("job")),
            archive: PathBuf::from(text("archive")),
            package: text("package"),
            file: text("file"),
            event: text("event"),
            job: text("job"),
            steps: texts("steps"),
            uses: texts("uses"),
        }
    }

    fn is_long(&self) -> bool {
        let is_of = |name: &str| self.package.starts_with(&format!("{name}-"));
        LONG.iter()
            .any(|(package, job)| is_of(package) && *job == self.job)
    }

    /// The package as a repository with one commit.
    fn unpack(&self, home: &World) -> World {
        let world = home.beside(&self.package);
        if !world.root.exists() {
            fs::create_dir(&world.root).expect("a directory");
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(&self.archive);
            tar.args(["--strip-components", "1", "-C"]).arg(&world.root);
            finish(&mut tar, b"").expect_code(0);
            world.git_ok(["init", "-q", "-b", "main"]);
            world.git_ok(["add", "-A"]);
            world.git_ok(["commit", "-q", "-m", "start"]);
        }
        world
    }
}

/// The combination of a matrix with the stable toolchain, else the first one for Linux, as pairs of a name and a value. None if
/// a value is not plain: act cannot be asked for that one.
fn combination(world: &World, real: &RealJob) -> Option<Vec<(String, String)>> {
    let listed = world.run(["--json", "job", "list", &real.file]).json();
    let jobs = listed["workflows"][0]["jobs"].as_array().expect("jobs");
    let job = jobs.iter().find(|job| job["id"] == real.job.as_str());
    let all = job.and_then(|job| job["matrix"].as_array().cloned());
    let Some(mut all) = all else {
        return Some(Vec::new());
    };
    let values = |of: &Value| of.as_object().expect("a combination").clone();
    let has = |of: &Value, word: &str| {
        values(of).values().any(|value| {
            value
                .as_str()
                .is_some_and(|text| text.to_lowercase().starts_with(word))
        })
    };
    all.retain(|all| !has(all, "windows") && !has(all, "mac"));
    let chosen = all.iter().find(|all| has(all, "stable")).or(all.first())?;
    let plain = values(chosen).into_iter().map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        Value::Bool(_) | Value::Number(_) => Some((name, value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    plain.collect()
}

/// Outcomes of a job's steps, by their place, and true if a tool is absent.
fn ours(
    world: &World,
    real: &RealJob,
    matrix: &[(String, String)],
    env: &str,
) -> (Vec<String>, bool) {
    let mut args = vec!["--json", "job", "run", &real.file, "--yes", "-j", &real.job];
    args.extend(["--event", &real.event, "--env-file", env]);
    let matrix: Vec<String> = matrix
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for value in &matrix {
        args.extend(["--matrix", value]);
    }
    let cache = format!("{CACHE}={}", stand_in_dir(world, CACHE).display());
    if real.uses.iter().any(|uses| uses.starts_with(CACHE)) {
        args.extend(["--action", &cache]);
    }
    let report = world.run(args).json();
    if let Some(dir) = report["jobs"][0]["directory"].as_str() {
        // the files of a build take room
        let id = Path::new(dir).file_name().expect("a name");
        world.ok([OsStr::new("job"), OsStr::new("rm"), id]);
    }
    let steps = report["jobs"][0]["steps"].as_array().cloned();
    let mut outcomes = vec!["skipped".to_owned(); real.steps.len()];
    let mut absent = false;
    for step in steps.unwrap_or_default() {
        let path = step["path"].as_array().expect("a path");
        if path.len() > 1 || step["part"] != "main" {
            continue;
        }
        let place = path[0]
            .as_u64()
            .and_then(|place| usize::try_from(place).ok());
        step["outcome"]
            .as_str()
            .expect("an outcome")
            .clone_into(&mut outcomes[place.expect("a place")]);
        let reason = step["reason"].as_str().unwrap_or_default();
        absent |= reason.contains(" is absent: ");
    }
    (outcomes, absent)
}

/// The same of act.
fn theirs(both: &Both, world: &World, real: &RealJob, matrix: &[(String, String)]) -> Vec<String> {
    let file = format!(".github/workflows/{}", real.file);
    let mut command = act(&both.packages, world, &real.event, &file, &both.env);
    let own = both.own.join("files/home");
    command.env("CARGO_HOME", own.join(".cargo"));
    command.env("RUSTUP_HOME", own.join(".rustup"));
    command.args(["--job", &real.job]);
    for version in ["24.04", "22.04", "20.04"] {
        command.arg(format!("--platform=ubuntu-{version}=-self-hosted"));
    }
    for (name, value) in matrix {
        command.arg("--matrix").arg(format!("{name}:{value}"));
    }
    for uses in &real.uses {
        if !uses.starts_with("actions/checkout@") {
            let dir = stand_in_dir(world, uses);
            command
                .arg("--local-repository")
                .arg(format!("{uses}={}", dir.display()));
        }
    }
    let told = finish(&mut command, b"");
    let _ = fs::remove_dir_all(world.home.join(".cache/act"));
    let mut outcomes = vec!["skipped".to_owned(); real.steps.len()];
    let lines = told.stdout.lines().chain(told.stderr.lines());
    for line in lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let id = line["stepID"].as_array().filter(|path| path.len() == 1);
        let place = id.and_then(|id| real.steps.iter().position(|step| id[0] == step.as_str()));
        if let (Some(place), Some(outcome), true) =
            (place, line["stepResult"].as_str(), line["stage"] == "Main")
        {
            outcome.clone_into(&mut outcomes[place]);
        }
    }
    outcomes
}

/// Directory of an action that stands for another.
fn stand_in_dir(world: &World, uses: &str) -> PathBuf {
    let dir = world.home.with_file_name("actions").join(uses);
    let (name, reference) = uses.split_once('@').unwrap_or((uses, ""));
    fs::create_dir_all(&dir).expect("a directory");
    fs::write(dir.join("action.yml"), stand_in(name, reference)).expect("a file");
    dir
}

/// An action for act, which has no network: it fails where the tool is not on this machine.
fn stand_in(name: &str, reference: &str) -> String {
    let (toolchain, components) = match reference {
        "clippy" => ("nightly", "clippy"),
        "miri" => ("nightly", "miri,rust-src"),
        other => (other, ""),
    };
    let script = match name {
        "actions/setup-python" => {
            "case \"$(python3 --version).\" in \"Python ${{ inputs.python-version }}.\"*) ;; *) exit 1;; esac"
        }
        "actions/upload-artifact" | CACHE => ":",
        _ => {
            "for name in $(rustup toolchain list -q); do
          version=$(rustup run $name rustc --version) || continue
          case \"$name=$version\" in
            $toolchain-*|*\"=rustc $toolchain\"[\\ .]*) found=$name ;;
          esac
        done
        sysroot=$(rustup run $found rustc --print sysroot)
        for target in $targets; do test -d $sysroot/lib/rustlib/$target/lib; done
        for component in $components; do
          case $component in
            rust-src) test -d $sysroot/lib/rustlib/src/rust/library ;;
            *) ls $sysroot/bin/*$component* ;;
          esac
        done
        echo RUSTUP_TOOLCHAIN=$found >> $GITHUB_ENV"
        }
    };
    let python = "${{ inputs.python-version }}";
    let script = script.replace(python, "${version%.x}");
    format!(
        "name: stand-in
inputs:
  toolchain: {{default: '{toolchain}'}}
  components: {{default: '{components}'}}
  targets: {{default: ''}}
  target: {{default: ''}}
  python-version: {{default: ''}}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        toolchain: ${{{{ inputs.toolchain }}}}
        components: ${{{{ inputs.components }}}}
        targets: ${{{{ inputs.targets }}}} ${{{{ inputs.target }}}}
        version: ${{{{ inputs.python-version }}}}
      run: |
        components=${{components//,/ }} targets=${{targets//,/ }}
        {script}
"
    )
}

/// A world whose toolchains and registry are the user's. Where none is named `stable`, the compiler on PATH is.
fn with_toolchains() -> World {
    let home = std::env::var_os("HOME").map_or_else(PathBuf::new, PathBuf::from);
    let of = |name: &str, folder: &str| {
        std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from)
    };
    let (cargo, mut rustup) = (of("CARGO_HOME", ".cargo"), of("RUSTUP_HOME", ".rustup"));
    let world = World::new();
    let toolchains = fs::read_dir(rustup.join("toolchains"));
    let mut names = toolchains
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    if !names.any(|name| name.to_string_lossy().starts_with("stable-")) {
        let told = finish(Command::new("rustc").args(["--print", "sysroot"]), b"");
        let sysroot = told.expect_code(0).stdout.trim().to_owned();
        rustup = world.home.with_file_name("rustup");
        let own = rustup.join("toolchains");
        fs::create_dir_all(&own).expect("a directory");
        let host = std::env::consts::ARCH;
        let name = format!("stable-{host}-unknown-linux-gnu");
        symlink(sysroot, own.join(&name)).expect("a link");
        let settings = format!("version = \"12\"\ndefault_toolchain = \"{name}\"\n");
        fs::write(rustup.join("settings.toml"), settings).expect("a file");
    }
    world
        .with("CARGO_HOME", &cargo.to_string_lossy())
        .with("RUSTUP_HOME", &rustup.to_string_lossy())
}

/// Things that both programs have in common.
struct Both {
    packages: PathBuf,
    /// Its home and its state are those of all packages.
    home: World,
    /// Variables of all steps.
    env: PathBuf,
    /// Directory of a run whose toolchains and registry act gets: those of the user would change.
    own: PathBuf,
}

impl Both {
    fn new(packages: PathBuf, home: World) -> Both {
        let env = home.home.with_file_name("jobs.env");
        let offline = std::env::var_os("BACKSTITCH_JOBS_NETWORK").is_none();
        let variables = "CARGO_NET_OFFLINE=true\nPIP_NO_INDEX=1\nRUSTUP_AUTO_INSTALL=0\n";
        fs::write(&env, if offline { variables } else { "" }).expect("a file");
        home.write(".github/workflows/ci.yml", job("- run: 'true'"));
        let report = home.run(["--json", "job", "run", "ci.yml"]).json();
        let own = report["jobs"][0]["directory"].as_str();
        Both {
            packages,
            env,
            own: PathBuf::from(own.expect("a directory")),
            home,
        }
    }
}

/// Jobs by their end, and those that end otherwise with act.
#[derive(Debug, Default)]
struct Ends {
    counts: BTreeMap<&'static str, usize>,
    different: String,
}

impl Ends {
    fn of(&self, kind: &str) -> usize {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    /// Runs a job by both.
    fn add(&mut self, both: &Both, real: &RealJob) {
        let world = real.unpack(&both.home);
        let Some(matrix) = combination(&world, real) else {
            return;
        };
        let began = Instant::now();
        let (ours, absent) = ours(&world, real, &matrix, &both.env.to_string_lossy());
        let took = began.elapsed();
        let began = Instant::now();
        let theirs = theirs(both, &world, real, &matrix);
        let has = |outcome: &str| ours.iter().any(|one| one == outcome);
        let kind = match absent {
            true => "absent",
            false if has("failure") => "failure",
            false if has("success") => "success",
            false => "skipped",
        };
        *self.counts.entry(kind).or_default() += 1;
        let (name, theirs_took) = (&real.name, began.elapsed());
        println!("{kind:8} {took:6.1?} {theirs_took:6.1?} {name} {matrix:?} {ours:?}");
        if ours != theirs {
            let _ = writeln!(
                self.different,
                "{name} {matrix:?}\n  ours:  {ours:?}\n  act's: {theirs:?}"
            );
        }
    }
}

/// Jobs of published packages end as with act: the same outcome of each step.
///
/// Steps have no network: a job that lacks a package fails, with act at the same step. A toolchain that is not here ends a job with
/// both, and does not count.
#[test]
fn real_jobs_end_as_with_act() {
    let Some(packages) = packages("jobs::real") else {
        return;
    };
    if finish(Command::new("sh").args(["-c", "command -v rustup"]), b"").code != 0 {
        skip("jobs::real", "rustup is not installed");
        return;
    }
    let both = Both::new(packages, with_toolchains());
    let mut ends = Ends::default();
    let all = script("candidates.mjs", &both.packages, b"");
    for real in all.iter().map(RealJob::of) {
        if rng::is_long() || !real.is_long() {
            ends.add(&both, &real);
        }
    }
    println!("{:?}", ends.counts);
    assert!(ends.different.is_empty(), "{}", ends.different);
    let (successful, failed) = (ends.of("success"), ends.of("failure"));
    assert!(successful + failed >= MIN_JOBS, "{ends:?}");
    assert!(successful >= MIN_SUCCESSFUL, "{ends:?}");
}

/// `job list` shows a problem of a published workflow if GitHub's parser does, at the same place.
#[test]
fn real_workflows_are_listed_without_a_false_problem() {
    let Some(packages) = packages("jobs::real_workflows") else {
        return;
    };
    let world = World::git();
    let files = script("corpus.mjs", &packages, b"");
    let files: Vec<Value> = files
        .into_iter()
        .filter(|file| file["kind"] == "workflow")
        .collect();
    assert!(files.len() >= MIN_WORKFLOWS, "{}", files.len());
    let mut questions = String::new();
    for (place, file) in files.iter().enumerate() {
        let text = file["text"].as_str().expect("a text");
        world.write(format!(".github/workflows/{place:04}.yml"), text);
        let _ = writeln!(questions, "{file}");
    }
    let answers = script("oracle.mjs", &packages, questions.as_bytes());
    let listed = world.run(["--json", "job", "list"]).json();
    let listed = listed["workflows"].as_array().expect("workflows");
    assert_eq!((listed.len(), answers.len()), (files.len(), files.len()));
    let places = |of: &Value| {
        let all = of["problems"].as_array().expect("problems").iter();
        let places = all.map(|problem| (problem["line"].as_u64(), problem["column"].as_u64()));
        places.collect::<Vec<_>>()
    };
    for ((file, ours), theirs) in files.iter().zip(listed).zip(&answers) {
        let name = format!("{} {}", file["package"], file["file"]);
        assert_eq!(places(ours), places(theirs), "{name}: {ours:#}");
        let jobs = ours["jobs"].as_array().expect("jobs");
        assert!(places(ours).is_empty() != jobs.is_empty(), "{name}");
    }
}
