//! Rules of agents' edit and write tools, as seen with the real programs: the form in which each agent declares its own.

/// A tool that edits or writes a file, known by its name and the names of its fields.
#[derive(Clone, Copy, Debug)]
pub struct EditTool {
    pub names: &'static [&'static str],
    pub fields: EditFields,
    pub rules: &'static EditRules,
}

/// The fields of an edit tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditFields {
    /// It replaces text. One of these fields is in its input.
    Replaces(&'static [&'static str]),
    /// It writes a whole file.
    Writes {
        path: &'static str,
        content: &'static str,
    },
}

/// Rules of one agent's tools.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate rule, named where it is set"
)]
#[derive(Debug, PartialEq, Eq)]
pub struct EditRules {
    /// As people call it.
    pub agent: &'static str,
    pub ends: Ends,
    /// The tool also looks for text that resembles the old one.
    pub is_loose: bool,
    /// Several matches may still be told apart by such a search.
    pub several_may_match: bool,
    pub deletes_line: DeletesLine,
    /// Typographic quotes in the file match plain ones in the old text.
    pub equates_quotes: bool,
    /// All edits of one call, or none of them.
    pub edits_as_one: bool,
    /// The file ends with a newline after the edit if it did before.
    pub keeps_final_newline: bool,
    /// An edit without old text.
    pub fills: Fills,
    pub dollars: Dollars,
    pub refuses_links: bool,
    /// Files that are not UTF-8 text are refused.
    pub refuses_binary: bool,
    pub write: WriteRules,
    /// A reason for doubt about everything that the tool writes.
    pub doubt: Option<&'static str>,
}

/// Line endings of an edited file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The tool edits the text in LF. The whole file then gets the endings that most of its first lines have.
    Majority,
    /// The tool edits the text in LF. The whole file then gets CRLF if it has one.
    AnyCrlf {
        /// CRLF in the new text counts as LF.
        new_text: bool,
    },
    /// Old and new text get CRLF if the file has one. The rest of the file stays.
    Adapted,
}

/// An edit that removes text up to the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletesLine {
    No,
    /// The newline after it is removed, too.
    Yes,
    Maybe,
}

/// Files that an edit without old text fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fills {
    New,
    NewOrBlank,
    Empty,
    /// A new file, also with old text.
    AnyNew,
}

/// Cases in which `$` in the new text may have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dollars {
    Plain,
    /// With the option that replaces every match.
    InAll,
    Anywhere,
}

/// Rules for whole files.
#[derive(Debug, PartialEq, Eq)]
pub struct WriteRules {
    pub bom: Bom,
    /// A file with CRLF keeps it in all its lines.
    pub keeps_crlf: bool,
    pub refuses_existing: bool,
    pub refuses_new_folder: bool,
}

/// The byte-order mark of a file that is written as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bom {
    Kept,
    /// Two agents have the same tool here, and differ.
    KeptOrLost,
    /// Only what the content says.
    Lost,
}

pub const PLAIN_WRITE: WriteRules = WriteRules {
    bom: Bom::Lost,
    keeps_crlf: false,
    refuses_existing: false,
    refuses_new_folder: false,
};

/// A tool that nobody knows, with the form of an edit.
pub const UNKNOWN: EditRules = EditRules {
    agent: "The tool",
    ends: Ends::Adapted,
    is_loose: true,
    several_may_match: true,
    deletes_line: DeletesLine::No,
    equates_quotes: false,
    edits_as_one: false,
    keeps_final_newline: false,
    fills: Fills::New,
    dollars: Dollars::Plain,
    refuses_links: false,
    refuses_binary: false,
    write: PLAIN_WRITE,
    doubt: Some("the tool is not known, and only its input has the form of an edit"),
};
