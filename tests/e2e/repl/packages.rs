//! The clients as they are installed: a wheel and an npm package are built, installed without a network, and used by programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::node::node;
use super::real_programs::python;
use crate::control::Watcher;
use crate::support::{World, binary, skip};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn client(language: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.join("../server/clients").join(language)
}

/// Copies what belongs to a client: a build writes beside its sources.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (name, kind) = (entry.file_name(), entry.file_type().expect("a type"));
        if name == "__pycache__" || name == "node_modules" {
            continue;
        }
        if kind.is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).expect("copied");
        }
    }
}

/// Names of the files of a directory, without those that Python makes.
fn files(directory: &Path) -> BTreeSet<String> {
    let all = fs::read_dir(directory).expect("a directory");
    let names = all.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "__pycache__").collect()
}

/// Runs a command to its end. Returns its output.
fn runs(command: &mut Command) -> String {
    let output = command.output().expect("a program");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// The only file with this ending.
fn only(directory: &Path, ending: &str) -> PathBuf {
    let all = files(directory);
    let mut found = all.iter().filter(|name| name.ends_with(ending));
    match (found.next(), found.next()) {
        (Some(name), None) => directory.join(name),
        _ => panic!("{ending}: {all:?}"),
    }
}

/// Runs a program to its pause, evaluates an input there, and lets it continue. Returns its output.
fn pauses(
    world: &World,
    interpreter: impl AsRef<OsStr>,
    program: &str,
    env: &[(&str, &Path)],
    (input, expected): (&str, &str),
) -> String {
    let mut watcher = Watcher::start(world);
    let child = world
        .command(interpreter)
        .arg(program)
        .env("BACKSTITCH_BIN", binary::path())
        .envs(env.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a program");
    let pause = watcher.until("held");
    let pause = pause["id"].as_str().expect("an id");
    let entry = world.json(["repl", pause, "-e", input])["entry"].clone();
    assert_eq!(entry["output"], expected, "{entry:#}");
    world.ok(["resume"]);
    let output = child.wait_with_output().expect("an end");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""));
    String::from_utf8(output.stdout).expect("text")
}

/// The wheel has all modules, the mark of a typed package and its metadata, needs no other package, and works where only it is
/// installed.
#[test]
fn the_wheel_of_the_python_client() {
    let Some(python) = python("packages::the_wheel_of_the_python_client") else {
        return;
    };
    let world = super::python::world();
    let source = world.home.join("source");
    copy(&client("python"), &source);
    let (wheels, site) = (world.home.join("wheels"), world.home.join("site"));
    let pip = |args: &[&str]| {
        let mut command = world.command(&python);
        command.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
        command.arg(args[0]).args(["--no-deps", "--no-index"]);
        command.args(&args[1..]);
        command.env("PIP_ROOT_USER_ACTION", "ignore");
        command
    };
    runs(
        pip(&["wheel", "--no-build-isolation", "--wheel-dir"])
            .arg(&wheels)
            .arg(&source),
    );
    let wheel = only(&wheels, ".whl");
    let name = format!("backstitch_debug-{VERSION}-py3-none-any.whl");
    assert_eq!(wheel, wheels.join(name));
    runs(pip(&["install", "--target"]).arg(&site).arg(&wheel));
    let info = format!("backstitch_debug-{VERSION}.dist-info");
    let expected = ["backstitch_debug", &info].map(str::to_owned);
    assert_eq!(files(&site), BTreeSet::from(expected));
    let package = site.join("backstitch_debug");
    assert_eq!(
        files(&package),
        files(&client("python").join("src/backstitch_debug"))
    );
    assert!(package.join("py.typed").is_file());
    let metadata = fs::read_to_string(site.join(&info).join("METADATA")).expect("metadata");
    for line in [
        "Name: backstitch-debug",
        &format!("Version: {VERSION}"),
        "License: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "Requires-Python: >=3.8",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
        "# backstitch-debug",
    ] {
        assert!(
            metadata.lines().any(|one| one == line),
            "{line}: {metadata}"
        );
    }
    assert!(!metadata.contains("Requires-Dist"), "{metadata}");
    let program = "\
import backstitch_debug as bs
bs.on()
def plan(n):
    bs.pause('here')
    return n
print(plan(41), bs.__file__)
";
    world.write("program.py", program);
    let env = [("PYTHONPATH", &*site)];
    let printed = pauses(&world, "python3", "program.py", &env, ("n + 1", "42"));
    let file = package.join("__init__.py");
    assert_eq!(printed, format!("41 {}\n", file.display()));
}

/// The npm package has its sources, types and page and nothing else, needs no other package, and works where it is installed.
#[test]
fn the_npm_package_of_the_node_client() {
    let test = "repl::packages::the_npm_package_of_the_node_client";
    let world = super::python::world();
    let mut has_npm = world.command("npm");
    let has_npm = has_npm.arg("--version").output();
    let Some(node) = node().filter(|_| has_npm.is_ok_and(|said| said.status.success())) else {
        return skip(test, "no npm, or no node");
    };
    let source = world.home.join("source");
    copy(&client("js"), &source);
    let npm = |directory: &Path| {
        let mut command = world.command("npm");
        command.current_dir(directory);
        for option in ["offline", "no-audit", "no-fund", "no-update-notifier"] {
            command.arg(format!("--{option}"));
        }
        command
    };
    let said = runs(npm(&source).args(["pack", "--json"]));
    let packed: Value = serde_json::from_str(&said).expect("JSON");
    let packed = &packed[0];
    assert_eq!(
        (packed["name"].as_str(), packed["version"].as_str()),
        (Some("backstitch-debug"), Some(VERSION))
    );
    let paths = packed["files"].as_array().expect("files").iter();
    let paths: BTreeSet<&str> = paths
        .map(|file| file["path"].as_str().expect("a path"))
        .collect();
    let expected = [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "package.json",
        "src/awaits.js",
        "src/index.d.ts",
        "src/index.js",
        "src/session.js",
        "src/worker.js",
    ];
    assert_eq!(paths, BTreeSet::from(expected));
    // a program with the package, and nothing else
    world.write("app/package.json", "{ \"private\": true }");
    runs(
        npm(&world.path("app"))
            .arg("install")
            .arg(only(&source, ".tgz")),
    );
    let installed = files(&world.path("app/node_modules"));
    let installed: Vec<&String> = installed
        .iter()
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(installed, ["backstitch-debug"]);
    let manifest = world.read("app/node_modules/backstitch-debug/package.json");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let types = manifest["types"].as_str().expect("types");
    assert!(paths.contains(types), "{types}");
    let program = "\
const bs = require('backstitch-debug');
bs.on();
function plan(n) {
  bs.pause('here', (s) => eval(s));
  return n;
}
console.log(plan(41), require.resolve('backstitch-debug'));
bs.off();
";
    world.write("app/program.js", program);
    let printed = pauses(&world, node, "app/program.js", &[], ("n + 1", "42"));
    let file = world.path("app/node_modules/backstitch-debug/src/index.js");
    let file = file.canonicalize().expect("a file");
    assert_eq!(printed, format!("41 {}\n", file.display()));
}
