//! Settings that take one of several names.

use serde::{Deserialize, Serialize};

use crate::stored_as;

/// Declares a choice: its values with their names.
macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $name {
            pub const ALL: [Self; [$($text,)*].len()] = [$(Self::$value,)*];
            pub const NAMES: [&str; Self::ALL.len()] = [$($text,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }

        impl Choice for $name {
            fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    )*};
}

/// A value of a setting with names.
pub trait Choice: Sized {
    fn from_name(name: &str) -> Option<Self>;
}

choices! {
    /// Scope of code lenses above agents' lines.
    #[derive(Default)]
    Lenses {
        #[default]
        All = "all",
        /// Only the newest session of the workspace.
        Session = "session",
        /// Only the newest turn of the workspace.
        LatestTurn = "latestTurn",
        Off = "off",
    }

    /// Handling of others' edits made after the target of a rewind.
    #[derive(Default)]
    Restoring {
        /// Others' edits stay.
        #[default]
        Merge = "merge",
        /// Others' edits are undone, too.
        Exact = "exact",
    }

    /// Outcome of a pause that nobody has decided in time.
    #[derive(Default)]
    OnTimeout {
        /// The call is refused, and a decision holds for the next try.
        #[default]
        Deny = "deny",
        /// The agent asks its own user.
        Ask = "ask",
        Allow = "allow",
    }

    /// Outcome of a pause that nobody sees.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    Unattended {
        /// The agent's own question if a person sits before it, else the call is held.
        #[default]
        Ask = "ask",
        Hold = "hold",
        Deny = "deny",
        Allow = "allow",
    }

    /// Outcome of a step of a job whose action is absent.
    #[derive(Default)]
    AbsentActions {
        /// The step fails.
        #[default]
        Fail = "fail",
        /// The step is left out.
        Skip = "skip",
    }
}

stored_as!(Unattended as text, "outcome of a pause that nobody sees", {
    Ask = "ask",
    Hold = "hold",
    Deny = "deny",
    Allow = "allow",
});
