//! `backstitch demo job`: a CI job fails. One step back, the source is mended, and the job continues to its end. Each tree is compared
//! byte for byte.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use backstitch_core::launch;

use super::scratch::TreeSnapshot;
use super::{BOLD, DIM, Demo, USER, ensure_same};

const WORKFLOW: &str = r#"name: ci
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Build
        run: |
          mkdir out
          seq 1 100 > out/words
          git tag built
          echo "BUILT=yes" >> "$GITHUB_ENV"
      - name: Test
        run: |
          mkdir out/report
          grep -c . out/words > out/report/lines
          echo "$BUILT" >> out/words
          grep -q tea src/words
      - name: Pack
        run: cat out/words src/words out/report/lines > out/package
"#;

/// The source before and after it is mended.
const SOURCE: (&str, &str, &str) = ("src/words", "coffee\nbread\n", "coffee\nbread\ntea\n");

/// Arguments of both runs.
const JOB: [&str; 6] = [
    "ci.yml",
    "-j",
    "build",
    "--yes",
    "--any-system",
    "--color=never",
];

/// The story.
pub(super) fn run(demo: &mut Demo<'_>) -> Result<()> {
    let project = demo.scratch.workspace();
    make(&project)?;
    let title = format!("a small repository in {}", project.display());
    demo.line(&format!(
        "{}  {}",
        demo.on(BOLD, "Backstitch demo: a CI job that steps back"),
        demo.on(DIM, &title)
    ))?;
    demo.line("")?;
    demo.line(&demo.on(BOLD, "$ backstitch job debug ci.yml -j build"))?;
    let mut job = DebuggedJob::start(demo)?;
    job.until(demo, "before step 1 of 4")?;
    job.word(demo, "n", "before step 2 of 4: Build")?;
    job.word(demo, "n", "before step 3 of 4: Test")?;
    let files = runs(demo).join("ci-build-1/files/work/workspace/workspace");
    let before = TreeSnapshot::of(&files)?;
    job.word(demo, "n", "failed: step 3 of 4: Test")?;
    let failed = TreeSnapshot::of(&files)?;
    ensure!(failed != before, "the step that failed left nothing");
    demo.line("")?;
    demo.good("it stopped where it failed, and left half of its work")?;
    demo.line("")?;

    job.word(demo, "b", "before step 3 of 4: Test")?;
    ensure_same(&before, &TreeSnapshot::of(&files)?)?;
    demo.good("one step back: every byte of the run is as before the step, `.git` too")?;
    demo.line("")?;

    let by_hand = format!(
        "{}  mends {} in the repository",
        demo.on(USER, "you"),
        SOURCE.0
    );
    demo.line(&by_hand)?;
    fs::write(project.join(SOURCE.0), SOURCE.2)?;
    job.word(demo, "c", "at the end of the job")?;
    job.word(demo, ":diff Test 1 2", "+tea")?;
    job.end(demo)?;
    demo.good("the job took the edit up, and continued to its end without the steps before")?;
    demo.line("")?;

    let status = command(demo, "run")?.stdout(Stdio::null()).status()?;
    ensure!(status.success(), "a fresh run failed: {status}");
    let fresh = runs(demo).join("ci-build-2/files/work/workspace/workspace");
    let fresh = TreeSnapshot::of(&fresh)?.without(".git");
    ensure_same(&fresh, &TreeSnapshot::of(&files)?.without(".git"))?;
    demo.good("its files are those of a fresh run of the mended repository, byte for byte")?;
    demo.line("")?;
    demo.line(&demo.on(BOLD, "Next"))?;
    for (words, what) in [
        ("backstitch job list", "show the jobs of your workflows"),
        (
            "backstitch job debug ci.yml -j build",
            "step through one of them",
        ),
    ] {
        demo.line(&format!("  {words:<40}{}", demo.on(DIM, what)))?;
    }
    Ok(())
}

/// Makes the repository.
fn make(project: &Path) -> Result<()> {
    for (path, text) in [(".github/workflows/ci.yml", WORKFLOW), (SOURCE.0, SOURCE.1)] {
        let file = project.join(path);
        fs::create_dir_all(file.parent().unwrap_or(project))?;
        fs::write(file, text)?;
    }
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "start"],
    ] {
        let mut git = launch::program("git")?;
        git.args(words).current_dir(project);
        // nobody's settings
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for person in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{person}_NAME"), "demo")
                .env(format!("GIT_{person}_EMAIL"), "demo@localhost");
        }
        let status = git.status().context("starting git, which the demo needs")?;
        ensure!(status.success(), "git {} failed: {status}", words.join(" "));
    }
    Ok(())
}

/// Directory of the runs.
fn runs(demo: &Demo<'_>) -> PathBuf {
    demo.scratch.root().join("state/backstitch/jobs")
}

/// A command of the family `job`, in the scratch directory.
fn command(demo: &Demo<'_>, name: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    demo.scratch.environment(&mut command);
    command
        .args(["job", name])
        .args(JOB)
        .current_dir(demo.scratch.workspace())
        .stdin(Stdio::null());
    Ok(command)
}

/// `job debug`, by lines.
struct DebuggedJob {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl DebuggedJob {
    fn start(demo: &Demo<'_>) -> Result<Self> {
        let mut command = command(demo, "debug")?;
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("starting backstitch")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
        })
    }

    /// Types a word, and shows what follows up to the line with a text.
    fn word(&mut self, demo: &Demo<'_>, word: &str, until: &str) -> Result<()> {
        demo.line(&format!("{} {word}", demo.on(DIM, "job>")))?;
        let input = self.input.as_mut().context("the job has ended")?;
        writeln!(input, "{word}")?;
        self.until(demo, until)
    }

    fn until(&mut self, demo: &Demo<'_>, text: &str) -> Result<()> {
        while let Some(line) = self.output.next().transpose()? {
            let shown = if line.starts_with('■') {
                demo.on(BOLD, &line)
            } else {
                line.clone()
            };
            demo.line(&format!("  {shown}"))?;
            if line.contains(text) {
                return Ok(());
            }
        }
        bail!("the job ended before {text:?}")
    }

    /// Ends the lines and waits for the job.
    fn end(mut self, demo: &Demo<'_>) -> Result<()> {
        drop(self.input.take());
        while let Some(line) = self.output.next().transpose()? {
            demo.line(&format!("  {line}"))?;
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "the job failed: {status}");
        Ok(())
    }
}

impl Drop for DebuggedJob {
    fn drop(&mut self) {
        // one that has ended stays as it is
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
