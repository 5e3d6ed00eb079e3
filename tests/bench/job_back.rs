//! Jobs that step back. A checkpoint stands beside the bare script, and beside reading and packing what a step wrote. A step back
//! stands beside writing the files, a copy of the tree, and actdbg.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::floor;
use crate::jobs::{installed, run, write_workflow};
use crate::measure::{Times, alternating, alternating_slow, timed};
use crate::place::{Place, Programs};
use crate::rows::Report;
use crate::table::{Goal, Row};
use crate::tree;

/// Files of the tree in which is stepped back.
const FILES: usize = 30_000;
/// Steps that are undone.
const STEPS: usize = 10;
/// Files that a step changes.
const FEW: usize = 10;
const MANY: usize = 100;
/// Milliseconds that a step of a few files may take beside its script, and one that changes nothing.
const FEW_COST: f64 = 15.0;
const EMPTY_COST: f64 = 25.0;
/// Milliseconds that a step back may take beside twice the time of writing its files.
const BACK_COST: f64 = 20.0;
/// Part of the time of a copy of the tree that a step back may take.
const BACK_PART: f64 = 0.2;
/// Times that recording what a step wrote may take of the least that it can.
const INSTALL_RATIO: f64 = 1.3;
/// Directory of the files that a step installs.
const INSTALLED: &str = "node_modules";

/// A program that reads lines and answers each one.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    fn start(command: &mut Command) -> Result<Talk> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().context("an input")?;
        let output = BufReader::new(child.stdout.take().context("an output")?).lines();
        Ok(Talk {
            child,
            input,
            output,
        })
    }

    /// Writes a line, and waits for a line with this text.
    fn ask(&mut self, line: &str, answer: &str) -> Result<Duration> {
        timed(|| {
            writeln!(self.input, "{line}")?;
            self.until(answer)
        })
    }

    fn until(&mut self, answer: &str) -> Result<()> {
        while let Some(line) = self.output.next().transpose()? {
            if line.contains(answer) {
                return Ok(());
            }
        }
        anyhow::bail!("it ended before {answer:?}")
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn measure(report: &mut Report, programs: &Programs, runs: usize) -> Result<()> {
    let place = Place::new(programs)?;
    tree::write(&place.root, FILES)?;
    let name = format!("a job in {FILES} files");
    let changes = |count: usize| {
        format!("for n in $(seq {count}); do echo \"$RANDOM $n\" > \"part0/new$n\"; done")
    };
    let mut scripts = vec!["true".to_owned(), changes(FEW), changes(1), changes(MANY)];
    scripts.extend((0..STEPS).map(|step| format!("echo {step} > part0/step{step}")));
    write_workflow(&place.root, "back.yml", &scripts)?;
    let packages = place.beside("packages");
    tree::write(&packages, FILES)?;
    let install = format!("cp -r {} {INSTALLED}", packages.display());
    write_workflow(&place.root, "install.yml", std::slice::from_ref(&install))?;
    for workflow in ["back.yml", "install.yml"] {
        let file = place.root.join(".github/workflows").join(workflow);
        let checkout = "steps:\n      - uses: actions/checkout@v4\n";
        fs::write(
            &file,
            fs::read_to_string(&file)?.replace("steps:\n", checkout),
        )?;
    }
    tree::commit(&place.root)?;
    let mut job = begin(&place, "back.yml")?;
    steps(report, &name, &place, &scripts, &mut job, runs)?;
    let ours = ten_back(&place, &mut job, scripts.len() - STEPS)?;
    drop(job);
    installs(report, &name, &place, &install)?;
    let jobs = place.state("backstitch/jobs");
    let store = size(&jobs.join("back-a-1/store"))?;
    let copies = size(&place.root)? * (STEPS as u64);
    disk(report, &name, "copies of the tree", store, copies);
    let Some(actdbg) = installed("site/actdbg") else {
        return Ok(());
    };
    let (theirs, snapshots) = by_actdbg(&place, &actdbg)?;
    let times = (Times::of(vec![ours]), Times::of(vec![theirs]));
    report.times(&name, "10 steps back", "actdbg", &times, Goal::Ratio(0.2));
    disk(report, &name, "actdbg", store, snapshots);
    Ok(())
}

/// Starts a job that stands after its checkout.
fn begin(place: &Place<'_>, workflow: &str) -> Result<Talk> {
    let mut command = place.server();
    command.args(["--json", "job", "debug", workflow, "-j", "a", "--yes"]);
    let mut job = Talk::start(&mut command)?;
    job.until("\"stop\"")?;
    job.ask("n", "\"stop\"")?;
    Ok(job)
}

/// Steps forward beside their scripts by a shell, and back beside writing their files durably.
fn steps(
    report: &mut Report,
    name: &str,
    place: &Place<'_>,
    scripts: &[String],
    job: &mut Talk,
    runs: usize,
) -> Result<()> {
    let bare = place.beside("bare");
    fs::create_dir_all(bare.join("part0"))?;
    let rows = [
        ("next of an empty step", 0, EMPTY_COST, None),
        ("next of a step that changes 10 files", FEW, FEW_COST, None),
        ("", 1, 0.0, Some("a step back over 1 changed file")),
        ("", MANY, 0.0, Some("a step back over 100 changed files")),
    ];
    for ((forward, count, cost, back), script) in rows.into_iter().zip(scripts) {
        let file = place.beside("bare.sh");
        fs::write(&file, script)?;
        let by_shell =
            || timed(|| run(Command::new("bash").arg("-e").arg(&file).current_dir(&bare)));
        if let Some(back) = back {
            let mut undo = || {
                job.ask("n", "\"stop\"")?;
                job.ask("b", "\"stop\"")
            };
            let times = alternating(runs, &mut undo, || write_durably(&bare, count))?;
            let most = times.1.median() * 2.0 + BACK_COST;
            report.times(
                name,
                back,
                "writing them durably",
                &times,
                Goal::AtMost(most),
            );
            let copy = place.beside("copy");
            let times = alternating_slow(&mut undo, || {
                let took = timed(|| run(Command::new("cp").arg("-a").args([&place.root, &copy])));
                fs::remove_dir_all(&copy)?;
                took
            })?;
            let limit = "cp -a of the tree";
            report.times(name, back, limit, &times, Goal::Ratio(BACK_PART));
        } else {
            let mut step = || {
                let took = job.ask("n", "\"stop\"")?;
                job.ask("b", "\"stop\"")?;
                Ok(took)
            };
            let times = alternating(runs, &mut step, by_shell)?;
            report.times(name, forward, "bash -e", &times, Goal::Above(cost));
        }
        job.ask("n", "\"stop\"")?;
    }
    Ok(())
}

/// Records a step that writes many files. The time of its script is that of a shell in between, and does not count.
fn installs(report: &mut Report, name: &str, place: &Place<'_>, script: &str) -> Result<()> {
    let mut job = begin(place, "install.yml")?;
    let (bare, packed) = (place.beside("installed"), place.beside("packed"));
    fs::create_dir_all(&bare)?;
    let dir = bare.join(INSTALLED);
    let by_shell = || {
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        timed(|| {
            run(Command::new("bash")
                .args(["-ec", script])
                .current_dir(&bare))
        })
    };
    let times = alternating_slow(
        || {
            let took = job.ask("n", "\"stop\"")?;
            job.ask("b", "\"stop\"")?;
            Ok(took.saturating_sub(by_shell()?))
        },
        || {
            timed(|| {
                let written = floor::walk(&dir)?;
                floor::pack(&bare, &written, &packed)
            })
        },
    )?;
    report.times(
        name,
        "next of a step that writes 30,000 files, without its script",
        "walk, read, blake3, zstd-1, one file, fsync of them; 2 threads",
        &times,
        Goal::Ratio(INSTALL_RATIO),
    );
    Ok(())
}

/// Writes new contents of so many files, each to the disk.
fn write_durably(dir: &Path, count: usize) -> Result<Duration> {
    timed(|| {
        for n in 1..=count {
            let mut file = File::create(dir.join(format!("part0/new{n}")))?;
            writeln!(file, "{n}")?;
            file.sync_all()?;
        }
        Ok(File::open(dir.join("part0"))?.sync_all()?)
    })
}

/// Runs the last steps, and takes the time of a step back over each.
fn ten_back(place: &Place<'_>, job: &mut Talk, before: usize) -> Result<Duration> {
    job.ask("c", "\"stop\"")?;
    let took = timed(|| (0..STEPS).try_for_each(|_| job.ask("b", "\"stop\"").map(drop)))?;
    let files = place.state("backstitch/jobs/back-a-1/files/work/work/work");
    ensure!(
        !files.join("part0/step0").exists(),
        "{before} steps are left"
    );
    Ok(took)
}

/// The same by actdbg, with the size of its copies.
fn by_actdbg(place: &Place<'_>, actdbg: &Path) -> Result<(Duration, u64)> {
    let scripts: Vec<String> = (0..STEPS)
        .map(|step| format!("echo {step} > part0/step{step}"))
        .collect();
    write_workflow(&place.root, "ten.yml", &scripts)?;
    let copies = place.beside("copies");
    fs::create_dir_all(&copies)?;
    let mut command = Command::new("python3");
    command
        .args([
            "-u",
            "-m",
            "actdbg",
            "run",
            ".github/workflows/ten.yml",
            "-i",
            "--backend",
            "host",
        ])
        .env("PYTHONPATH", actdbg.parent().context("a directory")?)
        .env("TMPDIR", &copies)
        .current_dir(&place.root);
    let mut job = Talk::start(&mut command)?;
    for _ in 0..STEPS {
        job.ask("next", "ok")?;
    }
    let size = size(&copies)?;
    let took = timed(|| {
        (1..=STEPS)
            .rev()
            .try_for_each(|step| job.ask(&format!("goto {step}"), "restored").map(drop))
    })?;
    Ok((took, size))
}

/// Adds a row with sizes on disk.
fn disk(report: &mut Report, name: &str, limit_is: &'static str, ours: u64, theirs: u64) {
    let megabytes =
        |bytes: u64| f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX)) / 1024.0;
    report.add(Row {
        tree: name.to_owned(),
        operation: "checkpoints of its steps on disk",
        limit_is,
        ours: megabytes(ours),
        limit: megabytes(theirs),
        goal: Goal::Ratio(0.05),
        unit: "MB",
    });
}

/// Bytes on disk of a directory, by du.
fn size(dir: &Path) -> Result<u64> {
    let mut child = Command::new("du")
        .args(["-s", "-B1"])
        .arg(dir)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut text = String::new();
    child
        .stdout
        .take()
        .context("an output")?
        .read_to_string(&mut text)?;
    child.wait()?;
    let bytes = text.split_whitespace().next().context("a size")?;
    Ok(bytes.parse()?)
}
