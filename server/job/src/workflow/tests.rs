use super::*;

const JOB: &str = "    runs-on: ubuntu-latest\n    steps:\n      - run: echo\n";

/// A workflow with these lines, and jobs `name: lines before the steps`.
fn jobs(jobs: &[(&str, &str)]) -> String {
    let job = |(name, lines): &(&str, &str)| format!("  {name}:\n{lines}{JOB}");
    let jobs: Vec<String> = jobs.iter().map(job).collect();
    format!("on: push\njobs:\n{}", jobs.concat())
}

fn problems(text: &str) -> Vec<String> {
    let (workflow, problems) = read("ci.yml", text);
    assert_eq!(workflow.is_some(), problems.is_empty());
    problems.iter().map(ToString::to_string).collect()
}

fn workflow(text: &str) -> Workflow {
    let (workflow, problems) = read("ci.yml", text);
    workflow.unwrap_or_else(|| panic!("{problems:?}"))
}

fn steps(job: &WorkflowJob) -> &[WorkflowStep] {
    match &job.body {
        Body::Steps(body) => &body.steps,
        Body::Call(_) => panic!("no steps"),
    }
}

#[test]
fn steps_without_an_id_get_that_of_github() {
    let text = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: a\n      - run: b\n      - uses: \
                actions/checkout@v4\n      - uses: ./own\n      - {uses: \"docker://a:1\", id: mine}\n";
    let workflow = workflow(text);
    let ids: Vec<&str> = steps(&workflow.jobs[0])
        .iter()
        .map(|step| step.id.as_str())
        .collect();
    assert_eq!(
        ids,
        ["__run", "__run_2", "__actions_checkout", "__self", "mine"]
    );
}

#[test]
fn a_condition_implies_success() {
    let workflow = workflow(&jobs(&[
        ("a", ""),
        ("b", "    if: github.ref == 'x'\n"),
        ("c", "    if: ${{ always() }}\n"),
        ("d", "    if:\n"),
    ]));
    let conditions: Vec<&str> = workflow
        .jobs
        .iter()
        .map(|job| job.condition.as_str())
        .collect();
    let expected = [
        "success()",
        "success() && (github.ref == 'x')",
        "always()",
        "success()",
    ];
    assert_eq!(conditions, expected);
}

#[test]
fn a_text_with_expressions_is_one_expression() {
    let text = jobs(&[("a", "    name: a ${{ github.ref }} {it's} ${{ 1 }}\n")]);
    let workflow = workflow(&text);
    let name = workflow.jobs[0].name.as_ref().expect("a name");
    let crate::template::TokenKind::Expression(expression) = &name.kind else {
        panic!("{name:?}");
    };
    assert_eq!(
        expression.text,
        "format('a {0} {{it''s}} {1}', github.ref, 1)"
    );
    assert_eq!(expression.source, "a ${{ github.ref }} {it's} ${{ 1 }}");
}

#[test]
fn a_script_keeps_its_lines_without_their_indentation() {
    let text = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          a ${{ github.sha }}\n            b\n";
    let workflow = workflow(text);
    let StepAction::Run { script, .. } = &steps(&workflow.jobs[0])[0].action else {
        panic!("no script");
    };
    let crate::template::TokenKind::Expression(expression) = &script.kind else {
        panic!("{script:?}");
    };
    assert_eq!(expression.text, "format('a {0}\n  b\n', github.sha)");
}

#[test]
fn problems_come_all_at_once_with_their_places() {
    let text = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          a\n          é ${{ }}\n        unknown: 1\n      - \
                runs: b\n";
    assert_eq!(
        problems(text),
        [
            "ci.yml (Line: 8, Col: 13): An expression was expected",
            "ci.yml (Line: 9, Col: 9): Unexpected value 'unknown'",
            "ci.yml (Line: 10, Col: 9): Unexpected value 'runs'",
            "ci.yml (Line: 10, Col: 9): There's not enough info to determine what you meant. Add one of these properties: \
             parallel, run, shell, uses, with, working-directory",
        ]
    );
}

#[test]
fn needs_are_known_and_have_an_order() {
    let text = jobs(&[
        ("c", "    needs: [b, A]\n"),
        ("b", "    needs: a\n"),
        ("a", ""),
        ("d", ""),
    ]);
    let workflow = workflow(&text);
    let order: Vec<&str> = order(&workflow, "c")
        .iter()
        .map(|job| job.id.value.as_str())
        .collect();
    assert_eq!(order, ["a", "b", "c"]);
    let text = jobs(&[
        ("a", ""),
        ("b", "    needs: c\n"),
        ("c", "    needs: [b, x]\n"),
    ]);
    assert_eq!(
        problems(&text),
        [
            "ci.yml (Line: 8, Col: 12): Job 'b' depends on job 'c' which creates a cycle in the dependency graph.",
            "ci.yml (Line: 13, Col: 13): Job 'c' depends on job 'b' which creates a cycle in the dependency graph.",
            "ci.yml (Line: 13, Col: 16): Job 'c' depends on unknown job 'x'.",
        ]
    );
}

/// GitHub's service finds these; its package for editors does not.
#[test]
fn problems_of_the_service_are_told() {
    let uses = jobs(&[("a", "")]).replace("run: echo", "uses: checkout");
    let matrix = "    strategy:\n      matrix:\n        a: [1]\n        exclude: [{b: 1}]\n";
    for (text, problem) in [
        (
            uses,
            "ci.yml (Line: 6, Col: 15): Expected format {org}/{repo}[/path]@ref. Actual 'checkout'",
        ),
        (
            jobs(&[("a", matrix)]),
            "ci.yml (Line: 7, Col: 20): Matrix exclude key 'b' does not match any key within the matrix",
        ),
        (
            jobs(&[("a", "    strategy: {matrix: {a: []}}\n")]),
            "ci.yml (Line: 4, Col: 28): Matrix vector 'a' does not contain any values",
        ),
        (
            jobs(&[("a", "    strategy: {matrix: {include: []}}\n")]),
            "ci.yml (Line: 4, Col: 24): Matrix must define at least one vector",
        ),
    ] {
        assert_eq!(problems(&text), [problem]);
    }
}

#[test]
fn a_call_gives_what_the_called_workflow_declares() {
    let called = workflow(
        "on:\n  workflow_call:\n    inputs:\n      a: {type: string, required: true}\n      b: {type: number}\n    \
         secrets:\n      s: {required: true}\njobs:\n  a: {runs-on: x}\n",
    );
    let call = |with: &str| {
        let text = format!("on: push\njobs:\n  a:\n    uses: ./.github/workflows/x.yml\n{with}");
        let workflow = workflow(&text);
        let Body::Call(call) = &workflow.jobs[0].body else {
            panic!("no call");
        };
        let problems = call::check_call("ci.yml", call, &called);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(call("    with: {A: x, b: 1}\n    secrets: inherit\n").is_empty());
    assert_eq!(
        call("    with: {c: x}\n"),
        [
            "ci.yml (Line: 4, Col: 11): Input a is required, but not provided while calling.",
            "ci.yml (Line: 5, Col: 15): Invalid input, c is not defined in the referenced workflow.",
            "ci.yml (Line: 4, Col: 11): Secret s is required, but not provided while calling.",
        ]
    );
}

/// GitHub's parser does not take them yet, except `parallel`.
#[test]
fn background_steps_are_refused_or_named() {
    let text = jobs(&[("a", "")]);
    let background = text.replace("run: echo", "run: echo\n        background: true");
    assert_eq!(
        problems(&background),
        ["ci.yml (Line: 7, Col: 9): Unexpected value 'background'"]
    );
    let parallel = text.replace("run: echo", "parallel: [{run: echo}]");
    let workflow = workflow(&parallel);
    let StepAction::Background(key) = &steps(&workflow.jobs[0])[0].action else {
        panic!("no parallel step");
    };
    assert_eq!((key.value.as_str(), key.range.start.line), ("parallel", 6));
}

#[test]
fn inputs_have_types_and_defaults() {
    let text = "on:\n  workflow_dispatch:\n    inputs:\n      a: {type: choice, options: [x, 1], default: x}\n      \
                b: {type: boolean, default: yes}\n      c: {type: choice}\njobs:\n  a: {runs-on: x}\n";
    assert_eq!(
        problems(text),
        [
            "ci.yml (Line: 5, Col: 35): Unexpected type 'StringToken' encountered while reading 'input default'. The type \
             'BooleanToken' was expected.",
            "ci.yml (Line: 6, Col: 10): Missing 'options' for choice input",
        ]
    );
    let text = text.replace("yes", "true").replace("choice}", "number}");
    let workflow = workflow(&text);
    let kinds: Vec<InputKind> = workflow
        .dispatch_inputs
        .iter()
        .map(|input| input.kind)
        .collect();
    assert_eq!(
        kinds,
        [InputKind::Choice, InputKind::Boolean, InputKind::Number]
    );
    assert_eq!(workflow.dispatch_inputs[0].options, ["x", "1"]);
}
