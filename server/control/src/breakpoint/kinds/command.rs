//! `command`: shell commands with these words and options, or whose text matches an expression.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{
    BreakpointKind, KindField, KindInfo, Match, PathReader, SetBreakpoint,
};
use crate::breakpoint::patterns::{Case, expression, regex};
use backstitch_core::command_words::{CommandPattern, has_expression_signs};
use backstitch_core::{Error, Result};

/// One of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandKind {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl CommandKind {
    /// As typed: an expression between slashes, or one that has signs of an expression, else the words and options of a
    /// command.
    pub fn typed(typed: &str) -> Self {
        let between = typed
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let regex = match between {
            Some(regex) if !regex.is_empty() => Some(regex.to_owned()),
            _ => has_expression_signs(typed).then(|| typed.to_owned()),
        };
        Self {
            words: regex.is_none().then(|| typed.to_owned()),
            regex,
        }
    }
}

impl BreakpointKind for CommandKind {
    const INFO: KindInfo = KindInfo {
        details: "before a shell command with this program, these first arguments and these options, in any order and spelling. A single word is found anywhere in the text. Between slashes: before a shell command whose text matches the expression. A text with signs of an expression, such as `rm +-rf`, is one without the slashes, too",
        example: "'rm -rf'",
        fields: &[KindField::text(
            "text",
            "WORDS|/REGEX/",
            "Words, as `rm -rf`, or a regular expression on the text between slashes: `/rm +-rf/`",
        )
        .example("rm -rf")],
        ..KindInfo::about_calls(
            "command",
            "Shell commands with these words and options, in any order and spelling",
        )
    };

    fn summary(&self) -> String {
        match (&self.regex, &self.words) {
            (Some(regex), _) => format!("/{regex}/"),
            (None, words) => words.clone().unwrap_or_default(),
        }
    }

    fn check(&self) -> Result<()> {
        match (&self.regex, &self.words) {
            (Some(text), None) => expression(text, Case::Counts),
            (None, Some(text)) => CommandPattern::new(text).map(drop),
            _ => Err(Error::Usage(
                "a command has either `words` or `regex`".to_owned(),
            )),
        }
    }

    fn limits(&self) -> Option<&'static str> {
        Some(if self.words.is_some() {
            "It sees these words and options in any order and spelling. It does not see a command that a script or an alias runs; /expression/ looks for any text."
        } else {
            "An expression sees the text of a command alone: `rm -rf` is not `rm -fr`. Words without signs of an expression are told apart by options."
        })
    }

    fn reads_input(&self) -> bool {
        true
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        facts.command.is_some()
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        let command = facts.command.unwrap_or_default();
        if let Some(text) = &self.regex {
            return Ok(match regex(text, Case::Counts) {
                Ok(expression) => Match::if_true(expression.is_match(command), || {
                    format!("its command matches /{text}/")
                }),
                Err(error) => Match::Unusable(error.to_string()),
            });
        }
        let text = self.words.as_deref().unwrap_or_default();
        Ok(match CommandPattern::new(text) {
            Ok(pattern) => {
                Match::if_true(pattern.is_in(command), || format!("its command has {text}"))
            }
            Err(error) => Match::Unusable(error.to_string()),
        })
    }

    fn read_typed(fields: &mut Map<String, Value>, _: &dyn PathReader) -> Result<()> {
        if let Some(Value::String(text)) = fields.remove("text") {
            let Self { regex, words } = Self::typed(&text);
            for (name, value) in [("regex", regex), ("words", words)] {
                fields.extend(value.map(|value| (name.to_owned(), Value::from(value))));
            }
        }
        Ok(())
    }
}
