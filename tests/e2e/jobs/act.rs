//! Generated jobs end as with act, which runs them on this machine, too: the same outcome of each step, the same outputs, the same
//! files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::rng::{Rng, cases};
use crate::support::{World, finish, skip};

/// Jobs of one workflow.
const JOBS: u64 = 10;

/// Directory with act and the packages of `tests/jobs/install.sh`. None where they are not installed.
pub fn packages(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("BACKSTITCH_TEST_JOBS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/jobs"),
        PathBuf::from,
    );
    if folder.join("bin/act").exists() {
        return Some(folder);
    }
    skip(test, "act is not installed (tests/jobs/install.sh)");
    None
}

/// act on a workflow of a repository, offline and on this machine. It reports in JSON.
pub fn act(packages: &Path, world: &World, event: &str, file: &str, env: &Path) -> Command {
    let mut command = world.command(packages.join("bin/act"));
    command
        .args([event, "--workflows", file])
        .args(["--platform", "ubuntu-latest=-self-hosted", "--json"])
        .args(["--no-cache-server", "--concurrent-jobs", "1", "--env-file"])
        .arg(env)
        .env("XDG_CACHE_HOME", world.home.join(".cache"));
    command
}

/// One job. Its steps append to `$OUT/<job>`, and the last one writes all outcomes and outputs there.
fn job(id: &str, rng: &mut Rng, before: &[String]) -> String {
    let mut text = format!("  {id}:\n    runs-on: ubuntu-latest\n");
    let needed = (!before.is_empty() && rng.once_in(3)).then(|| rng.pick(before).clone());
    if let Some(needed) = &needed {
        let _ = writeln!(
            text,
            "    needs: [{needed}]\n    if: {}",
            rng.pick(&[
                "always()",
                "success() || failure()",
                "always() && !cancelled()"
            ])
        );
    }
    if rng.once_in(3) {
        let _ = writeln!(text, "    env: {{LEVEL: job, OTHER: \"{}\"}}", rng.below(3));
    }
    if rng.once_in(4) {
        let _ = writeln!(
            text,
            "    defaults: {{run: {{shell: {}}}}}",
            rng.pick(&["bash", "sh"])
        );
    }
    let matrix = rng.once_in(4);
    if matrix {
        text.push_str("    strategy: {matrix: {n: [1], word: [one]}}\n");
    }
    text.push_str("    outputs: {last: '${{ steps.s0.outputs.v }}'}\n    steps:\n");
    let count = 3 + rng.below(5);
    for place in 0..count {
        text.push_str(&step(id, place, rng, matrix));
    }
    let _ = write!(
        text,
        "      - if: always()\n        run: |\n          cat >> \"$OUT/{id}\" <<'END'\n"
    );
    for place in 0..count {
        let step = format!("steps.s{place}");
        let _ = writeln!(
            text,
            "          s{place} ${{{{ {step}.outcome }}}} ${{{{ {step}.conclusion }}}} v=${{{{ {step}.outputs.v }}}} w=${{{{ {step}.outputs.w }}}}"
        );
    }
    if let Some(needed) = &needed {
        let _ = writeln!(
            text,
            "          needs ${{{{ needs.{needed}.result }}}} ${{{{ needs.{needed}.outputs.last }}}}"
        );
    }
    text.push_str("          END\n");
    let _ = writeln!(
        text,
        "          echo \"job ${{{{ job.status }}}} A=$A B=${{{{ env.B }}}} LEVEL=$LEVEL\" >> \"$OUT/{id}\""
    );
    text
}

fn step(job: &str, place: usize, rng: &mut Rng, matrix: bool) -> String {
    let mut text = format!("      - id: s{place}\n");
    let earlier = format!("steps.s{}", rng.below(place.max(1)));
    let mut conditions = vec![
        "always()".to_owned(),
        "failure()".to_owned(),
        "success()".to_owned(),
        "env.A == '1'".to_owned(),
        "env.A != ''".to_owned(),
        "!cancelled()".to_owned(),
        "github.event_name == 'push'".to_owned(),
        "runner.os == 'Linux' && true".to_owned(),
    ];
    if place > 0 {
        conditions.extend([
            format!("{earlier}.outcome == 'success'"),
            format!("always() && {earlier}.conclusion == 'failure'"),
            format!("{earlier}.outputs.v == '1'"),
            format!("contains(fromJSON('[\"1\",\"2\"]'), {earlier}.outputs.v)"),
            format!("failure() && {earlier}.outcome == 'failure'"),
            format!("${{{{ {earlier}.outputs.v }}}}"),
        ]);
    }
    if matrix {
        conditions.push("matrix.n == 1 && matrix.word == 'ONE'".to_owned());
    }
    if rng.once_in(2) {
        let _ = writeln!(
            text,
            "        if: \"{}\"",
            rng.pick(&conditions).replace('"', "\\\"")
        );
    }
    if rng.once_in(4) {
        let _ = writeln!(
            text,
            "        continue-on-error: {}",
            rng.pick(&["true", "false", "${{ env.A == '1' }}"])
        );
    }
    if rng.once_in(4) {
        let _ = writeln!(
            text,
            "        env: {{LEVEL: step, COPY: \"${{{{ env.A }}}}-{place}\"}}"
        );
    }
    if rng.once_in(4) {
        let _ = writeln!(
            text,
            "        shell: {}",
            rng.pick(&["bash", "sh", "bash -e {0}", "python3 {0}"])
        );
        if text.contains("python3") {
            let _ = writeln!(
                text,
                "        run: |\n          import os\n          open(os.environ['OUT'] + '/{job}', 'a').write('python {place} ' + os.environ.get('A', '') + '\\n')"
            );
            return text;
        }
    }
    if rng.once_in(8) {
        let _ = writeln!(
            text,
            "        uses: ./act\n        with: {{word: w{place}}}"
        );
        return if text.contains("shell:") {
            step(job, place, rng, matrix)
        } else {
            text
        };
    }
    text.push_str("        run: |\n");
    for _ in 0..=rng.below(3) {
        let line = match rng.below(10) {
            0 => format!("echo \"v={}\" >> \"$GITHUB_OUTPUT\"", rng.below(3)),
            1 => "printf 'w<<E\\none\\ntwo\\nE\\n' >> \"$GITHUB_OUTPUT\"".to_owned(),
            2 => format!("echo \"A={}\" >> \"$GITHUB_ENV\"", rng.below(3)),
            3 => "printf 'B<<E\\nb\\nE\\n' >> \"$GITHUB_ENV\"".to_owned(),
            4 => format!("echo \"line {place} ${{A:-none}} $LEVEL $COPY\" >> \"$OUT/{job}\""),
            5 => format!(
                "mkdir -p bin{place}; printf '#!/bin/sh\\necho tool{place}\\n' > bin{place}/tool; chmod +x bin{place}/tool; echo \"$PWD/bin{place}\" >> \"$GITHUB_PATH\""
            ),
            6 => format!("(tool || echo no tool) >> \"$OUT/{job}\" 2> /dev/null"),
            7 => format!("exit {}", rng.below(2)),
            8 => format!(
                "echo \"${{{{ {earlier}.outputs.v || 'none' }}}} ${{{{ format('{{0}}-{{1}}', env.A, '{place}') }}}}\" >> \"$OUT/{job}\""
            ),
            _ => "false | true".to_owned(),
        };
        let _ = writeln!(text, "          {line}");
    }
    text
}

const ACTION: &str = "name: act
description: a composite action
inputs:
  word: {description: w, default: none}
outputs:
  v: {description: v, value: '${{ steps.in.outputs.v }}'}
runs:
  using: composite
  steps:
    - id: in
      shell: bash
      run: echo \"v=${{ inputs.word }}\" >> \"$GITHUB_OUTPUT\"
    - shell: sh
      run: echo \"A=composite\" >> \"$GITHUB_ENV\"
    - if: failure()
      shell: bash
      run: exit 1
";

/// The files of a run, by the job.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).expect("a directory").flatten();
    let read = entries.map(|entry| {
        let text = fs::read_to_string(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), text)
    });
    read.collect()
}

/// Runs a workflow by this program and by act. Returns the jobs whose files differ.
fn differing(world: &World, packages: &Path, text: &str) -> Vec<String> {
    world.write(".github/workflows/ci.yml", text);
    let out = |name: &str| {
        let dir = world.root.with_file_name(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).expect("a directory");
        let file = world.root.with_file_name(format!("{name}.env"));
        fs::write(&file, format!("OUT={}\n", dir.display())).expect("a file");
        (dir, file)
    };
    let (ours, ours_env) = out("ours");
    let (theirs, theirs_env) = out("theirs");
    let ran = world.run([
        "job",
        "run",
        "ci.yml",
        "--yes",
        "--env-file",
        ours_env.to_str().expect("a path"),
    ]);
    assert!(ran.code <= 1, "{ran:?}\n{text}");
    let mut command = act(
        packages,
        world,
        "push",
        ".github/workflows/ci.yml",
        &theirs_env,
    );
    let told = finish(&mut command, b"");
    let (ours, theirs) = (files(&ours), files(&theirs));
    assert!(!theirs.is_empty(), "{told:?}");
    let names = ours.keys().chain(theirs.keys());
    let mut differing: Vec<String> = names
        .filter(|name| ours.get(*name) != theirs.get(*name))
        .cloned()
        .collect();
    differing.sort();
    differing.dedup();
    for name in &differing {
        println!(
            "--- {name}\nours:\n{}\ntheirs:\n{}",
            ours.get(name).map_or("nothing", String::as_str),
            theirs.get(name).map_or("nothing", String::as_str)
        );
    }
    differing
}

/// 500 generated jobs end as with act (the oracle).
#[test]
fn generated_jobs_end_as_with_act() {
    let Some(packages) = packages("jobs::act") else {
        return;
    };
    let seed = Rng::seed("BACKSTITCH_SEED", 42);
    let mut bad = Vec::new();
    for number in 0..cases("BACKSTITCH_ACT_CASES", 500, 5000).div_ceil(JOBS) {
        let mut rng = Rng::new(seed ^ (number << 20));
        let mut text = "on: push\nenv: {A: start}\njobs:\n".to_owned();
        let mut ids: Vec<String> = Vec::new();
        for place in 0..JOBS {
            let id = format!("j{place}");
            text.push_str(&job(&id, &mut rng, &ids));
            ids.push(id);
        }
        let text = with_checkouts(&text);
        let world = World::committed(&[("act/action.yml", ACTION)]);
        for name in differing(&world, &packages, &text) {
            bad.push(format!("{number} {name}"));
            if bad.len() == 1 {
                println!("{text}");
            }
        }
    }
    assert_eq!(bad, Vec::<String>::new(), "seed {seed}");
}

/// A job that uses the action of the repository begins with a checkout.
fn with_checkouts(text: &str) -> String {
    text.replace(
        "    steps:\n",
        "    steps:\n      - uses: actions/checkout@v4\n",
    )
}
