//! Outcomes of pauses that nobody answers.

use serde::{Deserialize, Serialize};

use crate::stored_as;

/// Outcome of a pause that nobody has decided in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// The call is refused, and a decision holds for the next try.
    #[default]
    Deny,
    /// The agent asks its own user.
    Ask,
    Allow,
}

impl OnTimeout {
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Outcome of a pause that nobody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unattended {
    /// The agent's own question if a person sits before it, else the call is held.
    Ask,
    Hold,
    Deny,
    Allow,
}

impl Unattended {
    pub const ALL: [Self; 4] = [Self::Ask, Self::Hold, Self::Deny, Self::Allow];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Hold => "hold",
            Self::Deny => "deny",
            Self::Allow => "allow",
        }
    }
}

stored_as!(Unattended as text, "outcome of a pause that nobody sees", {
    Ask = "ask",
    Hold = "hold",
    Deny = "deny",
    Allow = "allow",
});
