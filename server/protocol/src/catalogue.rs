//! Catalogue of every method, with the types of its parameters and its result.

use std::any::type_name;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, to_value};

use crate::{
    ApplyEditParams, ApplyEditResult, BlameResult, Checkpoint, CheckpointParams, CheckpointResult,
    CommandFailed, ContentResult, DidCheckpoint, DidRewind, DiffParams, DiffResult, DocumentParams,
    FailureData, ForkParams, ForkResult, NewCheckpointParams, PinParams, PinResult, PlanParams,
    PlanResult, RedoParams, RestoreResult, RevertParams, ReviewParams, ReviewResult, RewindParams,
    SessionsResult, ShowDiffParams, ShowTimelineParams, ShowTimelineResult, Status, SwitchParams,
    TagParams, TagResult, TimelineChanged, TimelineParams, TimelineResult, TurnBeginParams,
    TurnEndParams, TurnResult, UndoParams, Where,
};

/// A protocol type, described by its name, its round trip and, in tests, its schema.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    path: fn() -> &'static str,
    /// Deserializes a value as this type and serializes it again.
    round_trip: fn(Value) -> serde_json::Result<Value>,
    #[cfg(test)]
    pub(crate) schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

#[derive(Clone, Copy, Debug)]
pub struct RequestSpec {
    pub method: &'static str,
    pub params: Shape,
    pub result: Shape,
}

/// A command of `workspace/executeCommand`. It may also answer `CommandFailed`.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    pub name: &'static str,
    /// The command's one argument.
    pub params: Shape,
    pub result: Shape,
}

#[derive(Clone, Copy, Debug)]
pub struct Notification {
    pub method: &'static str,
    pub params: Shape,
}

#[cfg(test)]
pub trait Wire: Serialize + DeserializeOwned + schemars::JsonSchema {}
#[cfg(test)]
impl<T: Serialize + DeserializeOwned + schemars::JsonSchema> Wire for T {}
#[cfg(not(test))]
pub trait Wire: Serialize + DeserializeOwned {}
#[cfg(not(test))]
impl<T: Serialize + DeserializeOwned> Wire for T {}

impl Shape {
    pub(crate) const fn of<T: Wire>() -> Self {
        Self {
            path: type_name::<T>,
            round_trip: |value| to_value(from_value::<T>(value)?),
            #[cfg(test)]
            schema: schemars::SchemaGenerator::subschema_for::<T>,
        }
    }

    pub fn name(self) -> &'static str {
        let path = (self.path)();
        path.rsplit("::").next().unwrap_or(path)
    }

    /// Checks that a value is exactly this type: no required field is missing and none is unknown.
    pub fn is(self, value: &Value) -> Result<(), String> {
        let round_trip = self.round_trip(value)?;
        if round_trip == *value {
            Ok(())
        } else {
            Err(format!(
                "not a {}: {value}\nread as one, it is {round_trip}",
                self.name()
            ))
        }
    }

    /// Checks that a value is this type, possibly with optional fields left out.
    pub fn takes(self, value: &Value) -> Result<(), String> {
        let round_trip = self.round_trip(value)?;
        if covers(&round_trip, value) {
            Ok(())
        } else {
            Err(format!(
                "unknown fields for {}: {value}\nthe known ones are {round_trip}",
                self.name()
            ))
        }
    }

    fn round_trip(self, value: &Value) -> Result<Value, String> {
        (self.round_trip)(value.clone())
            .map_err(|error| format!("{}: {error}: {value}", self.name()))
    }
}

impl CommandSpec {
    /// Checks that a value is an answer to this command: its result, or `CommandFailed`.
    pub fn answers(self, value: &Value) -> Result<(), String> {
        let failed = Shape::of::<CommandFailed>();
        match self.result.is(value) {
            Err(wrong) if failed.is(value).is_err() => Err(wrong),
            _ => Ok(()),
        }
    }
}

fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|whole| covers(whole, value))),
        _ => whole == part,
    }
}

/// Type of the `data` that an error of any of these methods has.
pub const fn failure_data() -> Shape {
    Shape::of::<FailureData>()
}

const fn request<P: Wire, R: Wire>(method: &'static str) -> RequestSpec {
    RequestSpec {
        method,
        params: Shape::of::<P>(),
        result: Shape::of::<R>(),
    }
}

const fn command<P: Wire, R: Wire>(name: &'static str) -> CommandSpec {
    CommandSpec {
        name,
        params: Shape::of::<P>(),
        result: Shape::of::<R>(),
    }
}

const fn notification<P: Wire>(method: &'static str) -> Notification {
    Notification {
        method,
        params: Shape::of::<P>(),
    }
}

/// Requests from the client.
pub const REQUESTS: &[RequestSpec] = &[
    request::<TimelineParams, TimelineResult>("backstitch/timeline"),
    request::<CheckpointParams, CheckpointResult>("backstitch/checkpoint"),
    request::<DiffParams, DiffResult>("backstitch/diff"),
    request::<PlanParams, PlanResult>("backstitch/plan"),
    request::<DocumentParams, ContentResult>("backstitch/content"),
    request::<DocumentParams, BlameResult>("backstitch/blame"),
    request::<Where, SessionsResult>("backstitch/sessions"),
    request::<ReviewParams, ReviewResult>("backstitch/review"),
    request::<TurnBeginParams, TurnResult>("backstitch/turnBegin"),
    request::<ApplyEditParams, ApplyEditResult>("backstitch/applyEdit"),
    request::<TurnEndParams, TurnResult>("backstitch/turnEnd"),
];

pub const COMMANDS: &[CommandSpec] = &[
    command::<RewindParams, RestoreResult>("backstitch.rewind"),
    command::<RevertParams, RestoreResult>("backstitch.revert"),
    command::<UndoParams, RestoreResult>("backstitch.undo"),
    command::<RedoParams, RestoreResult>("backstitch.redo"),
    command::<SwitchParams, RestoreResult>("backstitch.switch"),
    command::<ForkParams, ForkResult>("backstitch.fork"),
    command::<TagParams, TagResult>("backstitch.tag"),
    command::<PinParams, PinResult>("backstitch.pin"),
    command::<NewCheckpointParams, Checkpoint>("backstitch.checkpoint"),
    command::<ShowDiffParams, DiffResult>("backstitch.diff"),
    command::<ShowTimelineParams, ShowTimelineResult>("backstitch.timeline"),
];

/// Notifications from the server.
pub const NOTIFICATIONS: &[Notification] = &[
    notification::<DidCheckpoint>("backstitch/didCheckpoint"),
    notification::<DidRewind>("backstitch/didRewind"),
    notification::<TimelineChanged>("backstitch/timelineChanged"),
    notification::<Status>("backstitch/status"),
];
