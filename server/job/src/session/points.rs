//! The list of points: moments before steps to which a job can go back.

use std::time::Instant;

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::expr::Value;
use crate::report::StepName;
use crate::run::LiveJob;

use super::history::RecordedFiles;
use super::values::check_expression;

/// A moment before a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobPoint {
    /// The step that was about to run (S1-015, S1-016).
    pub step: StepName,
    pub files: RecordedFiles,
    /// All but files (S1-024, S1-025).
    pub live: LiveJob,
    /// Microseconds since 1970, UTC (S1-026).
    pub created: i64,
    /// Programs that had run. Those that a later one left are ended by a step back.
    pub programs: u64,
    /// The moment, from which deadlines count: the time since then is not the job's.
    #[serde(skip, default = "Instant::now")]
    pub at: Instant,
    /// Steps that had ended.
    pub ended: usize,
    /// The number of this start of the step, from 1. `LEFT_OUT`: it did not run.
    pub attempt: u32,
}

/// The attempt of a step that a person left out.
pub const LEFT_OUT: u32 = 0;

impl JobPoint {
    /// Depth of the step: 1 for one of the job.
    pub fn depth(&self) -> usize {
        self.step.path.len()
    }
}

/// Points in their order, and the restored one.
#[derive(Clone, Debug, Default)]
pub struct PointList {
    all: Vec<JobPoint>,
    /// True if the job stands at the last point: a step back does not offer it, and a forward command replaces it.
    at_last: bool,
    /// Steps that ran without a point, each with the number of points before it.
    passed: Vec<(usize, String)>,
}

/// Steps that have points, and how many of those are kept.
#[derive(Clone, Debug)]
pub struct PointChoice {
    /// Points of steps of the job that are kept (S1-031).
    pub keep: usize,
    /// The name of the choice as the user writes it.
    pub name: &'static str,
    only: Vec<PointWord>,
    words: Vec<String>,
}

/// A word that chooses steps.
#[derive(Clone, Debug)]
enum PointWord {
    /// A pattern of the name or the id of a step.
    Pattern(GlobMatcher),
    /// In the contexts that the step finds.
    Expression(String),
}

impl PointChoice {
    /// Steps that one of these words names: a name, an id, a pattern of either, or an expression in `${{ }}`. Without words all
    /// steps. Err: a sentence about a word. `name`: the name of the choice as the user writes it.
    pub fn new(name: &'static str, words: &[String], keep: usize) -> Result<PointChoice, String> {
        let read = |word: &String| {
            if word.trim().starts_with("${{") {
                check_expression(word).map_err(|error| format!("{word}: {error}"))?;
                return Ok(PointWord::Expression(word.clone()));
            }
            let pattern = Glob::new(word).map_err(|error| format!("{word}: {}", error.kind()))?;
            Ok(PointWord::Pattern(pattern.compile_matcher()))
        };
        Ok(PointChoice {
            keep,
            name,
            only: words.iter().map(read).collect::<Result<_, String>>()?,
            words: words.to_vec(),
        })
    }

    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Patterns that match none of these names.
    pub fn without_match(&self, names: &[String]) -> Vec<&str> {
        let all = self.only.iter().zip(&self.words);
        let unmatched = all.filter_map(|(word, text)| match word {
            PointWord::Pattern(pattern) => {
                let has_match = names.iter().any(|name| pattern.is_match(name));
                (!has_match).then_some(text.as_str())
            }
            PointWord::Expression(_) => None,
        });
        unmatched.collect()
    }

    /// True for a step with a point. Err: an expression has no value there.
    pub(super) fn has_point(
        &self,
        step: &StepName,
        evaluate: &mut dyn FnMut(&str) -> Result<Value, String>,
    ) -> Result<bool, String> {
        for word in &self.only {
            let holds = match word {
                PointWord::Pattern(pattern) => {
                    pattern.is_match(&step.name) || pattern.is_match(&step.id)
                }
                PointWord::Expression(text) => evaluate(text)
                    .map_err(|reason| format!("{} {text}: {reason}", self.name))?
                    .is_truthy(),
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(self.only.is_empty())
    }
}

impl PointList {
    pub fn new(all: Vec<JobPoint>, at_last: bool) -> PointList {
        PointList {
            all,
            at_last,
            passed: Vec::new(),
        }
    }

    pub fn all(&self) -> &[JobPoint] {
        &self.all
    }

    /// True if the job stands at the last point.
    pub fn is_at_last(&self) -> bool {
        self.at_last
    }

    /// Points to which a step back leads.
    pub fn available(&self) -> &[JobPoint] {
        let count = self.all.len() - usize::from(self.at_last);
        &self.all[..count]
    }

    /// The place of the point that so many steps back lead to. Points deeper than the step where the job stands count for their
    /// composite action.
    pub fn back(&self, steps: usize, depth: usize) -> Option<usize> {
        let places = self.available().iter().enumerate();
        let mut offered = places.rev().filter(|(_, point)| point.depth() <= depth);
        offered.nth(steps.checked_sub(1)?).map(|(place, _)| place)
    }

    /// The job commits to a step: a point that it stands at is replaced (S1-007).
    pub fn commit(&mut self, point: JobPoint) {
        if self.at_last {
            self.all.pop();
        }
        self.all.push(point);
        self.at_last = false;
    }

    /// The job commits to a step that has no point. A point that it stands at stays: it is before the step.
    pub fn commit_without(&mut self, name: &str) {
        self.at_last = false;
        self.passed.push((self.all.len(), name.to_owned()));
    }

    /// Cuts what is above a point: the job stands at it. Returns the points above, and the names of the steps without one.
    pub fn restored(&mut self, place: usize) -> (Vec<JobPoint>, Vec<String>) {
        let above = self.all.split_off(self.all.len().min(place + 1));
        self.at_last = !self.all.is_empty();
        let (passed, kept) = std::mem::take(&mut self.passed)
            .into_iter()
            .partition(|(before, _)| *before > place);
        self.passed = kept;
        (above, passed.into_iter().map(|(_, name)| name).collect())
    }

    /// Puts back what a restore cut.
    pub(super) fn give_back(&mut self, above: Vec<JobPoint>) {
        self.all.extend(above);
    }

    pub(super) fn set_at_last(&mut self, at_last: bool) {
        self.at_last = at_last;
    }

    /// Steps that ran without a point, each with the number of points before it.
    /// True if a step ran without a point.
    pub fn has_passed(&self) -> bool {
        !self.passed.is_empty()
    }

    pub(super) fn passed(&self) -> &[(usize, String)] {
        &self.passed
    }

    pub(super) fn set_passed(&mut self, passed: Vec<(usize, String)>) {
        self.passed = passed;
    }

    /// Err: the last step has no point, so it cannot run again.
    pub(super) fn check_last(&self, choice: &PointChoice) -> Result<(), String> {
        let count = self.available().len();
        let last = self.passed.iter().rfind(|(before, _)| *before >= count);
        last.map_or(Ok(()), |(_, name)| {
            Err(format!(
                "'{name}' has no checkpoint, so it cannot run again: {} leaves it out. Go back to an earlier step.",
                choice.name
            ))
        })
    }

    /// Removes the oldest points of the job beyond a number, each with those of its composite action. Returns them.
    pub fn keep(&mut self, most: usize) -> Vec<JobPoint> {
        let mut removed = Vec::new();
        let top = |point: &&JobPoint| point.depth() == 1;
        while self.all.iter().filter(top).count() > most.max(1) {
            let next = self.all.iter().skip(1).position(|point| point.depth() == 1);
            removed.extend(self.all.drain(..next.map_or(1, |next| next + 1)));
        }
        self.passed.retain(|(before, _)| *before > removed.len());
        for (before, _) in &mut self.passed {
            *before -= removed.len();
        }
        removed
    }
}
