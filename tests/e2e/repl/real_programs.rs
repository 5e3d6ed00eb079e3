//! Programs as people have them, paused: Flask, asyncio, pandas, pytest, a loop of an agent, Node and TypeScript.
//!
//! They are in `tests/programs`, with the packages that they need in `install.sh`. Where these are not installed, a test
//! says so and passes; with `CI=true` it fails. Each test compares all that its program printed.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::{env, thread};

use serde_json::{Value, json};

use crate::control::Watcher;
use crate::lsp::client::{Client, Editor};
use crate::support::{World, skip};

/// A file in the folder of tests.
fn in_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Python with the packages of the programs. None where they are missing and may be.
pub fn python(test: &str) -> Option<PathBuf> {
    let folder = env::var_os("BACKSTITCH_TEST_PROGRAMS")
        .map_or_else(|| in_tests(".cache/programs"), PathBuf::from);
    let python = folder.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    let reason = "the programs' packages are not installed (tests/programs/install.sh)";
    skip(&format!("repl::{test}"), reason);
    None
}

/// Node of the editors' rig, or of this machine. With `typed`, it strips the types of TypeScript.
fn node(test: &str, typed: bool) -> Option<PathBuf> {
    let rig = env::var_os("BACKSTITCH_TEST_EDITORS").map(|dir| PathBuf::from(dir).join("bin/node"));
    let fits = |node: &PathBuf| {
        let features = Command::new(node)
            .args(["-p", "process.features.typescript"])
            .output();
        let is_typed = |said: &[u8]| said.starts_with(b"strip") || said.starts_with(b"transform");
        features.is_ok_and(|it| it.status.success() && (!typed || is_typed(&it.stdout)))
    };
    let found = rig.into_iter().chain([PathBuf::from("node")]).find(fits);
    if found.is_none() {
        let reason = "no Node that runs it: 22.18 or newer for TypeScript, else 20";
        skip(&format!("real_programs::{test}"), reason);
    }
    found
}

/// A workspace that holds these programs, and the packages of the clients.
fn world(programs: &[&str]) -> World {
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["checkpoint"]);
    for program in programs {
        let content = std::fs::read(in_tests("programs").join(program)).expect("a program");
        world.write(program, content);
    }
    std::fs::create_dir(world.path("node_modules")).expect("a directory");
    world.symlink(
        in_tests("../server/clients/js"),
        "node_modules/backstitch-debug",
    );
    world
}

/// A program that runs. Its output is read as it comes.
struct Program {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Its output so far.
    printed: String,
}

impl Program {
    fn start(world: &World, interpreter: impl AsRef<OsStr>, args: &[&str]) -> Self {
        Self::start_with(world, interpreter, args, &[])
    }

    fn start_with(
        world: &World,
        interpreter: impl AsRef<OsStr>,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Self {
        let mut child = world
            .command(interpreter)
            .args(args)
            .env("PYTHONPATH", in_tests("../server/clients/python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUNBUFFERED", "1")
            .env("BACKSTITCH_BIN", crate::support::binary::path())
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a program");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdout,
            printed: String::new(),
        }
    }

    /// The next line of its output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        self.printed.push_str(&line);
        line.trim_end_matches('\n').to_owned()
    }

    /// The port that a server says it has.
    fn port(&mut self) -> u16 {
        let line = self.line();
        let port = line.strip_prefix("open at ").map(str::parse);
        match port {
            Some(Ok(port)) => port,
            _ => panic!("no port: {line:?}\n{}", self.errors()),
        }
    }

    /// All that it prints to stderr until its end.
    fn errors(&mut self) -> String {
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut errors).expect("text");
        }
        errors
    }

    /// Waits for its end. Returns its status, all of its output, and all that it printed to stderr.
    fn end(mut self) -> (i32, String, String) {
        let mut printed = std::mem::take(&mut self.printed);
        self.stdout.read_to_string(&mut printed).expect("text");
        let errors = self.errors();
        let status = self.child.wait().expect("an end");
        (status.code().unwrap_or(-1), printed, errors)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Waits for the next pause. Returns its id.
fn held(watcher: &mut Watcher, name: &str) -> String {
    let pause = watcher.until("held");
    assert_eq!(pause["tool"], name, "{pause:#}");
    pause["id"].as_str().expect("an id").to_owned()
}

/// Evaluates these inputs in one session. Returns the entries.
fn ask(world: &World, pause: &str, inputs: &[&str]) -> Vec<Value> {
    let mut args = vec!["--json", "repl", pause];
    for input in inputs {
        args.extend(["-e", input]);
    }
    serde_json::Deserializer::from_str(&world.ok(args).stdout)
        .into_iter::<Value>()
        .map(|one| one.expect("JSON")["entry"].clone())
        .collect()
}

/// Evaluates these inputs in one session, and compares the output of each.
#[track_caller]
fn expect(world: &World, pause: &str, inputs: &[(&str, &str)]) {
    let asked: Vec<&str> = inputs.iter().map(|(input, _)| *input).collect();
    let entries = ask(world, pause, &asked);
    let outputs: Vec<&str> = entries
        .iter()
        .map(|entry| entry["output"].as_str().expect("text"))
        .collect();
    let expected: Vec<&str> = inputs.iter().map(|(_, output)| *output).collect();
    assert_eq!(outputs, expected, "{asked:?}");
}

/// Resumes a pause with other arguments.
fn resume_with(world: &World, pause: &str, args: &Value) {
    world.write("args.json", args.to_string());
    world.ok(["resume", pause, "--input", "args.json"]);
}

/// Sends a request over HTTP, and reads its answer beside the test: the status and the body.
fn http(port: u16, method: &str, path: &str) -> JoinHandle<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: shop\r\n\r\n").expect("sent");
    thread::spawn(move || {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.expect("a status"), body.to_owned())
    })
}

fn get(port: u16, path: &str) -> JoinHandle<(u16, String)> {
    http(port, "GET", path)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// S5-001, S5-002, S5-013, S5-096, S5-100: three requests to Flask are paused at once while 40 others are answered; each
/// is asked in its own request, and changed, skipped or refused.
#[test]
fn flask_under_load() {
    let Some(python) = python("real_programs::flask_under_load") else {
        return;
    };
    let world = world(&["flask_shop.py"]);
    let is_coffee = ".args[\"0\"] == \"'coffee'\"";
    world.ok([
        "breakpoint",
        "add",
        "function",
        "price",
        "--when",
        is_coffee,
    ]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, python, &["flask_shop.py"]);
    let port = program.port();
    let mut paused = ["ann", "bob", "cleo"].map(|name| {
        let order = get(port, &format!("/order/coffee?count=2&customer={name}"));
        (held(&mut watcher, "__main__.price"), Some(order))
    });
    let teas: Vec<_> = (1..=40)
        .map(|n| get(port, &format!("/order/tea?count={n}&customer=c{n}")))
        .collect();
    let [ann, bob, cleo] = [0, 1, 2].map(|at| paused[at].0.clone());
    let order_of_its_own = "print('asks')\nimport urllib.request\nsaid = urllib.request.urlopen(f'http://127.0.0.1:\
        {server.server_port}/order/water?count=7&customer=repl').read()\nprint('asked')";
    for (n, tea) in teas.into_iter().enumerate() {
        let (count, total) = (n + 1, (n + 1) * 3);
        let expected =
            format!("{{\"count\":{count},\"item\":\"tea\",\"notes\":[],\"total\":{total}}}\n");
        assert_eq!(tea.join().expect("an answer"), (200, expected));
    }
    expect(
        &world,
        &ann,
        &[
            ("request.path", "'/order/coffee'"),
            ("request.args['customer'], g.customer", "('ann', 'ann')"),
            ("item, count", "('coffee', 2)"),
            ("receipt", "{'item': 'coffee', 'count': 2, 'notes': []}"),
            ("__import__('flask').current_app.name", "'shop'"),
            ("len(orders)", "40"),
            ("print('mine')", "None"),
            (order_of_its_own, "None"),
            (
                "said",
                "b'{\"count\":7,\"item\":\"water\",\"notes\":[],\"total\":7}\\n'",
            ),
            ("receipt['notes'].append('a gift')", "None"),
            ("PRICES['coffee'] = 6", ""),
        ],
    );
    expect(
        &world,
        &bob,
        &[("g.customer, PRICES['coffee']", "('bob', 6)")],
    );
    let entries = ask(
        &world,
        &cleo,
        &["request.args['customer']", order_of_its_own],
    );
    assert_eq!(entries[0]["output"], "'cleo'");
    assert_eq!(entries[1]["stdout"], "asks\nasked\n");
    assert_eq!(
        world.json(["pauses"])["pauses"].as_array().map(Vec::len),
        Some(3)
    );

    world.ok(["deny", &cleo, "-m", "sold out"]);
    world.ok(["skip", &bob, "--value", "count + 1"]);
    world.ok(["resume", &ann]);
    let mut answer = |at: usize| {
        let order = paused[at].1.take().expect("an order");
        order.join().expect("an answer")
    };
    let receipt = |notes: &str, total: u32| {
        format!("{{\"count\":2,\"item\":\"coffee\",\"notes\":[{notes}],\"total\":{total}}}\n")
    };
    assert_eq!(answer(0), (200, receipt("\"a gift\"", 12)));
    assert_eq!(answer(1), (200, receipt("", 3)));
    assert_eq!(answer(2), (503, "no sale: sold out\n".to_owned()));
    world.ok(["breakpoint", "clear"]);
    let last = get(port, "/order/coffee?count=2&customer=dora");
    assert_eq!(last.join().expect("an answer"), (200, receipt("", 12)));
    assert_eq!(
        http(port, "POST", "/close").join().expect("an answer").0,
        200
    );

    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (5, ""));
    let mut expected = vec![
        format!("open at {port}"),
        "closed after 45 orders".to_owned(),
    ];
    let mut orders = vec![
        ("ann", 2, "coffee", Some(12)),
        ("bob", 2, "coffee", Some(3)),
    ];
    orders.extend([("cleo", 2, "coffee", None), ("dora", 2, "coffee", Some(12))]);
    orders.extend([("repl", 7, "water", Some(7)); 2]);
    for (customer, count, item, total) in orders {
        expected.push(format!("{customer} orders {count} {item}"));
        expected.extend(total.map(|total| format!("{customer} pays {total}")));
    }
    for n in 1..=40 {
        expected.extend([
            format!("c{n} orders {n} tea"),
            format!("c{n} pays {}", n * 3),
        ]);
    }
    assert!(printed.ends_with("closed after 45 orders\n"), "{printed}");
    assert_eq!(sorted(&printed), sorted(&expected.join("\n")));
}

/// A connection to the service on streams.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        Self {
            stream: BufReader::new(stream),
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stream.get_mut(), "{line}").expect("sent");
    }

    /// The next line; nothing once the connection is closed.
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.trim_end_matches('\n').to_owned()
    }
}

/// Compares the calls of the only program: function, outcome, place of the call that made it, number of sessions.
#[track_caller]
fn assert_calls(world: &World, expected: &[(&str, Value, Option<usize>, usize)]) {
    let mut client = panels(world);
    let found = client.ok("backstitch/calls", json!({}));
    client.leave();
    let calls = found["programs"][0]["calls"].as_array().expect("calls");
    let place = |id: &Value| calls.iter().position(|call| call["id"] == *id);
    let shown: Vec<_> = calls
        .iter()
        .map(|call| {
            let sessions = call["replSessions"].as_array().expect("sessions").len();
            let function = call["function"].as_str().expect("a name");
            let outcome = call["outcome"].clone();
            (function, outcome, place(&call["parent"]), sessions)
        })
        .collect();
    assert_eq!(shown, expected, "{calls:#?}");
}

/// An editor with panels.
fn panels(world: &World) -> Client<'_> {
    let own = json!({ "notifications": true, "panels": true });
    let mut client = Client::with(world, Editor::Vscode, &own);
    client.open("a.txt");
    client
}

/// S5-012, S5-089, S5-149: four connections of an asyncio service are paused at once while others are answered, also by its
/// executor, which has one thread; the calls are a tree, and the service ends while one of them is paused.
#[test]
fn asyncio_service() {
    let world = world(&["asyncio_service.py"]);
    let is_slow = ".args[\"0\"] == \"'slow'\"";
    world.ok(["breakpoint", "add", "function", "work", "--when", is_slow]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, "python3", &["asyncio_service.py"]);
    let port = program.port();
    let mut paused = ["ann", "bob", "cleo", "dora"].map(|name| {
        let mut connection = Connection::new(port);
        connection.say(&format!("{name}: slow 4"));
        (held(&mut watcher, "__main__.work"), connection)
    });
    let mut other = Connection::new(port);
    for (line, answer) in [("eve: fast 5", "10"), ("eve: sum abc", "891568578")] {
        other.say(line);
        assert_eq!(other.answer(), answer);
        assert_eq!(program.line(), format!("{line} is {answer}"));
    }
    for ((pause, _), name) in paused.iter().zip(["ann", "bob", "cleo", "dora"]) {
        let client = format!("'{name}'");
        expect(
            &world,
            pause,
            &[
                ("client.get()", &client),
                ("kind, number, line", "('slow', 4, 'slow 4')"),
                ("served", "['eve', 'eve']"),
                ("client.set('mine') and client.get()", "'mine'"),
                ("print('mine')", "None"),
            ],
        );
    }
    let number = json!({"number": "number + 100 if client.get() == 'ann' else 0"});
    resume_with(&world, &paused[0].0, &number);
    assert_eq!(paused[0].1.answer(), "208");
    assert_eq!(program.line(), "ann: slow 4 is 208");
    world.ok(["skip", &paused[1].0, "--value", "client.get() * 2"]);
    assert_eq!(paused[1].1.answer(), "bobbob");
    assert_eq!(program.line(), "bob: slow 4 is bobbob");
    world.ok(["deny", &paused[2].0, "-m", "too slow"]);
    assert_eq!(paused[2].1.answer(), "refused, too slow");
    assert_eq!(program.line(), "cleo: slow 4 is refused, too slow");
    other.say("eve: fast 6");
    assert_eq!(other.answer(), "12");

    let (slow, fast) = ("__main__.work", "__main__.double");
    let expected = [
        // the call that made each, and how many sessions it had
        (slow, json!("returned"), None, 1),
        (slow, json!("skipped"), None, 1),
        (slow, json!("raised"), None, 1),
        (slow, Value::Null, None, 1),
        (slow, json!("returned"), None, 0),
        (fast, json!("returned"), Some(4), 0),
        (fast, json!("returned"), Some(0), 0),
        (slow, json!("returned"), None, 0),
        (fast, json!("returned"), Some(7), 0),
    ];
    assert_calls(&world, &expected);

    other.say("close");
    assert_eq!(paused[3].1.answer(), "");
    // its task was cancelled
    let over = loop {
        let pause = watcher.next();
        // the program ends with the task: its bridge may see either first
        if ["ended", "lost"].contains(&pause["state"].as_str().unwrap_or_default()) {
            break pause;
        }
    };
    assert_eq!(over["id"], paused[3].0.as_str());
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let expected = format!(
        "open at {port}\neve: fast 5 is 10\neve: sum abc is 891568578\nann: slow 4 is 208\nbob: slow 4 is bobbob\n\
         cleo: slow 4 is refused, too slow\neve: fast 6 is 12\nclosed after 6 requests\ndora: slow 4 is given up\n"
    );
    assert_eq!(printed, expected);
}

/// S5-124…127, S5-130: a frame of pandas and arrays are asked, and changed in place; the frame is stored with its view,
/// and its bytes are given out, and never read.
#[test]
fn numpy_and_pandas() {
    let Some(python) = python("real_programs::numpy_and_pandas") else {
        return;
    };
    let world = world(&["sales.py"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, &python, &["sales.py"]);
    let pause = held(&mut watcher, "before the report");
    let described = "           units     price\ncount   5.000000  5.000000\nmean    6.600000  3.400000\n\
        std     4.774935  1.557241\nmin     0.000000  1.000000\n25%     4.000000  3.000000\n\
        50%     7.000000  3.500000\n75%    10.000000  4.500000\nmax    12.000000  5.000000";
    expect(
        &world,
        &pause,
        &[
            ("sales.describe()", described),
            (
                "sales.shape, grid.shape, large.nbytes",
                "((5, 4), (3, 4), 16000000)",
            ),
            ("int(grid[1].sum())", "22"),
            (
                "sales.groupby('region')['units'].sum().to_dict()",
                "{'north': 14, 'south': 7, 'west': 12}",
            ),
            ("print(sales.head(1))", "None"),
            ("sales.loc[sales['item'] == 'water', 'units'] = 6", ""),
            ("weights[:] = np.arange(5)", ""),
            ("grid[0, 0] = 100", ""),
            ("sales = 'a name of the session'", ""),
        ],
    );
    let evil = "class Evil:\n    def __reduce__(self): return (open, ('was-read', 'w'))";
    let inputs = ["sales", "large", evil, "pd.DataFrame({'evil': [Evil()]})"];
    let entries = ask(&world, &pause, &inputs);
    let output = entries[0]["output"].as_str().expect("text");
    assert!(
        output.starts_with("  region    item  units  price\n"),
        "{output}"
    );
    let large = entries[1]["output"].as_str().expect("text");
    assert!(large.starts_with("array([0., 0., 0., "), "{large}");
    assert_eq!(entries[1]["cid"], Value::Null);
    for (entry, length, file) in [
        (&entries[0], 5, "sales.pickle"),
        (&entries[3], 1, "evil.pickle"),
    ] {
        let cid = entry["cid"].as_str().expect("a content id");
        let object = world.json(["repl", "object", cid]);
        let kind = object["view"]["type"].as_str().expect("a type");
        assert!(
            kind.starts_with("pandas.") && kind.ends_with(".DataFrame"),
            "{object:#}"
        );
        assert_eq!(object["view"]["repr"], entry["output"]);
        assert_eq!(object["view"]["length"], length);
        assert!(
            world
                .ok(["repl", "object", cid])
                .stdout
                .contains("DataFrame")
        );
        world.ok(["repl", "object", cid, "--save", file]);
    }
    assert!(world.path("evil.pickle").exists() && !world.path("was-read").exists());
    let load = "import pickle; print(pickle.load(open('sales.pickle', 'rb'))['units'].tolist())";
    let loaded = world.command(&python).args(["-c", load]).output();
    assert_eq!(loaded.expect("Python").stdout, b"[10, 4, 7, 6, 12]\n");

    world.ok(["resume"]);
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let expected = "read (5, 4)\n\
        region   item  units  price  revenue\n \
        north    tea     10    3.0     30.0\n \
        north coffee      4    5.0     20.0\n \
        south    tea      7    3.5     24.5\n \
        south  water      6    1.0      6.0\n  \
        west coffee     12    4.5     54.0\n\
        region\nnorth    50.0\nsouth    30.5\nwest     54.0\n\
        weighted 303.0\n\
        grid 166 large 0.0\n";
    assert_eq!(printed, expected);
}

/// S5-104, S5-115: `breakpoint()` in a test that pytest runs, with its output captured: a test that would fail passes once its list
/// is changed, and evaluations that do not end change no report, nor the output of later tests.
#[test]
fn pytest_with_captured_output() {
    let Some(python) = python("real_programs::pytest_with_captured_output") else {
        return;
    };
    let world = world(&["test_prices.py"]);
    world.configure("[repl]\nevalTimeout = 1\n");
    let mut watcher = Watcher::start(&world);
    let args = [
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=short",
        "test_prices.py",
    ];
    let env = [
        ("PYTHONBREAKPOINT", "backstitch_debug.pause"),
        ("BACKSTITCH", "on"),
    ];
    let program = Program::start_with(&world, python, &args, &env);
    let pause = held(&mut watcher, "pause");
    expect(
        &world,
        &pause,
        &[
            ("items", "['tea', 'coffee']"),
            (
                "total(items), PRICES, DISCOUNT",
                "(8, {'tea': 3, 'coffee': 5}, 0)",
            ),
            ("print('mine')", "None"),
            ("items.append('tea')", "None"),
        ],
    );
    world.ok(["resume"]);
    let pause = held(&mut watcher, "pause");
    expect(&world, &pause, &[("print('mine')", "None")]);
    world.ok(["resume"]);
    let pause = held(&mut watcher, "pause");
    let endless = "import io, sys\nprint('first')\nsys.stdout = io.StringIO()\ngate.wait()";
    let entries = ask(
        &world,
        &pause,
        &["print('mine')", endless, "print('still mine')"],
    );
    assert_eq!(entries[0]["stdout"], "mine\n");
    assert_eq!(
        (&entries[1]["stdout"], &entries[1]["isError"]),
        (&json!("first\n"), &json!(true))
    );
    assert_eq!(entries[2]["stdout"], "still mine\n");
    world.ok(["resume"]);
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (1, ""));
    let (report, last) = printed.trim_end().rsplit_once('\n').expect("lines");
    let last = last.trim_matches('=').trim();
    assert!(last.starts_with("2 failed, 3 passed in "), "{last}");
    let expected = "\
============================= test session starts ==============================
collected 5 items

test_prices.py .F..F                                                     [100%]

=================================== FAILURES ===================================
_______________________________ test_that_fails ________________________________
test_prices.py:26: in test_that_fails
    assert total([\"tea\"]) == 4
E   AssertionError: assert 3 == 4
E    +  where 3 = total(['tea'])
----------------------------- Captured stdout call -----------------------------
a failing test
goes on
____________________________ test_that_fails_later _____________________________
test_prices.py:48: in test_that_fails_later
    assert total([]) == 1
E   assert 0 == 1
E    +  where 0 = total([])
----------------------------- Captured stdout call -----------------------------
another failing test
=========================== short test summary info ============================
FAILED test_prices.py::test_that_fails - AssertionError: assert 3 == 4
FAILED test_prices.py::test_that_fails_later - assert 0 == 1";
    assert_eq!(report, expected);
}

/// S5-075, S5-090, S5-096: a loop of an agent stops before and after its nodes; its state is asked, changed in place and given anew,
/// and the end follows from it.
#[test]
fn agent_loop() {
    let world = world(&["agent_loop.py"]);
    world.ok(["breakpoint", "add", "function", "act"]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, "python3", &["agent_loop.py"]);
    assert_eq!(
        program.line(),
        "plan: {'plan': ['read notes.txt'], 'round': 1}"
    );
    let pause = held(&mut watcher, "__main__.act");
    expect(
        &world,
        &pause,
        &[
            (
                "state",
                "{'goal': 'length of the notes', 'round': 1, 'plan': ['read notes.txt']}",
            ),
            (
                "name, self.start, sorted(self.nodes)",
                "('act', 'plan', ['act', 'check', 'plan'])",
            ),
            (
                "[tool for tool in TOOLS if any(tool in step for step in state['plan'])]",
                "['read']",
            ),
            ("print('mine')", "None"),
            ("state['plan'] = ['read other.txt', 'shout']", ""),
        ],
    );
    world.ok(["resume"]);
    assert_eq!(program.line(), "act: {'result': 'TEXT OF OTHER.TXT'}");
    let pause = held(&mut watcher, "__main__.act");
    expect(
        &world,
        &pause,
        &[("state['plan']", "['read other.txt', 'shout', 'count']")],
    );
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "function", "check", "--after"]);
    let state = "{**state, 'plan': ['read abc', 'count']}";
    resume_with(&world, &pause, &json!({ "state": state }));
    let pause = held(&mut watcher, "__main__.check");
    expect(
        &world,
        &pause,
        &[("state['result'], result", "(11, {'is_done': True})")],
    );
    world.ok(["skip", "--value", "{**result, 'is_done': False}"]);
    let pause = held(&mut watcher, "__main__.check");
    expect(&world, &pause, &[("result", "{'is_done': True}")]);
    world.ok(["resume"]);
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (3, ""));
    let expected = "plan: {'plan': ['read notes.txt'], 'round': 1}\n\
        act: {'result': 'TEXT OF OTHER.TXT'}\n\
        check: {'is_done': False}\n\
        plan: {'plan': ['read other.txt', 'shout', 'count'], 'round': 2}\n\
        act: {'result': 11}\n\
        check: {'is_done': False}\n\
        plan: {'plan': ['read other.txt', 'shout', 'count'], 'round': 3}\n\
        act: {'result': 17}\n\
        check: {'is_done': True}\n\
        end {'goal': 'length of the notes', 'round': 3, 'plan': ['read other.txt', 'shout', 'count'], \
        'result': 17, 'is_done': True}\n";
    assert_eq!(printed, expected);
}

/// S5-001, S5-012, S5-075: a request to a server of Node is paused, is asked with the names of its handler, and changed; the
/// requests that came meanwhile are answered after it.
#[test]
fn node_http_server() {
    let Some(node) = node("node_http_server", false) else {
        return;
    };
    let world = world(&["http_server.js"]);
    let is_coffee = ".args[\"0\"] == \"'coffee'\"";
    world.ok([
        "breakpoint",
        "add",
        "function",
        "price",
        "--when",
        is_coffee,
    ]);
    let mut watcher = Watcher::start(&world);
    let mut program = Program::start(&world, node, &["http_server.js"]);
    let port = program.port();
    let first = get(port, "/order/tea?count=2&look");
    let pause = held(&mut watcher, "an order");
    let meanwhile = [(); 2].map(|()| get(port, "/order/tea?count=3"));
    expect(
        &world,
        &pause,
        &[
            ("receipt", "{ item: 'tea', count: 2, notes: [] }"),
            ("request.url", "'/order/tea?count=2&look'"),
            ("orders", "0"),
            ("console.log('mine')", "undefined"),
            ("receipt.notes.push('a gift')", "1"),
            ("PRICES.tea = 30", "30"),
        ],
    );
    world.ok(["resume"]);
    let receipt = |item: &str, count: u32, notes: &str, total: u32| {
        let text = format!(
            "{{\"item\":\"{item}\",\"count\":{count},\"notes\":[{notes}],\"total\":{total}}}\n"
        );
        (200, text)
    };
    assert_eq!(
        first.join().expect("an answer"),
        receipt("tea", 2, "\"a gift\"", 60)
    );
    for order in meanwhile {
        assert_eq!(order.join().expect("an answer"), receipt("tea", 3, "", 90));
    }
    let second = get(port, "/order/coffee?count=2");
    let pause = held(&mut watcher, "price");
    expect(
        &world,
        &pause,
        &[
            ("args", "[ 'coffee', 2 ]"),
            ("process.stdout.write('mine')", "true"),
        ],
    );
    resume_with(&world, &pause, &json!({"1": "args[1] * 10"}));
    assert_eq!(
        second.join().expect("an answer"),
        receipt("coffee", 2, "", 100)
    );
    let third = get(port, "/order/coffee");
    held(&mut watcher, "price");
    world.ok(["deny", "-m", "sold out"]);
    assert_eq!(
        third.join().expect("an answer"),
        (503, "no sale: sold out\n".to_owned())
    );
    assert_eq!(get(port, "/close").join().expect("an answer").0, 200);
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (5, ""));
    let expected = format!(
        "open at {port}\norder of 2 tea\npaid 60\norder of 3 tea\npaid 90\norder of 3 tea\npaid 90\n\
         order of 2 coffee\npaid 100\norder of 1 coffee\nclosed after 4 orders\n"
    );
    assert_eq!(printed, expected);
}

/// S5-001, S5-090, S5-145: a TypeScript program that Node runs as it is is paused at a node of its loop; names of the place
/// are asked and changed, a call is skipped with an object of its own, and its frames are the lines of the source.
#[test]
fn typescript_program() {
    let Some(node) = node("typescript_program", true) else {
        return;
    };
    let world = world(&[]);
    let source = std::fs::read_to_string(in_tests("programs/agent.ts")).expect("a program");
    world.write("an agent/agent.ts", &source);
    world.ok(["breakpoint", "add", "function", "act"]);
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, node, &["an agent/agent.ts"]);
    let pause = held(&mut watcher, "after make");
    expect(
        &world,
        &pause,
        &[
            ("state", "{ goal: 'notes', plan: [ 'measure notes' ] }"),
            ("node.name", "'make'"),
            ("make({ goal: 'x', plan: [] })", "{ plan: [ 'measure x' ] }"),
            ("console.error('mine')", "undefined"),
            ("state.plan = ['rest', 'sleep']", "[ 'rest', 'sleep' ]"),
        ],
    );
    let mut client = panels(&world);
    let stack = client.ok("backstitch/stack", json!({ "pause": pause }));
    let frames = stack["frames"].as_array().expect("frames").iter();
    let lines: Vec<_> = frames
        .map(|frame| {
            assert_eq!(
                frame["path"],
                json!(world.path("an agent/agent.ts")),
                "{frame}"
            );
            let line = frame["line"]
                .as_u64()
                .and_then(|it| usize::try_from(it).ok());
            source
                .lines()
                .nth(line.expect("a line") - 1)
                .expect("a line")
                .trim()
        })
        .collect();
    assert_eq!(
        lines,
        [
            "bs.pause(`after ${node.name}`, (source: string): unknown => eval(source));",
            "const end: State = await run({ goal: \"notes\", plan: [] });",
        ]
    );
    client.leave();
    world.ok(["resume"]);
    let pause = held(&mut watcher, "act");
    expect(
        &world,
        &pause,
        &[
            ("args[0].plan", "[ 'rest', 'sleep' ]"),
            ("args[0].plan.length", "2"),
        ],
    );
    world.ok(["skip", "--value", "{ result: args[0].plan.length * 7 }"]);
    let pause = held(&mut watcher, "after act");
    expect(
        &world,
        &pause,
        &[("state.result", "14"), ("state.result += 1", "15")],
    );
    world.ok(["resume"]);
    let (code, printed, errors) = program.end();
    assert_eq!((code, errors.as_str()), (4, ""));
    let expected = "make {\"goal\":\"notes\",\"plan\":[\"measure notes\"]}\n\
        act {\"goal\":\"notes\",\"plan\":[\"rest\",\"sleep\"],\"result\":14}\n\
        end 15\n";
    assert_eq!(printed, expected);
}
