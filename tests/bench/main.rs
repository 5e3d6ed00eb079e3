//! Measures Backstitch against the least time that its work can take, both alternating in the same run.
//!
//!     cargo run --profile dist -p backstitch-tests --bin bench -- [--tree DIR]... [--size NAME]... [--runs N] [--json]
//!
//! It builds Backstitch first, as it is shipped (`--profile dist`), or takes the one that `BACKSTITCH_BIN` names. Trees are made below
//! `TMPDIR`, which should lie on a disk: in memory a sync costs nothing, and the limits are lower than anywhere else.
//!
//! `BACKSTITCH_OTHER_BIN` names another build, such as an older one, beside which the hook is measured.
//!
//! - `--size small|medium|big` makes a tree of 235, 4,300 or 80,000 source files (0.6 GB, minutes), `--size none` none;
//!   without it and without `--tree`, small and medium ones.
//! - `--tree DIR` measures on a copy of your own tree. A first scan outside git is measured where it has no `.git`.
//! - `--runs N` is the number of runs per median, 7 or more; quick operations have more.
//! - `--checkpoints N` is the length of the history for `log` (5000); 0 leaves the history out.
//! - `--timeline N` is the length of the history of 200 branches whose pages are requested (100000); 0 leaves it out.
//! - `--versions N` is the number of versions of the file for `blame` (500); 0 leaves it out.
//! - `--edits N` is the number of changes of the long document in which a user types (1000). An editor requests its lenses. 0
//!   leaves it out.
//! - `--steps N` is the number of steps of the job of a workflow that is run (20); 0 leaves it out.
//! - `--no-back` leaves jobs that step back in a tree of 30,000 files out; they take most of the time.
//! - `--no-repl` leaves the REPL of a Python program out.
//! - `--day` simulates a working day on each tree: 300 steps, 40 of them shell commands, 20 rewinds, an editor open.
//! - `--json` prints the rows as one JSON document.
//!
//! Times are in milliseconds. They are medians of whole processes, as an agent or a shell sees them, or of whole
//! requests, as an editor sees them. Each limit is measured between the runs, so that load on the machine affects
//! both. The ratio is what counts, and no figure passes or fails.

mod agents;
mod armed;
mod blame;
mod client;
mod day;
mod debug_adapter;
mod editor;
mod engine;
mod floor;
mod job_back;
mod jobs;
mod measure;
mod place;
mod repl;
mod rivals;
#[allow(
    dead_code,
    reason = "shared with the end-to-end tests, which use more of it"
)]
#[path = "../e2e/support/rng.rs"]
mod rng;
mod rows;
mod table;
mod timeline;
mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use place::Programs;
use rows::Report;

/// Source files of the generated trees.
const SIZES: [(&str, usize); 4] = [
    ("small", 235),
    ("medium", 4_300),
    ("big", 80_000),
    ("none", 0),
];

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
struct Options {
    trees: Vec<PathBuf>,
    sizes: Vec<(&'static str, usize)>,
    runs: usize,
    checkpoints: usize,
    timeline: usize,
    versions: usize,
    edits: usize,
    steps: u16,
    back: bool,
    repl: bool,
    day: bool,
    json: bool,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut read = Self {
            trees: Vec::new(),
            sizes: Vec::new(),
            runs: 7,
            checkpoints: 5000,
            timeline: 100_000,
            versions: 500,
            edits: 1000,
            steps: 20,
            back: true,
            repl: true,
            day: false,
            json: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} what?"));
            match arg.as_str() {
                "--tree" => read.trees.push(value()?.into()),
                "--size" => {
                    let name = value()?;
                    let size = SIZES.iter().find(|(known, _)| *known == name);
                    read.sizes
                        .push(*size.context("small, medium, big or none")?);
                }
                "--runs" => read.runs = value()?.parse()?,
                "--checkpoints" => read.checkpoints = value()?.parse()?,
                "--timeline" => read.timeline = value()?.parse()?,
                "--versions" => read.versions = value()?.parse()?,
                "--edits" => read.edits = value()?.parse()?,
                "--steps" => read.steps = value()?.parse()?,
                "--no-back" => read.back = false,
                "--no-repl" => read.repl = false,
                "--day" => read.day = true,
                "--json" => read.json = true,
                _ => bail!(
                    "{arg}: --tree DIR, --size NAME, --runs N, --checkpoints N, --timeline N, --versions N, --edits N, --steps N, --no-back, --no-repl, --day or --json"
                ),
            }
        }
        ensure!(read.runs >= 7, "a median of fewer than 7 says little");
        if read.trees.is_empty() && read.sizes.is_empty() {
            read.sizes.extend(&SIZES[..2]);
        }
        Ok(read)
    }
}

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1))?;
    let installed = tempfile::tempdir()?;
    let programs = programs(installed.path())?;
    let before = load();
    let mut days = Vec::new();
    let mut report = Report {
        rows: Vec::new(),
        quiet: options.json,
    };
    for tree in &options.trees {
        // the name of the tree, not its path
        let name = tree.file_name().unwrap_or(tree.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let fill = |root: &Path| tree::copy(tree, root);
        rows::measure_tree(&mut report, &programs, &name, fill, options.runs)?;
        if options.day {
            days.push(day::measure(&programs, &name, fill)?);
        }
    }
    for (name, files) in options.sizes.iter().filter(|(_, files)| *files > 0) {
        let fill = |root: &Path| tree::write(root, *files);
        rows::measure_tree(&mut report, &programs, name, fill, options.runs)?;
        if options.day {
            days.push(day::measure(&programs, name, fill)?);
        }
    }
    engine::measure_texts(&mut report, &programs, options.runs)?;
    if options.checkpoints > 0 {
        rows::measure_history(&mut report, &programs, options.checkpoints, options.runs)?;
    }
    if options.timeline > 0 {
        timeline::measure(&mut report, &programs, options.timeline, options.runs)?;
    }
    if options.versions > 0 {
        blame::measure_versions(&mut report, &programs, options.versions, options.runs)?;
    }
    if options.edits > 0 {
        editor::measure_document(&mut report, &programs, options.edits, options.runs)?;
    }
    if options.repl {
        repl::measure(&mut report, &programs)?;
    }
    if options.steps > 0 {
        jobs::measure(&mut report, &programs, options.steps, options.runs)?;
        if options.back {
            job_back::measure(&mut report, &programs, options.runs)?;
        }
        debug_adapter::measure(&mut report, &programs, options.runs)?;
    }
    let load = [before, load()];
    if options.json {
        let rows: Vec<Value> = report.rows.iter().map(table::Row::json).collect();
        println!(
            "{:#}",
            json!({"runs": options.runs, "load": load, "rows": rows, "days": days})
        );
    } else {
        print!("{}", table::text(&report.rows));
        for day in days {
            print!("\n{day}");
        }
        println!(
            "\nLoad of the machine before and after: {}; {}",
            load[0], load[1]
        );
    }
    Ok(())
}

/// Load of the machine, as it reports it.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    words.join(" ")
}

/// Builds the programs that are measured, and installs them in a directory.
fn programs(dir: &Path) -> Result<Programs> {
    let given = std::env::var_os("BACKSTITCH_BIN").map(PathBuf::from);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--locked", "--profile", "dist"])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["-p", "backstitch-tests", "--bin", "bench-nothing"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if given.is_none() {
        command.args(["-p", "backstitch", "--bin", "backstitch"]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the programs do not build");
    let messages: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let built = |name: &str| -> Result<PathBuf> {
        let found = messages.iter().find_map(|m| {
            let own = m["target"]["name"] == name;
            m["executable"].as_str().filter(|_| own)
        });
        Ok(found
            .with_context(|| format!("cargo names no {name}"))?
            .into())
    };
    let backstitch = match given {
        Some(path) => path,
        None => built("backstitch")?,
    };
    let nothing = installed(&built("bench-nothing")?, dir, "bench-nothing")?;
    let other = match std::env::var_os("BACKSTITCH_OTHER_BIN").map(PathBuf::from) {
        None => None,
        Some(path) => Some(Box::new(Programs {
            backstitch: installed(&path, dir, "backstitch-other")?,
            nothing: nothing.clone(),
            other: None,
        })),
    };
    let backstitch = installed(&backstitch, dir, "backstitch")?;
    Ok(Programs {
        backstitch,
        nothing,
        other,
    })
}

/// Copies a program as an installation does. Linux keeps the file that a linker has just written in small pieces, and
/// starts it slower: a hook took 0.36 ms more. A copy starts as any installed program does.
fn installed(program: &Path, dir: &Path, name: &str) -> Result<PathBuf> {
    let place = dir.join(name);
    let copied = std::fs::copy(program, &place);
    copied.with_context(|| format!("copy {}", program.display()))?;
    Ok(place)
}
