//! The language server dies, or its disk is full, while a user types, saves, rewinds and closes, next to an agent.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Editor};
use super::unsaved_text::until_unsaved;
use crate::robustness::Small;
use crate::support::rng::{Rng, cases, is_long};
use crate::support::scenarios::{SEVEN_LINES, two_equal_files};
use crate::support::{Output, World, finish};

/// The agent replaces `two` by `2` in both files.
fn turn(world: &World) {
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("b.txt", "two\n", "2\n");
    agent.stop();
}

/// A day of an editor: its messages, and commands that run at the same time.
fn day(world: &World, client: &mut Client<'_>) {
    client.open("a.txt");
    client.open("b.txt");
    client.type_over("b.txt", "seven\n", "seven\nTYPED\n");
    let mut agent = world.agent();
    agent.prompt("run the tests");
    let call = agent.pre_bash("true");
    client.type_over("a.txt", "six\n", "six\nSAVED\n");
    client.save("a.txt");
    client.ok("backstitch/sessions", json!({}));
    let output = agent.execute(&call);
    agent.post_bash(&call, &output);
    agent.stop();
    beside(client, || world.run(["rewind", "t1"]));
    client.save("a.txt");
    beside(client, || world.run(["undo"]));
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    client.command("backstitch.checkpoint", json!({ "label": "evening" }));
}

/// Runs a command that this editor may have to carry out. It succeeds, or says what it could not do.
fn beside(client: &mut Client<'_>, run: impl FnOnce() -> Output + Send) {
    std::thread::scope(|scope| {
        let run = scope.spawn(run);
        while !run.is_finished() {
            client.ok("backstitch/sessions", json!({}));
        }
        let output = run.join().expect("an answer");
        assert!(matches!(output.code, 0 | 1), "{output}");
    });
}

/// Fault points that a server passes while it starts.
const START: usize = 10;
/// The same where it first completes a restore that another server had begun.
const START_AND_RECOVERY: usize = 30;

/// Starts a client of a server that is killed at this point. None if it died among the first points, before it answered.
fn that_dies(world: &World, editor: Editor, point: usize, start: usize) -> Option<Client<'_>> {
    match catch_unwind(|| Client::that_dies(world, editor, point)) {
        Ok(client) => Some(client),
        Err(_) if point <= start => None,
        Err(failure) => resume_unwind(failure),
    }
}

/// Runs this with a server that is killed at one of its points. False if the server reached its end.
fn dies(client: &mut Client<'_>, story: impl FnOnce(&mut Client<'_>)) -> bool {
    let ended = catch_unwind(AssertUnwindSafe(|| story(client)));
    match ended {
        Ok(()) => false,
        Err(_) if client.was_killed() => true,
        Err(failure) => resume_unwind(failure),
    }
}

/// U-20: at whatever point the server dies, the store is intact, no file is half written, and the editor's documents
/// are unchanged. The server that the editor starts next continues.
#[test]
fn killed_in_the_middle_of_a_day() {
    let seed = Rng::seed("BACKSTITCH_SEED", 20_261_121);
    let wanted = cases("BACKSTITCH_KILLS", 60, 500) / 20;
    println!("BACKSTITCH_SEED={seed}: {wanted} kills");
    let mut rng = Rng::new(seed);
    let (mut reach, mut kills) = (100, 0);
    while kills < wanted {
        let point = 1 + rng.below(reach);
        let world = two_equal_files(SEVEN_LINES);
        turn(&world);
        let editor = *rng.pick(&[Editor::Vscode, Editor::Nvim, Editor::Helix]);
        println!("-- {editor:?}, killed at point {point}");
        let Some(mut client) = that_dies(&world, editor, point, START) else {
            kills += 1;
            world.ok(["verify"]);
            continue;
        };
        if dies(&mut client, |client| day(&world, client)) {
            kills += 1;
            reach += 4;
        } else {
            reach = point.max(20);
        }
        after(&world, client, editor, &mut rng);
    }
}

/// The editor survives, and starts the server again with its documents; that server may die as well.
fn after(world: &World, mut client: Client<'_>, editor: Editor, rng: &mut Rng) {
    client.kill();
    let texts = ["a.txt", "b.txt"].map(|path| client.has(path).map(ToOwned::to_owned));
    drop(client);
    let resume = |client: &mut Client<'_>| {
        client.inclined = vec!["Show it", "Leave the file", "Keep it"];
        for (path, text) in ["a.txt", "b.txt"].iter().zip(&texts) {
            match text {
                Some(text) => client.open_with(path, text),
                None => client.open(path),
            }
        }
        client.ok("backstitch/sessions", json!({}));
        client.command("backstitch.checkpoint", json!({ "label": "morning" }));
    };
    let point = 1 + rng.below(START_AND_RECOVERY);
    if let Some(mut second) = that_dies(world, editor, point, START_AND_RECOVERY) {
        dies(&mut second, resume);
        second.kill();
    }
    world.ok(["verify"]);
    assert_eq!(world.tree().len(), 2, "only what the user has lies there");
    for path in ["a.txt", "b.txt"] {
        let disk = world.read(path);
        let strange = |line: &&str| {
            !SEVEN_LINES.lines().any(|own| own == *line) && !["2", "SAVED", "TYPED"].contains(line)
        };
        assert_eq!(disk.lines().find(strange), None, "{path}: {disk}");
        assert!(disk.lines().count() >= 7, "{path}: {disk}");
    }
    if let Some(text) = &texts[1] {
        // the text as opened, or with typed text, which no restore removes
        let typed = text.contains("TYPED");
        assert_eq!(typed, text.lines().count() == 8, "{text}");
    }
    let mut third = Client::start(world, editor);
    resume(&mut third);
    for path in ["a.txt", "b.txt"] {
        third.save(path);
    }
    until(|| pending(world).is_empty());
    third.command("backstitch.checkpoint", json!({ "label": "noon" }));
    for path in ["a.txt", "b.txt"] {
        let text = third.text(path).to_owned();
        assert_eq!(world.read(path), text);
        assert_eq!(world.at("@", path).as_deref(), Some(text.as_str()));
    }
    third.leave();
    world.ok(["verify"]);
}

fn pending(world: &World) -> Vec<Value> {
    let status = world.json(["status"]);
    status["pending_saves"].as_array().expect("files").clone()
}

fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to be so");
    }
}

/// U-20: a full disk costs the record, and the server reports that. Neither document nor file is half changed, and
/// with free space everything works again.
#[test]
fn the_stores_disk_is_full() {
    let world = two_equal_files(SEVEN_LINES);
    let name = "lsp::crashes::the_stores_disk_is_full";
    let Some(small) = Small::mount(name, &world.state.join("backstitch")) else {
        return;
    };
    turn(&world);
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.open("b.txt");
    client.ok("backstitch/sessions", json!({}));
    small.fill();
    client.type_over("b.txt", "seven\n", "seven\nTYPED\n");
    client.until(|client| client.said.iter().any(|said| said.contains("b.txt")));
    let before = world.tree();
    let quiet = json!({ "rev": "t1", "confirm": false });
    let refused = client.command("backstitch.rewind", &quiet);
    let said = refused["error"]["message"].as_str().expect("a failure");
    assert!(said.contains("full"), "{refused}");
    assert_eq!(before, world.tree());
    assert_eq!(client.edited, 0);
    small.empty();
    client.command("backstitch.rewind", &quiet);
    let expected = SEVEN_LINES.replace("seven\n", "seven\nTYPED\n");
    assert_eq!(
        (client.text("a.txt"), client.text("b.txt")),
        (SEVEN_LINES, &*expected)
    );
    client.save("a.txt");
    client.save("b.txt");
    until(|| pending(&world).is_empty());
    client.leave();
    assert_eq!(world.at("@", "b.txt").as_deref(), Some(&*expected));
    world.ok(["verify"]);
}

/// The document of the file that an exact rewind changes, in an editor beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Closed,
    Clean,
    Typed,
}

const CHANGED: [&str; 4] = ["a.txt", "b.txt", "gone.txt", "new.txt"];

fn on_disk(world: &World) -> [Option<String>; 4] {
    CHANGED.map(|path| world.exists(path).then(|| world.read(path)))
}

fn recorded(world: &World) -> [Option<String>; 4] {
    CHANGED.map(|path| {
        let shown = world.run(["cat", "@", path]);
        (shown.code == 0).then_some(shown.stdout)
    })
}

/// U-20: an exact rewind is killed at each of its points, beside a language server that has the document open. Every file
/// is as before or as after, and all files are on the same side.
#[test]
fn an_exact_rewind_that_dies_beside_an_open_document_leaves_no_third_state() {
    let mut combinations = 0;
    for editor in [Editor::Nvim, Editor::Vscode] {
        for document in [Document::Closed, Document::Clean, Document::Typed] {
            // an ordinary run dies at a tenth of the points
            let step = if is_long() { 1 } else { 10 };
            let mut point = 1 + combinations % step;
            combinations += 1;
            while exact_rewind_dies(editor, document, point) {
                point += step;
            }
            println!("{editor:?}, {document:?}: {point} points");
            assert!(point > 10, "{editor:?}, {document:?}: {point} points");
        }
    }
}

/// Returns false if the rewind was not killed.
fn exact_rewind_dies(editor: Editor, document: Document, point: usize) -> bool {
    let what = format!("{editor:?}, {document:?}, point {point}");
    let world = World::in_memory();
    for path in ["a.txt", "b.txt", "gone.txt"] {
        world.write(path, SEVEN_LINES);
    }
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    world.write("b.txt", SEVEN_LINES.replace("one\n", "ONE\n"));
    agent.bash("sed -i 's/^two$/2/' b.txt; rm gone.txt; echo new > new.txt");
    agent.stop();
    let before = on_disk(&world);
    let seven = || Some(SEVEN_LINES.to_owned());
    let after = [seven(), seven(), seven(), None];

    let mut client = Client::start(&world, editor);
    let mut typed = None;
    if document != Document::Closed {
        client.open("a.txt");
    }
    if document == Document::Typed {
        client.type_over("a.txt", "seven\n", "seven\nTYPED\n");
        typed = Some(client.text("a.txt").to_owned());
        until_unsaved(&world, &["a.txt"]);
    }
    let mut killed = false;
    std::thread::scope(|scope| {
        let mut rewind = world.backstitch();
        rewind.args(["rewind", "--exact", "t1", "--yes"]);
        rewind.env("BACKSTITCH_FAULT", point.to_string());
        let run = scope.spawn(move || finish(&mut rewind, b""));
        while !run.is_finished() {
            client.ok("backstitch/sessions", json!({}));
        }
        let output = run.join().expect("an answer");
        killed = output.code == 137;
        assert!(killed || output.code == 0, "{what}: {output}");
    });
    // the next command completes the rewind, or takes it back
    world.ok(["checkpoint"]);
    client.ok("backstitch/sessions", json!({}));
    world.ok(["verify"]);
    let (disk, record) = (on_disk(&world), recorded(&world));
    assert!(
        record == before || record == after,
        "{what}: recorded {record:?}, before {before:?}, after {after:?}"
    );
    assert!(killed || record == after, "{what}: {record:?}");
    // an editor with unsaved text has the outcome in its document, to be saved
    let waits = typed.is_some() && record == after && disk[0] == before[0];
    assert!(disk[0] == record[0] || waits, "{what}: {disk:?}");
    assert_eq!(disk[1..], record[1..], "{what}");
    if waits {
        client.until(|client| client.text("a.txt") == SEVEN_LINES);
    }
    if let Some(typed) = typed {
        let text = client.text("a.txt");
        assert!(text == typed || text == SEVEN_LINES, "{what}: {text}");
    }
    client.leave();
    killed
}
