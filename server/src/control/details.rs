//! A held call with everything that a person decides by, in the protocol's form: its input, the files that it would
//! write, and the places that it stands in. Reads the files through the caller's function.

use std::path::{Path, PathBuf};

use backstitch_core::control::{Pause, PauseState};
use backstitch_core::diff;
use backstitch_protocol as protocol;
use serde_json::Value;

use super::inverse::inverse;
use super::lookup::relative;
use super::predict::{
    Outlook, PredictedContent, PredictedFile, Prediction, ReadFile, absolute, predict,
};
use super::proposal::Proposal;
use super::view;
use crate::render;
use crate::to_protocol;

/// Letters of a fingerprint.
const FINGERPRINT: usize = 16;

/// Returns the input of a held call.
pub fn input(pause: &Pause) -> Value {
    if let Some(proposal) = Proposal::of(pause) {
        return proposal.input();
    }
    // one that cannot be read is shown as it is
    super::input::read(pause.call.input.as_bytes())
        .unwrap_or_else(|_| Value::from(pause.call.input.as_str()))
}

fn cwd(pause: &Pause) -> &Path {
    pause.call.cwd.as_deref().unwrap_or(&pause.call.root)
}

/// Predicts a held call with this input.
pub fn predicted(pause: &Pause, input: Value, read: ReadFile) -> protocol::PredictResult {
    if let Some(proposal) = Proposal::of(pause) {
        return proposal.predicted();
    }
    // a call that has run changes no file any more
    let prediction = match pause.call.moment {
        _ if pause.is_program => Prediction::Unpredicted {
            reason: "a program's call: nobody knows its effect on files before it runs",
            names: Vec::new(),
        },
        backstitch_core::control::CallMoment::Before => {
            predict(&pause.call.tool, &input, cwd(pause), read)
        }
        backstitch_core::control::CallMoment::After => Prediction::Unpredicted {
            reason: "the call has run: its changes are on disk",
            names: Vec::new(),
        },
    };
    let root = &pause.call.root;
    let (predicted, unpredicted) = match &prediction {
        Prediction::Files(files) => (files.iter().map(|one| file(one, root)).collect(), None),
        Prediction::Unpredicted { reason, names } => {
            let paths = names.iter().map(|path| text_path(root, path)).collect();
            let reason = (*reason).to_owned();
            (Vec::new(), Some(protocol::Unpredicted { reason, paths }))
        }
    };
    protocol::PredictResult {
        input_text: serde_json::to_string_pretty(&input).unwrap_or_default(),
        fingerprint: fingerprint(&input, &prediction),
        input,
        predicted,
        unpredicted,
    }
}

/// Returns the fields of a call's own input that another input leaves out. The agent takes it as a whole.
pub fn left_out(pause: &Pause, input: &Value) -> Vec<String> {
    let (Value::Object(own), Value::Object(other)) = (self::input(pause), input) else {
        return Vec::new();
    };
    let missing = own.keys().filter(|name| !other.contains_key(*name));
    missing.cloned().collect()
}

/// Predicts a held call whose files are to have these texts. Fails if the tool cannot write them.
pub fn wanted(
    pause: &Pause,
    then: &[protocol::WantedText],
    read: ReadFile,
) -> Result<protocol::PredictResult, String> {
    if pause.call.is_proposal() {
        return Err("a proposed rewind is carried out as it is, or denied".to_owned());
    }
    let root = &pause.call.root;
    let texts: Vec<(PathBuf, Vec<u8>)> = then
        .iter()
        .map(|one| {
            let path = absolute(root, Path::new(&one.path));
            (path, one.text.clone().into_bytes())
        })
        .collect();
    let input = inverse(&pause.call.tool, &input(pause), cwd(pause), &texts, read)?;
    Ok(predicted(pause, input, read))
}

/// The parts of a held call's details that the caller looks up.
#[derive(Debug, Default)]
pub struct Around {
    /// Newest first.
    pub recent: Vec<protocol::Checkpoint>,
    /// In words.
    pub others: Vec<String>,
    pub seq: i64,
}

/// Returns a held call with everything that a person decides by.
pub fn details(pause: &Pause, around: Around, read: ReadFile) -> protocol::PauseDetails {
    let shown = predicted(pause, input(pause), read);
    protocol::PauseDetails {
        seq: around.seq,
        pause: view::pause(pause),
        input: shown.input,
        input_text: shown.input_text,
        cwd: pause.call.cwd.as_deref().map(to_protocol::path),
        predicted: shown.predicted,
        unpredicted: shown.unpredicted,
        fingerprint: shown.fingerprint,
        stack: stack(pause),
        recent: around.recent,
        others: around.others,
    }
}

fn stack(pause: &Pause) -> Vec<protocol::Frame> {
    let call = &pause.call;
    let frame = |kind: &str, name: String| protocol::Frame {
        kind: kind.to_owned(),
        name,
        held: false,
    };
    let mut stack = vec![frame("session", format!("{} {}", call.agent, call.session))];
    if let Some(turn) = call.turn {
        let prompt = call.prompt.as_deref().unwrap_or_default();
        let prompt = render::cut(&render::clean(prompt), 60);
        stack.push(frame(
            "turn",
            format!("t{turn} {prompt}").trim_end().to_owned(),
        ));
    }
    if let Some(subagent) = &call.subagent {
        stack.push(frame("subagent", subagent.clone()));
    }
    let number = call
        .iteration
        .map_or_else(String::new, |number| format!(" (call {number})"));
    stack.push(protocol::Frame {
        held: pause.state == PauseState::Held,
        ..frame("call", format!("{}{number}", call.tool))
    });
    stack
}

fn text_path(root: &Path, path: &Path) -> protocol::Text {
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
