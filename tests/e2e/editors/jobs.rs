//! CI jobs in real editors without a plugin of ours and without a button for a step back: `:back` in their consoles.

use std::env;
use std::fs;
use std::path::Path;

use super::screen::{Editor, installed};
use crate::jobs::back::stepped::until;
use crate::support::World;

const WORKFLOW: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - name: One
        run: echo A=1 >> $GITHUB_ENV
      - name: Two
        run: test -f mended
      - name: Three
        run: echo all is well
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: echo tidy
";

const FILE: &str = ".github/workflows/ci.yml";

/// A project with a workflow, and this editor on the search path.
fn world(program: &Path) -> World {
    let folder = program.parent().expect("a folder");
    let rest = env::var("PATH").unwrap_or_default();
    World::committed_for_a_screen(&[(FILE, WORKFLOW)])
        .with("PATH", &format!("{}:{rest}", folder.display()))
}

/// Waits until the newest run has this status.
fn ends_as(world: &World, status: &str) {
    let newest = || world.json(["job", "list", "--runs"])["runs"][0]["status"].clone();
    until("the end of the run", || newest() == status);
}

#[test]
fn helix_steps_through_a_job() {
    let Some(program) = installed("helix_steps_through_a_job", "hx") else {
        return;
    };
    let world = world(&program);
    world.ok(["setup", "helix"]);
    let mut helix = Editor::start(&world, "helix", &program, &[FILE]);
    helix.shows("runs-on");
    // a breakpoint, whose mark is beside the line; then the first template, and its questions
    helix.keys("10gg Gb");
    helix.shows("◯  10");
    helix.keys("l");
    helix.shows("continue a CI job");
    helix.keys("\r");
    helix.shows("workflow:");
    helix.keys("\r");
    helix.shows("job:");
    helix.keys("build\r");
    helix.shows("entry before 'One'");
    helix.keys("n");
    helix.shows("step before 'Two'");
    helix.is_like("job", "▶   8");
    helix.keys("n");
    helix.shows("exception 'Two' failed");
    helix.keys("\x1b");
    helix.until("no menu", |screen| !screen.contains("Launch debug target"));
    // an expression has no context here
    helix.keys(":debug-eval env.A\r");
    helix.until("its value", |screen| screen.ends_with("\n1\n"));
    helix.keys(":debug-eval \":back 2\"\r");
    helix.shows("step before 'One'");
    helix.shows("▶   6");
    helix.keys(" Gv");
    helix.shows("▸ Step");
    helix.shows("checkpoints: number = 0");
    helix.keys("\x1b");
    helix.until("no variables", |screen| !screen.contains("▸ Step"));
    helix.keys("\x1b");
    helix.until("no menu", |screen| !screen.contains("Launch debug target"));
    helix.keys(":debug-eval \"!touch mended\"\r Gc");
    helix.shows("breakpoint before 'Three'");
    helix.shows("▶  10");
    helix.keys("t");
    helix.shows("Terminated debugging session");
    ends_as(&world, "cancelled");
    helix.keys("\x1b:q\r");
}

#[test]
fn emacs_steps_through_a_job() {
    let Some(program) = installed("emacs_steps_through_a_job", "emacs") else {
        return;
    };
    let world = world(&program);
    let lines = world.ok(["setup", "emacs"]).stdout;
    fs::write(world.home.join(".emacs"), lines).expect("written");
    let args = ["--no-window-system", "--no-splash", FILE];
    let mut emacs = Editor::sized(&world, "emacs", &program, &args, (36, 110));
    emacs.shows("runs-on");
    // into the job
    emacs.keys("\x1bxgoto-line\r10\r\x1bxdape\r");
    emacs.shows("Run adapter:");
    emacs.keys("\t");
    emacs.shows(":job \"build\"");
    emacs.keys("\r");
    emacs.shows("build stopped/entry");
    emacs.is_like("job", "=>    - name: One");
    // a breakpoint at the last step
    emacs.keys("\x1bxgoto-line\r10\r\x18\x01b");
    emacs.shows("B       - name: Three");
    emacs.keys("\x18\x01n");
    emacs.shows("=>    - name: Two");
    emacs.keys("\x18\x01n");
    emacs.shows("build stopped/exception");
    // the console
    emacs.keys("\x18\x01R:back 2\r");
    emacs.shows("Restored checkpoint [0] before 'One'");
    emacs.shows("=>    - name: One");
    emacs.keys("next\r");
    emacs.shows("=>    - name: Two");
    // the key for it, from the lines of setup
    emacs.keys("\x18\x01,");
    emacs.shows("=>    - name: One");
    emacs.keys("!touch mended\r");
    emacs.keys("continue\r");
    emacs.shows("build stopped/breakpoint");
    emacs.keys("env.A\r");
    emacs.shows("> env.A");
    emacs.keys("\x18\x01q");
    emacs.until("no session", |screen| !screen.contains("stopped"));
    ends_as(&world, "cancelled");
    emacs.keys("\x18\x03");
}
