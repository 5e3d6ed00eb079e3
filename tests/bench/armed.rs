//! Hooks where breakpoints are armed, next to the same hook where none is, and the way from a decision to the answer.

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::client::Client;
use crate::measure::{Times, alternating};
use crate::place::Place;
use crate::rows::Report;
use crate::table::{Goal, Row};

/// Runs per median: a hook is quick.
const RUNS: usize = 31;
/// Runs for a ratio of some percent.
const HOOKS: usize = 201;
/// Time for which a hold is watched.
const HOLD_TIME: Duration = Duration::from_secs(20);
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

    let after = |place: &Place<'_>| -> Result<Duration> {
        let call = place.edit(edited)?;
        place.before(&call)?;
        Place::apply(&call)?;
        place.after(&call)
    };
    let times = alternating(RUNS, || after(&armed), || after(&bare))?;
    let what = "hook after an edit, 20 breakpoints";
    report.times(name, what, limit, &times, Goal::Ratio(1.1));

    if let Some(other) = place.of_other()? {
        other.write_edited(edited, 8 << 10)?;
        other.prompt()?;
        let times = alternating(HOOKS, || before(&bare), || before(&other))?;
        let what = "hook before an edit, nothing armed";
        report.times(name, what, "another build", &times, Goal::Ratio(1.01));
    }

    let asking = workspace(place, edited)?;
    for n in 0..10 {
        let when = format!(".turn.calls < -{n}");
        asking.run(&["breakpoint", "add", "tool", "Edit", "--when", &when])?;
    }
    let times = alternating(RUNS, || before(&asking), || before(&bare))?;
    let what = "hook before an edit, 10 conditions";
    report.times(name, what, limit, &times, Goal::Ratio(2.0));
    decision(report, &bare, name, edited)?;
    notice(report, &bare, name, edited)?;
    hold(report, &bare, name, edited)
}

/// Starts a hook that holds its call. The second value is the time at which it had the call.
fn held(place: &Place<'_>, edited: &str) -> Result<(Child, Instant)> {
    let call = place.edit(edited)?;
    let mut hook = place
        .held_hook()?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = hook.stdin.take().context("a pipe")?;
    let began = Instant::now();
    stdin.write_all(call.payload().to_string().as_bytes())?;
    Ok((hook, began))
}

/// Measures the time from a call until an editor learns that it is held.
fn notice(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    let mut client = Client::start(place.server(), &place.root)?;
    client.noop()?;
    let mut times = Vec::new();
    for _ in 0..HOLDS {
        let (mut hook, began) = held(place, edited)?;
        times.push(client.wait_for("backstitch/didPause")?.at - began);
        place.run(&["skip"])?;
        hook.wait()?;
    }
    report.add(Row {
        tree: name.to_owned(),
        operation: "a call until its pause is announced",
        limit_is: "ms",
        ours: Times::of(times).median(),
        limit: 20.0,
        goal: Goal::AtMost(20.0),
        unit: "ms",
    });
    Ok(())
}

/// Measures the memory of a hook that waits, and its wake-ups.
fn hold(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    let (mut hook, _) = held(place, edited)?;
    while !place.said(&["pauses", "--json"])?.contains("\"held\"") {}
    let pid = hook.id();
    let field = |name: &str| -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|number| number.parse().ok())
            .with_context(|| format!("no {name}"))
    };
    let before = field("voluntary_ctxt_switches:")?;
    std::thread::sleep(HOLD_TIME);
    let woken = field("voluntary_ctxt_switches:")? - before;
    let memory = field("RssAnon:")?;
    place.run(&["skip"])?;
    hook.wait()?;
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (woken, memory) = (
        woken as f64 / HOLD_TIME.as_secs_f64(),
        memory as f64 / 1024.0,
    );
    report.add(Row {
        tree: name.to_owned(),
        operation: "wake-ups of a hold",
        limit_is: "a second",
        ours: woken,
        limit: 4.0,
        // the timer of 250 ms, and what else falls into the time
        goal: Goal::AtMost(5.0),
        unit: "a second",
    });
    report.add(Row {
        tree: name.to_owned(),
        operation: "memory of a hold",
        limit_is: "MB",
        ours: memory,
        limit: 10.0,
        goal: Goal::AtMost(10.0),
        unit: "MB",
    });
    Ok(())
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
