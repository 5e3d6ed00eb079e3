//! Settings of workflows and jobs: `defaults`, and the problems of those that only GitHub's servers heed.

use super::conversion::{ConversionError, Problems, boolean, mapping, sequence, text};
use super::model::Defaults;
use crate::template::{TemplateToken, TokenKind};

pub(super) fn defaults(token: &TemplateToken) -> Defaults {
    let Some(run) = token.get("run") else {
        return Defaults::default();
    };
    Defaults {
        shell: run.get("shell").cloned(),
        working_directory: run.get("working-directory").cloned(),
        expression: Some(run).filter(|run| run.is_expression()).cloned(),
    }
}

pub(super) fn check_concurrency(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    if token.is_expression() {
        return Ok(());
    }
    if let Some(group) = token.as_text() {
        check_concurrency_group(token, group, problems);
        return Ok(());
    }
    for (key, value) in mapping(token, "concurrency group")? {
        let name = text(key, "concurrency group key")?;
        if value.is_expression() {
            continue;
        }
        match name {
            "group" => {
                let group = text(value, "concurrency group")?;
                check_concurrency_group(token, group, problems);
            }
            "cancel-in-progress" => boolean(value, "cancel-in-progress").map(drop)?,
            "queue" => text(value, "queue").map(drop)?,
            _ => problems.add(key.range, format!("Invalid property name: {name}")),
        }
    }
    Ok(())
}

fn check_concurrency_group(token: &TemplateToken, group: &str, problems: &mut Problems<'_>) {
    if group.encode_utf16().count() > 400 {
        let message = "Concurrency group name must be less than 400 characters";
        problems.add(token.range, message);
    }
}

pub(super) fn check_environment(token: &TemplateToken) -> Result<(), ConversionError> {
    let TokenKind::Mapping(entries) = &token.kind else {
        return Ok(());
    };
    for (key, value) in entries {
        let name = text(key, "job environment key")?;
        if name == "deployment" && !value.is_expression() {
            boolean(value, "job environment deployment")?;
        }
    }
    Ok(())
}

pub(super) fn check_runs_on(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    check_labels(token)?;
    let TokenKind::Mapping(entries) = &token.kind else {
        return Ok(());
    };
    for (key, value) in entries {
        match text(key, "job runs-on property name")? {
            "group" if !value.is_expression() => {
                let group = text(value, "job runs-on group name")?;
                if let Err(message) = check_group(group) {
                    problems.add(value.range, message);
                }
            }
            "labels" => check_labels(value)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_labels(token: &TemplateToken) -> Result<(), ConversionError> {
    if let TokenKind::Sequence(_) = token.kind {
        for label in sequence(token, "job runs-on")? {
            if !label.is_expression() {
                text(label, "job runs-on label sequence item")?;
            }
        }
    }
    Ok(())
}

/// The problem of a group of runners: `name`, or `organization/name`.
fn check_group(group: &str) -> Result<(), String> {
    const OWNERS: [&str; 4] = ["org", "organization", "ent", "enterprise"];
    let parts: Vec<&str> = group.split('/').collect();
    match parts.as_slice() {
        [_] => Ok(()),
        [owner, name] if OWNERS.contains(owner) => {
            if name.is_empty() {
                Err(format!("Invalid runs-on group name '{group}'."))
            } else {
                Ok(())
            }
        }
        // the place of the quote is GitHub's
        _ => Err(format!(
            "Invalid runs-on group name '{group}. Please use 'organization/' or 'enterprise/' prefix to target a single \
             runner group.'"
        )),
    }
}
