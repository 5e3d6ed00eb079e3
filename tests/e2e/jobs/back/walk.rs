//! Generated jobs under random commands: the end equals that of a fresh run of what survived.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use crate::support::rng::{Rng, cases};
use crate::support::{World, finish};

use super::super::workflow_with;
use super::{Debugged, debug, tree};

/// Scripts of steps. Each may fail, and then the step fails with `set -e` of the shell.
const SCRIPTS: &[&str] = &[
    "echo {n} >> a",
    "mkdir d{n} && echo {n} > d{n}/x",
    "rm -rf d{n}; rmdir e || true",
    "mkdir -p e; touch e/{n}; rm -f e/1",
    "mv a b{n} || echo none > a",
    "chmod {m} a || true",
    "ln -sfn a link{n}",
    "git add -A && git commit -qm {n} || true",
    "git tag t{n}",
    "git checkout -q -B b{n}",
    "git stash -u -q; git stash pop -q || true",
    "echo \"V=$V{n}\" >> $GITHUB_ENV",
    "echo $PWD/d{n} >> $GITHUB_PATH",
    "echo \"v={n}\" >> $GITHUB_OUTPUT; echo $V > v",
    "echo \"$V ${{ steps.s0.outputs.v }} ${{ job.status }}\" >> seen",
    "exit {n}",
    "test -e d{n} || exit 1",
    "echo {n} > ignored.log; echo '*.log' > .gitignore",
    "(sleep 100 &) ; echo {n} > \"$HOME/h\"",
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

/// The part of a walk that still counts: commands of the shell, and steps forward. Points are places in it.
#[derive(Default)]
struct Survivors {
    lines: Vec<String>,
    points: Vec<usize>,
    at_last: bool,
}

impl Survivors {
    fn forward(&mut self) {
        if self.at_last {
            self.points.pop();
        }
        self.at_last = false;
        self.points.push(self.lines.len());
        self.lines.push("n".to_owned());
    }

    fn available(&self) -> usize {
        self.points.len() - usize::from(self.at_last)
    }

    fn back(&mut self, steps: usize) {
        let place = self.available() - steps;
        self.points.truncate(place + 1);
        self.lines.truncate(self.points[place]);
        self.at_last = true;
    }
}

/// The state, the files of the workspace, what git says of it, and a file of the home.
type Facts = (
    String,
    BTreeMap<String, (u32, Vec<u8>)>,
    String,
    Option<Vec<u8>>,
);

/// Facts of the end that two runs share.
fn facts(ran: &Debugged, state: &str) -> Facts {
    let place = ran.place.to_string_lossy().into_owned();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("--no-optional-locks")
            .args(args)
            .current_dir(ran.workspace());
        finish(&mut command, b"").stdout
    };
    let repository = if ran.workspace().join(".git").exists() {
        git(&["ls-files", "-s"])
            + &git(&["for-each-ref"])
            + &git(&["status", "--porcelain"])
            + &git(&["rev-parse", "HEAD"])
    } else {
        String::new()
    };
    (
        state.replace(&place, "PLACE"),
        tree(&ran.workspace()),
        repository,
        std::fs::read(ran.place.join("files/home/h")).ok(),
    )
}

fn one(seed: u64) {
    let mut rng = Rng::new(seed);
    let world = generated(&mut rng);
    let mut lines: Vec<String> = Vec::new();
    for _ in 0..6 + rng.below(10) {
        lines.push(match rng.below(5) {
            0 => format!("b {}", 1 + rng.below(3)),
            1 => {
                let edits = [
                    "echo edit >> a",
                    "mkdir -p edited",
                    "export V=edited",
                    "echo y > y; export E=1",
                    "git tag -f edit",
                ];
                format!("!{}", rng.pick(&edits))
            }
            _ => "n".to_owned(),
        });
    }
    lines.push(":state".to_owned());
    let run = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        debug(&world, &lines)
    };
    let walked = run(&lines);
    let mut left = Survivors::default();
    for (place, line) in lines.iter().enumerate() {
        let has_failed = walked.answer(place)["error"].is_string();
        match line.strip_prefix("b ") {
            _ if has_failed => {}
            Some(steps) => left.back(steps.parse().expect("a number")),
            // a failure that nothing follows leads to the end, without a point
            None if line == "n" && walked.checkpoints(place) > left.available() as u64 => {
                left.forward();
            }
            None => left.lines.push(line.clone()),
        }
    }
    let after_walk = facts(&walked, walked.said(lines.len() - 1));
    let fresh = run(&left.lines);
    let after_fresh = facts(&fresh, fresh.said(left.lines.len() - 1));
    let hint = || {
        format!(
            "seed {seed}\nwalked: {lines:?}\nfresh: {:?}\n{:#?}\n{}",
            left.lines,
            walked.answers,
            std::fs::read_to_string(world.root.join(".github/workflows/ci.yml")).expect("a file")
        )
    };
    assert_eq!(after_walk.0, after_fresh.0, "{}", hint());
    assert_eq!(after_walk.2, after_fresh.2, "{}", hint());
    assert_eq!(after_walk.1, after_fresh.1, "{}", hint());
    assert_eq!(after_walk.3, after_fresh.3, "{}", hint());
}

/// The number of walks is that of `BACKSTITCH_JOB_WALKS`.
#[test]
fn walks_end_as_fresh_runs_of_what_survived() {
    let count = cases("BACKSTITCH_JOB_WALKS", 40, 2_000);
    let first = Rng::seed("BACKSTITCH_JOB_SEED", 1);
    for seed in first..first + count {
        one(seed);
    }
}
