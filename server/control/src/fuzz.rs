//! Subjects of fuzzing: the file `armed`, and breakpoints as texts. Each takes any bytes and panics if a rule is broken.

use crate::{
    Armed, BreakpointSpec, CommandKind, ContentKind, HitCondition, PathKind, PatternKind, ToolKind,
    matching,
};

/// Reads the file `armed`. One that is read can be written, is read as itself, and each of its breakpoints is refused with a
/// reason, or can be compared with a call.
pub fn armed(input: &[u8]) {
    match Armed::parse(input) {
        Ok(armed) => {
            let text = serde_json::to_vec(&armed).expect("JSON");
            assert_eq!(Armed::parse(&text).as_ref(), Ok(&armed));
            for breakpoint in armed.breakpoints {
                match breakpoint.spec.check() {
                    Ok(()) => matching::exercise(breakpoint.spec, "text"),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// Parses a text as a breakpoint, as a condition on the count, as an expression and as a pattern. Each is refused with
/// a reason, or can be written, parsed again and compared with a call.
pub fn breakpoint(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match text.parse::<HitCondition>() {
        Ok(condition) => {
            assert_eq!(condition.to_string().parse(), Ok(condition));
            condition.acts_at(1);
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    let parsed: Option<BreakpointSpec> = serde_json::from_str(text).ok();
    let texts = || text.to_owned();
    let specs = [
        BreakpointSpec::Pattern(PatternKind { regex: texts() }),
        CommandKind::typed(text).into(),
        BreakpointSpec::Command(CommandKind {
            regex: Some(texts()),
            words: None,
        }),
        BreakpointSpec::Path(PathKind {
            glob: texts(),
            edits: false,
        }),
        BreakpointSpec::Tool(ToolKind {
            name: texts(),
            condition: Some(texts()),
        }),
        BreakpointSpec::Content(ContentKind {
            regex: texts(),
            path: Some(texts()),
        }),
    ];
    for spec in specs.into_iter().chain(parsed) {
        spec.summary();
        let json = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(
            serde_json::from_str::<BreakpointSpec>(&json).expect("a spec"),
            spec
        );
        match spec.check() {
            Ok(()) => matching::exercise(spec, text),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Returns inputs that once broke a rule.
    fn found(target: &str) -> Vec<Vec<u8>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/found");
        let files = std::fs::read_dir(std::path::Path::new(folder).join(target));
        let files = files.into_iter().flatten();
        files
            .map(|file| std::fs::read(file.expect("an entry").path()).expect("an input"))
            .collect()
    }

    #[test]
    fn found_inputs_pass() {
        for (target, exercise) in [
            ("breakpoint", super::breakpoint as fn(&[u8])),
            ("armed", super::armed),
        ] {
            let all = found(target);
            assert!(!all.is_empty(), "{target}");
            for input in &all {
                exercise(input);
            }
        }
    }

    proptest! {
        #[test]
        fn any_breakpoint(
            text in "[a-z*?{}\\[\\]()|^$\\\\./=> %0-9-]{0,16}",
            kind in "tool|path|line|content|pattern|command|iteration|turn|error|budget|any|step",
            number in any::<u32>(),
        ) {
            super::breakpoint(text.as_bytes());
            let spec = serde_json::json!({
                "kind": kind, "name": text, "glob": text, "path": text, "regex": text, "start": number, "count": number,
                "number": number, "of": "calls", "limit": number, "how": {"until": "into"},
            });
            super::breakpoint(spec.to_string().as_bytes());
        }
    }
}
