//! What goes wrong: of a request as an error's `data`, of a command of a plain client as its answer.

use crate::restore::Plan;
use crate::{names, shape};

shape! {
    /// An error's `data`.
    pub struct FailureData {
        pub kind: FailureKind,
        /// What to do next.
        pub hint: Option<String>,
        /// The plan, where edits collide.
        pub answer: Option<Box<Plan>>,
    }

    /// What a command answers clients that did not ask for errors; the user has been told.
    pub struct CommandFailed {
        pub error: FailureTold,
    }

    pub struct FailureTold {
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
    }
}
