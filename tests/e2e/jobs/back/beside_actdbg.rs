//! The same jobs by actdbg, which steps back by a copy of the whole tree. After a step back our files are those before the step wherever
//! actdbg's are, and also where actdbg leaves something behind, or ends.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::super::act::packages;
use super::super::{job, newest, workflow};
use super::exact::{Exact, differing, exact};
use super::stepped::{SteppedJob, place};
use super::tree;
use crate::support::{World, finish, skip};

/// The end of a step back, with the files from before the step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Back {
    /// All is as before the step, and the step runs as the first time.
    Exact,
    /// A process of the step still runs.
    LeavesProcess,
    /// The files are as before, but the step fails at its second run.
    FailsAgain,
    /// The debugger ended, and its copies with it.
    Dies,
}

/// A job: a step that prepares, and one that a step back undoes.
struct Case {
    name: &'static str,
    before: &'static str,
    step: &'static str,
    /// The end by actdbg.
    theirs: Back,
}

const fn case(name: &'static str, before: &'static str, step: &'static str, theirs: Back) -> Case {
    Case {
        name,
        before,
        step,
        theirs,
    }
}

const CASES: &[Case] = &[
    case(
        "files, links, modes and empty directories",
        "echo a > a; mkdir -p d/empty e; chmod 640 a; chmod 750 d; ln -s a link; ln -s nowhere dangling",
        "rm -r d link; echo b >> a; chmod 600 a; mkdir new; mv e f; ln -sfn a dangling",
        Back::Exact,
    ),
    case(
        "times",
        "mkdir d; echo a > d/a; ln -s a link; touch -h -d @1000.123456789 link; touch -d @2000.5 d/a; touch -d @3000 d",
        "touch d/a d; touch -h link",
        Back::Exact,
    ),
    case(
        "special modes",
        "echo a > a; chmod 4755 a; mkdir d; chmod 2775 d; mkdir e; chmod 1777 e",
        "chmod 644 a; chmod 700 d e",
        Back::Exact,
    ),
    case(
        "names",
        r"touch -- $'line\nend' $'\xff' '-f' 'back\slash' ' '",
        r"rm -- $'line\nend' $'\xff' '-f'; echo > 'back\slash'",
        Back::Exact,
    ),
    case(
        "a repository",
        "git init -q own; cd own; git config user.name a; git config user.email a@b; git commit -q --allow-empty -m one; echo a > a; git add a; echo b > b",
        "cd own; git tag t; git checkout -q -b other; git commit -q -m two; git stash -u -q; git gc -q",
        Back::Exact,
    ),
    case(
        "a large file",
        "head -c 20000000 /dev/zero > large",
        "echo more >> large",
        Back::Exact,
    ),
    case(
        "the index of git",
        "git status --porcelain",
        "git diff-index --quiet HEAD; echo b >> tracked",
        Back::FailsAgain,
    ),
    case(
        "temporary files",
        "true",
        "mkdir \"$RUNNER_TEMP/made\"",
        Back::FailsAgain,
    ),
    case("the home", "true", "mkdir \"$HOME/made\"", Back::FailsAgain),
    case(
        "a process",
        "true",
        "sleep 4714 > /dev/null 2>&1 & echo $! > pid",
        Back::LeavesProcess,
    ),
    case("a pipe", "mkfifo pipe", "echo a > a", Back::Dies),
    case(
        "a socket",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'",
        "echo a > a",
        Back::Dies,
    ),
    case(
        "bytes in a command file",
        "true",
        r"printf 'A=\xff\n' >> $GITHUB_ENV; echo a > a",
        Back::Dies,
    ),
    case(
        "the workspace itself",
        "echo a > a",
        "rm -r \"$GITHUB_WORKSPACE\"",
        Back::Dies,
    ),
    case(
        "a context that is rare",
        "echo a > a",
        "echo ${{ strategy.job-total }} >> a",
        Back::Dies,
    ),
];

/// Cases of an ordinary user, whom permissions bind.
const BOUND: &[Case] = &[
    case(
        "an unreadable file",
        "echo a > a; chmod 0 a",
        "echo b > b",
        Back::Dies,
    ),
    case(
        "a read-only directory",
        "mkdir d; echo a > d/a; chmod 555 d",
        "chmod 755 d; rm d/a; mkdir d/new; chmod 555 d",
        Back::Dies,
    ),
    case(
        "read-only directories in each other",
        "mkdir d; chmod 555 d",
        "chmod 755 d; mkdir -p d/e/f; echo a > d/e/a; chmod 555 d/e/f d/e d",
        Back::Dies,
    ),
];

/// A job in actdbg, to which lines are written.
struct Actdbg {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Directory of its copies.
    copies: PathBuf,
}

const PROMPT: &str = "(actdbg) ";

impl Actdbg {
    fn start(world: &World, site: &Path) -> Actdbg {
        let copies = world.root.with_file_name("copies");
        let mut command = world.command("python3");
        command
            .args(["-u", "-m", "actdbg", "run", ".github/workflows/ci.yml"])
            .args(["-j", "build", "-i", "--backend", "host"])
            .env("PYTHONPATH", site)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TMPDIR", &copies)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("python3");
        let mut job = Actdbg {
            input: child.stdin.take().expect("a pipe"),
            output: child.stdout.take().expect("a pipe"),
            child,
            copies,
        };
        job.answer().expect("a prompt");
        job
    }

    /// The output up to the next prompt. None if actdbg ended.
    fn answer(&mut self) -> Option<String> {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(PROMPT.as_bytes()) {
            if self.output.read(&mut byte).ok()? == 0 {
                return None;
            }
            text.push(byte[0]);
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn line(&mut self, line: &str) -> Option<String> {
        writeln!(self.input, "{line}").ok()?;
        self.answer()
    }

    fn workspace(&self) -> PathBuf {
        let copies = fs::read_dir(&self.copies).expect("a directory");
        let names = copies.map(|entry| entry.expect("an entry").path());
        let mut jobs = names.filter(|path| path.join("workspace").is_dir());
        jobs.next().expect("its workspace").join("workspace")
    }
}

impl Drop for Actdbg {
    fn drop(&mut self) {
        // it may have ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process that a step named in its file `pid`.
struct Left(Option<Pid>);

impl Left {
    fn of(workspace: &Path) -> Left {
        let text = fs::read_to_string(workspace.join("pid")).unwrap_or_default();
        Left(text.trim().parse().ok().and_then(Pid::from_raw))
    }

    fn runs(&self) -> bool {
        self.0.is_some_and(|pid| test_kill_process(pid).is_ok())
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // it may have ended
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A repository with the job of a case.
fn world_of(case: &Case) -> World {
    let steps = format!(
        "- uses: actions/checkout@v4\n- name: Before\n  run: |\n    {}\n- name: Step\n  run: |\n    {}\n- name: Last\n  run: 'true'",
        case.before, case.step
    );
    let world = workflow(&job(&steps));
    world.write("tracked", "a\n");
    world.git_ok(["add", "tracked"]);
    world.git_ok(["commit", "-q", "-m", "tracked"]);
    fs::create_dir(world.root.with_file_name("copies")).expect("a directory");
    world
}

/// Runs a case by actdbg. Returns the files before the step, without those of git, and the end of the step back.
fn by_actdbg(world: &World, site: &Path) -> (Option<super::Files>, Back) {
    let mut job = Actdbg::start(world, site);
    let mut reached = || {
        job.line("next")?;
        job.line("next")?;
        let workspace = job.workspace();
        let (files, before) = (tree(&workspace), exact(&workspace));
        Some((workspace, files, before))
    };
    let Some((workspace, files, before)) = reached() else {
        return (None, Back::Dies);
    };
    let mut back = || {
        job.line("next")?;
        let left = Left::of(&workspace);
        job.line("goto 3")?;
        assert_eq!(differing(&before, &exact(&workspace)), [""; 0], "by actdbg");
        if left.runs() {
            return Some(Back::LeavesProcess);
        }
        let again = job.line("next")?;
        let failed = again.contains("failed with exit");
        Some(if failed {
            Back::FailsAgain
        } else {
            Back::Exact
        })
    };
    let end = back().unwrap_or(Back::Dies);
    (Some(files), end)
}

/// Runs a case by us, which must be exact. Returns the files before the step, without those of git.
fn by_us(world: &World, name: &str) -> super::Files {
    let mut job = SteppedJob::start(world);
    let mut said = |line: &str| place(&job.line(line).expect(name));
    assert_eq!(said("n"), "before Before", "{name}");
    assert_eq!(said("n"), "before Step", "{name}");
    let files = newest(world).join("files");
    let workspace = files.join("work/work/work");
    let at = |path: &Path| -> Exact { exact(path) };
    let (shown, before) = (tree(&workspace), at(&files));
    assert_eq!(said("n"), "before Last", "{name}");
    let left = Left::of(&workspace);
    assert_eq!(said("b"), "before Step", "{name}");
    assert_eq!(differing(&before, &at(&files)), [""; 0], "{name}");
    assert!(!left.runs(), "{name}");
    assert_eq!(said("n"), "before Last", "{name}: again");
    job.end();
    shown
}

/// Compares both on a case. The jobs are the same: so are the files before the step.
fn compare(case: &Case, world: &World, site: &Path) {
    let ours = by_us(world, case.name);
    let (theirs, end) = by_actdbg(world, site);
    assert_eq!(end, case.theirs, "{} by actdbg", case.name);
    if let Some(theirs) = theirs {
        assert_eq!(ours, theirs, "{}", case.name);
    }
}

/// Directory of actdbg and the package that it needs.
fn site(test: &str) -> Option<PathBuf> {
    let site = packages(test)?.join("site");
    if site.join("actdbg").exists() {
        return Some(site);
    }
    skip(test, "actdbg is not installed (tests/jobs/install.sh)");
    None
}

/// We are exact in all cases: where actdbg is, where the step fails on what the first run left, and where actdbg ends.
#[test]
fn steps_back_are_exact_beside_actdbg() {
    let Some(site) = site("jobs::back::beside_actdbg") else {
        return;
    };
    for case in CASES {
        compare(case, &world_of(case), &site);
    }
}

/// The same for files that permissions protect.
#[test]
fn protected_files_are_exact_beside_actdbg() {
    let Some(site) = site("jobs::back::beside_actdbg") else {
        return;
    };
    for case in BOUND {
        let world = world_of(case);
        let own = world.root.with_file_name("site");
        fs::create_dir(&own).expect("a directory");
        for package in ["actdbg", "yaml", "_yaml"] {
            let mut copy = world.command("cp");
            copy.arg("-R").arg(site.join(package)).arg(&own);
            finish(&mut copy, b"").expect_code(0);
        }
        compare(case, &world.for_ordinary_user(), &own);
    }
}

/// An edit between two runs of a step is there after the second step back. actdbg keeps its first copy, and loses the edit.
#[test]
fn an_edit_before_the_second_run_stays_beside_actdbg() {
    let Some(site) = site("jobs::back::beside_actdbg") else {
        return;
    };
    let world = world_of(&case("an edit", "echo a > a", "echo b >> a", Back::Exact));
    let mut ours = SteppedJob::start(&world);
    for line in ["n", "n", "n", "b", "!echo edit >> a", "n", "b"] {
        ours.line(line).expect("an answer");
    }
    let file = newest(&world).join("files/work/work/work/a");
    assert_eq!(fs::read_to_string(file).expect("a file"), "a\nedit\n");
    ours.end();
    let mut theirs = Actdbg::start(&world, &site);
    for line in [
        "next",
        "next",
        "next",
        "goto 3",
        "!echo edit >> a",
        "next",
        "goto 3",
    ] {
        theirs.line(line).expect("an answer");
    }
    let file = theirs.workspace().join("a");
    assert_eq!(fs::read_to_string(file).expect("a file"), "a\n");
}
