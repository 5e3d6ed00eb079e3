//! `path`: calls that name, or have changed, a file with such a path.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment};
use crate::breakpoint::kind::{
    BreakpointKind, FieldForm, KindField, KindInfo, Match, SetBreakpoint, TriggerSides,
};
use crate::breakpoint::patterns::{
    any_path_may_match, first_match, glob, is_above, is_anywhere, literal_text, mentioned,
};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathKind {
    pub glob: String,
    /// True: not calls that only read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
}

impl PathKind {
    /// Compares the paths that a call names.
    fn names(&self, facts: &CallFacts<'_>, mentioned: &[String]) -> Match {
        let pattern = &self.glob;
        let verb = if facts.reads { "reads" } else { "names" };
        let shown = |path: &str| path.strip_suffix("/.").unwrap_or(path).to_owned();
        if any_path_may_match(pattern, facts.paths) || any_path_may_match(pattern, mentioned) {
            let compiled = match glob(pattern) {
                Ok(compiled) => compiled,
                Err(error) => return Match::Unusable(error.to_string()),
            };
            if let Some(path) = first_match(&compiled, facts.paths.iter().chain(mentioned)) {
                return Match::Yes(format!("{verb} {}", shown(path)));
            }
        }
        match mentioned.iter().find(|path| is_above(path, pattern)) {
            Some(path) => Match::Yes(format!("{verb} {path}, above {pattern}")),
            None => Match::No,
        }
    }

    /// As `names`, for what only the disk knows: a pattern of files in any directory, and a search for files.
    fn names_above(
        &self,
        facts: &CallFacts<'_>,
        mentioned: &[String],
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let pattern = &self.glob;
        if is_anywhere(pattern) {
            for path in mentioned.iter().filter(|path| !path.ends_with("/.")) {
                if lookup.has_below(path, pattern)? {
                    return Ok(Match::Yes(format!("names {path}, above {pattern}")));
                }
            }
        }
        for search in facts.searched {
            if lookup.is_searched(search, pattern)? {
                return Ok(Match::Yes(format!("searches {}", search.glob)));
            }
        }
        Ok(Match::No)
    }

    /// Compares the files that a call has changed.
    fn changes(
        &self,
        set: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let pattern = match glob(&self.glob) {
            Ok(pattern) => pattern,
            Err(error) => return Ok(Match::Unusable(error.to_string())),
        };
        let changed = lookup.changed()?;
        let path = first_match(&pattern, changed.iter().map(|change| &change.path));
        let is_named = || {
            let mentioned = mentioned(facts, self.edits);
            matches!(self.names(facts, &mentioned), Match::Yes(_))
        };
        match path {
            Some(path) if !set.was_before(is_named, lookup)? => {
                Ok(Match::Yes(format!("changed {path}")))
            }
            _ => Ok(Match::No),
        }
    }
}

impl BreakpointKind for PathKind {
    const INFO: KindInfo = KindInfo {
        details: "before a call that names such a file, reading ones too (not with `--edits`). Before a shell command with a word that names it or a directory above it, and before a search of a tree that contains it. After a call that changed it all the same. A directory stands for everything below it. The name of a file that exists is that file: `app/[id]/page.tsx`",
        example: "'src/auth/**'",
        fields: &[
            KindField::text(
                "glob",
                "GLOB",
                "File, directory, or glob, relative to the workspace: `src/auth/**`. The name of a file that exists is taken literally",
            )
            .of(FieldForm::Paths)
            .example("src/auth/**"),
            KindField::text("edits", "BOOL", "Not calls that only read")
                .of(FieldForm::Flag)
                .optional(),
        ],
        sides: TriggerSides::ChosenAndAfter,
        ..KindInfo::about_calls(
            "path",
            "Calls that name or change a matching file; reading ones, too",
        )
    };

    fn summary(&self) -> String {
        let path = literal_text(&self.glob).unwrap_or_else(|| self.glob.clone());
        if self.edits {
            format!("{path} (edits)")
        } else {
            path
        }
    }

    fn check(&self) -> Result<()> {
        glob(&self.glob).map(drop)
    }

    fn limits(&self) -> Option<&'static str> {
        Some(if self.edits {
            "It does not see files that a program opens by itself, nor calls that only read. A change by a program is seen after the call."
        } else {
            "It does not see files that a program opens by itself, as a build or a script does. A change of one is seen after the call."
        })
    }

    fn paths(&self) -> Option<&str> {
        Some(&self.glob)
    }

    fn reads_input(&self) -> bool {
        true
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        let glob = &self.glob;
        if self.edits && facts.moment == CallMoment::Before && facts.reads {
            return false;
        }
        facts.may_write_any()
            || any_path_may_match(glob, facts.paths)
            || any_path_may_match(glob, facts.mentioned)
            || facts.mentioned.iter().any(|path| is_above(path, glob))
            || (is_anywhere(glob) && !facts.mentioned.is_empty())
            || !facts.searched.is_empty()
    }

    fn compare(
        &self,
        set: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        if facts.moment == CallMoment::After {
            return self.changes(set, facts, lookup);
        }
        let mentioned = mentioned(facts, self.edits);
        match self.names(facts, &mentioned) {
            Match::No => self.names_above(facts, &mentioned, lookup),
            found => Ok(found),
        }
    }
}
