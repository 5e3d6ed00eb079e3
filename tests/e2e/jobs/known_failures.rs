//! Failures of other tools that run CI jobs, by their number in the list of known failures.

use super::{job, run, workflow, workflow_with};

const COMPOSITE: &str = "name: c
inputs:
  who: {default: world}
outputs:
  said: {value: '${{ steps.inner.outputs.said }}'}
runs:
  using: composite
  steps:
    - id: inner
      shell: bash
      run: |
        echo \"said=hello ${{ inputs.who }}\" >> $GITHUB_OUTPUT
        echo \"hidden=1\" >> $GITHUB_OUTPUT
        test -f \"${{ github.action_path }}/action.yml\"
        test -f \"$GITHUB_ACTION_PATH/action.yml\"
    - id: second
      shell: bash
      run: echo \"${{ inputs.who }} ${{ steps.inner.outputs.hidden }} $LEVEL\" > inner-saw
";

fn with_composite() -> crate::support::World {
    workflow_with(
        &job(
            "
- uses: actions/checkout@v4
- id: use
  uses: ./act
  with: {who: you}
  env: {LEVEL: step}
- run: echo \"$SAID|${{ steps.use.outputs.said }}|${{ steps.use.outputs.hidden }}|${{ steps.inner.outputs.hidden }}|$LEVEL\" > seen
  env:
    SAID: ${{ steps.use.outputs.said }}
",
        ),
        &[("act/action.yml", COMPOSITE)],
    )
}

/// Outputs of a composite action are those that it declares, and its inputs and path have their values (J1, J3, J4, J5).
#[test]
fn j1_j3_j4_j5_composite_actions() {
    let world = with_composite();
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    assert_eq!(ran.file("seen"), "hello you|hello you|||\n");
    assert_eq!(ran.file("inner-saw"), "you 1 step\n");
}

/// A matrix gives the jobs that GitHub gives (J6).
#[test]
fn j6_a_matrix() {
    let world = workflow(
        "on: push
jobs:
  build:
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        node: [18, 20]
        exclude: [{os: windows-latest, node: 18}]
        include:
          - {os: ubuntu-latest, node: 20, extra: yes please}
          - {os: macos-latest}
    runs-on: ${{ matrix.os }}
    steps:
      - run: echo ${{ matrix.node }} ${{ matrix.extra }} > seen
",
    );
    let listed = world.json(["job", "list"]);
    let matrix = &listed["workflows"][0]["jobs"][0]["matrix"];
    let expected = serde_json::json!([
        {"os": "ubuntu-latest", "node": 18},
        {"os": "ubuntu-latest", "node": 20, "extra": "yes please"},
        {"os": "windows-latest", "node": 20},
        {"os": "macos-latest"},
    ]);
    assert_eq!(*matrix, expected);
    let ran = run(&world, &["-j", "build", "--matrix", "node=20"]);
    assert_eq!(ran.file("seen"), "20 yes please\n");
    assert_eq!(ran.report["jobs"][0]["name"], "build (ubuntu-latest, 20)");
    let refused = world
        .run([
            "job",
            "run",
            "ci.yml",
            "-j",
            "build",
            "--matrix",
            "os=windows-latest",
        ])
        .expect_code(1);
    assert!(refused.stdout.contains("windows-latest"), "{refused:?}");
}

/// Services and containers are named before a step runs (J12).
#[test]
fn j12_containers_are_refused_first() {
    let world = workflow(
        "on: push
jobs:
  build:
    runs-on: ubuntu-latest
    services: {db: {image: postgres}}
    steps: [{run: 'true'}]
",
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "failure");
    assert_eq!(ran.outcomes(), Vec::<String>::new());
    let reason = ran.report["jobs"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("(Line: 5)") && reason.contains("services"),
        "{reason}"
    );
}

/// Inputs of a reusable workflow have their values inside it (J13).
#[test]
fn j13_reusable_workflows() {
    let world = workflow_with(
        "on: push
jobs:
  call:
    uses: ./.github/workflows/other.yml
    with: {who: me, often: 2}
  after:
    needs: call
    runs-on: ubuntu-latest
    steps: [{run: 'echo ${{ needs.call.outputs.said }} > seen'}]
",
        &[(
            ".github/workflows/other.yml",
            "on:
  workflow_call:
    inputs:
      who: {type: string, required: true}
      often: {type: number}
      loud: {type: boolean, default: true}
    outputs:
      said: {value: '${{ jobs.say.outputs.said }}'}
jobs:
  say:
    runs-on: ubuntu-latest
    outputs: {said: '${{ steps.s.outputs.said }}'}
    steps:
      - id: s
        run: echo said=${{ inputs.who }}-${{ inputs.often + 0 || inputs.often }}-${{ inputs.loud }} >> $GITHUB_OUTPUT
",
        )],
    );
    let text = world.read(".github/workflows/other.yml").replace(
        "${{ inputs.often + 0 || inputs.often }}",
        "${{ inputs.often }}",
    );
    world.write(".github/workflows/other.yml", text);
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    assert_eq!(ran.file("seen"), "me-2-true\n");
}

/// An expression on a context that its key does not have is an error that names it (J14).
#[test]
fn j14_a_context_that_a_key_does_not_have() {
    let world = workflow(
        "on: push
jobs:
  build:
    if: secrets.KEY != ''
    runs-on: ubuntu-latest
    steps: [{run: 'true'}]
",
    );
    let refused = world.run(["job", "run", "ci.yml"]).expect_code(1);
    assert!(refused.stderr.contains("(Line: 4, Col: 9)"), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("Unrecognized named-value: 'secrets'"),
        "{refused:?}"
    );
}

/// A boolean input is a boolean, and a text in the event (J19).
#[test]
fn j19_boolean_inputs() {
    let world = workflow(
        "on:
  workflow_dispatch:
    inputs:
      deploy: {type: boolean, default: false}
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: echo \"${{ inputs.deploy == true }} ${{ github.event.inputs.deploy == 'true' }} ${{ inputs.deploy && 'yes' || 'no' }}\" > seen
",
    );
    let ran = run(
        &world,
        &["--event", "workflow_dispatch", "--input", "deploy=true"],
    );
    assert_eq!(ran.file("seen"), "true true yes\n");
    let ran = run(&world, &["--event", "workflow_dispatch"]);
    assert_eq!(ran.file("seen"), "false false no\n");
    world
        .run(["job", "run", "ci.yml", "--input", "deploy=maybe"])
        .expect_code(2);
}

/// `${{ }}` answers for `github`, `steps`, `needs`, `matrix` and `inputs`, not for variables alone (J20).
#[test]
fn j20_expressions_have_all_contexts() {
    let world = workflow(
        "on:
  workflow_dispatch:
    inputs:
      level: {type: number, default: 3}
jobs:
  first:
    runs-on: ubuntu-latest
    outputs: {made: '${{ steps.make.outputs.made }}'}
    steps:
      - {id: make, run: echo made=it >> $GITHUB_OUTPUT}
  build:
    needs: first
    strategy: {matrix: {node: [18]}}
    runs-on: ubuntu-latest
    env: {MODE: fast}
    steps:
      - id: one
        run: exit 3
        continue-on-error: true
      - if: github.job == 'build' && steps.one.outcome == 'failure' && needs.first.result == 'success'
        run: >-
          echo '${{ github.event_name }} ${{ steps.one.conclusion }} ${{ needs.first.outputs.made }} ${{ matrix.node }}
          ${{ inputs.level }} ${{ env.MODE }} ${{ runner.os }} ${{ job.status }} ${{ strategy.max-parallel }}' > seen
",
    );
    let ran = run(&world, &["-j", "build", "--event", "workflow_dispatch"]);
    assert_eq!(
        ran.file("seen"),
        "workflow_dispatch success it 18 3 fast Linux success 1\n"
    );
}
