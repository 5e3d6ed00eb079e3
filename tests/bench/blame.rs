//! Blame of a long file with a long history, next to `git blame` of the same versions.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::measure::{alternating, timed};
use crate::place::{Place, Programs};
use crate::rng::Rng;
use crate::rows::{NO_PROCESS, Report};
use crate::table::Goal;

const FILE: &str = "long.rs";
const LINES: usize = 10_000;

pub fn measure_versions(
    report: &mut Report,
    programs: &Programs,
    versions: usize,
    runs: usize,
) -> Result<()> {
    let place = Place::new(programs)?;
    let git = place.beside("git");
    fs::create_dir(&git)?;
    run_git(&git, &["init", "-q"])?;
    let mut rng = Rng::new(10);
    let mut text = long_file(&mut rng, LINES);
    let write = |text: &[String]| fs::write(place.root.join(FILE), text.concat());
    write(&text)?;
    place.prompt()?;
    for version in 0..versions {
        change(&place, FILE, &mut rng, &mut text)?;
        fs::copy(place.root.join(FILE), git.join(FILE))?;
        run_git(&git, &["add", FILE])?;
        run_git(&git, &["commit", "-q", "-m", &version.to_string()])?;
    }
    let name = format!("{LINES} lines, {versions} versions");
    let blame = || place.run(&["blame", FILE]);
    let forget = || -> Result<()> {
        place.database()?.execute("DELETE FROM blame", [])?;
        Ok(())
    };
    let cold = alternating(
        runs,
        || {
            forget()?;
            blame()
        },
        || timed(|| run_git(&git, &["blame", FILE])),
    )?;
    report.times(
        &name,
        "blame, nothing asked before",
        "git blame",
        &cold,
        Goal::AtMost(500.0),
    );
    let nothing = || place.nothing([""; 0]);
    let warm = alternating(runs.max(21), blame, nothing)?;
    report.times(
        &name,
        "blame, asked before",
        NO_PROCESS,
        &warm,
        Goal::AtMost(5.0),
    );
    let again = alternating(
        runs.max(21),
        || -> Result<Duration> {
            change(&place, FILE, &mut rng, &mut text)?;
            blame()
        },
        nothing,
    )?;
    report.times(
        &name,
        "blame, one version later",
        NO_PROCESS,
        &again,
        Goal::AtMost(10.0),
    );
    Ok(())
}

/// Generates the lines of a file.
pub fn long_file(rng: &mut Rng, lines: usize) -> Vec<String> {
    let line = |at| format!("    let value_{at} = compute({});\n", rng.next());
    (0..lines).map(line).collect()
}

/// Runs an agent's edit at a random place that deletes a few lines and inserts a few.
pub fn change(place: &Place<'_>, file: &str, rng: &mut Rng, text: &mut Vec<String>) -> Result<()> {
    let at = rng.below(text.len() - 3);
    let (gone, come) = (rng.below(3), 1 + rng.below(3));
    let new = (0..come).map(|_| format!("    let changed = compute({});\n", rng.next()));
    let new: Vec<String> = new.collect();
    text.splice(at..at + gone, new);
    let call = place.write_call(file, &text.concat());
    place.before(&call)?;
    fs::write(place.root.join(file), text.concat())?;
    place.after(&call)?;
    Ok(())
}

fn run_git(dir: &Path, args: &[&str]) -> Result<()> {
    let output = Command::new("git")
        .args(["-c", "user.name=Dev", "-c", "user.email=dev@example.com"])
        .args(["-c", "gc.auto=0", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(dir)
        .output()
        .context("git")?;
    ensure!(output.status.success(), "git {args:?}");
    Ok(())
}
