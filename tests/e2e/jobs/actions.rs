//! Actions: JavaScript ones with their posts, built-in ones, absent ones.

use super::{job, run, workflow, workflow_with};

const SCRIPT: &str = "const fs = require('fs');
fs.appendFileSync('order', `main ${process.env.INPUT_WHO} ${process.env['INPUT_TWO_WORDS']}\\n`);
fs.appendFileSync(process.env.GITHUB_STATE, 'kept=yes\\n');
fs.appendFileSync(process.env.GITHUB_OUTPUT, 'said=hi\\n');
";

/// A JavaScript action has its inputs, outputs and state, and its post runs at the end, the newest first (J4).
#[test]
fn j4_javascript_actions_and_their_posts() {
    let action = "name: a
inputs: {who: {default: world}, 'two words': {default: 'x'}}
runs: {using: node20, main: main.js, post: post.js, post-if: success()}
";
    let post = "require('fs').appendFileSync('order', `post ${process.env.INPUT_WHO} ${process.env.STATE_kept}\\n`);\n";
    let world = workflow_with(
        &job("
- uses: actions/checkout@v4
- {id: a, uses: ./act, with: {who: one}}
- {uses: ./act}
- run: echo step ${{ steps.a.outputs.said }} >> order
"),
        &[
            ("act/action.yml", action),
            ("act/main.js", SCRIPT),
            ("act/post.js", post),
        ],
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    assert_eq!(
        ran.file("order"),
        "main one x\nmain world x\nstep hi\npost world yes\npost one yes\n"
    );
}

/// Checkout brings the working tree with its edits, and a repository that a step may change.
#[test]
fn checkout_brings_the_working_tree() {
    let world = workflow_with(
        &job(
            "
- run: test -z \"$(ls -A)\"
- uses: actions/checkout@v4
- run: cat a.txt new.txt > seen; git status --porcelain >> seen; git log --oneline | wc -l | tr -d ' ' >> seen
",
        ),
        &[("a.txt", "one\n"), (".gitignore", "ignored\n")],
    );
    world.write("a.txt", "edited\n");
    world.write("new.txt", "new\n");
    world.write("ignored", "secret");
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    assert_eq!(
        ran.file("seen"),
        "edited\nnew\n M a.txt\n?? new.txt\n?? seen\n1\n"
    );
    assert!(!ran.workspace().join("ignored").exists());
    let ran = run(&world, &["--checkout", "head"]);
    assert!(ran.log().contains("new.txt: No such file"), "{}", ran.log());
}

/// An upload has stored its files, or has failed; a later job downloads them (J8, J9).
#[test]
fn j8_j9_artifacts_and_caches() {
    let world = workflow(&job("
- run: mkdir out; echo 1 > out/a; echo 2 > out/b
- uses: actions/upload-artifact@v4
  with: {name: built, path: 'out/*'}
- uses: actions/download-artifact@v4
  with: {name: built, path: back}
- run: cat back/a back/b > seen
- id: none
  uses: actions/upload-artifact@v4
  with: {name: none, path: nothing/*, if-no-files-found: error}
  continue-on-error: true
- id: cache
  uses: actions/cache@v4
  with: {path: out, key: k-1}
- run: echo ${{ steps.none.outcome }} ${{ steps.cache.outputs.cache-hit }} >> seen
"));
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    let seen = ran.file("seen");
    assert!(seen.starts_with("1\n2\nfailure"), "{seen}");
    // the second run finds what the first one saved in its post
    let text = job(
        "- {id: cache, uses: actions/cache@v4, with: {path: out, key: k-1}}\n- run: echo ${{ steps.cache.outputs.cache-hit }} > seen; cat out/a >> seen",
    );
    world.write(".github/workflows/ci.yml", text);
    let ran = run(&world, &[]);
    assert_eq!(ran.file("seen"), "true\n1\n", "{}", ran.log());
}

/// An absent action is reported with its line before the first step. It fails its step unless the user decides.
#[test]
fn absent_actions() {
    let world = workflow_with(
        &job("- run: 'true'\n- {id: lint, uses: acme/lint@v2, with: {level: high}}"),
        &[(
            "elsewhere/action.yml",
            "name: l\nruns: {using: composite, steps: [{run: 'echo found > seen', shell: bash}]}\n",
        )],
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "failure");
    assert!(
        ran.output
            .stderr
            .contains("acme/lint@v2 (line 7) is absent"),
        "{:?}",
        ran.output
    );
    let reason = ran.step("lint")["reason"].as_str().expect("a reason");
    assert!(reason.contains("--action acme/lint@v2=DIR"), "{reason}");
    let ran = run(&world, &["--missing-actions", "skip"]);
    assert_eq!(
        (ran.result(), ran.step("lint")["outcome"].as_str()),
        ("success", Some("skipped"))
    );
    let ran = run(&world, &["--action", "acme/lint=elsewhere"]);
    assert_eq!(ran.file("seen"), "found\n");
    let listed = world.json(["job", "list"]);
    assert_eq!(
        listed["workflows"][0]["jobs"][0]["absent"][0]["text"],
        "acme/lint@v2"
    );
}

/// The `pre` of an action in a composite action runs before the first step, with its inputs. `main` and `post` have its state.
/// Those of the workspace do not run, and that is reported, as by GitHub's runner.
#[test]
fn nested_pre_parts_run_at_the_jobs_beginning() {
    let part = |part: &str| {
        format!(
            "const fs = require('fs');\nconst env = process.env;\nfs.appendFileSync(env.RUNNER_TEMP + '/order', `{part} ${{env.INPUT_WHO}} ${{env.STATE_from}} ${{env.MINE}} ${{env.GITHUB_ACTION_REPOSITORY}}\\n`);\nif ('{part}' == 'pre') fs.appendFileSync(env.GITHUB_STATE, `from=${{env.INPUT_WHO}}\\n`);\n"
        )
    };
    let inner = "name: i\ninputs: {who: {default: nobody}}\nruns: {using: node20, pre: pre.js, main: main.js, post: post.js}\n";
    let never = "name: n\nruns: {using: node20, pre: ../inner/pre.js, pre-if: failure(), main: ../inner/main.js}\n";
    let middle = "name: m\ninputs: {who: {}}\nruns:\n  using: composite\n  steps:\n    - {run: 'true', shell: sh}\n    - uses: acme/inner@v1\n      env: {MINE: 'of ${{ inputs.who }}'}\n      with: {who: '${{ inputs.who }}'}\n";
    let outer = "name: o\nruns:\n  using: composite\n  steps:\n    - uses: acme/middle@v1\n      with: {who: one}\n    - uses: acme/never@v1\n";
    let world = workflow_with(
        &job("
- run: echo step >> $RUNNER_TEMP/order
- uses: acme/outer@v1
- if: false
  uses: acme/middle@v1
  with: {who: two}
- uses: actions/checkout@v4
- {id: local, uses: ./actions/inner, with: {who: local}}
"),
        &[
            ("actions/inner/action.yml", inner),
            ("actions/inner/pre.js", &part("pre")),
            ("actions/inner/main.js", &part("main")),
            ("actions/inner/post.js", &part("post")),
            ("actions/never/action.yml", never),
            ("actions/middle/action.yml", middle),
            ("actions/outer/action.yml", outer),
        ],
    );
    let actions = ["inner", "never", "middle", "outer"];
    let named: Vec<String> = actions
        .iter()
        .map(|name| format!("--action=acme/{name}=actions/{name}"))
        .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let ran = run(&world, &named);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    let order = std::fs::read_to_string(ran.place.join("files/temp/order")).expect("a file");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(
        order,
        [
            "pre one undefined of one acme/inner",
            "pre two undefined of two acme/inner",
            "step",
            "main one one of one acme/inner",
            "main undefined undefined undefined acme/never",
            "main local undefined undefined undefined",
            "post local undefined undefined undefined",
            // its `pre` has run, although its step has not
            "post two two of two acme/inner",
            "post one one of one acme/inner",
        ],
        "{}",
        ran.log()
    );
    let outcomes = ran.outcomes();
    let at = |name: &str| {
        outcomes
            .iter()
            .position(|one| one == name)
            .unwrap_or_else(|| panic!("{name} in {outcomes:#?}"))
    };
    assert!(
        at("Pre Run acme/outer@v1 success") < at("Run echo step >> $RUNNER_TEMP/order success")
    );
    assert!(at("Pre Run acme/never@v1 skipped") < at("Pre Run acme/outer@v1 success"));
    let shown = world
        .run([&["job", "run", "ci.yml"][..], &named].concat())
        .stdout;
    let said = "`pre` execution is not supported for local action from './actions/inner'";
    assert!(shown.contains(said), "{shown}");
}
