//! Hooks in Claude Code's `settings.json`: the events that get a hook, and the entries that are ours.
//! Pure edits of a JSON value; other entries and the order of keys stay.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Events that get a hook.
pub const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PermissionDenied",
];

/// Events whose hooks match a tool's name.
const TOOL_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionDenied",
];

/// Adds a hook to every event, and replaces an older one of ours in its place. The agent waits `timeout` seconds for it.
pub fn add(settings: &mut Value, command: &str, timeout: u32) -> Result<()> {
    let object = settings
        .as_object_mut()
        .context("the settings are not a JSON object")?;
    let hooks = object.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks
        .as_object_mut()
        .context("`hooks` is not a JSON object")?;
    remove_hooks(hooks, |event| !EVENTS.contains(&event))?;
    for event in EVENTS {
        let groups = hooks.entry(*event).or_insert_with(|| json!([]));
        let groups = array(groups, event)?;
        let place = groups.iter().position(has_ours).unwrap_or(groups.len());
        groups.iter_mut().for_each(strip);
        // The new group replaces a group that only had our hook. Other groups keep their order.
        if groups.get(place).is_some_and(is_emptied) {
            groups.remove(place);
        }
        let before = groups
            .iter()
            .take(place)
            .filter(|group| is_emptied(group))
            .count();
        groups.retain(|group| !is_emptied(group));
        groups.insert(place - before, group(event, command, timeout));
    }
    Ok(())
}

/// Removes the hooks that `add` added, and containers that are empty without them.
pub fn remove(settings: &mut Value) -> Result<()> {
    let object = settings
        .as_object_mut()
        .context("the settings are not a JSON object")?;
    let Some(hooks) = object.get_mut("hooks") else {
        return Ok(());
    };
    let hooks = hooks
        .as_object_mut()
        .context("`hooks` is not a JSON object")?;
    let before = hooks.len();
    remove_hooks(hooks, |_| true)?;
    if hooks.is_empty() && before > 0 {
        object.shift_remove("hooks");
    }
    Ok(())
}

/// Returns the event and command of each hook of ours.
pub fn ours(settings: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let hooks = settings.get("hooks").and_then(Value::as_object);
    for (event, groups) in hooks.into_iter().flatten() {
        let groups = groups.as_array().map_or(&[][..], Vec::as_slice);
        for entry in groups.iter().flat_map(entries).filter(|e| is_ours(e)) {
            if let Some(command) = entry.get("command").and_then(Value::as_str) {
                found.push((event.clone(), command.to_owned()));
            }
        }
    }
    found
}

/// Returns the settings without empty lists of hooks, which have no effect.
pub fn without_empties(settings: &Value) -> Value {
    let mut settings = settings.clone();
    if let Some(object) = settings.as_object_mut()
        && let Some(hooks) = object.get_mut("hooks").and_then(Value::as_object_mut)
    {
        hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        if hooks.is_empty() {
            object.shift_remove("hooks");
        }
    }
    settings
}

fn remove_hooks(hooks: &mut Map<String, Value>, at: impl Fn(&str) -> bool) -> Result<()> {
    let mut emptied = Vec::new();
    for (event, groups) in hooks.iter_mut().filter(|(event, _)| at(event)) {
        let groups = array(groups, event)?;
        if !groups.iter().any(has_ours) {
            continue;
        }
        groups.iter_mut().for_each(strip);
        groups.retain(|group| !is_emptied(group));
        if groups.is_empty() {
            emptied.push(event.clone());
        }
    }
    for event in emptied {
        hooks.shift_remove(&event);
    }
    Ok(())
}

fn array<'a>(groups: &'a mut Value, event: &str) -> Result<&'a mut Vec<Value>> {
    groups
        .as_array_mut()
        .with_context(|| format!("`hooks.{event}` is not a JSON array"))
}

fn group(event: &str, command: &str, timeout: u32) -> Value {
    let hooks = json!([{ "type": "command", "command": command, "timeout": timeout }]);
    if TOOL_EVENTS.contains(&event) {
        json!({ "matcher": "*", "hooks": hooks })
    } else {
        json!({ "hooks": hooks })
    }
}

fn entries(group: &Value) -> &[Value] {
    group
        .get("hooks")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn has_ours(group: &Value) -> bool {
    entries(group).iter().any(is_ours)
}

/// Removes our hook from a group. Marks a group that had only our hook as null, so that other empty groups stay.
fn strip(group: &mut Value) {
    if !has_ours(group) {
        return;
    }
    if let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) {
        hooks.retain(|entry| !is_ours(entry));
        if hooks.is_empty() {
            *group = Value::Null;
        }
    }
}

fn is_emptied(group: &Value) -> bool {
    group.is_null()
}

fn is_ours(entry: &Value) -> bool {
    entry
        .get("command")
        .and_then(Value::as_str)
        .is_some_and(is_our_command)
}

/// True for `…/backstitch… hook claude-code`, with the binary at any path.
fn is_our_command(command: &str) -> bool {
    let command = command.trim();
    if !command.ends_with("hook claude-code") {
        return false;
    }
    let program = match command.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            // After an escaped quote, another quoted part follows.
            let inner = &command[1..];
            let end = inner.find(&format!("{quote} ")).unwrap_or(inner.len());
            &inner[..end]
        }
        _ => command.split_whitespace().next().unwrap_or_default(),
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    name.starts_with("backstitch")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(settings: &mut Value, command: &str) -> Result<()> {
        super::add(settings, command, 60)
    }

    const COMMAND: &str = "/opt/backstitch hook claude-code";

    fn other_settings() -> Value {
        json!({
            "zeta": 1,
            "hooks": {
                "PreToolUse": [
                    { "matcher": "Bash", "hooks": [{ "type": "command", "command": "check.sh" }] },
                ],
                "Notification": [{ "hooks": [{ "type": "command", "command": "bell" }] }],
            },
            "alpha": { "b": 1, "a": 2 },
        })
    }

    #[test]
    fn every_event_gets_one_hook() {
        let mut settings = json!({});
        add(&mut settings, COMMAND).unwrap();
        for event in EVENTS {
            let groups = settings["hooks"][event].as_array().unwrap();
            assert_eq!(groups.len(), 1);
            assert_eq!(groups[0]["hooks"][0]["command"], COMMAND);
            assert_eq!(groups[0]["hooks"][0]["timeout"], 60);
            assert_eq!(
                groups[0].get("matcher").is_some(),
                TOOL_EVENTS.contains(event)
            );
        }
    }

    #[test]
    fn other_entries_and_the_order_of_keys_stay() {
        let mut settings = other_settings();
        add(&mut settings, COMMAND).unwrap();
        let groups = settings["hooks"]["PreToolUse"].as_array().unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0], other_settings()["hooks"]["PreToolUse"][0]);
        let keys: Vec<&String> = settings.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["zeta", "hooks", "alpha"]);
        remove(&mut settings).unwrap();
        assert_eq!(settings.to_string(), other_settings().to_string());
    }

    #[test]
    fn adding_twice_equals_adding_once() {
        let mut once = other_settings();
        add(&mut once, COMMAND).unwrap();
        let mut twice = once.clone();
        add(&mut twice, COMMAND).unwrap();
        assert_eq!(once.to_string(), twice.to_string());
    }

    #[test]
    fn hook_of_a_moved_binary_is_replaced_in_its_place() {
        let mut settings = other_settings();
        add(
            &mut settings,
            "'/old place/backstitch-0.1' hook claude-code",
        )
        .unwrap();
        let later = json!({ "hooks": [{ "type": "command", "command": "later" }] });
        settings["hooks"]["PreToolUse"]
            .as_array_mut()
            .unwrap()
            .push(later);
        add(&mut settings, COMMAND).unwrap();
        let groups = settings["hooks"]["PreToolUse"].as_array().unwrap();
        let commands: Vec<&Value> = groups.iter().map(|g| &g["hooks"][0]["command"]).collect();
        assert_eq!(commands, ["check.sh", COMMAND, "later"]);
    }

    #[test]
    fn shared_group_loses_only_our_hook() {
        let mut settings = json!({ "hooks": { "Stop": [{ "hooks": [
            { "type": "command", "command": COMMAND },
            { "type": "command", "command": "other" },
        ] }] } });
        remove(&mut settings).unwrap();
        assert_eq!(
            settings,
            json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "other" }] }] } })
        );
    }

    #[test]
    fn our_commands_are_recognized() {
        for ours in [
            COMMAND,
            "backstitch hook claude-code",
            "'/a b/backstitch' hook claude-code",
            "\"C:\\tools\\backstitch.exe\" hook claude-code",
            "/x/backstitch --store-dir /s hook claude-code ",
        ] {
            assert!(is_our_command(ours), "{ours}");
        }
        for other in [
            "backstitch log",
            "/backstitch/wrapper hook claude-code",
            "other hook claude-code",
            "",
            "'",
        ] {
            assert!(!is_our_command(other), "{other}");
        }
    }
}
