//! Breakpoints as values: the kinds, the scope, the condition on the count, and their text forms. Pure.

mod facts;
mod id;
mod kind;
mod kinds;
mod patterns;

use serde::{Deserialize, Serialize};

use super::hit_condition::HitCondition;
use backstitch_core::config::Unattended;

pub use facts::{CallFacts, CallLookup, CallMoment, FunctionFacts, Trigger, TurnFacts};
pub use id::BreakpointId;
pub use kind::{FieldForm, KindField, KindInfo, Match, PathReader, SetBreakpoint};
pub use kinds::*;
pub use patterns::{Case, fixed_start, glob, literal_glob, regex};

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
    /// The client that made it: `cli`, `vscode`, …
    pub made_by: String,
    /// Microseconds since 1970.
    pub created: i64,
    /// The last failure of its condition.
    #[serde(default)]
    pub problem: Option<String>,
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

impl BreakpointAction {
    pub const ALL: [Self; 3] = [Self::Pause, Self::Log, Self::Deny];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Log => "log",
            Self::Deny => "deny",
        }
    }

    /// Returns the action of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_expressions_are_refused_with_the_reason() {
        let said = |spec: BreakpointSpec| spec.check().expect_err("refused").to_string();
        let look_around = said(BreakpointSpec::Pattern(PatternKind {
            regex: "a(?=b)".into(),
        }));
        assert!(look_around.contains("look-around"), "{look_around}");
        let open = said(CommandKind::typed("rm (").into());
        assert!(open.contains("unclosed group"), "{open}");
        let glob = said(BreakpointSpec::Path(PathKind {
            glob: "src/[".into(),
            edits: false,
        }));
        assert!(glob.contains("`src/[`"), "{glob}");
        let outside = said(BreakpointSpec::Line(LineKind {
            path: "../x".into(),
            start: 1,
            count: 1,
        }));
        assert!(outside.contains("`../x`"), "{outside}");
    }

    #[test]
    fn lines_beyond_every_file_are_refused() {
        let spec = BreakpointSpec::Line(LineKind {
            path: "a".into(),
            start: u32::MAX,
            count: 2,
        });
        assert!(spec.check().is_err());
        assert_eq!(spec.summary(), format!("a:{0}-{0}", u32::MAX));
    }

    /// S2-006: an error is known after the call. S2-L2 limit: where iteration and error breakpoints pause is said by their moment.
    #[test]
    fn moments_of_kinds() {
        let error = BreakpointSpec::Error(FailedCallKind { tool: None });
        assert!(error.allows(CallMoment::After) && !error.allows(CallMoment::Before));
        assert_eq!(error.usual_moment(), CallMoment::After);
        assert!(BreakpointSpec::Any(AnyKind {}).allows(CallMoment::Before));
        let iteration = BreakpointSpec::Iteration(IterationKind { number: 3 });
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
        let command = |typed: &str| {
            serde_json::to_value(BreakpointSpec::from(CommandKind::typed(typed))).unwrap()
        };
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
        assert_eq!(
            BreakpointSpec::from(CommandKind::typed("rm -rf")).summary(),
            "rm -rf"
        );
    }

    #[test]
    fn a_literal_glob_is_shown_as_the_path() {
        let glob = literal_glob("app/[id]/{x}*.tsx");
        assert_eq!(fixed_start(&glob), ("app/[id]/{x}*.tsx".to_owned(), true));
        assert!(super::glob(&glob).unwrap().is_match("app/[id]/{x}*.tsx"));
        let spec = |glob: &str| {
            BreakpointSpec::Path(PathKind {
                glob: glob.to_owned(),
                edits: false,
            })
        };
        assert_eq!(spec(&glob).summary(), "app/[id]/{x}*.tsx");
        assert_eq!(spec("app/\\[id\\]/**").summary(), "app/[id]/**");
        assert_eq!(spec("src/**").summary(), "src/**");
    }

    #[test]
    fn specs_as_json() {
        let spec = BreakpointSpec::Tool(ToolKind {
            name: "Bash".into(),
            condition: None,
        });
        let json = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(json, r#"{"kind":"tool","name":"Bash"}"#);
        assert_eq!(
            serde_json::from_str::<BreakpointSpec>(&json).expect("a spec"),
            spec
        );
    }
}
