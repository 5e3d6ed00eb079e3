//! A secret is in no message: names of steps and jobs, variables, outputs, errors, stops, frames, log points, annotations and files.

use serde_json::{Value, json};

use super::super::jobs::workflow_with;
use super::talk::DapTalk;

const SECRET: &str = "hidden-value";
const ADDED: &str = "added-later";

const WORKFLOW: &str = "on: push
env:
  KEY: ${{ secrets.KEY }}
jobs:
  build:
    name: Build ${{ vars.NAME }}
    runs-on: ubuntu-latest
    steps:
      - name: One ${{ secrets.KEY }}
        id: one
        run: |
          echo \"$KEY\"; echo \"$KEY\" >&2; echo -n \"$KEY\" | base64
          echo \"::notice file=.github/workflows/ci.yml,line=1,title=$KEY::see $KEY\"
          echo \"::group::of $KEY\"; echo \"::endgroup::\"
          echo \"out=$KEY\" >> $GITHUB_OUTPUT; echo \"$KEY=1\" >> $GITHUB_OUTPUT
          echo \"COPY=$KEY\" >> $GITHUB_ENV; echo \"$PWD/$KEY\" >> $GITHUB_PATH
          echo \"hidden-value as a word\" >> $GITHUB_STEP_SUMMARY
          later=added; echo \"::add-mask::$later-later\"
      - name: Use ${{ secrets.KEY }}
        uses: $/act
        with: {token: '${{ secrets.KEY }}'}
      - name: Bad ${{ env.COPY }}
        run: echo added-later; cd \"/nowhere-$KEY\"
      - name: Wrong ${{ secrets.KEY }}
        run: exit 3
        shell: hidden-value {0}
";

const ACTION: &str = "name: a
inputs: {token: {required: true}}
runs:
  using: composite
  steps:
    - {name: 'Inner ${{ inputs.token }}', shell: bash, run: 'echo ${{ inputs.token }}'}
";

/// Fails for a text with a secret.
fn has_none(all: &[Value]) {
    for message in all {
        let text = message.to_string();
        for secret in [SECRET, ADDED, "aGlkZGVuLXZhbHVl"] {
            assert!(!text.contains(secret), "{message:#}");
        }
    }
}

/// Secrets show as names only, masked everywhere (U-07).
#[test]
fn u_07_no_message_has_a_secret() {
    let world = workflow_with(WORKFLOW, &[("act/action.yml", ACTION)]);
    world.write("secrets", format!("KEY={SECRET}\n"));
    world.write("vars", format!("NAME={SECRET}\n"));
    let files = json!({"secretsFile": "secrets", "varsFile": "vars"});
    let mut talk = DapTalk::launch(&world, &files);
    talk.ok(
        "setExceptionBreakpoints",
        &json!({"filters": ["failed", "failed-but-continued"]}),
    );
    let file = world.root.join(".github/workflows/ci.yml");
    let lines = json!([
        {"line": 9, "logMessage": "at {secrets.KEY} {env.KEY} {nothing(secrets.KEY)} hidden-value {"},
        {"line": 19, "condition": "fromJSON(secrets.KEY) == 1"},
        {"line": 19, "condition": "hidden-value =="}
    ]);
    talk.set_lines(&file, &lines);
    talk.ok(
        "setFunctionBreakpoints",
        &json!({"breakpoints": [{"name": "*hidden*"}]}),
    );
    talk.ok("configurationDone", &json!({}));
    talk.stop();
    look(&mut talk);
    for line in [
        "!echo $KEY; export LEAK=$KEY",
        "!exit $KEY",
        ":env OTHER=hidden-value",
        "hidden-value",
        ":goto hidden-value",
        ":env hidden-value=1",
        "fromJSON(secrets.KEY)",
        ":diff hidden-value",
    ] {
        talk.ask("evaluate", &json!({"expression": line, "context": "repl"}));
    }
    for command in [
        "next",
        "stepIn",
        "next",
        "stepBack",
        "next",
        "next",
        "next",
        "reverseContinue",
        "next",
    ] {
        talk.ok(command, &json!({"threadId": 1}));
        talk.stop();
        look(&mut talk);
    }
    for (command, arguments) in [
        (
            "setVariable",
            json!({"variablesReference": 1, "name": SECRET, "value": SECRET}),
        ),
        (
            "evaluate",
            json!({"expression": "fromJSON(secrets.KEY)", "context": "watch"}),
        ),
        (
            "evaluate",
            json!({"expression": "hidden-value(", "context": "hover"}),
        ),
        (
            "evaluate",
            json!({"expression": "secrets", "context": "watch"}),
        ),
        ("completions", json!({"text": "", "column": 1})),
    ] {
        talk.ask(command, &arguments);
    }
    talk.kill();
    has_none(&talk.all);

    let mut talk = DapTalk::attach(&world);
    talk.stop();
    look(&mut talk);
    talk.ok("terminate", &json!({}));
    talk.ended();
    has_none(&talk.all);
    let all: Vec<Value> = talk.all.clone();
    assert!(
        all.iter()
            .any(|message| message.to_string().contains("***"))
    );
}

/// Asks for all that can be seen at a stop.
fn look(talk: &mut DapTalk) {
    talk.ok("threads", &json!({}));
    talk.ask("exceptionInfo", &json!({"threadId": 1}));
    talk.ok("loadedSources", &json!({}));
    let frames = talk.ok("stackTrace", &json!({"threadId": 1}))["stackFrames"].clone();
    for frame in frames.as_array().expect("frames") {
        let scopes = talk.ok("scopes", &json!({"frameId": frame["id"]}))["scopes"].clone();
        for scope in scopes.as_array().expect("scopes") {
            open(talk, &scope["variablesReference"], 4);
        }
        let line = json!({"source": frame["source"], "line": frame["line"]});
        talk.ask("gotoTargets", &line);
    }
}

/// Opens a value down to a depth.
fn open(talk: &mut DapTalk, reference: &Value, depth: usize) {
    if depth == 0 || *reference == 0 {
        return;
    }
    let variables = talk.ok("variables", &json!({"variablesReference": reference}));
    for variable in variables["variables"].as_array().expect("variables") {
        open(talk, &variable["variablesReference"], depth - 1);
    }
}
