//! A held call as every front end shows it, and as it runs: one input, its prediction, its fingerprint and its words.
//! Reads the files through the caller's function.

use std::path::{Path, PathBuf};

use backstitch_agents as agents;
use backstitch_control::{CallMoment, HeldCall, Pause, PauseDecision, Subject};
use backstitch_core::diff;
use backstitch_protocol::{self as protocol, CallFile, Text};
use serde_json::Value;

use super::checks;
use super::inverse::inverse;
use super::paths::relative;
use super::predict::{
    CallForm, Outlook, PredictedContent, PredictedFile, Prediction, ReadFile, absolute, form,
    predict, read_disk,
};
use super::proposal::Proposal;
use super::words;
use crate::render;
use crate::to_protocol;

/// Letters of a fingerprint.
const FINGERPRINT: usize = 16;

/// Returns the input of a held call as its agent gave it.
pub fn own_input(call: &HeldCall) -> Value {
    if let Some(proposal) = Proposal::of(call) {
        return proposal.input();
    }
    // one that cannot be read is shown as it is
    super::input::read(call.input.as_bytes()).unwrap_or_else(|_| Value::from(call.input.as_str()))
}

/// Returns the input with which a held call runs if it is resumed: as a user changed it, else the agent's own. A call that
/// was resumed has the input with which it ran.
pub fn input(pause: &Pause) -> Value {
    let Some(decision) = &pause.decision else {
        let draft = pause.draft.as_ref();
        return draft.map_or_else(|| own_input(&pause.call), |draft| draft.input.clone());
    };
    if let PauseDecision::Change { input } = decision
        && !pause.call.subject.evaluates()
    {
        return input.clone();
    }
    own_input(&pause.call)
}

/// Returns the words of a prediction that may not hold: "will fail: …" or "not sure: …".
pub fn caveat(file: &protocol::PredictedFile) -> Option<String> {
    let word = if file.fails { "will fail" } else { "not sure" };
    file.why.as_ref().map(|why| format!("{word}: {why}"))
}

/// Returns the predicted change of a file as a unified diff; nothing if a text is not known: it is binary or too large.
pub fn unified(file: &protocol::PredictedFile) -> String {
    let now = file.now.as_deref().or((file.letter == "A").then_some(""));
    let then = file.then.as_deref().or((file.letter == "D").then_some(""));
    now.zip(then).map_or_else(String::new, |(now, then)| {
        let hunks = diff::hunks_of(now.as_bytes(), then.as_bytes(), diff::CONTEXT);
        String::from_utf8_lossy(&hunks).into_owned()
    })
}

/// Returns an input as the agent runs it, if it is told this one. Gemini CLI keeps the fields that it does not have.
pub fn as_it_runs(call: &HeldCall, input: Value) -> Value {
    let lays_over = agents::agent(&call.agent).is_some_and(agents::Agent::lays_input_over);
    match (own_input(call), input) {
        (Value::Object(mut own), Value::Object(over)) if lays_over => {
            own.extend(over);
            Value::Object(own)
        }
        (_, input) => input,
    }
}

fn cwd(call: &HeldCall) -> &Path {
    call.cwd.as_deref().unwrap_or(&call.root)
}

/// Predicts a held call with this input.
pub fn predicted(pause: &Pause, input: Value, read: ReadFile) -> protocol::PredictResult {
    prediction(&pause.call, input, read)
}

/// Predicts a held call with the input with which it runs.
pub fn now(pause: &Pause, read: ReadFile) -> protocol::PredictResult {
    predicted(pause, input(pause), read)
}

fn prediction(call: &HeldCall, input: Value, read: ReadFile) -> protocol::PredictResult {
    if let Some(proposal) = Proposal::of(call) {
        let files: Vec<CallFile> = proposal.files.iter().map(call_file).collect();
        let summary = words::summary(call, &Value::Null, &files);
        return proposal.predicted(files, summary);
    }
    let input = as_it_runs(call, input);
    let is_program = call.subject == Subject::Program;
    // a call that has run changes no file any longer
    let prediction = match call.moment {
        _ if is_program => Prediction::Unpredicted {
            reason: "a program's call: its effect on files is not known before it runs",
            names: Vec::new(),
        },
        CallMoment::Before => predict(&call.tool, &input, cwd(call), read),
        CallMoment::After => Prediction::Unpredicted {
            reason: "the call has run: its changes are on disk",
            names: Vec::new(),
        },
    };
    let root = &call.root;
    let (predicted, unpredicted): (Vec<protocol::PredictedFile>, _) = match &prediction {
        Prediction::Files(files) => (files.iter().map(|one| file(one, root)).collect(), None),
        Prediction::Reads { names } => {
            let names: Vec<String> = names.iter().map(|path| relative(root, path)).collect();
            let reason = if names.is_empty() {
                "it only reads".to_owned()
            } else {
                format!("it reads {}", names.join(", "))
            };
            let paths = Vec::new();
            (Vec::new(), Some(protocol::Unpredicted { reason, paths }))
        }
        Prediction::Unpredicted { reason, names } => {
            let paths = names.iter().map(|path| text_path(root, path)).collect();
            let is_predictable = !is_program && matches!(call.moment, CallMoment::Before);
            let reason = if is_predictable && is_distorted(call, &input) {
                format!(
                    "{} does not take an input of this form",
                    render::clean(&call.tool)
                )
            } else {
                (*reason).to_owned()
            };
            (Vec::new(), Some(protocol::Unpredicted { reason, paths }))
        }
    };
    let files: Vec<CallFile> = predicted.iter().map(call_file).collect();
    let own = own_input(call);
    let problem = if is_program || input == own {
        None
    } else {
        checks::problem(call, (&own, &input), &predicted)
    };
    protocol::PredictResult {
        command: words::command(call, &input).filter(|_| !is_program),
        input_text: serde_json::to_string_pretty(&input).unwrap_or_default(),
        fingerprint: fingerprint(&input, &prediction),
        summary: words::summary(call, &input, &files),
        problem: problem.map(|problem| problem.reason),
        input,
        predicted,
        unpredicted,
        files,
    }
}

/// True if a user changed the input of a known tool so that it is none of this tool any longer: a field is missing, or has
/// another type.
fn is_distorted(call: &HeldCall, input: &Value) -> bool {
    form(&call.tool, input) == CallForm::Other
        && form(&call.tool, &own_input(call)) != CallForm::Other
}

/// Predicts a held call whose files are to have these texts. Fails if the tool cannot write them.
pub fn wanted(
    pause: &Pause,
    then: &[protocol::WantedText],
    read: ReadFile,
) -> Result<protocol::PredictResult, String> {
    if pause.call.subject == Subject::Proposal {
        return Err("a proposed rewind is carried out as it is, or denied".to_owned());
    }
    let call = &pause.call;
    let texts: Vec<(PathBuf, Vec<u8>)> = then
        .iter()
        .map(|one| {
            let path = absolute(&call.root, Path::new(&one.path));
            (path, one.text.clone().into_bytes())
        })
        .collect();
    let input = inverse(&call.tool, &input(pause), cwd(call), &texts, read)?;
    Ok(predicted(pause, input, read))
}

/// A held call in a row or a message.
#[derive(Clone, Debug)]
pub struct HeldRow {
    /// The call in one line, with all its files.
    pub summary: String,
    pub files: Vec<CallFile>,
    /// None: it is decided, or over.
    pub fingerprint: Option<String>,
}

/// Returns a held call as it is shown in rows and messages. One that is over has its files as they were shown last.
pub fn row(pause: &Pause) -> HeldRow {
    if pause.is_open() {
        let shown = now(pause, &read_disk);
        return HeldRow {
            summary: shown.summary,
            files: shown.files,
            fingerprint: Some(shown.fingerprint),
        };
    }
    let shown = pause.call.shown.as_deref();
    let files = shown.and_then(|text| serde_json::from_str(text).ok());
    let files: Vec<CallFile> = files.unwrap_or_default();
    HeldRow {
        summary: words::summary(&pause.call, &input(pause), &files),
        files,
        fingerprint: None,
    }
}

/// Returns a held call in one line, with all its files.
pub fn summary(pause: &Pause) -> String {
    row(pause).summary
}

/// The files that a call would write, for its row: they are shown after it has run.
pub fn stored_files(call: &HeldCall) -> Option<String> {
    let shown = prediction(call, own_input(call), &read_disk);
    stored(&shown.files)
}

/// Files as a row keeps them. None: there are none.
pub fn stored(files: &[CallFile]) -> Option<String> {
    (!files.is_empty())
        .then(|| serde_json::to_string(files).ok())
        .flatten()
}

fn call_file(file: &protocol::PredictedFile) -> CallFile {
    CallFile {
        path: file.path.clone(),
        moved_from: file.moved_from.clone(),
        letter: file.letter.clone(),
        added: file.added,
        removed: file.removed,
        binary: file.binary,
        fails: file.fails,
    }
}

fn text_path(root: &Path, path: &Path) -> Text {
    to_protocol::text(relative(root, path).as_bytes())
}

fn file(one: &PredictedFile, root: &Path) -> protocol::PredictedFile {
    let letter = match (&one.before, &one.after) {
        _ if one.moved_from.is_some() => "R",
        (PredictedContent::Absent, _) => "A",
        (_, PredictedContent::Absent) => "D",
        _ => "M",
    };
    let side = |content: &PredictedContent| match content {
        PredictedContent::Absent => Some(Vec::new()),
        content => content.text().map(<[u8]>::to_vec),
    };
    let sides = side(&one.before).zip(side(&one.after));
    let counts = sides.as_ref().map(|(now, then)| diff::counts(now, then));
    let line = sides
        .as_ref()
        .and_then(|(now, then)| diff::first_change(now, then));
    let words = |content: &PredictedContent| {
        content
            .text()
            .map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let (certain, fails, why) = match &one.outlook {
        Outlook::Certain => (true, false, None),
        Outlook::Unsure(why) => (false, false, Some(why.clone())),
        Outlook::Fails(why) => (false, true, Some(why.clone())),
    };
    let is_opaque = |content: &PredictedContent| matches!(content, PredictedContent::Size(_));
    protocol::PredictedFile {
        path: text_path(root, &one.path),
        moved_from: one.moved_from.as_deref().map(|path| text_path(root, path)),
        letter: letter.to_owned(),
        now: words(&one.before),
        then: words(&one.after),
        added: counts.map(|counts| counts.0),
        removed: counts.map(|counts| counts.1),
        line,
        certain,
        binary: is_opaque(&one.before) || is_opaque(&one.after),
        fails,
        why,
    }
}

/// Names an input and the files as they are now.
fn fingerprint(input: &Value, prediction: &Prediction) -> String {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    // clients send the fields back in any order
    let mut input = input.clone();
    input.sort_all_objects();
    add(input.to_string().as_bytes());
    if let Prediction::Files(files) = prediction {
        for file in files {
            add(file.path.as_os_str().as_encoded_bytes());
            add(format!("{:?}", file.before).as_bytes());
        }
    }
    hash.finalize().to_hex()[..FINGERPRINT].to_owned()
}
