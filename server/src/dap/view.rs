//! The job as it stands: a value that answers requests, so that no answer waits for a step.

use std::path::{Path, PathBuf};

use backstitch_job::report::{StepName, StepPart};
use backstitch_job::run::{StandingJob, plain_name};
use backstitch_job::session::{JobSession, LEFT_OUT, StopPlace, value_text};
use backstitch_job::template::schema::TemplateSchema;
use backstitch_job::workflow::StepAction;
use serde_json::{Map, Value, json};

use super::failures::StopFailure;
use crate::jobs::words;

/// Contexts that a view has first.
const FIRST_CONTEXTS: [&str; 5] = ["env", "steps", "inputs", "matrix", "needs"];

/// The name of the scope of files that a step changed.
const CHANGED_FILES: &str = "Changed files";

/// The id of the first frame of the first stop. Ids are never used twice: one of an earlier stop is not that of another frame.
const FIRST_FRAME: u64 = 1;

/// The id of the frame of a step that runs.
pub const RUNNING_FRAME: u64 = 0;

/// A stop.
#[derive(Debug, Default)]
pub struct JobView {
    pub frames: Vec<FrameView>,
    /// The id of the first one.
    first_frame: u64,
    /// The name of the job.
    pub job: String,
    /// Checkpoints to which a step back leads.
    pub available: usize,
    pub failure: Option<StopFailure>,
    /// Lines that complete.
    pub completions: Vec<String>,
    /// Steps ahead beside the next one: the file, the first line, and the name.
    pub ahead: Vec<(PathBuf, u32, String)>,
    /// The directory of files that a command names.
    pub workspace: PathBuf,
    /// Title and text of the script that runs next.
    pub script: Option<(String, String)>,
}

/// A frame: the step where the job stands, those around it, the job, or a step that has run.
#[derive(Debug)]
pub struct FrameView {
    pub id: u64,
    pub name: String,
    pub file: PathBuf,
    pub line: u32,
    /// The checkpoint before the step.
    pub point: Option<usize>,
    /// True for a step that has run.
    pub has_run: bool,
    /// True for the frame of the job.
    pub is_job: bool,
    pub scopes: Vec<ScopeView>,
}

/// Values of a frame, without secrets.
#[derive(Debug)]
pub struct ScopeView {
    pub name: String,
    pub values: Value,
    /// Values that the job gives once a client wants them: they take longer.
    pub asked: Option<AskedScope>,
}

/// Values that are not in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedScope {
    /// Files that a step changed: the one of a checkpoint, or the last one.
    Changes(Option<usize>),
    /// Processes of steps.
    Processes,
}

impl ScopeView {
    fn of(name: &str, values: Value) -> ScopeView {
        ScopeView {
            name: name.to_owned(),
            values,
            asked: None,
        }
    }

    fn asked(name: &str, asked: AskedScope) -> ScopeView {
        ScopeView {
            asked: Some(asked),
            ..ScopeView::of(name, Value::Null)
        }
    }
}

impl JobView {
    /// The job where it stands now. `place_of_job`: its file, and its line there.
    pub fn of(
        session: &mut JobSession,
        place_of_job: &(PathBuf, u32),
        failure: Option<StopFailure>,
    ) -> JobView {
        let root = session.job().repository().root.clone();
        let mut frames = Vec::new();
        let scopes = scopes(session);
        let mut add = |name: String, step: Option<(&StepName, Option<usize>)>, scopes| {
            let file = step.map_or_else(PathBuf::new, |(step, _)| own_file(&root, &step.file));
            frames.push(FrameView {
                id: frames.len() as u64,
                name: session.job().mask(&name),
                file,
                line: step.map_or(0, |(step, _)| step.line),
                point: step.and_then(|(_, point)| point),
                has_run: false,
                is_job: false,
                scopes,
            });
        };
        let stop = session.stop().clone();
        let place = |step: &StepName| point_of(session, step);
        let here = shown_step(&stop);
        let mut scopes = Some(scopes);
        if let Some((shown, step)) = &here {
            add(
                shown.clone(),
                Some((step, place(step))),
                scopes.take().unwrap_or_default(),
            );
            // the composite actions around it
            for depth in (1..step.path.len()).rev() {
                let above = session.points().all().iter();
                let mut above = above.filter(|point| point.step.path == step.path[..depth]);
                if let Some(point) = above.next_back() {
                    let around = &point.step;
                    add(
                        around.name.clone(),
                        Some((around, place(around))),
                        Vec::new(),
                    );
                }
            }
        }
        let job = session.job();
        frames.push(FrameView {
            id: frames.len() as u64,
            name: job.mask(&job.job_name().name),
            file: place_of_job.0.clone(),
            line: place_of_job.1,
            point: None,
            has_run: false,
            is_job: true,
            scopes: scopes.take().unwrap_or_default(),
        });
        let job_name = job.mask(&job.job_name().name);
        add_ended(session, &root, &mut frames);
        JobView {
            job: job_name,
            available: session.points().available().len(),
            failure: failure.map(|failure| failure.masked(session.job())),
            completions: words::completions(session),
            ahead: ahead(session, &root, &stop),
            workspace: session.job().place().workspace.clone(),
            script: script(session),
            first_frame: 0,
            frames,
        }
    }

    /// A job that has not begun.
    pub fn of_job(name: String, (file, line): (PathBuf, u32)) -> JobView {
        JobView {
            job: name.clone(),
            frames: vec![FrameView {
                id: 0,
                name,
                file,
                line,
                point: None,
                has_run: false,
                is_job: true,
                scopes: Vec::new(),
            }],
            ..JobView::default()
        }
    }

    /// Gives the frames their ids: those of the same stop where the view is of it, or else new ones.
    pub fn number_frames(&mut self, last: &JobView, is_same_stop: bool) {
        let begun = last.first_frame.max(FIRST_FRAME);
        self.first_frame = if is_same_stop {
            begun
        } else {
            begun + last.frames.len() as u64
        };
        for frame in &mut self.frames {
            frame.id += self.first_frame;
        }
    }

    /// True for the id of a frame of an earlier stop.
    pub fn is_earlier(&self, frame: u64) -> bool {
        (FIRST_FRAME..self.first_frame).contains(&frame)
    }

    pub fn frame(&self, id: u64) -> Option<&FrameView> {
        self.frames.iter().find(|frame| frame.id == id)
    }
}

/// The step where the job stands, with its name as a frame has it. None: it stands at the end.
fn shown_step(stop: &StopPlace) -> Option<(String, StepName)> {
    match stop {
        StopPlace::Before(step) if step.is_passed_over() => {
            let name = &step.name.name;
            let shown = format!("{name} (is skipped: if: {})", step.step.condition);
            Some((shown, step.name.clone()))
        }
        StopPlace::Before(step) => Some((step.name.name.clone(), step.name.clone())),
        StopPlace::Frozen(frozen) => {
            let time = frozen.ran.as_secs();
            let name = format!("{} (frozen after {time} s)", frozen.name.name);
            Some((name, frozen.name.clone()))
        }
        StopPlace::Failed(name, _) => Some((format!("{} (failed)", name.name), name.clone())),
        StopPlace::End => None,
    }
}

/// Steps ahead beside the one where the job stands, in their order.
fn ahead(session: &JobSession, root: &Path, stop: &StopPlace) -> Vec<(PathBuf, u32, String)> {
    let here = match stop {
        StopPlace::Before(step) => &step.name,
        StopPlace::Failed(name, _) => name,
        StopPlace::Frozen(_) | StopPlace::End => return Vec::new(),
    };
    let file = own_file(root, &here.file);
    let steps = session.job().steps_ahead().here.into_iter();
    let steps = steps.map(|(_, step)| {
        let name = plain_name(&step).unwrap_or_else(|| step.id.clone());
        let line = step.range.start.line;
        (file.clone(), line, session.job().mask(&name))
    });
    steps.collect()
}

/// The script that runs next, without secrets.
fn script(session: &JobSession) -> Option<(String, String)> {
    let StopPlace::Before(step) = session.stop() else {
        return None;
    };
    let text = step.script.as_ref()?.as_ref().ok()?;
    let job = session.job();
    Some((
        format!("{} (script)", job.mask(&step.name.name)),
        job.mask(text),
    ))
}

impl FrameView {
    /// The frame of a step that runs.
    pub fn running(step: &StepName, root: &Path) -> FrameView {
        FrameView {
            id: RUNNING_FRAME,
            name: format!("{} (running)", step.name),
            file: own_file(root, &step.file),
            line: step.line,
            point: None,
            has_run: false,
            is_job: false,
            scopes: Vec::new(),
        }
    }
}

/// Frames of the steps that have run, the newest first: each leads back to before it.
fn add_ended(session: &JobSession, root: &Path, frames: &mut Vec<FrameView>) {
    let available = session.points().available();
    for (place, point) in available.iter().enumerate().rev() {
        let mut state = point.live.canonical();
        state["steps"] = point.live.results_here(&state);
        let values = ["env", "path", "steps"].map(|key| (key, masked(session.job(), &state[key])));
        let scopes = values.map(|(key, values)| ScopeView::of(scope_name(key), values));
        let mut scopes = Vec::from(scopes);
        if point.attempt != LEFT_OUT {
            let changes = AskedScope::Changes(Some(place));
            scopes.push(ScopeView::asked(CHANGED_FILES, changes));
        }
        let attempt = match point.attempt {
            LEFT_OUT => ", left out".to_owned(),
            1 => String::new(),
            attempt => format!(", attempt {attempt}"),
        };
        frames.push(FrameView {
            id: frames.len() as u64,
            name: format!(
                "{} (checkpoint {place}{attempt})",
                session.job().mask(&point.step.name)
            ),
            file: own_file(root, &point.step.file),
            line: point.step.line,
            point: Some(place),
            has_run: true,
            is_job: false,
            scopes,
        });
    }
}

/// The checkpoint before the last start of a step.
fn point_of(session: &JobSession, step: &StepName) -> Option<usize> {
    let mut all = session.points().available().iter();
    all.rposition(|point| point.step.path == step.path && point.step.part == step.part)
}

/// Values at the place where the job stands.
fn scopes(session: &mut JobSession) -> Vec<ScopeView> {
    let mut all = vec![ScopeView::of("Step", step_values(session))];
    let mut contexts = TemplateSchema::of_steps().contexts.clone();
    // those that are looked at and set most often come first
    let place = |name: &&str| FIRST_CONTEXTS.iter().position(|first| first == name);
    contexts.sort_by_key(|name| place(name).unwrap_or(FIRST_CONTEXTS.len()));
    for name in contexts {
        let text = session.evaluate(&format!("toJSON({name})"));
        let text = text.map(|text| value_text(&text)).unwrap_or_default();
        let mut values: Value = serde_json::from_str(&text).unwrap_or_default();
        if name == "secrets" {
            hide(&mut values);
        }
        all.push(ScopeView::of(
            scope_name(name),
            masked(session.job(), &values),
        ));
        if name == "env" {
            let path = session.job().state().path.clone();
            all.push(ScopeView::of(
                scope_name("path"),
                masked(session.job(), &json!(path)),
            ));
        }
    }
    if !session.attempts().all().is_empty() {
        all.push(ScopeView::asked(CHANGED_FILES, AskedScope::Changes(None)));
        all.push(ScopeView::asked("Processes", AskedScope::Processes));
    }
    all
}

/// Processes of steps that run or are frozen, by their numbers.
pub fn process_values(session: &JobSession) -> Value {
    let all = session.job().processes().into_iter();
    let all = all.map(|process| (process.pid.to_string(), json!(process.command)));
    masked(session.job(), &all.collect::<Map<_, _>>().into())
}

/// The step where the job stands: its condition, and its script or action.
fn step_values(session: &JobSession) -> Value {
    let mut values = Map::new();
    let name = match session.stop() {
        StopPlace::Before(step) => Some(&step.name),
        StopPlace::Failed(name, _) => Some(name),
        StopPlace::Frozen(frozen) => Some(&frozen.name),
        StopPlace::End => None,
    };
    if let Some(name) = name {
        values.insert("name".to_owned(), json!(name.name));
        values.insert("id".to_owned(), json!(name.id));
    }
    values.insert(
        "checkpoints".to_owned(),
        json!(session.points().available().len()),
    );
    match session.stop() {
        StopPlace::Before(step) => {
            values.insert("if".to_owned(), json!(step.step.condition));
            let holds = match &step.holds {
                Ok(holds) => json!(holds),
                Err(reason) => json!(reason),
            };
            values.insert("runs".to_owned(), holds);
            values.insert("attempt".to_owned(), json!(session.attempt()));
            match &step.script {
                Some(Ok(script)) => values.insert("script".to_owned(), json!(script)),
                Some(Err(reason)) => values.insert("script".to_owned(), json!(reason)),
                None => None,
            };
            if let StepAction::Uses { uses, .. } = &step.step.action {
                values.insert("uses".to_owned(), json!(uses.value));
            }
            if let Some(shell) = &step.shell {
                values.insert("shell".to_owned(), json!(shell.command));
                values.insert("directory".to_owned(), json!(shell.directory));
            }
        }
        StopPlace::Failed(_, end) => {
            values.insert("reason".to_owned(), json!(end.reason));
            values.insert("ms".to_owned(), json!(end.milliseconds));
        }
        StopPlace::Frozen(_) | StopPlace::End => {}
    }
    masked(session.job(), &values.into())
}

fn scope_name(context: &str) -> &str {
    match context {
        "path" => "PATH",
        other => other,
    }
}

/// Values without secrets: each text is masked.
fn masked(job: &StandingJob, values: &Value) -> Value {
    match values {
        Value::String(text) => job.mask(text).into(),
        Value::Array(all) => all.iter().map(|one| masked(job, one)).collect(),
        Value::Object(all) => {
            let all = all
                .iter()
                .map(|(name, one)| (job.mask(name), masked(job, one)));
            Value::Object(all.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => values.clone(),
    }
}

fn hide(secrets: &mut Value) {
    if let Value::Object(all) = secrets {
        for (_, value) in all.iter_mut() {
            *value = "***".into();
        }
    }
}

/// The user's own file of a step. The steps of a composite action are read from its copy in the run.
pub fn own_file(root: &Path, file: &str) -> PathBuf {
    let path = root.join(file);
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let copy = format!("/files/work/{name}/{name}/");
    let own = file.split_once(&copy).map(|(_, rest)| root.join(rest));
    own.filter(|own| own.is_file()).unwrap_or(path)
}

/// `before 'Build'`: the place in words.
pub fn place_words(stop: &StopPlace) -> String {
    match stop {
        StopPlace::Before(step) => match step.name.part {
            StepPart::Pre | StepPart::Main | StepPart::Post => {
                format!("before '{}'", step.name.name)
            }
        },
        StopPlace::Frozen(frozen) => format!("frozen in '{}'", frozen.name.name),
        StopPlace::Failed(name, _) => format!("'{}' failed", name.name),
        StopPlace::End => "at the end of the job".to_owned(),
    }
}
