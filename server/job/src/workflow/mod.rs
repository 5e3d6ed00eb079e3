//! Workflows as typed values, with all problems that GitHub's parser finds in their text.

mod call;
mod condition;
mod container;
pub(crate) mod conversion;
mod convert;
mod cron;
mod events;
mod ids;
mod job;
pub mod matrix;
mod model;
mod needs;
mod order;
mod settings;
mod steps;
mod strategy;
#[cfg(test)]
mod tests;

pub(crate) use condition::condition_of;
pub(crate) use conversion::{ConversionError, Problems};
pub(crate) use ids::Ids;
pub use model::*;
pub use order::order;
pub(crate) use steps::{check_uses, id_words};

use crate::position::WorkflowProblem;
use crate::template::schema::TemplateSchema;
use crate::{template, yaml};

/// Reads a workflow. `file` is its path, relative to the repository. There is a workflow if there are no problems.
pub fn read(file: &str, text: &str) -> (Option<Workflow>, Vec<WorkflowProblem>) {
    let (token, problems) = template(
        TemplateSchema::workflow(),
        "workflow-root-strict",
        file,
        text,
    );
    match token {
        Some(token) if problems.is_empty() => convert::convert(file, &token),
        _ => (None, problems),
    }
}

/// Problems of the calls of a workflow. `text_of` returns the text of a file by its path in the repository.
pub fn check_calls(
    workflow: &Workflow,
    text_of: impl Fn(&str) -> Option<String>,
) -> Vec<WorkflowProblem> {
    let of_call = |call: &CallBody| {
        let path = call.own_path()?;
        let Some(text) = text_of(path) else {
            let mut problems = Problems::new(&workflow.file);
            problems.add(call.uses.range, "Unable to find reusable workflow");
            return Some(problems.into_vec());
        };
        // its file has its own problems
        let called = read(path, &text).0?;
        Some(call::check_call(&workflow.file, call, &called))
    };
    workflow.calls().filter_map(of_call).flatten().collect()
}

/// The template of a file, and its problems.
pub(crate) fn template(
    schema: &TemplateSchema,
    root: &str,
    file: &str,
    text: &str,
) -> (Option<template::TemplateToken>, Vec<WorkflowProblem>) {
    match yaml::parse(text) {
        Ok(node) => template::read(schema, root, file, node.as_ref()),
        Err(error) => {
            let problem = WorkflowProblem {
                file: file.to_owned(),
                range: error.range,
                message: error.message,
            };
            (None, vec![problem])
        }
    }
}
