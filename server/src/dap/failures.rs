//! Stops at failures: the kinds that a client chooses, each with a condition.

use std::borrow::Cow;

use backstitch_job::report::{StepEnd, StepName};
use backstitch_job::run::StandingJob;
use backstitch_job::session::StopPlace;
use backstitch_job::step::matcher::without_colors;
use dapts::{Breakpoint, SetExceptionBreakpointsArguments};

/// A kind of failure at which a job stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Failed,
    FailedButContinued,
    AbsentAction,
    ErrorCommand,
}

impl FailureKind {
    pub const ALL: [FailureKind; 4] = [
        FailureKind::Failed,
        FailureKind::FailedButContinued,
        FailureKind::AbsentAction,
        FailureKind::ErrorCommand,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Failed => "failed",
            FailureKind::FailedButContinued => "failed-but-continued",
            FailureKind::AbsentAction => "absent-action",
            FailureKind::ErrorCommand => "error-command",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            FailureKind::Failed => "Failed steps",
            FailureKind::FailedButContinued => "Failed steps with continue-on-error",
            FailureKind::AbsentAction => "Absent actions",
            FailureKind::ErrorCommand => "Errors that steps report",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            FailureKind::Failed => "Stops after a step that failed.",
            FailureKind::FailedButContinued => {
                "Stops after a step that failed and has continue-on-error."
            }
            FailureKind::AbsentAction => "Stops before a step whose action is not on this machine.",
            FailureKind::ErrorCommand => {
                "Stops after a step that succeeded although it wrote ::error::, or a line that a problem matcher takes for an error."
            }
        }
    }

    /// True for those that are on without a choice of the client's.
    pub fn is_on(self) -> bool {
        matches!(self, FailureKind::Failed | FailureKind::AbsentAction)
    }

    fn named(name: &str) -> Result<FailureKind, String> {
        let found = FailureKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let known = FailureKind::ALL.map(FailureKind::name).join(", ");
            format!("{name}: no such filter; there are: {known}.")
        })
    }
}

/// A kind that is on, with its condition.
#[derive(Clone, Debug)]
pub struct FailureFilter {
    pub kind: FailureKind,
    /// An expression at the place where the job would stop.
    pub condition: Option<String>,
}

impl FailureFilter {
    /// The words about a condition.
    /// Those that are on without a choice of the client's.
    pub fn that_are_on() -> Vec<FailureFilter> {
        let on = FailureKind::ALL.into_iter().filter(|kind| kind.is_on());
        on.map(|kind| FailureFilter {
            kind,
            condition: None,
        })
        .collect()
    }

    pub const CONDITION: &str = "An expression, as: github.job == 'build'";
}

/// Filters of a request, with an answer for each.
pub fn filters_of(
    wanted: &SetExceptionBreakpointsArguments,
) -> (Vec<FailureFilter>, Vec<Breakpoint>) {
    let plain = wanted.filters.iter().map(|name| (name, None));
    let options = wanted.filter_options.iter().flatten();
    let options = options.map(|one| (&one.filter_id, one.condition.clone()));
    let mut filters = Vec::new();
    let answers = plain.chain(options).map(|(name, condition)| {
        let condition = condition.filter(|text| !text.trim().is_empty());
        match FailureKind::named(name) {
            Ok(kind) => {
                filters.push(FailureFilter { kind, condition });
                Breakpoint {
                    verified: true,
                    ..Breakpoint::default()
                }
            }
            Err(reason) => Breakpoint {
                message: Some(reason),
                ..Breakpoint::default()
            },
        }
    });
    let answers = answers.collect();
    (filters, answers)
}

/// Facts about steps that have run, which their place alone does not tell.
#[derive(Clone, Debug, Default)]
pub struct StepFacts {
    /// Errors that they reported.
    pub errors: Vec<String>,
    /// Steps that failed and have `continue-on-error`, each with its reason.
    pub continued: Vec<String>,
    /// Places of errors that the last step reported, each with its message.
    pub places: Vec<String>,
    /// The end of the output of the last step.
    output: Vec<u8>,
}

/// Lines and bytes of a step's output that its failure shows, and places of errors.
const MAX_LAST_LINES: usize = 10;
const MAX_LAST_OUTPUT: usize = 4096;
const MAX_PLACES: usize = 10;

impl StepFacts {
    /// Begins a step: the output of the one before it is not its own.
    pub fn begin_step(&mut self) {
        self.places.clear();
        self.output.clear();
    }

    pub fn add_output(&mut self, text: &[u8]) {
        let last = text.len().saturating_sub(MAX_LAST_OUTPUT);
        self.output.extend(&text[last..]);
        let excess = self.output.len().saturating_sub(MAX_LAST_OUTPUT);
        self.output.drain(..excess);
    }

    /// Places of errors of the last step, and the last lines of its output.
    fn details(&self) -> Option<String> {
        let output = String::from_utf8_lossy(&self.output);
        let places = self.places.iter().take(MAX_PLACES);
        let places = places.map(|place| Cow::Borrowed(place.as_str()));
        let lines = output.trim_end().lines().rev().take(MAX_LAST_LINES);
        let mut lines: Vec<Cow<str>> = lines.map(without_colors).collect();
        lines.reverse();
        let all: Vec<Cow<str>> = places.chain(lines).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }
}

/// A failure at the place where a job stands.
#[derive(Clone, Debug)]
pub struct StopFailure {
    pub kind: FailureKind,
    pub description: String,
    /// Places of errors, and the last lines of output.
    pub details: Option<String>,
}

impl StopFailure {
    /// Says that a step around the one that failed has `continue-on-error`.
    pub fn mark_continued(&mut self) {
        if self.kind == FailureKind::Failed {
            self.kind = FailureKind::FailedButContinued;
        }
    }

    pub fn masked(self, job: &StandingJob) -> StopFailure {
        StopFailure {
            description: job.mask(&self.description),
            details: self.details.map(|details| job.mask(&details)),
            ..self
        }
    }

    /// Failures at a place, the first one first. `facts`: those since the last command. The texts may have secrets.
    pub fn at(stop: &StopPlace, facts: &StepFacts) -> Vec<StopFailure> {
        let of = |kind, texts: &[String]| {
            let description = texts.first().cloned();
            description.map(|description| StopFailure {
                kind,
                description,
                details: facts.details(),
            })
        };
        let (failed, absent) = match stop {
            StopPlace::Frozen(_) => return Vec::new(),
            StopPlace::Failed(name, end) => {
                let text = step_failure(name, end);
                (of(FailureKind::Failed, &[text]), None)
            }
            StopPlace::Before(step) => (None, step.absent_action.as_ref()),
            StopPlace::End => (None, None),
        };
        let absent = absent.map(|action| StopFailure {
            kind: FailureKind::AbsentAction,
            details: None,
            description: format!(
                "The action {action} is not on this machine. :skip leaves its step out; a directory for it is named in actions of the configuration."
            ),
        });
        let continued = of(FailureKind::FailedButContinued, &facts.continued);
        let reported = of(FailureKind::ErrorCommand, &facts.errors);
        let all = [failed, continued, reported, absent];
        all.into_iter().flatten().collect()
    }
}

/// The end of a step that failed, in words.
pub fn step_failure(name: &StepName, end: &StepEnd) -> String {
    let reason = end.reason.as_deref().unwrap_or("it failed");
    format!("{}: {reason}", name.name)
}
