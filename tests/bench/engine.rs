//! The diff of two texts alone, next to a library that does nothing else, and next to a git process.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use backstitch_core::diff::count;
use imara_diff::{Algorithm, Diff, InternedInput};

use crate::measure::{alternating, timed};
use crate::place::{Place, Programs};
use crate::rng::Rng;
use crate::rows::Report;
use crate::table::Goal;

pub fn measure_texts(report: &mut Report, programs: &Programs, runs: usize) -> Result<()> {
    let mut rng = Rng::new(12);
    let mut line = |n: usize| format!("    let value_{n} = compute({:x}); // {n}\n", rng.next());
    let long: Vec<String> = (0..100_000).map(&mut line).collect();
    let mut changed = long.clone();
    for n in (3..changed.len()).step_by(10) {
        changed[n] = line(n);
    }
    let (one, other): (Vec<String>, Vec<String>) = (
        (0..10_000).map(&mut line).collect(),
        (0..10_000).map(&mut line).collect(),
    );
    for (name, old, new) in [
        ("100,000 lines, a tenth changed", long, changed),
        ("10,000 lines, and 10,000 others", one, other),
    ] {
        let (old, new) = (old.concat(), new.concat());
        of(report, programs, name, (&old, &new), runs.max(11))?;
    }
    Ok(())
}

fn of(
    report: &mut Report,
    programs: &Programs,
    name: &str,
    (old, new): (&str, &str),
    runs: usize,
) -> Result<()> {
    let place = Place::new(programs)?;
    let (a, b) = (place.beside("old"), place.beside("new"));
    fs::write(&a, old)?;
    fs::write(&b, new)?;
    let mut said = (0, 0);
    let mut ours = || {
        timed(|| {
            let (added, removed, _) = count(old.as_bytes(), new.as_bytes());
            said = (added, removed);
            Ok(())
        })
    };
    for (algorithm, library) in [
        (Algorithm::Histogram, "imara-diff, histogram"),
        (Algorithm::Myers, "imara-diff, Myers"),
    ] {
        let theirs = || -> Result<Duration> {
            timed(|| {
                let input = InternedInput::new(old.as_bytes(), new.as_bytes());
                let diff = Diff::compute(algorithm, &input);
                ensure!(diff.count_additions() > 0, "no difference");
                Ok(())
            })
        };
        let times = alternating(runs, &mut ours, theirs)?;
        report.times(name, "diff, in process", library, &times, Goal::Ratio(2.0));
    }
    let git = || {
        timed(|| {
            let mut git = Command::new("git");
            git.args(["diff", "--no-index", "--numstat"]).args([&a, &b]);
            ensure!(git.output()?.status.code() == Some(1), "no difference");
            Ok(())
        })
    };
    let times = alternating(runs, &mut ours, git)?;
    let goal = Goal::Ratio(1.0 / 1.5);
    report.times(
        name,
        "diff, in process",
        "git diff, its process",
        &times,
        goal,
    );
    ensure!(said.0 > 0, "no difference");
    Ok(())
}
