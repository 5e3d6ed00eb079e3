//! Tests with recorded payloads of the real agent, and with unusual ones.

use super::*;

macro_rules! recorded {
    ($name:literal) => {
        parse(include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/agents/payloads/claude/",
            $name,
            ".json"
        )))
        .expect("a recorded payload is an event")
    };
}

fn before(event: AgentEvent) -> ToolCall {
    match event.kind {
        EventKind::Before(call) => call,
        other => panic!("not a before event: {other:?}"),
    }
}

fn after(event: AgentEvent) -> (ToolCall, ToolReport, bool) {
    match event.kind {
        EventKind::After {
            call,
            report,
            failed,
        } => (call, report, failed),
        other => panic!("not an after event: {other:?}"),
    }
}

/// Report of a tool that writes one file.
fn path_report(event: AgentEvent) -> PathReport {
    let (call, report, failed) = after(event);
    assert!(!failed);
    let [path] = <[PathReport; 1]>::try_from(report.paths).expect("one path");
    assert_eq!(call.effect, Effect::Names(vec![path.path.clone()]));
    path
}

#[test]
fn common_fields() {
    let event = recorded!("PreToolUse-Edit-in_subagent");
    assert_eq!(event.agent, "claude-code");
    assert_eq!(event.session, "00000000-0000-4000-8000-000000000001");
    assert_eq!(
        event.prompt_id.as_deref(),
        Some("00000000-0000-4000-8000-000000000002")
    );
    assert_eq!(event.subagent.as_deref(), Some("a0000000000000003"));
    assert_eq!(event.cwd, Some(PathBuf::from("/home/dev/project")));
    assert_eq!(event.name, "PreToolUse");
    assert!(event.transcript.is_some());
}

#[test]
fn edit_tools_name_their_path() {
    let call = before(recorded!("PreToolUse-Edit"));
    assert_eq!(call.id.as_deref(), Some("toolu_1_1"));
    assert_eq!(
        call.effect,
        Effect::Names(vec!["/home/dev/project/src/main.rs".into()])
    );
    assert!(call.input.starts_with(b"{"));
    let call = before(recorded!("PreToolUse-Write"));
    assert_eq!(
        call.effect,
        Effect::Names(vec!["/home/dev/project/src/added.rs".into()])
    );
}

#[test]
fn readers_and_subagents_write_nothing_themselves() {
    for event in [
        recorded!("PreToolUse-Read"),
        recorded!("PreToolUse-Read-in_subagent"),
        recorded!("PreToolUse-Agent"),
    ] {
        assert_eq!(before(event).effect, Effect::Reads);
    }
    for event in [
        recorded!("PostToolUse-Read"),
        recorded!("PostToolUse-Agent"),
    ] {
        assert_eq!(after(event).0.effect, Effect::Reads);
    }
}

#[test]
fn shells_and_unknown_tools_may_write_anything() {
    assert_eq!(
        before(recorded!("PreToolUse-Bash")).effect,
        Effect::Any { background: false }
    );
    let unknown = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"mcp__x__y"}"#;
    assert_eq!(
        before(parse(unknown).unwrap()).effect,
        Effect::Any { background: false }
    );
}

#[test]
fn background_commands_are_detected() {
    let asked = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash",
        "tool_input":{"command":"make","run_in_background":true}}"#;
    assert_eq!(
        before(parse(asked).unwrap()).effect,
        Effect::Any { background: true }
    );
    let moved = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash",
        "tool_input":{"command":"make"},"tool_response":{"backgroundTaskId":"b1"}}"#;
    assert_eq!(
        after(parse(moved).unwrap()).0.effect,
        Effect::Any { background: true }
    );
}

#[test]
fn commands_report_their_exit_status() {
    let of = |event: &str, more: &str| {
        let text = format!(
            r#"{{"session_id":"s","hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"make"}}{more}}}"#
        );
        after(parse(text.as_bytes()).unwrap()).1.exit
    };
    assert_eq!(after(recorded!("PostToolUse-Bash")).1.exit, Some(0));
    let failure = r#","error":"Exit code 2\nmake: no rule""#;
    assert_eq!(of("PostToolUseFailure", failure), Some(2));
    assert_eq!(of("PostToolUseFailure", r#","error":"interrupted""#), None);
    let background = r#","tool_response":{"backgroundTaskId":"b1"}"#;
    assert_eq!(of("PostToolUse", background), None, "it goes on");
}

#[test]
fn edit_reports_old_and_new_text() {
    for event in [
        recorded!("PostToolUse-Edit"),
        recorded!("PostToolUse-Edit-in_subagent"),
    ] {
        let report = path_report(event);
        assert_eq!(
            report.found.as_deref(),
            Some("fn main() {\n    println!(\"one\");\n}\n")
        );
        let Some(Wrote::Replace {
            old,
            new,
            all: false,
        }) = report.wrote
        else {
            panic!()
        };
        assert_eq!((old.as_str(), new.as_str()), ("\"one\"", "\"two\""));
    }
}

#[test]
fn write_reports_the_whole_content() {
    let report = path_report(recorded!("PostToolUse-Write"));
    assert!(report.found.is_none());
    assert!(matches!(report.wrote, Some(Wrote::Whole(text)) if text == "pub fn added() {}\n"));
}

#[test]
fn notebook_edit_reports_both_texts() {
    let report = path_report(recorded!("PostToolUse-NotebookEdit"));
    assert!(report.found.is_some_and(|t| t.contains("\"one\"")));
    assert!(matches!(report.wrote, Some(Wrote::Whole(text)) if text.contains("\"two\"")));
}

#[test]
fn edit_changed_by_the_user_does_not_report_the_written_text() {
    let payload = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Write",
        "tool_input":{"file_path":"a","content":"x"},
        "tool_response":{"originalFile":"y","userModified":true}}"#;
    let report = path_report(parse(payload).unwrap());
    assert_eq!(report.found.as_deref(), Some("y"));
    assert!(report.wrote.is_none());
}

#[test]
fn edit_without_old_text_creates_the_file() {
    let payload = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit",
        "tool_input":{"file_path":"a","old_string":"","new_string":"x"},"tool_response":{}}"#;
    let report = path_report(parse(payload).unwrap());
    assert!(matches!(report.wrote, Some(Wrote::Whole(text)) if text == "x"));
}

#[test]
fn failed_and_denied_calls_close() {
    let failed = br#"{"session_id":"s","hook_event_name":"PostToolUseFailure",
        "tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"false"}}"#;
    let (call, _, failed) = after(parse(failed).unwrap());
    assert!(failed);
    assert_eq!(call.effect, Effect::Any { background: false });
    let denied = br#"{"session_id":"s","hook_event_name":"PermissionDenied",
        "tool_name":"Bash","tool_use_id":"x"}"#;
    let (call, _, failed) = after(parse(denied).unwrap());
    assert!(failed);
    assert_eq!(call.effect, Effect::Reads);
}

#[test]
fn only_a_typed_prompt_starts_a_turn() {
    let EventKind::Prompt {
        text,
        synthetic: false,
    } = recorded!("UserPromptSubmit").kind
    else {
        panic!()
    };
    assert_eq!(text, "change one to two and add added.rs");
    assert!(matches!(
        recorded!("UserPromptSubmit-task-notification").kind,
        EventKind::Prompt {
            synthetic: true,
            ..
        }
    ));
    for prompt in [
        "",
        "  \\n",
        "<system-reminder>x",
        "<bash-stdout>x",
        "\\n<bash-stderr>x",
    ] {
        let payload = format!(
            r#"{{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"{prompt}"}}"#
        );
        assert!(matches!(
            parse(payload.as_bytes()).unwrap().kind,
            EventKind::Prompt {
                synthetic: true,
                ..
            }
        ));
    }
}

#[test]
fn session_events_are_parsed() {
    let EventKind::SessionStart { source } = recorded!("SessionStart-resume").kind else {
        panic!()
    };
    assert_eq!(source, "resume");
    assert!(matches!(
        recorded!("SessionStart-startup").kind,
        EventKind::SessionStart { source } if source == "startup"
    ));
    assert!(matches!(
        recorded!("SessionEnd").kind,
        EventKind::SessionEnd
    ));
    assert!(matches!(recorded!("SubagentStart").kind, EventKind::Other));
    assert!(matches!(
        recorded!("SubagentStop").kind,
        EventKind::SubagentStop
    ));
    assert!(matches!(
        recorded!("PostToolBatch").kind,
        EventKind::BatchEnd
    ));
    assert!(matches!(
        recorded!("PostToolBatch-in_subagent").kind,
        EventKind::BatchEnd
    ));
    let compact = br#"{"session_id":"s","hook_event_name":"PreCompact","trigger":"auto"}"#;
    assert!(matches!(parse(compact).unwrap().kind, EventKind::Compact));
}

#[test]
fn stop_reports_running_shells() {
    assert!(matches!(
        recorded!("Stop").kind,
        EventKind::Stop { background: false }
    ));
    let stop = |task: &str| {
        let payload =
            format!(r#"{{"session_id":"s","hook_event_name":"Stop","background_tasks":[{task}]}}"#);
        match parse(payload.as_bytes()).unwrap().kind {
            EventKind::Stop { background } => background,
            other => panic!("{other:?}"),
        }
    };
    assert!(stop(r#"{"type":"shell","status":"running"}"#));
    assert!(stop(r#"{"type":"shell"}"#));
    assert!(!stop(r#"{"type":"shell","status":"completed"}"#));
    assert!(!stop(r#"{"type":"subagent","status":"running"}"#));
    assert!(!stop(r#""nonsense""#));
}

#[test]
fn unknown_fields_and_wrong_types_are_ignored() {
    let event = parse(
        br#"{"session_id":"s","hook_event_name":"Brand New","cwd":7,"agent_id":null,
            "prompt_id":{},"tool_input":[1],"more":{"deep":[{}]}}"#,
    )
    .unwrap();
    assert!(matches!(event.kind, EventKind::Other));
    assert!(event.cwd.is_none() && event.subagent.is_none() && event.prompt_id.is_none());
    let odd = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Edit",
        "tool_input":{"file_path":["a"],"old_string":1},"tool_response":"text"}"#;
    let (call, report, _) = after(parse(odd).unwrap());
    assert_eq!(call.effect, Effect::Any { background: false });
    assert!(report.paths.is_empty());
}

#[test]
fn invalid_utf8_spoils_only_its_field() {
    let mut payload = br#"{"session_id":"s","hook_event_name":"Stop","x":""#.to_vec();
    payload.extend([0xff, 0xfe]);
    payload.extend(br#""}"#);
    assert_eq!(parse(&payload).unwrap().session, "s");
}

#[test]
fn without_session_or_name_there_is_no_event() {
    assert_eq!(
        parse(br#"{"hook_event_name":"Stop"}"#).unwrap_err(),
        ParseError::Missing("session_id")
    );
    assert_eq!(
        parse(br#"{"session_id":"s"}"#).unwrap_err(),
        ParseError::Missing("hook_event_name")
    );
    assert!(matches!(parse(b""), Err(ParseError::NotJson(_))));
    assert!(matches!(parse(b"[]"), Err(ParseError::NotJson(_))));
}
