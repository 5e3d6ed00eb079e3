//! Parts of a workflow that a run tells of before its first step, and one step that runs alone.

use super::{job, run, workflow, workflow_with};
use crate::support::{Output, World};

/// Lines of `job run` about commands that reach out.
fn told(output: &Output) -> Vec<String> {
    let lines = output.stderr.lines();
    let told = lines.filter_map(|line| line.strip_prefix("warning: "));
    told.map(str::to_owned).collect()
}

fn run_job(world: &World, job: &str) -> Vec<String> {
    told(&world.run(["job", "run", "ci.yml", "-j", job]))
}

/// Commands that reach out are listed for each job of each project, once.
#[test]
fn commands_that_reach_out_are_told_for_each_job() {
    let step = "    runs-on: ubuntu-latest\n    steps: [{run: 'true || sudo make'}]\n";
    let text = format!("on: push\njobs:\n  a:\n{step}  b:\n    needs: a\n{step}  c:\n{step}");
    let world = World::new();
    for project in ["one", "two"] {
        world.write(format!("{project}/.github/workflows/ci.yml"), &text);
        world.git_ok(["init", "-q", project]);
    }
    let run_in = |project: &str, job: &str| {
        let dir = world.path(project);
        let dir = dir.to_str().expect("a path");
        told(&world.run(["--workspace", dir, "job", "run", "ci.yml", "-j", job]))
    };
    let of = |id: &str, line: u32| {
        [
            format!("the job {id} has 1 command that can reach out of the run:"),
            format!("line {line}: sudo make"),
        ]
    };
    // the job that it needs runs, too
    assert_eq!(run_in("one", "b"), [of("a", 5), of("b", 9)].concat());
    assert_eq!(run_in("one", "b"), Vec::<String>::new());
    assert_eq!(run_in("one", "a"), Vec::<String>::new());
    assert_eq!(run_in("one", "c"), of("c", 12));
    assert_eq!(run_in("two", "a"), of("a", 5));
    // another text of the workflow has the same command
    let changed = text.replace("sudo make", "sudo make #");
    world.write("one/.github/workflows/ci.yml", changed);
    assert_eq!(run_in("one", "c").len(), 2);
}

/// Commands of workflows and composite actions that a job uses are listed, too.
#[test]
fn commands_of_used_files_are_told() {
    let action = "name: x\nruns:\n  using: composite\n  steps:\n    - run: 'true || sudo apt-get install jq'\n      shell: bash\n    - uses: ./one\n";
    let called = "on: workflow_call\njobs:\n  in:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true || git push'\n      - uses: ./one\n";
    let world = workflow_with(
        "on: push\njobs:\n  a:\n    uses: ./.github/workflows/called.yml\n",
        &[
            ("one/action.yml", action),
            (".github/workflows/called.yml", called),
        ],
    );
    let lines = run_job(&world, "a");
    assert_eq!(
        lines,
        [
            "the job a has 2 commands that can reach out of the run:",
            "line 4: git push (line 6 of .github/workflows/called.yml)",
            "line 4: sudo apt-get install jq (line 5 of one) (line 7 of .github/workflows/called.yml)",
        ]
    );
    let listed = world.ok(["job", "list", "ci.yml"]).stdout;
    assert!(listed.contains("reaches out line 4: git push"), "{listed}");
}

/// Parts that a run refuses are listed before the first step, with their lines.
#[test]
fn refused_parts_are_told_before_the_first_step() {
    let world = workflow(&job("- run: echo first\n- uses: docker://alpine"));
    let ran = world.run(["job", "run", "ci.yml"]).expect_code(1);
    assert!(
        told(&ran)[0].contains("line 7: the image 'alpine'"),
        "{ran}"
    );
    let both = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    container: x\n    services: {y: {image: z}}\n    steps: [{run: 'true'}]\n";
    let world = workflow(both);
    let ran = world.run(["job", "run", "ci.yml"]).expect_code(1);
    for part in ["(Line: 5): 'container'", "(Line: 6): 'services'"] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
}

const TWO_JOBS: &str = "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    outputs: {version: '${{ steps.make.outputs.version }}'}
    steps:
      - id: make
        run: echo version=$(cat version) >> $GITHUB_OUTPUT; touch $HOME/ran
      - uses: actions/checkout@v4
      - id: test
        run: exit 3
  test:
    needs: build
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: prepare
        run: echo \"name=n\" >> $GITHUB_OUTPUT; echo key=hunter22 >> $GITHUB_OUTPUT; touch prepared
      - id: check
        name: Check it
        run: echo ${{ needs.build.outputs.version }} ${{ steps.prepare.outputs.name }}${{ steps['prepare'].outputs.key }} > seen
      - run: touch last
";

/// One step runs with its files, and with outputs of the newest runs. The jobs that its job needs do not run.
#[test]
fn a_step_alone_has_the_outputs_of_runs() {
    let text = TWO_JOBS
        .replace("$(cat version)", "7")
        .replace("exit 3", "true");
    let world = workflow_with(&text, &[("file", "text\n")]);
    world.write("secrets", "KEY=hunter22\n");
    let alone = ["-j", "test", "--step", "check", "--secret-file", "secrets"];
    let ran = run(&world, &alone);
    assert_eq!(
        ran.outcomes(),
        ["Run actions/checkout@v4 success", "Check it success"]
    );
    assert_eq!(ran.file("seen"), "\n");
    assert_eq!(ran.file("file"), "text\n");
    assert_eq!(ran.report["jobs"].as_array().map(Vec::len), Some(1));
    let missing = |name: &str, option: &str| {
        format!("note: {name} has no value: --output {option}=VALUE gives it one\n")
    };
    for line in [
        missing("steps.prepare.outputs.key", "prepare.key"),
        missing("steps.prepare.outputs.name", "prepare.name"),
        missing("needs.build.outputs.version", "needs.build.version"),
    ] {
        assert!(ran.output.stderr.contains(&line), "{line}{}", ran.output);
    }
    // a whole run has them, but for the secret
    let ran = run(&world, &["-j", "test", "--secret-file", "secrets"]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    let ran = run(&world, &alone);
    assert_eq!(ran.file("seen"), "7 n\n");
    for line in [
        "note: steps.prepare.outputs.name: as in the run ci-test-",
        "note: needs.build.outputs.version: as in the run ci-build-",
        "note: steps.prepare.outputs.key has no value",
    ] {
        assert!(ran.output.stderr.contains(line), "{line}: {}", ran.output);
    }
    // those of the user come first
    let given = [
        "--output",
        "needs.build.version=8",
        "--output",
        "prepare.key=k",
    ];
    let ran = run(&world, &[&alone[..], &given].concat());
    assert_eq!(ran.file("seen"), "8 nk\n");
}

/// A wrong name is answered by the names that there are.
#[test]
fn names_of_steps_and_outputs_are_listed() {
    let world = workflow(TWO_JOBS);
    for (arguments, hint) in [
        (
            &["--step", "zzz"][..],
            "steps there: 1, 2 prepare, 3 check, 4",
        ),
        (
            &["--step", "check", "--output", "zzz.a=1"],
            "ids there: prepare, check",
        ),
        (
            &["--step", "check", "--output", "needs.zzz.a=1"],
            "ids there: build",
        ),
    ] {
        let all = [&["job", "run", "ci.yml", "-j", "test"][..], arguments].concat();
        let refused = world.run(all).expect_code(3);
        assert!(refused.stderr.contains(hint), "{refused}");
    }
    let matrix = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    strategy: {matrix: {node: [18, 20]}}\n    steps: [{run: 'true'}]\n";
    let world = workflow(matrix);
    let refused = world.run(["job", "run", "ci.yml", "--matrix", "node=19"]);
    let refused = refused.expect_code(1);
    assert!(
        refused.stdout.contains("There are: node=18; node=20."),
        "{refused}"
    );
    for option in ["--secret-file", "--env-file", "--var-file", "--eventpath"] {
        let refused = world.run(["job", "run", "ci.yml", option, "nosuch"]);
        let text = refused.expect_code(3).stderr;
        assert!(
            text.contains(&format!("{option}: nosuch cannot be read")),
            "{text}"
        );
        assert!(text.contains("hint: "), "{text}");
    }
}

/// Runs of other projects are listed with their project, and stay.
#[test]
fn runs_of_other_projects_stay() {
    let world = World::new();
    let text = job("- run: 'true'");
    for project in ["one", "two"] {
        world.write(format!("{project}/.github/workflows/ci.yml"), &text);
        world.git_ok(["init", "-q", project]);
    }
    let run_in = |project: &str, words: &[&str]| {
        let dir = world.path(project);
        let dir = dir.to_str().expect("a path");
        world.ok([&["--workspace", dir, "job"][..], words].concat())
    };
    for project in ["one", "two"] {
        run_in(project, &["run", "ci.yml"]);
    }
    let listed = run_in("one", &["list", "--runs"]).stdout;
    for project in ["/one · ", "/two · "] {
        assert!(listed.contains(project), "{listed}");
    }
    let removed = run_in("one", &["rm", "--all"]).stdout;
    assert!(
        removed.starts_with("Removed 1 run.\n1 run of other projects stay"),
        "{removed}"
    );
    let removed = run_in("one", &["rm", "--all", "--everywhere"]).stdout;
    assert_eq!(removed, "Removed 1 run.\n");
}

/// Another repository of a checkout comes from a directory that the user names.
#[test]
fn another_repository_comes_from_a_directory() {
    let world = workflow(&job(
        "- uses: actions/checkout@v4\n  with: {repository: acme/other, path: in}",
    ));
    world.write("other/file", "text\n");
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "start"],
    ] {
        world.git_ok([&["-C", "other"][..], words].concat());
    }
    let ran = world.run(["job", "run", "ci.yml"]).expect_code(1);
    let next = "clone it, and name its directory by --action acme/other=DIR";
    assert!(ran.stdout.contains(next), "{ran}");
    let ran = run(&world, &["--action", "acme/other=other"]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.file("in/file"), "text\n");
}

/// A step that runs alone has its parts listed alone.
#[test]
fn parts_of_a_step_alone_are_listed() {
    let world = workflow(&job(
        "- uses: actions/setup-node@v4\n  with: {node-version: 999}\n- uses: acme/lint@v2\n- id: here\n  run: true || git push\n- run: true || sudo make",
    ));
    let all = told(&world.run(["job", "run", "ci.yml", "--missing-actions", "skip"]));
    assert!(
        all[0].contains("Node 999 is not on this machine"),
        "{all:?}"
    );
    assert!(all.len() == 5, "{all:?}");
    // the job is the only one
    let alone = ["job", "run", "ci.yml", "--step"];
    assert_eq!(
        told(&world.run([&alone[..], &["here"]].concat())),
        Vec::<String>::new()
    );
    let lint = told(&world.run([&alone[..], &["2"]].concat()));
    assert_eq!(lint, ["build: the action acme/lint@v2 (line 8) is absent"]);
}

/// A workflow with problems tells them, also where its only job is asked for.
#[test]
fn problems_come_before_the_choice_of_a_job() {
    let world = workflow(&job("- runs: 'true'"));
    for args in [&["debug", "ci.yml"][..], &["run", "ci.yml", "--step", "1"]] {
        let refused = world.run([&["job"][..], args].concat()).expect_code(1);
        assert!(refused.stderr.contains("(Line: 6, Col: 9)"), "{refused}");
    }
}

/// As on GitHub, a checkout without `clean` empties a directory that is not a repository.
#[test]
fn a_checkout_empties_what_is_no_repository() {
    let steps = "- run: echo > junk\n- {uses: actions/checkout@v4, with: {clean: false}}\n- run: ls > seen; echo > mine\n- {uses: actions/checkout@v4, with: {clean: false}}\n- run: ls >> seen";
    let world = workflow_with(&job(steps), &[("a", "a\n")]);
    let ran = run(&world, &[]);
    assert_eq!(ran.file("seen"), "a\nseen\na\nmine\nseen\n");
}

/// A checkout of another repository is listed before the first step, unless its directory is named.
#[test]
fn another_repository_of_a_checkout_is_listed() {
    let steps = "- {uses: actions/checkout@v4, with: {repository: acme/other, path: other}}";
    let world = workflow(&job(steps));
    let listed = world.ok(["job", "list"]).stdout;
    assert!(listed.contains("the repository acme/other"), "{listed}");
    let all = told(&world.run(["job", "run", "ci.yml"]));
    assert!(
        all[0].contains("the repository acme/other (line 6) is absent"),
        "{all:?}"
    );
    let named = ["job", "run", "ci.yml", "--action", "acme/other=."];
    assert_eq!(told(&world.run(named)), Vec::<String>::new());
}
