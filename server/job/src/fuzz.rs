//! Subjects of fuzzing: workflows and actions as texts, command files, and output with secrets. Each takes any bytes and
//! panics if a rule is broken.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

use crate::position::WorkflowProblem;
use crate::report::{Annotation, JobEnd, JobName, RunReport, StepEnd, StepName, Stream};
use crate::step::command_files;
use crate::step::commands::{self, WorkflowCommand};
use crate::step::mask::{MASK, Masks};
use crate::step::output::StepOutput;
use crate::step::process::OutputSink as _;
use crate::{action, workflow};

/// Reads a text as a workflow and as an action. One that is refused has problems at places in the text, and a workflow
/// that is taken has an order of its jobs.
pub fn workflow(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let (workflow, problems) = workflow::read("file.yml", text);
    check(text, workflow.is_some(), &problems);
    if let Some(workflow) = workflow {
        for job in &workflow.jobs {
            let order = workflow::order(&workflow, &job.id.value);
            assert_eq!(order.last().map(|last| &last.id.value), Some(&job.id.value));
        }
    }
    let (action, problems) = action::read("action.yml", text);
    check(text, action.is_some(), &problems);
}

/// Reads a text as a command file and as lines of output. Pairs that are read and written again are the same pairs.
pub fn commands(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(pairs) = command_files::pairs(&text) {
        let mut again = String::new();
        for (name, value) in &pairs {
            assert!(!name.is_empty(), "{pairs:?}");
            let mut delimiter = String::from("END");
            while value.contains(&delimiter) {
                delimiter.push('D');
            }
            if name.contains(['=', '<', '\r']) || value.ends_with('\r') {
                return;
            }
            let lines = [
                format!("{name}<<{delimiter}"),
                value.clone(),
                delimiter,
                String::new(),
            ];
            again.push_str(&lines.join("\n"));
        }
        let read = command_files::pairs(&again).expect("pairs that were written");
        assert_eq!(read, pairs);
    }
    for line in text.lines() {
        if let Some(command) = WorkflowCommand::parse(line) {
            let again = format!("::{}::x", command.name.as_str());
            let parsed = WorkflowCommand::parse(&again).expect("a command");
            assert_eq!(parsed.name, command.name);
        }
        commands::resumes(line, "token");
    }
}

/// Sends pieces of output with secrets through the reader of a step's output: no text that it reports has a secret. The
/// input has parts that end with a byte 255: a first one with secrets, each ended by a byte 254, and pieces. The first byte of
/// a piece says the form in which a secret is added to it.
pub fn masks(input: &[u8]) {
    let mut parts = input.split(|byte| *byte == 255);
    let secrets = parts.next().unwrap_or_default().split(|byte| *byte == 254);
    let masks = Masks::default();
    for secret in secrets {
        if let Ok(secret) = std::str::from_utf8(secret) {
            masks.add(secret);
        }
    }
    let values = masks.values();
    let seen = Arc::new(Mutex::new(SeenTexts::default()));
    let report = Arc::clone(&seen) as Arc<Mutex<dyn RunReport>>;
    let mut output = StepOutput::new(masks, None, report);
    let mut encoded = Vec::new();
    for (place, piece) in parts.enumerate() {
        let Some((form, text)) = piece.split_first() else {
            continue;
        };
        let mut text = text.to_vec();
        if let Some(secret) = values.get(place % values.len().max(1)) {
            let long = secret.len() >= 6 && !secret.contains(['\r', '\n']);
            match form % 8 {
                1 => text.extend_from_slice(secret.as_bytes()),
                2 if long => {
                    text.extend_from_slice(secret.as_bytes());
                    text = STANDARD.encode(&text).into_bytes();
                    encoded.push(String::from_utf8_lossy(&text).into_owned());
                }
                3 if long => {
                    let json = serde_json::Value::from(secret.as_str()).to_string();
                    text.extend_from_slice(json.as_bytes());
                    encoded.push(json);
                }
                _ => {}
            }
        }
        let stream = [Stream::Stdout, Stream::Stderr][usize::from(form / 128)];
        output.output(stream, &text);
    }
    output.finish();
    let seen = seen.lock().expect("a report");
    let lines = |value: &String| value.lines().map(str::to_owned).collect::<Vec<_>>();
    let lines = values.iter().flat_map(lines);
    for secret in lines.chain(encoded).filter(|line| !line.trim().is_empty()) {
        for text in &seen.texts {
            assert!(
                !shows(text, secret.as_bytes()),
                "{secret:?} in {:?}",
                String::from_utf8_lossy(text)
            );
        }
    }
}

/// True if a text has the secret beside its masks. Bytes are compared: one that is not UTF-8 looks like a secret's U+FFFD.
fn shows(text: &[u8], secret: &[u8]) -> bool {
    let mut from = 0;
    for mask in memmem::find_iter(text, MASK) {
        if memmem::find(&text[from..mask], secret).is_some() {
            return true;
        }
        from = mask + MASK.len();
    }
    memmem::find(&text[from..], secret).is_some()
}

/// Texts that a step's output led to: those of each stream, titles of groups, and messages.
struct SeenTexts {
    texts: Vec<Vec<u8>>,
}

impl SeenTexts {
    fn push(&mut self, text: &str) {
        self.texts.push(text.as_bytes().to_vec());
    }
}

impl Default for SeenTexts {
    fn default() -> SeenTexts {
        SeenTexts {
            texts: vec![Vec::new(); 2],
        }
    }
}

impl RunReport for SeenTexts {
    fn job_started(&mut self, _: &JobName) {}
    fn step_started(&mut self, _: &StepName) {}
    fn step_ended(&mut self, _: &StepName, _: &StepEnd) {}
    fn notice(&mut self, text: &str) {
        self.push(text);
    }
    fn job_ended(&mut self, _: &JobName, _: &JobEnd) {}
    fn output(&mut self, stream: Stream, text: &[u8]) {
        let place = usize::from(matches!(stream, Stream::Stderr));
        self.texts[place].extend_from_slice(text);
    }
    fn group(&mut self, title: Option<&str>) {
        if let Some(title) = title {
            self.push(title);
        }
    }
    fn annotation(&mut self, annotation: &Annotation) {
        self.push(&annotation.message);
        for text in [&annotation.title, &annotation.file].into_iter().flatten() {
            self.push(text);
        }
    }
}

fn check(text: &str, is_read: bool, problems: &[WorkflowProblem]) {
    assert_eq!(is_read, problems.is_empty());
    // GitHub's parser puts an expression of a plain scalar with several lines one line too low
    let lines = text.matches(['\n', '\r']).count() + 2;
    for range in problems.iter().filter_map(|problem| problem.range) {
        assert!(
            (1..=lines).contains(&(range.start.line as usize)),
            "{range:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_that_were_found_keep_the_rules() {
        type Subject = fn(&[u8]);
        let subjects: [(&str, Subject); 3] = [
            ("workflow", super::workflow),
            ("commands", super::commands),
            ("masks", super::masks),
        ];
        for (name, subject) in subjects {
            let folder = format!(
                "{}/../../tests/fuzz/found/{name}",
                env!("CARGO_MANIFEST_DIR")
            );
            let mut count = 0;
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                subject(&fs::read(path).expect("a file"));
                count += 1;
            }
            assert!(count > 0, "{name}");
        }
    }
}
