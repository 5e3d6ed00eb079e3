//! Breakpoints of a client: on lines, on names of steps, on data, and on failures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstitch_control::HitCondition;
use backstitch_job::report::StepName;
use dapts::{Breakpoint, DataBreakpoint, FunctionBreakpoint, Source, SourceBreakpoint};
use globset::{Glob, GlobMatcher};

use super::data::JobData;
use super::failures::{FailureFilter, FailureKind};
use super::step_names::NamedJob;
use super::steps::{FileStep, steps_of};
use super::view::own_file;

/// All breakpoints of a client.
#[derive(Debug)]
pub struct ClientBreakpoints {
    of_lines: BTreeMap<PathBuf, Vec<JobBreakpoint>>,
    of_names: Vec<JobBreakpoint>,
    of_data: Vec<JobBreakpoint>,
    /// The job that is stepped through, once it is launched.
    pub job: Option<NamedJob>,
    /// Failures at which the job stops.
    pub failures: Vec<FailureFilter>,
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
    Data(JobData),
}

/// A breakpoint as a client wants it. A place that there is not has a sentence about it.
struct WantedBreakpoint<'a> {
    place: Result<BreakpointPlace, String>,
    condition: Option<&'a str>,
    hit_condition: Option<&'a str>,
    log: Option<&'a str>,
}

/// A breakpoint at a step where the job arrives.
#[derive(Clone, Debug)]
pub struct BreakpointArrival {
    pub id: u64,
    /// The reason of a stop.
    pub word: &'static str,
    /// An expression.
    pub condition: Option<String>,
    /// A text with expressions in braces, which is shown instead of a stop.
    pub log: Option<String>,
}

impl Default for ClientBreakpoints {
    /// Those of a client that names no filters of failures, such as Helix: the filters that are on by default.
    fn default() -> ClientBreakpoints {
        ClientBreakpoints {
            of_lines: BTreeMap::new(),
            of_names: Vec::new(),
            of_data: Vec::new(),
            job: None,
            failures: FailureFilter::that_are_on(),
            last_id: 0,
        }
    }
}

impl ClientBreakpoints {
    /// Replaces those of a file. The lines are from 1.
    pub fn set_lines(&mut self, file: &Path, wanted: &[SourceBreakpoint]) -> Vec<Breakpoint> {
        let steps = steps_of(file);
        let wanted = wanted.iter().map(|one| {
            let at = |step: &&FileStep| (step.first..=step.last).contains(&one.line);
            let step = steps.as_ref().map_err(Clone::clone).and_then(|steps| {
                let found = steps.iter().find(at);
                found.ok_or_else(|| format!("Line {} is in no step.", one.line))
            });
            let place = step.map(|step| BreakpointPlace::Line(file.to_owned(), step.first));
            let wanted = WantedBreakpoint {
                place,
                condition: one.condition.as_deref(),
                hit_condition: one.hit_condition.as_deref(),
                log: one.log_message.as_deref(),
            };
            (one.line, wanted)
        });
        let (lines, wanted): (Vec<u32>, Vec<WantedBreakpoint>) = wanted.unzip();
        let earlier = self.of_lines.remove(file).unwrap_or_default();
        let (kept, mut answers) = self.replaced(earlier, wanted);
        for (answer, line) in answers.iter_mut().zip(lines) {
            answer.source = Some(source_of(file));
            answer.line = answer.line.or(Some(line));
        }
        self.of_lines.insert(file.to_owned(), kept);
        answers
    }

    /// Replaces those on names, ids and patterns of steps.
    pub fn set_names(&mut self, wanted: &[FunctionBreakpoint]) -> Vec<Breakpoint> {
        let wanted = wanted.iter().map(|one| {
            let pattern = match one.name.trim() {
                "" => {
                    Err("No step is named: write a name, an id, a pattern, or JOB/STEP.".to_owned())
                }
                name => Glob::new(name).map_err(|error| format!("{name}: {error}")),
            };
            WantedBreakpoint {
                place: pattern.map(|one| BreakpointPlace::Name(Box::new(one.compile_matcher()))),
                condition: one.condition.as_deref(),
                hit_condition: one.hit_condition.as_deref(),
                log: None,
            }
        });
        let wanted = wanted.collect();
        let earlier = std::mem::take(&mut self.of_names);
        let (kept, mut answers) = self.replaced(earlier, wanted);
        self.of_names = kept;
        for (id, reason) in self.missing_names() {
            let mut all = answers.iter_mut();
            if let Some(one) = all.find(|one| one.id == Some(id)) {
                (one.verified, one.message) = (false, Some(reason));
            }
        }
        answers
    }

    /// Breakpoints whose names no step has, with the reason. They are kept: an edit may give a step the name.
    fn missing_names(&self) -> Vec<(u64, String)> {
        let all = self.of_names.iter().filter_map(|one| {
            let BreakpointPlace::Name(pattern) = &one.place else {
                return None;
            };
            let reason = match &self.job {
                Some(job) => job.missing(pattern)?,
                None => "No job is launched yet.".to_owned(),
            };
            Some((one.id, reason))
        });
        all.collect()
    }

    /// Takes the job. Returns the breakpoints on names as they are with it.
    pub fn set_job(&mut self, job: NamedJob) -> Vec<Breakpoint> {
        self.job = Some(job);
        let missing = self.missing_names();
        let all = self.of_names.iter().map(|one| {
            let reason = missing.iter().find(|(id, _)| *id == one.id);
            Breakpoint {
                id: Some(one.id),
                verified: reason.is_none(),
                message: reason.map(|(_, reason)| reason.clone()),
                ..Breakpoint::default()
            }
        });
        all.collect()
    }

    /// Replaces those on data.
    pub fn set_data(&mut self, wanted: &[DataBreakpoint]) -> Vec<Breakpoint> {
        let wanted = wanted.iter().map(|one| WantedBreakpoint {
            place: JobData::parse(&one.data_id).map(BreakpointPlace::Data),
            condition: one.condition.as_deref(),
            hit_condition: one.hit_condition.as_deref(),
            log: None,
        });
        let wanted = wanted.collect();
        let earlier = std::mem::take(&mut self.of_data);
        let (kept, answers) = self.replaced(earlier, wanted);
        self.of_data = kept;
        answers
    }

    /// Breakpoints in place of earlier ones, and an answer for each. An equal one keeps its number and its hits: a client sends all of
    /// a file when one of them changes.
    fn replaced(
        &mut self,
        mut earlier: Vec<JobBreakpoint>,
        wanted: Vec<WantedBreakpoint>,
    ) -> (Vec<JobBreakpoint>, Vec<Breakpoint>) {
        let mut kept = Vec::new();
        let answers = wanted.into_iter().map(|one| {
            let hit_condition = text(one.hit_condition).map(|text| text.parse()).transpose();
            let (place, hit_condition) = match (one.place, hit_condition) {
                (Ok(place), Ok(hit_condition)) => (place, hit_condition),
                (Err(reason), _) | (_, Err(reason)) => {
                    return Breakpoint {
                        id: Some(self.next_id()),
                        message: Some(reason),
                        ..Breakpoint::default()
                    };
                }
            };
            let new = JobBreakpoint {
                id: 0,
                place,
                condition: text(one.condition),
                hit_condition,
                log: text(one.log),
                hits: 0,
            };
            let known = earlier.iter().position(|known| known.is_as(&new));
            let one = match known {
                Some(place) => earlier.swap_remove(place),
                None => JobBreakpoint {
                    id: self.next_id(),
                    ..new
                },
            };
            let answer = Breakpoint {
                id: Some(one.id),
                verified: true,
                line: one.place.line(),
                ..Breakpoint::default()
            };
            kept.push(one);
            answer
        });
        let answers = answers.collect();
        (kept, answers)
    }

    /// Data that is watched, with the ids of its breakpoints.
    pub fn data(&self) -> Vec<(u64, JobData)> {
        let all = self.of_data.iter().filter_map(|one| match &one.place {
            BreakpointPlace::Data(data) => Some((one.id, data.clone())),
            BreakpointPlace::Line(..) | BreakpointPlace::Name(_) => None,
        });
        all.collect()
    }

    /// A breakpoint as if the job had arrived at it.
    pub fn arrival(&self, id: u64) -> Option<BreakpointArrival> {
        self.all()
            .find(|one| one.id == id)
            .map(JobBreakpoint::arrival)
    }

    fn all(&self) -> impl Iterator<Item = &JobBreakpoint> {
        let lines = self.of_lines.values().flatten();
        lines.chain(&self.of_names).chain(&self.of_data)
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

    /// True if something may stop the job before a step, or after one that succeeds.
    pub fn may_stop(&self) -> bool {
        let is_of_failed_steps = |one: &FailureFilter| match one.kind {
            FailureKind::Failed | FailureKind::FailedButContinued => true,
            FailureKind::AbsentAction | FailureKind::ErrorCommand => false,
        };
        self.all().next().is_some() || !self.failures.iter().all(is_of_failed_steps)
    }

    /// Those at a step. `root`: the directory of its file's path.
    pub fn at(&self, step: &StepName, root: &Path) -> Vec<BreakpointArrival> {
        let file = own_file(root, &step.file);
        let here = self.all().filter(|one| match &one.place {
            BreakpointPlace::Line(of, line) => *of == file && *line == step.line,
            BreakpointPlace::Name(pattern) => {
                let job = self.job.as_ref();
                job.is_some_and(|job| job.has(pattern, step))
            }
            BreakpointPlace::Data(_) => false,
        });
        here.map(JobBreakpoint::arrival).collect()
    }

    /// Counts an arrival at which the condition held. True if the breakpoint acts.
    pub fn hit(&mut self, id: u64) -> bool {
        let lines = self.of_lines.values_mut().flatten();
        let mut all = lines.chain(&mut self.of_names).chain(&mut self.of_data);
        let Some(one) = all.find(|one| one.id == id) else {
            return false;
        };
        one.hits += 1;
        one.hit_condition
            .is_none_or(|condition| condition.acts_at(one.hits))
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

impl BreakpointPlace {
    fn line(&self) -> Option<u32> {
        match self {
            BreakpointPlace::Line(_, line) => Some(*line),
            BreakpointPlace::Name(_) | BreakpointPlace::Data(_) => None,
        }
    }

    fn is_as(&self, other: &BreakpointPlace) -> bool {
        match (self, other) {
            (BreakpointPlace::Line(file, line), BreakpointPlace::Line(of, at)) => {
                file == of && line == at
            }
            (BreakpointPlace::Name(one), BreakpointPlace::Name(other)) => {
                one.glob() == other.glob()
            }
            (BreakpointPlace::Data(one), BreakpointPlace::Data(other)) => one == other,
            _ => false,
        }
    }
}

impl JobBreakpoint {
    /// True if both stop a job at the same times.
    fn is_as(&self, other: &JobBreakpoint) -> bool {
        self.place.is_as(&other.place)
            && self.condition == other.condition
            && self.hit_condition == other.hit_condition
            && self.log == other.log
    }

    fn arrival(&self) -> BreakpointArrival {
        BreakpointArrival {
            id: self.id,
            word: match self.place {
                BreakpointPlace::Line(..) => "breakpoint",
                BreakpointPlace::Name(_) => "function breakpoint",
                BreakpointPlace::Data(_) => "data breakpoint",
            },
            condition: self.condition.clone(),
            log: self.log.clone(),
        }
    }
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
