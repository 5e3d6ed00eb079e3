//! Calls of built-in actions in a separate process, so that a step with one ends like any other: by a signal.
//!
//! The run writes the call to a file, and the process writes the answer beside it. Its output is that of the step.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ActionCall, ActionResult, Builtin, BuiltinError, BuiltinOptions};
use crate::place::{RunPlace, WithPath};
use crate::repository::ProjectRepository;

/// Name of the file with a call, in the run's directory.
const CALL: &str = "call.json";
const ANSWER: &str = "answer.json";

/// The part of an action that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallPart {
    Main,
    Post,
}

/// A call as its file has it: borrowed by the writer, owned by the reader.
#[derive(Serialize, Deserialize)]
struct CallText<Text, Pairs, Place, Repository, Options> {
    builtin: Builtin,
    part: CallPart,
    version: Text,
    inputs: Pairs,
    place: Place,
    repository: Repository,
    environment: Pairs,
    options: Options,
    state: Pairs,
}

type ReadCall =
    CallText<String, Vec<(String, String)>, RunPlace, ProjectRepository, BuiltinOptions>;
type CallAnswer = Result<ActionResult, BuiltinError>;

/// The file of a call. It has secrets of the step, and is removed with the answer.
#[derive(Debug)]
pub struct CallFile {
    dir: PathBuf,
}

impl CallFile {
    /// Writes a call. Nothing is printed yet.
    pub fn write(builtin: Builtin, part: CallPart, call: &ActionCall<'_>) -> io::Result<CallFile> {
        let file = CallFile {
            dir: call.place.dir.clone(),
        };
        file.remove();
        let text = serde_json::to_vec(&CallText {
            builtin,
            part,
            version: call.version,
            inputs: call.inputs,
            place: call.place,
            repository: call.repository,
            environment: call.environment,
            options: call.options,
            state: call.state,
        })?;
        write_private(&file.path(), &text)?;
        Ok(file)
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join(CALL)
    }

    /// Takes the answer of the process that has ended.
    pub fn answer(self) -> CallAnswer {
        let answer = self.dir.join(ANSWER);
        let read = fs::read(&answer).with_path(&answer);
        let read = read.and_then(|text| Ok(serde_json::from_slice::<CallAnswer>(&text)?));
        read.unwrap_or_else(|error| {
            Err(BuiltinError::Failed(format!(
                "the action gave no answer: {error}"
            )))
        })
    }

    fn remove(&self) {
        for name in [CALL, ANSWER] {
            // it may not be there, and another run's file has another directory
            let _ = fs::remove_file(self.dir.join(name));
        }
    }
}

impl Drop for CallFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Runs the call of a file in this process.
pub fn serve(file: &Path) -> io::Result<()> {
    let text = fs::read(file).with_path(file)?;
    let read: ReadCall = serde_json::from_slice(&text)?;
    let mut print = |line: &str| {
        // a run that no longer reads has been killed, and this process soon will be
        let _ = writeln!(io::stdout(), "{line}");
    };
    let call = ActionCall {
        version: &read.version,
        inputs: &read.inputs,
        place: &read.place,
        repository: &read.repository,
        environment: &read.environment,
        print: &mut print,
        options: &read.options,
        state: &read.state,
    };
    let answer: CallAnswer = match read.part {
        CallPart::Main => read.builtin.run(call),
        CallPart::Post => read.builtin.post(call),
    };
    write_private(&file.with_file_name(ANSWER), &serde_json::to_vec(&answer)?)
}

fn write_private(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut opened = options.open(file).with_path(file)?;
    opened.write_all(text).with_path(file)
}
