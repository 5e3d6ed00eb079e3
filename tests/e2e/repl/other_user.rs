//! Processes of another user: no way leads from them to a pause.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::kills::bridge_of;
use super::python::{Program, world};
use crate::control::Watcher;
use crate::support::{Output, World, binary, finish, skip};

/// User id of the other user.
const OTHER: u32 = 65534;

const PROGRAM: &str = r#"
import backstitch_debug as bs
bs.on()
secret = "not for others"
bs.pause("here")
print("went on", secret)
"#;

/// A user who may read the workspace, and has a binary and its own home.
struct OtherUser<'w> {
    world: &'w World,
    binary: PathBuf,
    home: PathBuf,
}

impl<'w> OtherUser<'w> {
    fn new(world: &'w World) -> Self {
        let base = world.root.parent().expect("a directory");
        set_mode(base, 0o755);
        let bin = base.join("backstitch");
        fs::copy(binary::path(), &bin).expect("a copy");
        set_mode(&bin, 0o755);
        let home = base.join("other");
        fs::create_dir(&home).expect("a directory");
        std::os::unix::fs::chown(&home, Some(OTHER), Some(OTHER)).expect("the superuser");
        Self {
            world,
            binary: bin,
            home,
        }
    }

    /// A command of this user with the environment of the first one.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.world.command(program.as_ref());
        command.uid(OTHER).gid(OTHER);
        // the search path of the first user may lead through directories that are closed to others
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    fn run(&self, args: &[&str], stdin: &str) -> Output {
        finish(self.command(&self.binary).args(args), stdin.as_bytes())
    }

    /// The same with its own directories, as after a login.
    fn run_at_home(&self, args: &[&str], stdin: &str) -> Output {
        let mut command = self.command(&self.binary);
        command
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", self.home.join("state"))
            .env("XDG_CONFIG_HOME", self.home.join("config"));
        finish(command.args(args), stdin.as_bytes())
    }

    /// Tries to open these files for reading and for writing. Returns those that could be.
    fn opens(&self, paths: &[PathBuf]) -> String {
        let tries = r#"for path; do
            (: < "$path") 2>/dev/null && echo "reads $path"
            (: >> "$path") 2>/dev/null && echo "writes $path"
        done"#;
        let mut command = self.command("/bin/sh");
        command.args(["-c", tries, "sh"]).args(paths);
        finish(&mut command, b"").stdout
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of this user");
}

/// Everything below a directory, and the directory itself.
fn all_below(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory") {
            found.extend(all_below(&entry.expect("an entry").path()));
        }
    }
    found
}

/// Requests to a bridge that would take the pause, and decide about it.
fn attack(world: &World) -> String {
    let hello = json!({
        "pid": 1, "started": 1, "argv": ["x"], "language": "x", "cwd": world.root,
    });
    let requests = [
        ("hello", hello),
        ("pause/take", json!({ "pause": "p1" })),
        ("repl/poll", json!({ "pause": "p1", "waitMs": 0 })),
        ("pause/poll", json!({ "pause": "p1", "waitMs": 0 })),
        ("pause/withdraw", json!({ "pause": "p1" })),
    ];
    let message = |(id, (method, params)): (usize, (&str, Value))| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
    };
    requests.into_iter().enumerate().map(message).collect()
}

/// The commands that ask or decide.
const COMMANDS: [&[&str]; 8] = [
    &["repl", "p1", "-e", "secret"],
    &["repl", "-e", "secret"],
    &["inspect", "p1"],
    &["resume", "p1"],
    &["skip", "p1"],
    &["deny", "p1", "-m", "no"],
    &["stop", "p1"],
    &["bridge"],
];

#[track_caller]
fn assert_refused(output: &Output) {
    assert_ne!(output.code, 0, "{output}");
    assert!(output.stderr.starts_with("error: "), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
    assert!(!output.stdout.contains("result"), "{output}");
    let said = output.stdout.clone() + &output.stderr;
    assert!(!said.contains("not for others"), "{output}");
}

/// The pause is held, and nobody has asked or decided anything.
#[track_caller]
fn assert_untouched(world: &World) {
    let pauses = world.json(["pauses"]);
    let held = &pauses["pauses"];
    assert_eq!(
        (&held[0]["id"], &held[0]["state"]),
        (&json!("p1"), &json!("held"))
    );
    assert_eq!(held.as_array().map(Vec::len), Some(1), "{pauses:#}");
    assert_eq!(world.json(["repl", "list"])["sessions"], json!([]));
    let rows = rusqlite::Connection::open(world.store().join("control.db")).expect("open");
    let commands = rows.query_row("SELECT COUNT(*) FROM command", [], |row| row.get(0));
    assert_eq!(commands, Ok(0));
}

/// S5-153, S5-L6: another user's process cannot ask at a pause or decide about it: by no command, by no bridge, and by no file,
/// pipe or socket, also where the directories of the store have been opened for everybody. Nothing is changed, and nobody
/// listens.
#[test]
fn another_user_cannot_reach_a_pause() {
    let world = world();
    if fs::metadata(&world.root).is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) != 0) {
        return skip(
            "repl::other_user::another_user_cannot_reach_a_pause",
            "only the superuser can start processes of another user",
        );
    }
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, PROGRAM);
    watcher.until("held");
    let other = OtherUser::new(&world);
    let attack = attack(&world);
    // the other user's commands work, and would find their own pause
    assert_eq!(other.run_at_home(&["--version"], "").code, 0);

    let store = world.store();
    let closed: Vec<PathBuf> = all_below(&world.state.join("backstitch"));
    let directories: Vec<&PathBuf> = closed.iter().filter(|path| path.is_dir()).collect();
    let above: Vec<&PathBuf> = directories
        .iter()
        .copied()
        .filter(|path| store.starts_with(path) && **path != store)
        .collect();
    assert!(above.len() >= 2, "{above:?}");
    // first as it is; then the directories above the store are open, then all of them
    for opened in [&[][..], &above, &directories] {
        for path in opened {
            set_mode(path, 0o755);
        }
        for command in COMMANDS {
            assert_refused(&other.run(command, &attack));
            let all = store.parent().expect("a directory").to_string_lossy();
            let named = [&["--store-dir", &*all], command].concat();
            assert_refused(&other.run_at_home(&named, &attack));
        }
        for command in [&["pauses", "--all"][..], &["repl", "list"], &["status"]] {
            let said = other.run(command, "");
            assert!(!said.stdout.contains("here"), "{said}");
        }
        assert_untouched(&world);
    }
    // with its own home it sees its own pauses only
    for command in &COMMANDS[..7] {
        assert_refused(&other.run_at_home(command, ""));
    }
    let own = other.run_at_home(&["bridge"], &attack);
    let answers: Vec<Value> = own
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for answer in answers.iter().filter(|answer| answer["id"] != 0) {
        assert_eq!(answer["error"]["code"], 404, "{own}");
    }
    // polls may be cut off by the end of their bridge
    let is_answered = |id: usize| answers.iter().any(|answer| answer["id"] == id);
    assert!(is_answered(1) && is_answered(4), "{own}");
    assert_untouched(&world);

    // files, pipes and the memory of the processes
    let files: Vec<PathBuf> = closed
        .iter()
        .filter(|path| !path.is_dir())
        .cloned()
        .collect();
    assert!(files.len() > 5, "{files:?}");
    let bridge = bridge_of(program.pid()).expect("a bridge");
    let of_processes = [program.pid(), bridge].into_iter().flat_map(|pid| {
        ["fd/0", "fd/1", "mem", "environ"].map(|name| PathBuf::from(format!("/proc/{pid}/{name}")))
    });
    let all: Vec<PathBuf> = files.iter().cloned().chain(of_processes).collect();
    assert_eq!(other.opens(&all), "");
    // a file that is open for everybody would have been found
    let open = world.path("a.txt");
    assert_eq!(
        other.opens(std::slice::from_ref(&open)),
        format!("reads {}\n", open.display())
    );

    // nothing to connect to
    for path in all_below(&world.state) {
        let kind = path.symlink_metadata().expect("an entry").file_type();
        assert!(!kind.is_socket() && !kind.is_fifo(), "{}", path.display());
    }
    for pid in [program.pid(), bridge] {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).expect("files") {
            let open = fs::read_link(entry.expect("an entry").path()).unwrap_or_default();
            assert!(
                !open.to_string_lossy().starts_with("socket:"),
                "{pid}: {}",
                open.display()
            );
        }
    }

    assert_untouched(&world);
    let entry = world.json(["repl", "p1", "-e", "secret"])["entry"].clone();
    assert_eq!(entry["output"], "'not for others'");
    world.ok(["resume"]);
    let (code, rest, errors) = program.end();
    assert_eq!(
        (code, &*rest, &*errors),
        (0, "went on not for others\n", "")
    );
}
