//! Problems of workflows and actions in an editor, as GitHub's parser tells them.

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::World;

const CI: &str = ".github/workflows/ci.yml";

/// A workflow without problems.
const GOOD: &str =
    "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n";

const CALLED: &str = ".github/workflows/called.yml";

/// A workflow that jobs call.
const CALLABLE: &str = "on:\n  workflow_call:\n    inputs:\n      who: {type: string, required: true}\njobs:\n  greet:\n    \
                        runs-on: ubuntu-latest\n    steps:\n      - run: make\n";

/// A workflow that calls it without its input.
const CALL: &str = "on: push\njobs:\n  greet:\n    uses: ./.github/workflows/called.yml\n    with:\n      whom: you\n";

/// An action without problems, also for the marketplace.
const ACTION: &str = "name: a\ndescription: b\nruns:\n  using: composite\n  steps:\n    - run: make\n      shell: bash\n";

const NONE: [Value; 0] = [];

/// True if the client requests diagnostics.
fn pulls(client: &Client<'_>) -> bool {
    client.capabilities["diagnosticProvider"].is_object()
}

/// The newest published diagnostics of a document, with their version.
fn published(client: &Client<'_>, path: &str) -> Option<(Value, Vec<Value>)> {
    let uri = client.uri(path);
    let is_of = |(method, params): &&(String, Value)| {
        method == "textDocument/publishDiagnostics" && params["uri"] == uri.as_str()
    };
    let (_, params) = client.notified.iter().rev().find(is_of)?;
    let items = params["diagnostics"].as_array().expect("a list");
    Some((params["version"].clone(), items.clone()))
}

/// Diagnostics of the text of a document as it is now, in the way of its editor.
pub fn problems(client: &mut Client<'_>, path: &str) -> Vec<Value> {
    if pulls(client) {
        let document = json!({ "textDocument": { "uri": client.uri(path) } });
        let report = client.ok("textDocument/diagnostic", document);
        assert_eq!(report["kind"], "full");
        return report["items"].as_array().expect("a list").clone();
    }
    client.idle();
    let version = client.version(path);
    client.until(|client| published(client, path).is_some_and(|(of, _)| of == version));
    published(client, path).expect("published").1
}

fn messages(problems: &[Value]) -> Vec<&str> {
    let messages = problems.iter().map(|problem| problem["message"].as_str());
    messages
        .map(|message| message.expect("a message"))
        .collect()
}

/// The text in the document says, not the file. A client that requests diagnostics is not sent any.
#[test]
fn a_typed_problem_is_shown_until_it_is_mended() {
    for editor in Editor::ALL {
        let world = World::committed(&[(CI, GOOD)]);
        let mut client = Client::start(&world, editor);
        client.open(CI);
        assert_eq!(problems(&mut client, CI), NONE, "{editor:?}");
        client.type_over(CI, "steps", "stepz");
        let found = problems(&mut client, CI);
        assert!(
            messages(&found).contains(&"Unexpected value 'stepz'"),
            "{found:#?}"
        );
        assert_eq!(found[0]["severity"], 1);
        assert_eq!(found[0]["source"], "backstitch");
        assert_eq!(client.text_in(CI, &found[0]["range"]), "stepz");
        client.type_over(CI, "stepz", "steps");
        assert_eq!(problems(&mut client, CI), NONE, "{editor:?}");
        client.type_over(CI, "push", "pushes");
        assert_eq!(
            messages(&problems(&mut client, CI)),
            ["Unexpected value 'pushes'"]
        );
        client.close(CI);
        let is_pull = pulls(&client);
        assert_eq!(is_pull, editor != Editor::Eglot);
        if is_pull {
            assert_eq!(published(&client, CI), None);
        } else {
            client.until(|client| published(client, CI) == Some((Value::Null, Vec::new())));
        }
        client.leave();
    }
}

/// Places are in the units of each client, also behind a byte order mark, characters of several units and other line ends.
#[test]
fn places_are_right_in_each_encoding() {
    let world = World::committed(&[(CI, GOOD)]);
    let line = "jobs: {a: {name: '🧵é', runs-on: x, steps: [{run: x}], stepz: 1}}";
    for editor in Editor::ALL {
        let mut client = Client::start(&world, editor);
        for text in [
            format!("on: push\n{line}\n"),
            format!("on: push\r\n# é\r\n{line}\r\n"),
            format!("\u{feff}on: push\n{line}"),
            format!("\u{feff}{line}\non: push\n"),
        ] {
            client.open_with(CI, &text);
            let found = problems(&mut client, CI);
            assert_eq!(
                messages(&found),
                ["Unexpected value 'stepz'"],
                "{editor:?} {text:?}"
            );
            let shown = client.text_in(CI, &found[0]["range"]);
            assert_eq!(shown, "stepz", "{editor:?} {text:?}");
            client.close(CI);
            // the next text has the same version
            client.notified.clear();
        }
        client.open_with(CI, "on: push\njobs:\n\ta: b\n");
        let found = problems(&mut client, CI);
        assert_eq!(
            found[0]["range"]["start"],
            json!({ "line": 2, "character": 1 })
        );
        client.leave();
    }
}

/// Each file of another kind has no problems, whatever is in it.
#[test]
fn only_workflows_and_actions_have_problems() {
    let others = [
        ".github/dependabot.yml",
        "tests/fixture/.github/workflows/ci.yml",
        "docs/ci.yml",
        // another program's
        "menu/action.yml",
    ];
    let wrong = "wrong: 1\n";
    let world = World::committed(&others.map(|path| (path, wrong)));
    for editor in [Editor::Vscode, Editor::Eglot] {
        let mut client = Client::start(&world, editor);
        for path in others {
            client.open(path);
        }
        client.open_with("action.yml", &ACTION.replace("using", "uzing"));
        let found = problems(&mut client, "action.yml");
        assert!(
            messages(&found).contains(&"Unexpected value 'uzing'"),
            "{found:#?}"
        );
        client.open_with("lint/action.yml", &ACTION.replace("steps", "stepz"));
        assert!(!problems(&mut client, "lint/action.yml").is_empty());
        for path in others {
            if pulls(&client) {
                assert_eq!(problems(&mut client, path), NONE, "{path}");
            } else {
                let none = published(&client, path).is_none_or(|(_, items)| items.is_empty());
                assert!(none, "{path}");
            }
        }
        client.leave();
    }
}

/// A text that GitHub's marketplace alone asks for is an information, and hides no error.
#[test]
fn an_action_that_runs_has_no_error() {
    let world = World::committed(&[("action.yml", ACTION)]);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("action.yml");
    assert_eq!(problems(&mut client, "action.yml"), NONE);
    client.type_over("action.yml", "description: b\n", "");
    let found = problems(&mut client, "action.yml");
    assert_eq!(
        messages(&found),
        ["Required property is missing: description"]
    );
    assert_eq!(found[0]["severity"], 3);
    client.leave();
}

/// The setting `jobs.problems` removes them, from an editor or a file, and brings them back.
#[test]
fn a_setting_turns_problems_off() {
    for editor in [Editor::Vscode, Editor::Eglot] {
        let world = World::committed(&[(CI, GOOD), ("a.txt", "a\n")]);
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        client.open_with(CI, "wrong: 1\n");
        assert!(!problems(&mut client, CI).is_empty());
        for (own, file, is_shown) in [
            (json!(false), "", false),
            (json!(true), "", true),
            (Value::Null, "jobs.problems = false\n", false),
            (Value::Null, "", true),
        ] {
            world.write(".backstitch.toml", file);
            let own = json!({ "jobs": { "problems": own } });
            client.settings = own.clone();
            let refreshed = client.problems_refreshed;
            client.notify(
                "workspace/didChangeConfiguration",
                json!({ "settings": { "backstitch": own } }),
            );
            // a request reads the files
            client.lenses("a.txt");
            if pulls(&client) {
                client.until(|client| client.problems_refreshed > refreshed);
                while problems(&mut client, CI).is_empty() == is_shown {}
            } else {
                client.until(|client| {
                    published(client, CI).is_some_and(|(_, items)| items.is_empty() != is_shown)
                });
            }
        }
        client.leave();
    }
}

/// Bombs and long texts have their problem, and other requests are answered meanwhile.
#[test]
fn hostile_texts_are_bounded() {
    let world = World::committed(&[(CI, GOOD), ("a.txt", "a\n")]);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let level = |level: usize| {
        let before = format!("*a{}", level - 1);
        format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", "))
    };
    let levels: Vec<String> = (1..30).map(level).collect();
    let keys: Vec<String> = (0..20_000).map(|key| format!("key{key}: 1\n")).collect();
    let long = "x".repeat(500_000);
    for (text, message) in [
        (
            format!("a0: &a0 [x]\n{}", levels.concat()),
            "Maximum YAML nodes exceeded",
        ),
        (
            format!("a: &a {long}\nb: [{}]\n", "*a,".repeat(20_000)),
            "Maximum object size exceeded",
        ),
        ("[".repeat(100_000), "Maximum object depth exceeded"),
        (keys.concat(), "Unexpected value 'key0'"),
        (
            "a: b\n".repeat(300_000),
            "The maximum file size of 1048576 characters has been exceeded",
        ),
        (
            "a: b\n".repeat(2_200_000),
            "The maximum file size of 1048576 characters has been exceeded",
        ),
    ] {
        client.open_with(CI, &text);
        let document = json!({ "textDocument": { "uri": client.uri(CI) } });
        let reading = client.begin("textDocument/diagnostic", document);
        assert_eq!(client.lenses("a.txt"), []);
        let report = client.response(reading);
        let found = report["result"]["items"].as_array().expect("problems");
        assert_eq!(messages(found)[0], message);
        assert!(found.len() <= 100);
        client.close(CI);
    }
    client.leave();
}

/// Requests for a text that is read already get its answer; those that come later get that of the newest text.
#[test]
fn many_requests_read_the_newest_text() {
    let world = World::committed(&[(CI, GOOD)]);
    let mut client = Client::start(&world, Editor::Vscode);
    client.open(CI);
    let document = json!({ "textDocument": { "uri": client.uri(CI) } });
    let mut asked = Vec::new();
    for number in 0..30 {
        client.type_over(CI, "build", "buil");
        asked.push(client.begin("textDocument/diagnostic", &document));
        client.type_over(CI, "buil", "build");
        if number % 2 == 0 {
            client.notify("$/cancelRequest", json!({ "id": asked[asked.len() - 1] }));
        }
    }
    client.type_over(CI, "push", "pushes");
    assert_eq!(
        messages(&problems(&mut client, CI)),
        ["Unexpected value 'pushes'"]
    );
    for id in asked {
        client.response(id);
    }
    client.leave();
}

/// Calls are held against the called workflow as it is in the editor, else as it is on the disk.
#[test]
fn a_call_is_held_against_the_called_workflow() {
    let declared = [
        "Input who is required, but not provided while calling.",
        "Invalid input, whom is not defined in the referenced workflow.",
    ];
    let absent = ["Unable to find reusable workflow"];
    for editor in Editor::ALL {
        let world = World::committed(&[(CI, CALL), (CALLED, CALLABLE)]);
        let mut client = Client::start(&world, editor);
        client.open(CI);
        let found = problems(&mut client, CI);
        assert_eq!(messages(&found), declared, "{editor:?}");
        assert_eq!(
            client.text_in(CI, &found[0]["range"]),
            "./.github/workflows/called.yml"
        );
        assert_eq!(client.text_in(CI, &found[1]["range"]), "you");
        // the text of the editor says, saved or not
        client.open(CALLED);
        client.type_over(CALLED, "who", "whom");
        shows(&mut client, &[]);
        client.type_over(CALLED, "workflow_call", "workflow_dispatch");
        shows(
            &mut client,
            &["workflow_call key is not defined in the referenced workflow."],
        );
        client.close(CALLED);
        shows(&mut client, &declared);
        for path in ["called.yaml", "../../../called.yml"] {
            client.type_over(CI, "called.yml", path);
            assert_eq!(messages(&problems(&mut client, CI)), absent, "{path}");
            client.type_over(CI, path, "called.yml");
        }
        client.leave();
        assert_eq!(listed(&world), declared);
    }
}

/// Waits until the caller has these problems, after a change of the workflow that it calls.
fn shows(client: &mut Client<'_>, wanted: &[&str]) {
    if pulls(client) {
        let answered = &client.capabilities["diagnosticProvider"]["interFileDependencies"];
        assert_eq!(*answered, true);
        assert_eq!(messages(&problems(client, CI)), wanted);
        return;
    }
    // an edit of Eglot's leaves late
    client.idle();
    client
        .until(|client| published(client, CI).is_some_and(|(_, found)| messages(&found) == wanted));
}

/// The problems that the command line lists.
fn listed(world: &World) -> Vec<String> {
    let listed = world.run(["--json", "job", "list", CI]).expect_code(1);
    let listed = listed.json();
    let found = listed["workflows"][0]["problems"]
        .as_array()
        .expect("a list");
    let messages = found.iter().map(|problem| problem["message"].as_str());
    messages.flatten().map(str::to_owned).collect()
}
