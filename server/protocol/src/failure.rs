//! Failures: the `data` of an error, and the answer to a command of a client without our extensions.

use crate::restore::{Conflict, Plan};
use crate::{names, shape};

shape! {
    /// The `data` of an error.
    pub struct FailureData {
        pub kind: FailureKind,
        /// The next step for the user.
        pub hint: Option<String>,
        /// The plan, if there are conflicts.
        pub answer: Option<Box<Plan>>,
        /// The conflicts, if there is no plan.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub conflicts: Option<Vec<Conflict>>,
        /// Next steps, for buttons.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub offers: Vec<Offer>,
    }

    /// A next step that a command takes.
    pub struct Offer {
        /// For example `Rewind Last Turn`.
        pub title: String,
        pub command: String,
        /// The command's one argument.
        pub arguments: serde_json::Value,
    }

    /// Answer to a command for clients that did not ask for errors. The user has already seen the message.
    pub struct CommandFailed {
        pub error: FailureMessage,
    }

    pub struct FailureMessage {
        pub kind: FailureKind,
        pub message: String,
        pub hint: Option<String>,
    }
}

names! {
    pub enum FailureKind {
        Usage,
        NotFound,
        Refused,
        Conflict,
        Cancelled,
        Store,
        Failed,
        /// Another one has decided before.
        AlreadyResumed,
        /// The state changed since it was shown.
        Stale,
        /// A required field is missing, or empty.
        MissingField,
        UnknownPause,
        /// There is no REPL session with this id.
        UnknownSession,
        SessionClosed,
        /// The paused program did not answer in time.
        EvalTimeout,
    }
}
