use super::*;

fn action(text: &str) -> ActionFile {
    let (action, problems) = read("action.yml", text);
    action.unwrap_or_else(|| panic!("{problems:?}"))
}

fn problems(text: &str) -> Vec<String> {
    let (action, problems) = read("action.yml", text);
    assert_eq!(action.is_some(), problems.is_empty());
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_composite_action_has_steps_inputs_and_outputs() {
    let action = action(include_str!("../oracle/seeds/composite.yml"));
    let inputs = action.inputs.iter().map(|input| {
        let has_default = input.default.is_some();
        (input.name.as_str(), input.required, has_default)
    });
    assert_eq!(
        inputs.collect::<Vec<_>>(),
        [("who", true, true), ("old", false, false)]
    );
    assert_eq!(action.inputs[1].deprecation.as_deref(), Some("use who"));
    assert_eq!(action.outputs[0].0, "text");
    let ActionRuns::Composite(steps) = &action.runs else {
        panic!("{:?}", action.runs);
    };
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["say", "__actions_checkout", "__run"]);
    assert_eq!(steps[1].condition, "inputs.who == 'x' && always()");
}

#[test]
fn an_action_in_javascript_has_scripts_and_their_conditions() {
    let ActionRuns::Node(node) = action(include_str!("../oracle/seeds/node.yml")).runs else {
        panic!("another kind");
    };
    assert_eq!(node.using.value, "node20");
    assert_eq!(
        (node.main.as_str(), node.pre.as_deref()),
        ("dist/index.js", Some("dist/pre.js"))
    );
    assert_eq!(node.pre_if, "runner.os == 'Linux'");
    assert_eq!(node.post_if, "success() || failure()");
    let text = "name: a\ndescription: b\nruns: {using: node24, main: x.js}\n";
    let ActionRuns::Node(node) = action(text).runs else {
        panic!("another kind");
    };
    assert_eq!((node.pre_if.as_str(), node.post), ("always()", None));
}

#[test]
fn an_action_in_a_container_is_read() {
    let ActionRuns::Docker(docker) = action(include_str!("../oracle/seeds/docker.yml")).runs else {
        panic!("another kind");
    };
    assert_eq!(
        (docker.image.as_str(), docker.using.range.start.line),
        ("Dockerfile", 4)
    );
}

#[test]
fn problems_have_their_places() {
    let text = "name: a\ndescription: b\nruns:\n  using: composite\n  steps:\n    - run: a\n    - uses: b\n      shell: c\n";
    assert_eq!(
        problems(text),
        [
            "action.yml (Line: 6, Col: 7): Required property is missing: shell",
            "action.yml (Line: 8, Col: 7): Unexpected value 'shell'",
        ]
    );
    let text = "name: a\ndescription: b\nruns:\n  using: node20\n  steps: []\n";
    assert_eq!(
        problems(text),
        [
            "action.yml (Line: 4, Col: 3): You are using a JavaScript Action but there is not an entry JavaScript file \
          provided."
        ]
    );
}
