//! Commands that a person runs in the environment of the step where the job stands.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{ShellOf, ShellProgram};
use crate::state::JobState;
use crate::state::StepOutcome;
use crate::step::shell::find_program;

use super::JobSession;
use super::kept::RunWork;
use super::values::ByHand;

/// Variables of the shell itself and of its terminal, which are not handed over.
const OWN: [&str; 6] = ["PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLORTERM"];

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// The reason of a failure.
    pub reason: Option<String>,
    /// The end of the output.
    pub output: String,
    /// Names of the variables that the command set for the steps that follow.
    pub set: Vec<String>,
    /// Names of those that it removed.
    pub unset: Vec<String>,
    /// Sentences about variables that it cannot set.
    pub refused: Vec<String>,
    /// False if the shell could not hand its environment over: nothing of it is set.
    pub is_handed_over: bool,
}

impl JobSession {
    /// Runs a command, with the files, variables and PATH that the next step finds. The variables that it exports are there for
    /// the steps that follow.
    pub fn shell(&mut self, command: &str) -> Result<ShellEnd, String> {
        let handed = self.run.place().temp.join("_shell_environment");
        run_program(
            self,
            &|path, directory| program(path, directory, command, &handed),
            &handed,
        )
    }
}

/// Runs a program with all that the next step finds. `handed`: the file to which it writes its environment at its end.
pub(super) fn run_program(
    session: &mut JobSession,
    program: &ShellOf,
    handed: &Path,
) -> Result<ShellEnd, String> {
    if !session.is_in_frozen_step() {
        session.db.set_work(&RunWork::Shell)?;
    }
    let _ = fs::remove_file(handed);
    let before = session.run.state().clone();
    let at = session.shell_directory.clone();
    let ran = session.run.run_shell(program, at.as_deref())?;
    let text = fs::read(handed).ok();
    let _ = fs::remove_file(handed);
    session.note_commands(&before);
    let mut end = ShellEnd {
        reason: ran.reason,
        output: ran.output,
        set: Vec::new(),
        unset: Vec::new(),
        refused: Vec::new(),
        is_handed_over: text.is_some(),
    };
    if ran.outcome == StepOutcome::Success {
        end.reason = None;
    }
    if ran.has_outputs {
        let sentence = "GITHUB_OUTPUT is not kept, since the command is not a step. `:output STEP NAME=VALUE` sets one of a step that has run.";
        end.refused.push(sentence.to_owned());
    }
    let Some(text) = text else { return Ok(end) };
    let pairs = pairs(&text);
    let directory = pairs.iter().find(|(name, _)| name == "PWD");
    session.shell_directory = directory.map(|(_, directory)| PathBuf::from(directory));
    for (name, value) in &pairs {
        let was = ran.environment.iter().find(|(known, _)| known == name);
        if OWN.contains(&name.as_str()) || was.is_some_and(|(_, was)| was == value) {
            continue;
        }
        match session.run.set_for_steps(name, value) {
            Ok(()) => {
                end.set.push(name.clone());
                let set = ByHand::Variable(name.clone(), value.clone());
                session.by_hand.push(set);
            }
            Err(reason) => end.refused.push(reason),
        }
    }
    for (name, _) in &ran.environment {
        let is_there = pairs.iter().any(|(known, _)| known == name);
        if !is_there && session.run.state_mut().remove_variable(name) {
            end.unset.push(name.clone());
            session.by_hand.push(ByHand::Unset(name.clone()));
        }
    }
    session.refresh();
    Ok(end)
}

impl JobSession {
    /// Keeps what a command has set by `GITHUB_ENV` and `GITHUB_PATH` for a step that runs again.
    fn note_commands(&mut self, before: &JobState) {
        let now = self.run.state();
        let is_new = |(name, value): &(&str, &str)| before.env.get(name) != Some(value);
        let set = now.env.iter().filter(is_new);
        let set: Vec<ByHand> = set
            .map(|(name, value)| ByHand::Variable(name.to_owned(), value.to_owned()))
            .collect();
        let dirs = now.path.iter().rev();
        let dirs = dirs.filter(|dir| !before.path.contains(dir));
        let dirs: Vec<ByHand> = dirs.map(|dir| ByHand::Directory(dir.clone())).collect();
        self.by_hand.extend(set);
        self.by_hand.extend(dirs);
    }
}

/// The shell that runs the command in its own environment, and writes that to a file at its end.
fn program(
    path: &str,
    directory: &Path,
    command: &str,
    handed: &Path,
) -> Result<ShellProgram, String> {
    let found = |name: &str| find_program(name, path, directory);
    let shell = found("bash").or_else(|| found("sh"));
    let shell = shell.ok_or_else(|| "neither bash nor sh is on PATH".to_owned())?;
    let (Some(env), Some(mv)) = (found("env"), found("mv")) else {
        return Err("env and mv are not on PATH, so nothing can be handed over".to_owned());
    };
    let (env, mv, handed) = (word(&env), word(&mv), handed.to_string_lossy());
    let part = word(Path::new(&format!("{handed}.part")));
    let handed = word(Path::new(&*handed));
    let script = format!(
        "trap '__s=$?; {} -0 > {} && {} {} {}; exit $__s' EXIT\n{command}\n",
        env.replace('\'', r"'\''"),
        part.replace('\'', r"'\''"),
        mv.replace('\'', r"'\''"),
        part.replace('\'', r"'\''"),
        handed.replace('\'', r"'\''"),
    );
    Ok(ShellProgram { shell, script })
}

/// A path as one word of a shell.
pub(super) fn word(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Pairs of a text as `env -0` writes it.
pub(super) fn pairs(text: &[u8]) -> Vec<(String, String)> {
    let parts = text
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    let texts = parts.map(|part| String::from_utf8_lossy(part).into_owned());
    texts
        .filter_map(|text| {
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}
