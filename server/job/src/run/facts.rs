//! The facts of a job: its `github` and `runner` contexts, and the variables that programs get from them.

use std::path::Path;

use crate::expr::{Dict, Value};
use crate::place::RunPlace;
use crate::repository::ProjectRepository;

/// The event that a run pretends.
#[derive(Clone, Debug)]
pub struct WorkflowEvent {
    /// Such as `push`.
    pub name: String,
    /// Its payload, or an empty object.
    pub payload: Value,
    pub file: std::path::PathBuf,
}

/// Names that identify a run.
#[derive(Clone, Debug)]
pub struct RunNames {
    pub workflow_name: String,
    /// Path of the workflow, relative to the repository.
    pub workflow_file: String,
    pub job: String,
    pub actor: String,
    pub run_id: String,
    pub run_number: u64,
    pub attempt: u32,
}

/// The `github` context.
pub fn github(
    names: &RunNames,
    event: &WorkflowEvent,
    repository: &ProjectRepository,
    place: &RunPlace,
    token: &str,
) -> Dict {
    let full_name = format!("{}/{}", repository.owner, repository.name);
    let sha = repository.sha.clone().unwrap_or_default();
    let (ref_type, ref_name) = match repository.git_ref.strip_prefix("refs/tags/") {
        Some(tag) => ("tag", tag),
        None => (
            "branch",
            repository
                .git_ref
                .strip_prefix("refs/heads/")
                .unwrap_or(&repository.git_ref),
        ),
    };
    let server = repository.server_url.as_str();
    let workflow_ref = format!("{full_name}/{}@{}", names.workflow_file, repository.git_ref);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let pull_request = event.name.starts_with("pull_request");
    let mut github = Dict::default();
    let mut set = |name: &str, value: &str| github.set(name, value.into());
    set("token", token);
    set("job", &names.job);
    set("ref", &repository.git_ref);
    set("sha", &sha);
    set("repository", &full_name);
    set("repository_owner", &repository.owner);
    set("repository_owner_id", "0");
    set("repository_id", "0");
    set(
        "repositoryUrl",
        &format!(
            "git://{}/{full_name}.git",
            server.trim_start_matches("https://")
        ),
    );
    set("run_id", &names.run_id);
    set("run_number", &names.run_number.to_string());
    set("retention_days", "90");
    set("run_attempt", &names.attempt.to_string());
    set("actor", &names.actor);
    set("actor_id", "0");
    set("triggering_actor", &names.actor);
    set("workflow", &names.workflow_name);
    set("workflow_ref", &workflow_ref);
    set("workflow_sha", &sha);
    set("head_ref", if pull_request { ref_name } else { "" });
    set(
        "base_ref",
        if pull_request {
            &repository.default_branch
        } else {
            ""
        },
    );
    set("event_name", &event.name);
    set("server_url", server);
    set("api_url", "https://api.github.com");
    set("graphql_url", "https://api.github.com/graphql");
    set("ref_name", ref_name);
    set("ref_type", ref_type);
    set("ref_protected", "false");
    set("secret_source", "Actions");
    set("workspace", &text(&place.workspace));
    set("event_path", &text(&event.file));
    github.set("event", event.payload.clone());
    github
}

/// The `runner` context.
pub fn runner(place: &RunPlace, debug: bool) -> Dict {
    let mut runner = Dict::default();
    let text = |path: &Path| Value::from(path.to_string_lossy().as_ref());
    runner.set("os", system().into());
    runner.set("arch", architecture().into());
    runner.set("name", "backstitch".into());
    runner.set("environment", "self-hosted".into());
    runner.set("tool_cache", text(&place.tool));
    runner.set("temp", text(&place.temp));
    runner.set(
        "workspace",
        place.workspace.parent().map_or(Value::Null, text),
    );
    if debug {
        runner.set("debug", "1".into());
    }
    runner
}

/// The name of this system, as `runner.os` has it.
pub fn system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "macOS",
        "windows" => "Windows",
        _ => "Linux",
    }
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "ARM64",
        "arm" => "ARM",
        "x86" => "X86",
        _ => "X64",
    }
}

/// Names of `github` that no program gets as a variable.
const NOT_VARIABLES: [&str; 5] = [
    "token",
    "event",
    "repositoryUrl",
    "secret_source",
    "job_workflow_sha",
];

/// The variables of the `github` and `runner` contexts: `GITHUB_…`, `RUNNER_…`.
pub fn variables(github: &Dict, runner: &Dict) -> Vec<(String, String)> {
    let mut all = vec![("GITHUB_ACTIONS".to_owned(), "true".to_owned())];
    let texts = |prefix: &'static str, dict: &Dict| {
        let named = dict
            .iter()
            .filter(|(name, _)| !NOT_VARIABLES.contains(name));
        let texts = named.filter_map(move |(name, value)| match value {
            Value::String(text) => Some((
                format!("{prefix}_{}", name.to_ascii_uppercase()),
                text.to_string(),
            )),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    all.extend(texts("GITHUB", github));
    all.extend(texts("RUNNER", runner));
    all
}

/// A count as a number of expressions.
#[allow(clippy::cast_precision_loss)] // a matrix has at most 256 jobs
pub(super) fn number(count: usize) -> f64 {
    count as f64
}
