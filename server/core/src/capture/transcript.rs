//! The end of a call in an agent's own record of a conversation, where that is one JSON document a line with a time. Pure.

use serde_json::Value;

/// Fields that name a call in its result.
const CALL: [&str; 2] = ["tool_use_id", "call_id"];
/// Text with which Claude Code notes an interrupt.
const INTERRUPTED: &str = "[Request interrupted by user";
/// Type of the event with which Codex notes an interrupt.
const ABORTED: &str = "turn_aborted";

/// Text with which Claude Code tells its model that the user has refused a call.
const REFUSED: &str = "The user doesn't want to proceed with this tool use";

/// Event with which Claude Code asks its user for permission.
pub(super) const ASKS: &str = "PermissionRequest";

/// True if the user has refused a call, or interrupted it while it ran.
pub(super) fn is_refused(text: &str, native: &str) -> bool {
    !native.is_empty()
        && text.lines().any(|line| {
            line.contains(native)
                && line.contains(REFUSED)
                && serde_json::from_str::<Value>(line).is_ok_and(|line| {
                    result(&line, native).is_some_and(|result| {
                        result["is_error"] == true && result.to_string().contains(REFUSED)
                    })
                })
        })
}

/// Returns the time at which a call ended, in microseconds since 1970: it has a result, or the turn was interrupted after the
/// call began. An empty id finds interrupts alone.
pub(super) fn end_of(text: &str, native: &str, opened: i64) -> Option<i64> {
    text.lines().find_map(|line| {
        let names_call = !native.is_empty() && line.contains(native);
        if !(names_call || line.contains(INTERRUPTED) || line.contains(ABORTED)) {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        let time = micros(line.get("timestamp")?.as_str()?)?;
        let ends = names_call && result(&line, native).is_some() || is_interrupt(&line);
        (ends && time >= opened).then_some(time)
    })
}

/// Returns the result of a call that is in a value at any depth.
fn result<'a>(value: &'a Value, native: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let names = CALL
                .iter()
                .any(|name| fields.get(*name).and_then(Value::as_str) == Some(native));
            let kind = fields.get("type").and_then(Value::as_str);
            let is_result =
                kind.is_some_and(|kind| kind == "tool_result" || kind.ends_with("_output"));
            if names && is_result {
                return Some(value);
            }
            fields.values().find_map(|field| result(field, native))
        }
        Value::Array(all) => all.iter().find_map(|one| result(one, native)),
        _ => None,
    }
}

/// True if it is the agent's note of an interrupt, and no text that quotes one.
fn is_interrupt(line: &Value) -> bool {
    let begins = |text: &Value| {
        text.as_str()
            .is_some_and(|text| text.starts_with(INTERRUPTED))
    };
    let content = &line["message"]["content"];
    let noted = match content {
        Value::Array(parts) => parts.iter().any(|part| begins(&part["text"])),
        content => begins(content),
    };
    line["type"] == "user" && noted || line["payload"]["type"] == ABORTED
}

/// Reads a time like `2026-11-26T13:15:00.123Z`. Returns microseconds since 1970.
fn micros(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let mut next = || date.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(str::parse::<i64>);
    let mut next = || time.next()?.ok();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let known = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    if !known || !(1..=31).contains(&day) {
        return None;
    }
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    // days from the civil date, counted in years that begin in March
    let years = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * month + 2) / 5 + day
        - 1
        - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000 + digits.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_microsecond() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.5Z", Some(500_000)),
            (
                "2024-02-29T12:30:15.123456789Z",
                Some(1_709_209_815_123_456),
            ),
            ("2026-11-26T13:15:00.001Z", Some(1_795_698_900_001_000)),
            ("2026-13-26T13:15:00Z", None),
            ("yesterday", None),
            ("2026-11-26T13:15:00+01:00", None),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
    }

    const AT: i64 = 1_795_698_900_000_000;

    fn line(rest: &str) -> String {
        format!("{{\"timestamp\":\"2026-11-26T13:15:00.000Z\",{rest}}}\n")
    }

    #[test]
    fn a_call_has_ended_if_it_has_a_result_or_its_turn_was_interrupted() {
        let result = line(
            r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1"}]}"#,
        );
        let output = line(r#""payload":{"type":"function_call_output","call_id":"c1"}"#);
        let interrupt = line(
            r#""type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}"#,
        );
        let aborted = line(r#""payload":{"type":"turn_aborted","reason":"interrupted"}"#);
        for text in [&result, &output, &interrupt, &aborted] {
            assert_eq!(end_of(text, "c1", AT - 1), Some(AT), "{text}");
            assert_eq!(end_of(text, "c1", AT + 1), None, "before the call: {text}");
        }
        for text in [&result, &output] {
            assert_eq!(end_of(text, "c2", AT - 1), None, "another call: {text}");
        }
    }

    #[test]
    fn a_refused_call_is_told_by_its_result() {
        let with = |content: &str, is_error: bool| {
            line(&format!(
                r#""type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c1","is_error":{is_error},"content":"{content}"}}]}}"#
            ))
        };
        let refused = format!("{REFUSED}. The tool use was rejected");
        assert!(is_refused(&with(&refused, true), "c1"));
        assert!(!is_refused(&with(&refused, true), "c2"));
        assert!(!is_refused(&with(&refused, false), "c1"));
        assert!(!is_refused(&with("Exit code 1", true), "c1"));
    }

    #[test]
    fn the_call_itself_and_a_quoted_interrupt_are_no_end() {
        let call =
            line(r#""type":"assistant","message":{"content":[{"type":"tool_use","id":"c1"}]}"#);
        let call_of_codex = line(r#""payload":{"type":"function_call","call_id":"c1"}"#);
        let quoted = line(
            r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c0","content":"[Request interrupted by user]"}]}"#,
        );
        for text in [call, call_of_codex, quoted, "{cut".into(), String::new()] {
            assert_eq!(end_of(&text, "c1", 0), None, "{text}");
        }
    }
}
