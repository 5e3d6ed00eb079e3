//! `backstitch demo`: the main features on real files. A scripted agent works through the real hook while
//! a user edits by hand. Then its work is shown, rewound and restored, and every byte is checked. Owns the
//! script; `agent` executes the tool calls, `scratch` holds the files. `job` is another script: a CI job that steps back.

mod agent;
mod editor;
mod job;
mod scratch;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, bail, ensure};

use crate::render;
use agent::DemoAgent;
use scratch::{Scratch, TreeSnapshot};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const AGENT: Style = AnsiColor::Green.on_default().bold();
const USER: Style = AnsiColor::Yellow.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();

const FIRST_PROMPT: &str = "Let sizes go up to PiB, and note what changed";
const SECOND_PROMPT: &str = "Rename cut to shorten, tidy up, and generate test cases";

/// File that the agent's first turn edits.
const UNITS_FILE: &str = "src/render.rs";
const UNITS: (&str, &str) = (
    r#"const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];"#,
    r#"const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];"#,
);
const NOTES: &str = "# Notes\n\nSizes go up to PiB.\n";

/// Commands of the agent's second turn. As with real agents, no tool call names a path.
const COMMANDS: [&str; 3] = [
    r"sed -i 's/\bcut(/shorten(/' src/*.rs",
    "mkdir docs && mv NOTES.md docs/notes.md && rm LICENSE",
    r#"for n in 1 2 3; do echo "case $n" > case-$n.txt; done; printf '\0' >> logo.png"#,
];

/// Number of lines whose lenses are shown.
const LENSES: usize = 3;

const HELD_PROMPT: &str = "Take PiB out again";
const HELD_REASON: &str = "sizes go up to PiB: leave that line alone";
/// Longest wait for a held call.
const HELD_WAIT: Duration = Duration::from_mins(1);

const OTHER_PROMPT: &str = "Leave the names; only note the limits";
const OTHER_COMMAND: &str = "echo 'Above 1023 PiB the number grows.' >> NOTES.md";

/// Lines that the user adds by hand, each below the first line of a file. The agent's second turn edits the
/// same files further down.
const BEFORE: (&str, &str) = ("src/render.rs", "//! By hand, before turn 2: reviewed.\n");
const AFTER: (&str, &str) = ("src/line.rs", "//! By hand, after turn 2: keep this one.\n");

/// The subject of a demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoSubject {
    /// The turns of an agent.
    Agent,
    /// A CI job that steps back.
    Job,
}

#[derive(Clone, Debug)]
pub struct DemoOptions {
    pub subject: DemoSubject,
    pub dir: Option<PathBuf>,
    pub keep: bool,
    pub color: bool,
    /// Print nothing; the caller prints the report.
    pub silent: bool,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub workspace: PathBuf,
    pub store: PathBuf,
    pub kept: bool,
    /// Checks that were made byte for byte; all passed.
    pub checks: Vec<String>,
}

pub fn run(options: &DemoOptions) -> Result<Report> {
    let scratch = Scratch::make(options.dir.as_deref(), options.keep)?;
    let mut demo = Demo {
        scratch: &scratch,
        options,
        checks: Vec::new(),
    };
    let ran = match options.subject {
        DemoSubject::Agent => demo.run(),
        DemoSubject::Job => job::run(&mut demo),
    };
    ran.with_context(|| {
        if scratch.kept() {
            format!("the demo in {} failed", scratch.root().display())
        } else {
            "the demo failed (--keep keeps its files)".to_owned()
        }
    })?;
    let report = Report {
        workspace: scratch.workspace(),
        store: scratch.store(),
        kept: scratch.kept(),
        checks: demo.checks,
    };
    Ok(report)
}

struct Demo<'a> {
    scratch: &'a Scratch,
    options: &'a DemoOptions,
    checks: Vec<String>,
}

impl Demo<'_> {
    fn run(&mut self) -> Result<()> {
        let files = self.scratch.fill()?;
        let place = self.scratch.workspace().display().to_string();
        self.line(&format!(
            "{}  {}",
            self.on(BOLD, "Backstitch demo"),
            self.on(DIM, &format!("{files} real files in {place}"))
        ))?;
        self.line("")?;

        let mut agent = DemoAgent::start(self.scratch)?;
        self.first_turn(&mut agent)?;
        self.by_hand(BEFORE)?;
        let before = self.scratch.snapshot()?;
        self.second_turn(&mut agent)?;
        self.line("")?;

        self.backstitch(&["log", "--graph"])?;
        self.backstitch(&["diff", "t2", "@", "--stat"])?;
        self.backstitch(&["diff", "t2", "@", "--", AFTER.0])?;
        self.by_hand(AFTER)?;
        self.line("")?;
        let after = self.scratch.snapshot()?;
        self.backstitch(&["rewind", "t2", "--dry-run"])?;
        ensure!(
            self.scratch.snapshot()? == after,
            "the dry run changed files"
        );
        self.backstitch(&["rewind", "t2", "--yes"])?;
        self.check_rewound(before)?;
        self.line("")?;
        self.backstitch(&["undo"])?;
        ensure_same(&after, &self.scratch.snapshot()?)?;
        self.good("undone: every byte is back, the agent's and yours")?;
        self.line("")?;

        self.who_wrote_it()?;
        self.in_an_editor()?;
        self.another_way(&mut agent, &after)?;
        self.held_call(&mut agent)?;
        self.next()
    }

    /// Runs blame around the line that the first turn changed.
    fn who_wrote_it(&self) -> Result<()> {
        let text = std::fs::read_to_string(self.scratch.workspace().join(UNITS_FILE))?;
        let at = text.lines().position(|line| line.contains(UNITS.1));
        let line = at.context("the agent's line is missing")? + 1;
        let lines = format!("{},{}", line.saturating_sub(2).max(1), line + 2);
        self.backstitch(&["blame", UNITS_FILE, "-L", &lines])
    }

    /// Shows the lenses of the same file, from the language server.
    fn in_an_editor(&mut self) -> Result<()> {
        let root = self.scratch.workspace().canonicalize()?;
        let mut server = Command::new(std::env::current_exe()?);
        self.scratch.environment(&mut server);
        server
            .arg("--store-dir")
            .arg(self.scratch.store())
            .arg("lsp")
            .current_dir(&root);
        let above = editor::lenses(server, &root, UNITS_FILE)?;
        let text = std::fs::read_to_string(root.join(UNITS_FILE))?;
        let lines: Vec<&str> = text.lines().collect();
        self.line(&format!(
            "{}  {}",
            self.on(BOLD, UNITS_FILE),
            self.on(DIM, "in any editor, by `backstitch lsp`")
        ))?;
        for at in above.iter().take(LENSES) {
            self.line(&format!("       {}", self.on(DIM, &at.titles.join(" | "))))?;
            let line = lines.get(at.line).copied().unwrap_or_default();
            self.line(&format!("{:>5}  {line}", at.line + 1))?;
        }
        if above.len() > LENSES {
            let more = format!("       and {} more", above.len() - LENSES);
            self.line(&self.on(DIM, &more))?;
        }
        self.line("")?;
        ensure!(above.iter().any(|at| at.rewinds), "no lens offers a rewind");
        self.good("an editor offers it right above the lines: a rewind, a fork, a diff")?;
        self.line("")
    }

    /// Tries a second idea for turn 2 on its own branch.
    fn another_way(&mut self, agent: &mut DemoAgent, first: &TreeSnapshot) -> Result<()> {
        self.backstitch(&["fork", "t2", "idea2", "--switch"])?;
        self.prompt("t3", OTHER_PROMPT)?;
        agent.prompt(OTHER_PROMPT)?;
        self.tool("Bash", OTHER_COMMAND)?;
        agent.bash(OTHER_COMMAND)?;
        agent.stop()?;
        self.line("")?;
        let second = self.scratch.snapshot()?;
        self.backstitch(&["switch", "main"])?;
        ensure_same(first, &self.scratch.snapshot()?)?;
        self.good("switched: the first idea is back, byte for byte")?;
        self.line("")?;
        self.backstitch(&["diff", "main", "idea2", "--stat"])?;
        self.backstitch(&["switch", "idea2"])?;
        ensure_same(&second, &self.scratch.snapshot()?)?;
        self.good("and the second one, too; neither is lost")?;
        self.line("")?;
        self.backstitch(&["log", "--graph", "--all"])
    }

    /// Stops the agent before an edit, looks at it, and refuses it with a reason.
    fn held_call(&mut self, agent: &mut DemoAgent) -> Result<()> {
        self.scratch.allow_control()?;
        let before = self.scratch.snapshot()?;
        self.backstitch(&["breakpoint", "add", "path", "src/**"])?;
        self.prompt("t4", HELD_PROMPT)?;
        agent.prompt(HELD_PROMPT)?;
        self.tool("Edit", UNITS_FILE)?;
        let reason = std::thread::scope(|scope| {
            let held = scope.spawn(|| agent.held_edit(UNITS_FILE, UNITS.1, UNITS.0));
            self.wait_for_pause()?;
            self.backstitch(&["inspect"])?;
            self.backstitch(&["deny", "-m", HELD_REASON])?;
            held.join()
                .map_err(|_| anyhow::anyhow!("the agent failed"))?
        })?;
        ensure!(reason == HELD_REASON, "the agent got “{reason}”");
        ensure_same(&before, &self.scratch.snapshot()?)?;
        agent.stop()?;
        self.good("stopped before it touched a file; the agent got your reason")?;
        self.line("")
    }

    /// Waits until a call is held.
    fn wait_for_pause(&self) -> Result<()> {
        let began = Instant::now();
        loop {
            let mut command = Command::new(std::env::current_exe()?);
            self.scratch.environment(&mut command);
            let output = command
                .args(["pauses", "--json", "--workspace"])
                .arg(self.scratch.workspace())
                .arg("--store-dir")
                .arg(self.scratch.store())
                .output()?;
            if String::from_utf8_lossy(&output.stdout).contains("\"held\"") {
                return Ok(());
            }
            ensure!(began.elapsed() < HELD_WAIT, "no call was held");
        }
    }

    fn first_turn(&self, agent: &mut DemoAgent) -> Result<()> {
        self.prompt("t1", FIRST_PROMPT)?;
        agent.prompt(FIRST_PROMPT)?;
        self.tool("Edit", UNITS_FILE)?;
        agent.edit(UNITS_FILE, UNITS.0, UNITS.1)?;
        self.tool("Write", "NOTES.md")?;
        agent.write("NOTES.md", NOTES)?;
        agent.stop()
    }

    fn second_turn(&self, agent: &mut DemoAgent) -> Result<()> {
        self.prompt("t2", SECOND_PROMPT)?;
        agent.prompt(SECOND_PROMPT)?;
        for command in COMMANDS {
            self.tool("Bash", command)?;
            agent.bash(command)?;
        }
        agent.stop()
    }

    /// Adds a user's line below a file's first line.
    fn by_hand(&self, (path, line): (&str, &str)) -> Result<()> {
        self.line(&format!(
            "{}  adds a line to {path} by hand",
            self.on(USER, "you")
        ))?;
        let file = self.scratch.workspace().join(path);
        let text = std::fs::read_to_string(&file)?;
        Ok(std::fs::write(&file, below_first_line(&text, line))?)
    }

    fn check_rewound(&mut self, before: TreeSnapshot) -> Result<()> {
        let mut expected = before;
        let text = expected
            .text(AFTER.0)
            .context("the hand-edited file is missing")?;
        let edited = below_first_line(&text, AFTER.1);
        expected.put(AFTER.0, edited.into_bytes());
        let found = self.scratch.snapshot()?;
        ensure_same(&expected, &found)?;
        self.good("rewound: the changes of turn 2 are undone, byte for byte")?;
        for (path, line) in [BEFORE, AFTER] {
            let text = found.text(path).unwrap_or_default();
            ensure!(
                text.contains(line),
                "the hand edit in {path} did not survive"
            );
        }
        self.good("kept: both lines that you added by hand, in files the agent had edited too")
    }

    /// Runs a command as the user would type it.
    fn backstitch(&self, args: &[&str]) -> Result<()> {
        let words: Vec<String> = args.iter().map(|word| render::argument(word)).collect();
        let typed = format!("$ backstitch {}", words.join(" "));
        self.line(&self.on(BOLD, &typed))?;
        let mut command = Command::new(std::env::current_exe()?);
        self.scratch.environment(&mut command);
        let status = command
            .args([
                "--color",
                if self.options.color {
                    "always"
                } else {
                    "never"
                },
            ])
            .arg("--no-pager")
            .arg("--workspace")
            .arg(self.scratch.workspace())
            .arg("--store-dir")
            .arg(self.scratch.store())
            .args(args)
            .current_dir(self.scratch.workspace())
            .stdin(Stdio::null())
            .stdout(if self.options.silent {
                Stdio::null()
            } else {
                Stdio::inherit()
            })
            .status()
            .context("starting backstitch")?;
        ensure!(status.success(), "`{}` failed: {status}", &typed[2..]);
        self.line("")
    }

    fn next(&self) -> Result<()> {
        self.line(&self.on(BOLD, "Next"))?;
        let kept = self.scratch.kept();
        let look = format!(
            "backstitch --workspace {} --store-dir {} log",
            self.scratch.workspace().display(),
            self.scratch.store().display()
        );
        let rows = [
            (
                "backstitch setup claude-code",
                "record what Claude Code does, in any directory",
            ),
            (
                "backstitch log --graph",
                "show what happened in the current workspace",
            ),
            (
                "backstitch rewind t1 --dry-run",
                "show what a rewind would do",
            ),
            ("backstitch undo", "undo the rewind"),
        ];
        for (command, what) in rows {
            self.line(&format!("  {command:<32}{}", self.on(DIM, what)))?;
        }
        if kept {
            self.line(&format!("  {look}"))?;
        } else {
            self.line(&self.on(
                DIM,
                "The scratch directory was deleted; `demo --keep` keeps it.",
            ))?;
        }
        Ok(())
    }

    fn prompt(&self, turn: &str, prompt: &str) -> Result<()> {
        self.line(&format!("{}   “{prompt}”", self.on(AGENT, turn)))
    }

    fn tool(&self, tool: &str, what: &str) -> Result<()> {
        self.line(&format!("     {tool:<6} {}", self.on(DIM, what)))
    }

    fn good(&mut self, what: &str) -> Result<()> {
        self.checks.push(what.to_owned());
        self.line(&format!("{} {what}", self.on(GOOD, "✓")))
    }

    fn on(&self, style: Style, text: &str) -> String {
        if self.options.color {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn line(&self, text: &str) -> Result<()> {
        if self.options.silent {
            return Ok(());
        }
        let choice = if self.options.color {
            ColorChoice::Always
        } else {
            ColorChoice::Never
        };
        let mut stdout = AutoStream::new(std::io::stdout().lock(), choice);
        // Flush at once, because the commands write to the same stdout.
        writeln!(stdout, "{text}")?;
        Ok(stdout.flush()?)
    }
}

fn ensure_same(expected: &TreeSnapshot, found: &TreeSnapshot) -> Result<()> {
    let differing = expected.differing(found);
    if !differing.is_empty() {
        bail!("unexpected content: {}", differing.join(", "));
    }
    Ok(())
}

fn below_first_line(text: &str, line: &str) -> String {
    let end = text.find('\n').map_or(text.len(), |at| at + 1);
    format!("{}{line}{}", &text[..end], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_fits_the_files() {
        let text = |name: &str| {
            let (_, bytes) = scratch::FILES
                .iter()
                .find(|(path, _)| *path == name)
                .unwrap();
            std::str::from_utf8(bytes).unwrap()
        };
        assert_eq!(text("src/render.rs").matches(UNITS.0).count(), 1);
        for file in ["src/render.rs", "src/line.rs"] {
            let first = text(file).lines().position(|line| line.contains("cut("));
            assert!(
                first.is_some_and(|line| line > 8),
                "{file}: the hand edit stays clear of sed's"
            );
        }
        assert!(
            scratch::FILES.iter().any(|(_, bytes)| bytes.contains(&0)),
            "one file is binary"
        );
    }

    #[test]
    fn line_goes_below_the_first() {
        assert_eq!(below_first_line("a\nb\n", "x\n"), "a\nx\nb\n");
        assert_eq!(below_first_line("", "x\n"), "x\n");
    }
}
