//! Steps of a job.

use super::condition::{self, condition_of};
use super::conversion::{ConversionError, Problems, boolean, located, mapping, sequence, text};
use super::ids::Ids;
use super::model::{StepAction, WorkflowStep};
use crate::position::Located;
use crate::template::TemplateToken;
use crate::template::schema::TemplateSchema;

pub(super) fn convert(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<Vec<WorkflowStep>, ConversionError> {
    let items = sequence(token, "job steps")?;
    let mut ids = Ids::default();
    let mut steps = Vec::new();
    for item in items {
        let step = convert_step(item, &mut ids, problems);
        steps.extend(problems.note(step).flatten());
    }
    for step in steps.iter_mut().filter(|step| step.id.is_empty()) {
        step.id = ids.make(&id_words(&step.action));
    }
    Ok(steps)
}

/// A step whose kind is known only at its end.
#[derive(Default)]
struct StepDraft {
    id: String,
    name: Option<TemplateToken>,
    condition: Option<String>,
    env: Option<TemplateToken>,
    timeout_minutes: Option<TemplateToken>,
    continue_on_error: Option<TemplateToken>,
    run: Option<TemplateToken>,
    shell: Option<TemplateToken>,
    working_directory: Option<TemplateToken>,
    uses: Option<Located<String>>,
    with: Option<TemplateToken>,
    parallel: Option<Located<String>>,
}

fn convert_step(
    token: &TemplateToken,
    ids: &mut Ids,
    problems: &mut Problems<'_>,
) -> Result<Option<WorkflowStep>, ConversionError> {
    let mut draft = StepDraft::default();
    let mut nested = None;
    for (key, value) in mapping(token, "steps item")? {
        match text(key, "steps item key")? {
            "parallel" => {
                draft.parallel = Some(located(key, "steps item key")?);
                nested = Some(value);
            }
            name => draft.property(name, value, ids, problems)?,
        }
    }
    let action = if let Some(script) = draft.run {
        StepAction::Run {
            script,
            shell: draft.shell,
            working_directory: draft.working_directory,
        }
    } else if let Some(uses) = draft.uses {
        check_uses(&uses, problems);
        let with = draft.with;
        StepAction::Uses { uses, with }
    } else if let (Some(key), Some(nested)) = (draft.parallel, nested) {
        for step in convert(nested, problems)? {
            if matches!(step.action, StepAction::Background(_)) {
                problems.add(token.range, "Nested 'parallel' blocks are not allowed.");
            }
        }
        StepAction::Background(key)
    } else {
        problems.add(token.range, "Expected one of uses or run to be defined");
        return Ok(None);
    };
    Ok(Some(WorkflowStep {
        id: draft.id,
        range: token.range,
        name: draft.name,
        condition: draft
            .condition
            .unwrap_or_else(|| condition::DEFAULT.to_owned()),
        env: draft.env,
        timeout_minutes: draft.timeout_minutes,
        continue_on_error: draft.continue_on_error,
        action,
    }))
}

impl StepDraft {
    fn property(
        &mut self,
        name: &str,
        value: &TemplateToken,
        ids: &mut Ids,
        problems: &mut Problems<'_>,
    ) -> Result<(), ConversionError> {
        let token = || Some(value.clone());
        match name {
            "id" => {
                let id = text(value, "steps item id")?;
                match ids.take(id) {
                    Ok(()) => id.clone_into(&mut self.id),
                    Err(message) => problems.add(value.range, message),
                }
            }
            "name" => self.name = token(),
            "run" => self.run = token(),
            "shell" => self.shell = token(),
            "working-directory" => self.working_directory = token(),
            "uses" => self.uses = Some(located(value, "steps item uses")?),
            "with" => self.with = token(),
            "env" => self.env = token(),
            "if" => {
                let allowed = TemplateSchema::workflow().allowed("step-if");
                self.condition = Some(condition_of(value, &allowed, problems));
            }
            "continue-on-error" => {
                if !value.is_expression() {
                    boolean(value, "steps item continue-on-error")?;
                }
                self.continue_on_error = token();
            }
            "timeout-minutes" => self.timeout_minutes = token(),
            _ => {}
        }
        Ok(())
    }
}

/// Notes the problem of an action that is not a path, an image or `owner/name@ref`.
pub(crate) fn check_uses(uses: &Located<String>, problems: &mut Problems<'_>) {
    if uses_words(&uses.value).is_empty() && !uses.value.starts_with("docker://") {
        let message = format!(
            "Expected format {{org}}/{{repo}}[/path]@ref. Actual '{}'",
            uses.value
        );
        problems.add(uses.range, message);
    }
}

/// The words of the id that GitHub makes for a step: `actions/checkout`, or `run`.
pub(crate) fn id_words(action: &StepAction) -> String {
    let words = match action {
        StepAction::Run { .. } => String::new(),
        StepAction::Uses { uses, .. } => uses_words(&uses.value),
        StepAction::Background(key) => key.value.clone(),
    };
    if words.is_empty() {
        "run".to_owned()
    } else {
        words
    }
}

fn uses_words(uses: &str) -> String {
    if let Some(image) = uses.strip_prefix("docker://") {
        return image.to_owned();
    }
    if ["./", ".\\", "$/"].iter().any(|own| uses.starts_with(own)) {
        return "self".to_owned();
    }
    let mut parts = uses.split('@');
    let (Some(path), Some(reference), None) = (parts.next(), parts.next(), parts.next()) else {
        return String::new();
    };
    let mut names = path.split(['/', '\\']).filter(|name| !name.is_empty());
    match (names.next(), names.next()) {
        (Some(owner), Some(name)) if !reference.is_empty() => format!("{owner}/{name}"),
        _ => String::new(),
    }
}
