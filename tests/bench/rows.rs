//! The measured operations: each function is one operation, or several that need the same preparation.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::agents;
use crate::armed;
use crate::editor;
use crate::floor;
use crate::measure::{Times, alternating, alternating_slow, timed};
use crate::place::{Place, Programs};
use crate::rivals::{Rival, Way};
use crate::table::{Goal, Row};
use crate::tree::{self, Loose};

/// Enough runs for a 99th percentile.
const HOOKS: usize = 200;
/// Number of edits for the growth of the store.
const EDITS: u32 = 500;
/// Number of files of the larger rewind.
const REWIND_FILES: usize = 100;
const BIG_FILE: usize = 40_000;
/// The file of 40 KB that the agent edits.
const EDITED: &str = "edited.rs";
pub const NO_PROCESS: &str = "empty process";

/// Collects the rows.
#[derive(Debug)]
pub struct Report {
    pub rows: Vec<Row>,
    pub quiet: bool,
}

impl Report {
    pub fn add(&mut self, row: Row) {
        if !self.quiet {
            eprintln!(
                "{}: {}: {:.2} {}",
                row.tree, row.operation, row.ours, row.unit
            );
        }
        self.rows.push(row);
    }

    pub fn times(
        &mut self,
        tree: &str,
        operation: &'static str,
        limit_is: &'static str,
        times: &(Times, Times),
        goal: Goal,
    ) {
        self.add(Row {
            tree: tree.to_owned(),
            operation,
            limit_is,
            ours: times.0.median(),
            limit: times.1.median(),
            goal,
            unit: "ms",
        });
    }

    /// Adds a row for memory, in MB, next to its limit.
    pub fn memory(&mut self, tree: &str, operation: &'static str, taken: f64, most: f64) {
        self.add(Row {
            tree: tree.to_owned(),
            operation,
            limit_is: "the budget",
            ours: taken,
            limit: most,
            goal: Goal::AtMost(most),
            unit: "MB",
        });
    }
}

/// Measures all operations that depend on the tree.
pub fn measure_tree(
    report: &mut Report,
    programs: &Programs,
    name: &str,
    fill: impl Fn(&Path) -> Result<()>,
    runs: usize,
) -> Result<()> {
    let place = Place::new(programs)?;
    fill(&place.root)?;
    place.write_edited(EDITED, BIG_FILE)?;
    let all = floor::tracked(&place.root)?;
    outside_git(report, &place, name, &all, runs)?;
    if !place.root.join(".git").exists() {
        tree::commit(&place.root)?;
    }
    inside_git(report, &place, name, runs)?;
    place.forget()?;
    place.prompt()?;
    // files written just before a scan are read again by the next one
    place.run(&["scan"])?;
    let mut paths = floor::tracked(&place.root)?;
    // links are not edited
    paths.retain(|path| !path.is_symlink());
    paths.sort();
    scans(report, &place, name, &paths, runs)?;
    hooks(report, &place, name)?;
    armed::measure(report, &place, name, EDITED)?;
    agents::measure(report, &place, name, EDITED)?;
    rewinds(report, &place, name, &paths, runs)?;
    diffs(report, &place, name, runs)?;
    beside_rivals(report, &place, name, &paths, runs)?;
    editor::measure_tree(report, &place, name, EDITED)
}

/// Measures first scans without git: its directory is moved away.
fn outside_git(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    all: &[PathBuf],
    runs: usize,
) -> Result<()> {
    let (git, aside) = (place.root.join(".git"), place.beside("git"));
    let has_git = git.exists();
    if has_git {
        fs::rename(&git, &aside)?;
    }
    let packed = place.beside("packed");
    let times = alternating(
        runs,
        || {
            place.forget()?;
            place.run(&["scan"])
        },
        || {
            fs::remove_file(&packed).ok();
            timed(|| floor::pack(&place.root, all, &packed))
        },
    )?;
    fs::remove_file(&packed)?;
    let limit = "walk, read, blake3, zstd-1, one file, fsync; 2 threads";
    let goal = Goal::Ratio(1.3);
    report.times(name, "first scan outside git", limit, &times, goal);
    // each takes half a minute on a large tree
    let shadow = Rival::new(Way::Shadow, &place.root, place.beside("shadow.git"));
    let times = alternating_slow(
        || {
            place.forget()?;
            place.run(&["scan"])
        },
        || {
            shadow.forget()?;
            shadow.begin()
        },
    )?;
    report.times(
        name,
        "first scan outside git",
        shadow.way.name(),
        &times,
        Goal::Ratio(1.0 / 7.0),
    );
    shadow.forget()?;
    if has_git {
        fs::rename(&aside, &git)?;
    }
    Ok(())
}

/// Measures first scans in a repository without changes.
fn inside_git(report: &mut Report, place: &Place<'_>, name: &str, runs: usize) -> Result<()> {
    let seeded = Rival::new(Way::Seeded, &place.root, place.beside("seeded.git"));
    let stash = Rival::new(Way::Stash, &place.root, place.beside("none"));
    // the index is written when all files are old enough to be trusted
    stash.refresh()?;
    let mut paths = floor::tracked(&place.root)?;
    paths.sort();
    let first = || {
        place.forget()?;
        place.run(&["scan"])
    };
    let limit = "lstat of all paths, 2 threads";
    let times = alternating(runs, first, || timed(|| floor::stat(&paths)))?;
    report.times(
        name,
        "first scan inside git",
        limit,
        &times,
        Goal::Ratio(2.5),
    );
    let times = alternating(runs, first, || {
        seeded.forget()?;
        seeded.begin()
    })?;
    report.times(
        name,
        "first scan inside git",
        seeded.way.name(),
        &times,
        Goal::Ratio(0.5),
    );
    let times = alternating(runs, first, || stash.snap())?;
    report.times(
        name,
        "first scan inside git",
        stash.way.name(),
        &times,
        Goal::Ratio(0.7),
    );
    seeded.forget()
}

/// Measures everyday operations, next to the same in other systems.
fn beside_rivals(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    paths: &[PathBuf],
    runs: usize,
) -> Result<()> {
    let (small, big) = (paths.len() < 1000, paths.len() > 50_000);
    let seeded = Rival::new(Way::Seeded, &place.root, place.beside("seeded.git"));
    let stash = Rival::new(Way::Stash, &place.root, place.beside("none"));
    stash.refresh()?;
    seeded.begin()?;
    let scan = || place.run(&["scan"]);
    for rival in [&seeded, &stash] {
        let of = rival.way.name();
        let times = alternating(runs, scan, || rival.snap())?;
        report.times(name, "no-change scan", of, &times, Goal::Ratio(0.5));
        let mut n = 0;
        let mut edit = || {
            n += 1;
            change(&paths[n * 31 % paths.len()], n)
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            edit()?;
            ours.push(scan()?);
            theirs.push(rival.snap()?);
        }
        let times = (Times::of(ours), Times::of(theirs));
        let goal = Goal::Ratio(1.0 / 3.0);
        report.times(name, "scan after one unknown edit", of, &times, goal);

        let hook = || {
            let call = place.edit(EDITED)?;
            let before = place.before(&call)?;
            Place::apply(&call)?;
            place.after(&call)?;
            Ok(before)
        };
        let times = alternating(runs.max(11), hook, || rival.snap())?;
        let goal = match (small, big) {
            (_, true) => Goal::Ratio(1.0 / 50.0),
            (true, _) => Goal::Ratio(1.0 / 4.0),
            _ => Goal::Ratio(1.0 / 10.0),
        };
        report.times(name, "hook before an edit", of, &times, goal);

        let checkpoint = rival.newest()?;
        let one = || rewind_of_one(place);
        let restore = || {
            change(&place.root.join(EDITED), 1)?;
            rival.restore(&checkpoint, &[EDITED])
        };
        let times = alternating(runs, one, restore)?;
        let goal = Goal::Ratio(if big { 1.0 / 8.0 } else { 0.5 });
        report.times(name, "rewind of 1 known file", of, &times, goal);

        let many: Vec<&PathBuf> = (0..REWIND_FILES)
            .map(|n| &paths[n * 43 % paths.len()])
            .collect();
        let shown: Vec<String> = many
            .iter()
            .map(|path| Ok(path.strip_prefix(&place.root)?.display().to_string()))
            .collect::<Result<_>>()?;
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let (mut n, mut m) = (0, 1000);
        let restore = || {
            m += 1;
            many.iter().try_for_each(|path| change(path, m))?;
            rival.restore(&checkpoint, &shown)
        };
        let times = alternating(runs, || rewind_of(place, &many, &mut n), restore)?;
        report.times(name, "rewind of 100 files", of, &times, Goal::Ratio(0.5));

        let turn = place.prompt()?;
        place.whole_edit(EDITED)?;
        let ours = || place.run(&["diff", &turn, "--", EDITED]);
        let times = alternating(runs, ours, || rival.diff(&checkpoint, EDITED))?;
        let goal = Goal::Ratio(if big { 0.1 } else { 1.0 });
        report.times(name, "diff of 1 file, with the disk", of, &times, goal);
    }
    seeded.forget()
}

fn scans(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    paths: &[PathBuf],
    runs: usize,
) -> Result<()> {
    let runs = runs.max(11);
    let limit = "lstat of all paths, 2 threads";
    let stat = || timed(|| floor::stat(paths));
    let times = alternating(runs, || place.run(&["scan"]), stat)?;
    report.times(name, "no-change scan", limit, &times, Goal::Ratio(1.5));

    let mut n = 0;
    let one_edit = || {
        n += 1;
        change(&paths[n * 37 % paths.len()], n)?;
        place.run(&["scan"])
    };
    let times = alternating(runs, one_edit, stat)?;
    let goal = Goal::Ratio(1.6);
    report.times(name, "scan after one unknown edit", limit, &times, goal);
    Ok(())
}

/// Changes a file without any hook event.
fn change(path: &Path, n: usize) -> Result<()> {
    let mut file = fs::File::options().append(true).open(path)?;
    Ok(writeln!(file, "// changed {n}")?)
}

fn hooks(report: &mut Report, place: &Place<'_>, name: &str) -> Result<()> {
    let synced = place.beside("synced");
    let append = [OsStr::new("append"), synced.as_os_str()];
    let limit = "empty process + write + fdatasync";
    let edit = |foreign: bool| -> Result<(Duration, Duration)> {
        let call = place.edit(EDITED)?;
        if foreign {
            change(&place.root.join(EDITED), 0)?;
        }
        let before = place.before(&call)?;
        Place::apply(&call)?;
        let after = place.after(&call)?;
        Ok((before, after))
    };
    let p99 = |times: &(Times, Times), operation| Row {
        tree: name.to_owned(),
        operation,
        limit_is: "p99 of the same",
        ours: times.0.p99(),
        limit: times.1.p99(),
        goal: Goal::Ratio(1.5),
        unit: "ms",
    };
    let nothing = || place.nothing(append);
    let goal = Goal::Ratio(2.0);
    let times = alternating(HOOKS, || Ok(edit(false)?.0), nothing)?;
    report.times(name, "hook before an edit", limit, &times, goal);
    report.add(p99(&times, "hook before an edit, p99"));
    let times = alternating(HOOKS, || Ok(edit(true)?.0), nothing)?;
    let what = "hook before an edit, file changed by others";
    report.times(name, what, limit, &times, goal);
    report.add(p99(&times, "the same, p99"));
    let times = alternating(HOOKS, || Ok(edit(false)?.1), nothing)?;
    report.times(name, "hook after an edit", limit, &times, goal);
    Ok(())
}

/// Runs a turn in which a command changes these files, and measures its rewind.
fn rewind_of(place: &Place<'_>, files: &[&PathBuf], n: &mut usize) -> Result<Duration> {
    let turn = place.prompt()?;
    let call = place.shell();
    place.before(&call)?;
    *n += 1;
    files.iter().try_for_each(|path| change(path, *n))?;
    place.after(&call)?;
    place.run(&["rewind", "--yes", &turn])
}

fn rewinds(
    report: &mut Report,
    place: &Place<'_>,
    name: &str,
    paths: &[PathBuf],
    runs: usize,
) -> Result<()> {
    let many: Vec<&PathBuf> = (0..REWIND_FILES)
        .map(|n| &paths[n * 41 % paths.len()])
        .collect();
    // copies of the files of the workspace, in as many directories
    let beside: Vec<PathBuf> = (0..REWIND_FILES)
        .map(|n| place.beside(&format!("dir{}/replaced{n}", n / 2)))
        .collect();
    for path in &beside {
        fs::create_dir_all(path.parent().context("a parent")?)?;
        fs::write(path, "")?;
    }
    let replace = |count: usize| {
        let files = beside[..count].iter().map(|p| p.as_os_str());
        place.nothing([OsStr::new("replace")].into_iter().chain(files))
    };
    let one = || rewind_of_one(place);
    let times = alternating(runs.max(11), one, || replace(1))?;
    let limit = "process + durable replace";
    report.times(
        name,
        "rewind of 1 known file",
        limit,
        &times,
        Goal::Ratio(2.5),
    );

    let mut n = 0;
    let hundred = || rewind_of(place, &many, &mut n);
    let times = alternating(runs, hundred, || replace(REWIND_FILES))?;
    let limit = "process + 100 durable replaces";
    report.times(name, "rewind of 100 files", limit, &times, Goal::Ratio(2.0));
    Ok(())
}

/// Measures the rewind of a turn that edited one file.
fn rewind_of_one(place: &Place<'_>) -> Result<Duration> {
    let turn = place.prompt()?;
    place.whole_edit(EDITED)?;
    place.run(&["rewind", "--yes", &turn])
}

fn diffs(report: &mut Report, place: &Place<'_>, name: &str, runs: usize) -> Result<()> {
    let turn = place.prompt()?;
    place.whole_edit(EDITED)?;
    let nothing = || place.nothing([""; 0]);
    for (what, args) in [
        (
            "diff of 1 file, two checkpoints",
            [&turn, "@", "--", EDITED].as_slice(),
        ),
        ("diff of 1 file, with the disk", &[&turn, "--", EDITED]),
    ] {
        let args: Vec<&str> = ["diff"].into_iter().chain(args.iter().copied()).collect();
        let times = alternating(runs.max(21), || place.run(&args), nothing)?;
        report.times(name, what, NO_PROCESS, &times, Goal::Ratio(2.0));
    }
    Ok(())
}

/// Measures operations that depend only on the length of the history.
pub fn measure_history(
    report: &mut Report,
    programs: &Programs,
    checkpoints: usize,
    runs: usize,
) -> Result<()> {
    let place = Place::new(programs)?;
    place.write_edited(EDITED, BIG_FILE)?;
    place.prompt()?;
    place.whole_edit(EDITED)?;
    let git = Loose::new(&place)?;
    let mut loose = 0;
    let before = place.store_bytes()?;
    let mut edits = 0;
    for wanted in [EDITS, u32::try_from(checkpoints)?.max(EDITS)] {
        while edits < wanted {
            place.whole_edit(EDITED)?;
            loose += git.add(&place.root.join(EDITED))?;
            edits += 1;
        }
        let tree = format!("{wanted} checkpoints");
        let grown = place.store_bytes()? - before;
        let each =
            |bytes: u64| -> Result<f64> { Ok(f64::from(u32::try_from(bytes)?) / f64::from(edits)) };
        for (operation, goal) in [
            ("disk per checkpoint, 40 KB file", Goal::AtMost(1024.0)),
            ("the same against loose git objects", Goal::Ratio(0.05)),
        ] {
            report.add(Row {
                tree: tree.clone(),
                operation,
                limit_is: "a loose git object of each version",
                ours: each(grown)?,
                limit: each(loose)?,
                goal,
                unit: "B",
            });
        }
        let times = alternating(
            runs.max(21),
            || place.run(&["log", "-n", "200"]),
            || place.nothing([""; 0]),
        )?;
        report.times(&tree, "log -n 200", NO_PROCESS, &times, Goal::AtMost(10.0));
    }
    Ok(())
}
