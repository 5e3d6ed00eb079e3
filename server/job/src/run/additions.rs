//! Parts of an edited workflow that a person hears of before they run, as before the start of a run.

use std::collections::BTreeSet;

use super::listing::{JobListing, LineText};

/// Parts that edits of the workflow have added, and to which nobody has agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowAdditions {
    /// Path of the workflow, relative to the repository.
    pub file: String,
    /// Actions that are not on this machine, with their lines.
    pub absent: Vec<LineText>,
    /// Commands that reach out of the run, with their lines.
    pub reaching: Vec<LineText>,
}

/// The text of the workflow as it was read last, and what a person knows of it.
#[derive(Debug)]
pub struct SeenWorkflow {
    /// Err: the reason why it could not be read.
    pub(super) text: Result<String, String>,
    /// None until the text changes.
    pub(super) known: Option<KnownParts>,
    pub(super) additions: Option<WorkflowAdditions>,
    /// A sentence about a text with problems.
    pub(super) problem: Option<String>,
}

/// Parts of the workflow that a person knows: at first those with which the run began.
#[derive(Debug, Default)]
pub(super) struct KnownParts {
    absent: BTreeSet<String>,
    reaching: BTreeSet<String>,
}

impl SeenWorkflow {
    /// A text that a person knows.
    pub(super) fn of(text: &str) -> SeenWorkflow {
        SeenWorkflow {
            text: Ok(text.to_owned()),
            known: None,
            additions: None,
            problem: None,
        }
    }

    /// Parts of the text to which nobody has agreed.
    pub fn additions(&self) -> Option<&WorkflowAdditions> {
        self.additions.as_ref()
    }

    /// Says that a person knows additions: their steps may run, unless the text has others now.
    pub fn agree(&mut self, added: &WorkflowAdditions) {
        if let Some(known) = &mut self.known {
            known.add(&added.absent, &added.reaching);
        }
        self.additions.take_if(|now| now == added);
    }

    /// The sentence about a text with problems.
    pub fn problem(&self) -> Option<&String> {
        self.problem.as_ref()
    }
}

impl KnownParts {
    pub fn of(job: &JobListing) -> KnownParts {
        let mut known = KnownParts::default();
        known.add(&job.absent, &job.reaching);
        known
    }

    pub fn add(&mut self, absent: &[LineText], reaching: &[LineText]) {
        let text = |part: &LineText| part.text.clone();
        self.absent.extend(absent.iter().map(text));
        self.reaching.extend(reaching.iter().map(text));
    }

    /// The parts of a job that are not known.
    pub fn additions(&self, job: JobListing, file: &str) -> Option<WorkflowAdditions> {
        let new = |parts: Vec<LineText>, known: &BTreeSet<String>| -> Vec<LineText> {
            let parts = parts.into_iter();
            parts.filter(|part| !known.contains(&part.text)).collect()
        };
        let added = WorkflowAdditions {
            file: file.to_owned(),
            absent: new(job.absent, &self.absent),
            reaching: new(job.reaching, &self.reaching),
        };
        (!added.absent.is_empty() || !added.reaching.is_empty()).then_some(added)
    }
}
