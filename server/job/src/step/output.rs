//! The output of a step: lines, workflow commands in them, masks, and the log.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::commands::{CommandName, WorkflowCommand, resumes};
use super::mask::Masks;
use super::matcher::{StepMatchers, without_colors};
use super::process::OutputSink;
use crate::report::{Annotation, Level, RunReport, Stream};

/// Bytes after which a line is cut.
const MAX_LINE: usize = 64 * 1024;
/// Bytes that a line with a workflow command may have.
const MAX_COMMAND: usize = 16 * 1024 * 1024;

/// Effects that the commands in a step's output ask for.
#[derive(Clone, Debug, Default)]
pub struct OutputCommands {
    pub outputs: Vec<(String, String)>,
    pub state: Vec<(String, String)>,
    pub env: Vec<(String, String)>,
    pub path: Vec<String>,
    /// Sentences about commands that failed. Each fails the step.
    pub errors: Vec<String>,
}

/// The reader of a step's output.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that a command, a variable or the end of the step sets"
)]
pub struct StepOutput {
    masks: Masks,
    log: Option<File>,
    report: Arc<Mutex<dyn RunReport>>,
    /// Bytes after the last line end, of standard output and of standard error.
    rest: [Vec<u8>; 2],
    /// The token that ends `stop-commands`.
    stopped: Option<String>,
    /// `set-env` and `add-path` are heeded (`ACTIONS_ALLOW_UNSECURE_COMMANDS`).
    pub unsecure: bool,
    /// Lines of `::debug::` are shown (`ACTIONS_STEP_DEBUG`).
    pub debug: bool,
    echo: bool,
    /// Problem matchers of the job.
    pub matchers: StepMatchers,
    /// The step has ended: what comes now is of processes that it left, and goes to the log alone.
    late: bool,
    asked: OutputCommands,
    /// The reason why the log is not complete, such as a full disk.
    pub log_error: Option<String>,
}

impl std::fmt::Debug for StepOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

impl StepOutput {
    pub fn new(masks: Masks, log: Option<File>, report: Arc<Mutex<dyn RunReport>>) -> StepOutput {
        StepOutput {
            masks,
            log,
            report,
            rest: [Vec::new(), Vec::new()],
            stopped: None,
            unsecure: false,
            debug: false,
            echo: false,
            matchers: StepMatchers::default(),
            late: false,
            asked: OutputCommands::default(),
            log_error: None,
        }
    }

    /// Ends the output of the step: the rest without a line end is a line. Returns what its commands asked for.
    pub fn finish(&mut self) -> OutputCommands {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(&mut self.rest[place(stream)]);
            if !rest.is_empty() {
                self.line(stream, &rest);
            }
        }
        std::mem::take(&mut self.asked)
    }

    /// Ends the reports: what processes that the step left running print from now on goes to the log alone.
    pub fn close(&mut self) {
        self.late = true;
    }

    /// Writes a message of the runner.
    pub fn annotate(&mut self, level: Level, message: &str) {
        let annotation = Annotation {
            level,
            message: message.to_owned(),
            title: None,
            code: None,
            file: None,
            line: None,
            column: None,
        };
        self.annotation(annotation, None);
    }

    /// Writes the header of a step to the log alone.
    pub fn header(&mut self, header: &str) {
        if !header.is_empty() {
            let masked = self.masks.apply(header);
            self.write_log(format!("##[group]Run {masked}\n##[endgroup]\n").as_bytes());
        }
    }

    /// Writes text of the runner, as if the step had printed it; commands in it are text.
    pub fn text(&mut self, text: &str) {
        let masked = self.masks.apply(text);
        self.emit(Stream::Stdout, masked.as_bytes());
    }

    /// Handles whole lines at once where none can have a command.
    fn block(&mut self, stream: Stream, lines: &[u8]) {
        let is_plain = self.stopped.is_none() && self.matchers.is_empty();
        if is_plain && !may_have_command(lines) {
            let masked = self.masks.masked(lines, lines.len());
            self.emit(stream, &masked.text);
            return;
        }
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.line(stream, line);
        }
    }

    fn line(&mut self, stream: Stream, line: &[u8]) {
        if self.stopped.is_some() || may_have_command(line) {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end_matches(['\r', '\n']);
            if let Some(token) = &self.stopped {
                if resumes(text, token) {
                    self.stopped = None;
                }
            } else if let Some(command) = WorkflowCommand::parse(text) {
                self.command(stream, &command, text);
                return;
            }
        }
        if self.matched(line) {
            return;
        }
        let mut masked = self.masks.masked(line, line.len()).text;
        if !masked.ends_with(b"\n") {
            masked.push(b'\n');
        }
        self.emit(stream, &masked);
    }

    fn command(&mut self, stream: Stream, command: &WorkflowCommand, line: &str) {
        let name_of = |command: &WorkflowCommand| command.property("name").unwrap_or("").to_owned();
        let mut echo = self.echo;
        match command.name {
            CommandName::AddMask => {
                if command.data.trim().is_empty() {
                    self.annotate(
                        Level::Warning,
                        "Can't add secret mask for empty string in ##[add-mask] command.",
                    );
                }
                self.masks.add(&command.data);
                // the value is masked now
            }
            CommandName::SetOutput | CommandName::SaveState if name_of(command).is_empty() => {
                let kind = command.name.as_str();
                let reason = format!("Required field 'name' is missing in ##[{kind}] command.");
                self.failed_command(line, reason);
            }
            CommandName::SetOutput => self
                .asked
                .outputs
                .push((name_of(command), command.data.clone())),
            CommandName::SaveState => self
                .asked
                .state
                .push((name_of(command), command.data.clone())),
            CommandName::SetEnv | CommandName::AddPath if !self.unsecure => {
                let kind = command.name.as_str();
                self.asked.errors.push(format!(
                    "The `{kind}` command is disabled. Please upgrade to using Environment Files or opt into unsecure command \
                     execution by setting the `ACTIONS_ALLOW_UNSECURE_COMMANDS` environment variable to `true`."
                ));
            }
            CommandName::SetEnv => self
                .asked
                .env
                .push((name_of(command), command.data.clone())),
            CommandName::AddPath => self.asked.path.push(command.data.clone()),
            CommandName::StopCommands => self.stop_commands(&command.data),
            CommandName::Echo => self.set_echo(&command.data),
            CommandName::Group => {
                echo = false;
                let title = self.masks.apply(&command.data);
                self.mark(stream, &format!("##[group]{title}"));
                self.to_report(|report| report.group(Some(&title)));
            }
            CommandName::EndGroup => {
                echo = false;
                self.mark(stream, "##[endgroup]");
                self.to_report(|report| report.group(None));
            }
            CommandName::Debug
            | CommandName::Notice
            | CommandName::Warning
            | CommandName::Error => {
                echo = false;
                self.annotation(annotation_of(command), None);
            }
            CommandName::AddMatcher => self.add_matcher(&command.data, line),
            CommandName::RemoveMatcher => self.remove_matcher(command, line),
        }
        if echo {
            let masked = self.masks.apply(line);
            self.emit(stream, format!("{masked}\n").as_bytes());
        }
    }

    /// Gives a line to the problem matchers. True if one found a message: the report then has that instead of the line.
    fn matched(&mut self, line: &[u8]) -> bool {
        if self.matchers.is_empty() {
            return false;
        }
        let text = String::from_utf8_lossy(line);
        let text = without_colors(text.trim_end_matches(['\r', '\n']));
        let found = self.matchers.read(&text);
        for sentence in &found.debug {
            self.annotate(Level::Debug, sentence);
        }
        for sentence in &found.warnings {
            self.annotate(Level::Warning, sentence);
        }
        let Some(annotation) = found.annotation else {
            return false;
        };
        self.annotation(annotation, Some(&text));
        true
    }

    fn add_matcher(&mut self, file: &str, line: &str) {
        if file.is_empty() {
            self.annotate(Level::Warning, "File path must be specified.");
            return;
        }
        match self.matchers.add(file) {
            Ok(owners) => {
                let owners = owners.join("', '");
                self.annotate(
                    Level::Debug,
                    &format!("Added matchers: '{owners}'. Problem matchers scan action output for known warning or error strings and report these inline."),
                );
            }
            Err(reason) => self.failed_command(line, reason),
        }
    }

    fn remove_matcher(&mut self, command: &WorkflowCommand, line: &str) {
        let owner = command.property("owner").unwrap_or_default();
        match (owner, command.data.as_str()) {
            ("", "") => self.annotate(
                Level::Warning,
                "Either an owner name or a file path must be specified.",
            ),
            (owner, "") => self.matchers.remove(owner),
            ("", file) => {
                if let Err(reason) = self.matchers.remove_of(file) {
                    self.failed_command(line, reason);
                }
            }
            _ => self.annotate(
                Level::Warning,
                "Either specify an owner name or a file path in the command. Both values cannot be set.",
            ),
        }
    }

    /// Fails the step for a command that has no effect.
    fn failed_command(&mut self, line: &str, reason: String) {
        self.asked
            .errors
            .push(format!("Unable to process command '{line}' successfully."));
        self.asked.errors.push(reason);
    }

    fn stop_commands(&mut self, token: &str) {
        // a name of a command as the token would end at the next use of that command
        let is_command = WorkflowCommand::parse(&format!("::{token}::")).is_some();
        if token.trim().is_empty() || is_command {
            self.asked.errors.push(format!(
                "Invalid token '{token}' of the `stop-commands` command: it must not be empty or the name of a command."
            ));
            return;
        }
        self.stopped = Some(token.to_owned());
    }

    fn set_echo(&mut self, data: &str) {
        match data.trim().to_ascii_lowercase().as_str() {
            "on" => self.echo = true,
            "off" => self.echo = false,
            _ => self.asked.errors.push(format!("Invalid echo command value. Possible values can be: 'on', 'off'. Current value is: '{data}'.")),
        }
    }

    /// Reports a message. `shown`: the line of the log instead of its text.
    fn annotation(&mut self, mut annotation: Annotation, shown: Option<&str>) {
        if annotation.level == Level::Debug && !self.debug {
            return;
        }
        annotation.message = self.masks.apply(&annotation.message);
        annotation.title = annotation.title.map(|title| self.masks.apply(&title));
        let shown = shown.map(|line| self.masks.apply(line));
        let shown = shown.as_deref().unwrap_or(&annotation.message);
        let line = format!("##[{}]{shown}", annotation.level.as_str());
        self.mark(Stream::Stdout, &line);
        self.to_report(|report| report.annotation(&annotation));
    }

    /// Writes a line of the runner to the log alone: the report has it in another form.
    fn mark(&mut self, _stream: Stream, line: &str) {
        self.write_log(line.as_bytes());
        self.write_log(b"\n");
    }

    fn emit(&mut self, stream: Stream, text: &[u8]) {
        self.write_log(text);
        self.to_report(|report| report.output(stream, text));
    }

    fn write_log(&mut self, text: &[u8]) {
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.write_all(text) {
            // the step continues; the gap is reported
            self.log_error.get_or_insert_with(|| error.to_string());
        }
    }

    fn to_report(&self, call: impl FnOnce(&mut dyn RunReport)) {
        if !self.late {
            call(&mut *self.report.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Gives away the beginning of a line that is too long, and keeps what may be a part of a secret.
    fn cut(&mut self, stream: Stream) {
        let mut rest = std::mem::take(&mut self.rest[place(stream)]);
        let longest = self.masks.longest();
        while rest.len() >= MAX_LINE + longest {
            let masked = self.masks.masked(&rest, MAX_LINE);
            self.emit(stream, &masked.text);
            self.emit(stream, b"\n");
            rest.drain(..masked.used);
        }
        self.rest[place(stream)] = rest;
    }
}

impl OutputSink for StepOutput {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let rest = &mut self.rest[place(stream)];
        let Some(end) = end else {
            rest.extend_from_slice(bytes);
            let limit = if may_have_command(rest) {
                MAX_COMMAND
            } else {
                MAX_LINE
            };
            if rest.len() > limit {
                self.cut(stream);
            }
            return;
        };
        let (lines, after) = bytes.split_at(end + 1);
        let mut before = std::mem::take(rest);
        let mut first = 0;
        if !before.is_empty() {
            // the first line has its beginning in an earlier piece
            let end = lines.iter().position(|byte| *byte == b'\n');
            first = end.map_or(lines.len(), |place| place + 1);
            before.extend_from_slice(&lines[..first]);
            if before.len() > MAX_LINE && !may_have_command(&before) {
                self.rest[place(stream)] = before;
                self.cut(stream);
                before = std::mem::take(&mut self.rest[place(stream)]);
            }
            self.line(stream, &before);
        }
        self.rest[place(stream)] = after.to_vec();
        self.block(stream, &lines[first..]);
    }
}

fn place(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

/// True if a line of the text may be a workflow command.
fn may_have_command(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"::").is_some() || memchr::memmem::find(text, b"##[").is_some()
}

fn annotation_of(command: &WorkflowCommand) -> Annotation {
    let number = |name: &str| {
        command
            .property(name)
            .and_then(|text| text.trim().parse().ok())
    };
    let text = |name: &str| {
        let found = command.property(name).filter(|text| !text.is_empty());
        found.map(str::to_owned)
    };
    Annotation {
        level: match command.name {
            CommandName::Debug => Level::Debug,
            CommandName::Notice => Level::Notice,
            CommandName::Warning => Level::Warning,
            _ => Level::Error,
        },
        message: command.data.clone(),
        title: text("title"),
        code: None,
        file: text("file"),
        line: number("line"),
        column: number("col"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{JobEnd, JobName, StepEnd, StepName};

    #[derive(Default)]
    struct Seen {
        text: String,
        notes: Vec<String>,
    }

    impl RunReport for Seen {
        fn job_started(&mut self, _: &JobName) {}
        fn step_started(&mut self, _: &StepName) {}
        fn step_ended(&mut self, _: &StepName, _: &StepEnd) {}
        fn notice(&mut self, _: &str) {}
        fn job_ended(&mut self, _: &JobName, _: &JobEnd) {}
        fn output(&mut self, _: Stream, text: &[u8]) {
            self.text.push_str(&String::from_utf8_lossy(text));
        }
        fn group(&mut self, title: Option<&str>) {
            self.notes.push(format!("group {title:?}"));
        }
        fn annotation(&mut self, annotation: &Annotation) {
            self.notes.push(format!(
                "{} {}",
                annotation.level.as_str(),
                annotation.message
            ));
        }
    }

    fn read(pieces: &[&str]) -> (OutputCommands, Arc<Mutex<Seen>>, Masks) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let masks = Masks::default();
        let mut output = StepOutput::new(
            masks.clone(),
            None,
            Arc::clone(&seen) as Arc<Mutex<dyn RunReport>>,
        );
        for piece in pieces {
            output.output(Stream::Stdout, piece.as_bytes());
        }
        (output.finish(), seen, masks)
    }

    fn text(seen: &Arc<Mutex<Seen>>) -> String {
        seen.lock().expect("seen").text.clone()
    }

    /// A secret is masked from `add-mask` on, in later lines of the same step (J15).
    #[test]
    fn j15_a_mask_holds_from_its_command_on() {
        let (_, seen, _) = read(&["a token\n::add-mask::tok", "en\na token\nthe tok", "en"]);
        assert_eq!(text(&seen), "a token\na ***\nthe ***\n");
    }

    #[test]
    fn commands_are_no_text() {
        let (asked, seen, _) =
            read(&["::set-output name=a::1\n::group::G\nx\n::endgroup::\n::warning file=f::W\n"]);
        assert_eq!(asked.outputs, [("a".to_owned(), "1".to_owned())]);
        assert_eq!(text(&seen), "x\n");
        assert_eq!(
            seen.lock().expect("seen").notes,
            ["group Some(\"G\")", "group None", "warning W"]
        );
    }

    #[test]
    fn stopped_commands_are_text() {
        let (asked, seen, _) =
            read(&["::stop-commands::T\n::set-output name=a::1\n::T::\n::set-output name=b::2\n"]);
        assert_eq!(asked.outputs, [("b".to_owned(), "2".to_owned())]);
        assert_eq!(text(&seen), "::set-output name=a::1\n::T::\n");
    }

    #[test]
    fn unsecure_commands_fail_the_step() {
        let (asked, _, _) = read(&["::set-env name=A::1\n"]);
        assert!(
            asked.errors[0].starts_with("The `set-env` command is disabled."),
            "{asked:?}"
        );
    }

    /// The rest of a long line is cut, too, when its end comes with other lines.
    #[test]
    fn the_end_of_a_long_line_is_cut() {
        let long = "x".repeat(MAX_LINE - 10);
        let (_, seen, _) = read(&[&long, &format!("{}\nafter\n", "y".repeat(100))]);
        let text = text(&seen);
        assert!(text.lines().all(|line| line.len() <= MAX_LINE));
        assert!(text.ends_with("y\nafter\n"));
    }

    /// No line grows without bound, and a secret across the cut is masked.
    #[test]
    fn long_lines_are_cut_between_secrets() {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let masks = Masks::default();
        masks.add("SECRET-VALUE");
        let mut output =
            StepOutput::new(masks, None, Arc::clone(&seen) as Arc<Mutex<dyn RunReport>>);
        let line = format!(
            "{}SECRET-VALUE{}",
            "a".repeat(MAX_LINE - 5),
            "b".repeat(MAX_LINE)
        );
        for piece in line.as_bytes().chunks(1000) {
            output.output(Stream::Stdout, piece);
        }
        output.finish();
        let text = text(&seen);
        assert!(text.contains("***") && !text.contains("SECRET"));
        assert!(text.lines().all(|line| line.len() <= MAX_LINE + 3));
    }
}
