//! Workflow commands in the output of a step: `::name key=value::data` and `##[name key=value]data`.

/// A command of an output line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowCommand {
    pub name: CommandName,
    /// Properties in their order, with names as written.
    pub properties: Vec<(String, String)>,
    pub data: String,
}

/// Names that GitHub's runner knows. A line with another name is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandName {
    AddMask,
    AddMatcher,
    AddPath,
    Debug,
    Echo,
    EndGroup,
    Error,
    Group,
    Notice,
    RemoveMatcher,
    SaveState,
    SetEnv,
    SetOutput,
    StopCommands,
    Warning,
}

const NAMES: [(&str, CommandName); 15] = [
    ("add-mask", CommandName::AddMask),
    ("add-matcher", CommandName::AddMatcher),
    ("add-path", CommandName::AddPath),
    ("debug", CommandName::Debug),
    ("echo", CommandName::Echo),
    ("endgroup", CommandName::EndGroup),
    ("error", CommandName::Error),
    ("group", CommandName::Group),
    ("notice", CommandName::Notice),
    ("remove-matcher", CommandName::RemoveMatcher),
    ("save-state", CommandName::SaveState),
    ("set-env", CommandName::SetEnv),
    ("set-output", CommandName::SetOutput),
    ("stop-commands", CommandName::StopCommands),
    ("warning", CommandName::Warning),
];

impl CommandName {
    fn of(name: &str) -> Option<CommandName> {
        let known = |(known, _): &&(&str, CommandName)| known.eq_ignore_ascii_case(name);
        NAMES.iter().find(known).map(|(_, name)| *name)
    }

    pub fn as_str(self) -> &'static str {
        let same = |(_, name): &&(&str, CommandName)| *name == self;
        NAMES.iter().find(same).map_or("", |(text, _)| text)
    }
}

impl WorkflowCommand {
    /// Reads the command of a line; none if the line is text.
    pub fn parse(line: &str) -> Option<WorkflowCommand> {
        parse_colons(line).or_else(|| parse_brackets(line))
    }

    pub fn property(&self, name: &str) -> Option<&str> {
        let same = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.properties
            .iter()
            .find(same)
            .map(|(_, value)| value.as_str())
    }
}

/// The token of a line that ends `stop-commands`: `::token::`.
pub fn resumes(line: &str, token: &str) -> bool {
    let line = line.trim_start();
    let colons = line
        .strip_prefix("::")
        .and_then(|rest| rest.strip_prefix(token));
    let brackets = line.find("##[").map(|place| &line[place + 3..]);
    colons.is_some_and(|rest| rest.starts_with("::"))
        || brackets
            .and_then(|rest| rest.strip_prefix(token))
            .is_some_and(|rest| rest.starts_with(']'))
}

fn parse_colons(line: &str) -> Option<WorkflowCommand> {
    let line = line.trim_start();
    let rest = line.strip_prefix("::")?;
    let (head, data) = rest.split_once("::")?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    Some(WorkflowCommand {
        name: CommandName::of(name)?,
        properties: pairs(properties.trim(), ',', |value| unescape(value, PROPERTY)),
        data: unescape(data, DATA),
    })
}

fn parse_brackets(line: &str) -> Option<WorkflowCommand> {
    let rest = &line[line.find("##[")? + 3..];
    let (head, data) = rest.split_once(']')?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    Some(WorkflowCommand {
        name: CommandName::of(name)?,
        properties: pairs(properties.trim(), ';', |value| unescape(value, BRACKETS)),
        data: unescape(data, BRACKETS),
    })
}

fn pairs(text: &str, separator: char, value_of: impl Fn(&str) -> String) -> Vec<(String, String)> {
    let parts = text.split(separator).filter(|part| !part.is_empty());
    let pairs = parts.filter_map(|part| part.split_once('='));
    let named = pairs.map(|(name, value)| (name.trim().to_owned(), value_of(value)));
    named.filter(|(name, _)| !name.is_empty()).collect()
}

/// Escapes of the runner, in the order in which it replaces them: `%25` last.
const DATA: &[(&str, &str)] = &[("%0D", "\r"), ("%0A", "\n"), ("%25", "%")];
const PROPERTY: &[(&str, &str)] = &[
    ("%0D", "\r"),
    ("%0A", "\n"),
    ("%3A", ":"),
    ("%2C", ","),
    ("%25", "%"),
];
const BRACKETS: &[(&str, &str)] = &[
    ("%3B", ";"),
    ("%0D", "\r"),
    ("%0A", "\n"),
    ("%5D", "]"),
    ("%25", "%"),
];

fn unescape(text: &str, escapes: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (escape, character) in escapes {
        text = text.replace(escape, character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings() {
        let command = WorkflowCommand::parse("  ::error file=a.rs,line=1%2C2::bad%0Athing")
            .expect("a command");
        assert_eq!(command.name, CommandName::Error);
        assert_eq!(command.property("FILE"), Some("a.rs"));
        assert_eq!(command.property("line"), Some("1,2"));
        assert_eq!(command.data, "bad\nthing");
        let command =
            WorkflowCommand::parse("12:00 ##[set-output name=a%3B;x=1]v%5D").expect("a command");
        assert_eq!(command.property("name"), Some("a;"));
        assert_eq!(command.data, "v]");
    }

    #[test]
    fn other_lines_are_text() {
        for line in [
            "::unknown::x",
            "a ::error::x",
            "::error",
            "error::x",
            "##[other]x",
        ] {
            assert_eq!(WorkflowCommand::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_token_resumes_commands() {
        assert!(resumes("::abc::", "abc"));
        assert!(resumes("##[abc]", "abc"));
        assert!(!resumes("::abcd::", "abc"));
    }
}
