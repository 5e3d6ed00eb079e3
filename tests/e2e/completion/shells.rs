//! Completion in real bash, zsh and fish on a terminal, each set up by the line that `completions --help` says. Where a shell is
//! missing, its tests say so and pass; with `CI=true` they fail.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::control::{HeldHook, Watcher, before, began, edit};
use crate::editors::screen::Editor;
use crate::support::{World, skip};

const PROMPT: &str = "ready>";
/// The terminal: no line of these tests is wrapped.
const SIZE: (u16, u16) = (30, 120);

/// Path of a shell of this machine, or None where it is missing and may be.
fn installed(test: &str, shell: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|dir| dir.join(shell))
        .find(|program| program.exists());
    if found.is_none() {
        let reason = format!("{shell} is not installed (apt install {shell})");
        skip(&format!("completion::shells::{test}"), &reason);
    }
    found
}

/// An interactive shell that has loaded the completions.
struct Shell {
    name: &'static str,
    screen: Editor,
}

impl Shell {
    fn start(world: &World, name: &'static str, program: &Path) -> Self {
        let help = world.ok(["completions", "--help"]).stdout;
        let line = help
            .lines()
            .find_map(|line| line.strip_prefix(&format!("  {name}  ")))
            .expect("a line for the shell");
        let (line, _) = line.split_once(" in ~/").expect("the file that has it");
        let line = line.trim().trim_end_matches(',');
        let (file, text) = match name {
            "bash" => (".bashrc", format!("{line}\nPS1='{PROMPT} '\n")),
            "zsh" => (
                ".zshrc",
                format!("autoload -Uz compinit && compinit\n{line}\nPS1='{PROMPT} '\n"),
            ),
            // nothing is on the screen but what Tab brings
            _ => (
                ".config/fish/config.fish",
                format!(
                    "{line}\nset -g fish_autosuggestion_enabled 0\nset -g fish_greeting\n\
                     function fish_prompt; echo -n '{PROMPT} '; end\n"
                ),
            ),
        };
        let file = world.home.join(file);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, text).expect("written");
        let mut screen = Editor::sized(world, name, program, &["-i"], SIZE);
        screen.until("the prompt", |screen| screen.trim_end() == PROMPT);
        Self { name, screen }
    }

    /// Empties the line and the screen.
    #[track_caller]
    fn clear(&mut self) {
        self.screen.keys("\x15\x0c");
        self.screen
            .until("an empty screen", |screen| screen.trim_end() == PROMPT);
    }

    /// Types this, presses Tab, and waits until the line is as expected.
    #[track_caller]
    fn completes(&mut self, typed: &str, expected: &str) {
        self.types(typed, expected);
        self.clear();
    }

    #[track_caller]
    fn types(&mut self, typed: &str, expected: &str) {
        self.screen.keys(&format!("backstitch {typed}\t"));
        let line = format!("{PROMPT} backstitch {expected}");
        self.screen
            .until(&line, |screen| screen.lines().any(|shown| shown == line));
    }

    /// Completes the line, runs it, and waits for this in its output.
    #[track_caller]
    fn runs(&mut self, typed: &str, expected: &str, output: &str) {
        self.types(typed, expected);
        self.screen.keys("\r");
        self.screen
            .until(output, |screen| screen.lines().any(|line| line == output));
        self.clear();
    }

    /// Types this and presses Tab until candidates are listed. Each has to be on the screen, with what it is, and none of the
    /// options.
    #[track_caller]
    fn lists(&mut self, typed: &str, candidates: &[(&str, &str)]) {
        // the first one may complete a common start; bash then lists at the third, zsh at the second
        let tabs = match self.name {
            "bash" => "\t\t\t",
            "zsh" => "\t\t",
            _ => "\t",
        };
        self.screen.keys(&format!("backstitch {typed}{tabs}"));
        for (value, about) in candidates {
            let is_shown = |line: &str| {
                let at = line.find(value);
                !line.starts_with(PROMPT)
                    && at.is_some_and(|at| line[at..].contains(about) || about.is_empty())
            };
            self.screen.until(&format!("{value}, {about}"), |screen| {
                screen.lines().any(is_shown)
            });
        }
        let shown = self.screen.screen();
        assert!(!shown.contains("--no-pager"), "{shown}");
        self.clear();
    }

    fn quotes(&self, bash_and_zsh: &str, fish: &str) -> String {
        let quoted = if self.name == "fish" {
            fish
        } else {
            bash_and_zsh
        };
        quoted.to_owned()
    }
}

/// A world in which a shell finds the binary by its name.
fn world(files: &[(&str, &str)]) -> World {
    let world = World::committed(files);
    let binary = PathBuf::from(world.backstitch().get_program());
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = binary.parent().map(PathBuf::from).into_iter();
    let dirs = env::join_paths(dirs.chain(env::split_paths(&path))).expect("a path");
    let config = world.home.join(".config");
    world
        .with("PATH", &dirs.to_string_lossy())
        .with("XDG_CONFIG_HOME", &config.to_string_lossy())
}

/// Names of the history and of held calls, and what they are.
fn completes_names(test: &str, name: &'static str) {
    let Some(program) = installed(test, name) else {
        return;
    };
    let world = world(&[("src/cart.rs", "one\n"), ("src/shop.rs", "two\n")]);
    world.ok(["checkpoint", "-m", "first"]);
    world.ok(["fork", "@", "idea"]);
    world.ok(["fork", "@", "second thought"]);
    world.ok(["tag", "works", "@"]);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "path", "src/**"]);
    let mut agent = began(&world);
    agent.stop();
    agent.prompt("mend the cart");
    let mut watcher = Watcher::start(&world);
    let held =
        [("c1", "src/cart.rs", "one"), ("c2", "src/shop.rs", "two")].map(|(id, path, old)| {
            let payload = before(&agent, id, "Edit", &edit(&world, path, old, "1"));
            let hook = HeldHook::start(&world, &payload, 600);
            watcher.until("held");
            hook
        });
    let mut shell = Shell::start(&world, name, &program);
    let calls = [
        ("p1", "claude-code Edit src/cart.rs"),
        ("p2", "claude-code Edit src/shop.rs"),
    ];
    shell.lists("resume ", &calls);
    shell.lists("deny p", &calls);
    let breakpoints = [("b1", "tool Edit"), ("b2", "path src/**")];
    shell.lists("breakpoint remove ", &breakpoints);
    let revisions = [
        ("t2", "mend the cart"),
        ("t1", "change one to two"),
        ("works", "tag at c"),
        ("idea", ""),
        ("main", "the current branch"),
    ];
    shell.lists("show ", &revisions);
    shell.lists("rewind t", &revisions[..2]);
    shell.lists(
        "switch ",
        &[("main", "the current branch"), ("idea", "branch")],
    );
    shell.completes("switch se", r"switch second\ thought");
    shell.completes("switch 'second t", "switch 'second thought'");
    shell.completes("log --branch=i", "log --branch=idea");
    shell.completes("log --branch=second\\ ", r"log --branch=second\ thought");
    shell.completes("pauses --session ", "pauses --session A");
    shell.completes("setup cla", "setup claude-code");
    shell.completes(
        "breakpoint add tool NotebookE",
        "breakpoint add tool NotebookEdit",
    );
    shell.completes(
        "breakpoint add line src/ca",
        "breakpoint add line src/cart.rs",
    );
    shell.completes("oplo", "oplog");
    shell.completes("show --js", "show --json");
    // a directory that the shell replaces
    shell.completes(
        "--workspace ~/../work show w",
        "--workspace ~/../work show works",
    );
    for (hook, call) in held.into_iter().zip(["p1", "p2"]) {
        world.ok(["resume", call]);
        hook.answer();
    }
}

/// Files whose names have signs of a shell. The completed line reads the file.
fn completes_files(test: &str, name: &'static str) {
    let Some(program) = installed(test, name) else {
        return;
    };
    let files = [
        ("my file.txt", "blank\n"),
        ("it's.txt", "apostrophe\n"),
        ("say \"no\".txt", "quotes\n"),
        ("x:y=z.txt", "colon\n"),
        ("$(touch pwned).txt", "dollar\n"),
        ("star*.txt", "star\n"),
        ("deep dir/in ner.txt", "inner\n"),
        ("bang!.txt", "bang\n"),
    ];
    let world = world(&files);
    world.ok(["checkpoint", "-m", "first"]);
    fs::create_dir(world.home.join("projects")).expect("a directory");
    let mut shell = Shell::start(&world, name, &program);
    shell.runs("cat @ my", r"cat @ my\ file.txt", "blank");
    shell.runs(r"cat @ my\ f", r"cat @ my\ file.txt", "blank");
    shell.runs("cat @ 'my f", "cat @ 'my file.txt'", "blank");
    shell.runs("cat @ \"my f", "cat @ \"my file.txt\"", "blank");
    shell.runs("cat @ it", r"cat @ it\'s.txt", "apostrophe");
    shell.runs("cat @ \"it", "cat @ \"it's.txt\"", "apostrophe");
    let single = shell.quotes(r"cat @ 'it'\''s.txt'", r"cat @ 'it\'s.txt'");
    shell.runs("cat @ 'it", &single, "apostrophe");
    shell.runs("cat @ say", r#"cat @ say\ \"no\".txt"#, "quotes");
    shell.runs("cat @ 'say", "cat @ 'say \"no\".txt'", "quotes");
    shell.runs("cat @ x:y", r"cat @ x:y=z.txt", "colon");
    shell.runs(r"cat @ \$", r"cat @ \$\(touch\ pwned\).txt", "dollar");
    shell.runs("cat @ st", r"cat @ star\*.txt", "star");
    shell.runs("cat @ 'ban", "cat @ 'bang!.txt'", "bang");
    shell.types("cat @ de", r"cat @ deep\ dir/");
    shell.screen.keys("in\t");
    shell.screen.shows(r"cat @ deep\ dir/in\ ner.txt");
    shell.screen.keys("\r");
    shell.screen.shows("\ninner\n");
    shell.clear();
    shell.completes("diff -- my", r"diff -- my\ file.txt");
    shell.completes(
        "diff @ -- my\\ file.txt it",
        r"diff @ -- my\ file.txt it\'s.txt",
    );
    shell.completes("log --workspace ~/pro", "log --workspace ~/projects/");
    assert!(!world.exists("pwned"));
}

#[test]
fn bash_completes_names() {
    completes_names("bash_completes_names", "bash");
}

#[test]
fn zsh_completes_names() {
    completes_names("zsh_completes_names", "zsh");
}

#[test]
fn fish_completes_names() {
    completes_names("fish_completes_names", "fish");
}

#[test]
fn bash_completes_files() {
    completes_files("bash_completes_files", "bash");
}

#[test]
fn zsh_completes_files() {
    completes_files("zsh_completes_files", "zsh");
}

#[test]
fn fish_completes_files() {
    completes_files("fish_completes_files", "fish");
}
