//! Breakpoints of a client: on lines, on names of steps, and on failures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstitch_control::HitCondition;
use backstitch_job::report::{StepName, StepPart};
use dapts::{Breakpoint, FunctionBreakpoint, Source, SourceBreakpoint};
use globset::{Glob, GlobMatcher};

use super::steps::steps_of;
use super::view::own_file;

/// The filter of steps that fail.
pub const FAILED: &str = "failed";

/// The filter of steps that fail and have `continue-on-error`.
pub const FAILED_BUT_CONTINUED: &str = "failed-but-continued";

/// All breakpoints of a client.
#[derive(Debug, Default)]
pub struct ClientBreakpoints {
    of_lines: BTreeMap<PathBuf, Vec<JobBreakpoint>>,
    of_names: Vec<JobBreakpoint>,
    /// Filters of failures that are on.
    pub failures: Vec<String>,
    last_id: u64,
}

#[derive(Debug)]
struct JobBreakpoint {
    id: u64,
    place: BreakpointPlace,
    condition: Option<String>,
    hit_condition: Option<HitCondition>,
    log: Option<String>,
    /// Arrivals at which its condition held.
    hits: i64,
}

#[derive(Debug)]
enum BreakpointPlace {
    Line(PathBuf, u32),
    Name(Box<GlobMatcher>),
}

/// A breakpoint at a step where the job arrives.
#[derive(Clone, Debug)]
pub struct BreakpointArrival {
    pub id: u64,
    pub is_of_name: bool,
    /// An expression.
    pub condition: Option<String>,
    /// A text with expressions in braces, which is shown instead of a stop.
    pub log: Option<String>,
}

impl ClientBreakpoints {
    /// Replaces those of a file. The lines are from 1.
    pub fn set_lines(&mut self, file: &Path, wanted: &[SourceBreakpoint]) -> Vec<Breakpoint> {
        let steps = steps_of(file);
        let mut kept = Vec::new();
        let mut answers = Vec::new();
        for one in wanted {
            let step = steps.as_ref().map_err(Clone::clone).and_then(|steps| {
                let at =
                    |step: &&super::steps::FileStep| (step.first..=step.last).contains(&one.line);
                let found = steps.iter().find(at);
                found.ok_or_else(|| format!("Line {} is in no step.", one.line))
            });
            let hit_condition = hit_condition(one.hit_condition.as_deref());
            let id = self.next_id();
            let answer = Breakpoint {
                id: Some(id),
                source: Some(source_of(file)),
                line: Some(one.line),
                ..Breakpoint::default()
            };
            answers.push(match (step, hit_condition) {
                (Ok(step), Ok(hit_condition)) => {
                    kept.push(JobBreakpoint {
                        id,
                        place: BreakpointPlace::Line(file.to_owned(), step.first),
                        condition: text(one.condition.as_deref()),
                        hit_condition,
                        log: text(one.log_message.as_deref()),
                        hits: 0,
                    });
                    Breakpoint {
                        verified: true,
                        line: Some(step.first),
                        ..answer
                    }
                }
                (Err(reason), _) | (_, Err(reason)) => Breakpoint {
                    message: Some(reason),
                    ..answer
                },
            });
        }
        self.of_lines.insert(file.to_owned(), kept);
        answers
    }

    /// Replaces those on names, ids and patterns of steps.
    pub fn set_names(&mut self, wanted: &[FunctionBreakpoint]) -> Vec<Breakpoint> {
        self.of_names.clear();
        let mut answers = Vec::new();
        for one in wanted {
            let id = self.next_id();
            let pattern = Glob::new(&one.name).map_err(|error| format!("{}: {error}", one.name));
            let hit_condition = hit_condition(one.hit_condition.as_deref());
            let mut answer = Breakpoint {
                id: Some(id),
                ..Breakpoint::default()
            };
            match (pattern, hit_condition) {
                (Ok(pattern), Ok(hit_condition)) => {
                    self.of_names.push(JobBreakpoint {
                        id,
                        place: BreakpointPlace::Name(Box::new(pattern.compile_matcher())),
                        condition: text(one.condition.as_deref()),
                        hit_condition,
                        log: None,
                        hits: 0,
                    });
                    answer.verified = true;
                }
                (Err(reason), _) | (_, Err(reason)) => answer.message = Some(reason),
            }
            answers.push(answer);
        }
        answers
    }

    /// True where a step within a composite action may have one.
    pub fn reach_inner_steps(&self) -> bool {
        let is_of_action = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default();
            name == "action.yml" || name == "action.yaml"
        };
        !self.of_names.is_empty()
            || self
                .of_lines
                .iter()
                .any(|(file, all)| is_of_action(file) && !all.is_empty())
    }

    /// True if there is one that may stop the job before a step.
    pub fn may_stop(&self) -> bool {
        !self.of_names.is_empty() || self.of_lines.values().any(|all| !all.is_empty())
    }

    /// Those at a step. `root`: the directory of its file's path.
    pub fn at(&self, step: &StepName, root: &Path) -> Vec<BreakpointArrival> {
        let file = own_file(root, &step.file);
        let all = self.of_lines.values().flatten().chain(&self.of_names);
        let here = all.filter(|one| match &one.place {
            BreakpointPlace::Line(of, line) => *of == file && *line == step.line,
            BreakpointPlace::Name(pattern) => is_named(pattern, step),
        });
        here.map(|one| BreakpointArrival {
            id: one.id,
            is_of_name: matches!(one.place, BreakpointPlace::Name(_)),
            condition: one.condition.clone(),
            log: one.log.clone(),
        })
        .collect()
    }

    /// Counts an arrival at which the condition held. True if the breakpoint acts.
    pub fn hit(&mut self, id: u64) -> bool {
        let mut all = self.of_lines.values_mut().flatten();
        let found = all.find(|one| one.id == id);
        let found = found.or_else(|| self.of_names.iter_mut().find(|one| one.id == id));
        let Some(one) = found else { return false };
        one.hits += 1;
        one.hit_condition
            .is_none_or(|condition| condition.acts_at(one.hits))
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// True for a step by its name or its id. Its post has the name `Post …` alone.
fn is_named(pattern: &GlobMatcher, step: &StepName) -> bool {
    pattern.is_match(&step.name) || step.part == StepPart::Main && pattern.is_match(&step.id)
}

fn hit_condition(text: Option<&str>) -> Result<Option<HitCondition>, String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    text.map(str::parse).transpose()
}

fn text(text: Option<&str>) -> Option<String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

pub fn source_of(file: &Path) -> Source {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Source {
        name,
        path: Some(file.to_string_lossy().into_owned()),
        ..Source::default()
    }
}
