//! Versions of tools that the steps of a workflow want and that are not on this machine. The tools are started to tell theirs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::builtin::Builtin;
use crate::contexts::{At, JobFacts};
use crate::expr::Dict;
use crate::repository::ProjectRepository;
use crate::state::JobState;
use crate::template::schema::TemplateSchema;
use crate::template::{TemplateToken, TokenKind, expand_text};
use crate::workflow::{self, Body, StepAction, StepsBody};

use super::listing::{LineText, MatrixListing, asks_for, matrix_of};
use super::uses::{ActionSources, FoundAction, RemoteAction, UsesText};

/// An action and its inputs.
type Wish = (String, Vec<(String, String)>);

/// Compares versions for the workflows of one project. Each wish is looked up once.
#[derive(Debug)]
pub struct ToolVersions<'a> {
    sources: &'a ActionSources,
    repository: &'a ProjectRepository,
    /// The reason why a version is missing.
    known: BTreeMap<Wish, Option<String>>,
}

impl<'a> ToolVersions<'a> {
    /// Nothing is looked up yet.
    pub fn new(sources: &'a ActionSources, repository: &'a ProjectRepository) -> ToolVersions<'a> {
        ToolVersions {
            sources,
            repository,
            known: BTreeMap::new(),
        }
    }

    /// The steps of a workflow whose tool is here in other versions, with their lines. A version that only a run knows is
    /// left out.
    pub fn missing(&mut self, file: &str, text: &str) -> Vec<LineText> {
        let (workflow, _) = workflow::read(file, text);
        let mut missing = Vec::new();
        for job in workflow.iter().flat_map(|workflow| &workflow.jobs) {
            if let Body::Steps(body) = &job.body {
                let matrix = matrix_of(job.strategy.matrix.as_ref());
                self.add_missing(body, &matrix, &mut missing);
            }
        }
        missing
    }

    fn add_missing(
        &mut self,
        body: &StepsBody,
        matrix: &MatrixListing,
        missing: &mut Vec<LineText>,
    ) {
        for step in &body.steps {
            let StepAction::Uses { uses, with } = &step.action else {
                continue;
            };
            let UsesText::Remote(action) = UsesText::parse(&uses.value) else {
                continue;
            };
            for combination in combinations(matrix) {
                let Some(inputs) = inputs(with.as_ref(), combination) else {
                    continue;
                };
                let note = self.reason(&action, inputs).map(|reason| LineText {
                    line: uses.range.start.line,
                    text: format!("{}: {reason}", uses.value),
                });
                missing.extend(note.filter(|note| !missing.contains(note)));
            }
        }
    }

    fn reason(&mut self, action: &RemoteAction, inputs: Vec<(String, String)>) -> Option<String> {
        let FoundAction::Builtin(builtin) = self.sources.find(action) else {
            return None;
        };
        if builtin == Builtin::Checkout {
            return self.other_repository(&inputs);
        }
        let host = &self.sources.host;
        // listed as absent already
        if !builtin.has_tool(host) {
            return None;
        }
        let found = self.known.entry((action.full_name(), inputs));
        let inputs = found.key().1.clone();
        let look = || builtin.lacks_version(&action.git_ref, &inputs, host, self.repository);
        found.or_insert_with(look).clone()
    }
}

impl ToolVersions<'_> {
    /// The repository that a checkout wants and whose directory nobody has named.
    fn other_repository(&self, inputs: &[(String, String)]) -> Option<String> {
        let of = |wanted: &str| {
            let found = inputs.iter().find(|(name, _)| name == wanted);
            found
                .map(|(_, value)| value.trim())
                .filter(|value| !value.is_empty())
        };
        let name = of("repository")?;
        if name.eq_ignore_ascii_case(&self.repository.full_name()) {
            return None;
        }
        let git_ref = of("ref").unwrap_or_default();
        let names = [format!("{name}@{git_ref}"), name.to_owned()];
        let named = names.iter().filter_map(|name| self.sources.named.get(name));
        let is_here = named.flatten().next().is_some();
        (!is_here).then(|| format!("the repository {name}"))
    }
}

/// The known combinations of a matrix; one without values where there is none.
fn combinations(matrix: &MatrixListing) -> Vec<Option<&Dict>> {
    match matrix {
        MatrixListing::None => vec![None],
        MatrixListing::Combinations(all) => all.iter().map(Some).collect(),
        MatrixListing::Later(_) => Vec::new(),
    }
}

/// The inputs of a step that are known before a run. None: a version is not among them.
fn inputs(with: Option<&TemplateToken>, matrix: Option<&Dict>) -> Option<Vec<(String, String)>> {
    let Some(TokenKind::Mapping(pairs)) = with.map(|with| &with.kind) else {
        return Some(Vec::new());
    };
    let facts = JobFacts {
        matrix: matrix.cloned(),
        ..JobFacts::default()
    };
    let state = JobState::default();
    let at = At::outside(&facts, &state, Path::new("/"));
    let mut of_runs = TemplateSchema::of_steps().contexts;
    // a combination of the matrix is known before
    of_runs.retain(|context| *context != "matrix");
    let mut inputs = Vec::new();
    for (name, value) in pairs {
        let name = expand_text(name, &at).ok()?;
        let known = asks_for(value, &of_runs)
            .is_none()
            .then(|| expand_text(value, &at).ok());
        match known.flatten() {
            Some(value) => inputs.push((name, value)),
            None if name.contains("version") || name.contains("toolchain") => return None,
            None => {}
        }
    }
    Some(inputs)
}
