//! Breakpoints at functions, threads, coroutines and tasks.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Program, output, world};
use crate::control::Watcher;
use crate::support::limits::EVENT_TIMEOUT;

/// S5-090, S5-149: breakpoints at functions before and after their calls; arguments and results are changed, calls skipped
/// and raised at; the calls are a tree.
#[test]
fn breakpoints_at_functions() {
    // never a breakpoint that says it denies, and lets pass
    let refused = world().run(["breakpoint", "add", "function", "plan", "--action", "deny"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.stderr.contains("let the breakpoint pause"),
        "{refused}"
    );
    let source = r"
import backstitch_debug as bs
bs.on()
def inner(n): return n + 1
def plan(x, y=2): return bs.call(inner, x * y)
for n in range(6):
    try:
        print(n, bs.call(plan, n, y=10))
    except Exception as error:
        print(n, type(error).__name__, error)
";
    let world = world();
    world.ok([
        "breakpoint",
        "add",
        "function",
        "plan",
        "--when",
        ".args[\"0\"] != \"0\"",
    ]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    assert_eq!(program.line(), "0 1");
    let pause = watcher.held("p1");
    assert_eq!(
        (pause["tool"].as_str(), pause["at"].as_str()),
        (Some("__main__.plan"), Some("before"))
    );
    assert_eq!(output(&world, "p1", "x, y, n"), "(1, 10, 1)");
    // an expression that fails, and a parameter that is not there: the program is held as before, with its REPLs
    let session = world.json(["repl", "list"])["sessions"][0]["id"].clone();
    for (input, why) in [
        (
            "{\"x\": \"nope + 1\"}",
            "NameError: name 'nope' is not defined",
        ),
        ("{\"z\": \"1\"}", "has no parameter `z`"),
        ("{\"7\": \"1\"}", "has no number 7"),
        ("{\"x\": \"1 +\"}", "SyntaxError"),
    ] {
        world.write("args.json", input);
        let refused = world.run(["resume", "--input", "args.json"]).expect_code(1);
        assert!(refused.stderr.contains(why), "{refused}");
        assert!(refused.stderr.contains("held as before"), "{refused}");
    }
    let refused = world.run(["skip", "--value", "1/0"]).expect_code(1);
    assert!(refused.stderr.contains("ZeroDivisionError"), "{refused}");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    assert_eq!(output(&world, "p1", "x"), "1");
    let listed = world.json(["repl", "list"]);
    let sessions = listed["sessions"].as_array().expect("sessions");
    assert!(
        sessions.iter().any(|one| one["id"] == session),
        "{listed:#}"
    );
    world.write("args.json", "{\"x\": \"n + 4\", \"y\": \"2\"}");
    world.ok(["resume", "--input", "args.json"]);
    assert_eq!(program.line(), "1 11");
    watcher.held("p2");
    world.ok(["skip", "--value", "['instead', n]"]);
    assert_eq!(program.line(), "2 ['instead', 2]");
    watcher.held("p3");
    world.ok(["deny", "-m", "not this one"]);
    assert_eq!(program.line(), "3 Raised not this one");
    watcher.held("p4");
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "function", "__main__.in*", "--after"]);
    world.ok(["resume"]);
    let after = watcher.held("p5");
    assert_eq!(
        (after["tool"].as_str(), after["at"].as_str()),
        (Some("__main__.inner"), Some("after"))
    );
    assert_eq!(
        output(&world, after["id"].as_str().expect("an id"), "result"),
        "41"
    );
    world.ok(["skip", "--value", "result * 100"]);
    assert_eq!(program.line(), "4 4100");
    watcher.held("p6");
    world.ok(["resume"]);
    assert_eq!(program.line(), "5 51");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
}

/// S5-013, S5-089: several threads are paused at once, each with its own pause, and others continue; coroutines, too.
#[test]
fn threads_and_coroutines() {
    let source = r#"
import asyncio, threading
import backstitch_debug as bs
bs.on()
def work(name):
    value = name * 2
    bs.pause(name)
    print(name, flush=True)
threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
for t in threads: t.start()
for t in threads: t.join()
async def step(n):
    await asyncio.sleep(0)
    return n + 1
async def ticker(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)
async def main():
    ticks = []
    task = asyncio.ensure_future(ticker(ticks))
    print(await bs.acall(step, 41), len(ticks) > 20, flush=True)
    task.cancel()
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    let first = watcher.until("held");
    let second = watcher.until("held");
    let name = |pause: &Value| pause["tool"].as_str().expect("a name").to_owned();
    let id = |pause: &Value| pause["id"].as_str().expect("an id").to_owned();
    for pause in [&first, &second] {
        let twice = format!("'{0}{0}'", name(pause));
        assert_eq!(output(&world, &id(pause), "value"), twice);
    }
    world.ok(["resume", &id(&second)]);
    assert_eq!(program.line(), name(&second));
    world.ok(["resume", &id(&first)]);
    assert_eq!(program.line(), name(&first));
    let third = watcher.until("held");
    assert_eq!(output(&world, &id(&third), "len(ticks) >= 0"), "True");
    // the event loop continues meanwhile
    while output(&world, &id(&third), "len(ticks) > 30") != "True" {}
    world.ok(["resume"]);
    assert_eq!(program.line(), "42 True");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
}

/// A paused call whose task is cancelled is over: its pause and its sessions end with it, and the program can pause again.
#[test]
fn a_cancelled_task_withdraws_its_pause() {
    let source = r#"
import asyncio, os
import backstitch_debug as bs
bs.on()
def step(n): return n + 1
async def main():
    task = asyncio.ensure_future(bs.acall(step, 1))
    while not os.path.exists("cancel"):
        await asyncio.sleep(0.001)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", flush=True)
    # after the call, too
    task = asyncio.ensure_future(bs.acall(step, 2))
    while not os.path.exists("cancel again"):
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait([task])
    print("cancelled again", task.cancelled(), flush=True)
    print(await bs.acall(step, 41), flush=True)
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let mut asks = world.backstitch();
    asks.args([
        "repl",
        "p1",
        "-e",
        "open('cancel', 'w').close() or __import__('threading').Event().wait()",
    ]);
    let asks = asks.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    assert_eq!(watcher.until("ended")["id"], "p1");
    assert_eq!(program.line(), "cancelled");
    let refused = asks
        .expect("a terminal")
        .wait_with_output()
        .expect("an end");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("is closed: its pause is over"), "{said}");
    assert_eq!(watcher.until("held")["id"], "p2");
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "function", "step", "--after"]);
    world.ok(["resume"]);
    assert_eq!(watcher.until("held")["id"], "p3");
    assert_eq!(output(&world, "p3", "result"), "3");
    world.write("cancel again", "");
    assert_eq!(watcher.until("ended")["id"], "p3");
    assert_eq!(program.line(), "cancelled again True");
    assert_eq!(watcher.until("held")["id"], "p4");
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "42\n".to_owned(), String::new()));
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
    let list = world.json(["repl", "list", "--status", "active"]);
    assert_eq!(list["sessions"], json!([]));
}

/// Tasks that are cancelled at any moment, also before their pause is there, leave no pause behind.
#[test]
fn tasks_that_are_cancelled_at_any_moment() {
    let source = r#"
import asyncio, random
import backstitch_debug as bs
bs.on()
def step(n): return n
async def one(n, moment):
    task = asyncio.ensure_future(bs.acall(step, n))
    await asyncio.sleep(moment)
    task.cancel()
    await asyncio.wait([task])
async def main():
    moments = random.Random(20261125)
    await asyncio.gather(*[one(n, moments.random() / 20) for n in range(60)])
    print("cancelled", flush=True)
    print(await bs.acall(step, "last"), flush=True)
asyncio.run(main())
"#;
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    let mut program = Program::start(&world, source);
    assert_eq!(program.line(), "cancelled");
    let until = std::time::Instant::now() + EVENT_TIMEOUT;
    let last = loop {
        let all = world.json(["pauses"])["pauses"].clone();
        if let [last] = &all.as_array().expect("pauses")[..]
            && output(&world, last["id"].as_str().expect("an id"), "n") == "'last'"
        {
            break last["id"].clone();
        }
        assert!(std::time::Instant::now() < until, "{all:#}");
    };
    world.ok(["resume", last.as_str().expect("an id")]);
    assert_eq!(program.end(), (0, "last\n".to_owned(), String::new()));
}

/// A call that is skipped or refused before it runs opens no pause after it that nobody waits for.
#[test]
fn breakpoints_before_and_after_one_function() {
    let source = r"
import backstitch_debug as bs
bs.on()
def step(n): return n + 1
for n in range(4):
    try:
        print(bs.call(step, n), flush=True)
    except bs.Raised as error:
        print(error, flush=True)
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "step"]);
    world.ok(["breakpoint", "add", "function", "step", "--after"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    world.ok(["skip", "--value", "'instead'"]);
    assert_eq!(program.line(), "instead");
    watcher.until("held");
    world.ok(["deny", "-m", "not this one"]);
    assert_eq!(program.line(), "not this one");
    watcher.until("held");
    world.ok(["skip"]);
    assert_eq!(program.line(), "None");
    let before = watcher.until("held");
    assert_eq!(
        (&before["id"], &before["at"]),
        (&json!("p4"), &json!("before"))
    );
    world.ok(["resume"]);
    let after = watcher.until("held");
    assert_eq!(
        (&after["id"], &after["at"]),
        (&json!("p5"), &json!("after"))
    );
    world.ok(["resume"]);
    assert_eq!(program.end(), (0, "4\n".to_owned(), String::new()));
    assert_eq!(world.json(["pauses"])["pauses"], json!([]));
}

/// Ctrl-C at a pause ends it: the program continues with its exception, and nobody is asked about a pause that is over.
#[test]
fn a_signal_ends_a_pause() {
    let source = r#"
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import backstitch_debug as bs
bs.on()
try:
    bs.pause("first")
except KeyboardInterrupt:
    print("interrupted", flush=True)
bs.pause("second")
print("went on")
"#;
    let world = world();
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    watcher.until("held");
    let pid = program.pid().to_string();
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(interrupted.expect("kill").success());
    assert_eq!(program.line(), "interrupted");
    watcher.until("ended");
    let second = watcher.until("held");
    assert_eq!(second["tool"], "second");
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"].as_array().map(Vec::len), Some(1), "{open:#}");
    world.ok(["resume"]);
    assert_eq!(program.end().1, "went on\n");
}

/// S5-013: a watched coroutine function stays one, and its event loop continues while it is paused; methods, too.
#[test]
fn watched_coroutines() {
    let source = r"
import asyncio, inspect
import backstitch_debug as bs
bs.on()
class Model:
    async def ask(self, n):
        await asyncio.sleep(0)
        return n + 1
async def plain(n): return n * 2
model, plain = bs.watch(Model()), bs.watch(plain)
async def ticker(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.001)
TICKS = []
async def main():
    ticks = TICKS
    task = asyncio.ensure_future(ticker(ticks))
    both = await asyncio.gather(model.ask(1), plain(4))
    print(both, len(ticks) > 20, asyncio.iscoroutinefunction(model.ask), flush=True)
    bs.off()
    print(await model.ask(5), await plain(5), flush=True)
    task.cancel()
asyncio.run(main())
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "Model.ask"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    let pause = watcher.until("held");
    assert_eq!(pause["tool"], "Model.ask");
    assert_eq!(output(&world, "p1", "n"), "1");
    let ticks = "ticks";
    while output(&world, "p1", &format!("len({ticks}) > 30")) == "False" {}
    world.ok(["skip", "--value", "n + 40"]);
    assert_eq!(program.line(), "[41, 8] True True");
    assert_eq!(program.line(), "6 10");
    let (code, _, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
}

/// A name of a function is not a path: `*` stands for any letters, `/` included.
#[test]
fn a_pattern_of_functions_is_no_path() {
    let source = r"
import backstitch_debug as bs
bs.on()
get = bs.watch(lambda: 1, 'GET /users/all')
print(get())
";
    let world = world();
    world.ok(["breakpoint", "add", "function", "*GET*all"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, source);
    assert_eq!(watcher.until("held")["tool"], "GET /users/all");
    world.ok(["resume"]);
    assert_eq!(program.line(), "1");
    assert_eq!(program.end().0, 0);
}
