//! `content`: edits that add a line which matches.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment};
use crate::breakpoint::kind::{
    BreakpointKind, FieldForm, KindField, KindInfo, Match, SetBreakpoint,
};
use crate::breakpoint::patterns::{
    Case, any_path_may_match, any_string, expression, glob, literal_text, regex,
};
use crate::regions::ChangedLines;
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentKind {
    pub regex: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl ContentKind {
    fn adds_line(&self, changes: &[ChangedLines], input: &Value) -> Match {
        let text = &self.regex;
        let pattern = match self.path.as_deref().map(glob).transpose() {
            Ok(pattern) => pattern,
            Err(error) => return Match::Unusable(error.to_string()),
        };
        let expression = match regex(text, Case::Counts) {
            Ok(expression) => expression,
            Err(error) => return Match::Unusable(error.to_string()),
        };
        let is_file = |change: &&ChangedLines| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&change.path))
        };
        let may_add = || {
            any_string(input, &|text| {
                text.lines().any(|line| expression.is_match(line))
            })
        };
        let file = changes.iter().filter(is_file).find(|change| {
            change.added.iter().any(|line| expression.is_match(line)) || change.unknown && may_add()
        });
        match file {
            Some(change) if change.unknown => {
                Match::Yes(format!("may add a line with /{text}/ to {}", change.path))
            }
            Some(change) => Match::Yes(format!("adds a line with /{text}/ to {}", change.path)),
            None => Match::No,
        }
    }
}

impl BreakpointKind for ContentKind {
    const INFO: KindInfo = KindInfo {
        details: "before an edit that adds a line like this, also where the file is too large to compare (1 MiB) or binary. Before a call of another tool, such as one of an MCP server, that names a file and has such a text to write",
        example: "TODO",
        fields: &[
            KindField::text("regex", "REGEX", "Regular expression").example("console\\.log"),
            KindField::text("path", "GLOB", "Only in files that match this glob")
                .of(FieldForm::Paths)
                .example("src/**")
                .optional(),
        ],
        ..KindInfo::about_calls("content", "Edits that add a line which matches")
    };

    fn summary(&self) -> String {
        let regex = &self.regex;
        match &self.path {
            None => format!("/{regex}/"),
            Some(path) => format!(
                "/{regex}/ in {}",
                literal_text(path).as_deref().unwrap_or(path)
            ),
        }
    }

    fn check(&self) -> Result<()> {
        expression(&self.regex, Case::Counts)?;
        self.path
            .as_deref()
            .map_or(Ok(()), |path| glob(path).map(drop))
    }

    fn limits(&self) -> Option<&'static str> {
        Some(
            "It sees texts that tools write. A text that a command writes is seen with --after alone.",
        )
    }

    fn paths(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn reads_input(&self) -> bool {
        true
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        let named = [facts.paths, facts.mentioned];
        facts.moment == CallMoment::After
            || named.iter().any(|named| match &self.path {
                Some(glob) => any_path_may_match(glob, named),
                None => !named.is_empty(),
            })
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let changes = match facts.moment {
            CallMoment::Before => lookup.predicted()?,
            CallMoment::After => lookup.changed()?,
        };
        Ok(self.adds_line(&changes, facts.input))
    }
}
