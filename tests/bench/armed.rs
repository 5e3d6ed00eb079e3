//! Hooks where breakpoints are armed, next to the same hook where none is, and the way from a decision to the answer.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::measure::{Times, alternating};
use crate::place::Place;
use crate::rows::Report;
use crate::table::{Goal, Row};

/// Runs per median: a hook is quick.
const RUNS: usize = 31;
/// Held calls.
const HOLDS: usize = 11;

pub fn measure(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    let bare = workspace(place, edited)?;
    let armed = workspace(place, edited)?;
    for n in 0..20 {
        armed.run(&["breakpoint", "add", "path", &format!("nowhere/{n}/**")])?;
    }
    let before = |place: &Place<'_>| -> Result<Duration> {
        let call = place.edit(edited)?;
        let time = place.before(&call)?;
        Place::apply(&call)?;
        place.after(&call)?;
        Ok(time)
    };
    let limit = "the same, nothing armed";
    let times = alternating(RUNS, || before(&armed), || before(&bare))?;
    let what = "hook before an edit, 20 breakpoints";
    report.times(name, what, limit, &times, Goal::Ratio(1.1));

    let asking = workspace(place, edited)?;
    for n in 0..10 {
        let when = format!(".turn.calls < -{n}");
        asking.run(&["breakpoint", "add", "tool", "Edit", "--when", &when])?;
    }
    let times = alternating(RUNS, || before(&asking), || before(&bare))?;
    let what = "hook before an edit, 10 conditions";
    report.times(name, what, limit, &times, Goal::Ratio(2.0));
    decision(report, &bare, name, edited)
}

fn workspace<'p>(place: &Place<'p>, edited: &str) -> Result<Place<'p>> {
    let place = place.another()?;
    place.write_edited(edited, 8 << 10)?;
    place.prompt()?;
    Ok(place)
}

/// Measures the time from the end of the deciding command to that of the hook which waits for it.
fn decision(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    place.run(&["breakpoint", "add", "tool", "Edit"])?;
    let mut times = Vec::new();
    for _ in 0..HOLDS {
        let call = place.edit(edited)?;
        let mut hook = place
            .held_hook()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = hook.stdin.take().context("a pipe")?;
        stdin.write_all(call.payload().to_string().as_bytes())?;
        drop(stdin);
        let began = Instant::now();
        while !place.said(&["pauses", "--json"])?.contains("\"held\"") {
            ensure!(began.elapsed() < Duration::from_secs(30), "no call is held");
        }
        place.run(&["skip"])?;
        let decided = Instant::now();
        hook.wait()?;
        times.push(decided.elapsed());
    }
    report.add(Row {
        tree: name.to_owned(),
        operation: "a decision until the hook has answered",
        limit_is: "ms",
        ours: Times::of(times).median(),
        limit: 20.0,
        goal: Goal::AtMost(20.0),
        unit: "ms",
    });
    Ok(())
}
