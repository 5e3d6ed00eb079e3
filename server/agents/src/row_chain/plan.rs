//! The plan of a new session, before it is written.

/// The rows of a new session, before they are written.
#[derive(Debug)]
pub struct CutPlan {
    /// Rows of the record in the order in which the model is shown them.
    pub shown: Vec<usize>,
    pub summary: Summary,
    /// The row of the record at which the new chain ends. None: it ends with the summary, or is empty.
    pub leaf: Option<usize>,
    /// Rows of the start that follow the summary, each after the one before: the attachments that stay, then the prompt.
    pub after_summary: Vec<usize>,
}

/// The place of the summary in a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    None,
    /// The first row.
    First,
    /// The last row, whose parent is this one.
    Last(Option<usize>),
}
