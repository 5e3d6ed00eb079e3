//! A Node process that answers lines of JSON by GitHub's packages. `tests/jobs/install.sh` installs them; where they are
//! missing, a test says so and passes, and with `CI=true` fails.

use std::env;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value as Json;

pub struct Node {
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
}

impl Node {
    /// Starts a script of this folder, unless Node or the package is missing.
    pub fn start(test: &str, script: &str, package: &str) -> Option<Node> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let packages = env::var_os("BACKSTITCH_TEST_JOBS")
            .map_or_else(|| folder.join("../../tests/.cache/jobs"), PathBuf::from);
        if !packages.join("node_modules").join(package).exists() {
            skip(
                test,
                &format!("{package} is not installed (tests/jobs/install.sh)"),
            );
            return None;
        }
        let started = Command::new("node")
            .arg(folder.join("tests/oracle").join(script))
            .arg(packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            skip(test, "node is not installed");
            return None;
        };
        let input = child.stdin.take().map(BufWriter::new);
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Node {
            child,
            input,
            output,
        })
    }

    /// The answers to questions, in their order.
    pub fn ask(&mut self, questions: &[Json]) -> Vec<Json> {
        let mut input = self.input.take().expect("a running process");
        let lines: Vec<String> = questions.iter().map(Json::to_string).collect();
        let text = lines.join(
            "
",
        ) + "
";
        let writer = std::thread::spawn(move || {
            input.write_all(text.as_bytes()).expect("a reader");
            input.flush().expect("a reader");
            input
        });
        let mut answers = Vec::with_capacity(questions.len());
        for _ in questions {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("an answer");
            answers.push(serde_json::from_str(&line).expect("an answer in JSON"));
        }
        self.input = Some(writer.join().expect("a writer"));
        answers
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn skip(test: &str, reason: &str) {
    let in_ci = env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!in_ci, "{test}: {reason}");
    eprintln!("SKIPPED {test}: {reason}");
}
