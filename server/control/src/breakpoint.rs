//! Breakpoints as values: the kinds, the scope, the condition on the count, and their text forms. Pure.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::hit_condition::HitCondition;
use backstitch_core::command_words::{CommandPattern, has_expression_signs};
use backstitch_core::config::Unattended;
use backstitch_core::model::RelPath;
use backstitch_core::{Error, Result};

/// Maximum size in bytes of a compiled regular expression.
const REGEX_LIMIT: usize = 1 << 20;

/// Number of a breakpoint. People see `b3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BreakpointId(pub i64);

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// A breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint {
    pub id: BreakpointId,
    /// Name for scripts: `bp_<milliseconds>_<4 letters>`.
    pub name: String,
    pub spec: BreakpointSpec,
    pub moment: CallMoment,
    #[serde(default)]
    pub scope: BreakpointScope,
    /// Condition in jq.
    #[serde(default)]
    pub condition: Option<String>,
    /// Condition on the number of triggers.
    #[serde(default)]
    pub hits_when: Option<HitCondition>,
    pub action: BreakpointAction,
    /// Message of a denial for the model, or the text of a log point.
    #[serde(default)]
    pub message: Option<String>,
    /// True if its first hit removes it.
    #[serde(default)]
    pub once: bool,
    pub enabled: bool,
    /// Number of triggers so far.
    pub hits: i64,
    /// Outcome of a pause that nobody sees. None: the setting `pause.unattended`.
    #[serde(default)]
    pub unattended: Option<Unattended>,
    /// The face that made it: `cli`, `vscode`, …
    pub made_by: String,
    /// Microseconds since 1970.
    pub created: i64,
    /// The last failure of its condition.
    #[serde(default)]
    pub problem: Option<String>,
}

/// Kind of a breakpoint, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BreakpointSpec {
    /// Calls of a tool. `condition`: a regular expression on the input.
    Tool {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<String>,
    },
    /// Calls that name, or have changed, a file with such a path.
    Path {
        glob: String,
        /// True: not calls that only read it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        edits: bool,
    },
    /// Edits that touch lines of a file. Lines count from 1.
    Line {
        path: String,
        start: u32,
        count: u32,
    },
    /// Edits that add a line which matches.
    Content {
        regex: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Calls whose input matches, whatever the case.
    Pattern { regex: String },
    /// Shell commands whose text matches an expression, or that have these words and options. One of both.
    Command {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regex: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// The call with this number in its session.
    Iteration { number: u32 },
    /// The first call of a turn. `number`: `t4` is 4.
    Turn { number: u32 },
    /// Calls that failed.
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Each call of a turn that has used up something.
    Budget { of: BudgetOf, limit: u64 },
    /// Calls of a function that a program watches. `name`: `module.function`, `function`, or a glob.
    Function { name: String },
    /// The next call. `pause` and the steps set it.
    Any,
    /// The next call that a step stops at.
    Step { how: StepUntil },
}

/// Measure of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetOf {
    Calls,
    Files,
    Lines,
    Minutes,
    Tokens,
}

/// The call at which a step stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "until", rename_all = "lowercase")]
pub enum StepUntil {
    /// The next call of this thread.
    Over { thread: Option<String> },
    /// The next call of any thread.
    Into,
    /// The next call of the main thread, or of another turn. A step out of the main thread is `Turn`.
    Out { turn: Option<i64> },
    /// The next call that names another file.
    File { paths: Vec<String> },
    /// The first call of another turn.
    Turn { turn: Option<i64> },
}

/// Sides of a call on which a kind triggers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TriggerSides {
    /// The side for which the breakpoint was set.
    Chosen,
    ChosenAndAfter,
    After,
}

/// The side of a call on which a breakpoint triggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallMoment {
    #[default]
    Before,
    After,
}

/// The calls that a breakpoint is about. None: all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakpointScope {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own id of the session, or its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A subagent's id; `main` is the main thread, `*` every subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BreakpointAction {
    Pause,
    /// Writes a text to the log, and lets the call run.
    Log,
    /// Refuses the call, with a message for the model.
    Deny,
}

impl BreakpointSpec {
    /// A breakpoint on shell commands, as typed: an expression between slashes, or one that has signs of an expression, else
    /// the words and options of a command.
    pub fn command(typed: &str) -> Self {
        let between = typed
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let regex = match between {
            Some(regex) if !regex.is_empty() => Some(regex.to_owned()),
            _ => has_expression_signs(typed).then(|| typed.to_owned()),
        };
        Self::Command {
            words: regex.is_none().then(|| typed.to_owned()),
            regex,
        }
    }

    /// The limits of a kind in one line, for the person who makes such a breakpoint. None: it has none that surprise.
    pub fn limits(&self) -> Option<&'static str> {
        Some(match self {
            Self::Path { edits: true, .. } => {
                "It does not see files that a program opens by itself, nor calls that only read. A change by a program is seen after the call."
            }
            Self::Path { .. } => {
                "It does not see files that a program opens by itself, as a build or a script does. A change of one is seen after the call."
            }
            Self::Line { .. } => {
                "Before a call it sees edit tools alone. A change of these lines by a command is seen after it ran."
            }
            Self::Content { .. } => {
                "It sees texts that tools write. A text that a command writes is seen with --after alone."
            }
            Self::Command { words: Some(_), .. } => {
                "It sees these words and options in any order and spelling. It does not see a command that a script or an alias runs; /expression/ looks for any text."
            }
            Self::Command { .. } => {
                "An expression sees the text of a command alone: `rm -rf` is not `rm -fr`. Words without signs of an expression are told apart by options."
            }
            Self::Tool { .. } => "It sees calls of this tool alone; another tool may do the same.",
            Self::Pattern { .. } => {
                "It sees the input of calls, not the files that they read or write."
            }
            Self::Function { .. } => {
                "It sees calls that a program watches, in programs that run `backstitch` clients."
            }
            Self::Iteration { .. }
            | Self::Turn { .. }
            | Self::Error { .. }
            | Self::Budget { .. }
            | Self::Any
            | Self::Step { .. } => return None,
        })
    }

    /// Name of the kind, as in `backstitch breakpoint add KIND`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tool { .. } => "tool",
            Self::Path { .. } => "path",
            Self::Line { .. } => "line",
            Self::Content { .. } => "content",
            Self::Pattern { .. } => "pattern",
            Self::Command { .. } => "command",
            Self::Iteration { .. } => "iteration",
            Self::Turn { .. } => "turn",
            Self::Error { .. } => "error",
            Self::Budget { .. } => "budget",
            Self::Function { .. } => "function",
            Self::Any => "any",
            Self::Step { .. } => "step",
        }
    }

    /// The pattern of paths to which this kind is limited.
    pub fn paths(&self) -> Option<&str> {
        match self {
            Self::Path { glob, .. } => Some(glob),
            Self::Content { path, .. } => path.as_deref(),
            Self::Tool { .. }
            | Self::Line { .. }
            | Self::Pattern { .. }
            | Self::Command { .. }
            | Self::Iteration { .. }
            | Self::Turn { .. }
            | Self::Error { .. }
            | Self::Budget { .. }
            | Self::Function { .. }
            | Self::Any
            | Self::Step { .. } => None,
        }
    }

    /// The one declaration of the sides of a call on which a kind triggers.
    fn sides(&self) -> TriggerSides {
        match self {
            // a call fails after it ran
            Self::Error { .. } => TriggerSides::After,
            // a change that nobody could predict is found after it
            Self::Path { .. } | Self::Line { .. } => TriggerSides::ChosenAndAfter,
            Self::Tool { .. }
            | Self::Content { .. }
            | Self::Pattern { .. }
            | Self::Command { .. }
            | Self::Iteration { .. }
            | Self::Turn { .. }
            | Self::Budget { .. }
            | Self::Function { .. }
            | Self::Any
            | Self::Step { .. } => TriggerSides::Chosen,
        }
    }

    /// The side of a call on which this kind triggers unless the user says otherwise.
    pub fn usual_moment(&self) -> CallMoment {
        match self.sides() {
            TriggerSides::After => CallMoment::After,
            TriggerSides::Chosen | TriggerSides::ChosenAndAfter => CallMoment::Before,
        }
    }

    /// True if a breakpoint of this kind that was set for a side is looked at on this one.
    pub fn looks_at(&self, set: CallMoment, moment: CallMoment) -> bool {
        match self.sides() {
            TriggerSides::After => moment == CallMoment::After,
            TriggerSides::ChosenAndAfter => set == moment || moment == CallMoment::After,
            TriggerSides::Chosen => set == moment,
        }
    }

    /// Checks expressions, patterns and numbers. Err: the reason, for the user.
    pub fn check(&self) -> Result<()> {
        let usage = |reason: String| Err(Error::Usage(reason));
        match self {
            Self::Tool { name, condition } => {
                glob(name)?;
                condition
                    .as_deref()
                    .map_or(Ok(()), |text| regex(text, Case::Ignored).map(drop))
            }
            Self::Path { glob: text, .. } | Self::Function { name: text } => glob(text).map(drop),
            Self::Line { path, start, count } => {
                if RelPath::new(path.as_bytes()).is_none() {
                    return usage(format!("`{path}` is not a path below the workspace"));
                }
                if *start == 0 || *count == 0 {
                    return usage("lines count from 1, and a region has at least one".to_owned());
                }
                if start.checked_add(*count).is_none() {
                    return usage(format!("no file has a line {start} and {count} more"));
                }
                Ok(())
            }
            Self::Content { regex: text, path } => {
                expression(text, Case::Counts)?;
                path.as_deref().map_or(Ok(()), |path| glob(path).map(drop))
            }
            Self::Pattern { regex: text } => expression(text, Case::Ignored),
            Self::Command { regex, words } => match (regex, words) {
                (Some(text), None) => expression(text, Case::Counts),
                (None, Some(text)) => CommandPattern::new(text).map(drop),
                _ => usage("a command has either `words` or `regex`".to_owned()),
            },
            Self::Error { tool } => tool.as_deref().map_or(Ok(()), |tool| glob(tool).map(drop)),
            Self::Iteration { number: 0 } => {
                usage("iterations of a session count from 1".to_owned())
            }
            Self::Turn { number: 0 } => usage("turns count from 1".to_owned()),
            Self::Budget { limit: 0, .. } => usage("a budget is at least 1".to_owned()),
            Self::Iteration { .. }
            | Self::Turn { .. }
            | Self::Budget { .. }
            | Self::Any
            | Self::Step { .. } => Ok(()),
        }
    }

    /// True if this kind can trigger on that side of a call.
    pub fn allows(&self, moment: CallMoment) -> bool {
        self.sides() != TriggerSides::After || moment == CallMoment::After
    }

    /// The parameters in one line, as in lists: `Bash`, `src/**`, `src/auth.rs:10-20`.
    pub fn summary(&self) -> String {
        match self {
            Self::Tool {
                name,
                condition: Some(regex),
            } => format!("{name} /{regex}/"),
            Self::Tool {
                name,
                condition: None,
            }
            | Self::Function { name } => name.clone(),
            Self::Path { glob, edits } => match (edits, literal_text(glob)) {
                (false, Some(path)) => path,
                (false, None) => glob.clone(),
                (true, Some(path)) => format!("{path} (edits)"),
                (true, None) => format!("{glob} (edits)"),
            },
            Self::Line { path, start, count } => match count {
                1 => format!("{path}:{start}"),
                count => format!("{path}:{start}-{}", start.saturating_add(count - 1)),
            },
            Self::Content { regex, path: None } | Self::Pattern { regex } => format!("/{regex}/"),
            Self::Command { regex, words } => match (regex, words) {
                (Some(regex), _) => format!("/{regex}/"),
                (None, words) => words.clone().unwrap_or_default(),
            },
            Self::Content {
                regex,
                path: Some(path),
            } => format!(
                "/{regex}/ in {}",
                literal_text(path).as_deref().unwrap_or(path)
            ),
            Self::Iteration { number } => format!("{number}"),
            Self::Turn { number } => format!("t{number}"),
            Self::Error { tool } => tool.clone().unwrap_or_default(),
            Self::Budget { of, limit } => format!("{limit} {}", of.name()),
            Self::Any => String::new(),
            Self::Step { how } => how.name().to_owned(),
        }
    }
}

impl BudgetOf {
    pub const ALL: [Self; 5] = [
        Self::Calls,
        Self::Files,
        Self::Lines,
        Self::Minutes,
        Self::Tokens,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Files => "files",
            Self::Lines => "lines",
            Self::Minutes => "minutes",
            Self::Tokens => "tokens",
        }
    }
}

impl StepUntil {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Over { .. } => "over",
            Self::Into => "into",
            Self::Out { .. } => "out",
            Self::File { .. } => "file",
            Self::Turn { .. } => "turn",
        }
    }
}

impl BreakpointScope {
    /// True if a call of this agent, session and thread is in scope.
    pub fn has(&self, agent: &str, session: &str, thread: Option<&str>) -> bool {
        let is_agent = self.agent.as_deref().is_none_or(|name| name == agent);
        let is_session = self
            .session
            .as_deref()
            .is_none_or(|id| session.starts_with(id));
        let is_thread = match (self.subagent.as_deref(), thread) {
            (None, _) | (Some("main"), None) | (Some("*"), Some(_)) => true,
            (Some("main" | "*"), _) | (Some(_), None) => false,
            (Some(wanted), Some(thread)) => thread.starts_with(wanted),
        };
        is_agent && is_session && is_thread
    }
}

/// Case of letters in a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Counts,
    Ignored,
}

/// Checks the expression of a breakpoint. An empty one would match everything.
fn expression(text: &str, case: Case) -> Result<()> {
    if text.is_empty() {
        return Err(Error::Usage("a regular expression is not empty".to_owned()));
    }
    regex(text, case).map(drop)
}

/// Compiles a regular expression.
pub fn regex(text: &str, case: Case) -> Result<Regex> {
    RegexBuilder::new(text)
        .case_insensitive(case == Case::Ignored)
        .size_limit(REGEX_LIMIT)
        .build()
        .map_err(|error| {
            // the last line of a syntax error is the reason; those before it draw the place
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            Error::Usage(format!("the regular expression `{text}`: {reason}"))
        })
}

/// The characters that a glob does not take literally.
const WILDCARDS: [char; 6] = ['*', '?', '[', '{', '\\', ']'];

/// Returns a path as a glob of this path alone.
pub fn literal_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for c in path.chars() {
        if WILDCARDS.contains(&c) || c == '}' {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

/// Returns the start of a glob up to its first wildcard, as a path, and true if that is the whole.
pub fn fixed_start(glob: &str) -> (String, bool) {
    let mut start = String::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => start.extend(chars.next()),
            '*' | '?' | '[' | '{' => return (start, false),
            c => start.push(c),
        }
    }
    (start, true)
}

/// The path that a glob stands for. None: it is a pattern, or has nothing to take literally.
fn literal_text(glob: &str) -> Option<String> {
    let (path, is_whole) = fixed_start(glob.strip_suffix("/**").unwrap_or(glob));
    let is_escaped = is_whole && glob.contains('\\');
    let end = if glob.ends_with("/**") { "/**" } else { "" };
    is_escaped.then(|| format!("{path}{end}"))
}

/// Compiles a glob. `*` stays within a directory, `**` does not.
pub fn glob(text: &str) -> Result<GlobMatcher> {
    if text.is_empty() {
        return Err(Error::Usage("a pattern is not empty".to_owned()));
    }
    GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Error::Usage(format!("the pattern `{text}`: {}", error.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_expressions_are_refused_with_the_reason() {
        let said = |spec: BreakpointSpec| spec.check().expect_err("refused").to_string();
        let look_around = said(BreakpointSpec::Pattern {
            regex: "a(?=b)".into(),
        });
        assert!(look_around.contains("look-around"), "{look_around}");
        let open = said(BreakpointSpec::command("rm ("));
        assert!(open.contains("unclosed group"), "{open}");
        let glob = said(BreakpointSpec::Path {
            glob: "src/[".into(),
            edits: false,
        });
        assert!(glob.contains("`src/[`"), "{glob}");
        let outside = said(BreakpointSpec::Line {
            path: "../x".into(),
            start: 1,
            count: 1,
        });
        assert!(outside.contains("`../x`"), "{outside}");
    }

    #[test]
    fn lines_beyond_every_file_are_refused() {
        let spec = BreakpointSpec::Line {
            path: "a".into(),
            start: u32::MAX,
            count: 2,
        };
        assert!(spec.check().is_err());
        assert_eq!(spec.summary(), format!("a:{0}-{0}", u32::MAX));
    }

    /// S2-006: an error is known after the call. S2-L2 limit: where iteration and error breakpoints pause is said by their moment.
    #[test]
    fn moments_of_kinds() {
        let error = BreakpointSpec::Error { tool: None };
        assert!(error.allows(CallMoment::After) && !error.allows(CallMoment::Before));
        assert_eq!(error.usual_moment(), CallMoment::After);
        assert!(BreakpointSpec::Any.allows(CallMoment::Before));
        let iteration = BreakpointSpec::Iteration { number: 3 };
        assert_eq!(iteration.usual_moment(), CallMoment::Before);
    }

    #[test]
    fn scope_of_threads() {
        let scope = |subagent: Option<&str>| BreakpointScope {
            subagent: subagent.map(str::to_owned),
            ..BreakpointScope::default()
        };
        assert!(scope(None).has("a", "s", Some("x")));
        assert!(scope(Some("main")).has("a", "s", None));
        assert!(!scope(Some("main")).has("a", "s", Some("x")));
        assert!(scope(Some("*")).has("a", "s", Some("x")));
        assert!(!scope(Some("*")).has("a", "s", None));
        assert!(scope(Some("x1")).has("a", "s", Some("x123")));
        assert!(!scope(Some("x1")).has("a", "s", Some("y")));
    }

    #[test]
    fn a_command_is_words_or_an_expression() {
        let command = |typed: &str| serde_json::to_value(BreakpointSpec::command(typed)).unwrap();
        for (typed, field, value) in [
            ("rm -rf", "words", "rm -rf"),
            ("/rm -rf/", "regex", "rm -rf"),
            ("rm +-rf", "regex", "rm +-rf"),
            ("/bin/rm", "words", "/bin/rm"),
            ("^true$", "regex", "^true$"),
        ] {
            let json = command(typed);
            assert_eq!(json, serde_json::json!({ "kind": "command", field: value }));
        }
        // one that an older version stored
        let old = r#"{"kind":"command","regex":"rm -rf"}"#;
        let old: BreakpointSpec = serde_json::from_str(old).expect("a spec");
        assert_eq!(
            (old.check().is_ok(), old.summary()),
            (true, "/rm -rf/".to_owned())
        );
        assert_eq!(BreakpointSpec::command("rm -rf").summary(), "rm -rf");
    }

    #[test]
    fn a_literal_glob_is_shown_as_the_path() {
        let glob = literal_glob("app/[id]/{x}*.tsx");
        assert_eq!(fixed_start(&glob), ("app/[id]/{x}*.tsx".to_owned(), true));
        assert!(super::glob(&glob).unwrap().is_match("app/[id]/{x}*.tsx"));
        let spec = |glob: &str| BreakpointSpec::Path {
            glob: glob.to_owned(),
            edits: false,
        };
        assert_eq!(spec(&glob).summary(), "app/[id]/{x}*.tsx");
        assert_eq!(spec("app/\\[id\\]/**").summary(), "app/[id]/**");
        assert_eq!(spec("src/**").summary(), "src/**");
    }

    #[test]
    fn specs_as_json() {
        let spec = BreakpointSpec::Tool {
            name: "Bash".into(),
            condition: None,
        };
        let json = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(json, r#"{"kind":"tool","name":"Bash"}"#);
        assert_eq!(
            serde_json::from_str::<BreakpointSpec>(&json).expect("a spec"),
            spec
        );
    }
}
