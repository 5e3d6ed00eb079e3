//! Generated jobs under random commands. After each step back, undo and kill the files with their times, and the state, are those of
//! the moment to which the job returned. The end equals that of a fresh run of what survived.

use std::fmt::Write as _;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::rng::{Rng, cases};
use crate::support::{World, finish};

use super::super::{newest, workflow_with};
use super::exact::{Exact, differing, exact};
use super::stepped::{Debugger, SteppedJob, place};
use super::{Debugged, Files, debug, tree};

/// Failures after which no walk begins.
const MAX_FAILURES: usize = 5;

/// Scripts of steps. Each may fail, and then the step fails with `set -e` of the shell.
const SCRIPTS: &[&str] = &[
    "echo {n} >> a",
    "mkdir d{n} && echo {n} > d{n}/x",
    "rm -rf d{n}; rmdir e || true",
    "mkdir -p e; touch e/{n}; rm -f e/1",
    "mv a b{n} || echo none > a",
    "chmod {m} a || true",
    "chmod 7{n}0 e d{n} || true",
    "ln -sfn a link{n}",
    "ln -sfn nowhere{n} link{n}; rm -f link1",
    "touch -d @10{n} a e || true",
    "rm -f link{n}; mkdir -p link{n} || true",
    "git add -A && git commit -qm {n} || true",
    "git tag t{n}",
    "git tag -d t{n} || true",
    "git checkout -q -B b{n}",
    "git checkout -q -f HEAD~ || true",
    "git stash -u -q; git stash pop -q || true",
    "git stash -q || true",
    "git gc -q",
    "echo \"V=$V{n}\" >> $GITHUB_ENV",
    "echo $PWD/d{n} >> $GITHUB_PATH",
    "echo \"v={n}\" >> $GITHUB_OUTPUT; echo $V > v",
    "echo \"$V ${{ steps.s0.outputs.v }} ${{ job.status }}\" >> seen",
    "exit {n}",
    "test -e d{n} || exit 1",
    "echo {n} > ignored.log; echo '*.log' > .gitignore",
    "mkdir -p target/{n}; echo target > .gitignore; echo {n} > target/{n}/o",
    "rm -rf target .git/hooks",
    "(sleep 100 &) ; echo {n} > \"$HOME/h\"",
    "echo {n} > $RUNNER_TEMP/t; mkdir -p $RUNNER_TOOL_CACHE/{n}",
];

const ACTION: &str = "name: a
inputs: {n: {default: '1'}}
outputs: {o: {value: '${{ steps.in.outputs.o }}'}}
runs:
  using: composite
  steps:
    - {id: in, shell: bash, run: 'echo \"o=${{ inputs.n }}\" >> $GITHUB_OUTPUT; echo in >> inner'}
    - {shell: bash, run: 'echo \"W=$W.\" >> $GITHUB_ENV; mkdir inner-{d}'}
";

fn script(rng: &mut Rng) -> String {
    let mode = ["644", "755", "600"][rng.below(3)];
    rng.pick(SCRIPTS)
        .replace("{n}", &rng.below(4).to_string())
        .replace("{m}", mode)
}

fn generated(rng: &mut Rng) -> World {
    let mut text = String::from(
        "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    env: {GIT_AUTHOR_DATE: 2026-01-01T00:00:00Z, GIT_COMMITTER_DATE: 2026-01-01T00:00:00Z, \
         GIT_AUTHOR_NAME: a, GIT_AUTHOR_EMAIL: a@b, GIT_COMMITTER_NAME: a, GIT_COMMITTER_EMAIL: a@b, V: v}\n    steps:\n      - uses: actions/checkout@v4\n",
    );
    for place in 0..4 + rng.below(4) {
        if rng.once_in(6) {
            let _ = writeln!(
                text,
                "      - {{id: s{place}, uses: ./act, with: {{n: {place}}}, env: {{D: x}}}}"
            );
            continue;
        }
        if rng.once_in(8) {
            // it has a post, which finds nothing to store: caches are not part of a run
            let _ = writeln!(
                text,
                "      - {{id: s{place}, uses: actions/cache@v4, with: {{path: nowhere, key: 'key{place}-${{{{ github.run_id }}}}-'}}}}"
            );
            continue;
        }
        let lines: Vec<String> = (0..=rng.below(2)).map(|_| script(rng)).collect();
        let _ = writeln!(text, "      - id: s{place}");
        if rng.once_in(4) {
            text.push_str("        if: always()\n");
        } else if rng.once_in(6) {
            text.push_str("        if: failure()\n");
        }
        if rng.once_in(4) {
            text.push_str("        continue-on-error: true\n");
        }
        text.push_str("        run: |\n");
        for line in lines {
            let _ = writeln!(text, "          {line}");
        }
    }
    workflow_with(&text, &[("a", "a\n"), ("act/action.yml", ACTION)])
}

/// A moment at which the job stood.
#[derive(Clone)]
struct Moment {
    files: Exact,
    /// None where the commit itself changes the state: it passes over steps after a failure.
    state: Option<(String, String)>,
    depth: usize,
}

/// The part of a walk that still counts: commands of the shell, and steps forward. Points are places in it.
#[derive(Clone, Default)]
struct Survivors {
    lines: Vec<String>,
    points: Vec<(usize, Moment)>,
    at_last: bool,
    /// False after a run of a step on files of its earlier run.
    is_repeatable: bool,
}

impl Survivors {
    fn forward(&mut self, line: &str, moment: Moment) {
        if self.at_last {
            self.points.pop();
        }
        self.at_last = false;
        self.points.push((self.lines.len(), moment));
        self.lines.push(line.to_owned());
    }

    fn available(&self) -> usize {
        self.points.len() - usize::from(self.at_last)
    }

    /// The place to which so many steps back lead from a depth.
    fn place(&self, steps: usize, depth: usize) -> Option<usize> {
        let mut offered = (0..self.available())
            .rev()
            .filter(|place| self.points[*place].1.depth <= depth);
        offered.nth(steps - 1)
    }

    fn back(&mut self, place: usize) {
        self.points.truncate(place + 1);
        self.lines.truncate(self.points[place].0);
        self.at_last = true;
    }
}

/// A walk under way.
struct Walk<D> {
    world: World,
    job: Option<D>,
    /// The last answer that said where the job stands.
    at: Value,
    left: Survivors,
    /// Before the last step back, while an undo leads there.
    before: Option<(Survivors, Moment, Value)>,
    lines: Vec<String>,
}

impl<D: Debugger> Walk<D> {
    fn job(&mut self) -> &mut D {
        self.job.as_mut().expect("a job")
    }

    fn hint(&self) -> String {
        let file = self.world.root.join(".github/workflows/ci.yml");
        format!(
            "{}\n{}",
            self.lines.join("\n"),
            fs::read_to_string(file).expect("a file")
        )
    }

    /// Keeps a line with its answer, for the hint.
    fn note(&mut self, line: &str, answer: &Value) {
        let (at, count) = (place(answer), &answer["checkpoints"]);
        let said = answer["said"].as_str().unwrap_or_default();
        self.lines.push(format!("{line} → {at} {count} {said}"));
    }

    fn line(&mut self, line: &str) -> Value {
        let answer = self.job().line(line);
        let answer = answer.unwrap_or_else(|| panic!("{line}: no answer\n{}", self.hint()));
        self.note(line, &answer);
        if answer["stop"].is_string() {
            self.at = answer.clone();
        }
        answer
    }

    fn depth(&self) -> usize {
        self.at["path"].as_array().map_or(1, Vec::len)
    }

    fn now(&mut self) -> Moment {
        let state = self.job().said(":state");
        let (at, depth) = (place(&self.at), self.depth());
        Moment {
            files: exact(&newest(&self.world).join("files")),
            state: (!at.starts_with("failed")).then_some((at, state)),
            depth,
        }
    }

    /// The job must be at this moment again.
    fn is_at(&mut self, moment: &Moment) {
        let now = self.now();
        let paths = differing(&moment.files, &now.files);
        assert!(paths.is_empty(), "{paths:#?}\n{}\n{}", self.at, self.hint());
        if let (Some(then), Some(now)) = (&moment.state, &now.state) {
            assert_eq!(then, now, "{}", self.hint());
        }
    }

    /// A forward command, whose point is there if there is one more checkpoint.
    fn forward(&mut self, word: &str) {
        let moment = self.now();
        let answer = self.line(word);
        self.went(word, moment, &answer);
    }

    fn went(&mut self, word: &str, mut moment: Moment, answer: &Value) {
        let count = answer["checkpoints"].as_u64().unwrap_or_default();
        if answer["error"].is_null() && count > self.left.available() as u64 {
            if moment.state.is_none() && moment.depth > 1 {
                // the job may have left the composite action whose step failed: steps of it alone have this word
                let all = self.job().said(":checkpoints");
                let last = all.lines().nth(self.left.available()).unwrap_or_default();
                moment.depth = 1 + usize::from(last.contains("inner"));
            }
            self.left.forward(word, moment);
            self.before = None;
        } else if answer["error"].is_null() {
            // a failure that nothing follows leads to the end, without a point
            self.left.lines.push(word.to_owned());
        }
    }

    fn back(&mut self, steps: usize) {
        let (moment, at) = (self.now(), self.at.clone());
        let place = self.left.place(steps, self.depth());
        let answer = self.line(&format!("b {steps}"));
        assert_eq!(
            answer["error"].is_null(),
            place.is_some(),
            "{answer}\n{}",
            self.hint()
        );
        let Some(place) = place else { return };
        self.before = Some((self.left.clone(), moment, at));
        self.left.back(place);
        let there = self.left.points[place].1.clone();
        self.is_at(&there);
    }

    fn undo(&mut self) {
        let before = self.before.take();
        let answer = self.line(":undo");
        assert_eq!(
            answer["error"].is_null(),
            before.is_some(),
            "{answer}\n{}",
            self.hint()
        );
        let Some((left, moment, at)) = before else {
            return;
        };
        assert_eq!(place(&self.at), place(&at), "{}", self.hint());
        self.left = left;
        self.is_at(&moment);
    }

    /// Runs the last step again with the files as they are now: a fresh run does not.
    fn retry(&mut self) {
        let files = self.now().files;
        let place = self.left.place(1, self.depth());
        let answer = self.line(":retry");
        if answer["error"].is_null() {
            let place = place.expect("a checkpoint");
            // values that were set by hand since stay
            let is_alone = self.left.lines.len() == self.left.points[place].0 + 1;
            self.left.back(place);
            // the files of its point are those before it ran again, and all else is as at its first start
            let first = self.left.points[place].1.clone();
            let moment = Moment {
                files,
                state: first.state.filter(|_| is_alone),
                depth: first.depth,
            };
            self.left.forward("n", moment);
            self.left.is_repeatable = false;
            self.before = None;
        }
    }

    fn kill(&mut self, machine: bool) {
        let job = self.job.take().expect("a job");
        job.kill(machine);
        let job = D::resume(&self.world);
        self.at = job.first().clone();
        self.note(&format!("kill, machine: {machine}"), job.first());
        self.job = Some(job);
    }

    /// A kill while the job stands changes nothing.
    fn kill_standing(&mut self, machine: bool) {
        let (moment, at) = (self.now(), self.at.clone());
        self.kill(machine);
        assert_eq!(place(&self.at), place(&at), "{}", self.hint());
        self.is_at(&moment);
    }

    /// A kill while a step runs leads to before it, or the step had ended.
    fn kill_running(&mut self, machine: bool, after: Duration) {
        let moment = self.now();
        self.lines.push("n".to_owned());
        self.job().write("n");
        let since = Instant::now();
        while since.elapsed() < after {
            std::thread::yield_now();
        }
        self.kill(machine);
        let first = self.at.clone();
        let said = first["said"].as_str().unwrap_or_default();
        if said.contains("cut off") {
            self.left.forward("n", moment.clone());
            self.before = None;
            let last = self.left.points.len() - 1;
            self.left.back(last);
            self.is_at(&moment);
        } else if first["checkpoints"].as_u64() > Some(self.left.available() as u64)
            || place(&first) == "end" && moment.state.is_none()
        {
            self.went("n", moment, &first);
        } else {
            self.is_at(&moment);
        }
    }

    fn command(&mut self, rng: &mut Rng) {
        let machine = rng.once_in(2);
        match rng.below(24) {
            0..=3 => self.back(1 + rng.below(3)),
            4..=6 => {
                let edits = [
                    "!echo edit >> a",
                    "!mkdir -p edited; touch -d @7 edited",
                    "!export V=edited",
                    "!echo y > y; export E=1",
                    "!git tag -f edit",
                    "!chmod 711 e; rm -rf d1",
                    ":env V=set",
                ];
                let edit = *rng.pick(&edits);
                self.line(edit);
                self.left.lines.push(edit.to_owned());
            }
            7 | 8 => self.forward("s"),
            9 => self.undo(),
            10 => self.kill_standing(machine),
            11 | 12 => {
                let after = Duration::from_millis(rng.below(80) as u64);
                self.kill_running(machine, after);
            }
            13 if rng.once_in(3) => self.retry(),
            _ => self.forward("n"),
        }
    }
}

/// The state, the files of the workspace, what git says of it, and a file of the home.
type Facts = (String, Files, String, Option<Vec<u8>>);

/// Facts of the end that two runs share.
fn facts(run: &Path, state: &str) -> Facts {
    let workspace = run.join("files/work/work/work");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("--no-optional-locks")
            .args(args)
            .current_dir(&workspace);
        finish(&mut command, b"").stdout
    };
    let repository = if workspace.join(".git").exists() {
        git(&["ls-files", "-s"])
            + &git(&["for-each-ref"])
            + &git(&["status", "--porcelain"])
            + &git(&["rev-parse", "HEAD"])
    } else {
        String::new()
    };
    let place = run.to_string_lossy().into_owned();
    let number = place.rsplit('-').next().expect("a number");
    (
        state
            .replace(&place, "PLACE")
            .replace(&format!("-{number}-"), "-NUMBER-"),
        tree(&workspace),
        repository,
        fs::read(run.join("files/home/h")).ok(),
    )
}

/// One walk, by a debugger. The fresh run at its end is one of `job debug`.
pub fn walk<D: Debugger>(seed: u64) {
    let mut rng = Rng::new(seed);
    let world = generated(&mut rng);
    let job = D::start(&world);
    let mut walk = Walk {
        at: job.first().clone(),
        job: Some(job),
        world,
        left: Survivors {
            is_repeatable: true,
            ..Survivors::default()
        },
        before: None,
        lines: Vec::new(),
    };
    for _ in 0..8 + rng.below(12) {
        walk.command(&mut rng);
    }
    // a fresh run that stands at the failure has not passed over the steps after it yet
    if walk.left.at_last {
        walk.forward("n");
    }
    let state = walk.job().said(":state");
    let after_walk = facts(&newest(&walk.world), &state);
    walk.job.take().expect("a job").end();
    if !walk.left.is_repeatable {
        return;
    }
    let mut lines: Vec<&str> = walk.left.lines.iter().map(String::as_str).collect();
    lines.push(":state");
    let fresh: Debugged = debug(&walk.world, &lines);
    let after_fresh = facts(&fresh.place, fresh.said(lines.len() - 1));
    let hint = || format!("fresh: {lines:?}\n{}", walk.hint());
    assert_eq!(after_walk.0, after_fresh.0, "{}", hint());
    assert_eq!(after_walk.2, after_fresh.2, "{}", hint());
    assert_eq!(after_walk.1, after_fresh.1, "{}", hint());
    assert_eq!(after_walk.3, after_fresh.3, "{}", hint());
}

/// Tests that the walks are spread over, so that they run side by side.
const PARTS: u64 = 20;

/// Walks of one part. The number of all is that of `BACKSTITCH_JOB_WALKS`, the first seed that of `BACKSTITCH_JOB_SEED`. A walk that
/// fails does not end those after it, up to a number of failures.
fn walks(part: u64) {
    let all = cases("BACKSTITCH_JOB_WALKS", 2_000, 20_000);
    let first = Rng::seed("BACKSTITCH_JOB_SEED", 1);
    let (from, to) = (all * part / PARTS, all * (part + 1) / PARTS);
    let mut failed = Vec::new();
    for seed in first + from..first + to {
        if catch_unwind(|| walk::<SteppedJob>(seed)).is_err() {
            eprintln!(
                "seed {seed} failed: BACKSTITCH_JOB_SEED={seed} BACKSTITCH_JOB_WALKS=1 repeats it"
            );
            failed.push(seed);
        }
        if failed.len() == MAX_FAILURES {
            break;
        }
    }
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
}

/// A walk ends as a fresh run of what survived.
macro_rules! parts {
    ($($name:ident $part:literal)*) => {
        $(
            #[test]
            fn $name() {
                walks($part);
            }
        )*
    };
}

parts! {
    walks_00 0 walks_01 1 walks_02 2 walks_03 3 walks_04 4 walks_05 5 walks_06 6 walks_07 7 walks_08 8 walks_09 9
    walks_10 10 walks_11 11 walks_12 12 walks_13 13 walks_14 14 walks_15 15 walks_16 16 walks_17 17 walks_18 18 walks_19 19
}
