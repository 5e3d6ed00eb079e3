//! Words of a person who steps through a job: in a terminal, a script, or the console of an editor.

use std::fmt::Write as _;

use backstitch_job::place::is_runner_file;
use backstitch_job::run::WorkflowAdditions;
use backstitch_job::session::{
    Forward, JobSession, LEFT_OUT, Restored, ShellEnd, choice_of_points, gap_lines, value_text,
};
use backstitch_job::state::StepOutcome;

use super::run_call::RunCall;
use crate::file_changes::FileChange;
use crate::render::counted;
use crate::terminal::paint::{clock, one_line};

/// The answer to a line.
#[derive(Debug)]
pub enum StepAnswer {
    /// The job stands elsewhere, or the same place is shown again.
    Moved(Option<String>),
    Said(String),
    /// A shell command has run. A terminal has shown its output.
    Ran {
        output: String,
        said: String,
    },
    /// A shell is to be opened on a terminal, for which the job waits then.
    OpensShell,
    /// Nothing has run: the person has not agreed to what an edit of the workflow added.
    Asks(WorkflowAdditions),
    Quit,
}

type StepAct = fn(&mut JobSession, &str) -> Result<StepAnswer, String>;

/// The effect of a line on the place of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEffect {
    /// Nothing changes.
    Reads,
    /// The job stays where it is. Values and files may change.
    Stays,
    /// It is elsewhere afterwards, and no step has run.
    Moves,
    /// Steps run.
    Runs,
}

/// A word: its names, its argument, its help, its effect, and what it does.
struct StepWord {
    names: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    effect: LineEffect,
    act: StepAct,
}

/// The line of a script that freezes the step which runs.
pub const PAUSE: &str = "pause";

/// The word that runs to the next failure.
pub const CONTINUE: &str = "c";

/// The word that opens a shell.
const SHELL: &str = ":shell";

const WORDS: [StepWord; 26] = [
    StepWord {
        names: &["n", "next"],
        argument: "",
        help: "run the step",
        effect: LineEffect::Runs,
        act: |session, _| forward(session, Forward::Over),
    },
    StepWord {
        names: &["s", "step"],
        argument: "",
        help: "run the step, or enter its composite action",
        effect: LineEffect::Runs,
        act: |session, _| forward(session, Forward::Into),
    },
    StepWord {
        names: &["o", "out"],
        argument: "",
        help: "run to the step after the composite action, or to the end",
        effect: LineEffect::Runs,
        act: |session, _| forward(session, Forward::Out),
    },
    StepWord {
        names: &[CONTINUE, "continue"],
        argument: "",
        help: "run to the next failure, or to the end",
        effect: LineEffect::Runs,
        act: |session, _| forward(session, Forward::On),
    },
    StepWord {
        names: &[PAUSE, ":pause"],
        argument: "",
        help: "freeze the step that runs, as Ctrl-C does: a line of a script while the step runs",
        effect: LineEffect::Stays,
        act: |_, _| Err("No step runs here, so none can be frozen.".to_owned()),
    },
    StepWord {
        names: &["b", "back", ":back"],
        argument: "[N]",
        help: "go back before the last step, or before the last N",
        effect: LineEffect::Moves,
        act: |session, text| {
            let steps = number(text, 1)?;
            session
                .back(steps)
                .map(|restored| moved(session, &restored))
        },
    },
    StepWord {
        names: &["r", "start", ":start"],
        argument: "",
        help: "go back to the first checkpoint",
        effect: LineEffect::Moves,
        act: |session, _| session.restore(0).map(|restored| moved(session, &restored)),
    },
    StepWord {
        names: &["u", ":undo"],
        argument: "",
        help: "undo the last step back, if no step has run since",
        effect: LineEffect::Moves,
        act: |session, _| {
            let undone = session.undo()?;
            let files = counted(undone.changed, "file");
            let gaps = gap_lines(&undone.gaps);
            Ok(StepAnswer::Moved(Some(format!(
                "Undid the step back: {files}. Processes that it ended stay ended.{gaps}"
            ))))
        },
    },
    StepWord {
        names: &[":again"],
        argument: "",
        help: "run the last step again, with the files as they were before it",
        effect: LineEffect::Runs,
        act: |session, _| {
            run(session, |session| {
                let restored = session.before_again()?;
                let text = session.job().mask(&restored_text(session, &restored));
                session.notes().add(text);
                session.forward(Forward::Over)
            })
        },
    },
    StepWord {
        names: &[":retry"],
        argument: "",
        help: "run the last step again, with the files as they are now",
        effect: LineEffect::Runs,
        act: |session, _| run(session, JobSession::retry),
    },
    StepWord {
        names: &[":goto"],
        argument: "STEP|[N]",
        help: "go to a step: ahead, leaving steps out, or back to its checkpoint; [N]: to this checkpoint",
        effect: LineEffect::Moves,
        act: |session, text| {
            let restored = match index(text) {
                Some(place) => Some(session.restore(place)?),
                None => session.go_to(text)?,
            };
            Ok(restored.map_or(StepAnswer::Moved(None), |restored| {
                moved(session, &restored)
            }))
        },
    },
    StepWord {
        names: &[":env"],
        argument: "NAME=VALUE",
        help: "set a variable for the steps that follow",
        effect: LineEffect::Stays,
        act: |session, text| {
            let (name, value) = pair(text)?;
            session.set_variable(name, value)?;
            let said = format!("{name} is set");
            Ok(StepAnswer::Said(session.job().mask(&said)))
        },
    },
    StepWord {
        names: &[":output"],
        argument: "STEP NAME=VALUE",
        help: "set an output of a step that has run",
        effect: LineEffect::Stays,
        act: |session, text| {
            let (step, rest) = text
                .split_once(' ')
                .ok_or("write :output STEP NAME=VALUE")?;
            let (name, value) = pair(rest.trim())?;
            session.set_output(step, name, value)?;
            let said = format!("steps.{step}.outputs.{name} is set");
            Ok(StepAnswer::Said(session.job().mask(&said)))
        },
    },
    StepWord {
        names: &[":outcome"],
        argument: "success|failure|cancelled|skipped",
        help: "let the step that failed count as this, and stand before the next one",
        effect: LineEffect::Moves,
        act: |session, text| {
            let outcome = StepOutcome::parse(text)
                .ok_or("write :outcome success, failure, cancelled or skipped")?;
            session.set_outcome(outcome)?;
            Ok(StepAnswer::Moved(None))
        },
    },
    StepWord {
        names: &[":kill"],
        argument: "",
        help: "kill the step that is frozen: it has failed",
        effect: LineEffect::Moves,
        act: |session, _| {
            session.kill()?;
            Ok(StepAnswer::Moved(None))
        },
    },
    StepWord {
        names: &[":ps"],
        argument: "",
        help: "list the processes of the frozen step, and those that steps left running",
        effect: LineEffect::Reads,
        act: |session, _| Ok(StepAnswer::Said(processes(session))),
    },
    StepWord {
        names: &[":skip"],
        argument: "",
        help: "leave the next step out, or let the step that failed count as skipped",
        effect: LineEffect::Moves,
        act: |session, _| {
            session.skip()?;
            Ok(StepAnswer::Moved(None))
        },
    },
    StepWord {
        names: &[":run"],
        argument: "COMMAND",
        help: "run a shell command, as !COMMAND does",
        effect: LineEffect::Stays,
        act: |session, text| shell(session, text),
    },
    StepWord {
        names: &[SHELL],
        argument: "",
        help: "open a shell on a terminal; variables that it exports are set at its end",
        effect: LineEffect::Stays,
        act: |_, _| Ok(StepAnswer::OpensShell),
    },
    StepWord {
        names: &[":diff"],
        argument: "[STEP] [A B]",
        help: "show what a step changed, or how the files differ after two attempts of it",
        effect: LineEffect::Reads,
        act: |session, text| diff(session, text).map(StepAnswer::Said),
    },
    StepWord {
        names: &[":sync"],
        argument: "",
        help: "take up edits of the workflow and of your files now, as each command forward does",
        effect: LineEffect::Moves,
        act: |session, _| {
            if session.sync()? {
                return Ok(StepAnswer::Moved(None));
            }
            let text = "Neither the workflow nor your files have changed.";
            Ok(StepAnswer::Said(text.to_owned()))
        },
    },
    StepWord {
        names: &[":checkpoints"],
        argument: "",
        help: "list the checkpoints, with the times at which they were made",
        effect: LineEffect::Reads,
        act: |session, _| Ok(StepAnswer::Said(checkpoints(session))),
    },
    StepWord {
        names: &[":state"],
        argument: "",
        help: "show the state of the job, and the steps ahead, as JSON",
        effect: LineEffect::Reads,
        act: |session, _| {
            let text = session.job().live().canonical().to_string();
            Ok(StepAnswer::Said(session.job().mask(&text)))
        },
    },
    StepWord {
        names: &["w", ":where"],
        argument: "",
        help: "show the place again",
        effect: LineEffect::Moves,
        act: |_, _| Ok(StepAnswer::Moved(None)),
    },
    StepWord {
        names: &["h", "help", ":help"],
        argument: "",
        help: "list the words",
        effect: LineEffect::Reads,
        act: |_, _| Ok(StepAnswer::Said(help())),
    },
    StepWord {
        names: &["q", "quit", ":quit"],
        argument: "",
        help: "end the job here",
        effect: LineEffect::Moves,
        act: |_, _| Ok(StepAnswer::Quit),
    },
];

/// The effect of a line, known before it is carried out.
pub fn effect_of(line: &str) -> LineEffect {
    let (name, _) = line.split_once(' ').unwrap_or((line, ""));
    let word = WORDS.iter().find(|word| word.names.contains(&name));
    match word {
        Some(word) => word.effect,
        None if line.starts_with('!') || RunCall::is_in(line) => LineEffect::Stays,
        None => LineEffect::Reads,
    }
}

/// True for a line that is neither a word nor a command.
pub fn is_expression(line: &str) -> bool {
    let (name, _) = line.split_once(' ').unwrap_or((line, ""));
    let is_word = WORDS.iter().any(|word| word.names.contains(&name));
    !is_word && !line.starts_with(['!', ':']) && !RunCall::is_in(line)
}

/// Does what a line says.
pub fn execute(session: &mut JobSession, line: &str) -> Result<StepAnswer, String> {
    if let Some(command) = line.strip_prefix('!') {
        return shell(session, command);
    }
    if RunCall::is_in(line) {
        return shell(session, &RunCall::read(line)?.command());
    }
    let (name, argument) = line.split_once(' ').unwrap_or((line, ""));
    let word = WORDS.iter().find(|word| word.names.contains(&name));
    let takes = |word: &&StepWord| argument.is_empty() || !word.argument.is_empty();
    if let Some(word) = word.filter(takes) {
        return (word.act)(session, argument.trim());
    }
    if name.starts_with(':') {
        return Err(format!("{name}: no such word; :help lists them"));
    }
    let value = session.evaluate(line).map_err(|error| {
        if error.starts_with("Unrecognized named-value") {
            return format!("{error}. :help lists the words.");
        }
        error
    })?;
    Ok(StepAnswer::Said(session.job().mask(&value_text(&value))))
}

fn forward(session: &mut JobSession, way: Forward) -> Result<StepAnswer, String> {
    run(session, |session| session.forward(way))
}

/// Runs steps, unless the person has to agree first.
fn run(
    session: &mut JobSession,
    act: impl FnOnce(&mut JobSession) -> Result<(), String>,
) -> Result<StepAnswer, String> {
    if let Some(added) = session.additions() {
        return Ok(StepAnswer::Asks(added));
    }
    act(session)?;
    Ok(StepAnswer::Moved(None))
}

fn shell(session: &mut JobSession, command: &str) -> Result<StepAnswer, String> {
    let end = session.shell(command)?;
    let said = shell_text(&end);
    Ok(StepAnswer::Ran {
        output: end.output,
        said,
    })
}

/// The end of a shell in words.
pub fn shell_text(end: &ShellEnd) -> String {
    let mut text = end.reason.clone().unwrap_or_default();
    if !end.is_handed_over {
        text =
            format!("{text} The shell could not hand its environment over: nothing of it is set.");
    }
    for (word, names) in [("Set", &end.set), ("Unset", &end.unset)] {
        if !names.is_empty() {
            text = format!("{text} {word}: {}.", names.join(", "));
        }
    }
    for reason in &end.refused {
        text = format!("{text} {reason}");
    }
    text.trim().to_owned()
}

fn moved(session: &JobSession, restored: &Restored) -> StepAnswer {
    StepAnswer::Moved(Some(session.job().mask(&restored_text(session, restored))))
}

/// The sentence about a restored point, and lines about all that stayed.
pub fn restored_text(session: &JobSession, restored: &Restored) -> String {
    let point = &session.points().all()[restored.place];
    let mut text = format!(
        "Restored checkpoint [{}] before '{}': {}, {}.",
        restored.place,
        one_line(&point.step.name),
        counted(restored.changed, "file"),
        counted(restored.variables, "variable"),
    );
    if !restored.passed.is_empty() {
        let names = restored.passed.join("', '");
        let _ = write!(text, "\n  taken back without a checkpoint: '{names}'");
    }
    text.push_str(&restored.stayed());
    text
}

fn checkpoints(session: &JobSession) -> String {
    let points = session.points();
    let lines = points.all().iter().enumerate().map(|(place, point)| {
        let here = points.is_at_last() && place + 1 == points.all().len();
        let attempt = match point.attempt {
            LEFT_OUT => "  left out".to_owned(),
            1 => String::new(),
            attempt => format!("  attempt {attempt}"),
        };
        let mark = if here { "■" } else { " " };
        let time = clock(point.created);
        {
            let name = one_line(&point.step.name);
            format!("{mark} [{place}] before '{name}'{attempt}  {time}")
        }
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return if session.points().has_passed() {
            let name = choice_of_points(session).name;
            format!("There are no checkpoints: none of the steps that ran is one of {name}.")
        } else {
            "There are no checkpoints: no step has run.".to_owned()
        };
    }
    lines.join("\n")
}

/// Lines that complete at a stop: all words, and those that name a step with each of its names.
pub fn completions(session: &JobSession) -> Vec<String> {
    let names = WORDS.iter().flat_map(|word| word.names);
    let mut all: Vec<String> = names.map(|name| (*name).to_owned()).collect();
    for step in session.step_names() {
        for word in [":goto", ":diff"] {
            all.push(format!("{word} {step}"));
        }
    }
    all
}

/// The patch of a step's last attempt, or between two attempts.
fn diff(session: &JobSession, text: &str) -> Result<String, String> {
    let numbers = |text: &str| -> Option<(u32, u32)> {
        let (one, other) = text.trim().split_once(' ')?;
        Some((one.parse().ok()?, other.trim().parse().ok()?))
    };
    let cut = text.rmatch_indices(' ').nth(1).map_or(0, |(at, _)| at);
    let (step, pair) = match numbers(&text[cut..]) {
        Some(pair) => (text[..cut].trim(), Some(pair)),
        None => (text, None),
    };
    let attempts = session.attempts().of(step);
    let last = attempts.last().ok_or_else(|| match step {
        "" => "No step has run.".to_owned(),
        step => format!(
            "{step}: no such step has run; name it by its id, its name, or its number from 1"
        ),
    })?;
    let (from, to) = match pair {
        None => (last.before(), last.after()),
        Some((one, other)) => {
            let after = |number: u32| {
                let found = attempts.iter().find(|attempt| attempt.number == number);
                let known: Vec<String> =
                    attempts.iter().map(|one| one.number.to_string()).collect();
                found.map(|attempt| attempt.after()).ok_or_else(|| {
                    let known = known.join(", ");
                    format!(
                        "{}: attempt {number} has not ended; there are: {known}",
                        last.step.name
                    )
                })
            };
            (after(one)?, after(other)?)
        }
    };
    let said = |error: backstitch_core::Error| error.to_string();
    let engine = session.engine();
    let mut patches = Vec::new();
    for delta in engine.comparer().compare(from, to).map_err(said)? {
        let change = FileChange::load(engine, &delta).map_err(said)?;
        // the step did not make the files of the runner
        if !is_runner_file(&String::from_utf8_lossy(&change.path)) {
            // it is read, and not applied
            let patch = if change.is_binary() {
                change.words()
            } else {
                change.patch()
            };
            patches.push(String::from_utf8_lossy(&patch).into_owned());
        }
    }
    if patches.is_empty() {
        return Ok("The files are equal.".to_owned());
    }
    Ok(session.job().mask(patches.concat().trim_end()))
}

fn processes(session: &JobSession) -> String {
    let all = session.job().processes();
    let lines = all.iter().map(|process| {
        format!(
            "{:>8} {} {}",
            process.pid,
            process.state,
            one_line(&process.command)
        )
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return "No process of a step runs.".to_owned();
    }
    lines.join("\n")
}

fn help() -> String {
    let lines = WORDS.iter().map(|word| {
        let names = format!("{} {}", word.names.join(", "), word.argument);
        format!("{names:44}{}", word.help)
    });
    let rest = [
        format!(
            "{:44}{}",
            "!COMMAND", "run a shell command where the next step would run"
        ),
        format!(
            "{:44}{}",
            "EXPRESSION", "show its value, as `steps.build.outputs`"
        ),
    ];
    lines.chain(rest).collect::<Vec<_>>().join("\n")
}

fn number(text: &str, default: usize) -> Result<usize, String> {
    if text.is_empty() {
        return Ok(default);
    }
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text}: no number from 1"))
}

/// The index of a checkpoint as the list shows it: `[2]`.
fn index(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.trim().parse().ok()
}

fn pair(text: &str) -> Result<(&str, &str), String> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    let pair = text.split_once('=').filter(|(name, _)| is_name(name));
    pair.ok_or_else(|| match text {
        "" => "No variable is named: write NAME=VALUE.".to_owned(),
        text => format!("{text}: write NAME=VALUE, with no blank before the ="),
    })
}

#[cfg(test)]
mod tests {
    use super::{LineEffect, effect_of};

    #[test]
    fn effects_are_known_before() {
        for (line, effect) in [
            ("n", LineEffect::Runs),
            (":retry", LineEffect::Runs),
            (":back 2", LineEffect::Moves),
            (":goto two", LineEffect::Moves),
            (":env A=n", LineEffect::Stays),
            ("!n", LineEffect::Stays),
            ("run(\"n\")", LineEffect::Stays),
            (":diff", LineEffect::Reads),
            ("env.n", LineEffect::Reads),
            ("", LineEffect::Reads),
        ] {
            assert_eq!(effect_of(line), effect, "{line}");
        }
    }
}
