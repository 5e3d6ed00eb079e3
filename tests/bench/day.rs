//! A working day in minutes: an agent at work in a large tree with an editor open, and a user who undoes some of its
//! work. Measured are the size of the store, the memory of each process, and the waiting time for each kind of step.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::client::Client;
use crate::floor;
use crate::measure::Times;
use crate::place::{Place, Programs};
use crate::rivals::{Rival, Way};
use crate::rng::Rng;

const STEPS: usize = 300;
/// Number of steps that are shell commands.
const SHELLS: usize = 40;
const STEPS_PER_TURN: usize = 10;
const REWINDS: usize = 20;
const EDITED: &str = "edited.rs";

/// Runs the day and returns its figures as text.
pub fn measure(
    programs: &Programs,
    name: &str,
    fill: impl Fn(&Path) -> Result<()>,
) -> Result<String> {
    let place = Place::new(programs)?;
    fill(&place.root)?;
    place.write_edited(EDITED, 40_000)?;
    if place.root.join(".git").exists() {
        // the index of a copy knows the files of the original; after this it is like that of a clone
        Rival::new(Way::Stash, &place.root, place.beside("none")).refresh()?;
    }
    let mut paths = floor::tracked(&place.root)?;
    paths.retain(|path| !path.is_symlink());
    paths.sort();
    let began = Instant::now();
    let first = place.run(&["scan"])?;
    place.watch_memory();
    let mut server = Client::start(place.server(), &place.root)?;
    server.noop()?;
    let mut rng = Rng::new(7);
    let mut times: [Vec<Duration>; 4] = Default::default();
    let [prompts, edits, shells, rewinds] = &mut times;
    let mut turn = String::new();
    for step in 0..STEPS {
        if step % STEPS_PER_TURN == 0 {
            let began = Instant::now();
            turn = place.prompt()?;
            prompts.push(began.elapsed());
        }
        if step * SHELLS % STEPS < SHELLS {
            let call = place.shell();
            let before = place.before(&call)?;
            for _ in 0..=rng.below(30) {
                append(rng.pick(&paths), step)?;
            }
            shells.push(before + place.after(&call)?);
        } else if rng.once_in(3) {
            let call = place.edit(EDITED)?;
            let before = place.before(&call)?;
            Place::apply(&call)?;
            edits.push(before + place.after(&call)?);
        } else {
            let path = rng.pick(&paths);
            let relative = path.strip_prefix(&place.root)?.to_str();
            let mut content = fs::read(path)?;
            content.extend_from_slice(format!("// step {step}\n").as_bytes());
            let text = String::from_utf8_lossy(&content);
            let call = place.write_call(relative.context("a path in UTF-8")?, &text);
            let before = place.before(&call)?;
            fs::write(path, text.as_bytes())?;
            edits.push(before + place.after(&call)?);
        }
        if step % (STEPS / REWINDS) == STEPS / REWINDS - 1 {
            rewinds.push(place.run(&["rewind", "--yes", &turn])?);
        }
    }
    let took = began.elapsed().as_secs();
    let counts = (shells.len(), rewinds.len());
    let of_server = server.memory().unwrap_or_default();
    server.leave()?;
    let bytes = place.store_bytes()?;
    place.run(&["verify"])?;
    let [prompts, edits, shells, rewinds] = times.map(|times| {
        let times = Times::of(times);
        format!("{:.1} ms (p99 {:.1})", times.median(), times.p99())
    });
    Ok(format!(
        "A working day on {name} ({} files): {STEPS} steps, {} of them shell commands, {} rewinds, in {took} s\n\
         - first look {:.0} ms; a prompt {prompts}; an edit's two hooks {edits}; a shell command's two hooks {shells}; \
         a rewind {rewinds}\n\
         - memory: the largest hook or command {} MB, the language server at the end {of_server:.0} MB\n\
         - the store: {} KB; `verify` finds it whole\n",
        paths.len(),
        counts.0,
        counts.1,
        first.as_secs_f64() * 1000.0,
        place.peak(),
        bytes / 1024,
    ))
}

fn append(path: &PathBuf, n: usize) -> Result<()> {
    let mut file = fs::File::options().append(true).open(path)?;
    Ok(writeln!(file, "// changed {n}")?)
}
