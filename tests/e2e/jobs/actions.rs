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
