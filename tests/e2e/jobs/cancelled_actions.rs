//! Built-in actions end with their step: by Ctrl-C and by `timeout-minutes`. Nothing half-made is left as if it were whole.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::{job, newest, run, start, workflow};
use crate::support::World;
use crate::support::limits::{EVENT_TIMEOUT, at_most};

/// Bytes of a file whose upload takes seconds.
const BIG: u64 = 1024 * 1024 * 1024;

/// Files of a tree whose checkout takes a while.
const FILES: usize = 20_000;

/// Waits until this holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < EVENT_TIMEOUT, "{what}");
        thread::yield_now();
    }
}

fn interrupt(runner: &Child) {
    let pid = i32::try_from(runner.id()).ok();
    let pid = pid.and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
}

/// Cancels a run, and returns its output. It ends within a second.
fn cancel(mut runner: Child) -> Vec<String> {
    let since = Instant::now();
    interrupt(&runner);
    let stdout = BufReader::new(runner.stdout.take().expect("a pipe"));
    let lines: Vec<String> = stdout.lines().map_while(Result::ok).collect();
    assert_eq!(runner.wait().expect("ended").code(), Some(1), "{lines:#?}");
    let took = since.elapsed();
    assert!(
        took < at_most(Duration::from_secs(1)),
        "{took:?}: {lines:#?}"
    );
    let cancelled = lines
        .iter()
        .any(|line| line.trim().starts_with("cancelled"));
    assert!(cancelled, "{lines:#?}");
    lines
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

const CHECKOUT: &str = "- uses: actions/checkout@v4\n- run: echo never\n- if: always()\n  run: echo cleanup ${{ job.status }}";

/// A checkout of a large tree ends at once, a step with `always()` runs, and the next run has the whole tree.
#[test]
fn a_cancelled_checkout_ends_at_once() {
    let world = workflow(&job(CHECKOUT));
    for number in 0..FILES {
        world.write(format!("d{}/f{number}", number % 100), "x\n");
    }
    world.git_ok(["add", "-A"]);
    world.git_ok(["commit", "-qm", "large"]);
    let runner = start(&world);
    until("files of the checkout", || {
        let workspace = newest(&world).join("files/work/work/work");
        names(&workspace).iter().any(|name| name.starts_with('d'))
    });
    let lines = cancel(runner);
    let has = |text: &str| lines.iter().any(|line| line.trim() == text);
    assert!(has("cleanup cancelled") && !has("never"), "{lines:#?}");
    let count = |place: &Path| -> usize {
        let workspace = place.join("files/work/work/work");
        let dirs = names(&workspace)
            .into_iter()
            .filter(|name| name.starts_with('d'));
        dirs.map(|dir| names(&workspace.join(dir)).len()).sum()
    };
    let left = names(&newest(&world).join("files/work/work/work"));
    assert!(left.is_empty(), "half a tree: {left:?}");
    assert_eq!(run(&world, &[]).result(), "success");
    assert_eq!(count(&newest(&world)), FILES);
}

/// A command of git that never ends is ended with its step.
#[test]
fn git_ends_with_its_checkout() {
    let world = workflow(&job(CHECKOUT));
    let real = world.sh("command -v git").stdout;
    let bin = world.home.join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    let (git, mark) = (bin.join("git"), world.home.join("hangs"));
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' read-tree '*) echo $$ > '{}'; while :; do sleep 1; done;; esac\nexec {} \"$@\"\n",
        mark.display(),
        real.trim()
    );
    fs::write(&git, script).expect("a file");
    fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let path = std::env::var("PATH").expect("a path");
    let world = world.with("PATH", &format!("{}:{path}", bin.display()));
    let runner = start(&world);
    let pid = || {
        fs::read_to_string(&mark)
            .ok()
            .filter(|text| text.ends_with('\n'))
    };
    until("git at work", || pid().is_some());
    cancel(runner);
    let process = Path::new("/proc").join(pid().expect("a pid").trim());
    assert!(!process.exists(), "{} is there", process.display());
}

fn with_big_file(more: &str) -> World {
    workflow(&job(&format!(
        "- run: truncate -s {BIG} big\n- uses: actions/upload-artifact@v4\n  id: up\n  with: {{name: a, path: big}}{more}"
    )))
}

/// A cancelled upload leaves no artifact, not even a hidden one.
#[test]
fn a_cancelled_upload_leaves_no_artifact() {
    let world = with_big_file("");
    let runner = start(&world);
    let artifacts = || newest(&world).join("files/artifacts");
    until("the upload", || !names(&artifacts()).is_empty());
    cancel(runner);
    assert_eq!(names(&artifacts()), [""; 0]);
}

/// `timeout-minutes` of a step holds for a built-in action, too.
#[test]
fn an_upload_times_out() {
    let world = with_big_file(
        "\n  timeout-minutes: 0.005\n- if: failure()\n  uses: actions/download-artifact@v4\n  id: down\n  with: {name: a}",
    );
    let since = Instant::now();
    let ran = run(&world, &[]);
    let took = since.elapsed();
    assert_eq!(ran.step("up")["outcome"], "failure");
    let reason = ran.step("up")["reason"].as_str().expect("a reason");
    assert!(reason.contains("timeout-minutes are over"), "{reason}");
    let limit = at_most(Duration::from_secs(1)).as_millis();
    let ms = ran.step("up")["ms"].as_u64().expect("a time");
    assert!(u128::from(ms) < 300 + limit, "{ms} ms, {took:?} in all");
    let reason = ran.step("down")["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("Artifact not found for name: a"),
        "{reason}"
    );
}

/// A cancelled save leaves nothing in the caches that all runs share.
#[test]
fn a_cancelled_save_leaves_no_cache() {
    let world = workflow(&job(
        "- run: mkdir d; head -c 400000000 /dev/urandom > d/big\n- uses: actions/cache/save@v4\n  with: {path: d, key: k}",
    ));
    let runner = start(&world);
    let caches = world.state.join("backstitch/jobs/caches/actions");
    let content = || -> Vec<String> {
        names(&caches)
            .iter()
            .flat_map(|one| names(&caches.join(one)))
            .collect()
    };
    until("the save", || !content().is_empty());
    cancel(runner);
    assert_eq!(content(), [""; 0]);
}
