//! Jobs of workflows: steps beside the same scripts by a shell and by act, and a step that prints a gigabyte.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::measure::{alternating, alternating_slow, timed};
use crate::place::{Place, Programs};
use crate::rows::Report;
use crate::table::Goal;

/// Time that one step may take beside its script, in milliseconds.
const STEP_COST: f64 = 2.0;
/// Prints a gigabyte, in lines of 100 bytes.
pub const PRINTS: &str = "yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789 | head -c 1000000000";
/// Memory for any amount of output, in MB.
pub const OUTPUT_MEMORY: f64 = 64.0;

/// Writes a workflow of one job with these scripts.
pub fn write_workflow(root: &Path, name: &str, scripts: &[String]) -> Result<()> {
    let mut text = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n".to_owned();
    for script in scripts {
        writeln!(text, "      - run: {script}")?;
    }
    let folder = root.join(".github/workflows");
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), text)?)
}

/// Runs a command to its end, which must be a success.
pub fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(())
}

/// A program of `tests/jobs/install.sh`, where that has installed it.
pub fn installed(path: &str) -> Option<PathBuf> {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/jobs");
    let folder = std::env::var_os("BACKSTITCH_TEST_JOBS").map_or(cache, PathBuf::from);
    Some(folder.join(path)).filter(|path| path.exists())
}

pub fn measure(report: &mut Report, programs: &Programs, count: u16, runs: usize) -> Result<()> {
    let place = Place::new(programs)?;
    run(Command::new("git")
        .args(["init", "-q"])
        .current_dir(&place.root))?;
    steps(report, &place, count, runs)?;
    output(report, &place)
}

fn steps(report: &mut Report, place: &Place<'_>, count: u16, runs: usize) -> Result<()> {
    let scripts: Vec<String> = (0..count).map(|step| format!("echo {step}")).collect();
    write_workflow(&place.root, "steps.yml", &scripts)?;
    let steps = format!("a job of {count} steps");
    let ours = || place.run(&["job", "run", "steps.yml", "--yes"]);
    let files: Vec<PathBuf> = scripts
        .iter()
        .enumerate()
        .map(|(step, script)| {
            let file = place.beside(&format!("{step}.sh"));
            fs::write(&file, script)?;
            Ok(file)
        })
        .collect::<Result<_>>()?;
    let by_shell = || {
        timed(|| {
            let mut all = files.iter();
            all.try_for_each(|file| run(Command::new("bash").arg("-e").arg(file)))
        })
    };
    let times = alternating(runs, ours, by_shell)?;
    let most = (times.1.median() * 1.2 + STEP_COST * f64::from(count)).round();
    let limit = "bash -e for each script";
    report.times(&steps, "job run", limit, &times, Goal::AtMost(most));
    let Some(act) = installed("bin/act") else {
        return Ok(());
    };
    let by_act = || {
        timed(|| {
            let mut command = Command::new(&act);
            command.args(["push", "--workflows", ".github/workflows/steps.yml"]);
            command.args(["--platform", "ubuntu-latest=-self-hosted"]);
            command.arg("--no-cache-server").current_dir(&place.root);
            run(command.env("HOME", place.beside("act")))
        })
    };
    let times = alternating(runs, ours, by_act)?;
    let limit = "act, on the host";
    report.times(&steps, "job run", limit, &times, Goal::Ratio(1.0));
    Ok(())
}

fn output(report: &mut Report, place: &Place<'_>) -> Result<()> {
    write_workflow(&place.root, "output.yml", &[PRINTS.to_owned()])?;
    let log = place.beside("log");
    let tee = format!("{PRINTS} | tee {} > {}", log.display(), "/dev/null");
    place.watch_memory();
    let times = alternating_slow(
        || {
            let took = place.run(&["job", "run", "output.yml", "--yes"])?;
            place.run(&["job", "rm", "--all"])?;
            Ok(took)
        },
        || timed(|| run(Command::new("bash").arg("-c").arg(&tee))),
    )?;
    let limit = "the same through tee";
    report.times(
        "a job",
        "a step that prints 1 GB",
        limit,
        &times,
        Goal::Ratio(2.0),
    );
    let peak = f64::from(u32::try_from(place.peak())?);
    report.memory(
        "a job",
        "memory during a step that prints 1 GB",
        peak,
        OUTPUT_MEMORY,
    );
    Ok(())
}
