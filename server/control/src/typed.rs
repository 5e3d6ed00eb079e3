//! Breakpoints as clients ask for them, in words: read and checked once, for the command line and for editors.

use serde_json::{Map, Value};

use super::breakpoint::CallMoment;
use super::breakpoint::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, PathReader,
};
use super::breakpoints::NewBreakpoint;
use super::condition::{Condition, LogText};
use backstitch_core::config::Unattended;
use backstitch_core::{Error, Result};

/// A breakpoint to make.
#[derive(Clone, Debug, Default)]
pub struct TypedBreakpoint {
    pub kind: String,
    /// Parameters of the kind, as typed or as in JSON.
    pub fields: Map<String, Value>,
    /// None: the usual side of the kind.
    pub moment: Option<CallMoment>,
    pub scope: BreakpointScope,
    pub options: TypedOptions,
    /// The client that makes it.
    pub made_by: String,
}

/// Options of a breakpoint. None: not said, or left as it is.
#[derive(Clone, Debug, Default)]
pub struct TypedOptions {
    /// jq. An empty text is not a condition.
    pub when: Option<String>,
    /// `>= 3`. An empty text is not a condition.
    pub hits: Option<String>,
    pub action: Option<BreakpointAction>,
    /// An empty text is not a message.
    pub message: Option<String>,
    pub once: Option<bool>,
    pub unattended: Option<Unattended>,
}

/// A breakpoint to make, whose words are right.
#[derive(Clone, Debug)]
pub struct ReadBreakpoint {
    pub new: NewBreakpoint,
    /// The pattern of paths, as it was typed.
    pub pattern: Option<String>,
}

impl TypedBreakpoint {
    /// Reads the words. `text`: returns the text of a file of the workspace, in which a `line` breakpoint is set.
    pub fn read(
        self,
        paths: &dyn PathReader,
        text: impl FnOnce(&str) -> Result<Vec<u8>>,
    ) -> Result<ReadBreakpoint> {
        let typed = |field: &str| self.fields.get(field).and_then(Value::as_str);
        let pattern = typed("glob").or_else(|| typed("path")).map(str::to_owned);
        let spec = BreakpointSpec::typed(&self.kind, self.fields, paths)?;
        let pattern = pattern.filter(|_| spec.paths().is_some());
        let base = spec.lines().map(|set| text(set.path)).transpose()?;
        let options = self.options;
        let action = options.action.unwrap_or(BreakpointAction::Pause);
        check_log_text(action, options.message.as_deref())?;
        let new = NewBreakpoint {
            moment: self.moment,
            scope: self.scope,
            condition: options.when.as_deref().map_or(Ok(None), condition)?,
            hits_when: options.hits.as_deref().map_or(Ok(None), hit_condition)?,
            action,
            message: options.message,
            once: options.once.unwrap_or_default(),
            unattended: options.unattended,
            base,
            ..NewBreakpoint::of(spec, &self.made_by)
        };
        Ok(ReadBreakpoint { new, pattern })
    }
}

impl TypedOptions {
    /// Changes the fields of a breakpoint that were said.
    pub fn change(self, one: &mut Breakpoint) -> Result<()> {
        if let Some(jq) = &self.when {
            one.condition = condition(jq)?;
        }
        if let Some(typed) = &self.hits {
            one.hits_when = hit_condition(typed)?;
        }
        if let Some(action) = self.action {
            if action == BreakpointAction::Pause && one.action != action {
                // it had one as a log or a denial
                one.message = None;
            }
            one.action = action;
        }
        if let Some(text) = self.message {
            one.message = Some(text).filter(|text| !text.is_empty());
        }
        if let Some(once) = self.once {
            one.once = once;
        }
        if let Some(outcome) = self.unattended {
            one.unattended = Some(outcome);
        }
        check_log_text(one.action, one.message.as_deref())
    }
}

/// Compiles a condition. An empty text is none.
fn condition(jq: &str) -> Result<Option<String>> {
    if jq.trim().is_empty() {
        return Ok(None);
    }
    Condition::compile(jq)
        .map_err(|reason| Error::Usage(format!("the condition `{jq}`: {reason}")))?;
    Ok(Some(jq.to_owned()))
}

fn hit_condition(typed: &str) -> Result<Option<super::HitCondition>> {
    if typed.trim().is_empty() {
        return Ok(None);
    }
    typed.parse().map(Some).map_err(Error::Usage)
}

/// Refuses a log text whose jq cannot be compiled.
fn check_log_text(action: BreakpointAction, message: Option<&str>) -> Result<()> {
    match message {
        Some(text) if action == BreakpointAction::Log => {
            LogText::compile(text).map(drop).map_err(Error::Usage)
        }
        _ => Ok(()),
    }
}
