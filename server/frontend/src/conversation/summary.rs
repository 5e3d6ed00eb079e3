//! Summaries of a part of a conversation, by a command of the user or of the agent.

use std::io::{self, Read, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use backstitch_control::shell::kill_descendants;
use backstitch_core::launch;
use rustix::process::{Pid, Signal, kill_process};

use super::read::ReadConversation;
use crate::terminal::error::{CliError, CliResult};

/// Time for a summary.
const TIME: Duration = Duration::from_mins(2);

/// Time for the last words of a command that has ended.
const ERRORS_TIME: Duration = Duration::from_secs(1);

/// Bytes of a summary at most. A longer one would not make the conversation shorter.
const MAX_SUMMARY: usize = 64 * 1024;

/// Bytes of the command's errors that are shown.
const MAX_ERRORS: usize = 4 * 1024;

/// Instruction for the agent's own command, before the text.
const INSTRUCTION: &str = "Summarise the part of a conversation between a user and a coding agent that follows. Keep decisions, \
    the names of files and their changes, open questions, and each instruction of the user that still holds. Answer with the summary alone.";

/// The way to another command.
const OTHER_COMMAND: &str = "summarize.command in your own config.toml names another command";

/// A command that sums up the text on its stdin.
#[derive(Debug)]
pub struct Summarizer {
    /// The command as people write it.
    shown: String,
    command: Command,
    instruction: Option<&'static str>,
}

impl Summarizer {
    /// The command of the user's settings, or else that of the conversation's agent.
    pub fn of(read: &ReadConversation, setting: Option<&str>) -> CliResult<Summarizer> {
        if let Some(command) = setting {
            return Ok(Summarizer {
                shown: command.to_owned(),
                command: launch::shell(command),
                instruction: None,
            });
        }
        let Some((program, arguments)) = read.summarizer().split_first() else {
            let reason = format!("{} has no command that sums up", read.agent());
            return Err(CliError::refused(reason).hint(OTHER_COMMAND));
        };
        let found = launch::program(program);
        let mut command = found.map_err(|error| {
            CliError::refused(format!("{program} cannot be started: {error}")).hint(OTHER_COMMAND)
        })?;
        command.args(arguments);
        Ok(Summarizer {
            shown: (*program).to_owned(),
            command,
            instruction: Some(INSTRUCTION),
        })
    }

    /// Sums up a text. The command runs in an empty directory, and nothing of it becomes a turn.
    pub fn run(self, text: &str) -> CliResult<String> {
        self.run_for(text, TIME)
    }

    fn run_for(mut self, text: &str, time: Duration) -> CliResult<String> {
        let directory = tempfile::tempdir().map_err(|error| {
            CliError::failed(format!(
                "a directory for the summary cannot be made: {error}"
            ))
        })?;
        self.command
            .current_dir(directory.path())
            .env("BACKSTITCH_HOOK", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = self.command.spawn();
        let mut child =
            child.map_err(|error| self.failed(&format!("cannot be started: {error}"), ""))?;
        let instruction = self.instruction.into_iter();
        let given: String = instruction
            .flat_map(|words| [words, "\n\n"])
            .chain([text])
            .collect();
        if let Some(mut input) = child.stdin.take() {
            // a command that does not read all of it may still answer
            thread::spawn(move || input.write_all(given.as_bytes()));
        }
        let said = beginning(child.stdout.take(), MAX_SUMMARY + 1);
        let errors = beginning(child.stderr.take(), MAX_ERRORS);
        let (pid, until) = (child.id(), Instant::now() + time);
        let (send, end) = channel();
        thread::spawn(move || send.send(child.wait()));
        let said = said.recv_timeout(time).unwrap_or_default();
        let left = until.saturating_duration_since(Instant::now());
        let ended = if said.len() > MAX_SUMMARY {
            None
        } else {
            end.recv_timeout(left).ok().and_then(io::Result::ok)
        };
        if ended.is_none() {
            kill_descendants(pid);
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let errors = errors.recv_timeout(ERRORS_TIME).unwrap_or_default();
        self.summary(said, ended, &String::from_utf8_lossy(&errors))
    }

    /// The summary that a command wrote. `ended`: none if it was killed.
    fn summary(&self, said: Vec<u8>, ended: Option<ExitStatus>, errors: &str) -> CliResult<String> {
        if said.len() > MAX_SUMMARY {
            let reason = format!("wrote more than {} KiB", MAX_SUMMARY / 1024);
            return Err(self.failed(&reason, ""));
        }
        match ended {
            None => {
                let reason = format!("did not end within {} s", TIME.as_secs());
                return Err(self.failed(&reason, errors));
            }
            Some(status) if !status.success() => {
                return Err(self.failed(&format!("failed with {status}"), errors));
            }
            Some(_) => {}
        }
        let said = String::from_utf8(said);
        let said = said.map_err(|_| self.failed("wrote a text that is not UTF-8", ""))?;
        match said.trim() {
            "" => Err(self.failed("wrote nothing", errors)),
            summary => Ok(summary.to_owned()),
        }
    }

    fn failed(&self, reason: &str, errors: &str) -> CliError {
        let errors = errors.trim();
        let said = if errors.is_empty() {
            String::new()
        } else {
            format!("; it said: {errors}")
        };
        CliError::failed(format!("the summary: `{}` {reason}{said}", self.shown))
            .hint(format!("nothing was changed; {OTHER_COMMAND}"))
    }
}

/// The message that takes the place of a part. `turn`: the number of a turn in it.
pub fn summary_message(summary: &str, turn: i64) -> String {
    format!(
        "Summary of the earlier part of this conversation:\n\n{}\n\nTo read more of it: `backstitch show t{turn}`",
        summary.trim()
    )
}

/// Reads the first bytes of a stream. The rest is read in vain, so that its writer is not held up.
fn beginning(from: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let Some(mut from) = from else { return };
        let mut bytes = Vec::new();
        let _ = from.by_ref().take(most as u64).read_to_end(&mut bytes);
        let _ = send.send(bytes);
        let _ = io::copy(&mut from, &mut io::sink());
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Summarizer {
        Summarizer {
            shown: text.to_owned(),
            command: launch::shell(text),
            instruction: Some("Sum up."),
        }
    }

    #[test]
    fn the_text_follows_the_instruction() {
        let given = command("cat").run("text").expect("a summary");
        assert_eq!(given, "Sum up.\n\ntext");
        // it need not read all of it
        let long = "x".repeat(1 << 20);
        assert_eq!(
            command("echo short").run(&long).expect("a summary"),
            "short"
        );
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_all_that_it_started() {
        let summarizer = command("echo words >&2; sleep 1000 & exec sleep 1000");
        let error = summarizer.run_for("text", Duration::from_millis(300));
        let error = error.expect_err("no summary").message;
        assert!(error.contains("did not end within"), "{error}");
        // its stderr ends with the last process
        assert!(error.ends_with("it said: words"), "{error}");
    }
}
