//! The actions on held calls that the command line and the language server share.

use backstitch_control::{
    Ability, CallMoment, Control, Pause, PauseDecision, Ruling, SeenInput, StepUntil, Undone,
};
use backstitch_core::model::{EditorId, NodeId, OpId, RelPath};
use backstitch_core::restore::{Applied, Goal, OnConflict, OpenDoc, Request};
use backstitch_core::{Engine, Error, LogFilter, Result};

use backstitch_protocol::PredictResult;
use serde_json::Value;

use super::checks::{self, InputProblem};
use super::predict::read_disk;
use super::{shown, words};

/// Steps of a held call's session, by the call at which the next stop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepHow {
    /// The next call of this thread.
    Over,
    /// The next call of any thread.
    Into,
    /// The next call of the main thread, or of another turn.
    Out,
    /// The next call that names another file.
    File,
    /// The first call of another turn.
    Turn,
}

impl StepHow {
    pub const ALL: [Self; 5] = [Self::Over, Self::Into, Self::Out, Self::File, Self::Turn];

    /// The word that people type, and that editors send.
    pub fn name(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Into => "into",
            Self::Out => "out",
            Self::File => "file",
            Self::Turn => "turn",
        }
    }

    /// Reads a word. Err: it is none of these words.
    pub fn named(word: &str) -> std::result::Result<Self, [&'static str; 5]> {
        let mut all = Self::ALL.into_iter();
        all.find(|how| how.name() == word)
            .ok_or_else(|| Self::ALL.map(Self::name))
    }

    /// The call at which the next stop is.
    pub fn until(self, pause: &Pause) -> StepUntil {
        let call = &pause.call;
        match self {
            Self::Over => StepUntil::Over {
                thread: call.subagent.clone(),
            },
            Self::Into => StepUntil::Into,
            Self::Out if call.subagent.is_none() => StepUntil::Turn { turn: call.turn },
            Self::Out => StepUntil::Out { turn: call.turn },
            Self::File => StepUntil::File {
                paths: call.files.clone(),
            },
            Self::Turn => StepUntil::Turn { turn: call.turn },
        }
    }
}

/// The wish that the last steps of a held call's session are taken out.
#[derive(Clone, Copy, Debug)]
pub struct Back<'a> {
    pub steps: usize,
    pub on_conflict: OnConflict,
    pub face: &'a str,
}

/// The editor that acts, with its open documents: it answers no request of another process meanwhile. A terminal has none.
#[derive(Clone, Debug, Default)]
pub struct OwnEditor {
    pub id: Option<EditorId>,
    pub open: Vec<OpenDoc>,
    pub unreadable: Vec<RelPath>,
}

impl OwnEditor {
    fn request(&self, goal: Goal) -> Request {
        Request {
            editor: self.id,
            open: self.open.clone(),
            unreadable: self.unreadable.clone(),
            ..Request::new(goal)
        }
    }
}

/// Takes out the last steps of the held call's session, as a rewind does, and tells the agent. Nothing changes on a
/// conflict, or if another decision was first.
pub fn back(
    engine: &mut Engine,
    control: &Control,
    pause: &Pause,
    back: &Back<'_>,
    editor: &OwnEditor,
) -> Result<(Undone, Applied)> {
    let steps = back.steps;
    // no step is taken out for a call that gets no answer
    if !pause.is_open() {
        return Err(Error::Usage(format!(
            "{} is decided already, and no step was reverted; `backstitch revert` needs no held call",
            pause.id
        )));
    }
    if !pause.call.can.contains(&Ability::Back) {
        return Err(Error::Usage(format!(
            "{} cannot be informed of reverted steps; `backstitch revert` needs no held call",
            pause.call.agent
        )));
    }
    let in_force = in_force(engine, &pause.call.session)?;
    let taken: Vec<NodeId> = in_force.iter().copied().take(steps).collect();
    if steps == 0 {
        return Err(Error::Usage("`back` reverts at least 1 step".to_owned()));
    }
    if taken.is_empty() {
        return Err(Error::Usage(
            "this session has no step that can be taken out".to_owned(),
        ));
    }
    if taken.len() < steps {
        return Err(Error::Usage(format!(
            "this session has only {} that can be taken out",
            crate::render::plural(taken.len(), "step", "steps")
        )));
    }
    let request = Request {
        session: Some(pause.call.session.clone()),
        on_conflict: back.on_conflict,
        ..editor.request(Goal::Revert(taken))
    };
    let applied = engine.restore_mut().apply(&request, None, &mut |_| {})?;
    // calls that ran at the same time go together
    let left = match self::in_force(engine, &pause.call.session) {
        Ok(left) => left,
        Err(error) => return Err(put_back(engine, applied.operation, editor, error)),
    };
    let gone = in_force.iter().rev().filter(|node| !left.contains(node));
    let names: Vec<String> = gone.map(ToString::to_string).collect();
    let decision = PauseDecision::Back {
        message: words::back(
            names.len(),
            &names.join(", "),
            pause.call.moment == CallMoment::After,
        ),
    };
    match control
        .pauses()
        .decide(pause.id, &decision, None, back.face)
    {
        Ok(decided) => Ok((decided, applied)),
        Err(error) => Err(put_back(engine, applied.operation, editor, error)),
    }
}

/// Returns the steps of a session that are in force, the newest first.
fn in_force(engine: &Engine, session: &str) -> Result<Vec<NodeId>> {
    let entries = engine.history().log(&LogFilter {
        session: Some(session.to_owned()),
        kind: Some(backstitch_core::model::Kind::Step),
        ..LogFilter::default()
    })?;
    let in_force = entries.iter().filter(|entry| !entry.taken_out);
    Ok(in_force.map(|entry| entry.node.id).collect())
}

/// Puts steps back whose removal was no longer a decision. `why` is the refusal of it.
fn put_back(engine: &mut Engine, operation: Option<OpId>, editor: &OwnEditor, why: Error) -> Error {
    let Some(operation) = operation else {
        return why;
    };
    let request = editor.request(Goal::Undo(Some(operation)));
    match engine.restore_mut().apply(&request, None, &mut |_| {}) {
        Ok(_) => Error::Usage(format!("{why}; the reverted steps are restored")),
        Err(error) => Error::Usage(format!(
            "{why}; the reverted steps cannot be restored ({error}): see `backstitch undo {operation}`"
        )),
    }
}

/// The wish that a held call continues.
#[derive(Clone, Debug, Default)]
pub struct ContinueRequest {
    /// Another input. None: the one that runs as it is.
    pub input: Option<Value>,
    /// Fingerprint of the call as it was shown. None: it was not.
    pub fingerprint: Option<String>,
    /// Also with an input that the tool will refuse.
    pub force: bool,
}

/// A held call as it continues.
#[derive(Clone, Debug)]
pub struct ContinuedCall {
    pub decision: PauseDecision,
    pub shown: PredictResult,
    /// The changed input that was set when it was looked at. None: another one was given.
    #[expect(
        clippy::option_option,
        reason = "no changed input, and none that was looked at"
    )]
    seen: Option<Option<Value>>,
}

/// The reason why a held call does not continue. It stays held.
#[derive(Debug)]
pub enum ContinueObstacle {
    /// Its input or its files are others than those that were shown.
    Stale,
    Input(InputProblem),
    Error(Error),
}

impl From<Error> for ContinueObstacle {
    fn from(error: Error) -> Self {
        match error {
            Error::InputChanged { .. } => Self::Stale,
            error => Self::Error(error),
        }
    }
}

/// Looks at a held call that is to continue, and returns what runs then: its own input or another. A changed input is refused by
/// name where its agent takes none, and where the tool would refuse it; so is a call that is another than the one that was
/// shown. Programs check their inputs themselves.
pub fn check_continue(
    pause: &Pause,
    wish: &ContinueRequest,
) -> std::result::Result<ContinuedCall, ContinueObstacle> {
    if wish.input.is_some() && !pause.call.can.contains(&Ability::Change) {
        let own = shown::own_input(&pause.call);
        if wish.input.as_ref() != Some(&own) {
            pause.check_changeable()?;
        }
    }
    let input = wish.input.clone();
    let seen = input
        .is_none()
        .then(|| pause.draft.as_ref().map(|draft| draft.input.clone()));
    let shown = shown::predicted(
        pause,
        input.unwrap_or_else(|| shown::input(pause)),
        &read_disk,
    );
    let is_other = |fingerprint: &String| *fingerprint != shown.fingerprint;
    if wish.fingerprint.as_ref().is_some_and(is_other) {
        return Err(ContinueObstacle::Stale);
    }
    let own = shown::own_input(&pause.call);
    if shown.input == own {
        let decision = PauseDecision::Continue;
        return Ok(ContinuedCall {
            decision,
            shown,
            seen,
        });
    }
    if !pause.call.subject.evaluates() && !wish.force {
        let problem = checks::problem(&pause.call, (&own, &shown.input), &shown.predicted);
        if let Some(problem) = problem {
            return Err(ContinueObstacle::Input(problem));
        }
    }
    let decision = PauseDecision::Change {
        input: shown.input.clone(),
    };
    Ok(ContinuedCall {
        decision,
        shown,
        seen,
    })
}

/// Lets a held call continue. `step`: the call at which its agent is stopped next.
pub fn continue_call(
    control: &Control,
    pause: &Pause,
    continued: &ContinuedCall,
    step: Option<&StepUntil>,
    face: &str,
) -> std::result::Result<Undone, ContinueObstacle> {
    let files = shown::stored(&continued.shown.files);
    let ruling = Ruling {
        decision: &continued.decision,
        step,
        face,
        seen: match &continued.seen {
            Some(draft) => SeenInput::Draft(draft.as_ref()),
            None => SeenInput::Any,
        },
        shown: files.as_deref(),
    };
    Ok(control.pauses().rule(pause.id, &ruling)?)
}

/// Sets the input with which a held call runs if it is resumed. None: as the agent gave it. Returns its prediction.
pub fn set_input(
    control: &Control,
    pause: &Pause,
    input: Option<Value>,
    face: &str,
) -> Result<PredictResult> {
    pause.check_changeable()?;
    let own = shown::own_input(&pause.call);
    let shown = shown::predicted(pause, input.unwrap_or_else(|| own.clone()), &read_disk);
    let changed = (shown.input != own).then_some(&shown.input);
    let files = serde_json::to_string(&shown.files).ok();
    control
        .pauses()
        .set_draft(pause.id, changed, face, files.as_deref())?;
    Ok(shown)
}
