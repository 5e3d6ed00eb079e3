//! `line`: edits that touch lines of a file. The lines follow the text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment};
use crate::breakpoint::kind::{
    BreakpointKind, FieldForm, KindField, KindInfo, Match, PathReader, SetBreakpoint, SetLines,
    TriggerSides,
};
use crate::regions::LineRange;
use backstitch_core::model::RelPath;
use backstitch_core::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineKind {
    pub path: String,
    /// Counts from 1.
    pub start: u32,
    pub count: u32,
}

impl LineKind {
    fn range(&self) -> LineRange {
        LineRange {
            start: self.start,
            count: self.count,
        }
    }
}

impl BreakpointKind for LineKind {
    const INFO: KindInfo = KindInfo {
        details: "before an edit that touches these lines, after a command that did. The range follows edits, unsaved text and renames. A file above 1 MiB is held at each edit",
        example: "src/auth.rs:10-20",
        fields: &[
            KindField::text("place", "FILE:A-B", "File and lines: `src/auth.rs:10-20`")
                .of(FieldForm::Lines)
                .example("src/auth.rs:10-20"),
        ],
        sides: TriggerSides::ChosenAndAfter,
        ..KindInfo::about_calls(
            "line",
            "Edits of these lines; the range moves with the text",
        )
    };

    fn summary(&self) -> String {
        self.range().of(&self.path)
    }

    fn lines(&self) -> Option<SetLines<'_>> {
        Some(SetLines {
            path: &self.path,
            range: self.range(),
        })
    }

    fn check(&self) -> Result<()> {
        let Self { path, start, count } = self;
        let usage = |reason: String| Err(Error::Usage(reason));
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

    fn limits(&self) -> Option<&'static str> {
        Some(
            "Before a call it sees edit tools alone. A change of these lines by a command is seen after it ran.",
        )
    }

    fn reads_input(&self) -> bool {
        true
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        facts.may_write_any()
            || facts.paths.contains(&self.path)
            || facts.mentioned.contains(&self.path)
    }

    fn compare(
        &self,
        set: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let path = &self.path;
        let moment = facts.moment;
        let changes = match moment {
            CallMoment::Before => lookup.predicted()?,
            CallMoment::After => lookup.changed()?,
        };
        let Some(change) = changes.iter().find(|change| change.path == *path) else {
            return Ok(Match::No);
        };
        if change.unknown {
            return Ok(Match::Yes(format!(
                "may change {path}, whose lines cannot be compared"
            )));
        }
        let Some(region) = lookup.region(set.id)? else {
            return Ok(Match::No);
        };
        let is_touched = change
            .ranges
            .iter()
            .any(|lines| region.is_touched_by(*lines));
        let is_named = || facts.paths.iter().any(|named| named == path);
        if !is_touched || (moment == CallMoment::After && set.was_before(is_named, lookup)?) {
            return Ok(Match::No);
        }
        let lines = region.of(path);
        Ok(Match::Yes(match moment {
            CallMoment::Before => format!("changes {lines}"),
            CallMoment::After => format!("changed {lines}, already on disk"),
        }))
    }

    fn read_typed(fields: &mut Map<String, Value>, paths: &dyn PathReader) -> Result<()> {
        if let Some(Value::String(typed)) = fields.remove("place") {
            let (path, start, count) = place(&typed)?;
            fields.insert("path".to_owned(), Value::from(path));
            fields.insert("start".to_owned(), Value::from(start));
            fields.insert("count".to_owned(), Value::from(count));
        }
        if let Some(Value::String(path)) = fields.get_mut("path") {
            *path = paths.file(path)?;
        }
        Ok(())
    }
}

/// Splits `src/auth.rs:10-20`.
fn place(typed: &str) -> Result<(&str, u32, u32)> {
    let wrong = || {
        Error::Usage(format!(
            "`{typed}` is not a place in a file: write src/auth.rs:10 or src/auth.rs:10-20"
        ))
    };
    let (file, lines) = typed.rsplit_once(':').ok_or_else(wrong)?;
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    let start: u32 = start.trim().parse().map_err(|_| wrong())?;
    let end: u32 = end.trim().parse().map_err(|_| wrong())?;
    if start == 0 || end < start {
        return Err(wrong());
    }
    Ok((file, start, (end - start).saturating_add(1)))
}
