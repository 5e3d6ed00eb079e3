//! `tool`: calls of a tool.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{BreakpointKind, KindField, KindInfo, Match, SetBreakpoint};
use crate::breakpoint::patterns::{Case, glob, input_matches, is_tool, regex};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolKind {
    pub name: String,
    /// A regular expression on the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
}

impl BreakpointKind for ToolKind {
    const INFO: KindInfo = KindInfo {
        details: "before the tool; `--condition` is a regular expression on its input",
        example: "Bash",
        fields: &[
            KindField::text("name", "TOOL", "Name of the tool, or a glob").example("Edit"),
            KindField::text(
                "condition",
                "REGEX",
                "Regular expression that the tool's input has to match",
            )
            .example("src/auth")
            .optional(),
        ],
        ..KindInfo::about_calls("tool", "Calls of a tool")
    };

    fn summary(&self) -> String {
        match &self.condition {
            Some(regex) => format!("{} /{regex}/", self.name),
            None => self.name.clone(),
        }
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn check(&self) -> Result<()> {
        glob(&self.name)?;
        let condition = self.condition.as_deref();
        condition.map_or(Ok(()), |text| regex(text, Case::Ignored).map(drop))
    }

    fn limits(&self) -> Option<&'static str> {
        Some("It sees calls of this tool alone; another tool may do the same.")
    }

    fn reads_input(&self) -> bool {
        self.condition.is_some()
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        is_tool(&self.name, facts.tool)
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        Ok(match &self.condition {
            None => Match::Yes(format!("calls {}", facts.tool)),
            Some(text) => input_matches(text, facts.input),
        })
    }
}
