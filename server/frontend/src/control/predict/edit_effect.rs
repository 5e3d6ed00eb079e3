//! Effect of an edit on a text, as a value.

/// Effect of an edit on a text.
pub enum EditEffect {
    Text(String),
    /// The text, and a reason for doubt.
    Perhaps(String, String),
    /// An effect that cannot be predicted, with the reason.
    Open(String),
    Refused(String),
}
