//! Hooks in a settings file of the form that Claude Code began and others took over: an object `hooks` with a list of groups
//! for each event, and the entries that are ours. Pure edits of a JSON value; other entries and the order of keys stay.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::hook_entries::{HookEdit, HookEntry, Hooks};
use super::program;
use super::settings_plan::SettingsPlan;
use crate::settings_file::{JsonForm, JsonSettings};

/// Runs after a hook that may hold a call. One that was killed (137: KILL, 143: TERM) could not say that the call has to
/// wait, so the call is refused: exit status 2. Any other status stays, such as that of a program which is gone.
const GUARD: &str = "; s=$?; case $s in 137|143) echo 'backstitch: its hook was killed while it held this call' >&2; \
                     s=2;; esac; exit $s";

/// The form of an agent's table of hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookTable {
    /// Name of the agent in `backstitch hook NAME`.
    pub agent: &'static str,
    /// Events that get a hook.
    pub events: &'static [&'static str],
    /// Events whose hooks match a tool's name.
    pub of_tools: &'static [&'static str],
    /// Events at which a hook may hold a call for long.
    pub holding: &'static [&'static str],
    /// Time in seconds that the agent waits for a hook which may hold a call, and for any other.
    pub hold: u32,
    pub timeout: u32,
    /// Events for which the agent allows less time, in seconds.
    pub short: &'static [(&'static str, u32)],
    /// Units of a time-out in a second: 1, or 1000 for milliseconds.
    pub units: u32,
    /// True if each hook has a name.
    pub named: bool,
    /// True if a failed hook can be made to block its call.
    pub blocks: bool,
    /// The form of JSON that the agent reads.
    pub form: JsonForm,
}

impl HookTable {
    /// Plans an edit of the hooks in a settings file.
    pub fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        let add = |command, strict| {
            let table = *self;
            move |settings: &mut Value| table.add(settings, command, strict)
        };
        match edit {
            HookEdit::Install { command, strict } => SettingsPlan::new(
                JsonSettings::read(settings, self.form)?,
                add(command, strict),
            ),
            HookEdit::Entries { command, strict } => {
                SettingsPlan::new(JsonSettings::blank(settings), add(command, strict))
            }
            HookEdit::Uninstall => SettingsPlan::undo(
                JsonSettings::read(settings, self.form)?,
                |settings| self.remove(settings),
                without_empties,
            ),
        }
    }

    /// Reads the hooks in a settings file.
    pub fn examine(&self, settings: &Path) -> Result<Hooks> {
        if !settings.exists() {
            return Ok(Hooks::default());
        }
        let settings = JsonSettings::read(settings, self.form)?.value;
        Ok(Hooks {
            entries: self.ours(&settings),
            without_limit: self.without_limit(&settings),
            blocks_if_killed: self.is_strict(&settings),
            outdated: false,
        })
    }

    /// Adds a hook to every event, and replaces an older one of ours in its place.
    fn add(&self, settings: &mut Value, command: &str, strict: bool) -> Result<()> {
        let strict = strict || self.is_strict(settings);
        let object = settings
            .as_object_mut()
            .context("the settings are not a JSON object")?;
        let hooks = object.entry("hooks").or_insert_with(|| json!({}));
        let hooks = hooks
            .as_object_mut()
            .context("`hooks` is not a JSON object")?;
        self.remove_hooks(hooks, |event| !self.events.contains(&event))?;
        for event in self.events {
            let groups = hooks.entry(*event).or_insert_with(|| json!([]));
            let groups = array(groups, event)?;
            let place = groups
                .iter()
                .position(|group| self.has_ours(group))
                .unwrap_or(groups.len());
            for group in groups.iter_mut() {
                self.strip(group);
            }
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
            groups.insert(place - before, self.group(event, command, strict));
        }
        Ok(())
    }

    /// Removes the hooks that `add` added, and containers that are empty without them.
    fn remove(&self, settings: &mut Value) -> Result<()> {
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
        self.remove_hooks(hooks, |_| true)?;
        if hooks.is_empty() && before > 0 {
            object.shift_remove("hooks");
        }
        Ok(())
    }

    /// Returns the hooks that look like ours.
    fn ours(&self, settings: &Value) -> Vec<HookEntry> {
        let mut found = Vec::new();
        let hooks = settings.get("hooks").and_then(Value::as_object);
        for (event, groups) in hooks.into_iter().flatten() {
            let groups = groups.as_array().map_or(&[][..], Vec::as_slice);
            let all = groups.iter().flat_map(|group| {
                let only_for = limiting_matcher(group);
                entries(group).iter().map(move |entry| (entry, only_for))
            });
            for (entry, only_for) in all.filter(|(entry, _)| self.is_ours(entry)) {
                if let Some(command) = entry.get("command").and_then(Value::as_str) {
                    found.push(HookEntry {
                        event: event.clone(),
                        command: bare(command).to_owned(),
                        text: command.to_owned(),
                        program: written_program(command, self.agent),
                        only_for: only_for.map(str::to_owned),
                    });
                }
            }
        }
        found
    }

    /// True if a hook of ours has calls blocked when it fails.
    fn is_strict(&self, settings: &Value) -> bool {
        self.holding.iter().any(|event| {
            let groups = settings["hooks"][*event].as_array();
            let all = groups.map_or(&[][..], Vec::as_slice).iter();
            all.flat_map(entries)
                .any(|entry| self.is_ours(entry) && entry["onFailure"] == "block")
        })
    }

    /// Returns the events whose hooks of ours may hold a call, and do not know for how long.
    fn without_limit(&self, settings: &Value) -> Vec<&'static str> {
        let is_short = |event: &&&str| {
            let groups = settings["hooks"][**event].as_array();
            let all = groups.map_or(&[][..], Vec::as_slice).iter();
            all.flat_map(entries)
                .filter(|entry| self.is_ours(entry))
                .any(|entry| {
                    let command = entry.get("command").and_then(Value::as_str);
                    command.is_some_and(|command| !command.contains(LIMIT))
                })
        };
        self.holding.iter().filter(is_short).copied().collect()
    }

    fn remove_hooks(
        &self,
        hooks: &mut Map<String, Value>,
        at: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let mut emptied = Vec::new();
        for (event, groups) in hooks.iter_mut().filter(|(event, _)| at(event)) {
            let groups = array(groups, event)?;
            if !groups.iter().any(|group| self.has_ours(group)) {
                continue;
            }
            for group in groups.iter_mut() {
                self.strip(group);
            }
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

    fn group(&self, event: &str, command: &str, strict: bool) -> Value {
        let may_hold = self.holding.contains(&event);
        let (command, timeout) = if may_hold {
            (held(command, self.hold), self.hold)
        } else {
            let short = self.short.iter().find(|(name, _)| *name == event);
            let timeout = short.map_or(self.timeout, |(_, seconds)| *seconds);
            (command.to_owned(), timeout)
        };
        let timeout = timeout * self.units;
        let mut hook = json!({ "type": "command", "command": command, "timeout": timeout });
        if self.named {
            hook["name"] = "backstitch".into();
        }
        if may_hold && strict && self.blocks {
            hook["onFailure"] = "block".into();
        }
        if self.of_tools.contains(&event) {
            json!({ "matcher": "*", "hooks": [hook] })
        } else {
            json!({ "hooks": [hook] })
        }
    }

    fn has_ours(&self, group: &Value) -> bool {
        entries(group).iter().any(|entry| self.is_ours(entry))
    }

    /// Removes our hook from a group. Marks a group that had only our hook as null, so that other empty groups stay.
    fn strip(&self, group: &mut Value) {
        if !self.has_ours(group) {
            return;
        }
        if let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) {
            hooks.retain(|entry| !self.is_ours(entry));
            if hooks.is_empty() {
                *group = Value::Null;
            }
        }
    }

    fn is_ours(&self, entry: &Value) -> bool {
        entry
            .get("command")
            .and_then(Value::as_str)
            .is_some_and(|command| self.is_our_command(command))
    }

    /// True for a command of ours.
    pub fn is_our_command(&self, command: &str) -> bool {
        runs_us(command, self.agent)
    }
}

/// Returns the matcher of a hook, or a group of hooks, that lets it run for some calls alone.
pub fn limiting_matcher(group: &Value) -> Option<&str> {
    let matcher = group.get("matcher")?.as_str()?;
    (!["", "*", ".*"].contains(&matcher)).then_some(matcher)
}

/// Beginnings of the names of events at the end of a call, in the settings of all agents.
const ENDS: [&str; 2] = ["post", "after"];

/// True if settings have a command of others among the hooks at the end of a call: it may change files that the call wrote.
pub fn has_others(settings: &Value, agent: &str) -> bool {
    let hooks = settings.get("hooks").and_then(Value::as_object);
    hooks.into_iter().flatten().any(|(event, entries)| {
        let event = event.to_ascii_lowercase();
        ENDS.iter().any(|end| event.starts_with(end)) && has_other_command(entries, agent)
    })
}

fn has_other_command(value: &Value, agent: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::String(text) => {
                ["command", "bash"].contains(&name.as_str()) && !runs_us(text, agent)
            }
            value => has_other_command(value, agent),
        }),
        Value::Array(all) => all.iter().any(|one| has_other_command(one, agent)),
        _ => false,
    }
}

const LIMIT: &str = " --limit ";

/// True for `…/backstitch… hook NAME`, with the binary at any path.
pub fn runs_us(command: &str, agent: &str) -> bool {
    let command = bare(command.trim());
    if !command.ends_with(&format!("hook {agent}")) {
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

/// Returns the command of a hook that may hold a call for this time in seconds, with its guard.
pub fn held(command: &str, seconds: u32) -> String {
    format!("{command}{LIMIT}{seconds}{GUARD}")
}

/// Returns the program of a command that is exactly one that setup writes: an absolute path as one word, the words of the hook,
/// and its limit and guard or neither. Such a command can be carried out without a shell. Any other text can have anything in
/// it: it is shown, and never run.
pub fn written_program(command: &str, agent: &str) -> Option<PathBuf> {
    let own = match command.split_once(LIMIT) {
        Some((own, rest)) => {
            let seconds = rest.strip_suffix(GUARD)?;
            let is_number = !seconds.is_empty() && seconds.bytes().all(|b| b.is_ascii_digit());
            is_number.then_some(own)?
        }
        None => command,
    };
    let word = program::first_word(own)?;
    let path = PathBuf::from(&word);
    let is_same = own == format!("{} hook {agent}", program::quoted(&word));
    (is_same && path.is_absolute()).then_some(path)
}

/// A command of ours without its limit and its guard.
pub fn bare(command: &str) -> &str {
    let own = command.split("; ").next().unwrap_or(command);
    own.split(LIMIT).next().unwrap_or(own).trim_end()
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

fn array<'a>(groups: &'a mut Value, event: &str) -> Result<&'a mut Vec<Value>> {
    groups
        .as_array_mut()
        .with_context(|| format!("`hooks.{event}` is not a JSON array"))
}

fn entries(group: &Value) -> &[Value] {
    group
        .get("hooks")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn is_emptied(group: &Value) -> bool {
    group.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_others_at_the_end_of_a_call_is_found() {
        let of = |event: &str, command: &str| {
            let entry = json!({ "type": "command", "command": command });
            let settings = json!({ "hooks": { event: [{ "matcher": "*", "hooks": [entry] }] } });
            has_others(&settings, "claude-code")
        };
        let ours = held("/usr/bin/backstitch hook claude-code", 600);
        assert!(of("PostToolUse", "npx prettier --write"));
        assert!(of("AfterTool", "gofmt -w ."));
        assert!(of("postToolUse", "gofmt -w ."));
        assert!(!of("PostToolUse", &ours));
        assert!(!of("PreToolUse", "lint"));
        assert!(!of("Stop", "notify-send done"));
        assert!(!has_others(&json!({ "hooks": [] }), "claude-code"));
    }

    const TABLE: HookTable = HookTable {
        agent: "claude-code",
        events: &["SessionStart", "PreToolUse", "PostToolUse", "Stop"],
        of_tools: &["PreToolUse", "PostToolUse"],
        holding: &["PreToolUse"],
        hold: 86_400,
        timeout: 60,
        short: &[],
        units: 1,
        named: false,
        blocks: true,
        form: JsonForm::Plain,
    };

    fn add(settings: &mut Value, command: &str) -> Result<()> {
        TABLE.add(settings, command, false)
    }

    fn remove(settings: &mut Value) -> Result<()> {
        TABLE.remove(settings)
    }

    fn is_our_command(command: &str) -> bool {
        TABLE.is_our_command(command)
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
        for event in TABLE.events {
            let groups = settings["hooks"][event].as_array().unwrap();
            assert_eq!(groups.len(), 1);
            let (own, timeout) = (
                &groups[0]["hooks"][0]["command"],
                &groups[0]["hooks"][0]["timeout"],
            );
            if TABLE.holding.contains(event) {
                let own = own.as_str().unwrap();
                assert_eq!(own, format!("{COMMAND} --limit 86400{GUARD}"));
                assert_eq!(bare(own), COMMAND);
                assert_eq!(*timeout, TABLE.hold);
            } else {
                assert_eq!(own, COMMAND);
                assert_eq!(*timeout, 60);
            }
            assert_eq!(
                groups[0].get("matcher").is_some(),
                TABLE.of_tools.contains(event)
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
        let commands = groups
            .iter()
            .map(|g| bare(g["hooks"][0]["command"].as_str().unwrap()));
        let commands: Vec<&str> = commands.collect();
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

    /// S2-014: an older entry holds for a short time, and is brought up to date.
    #[test]
    fn entries_without_a_limit_are_found() {
        let old = json!({ "type": "command", "command": COMMAND, "timeout": 60 });
        let mut settings =
            json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [old] }] } });
        assert_eq!(TABLE.without_limit(&settings), ["PreToolUse"]);
        add(&mut settings, COMMAND).unwrap();
        assert_eq!(TABLE.without_limit(&settings), [""; 0]);
        assert_eq!(settings["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn strict_hooks_block_calls_when_they_fail() {
        let mut settings = json!({});
        TABLE.add(&mut settings, COMMAND, true).unwrap();
        let failure = |event: &str| settings["hooks"][event][0]["hooks"][0]["onFailure"].clone();
        assert_eq!(failure("PreToolUse"), "block");
        assert_eq!(failure("Stop"), Value::Null);
    }

    #[test]
    fn only_commands_exactly_as_setup_writes_them_have_a_program() {
        let program = |command: &str| written_program(command, "claude-code");
        let held = held("/x/backstitch hook claude-code", 86_400);
        for (command, path) in [
            (COMMAND, "/opt/backstitch"),
            ("'/a b/it'\\''s' hook claude-code", "/a b/it's"),
            (&held, "/x/backstitch"),
        ] {
            assert_eq!(
                program(command).as_deref(),
                Some(Path::new(path)),
                "{command}"
            );
        }
        for other in [
            "backstitch hook claude-code",
            "./backstitch hook claude-code",
            "~/backstitch hook claude-code",
            "backstitch $(touch x) hook claude-code",
            "\"/proc/$PPID/cwd/backstitch\" hook claude-code",
            "\"/x/backstitch\" hook claude-code",
            "/x/back*stitch hook claude-code",
            "/x/backstitch  hook claude-code",
            "/x/backstitch hook claude-code\n",
            "/x/backstitch hook claude-code; touch x",
            "/x/backstitch hook claude-code --limit 600; touch x",
            "/x/backstitch hook claude-code --limit $(id); s=$?",
            "/x/backstitch --store-dir /s hook claude-code",
            "A=b /x/backstitch hook claude-code",
            "/x/backstitch hook codex",
            "",
        ] {
            assert_eq!(program(other), None, "{other}");
        }
        let chained = format!("{held} --limit 5{GUARD}");
        assert_eq!(program(&chained), None, "{chained}");
    }

    #[test]
    fn our_commands_are_recognized() {
        for ours in [
            COMMAND,
            "backstitch hook claude-code",
            "'/a b/backstitch' hook claude-code",
            "\"C:\\tools\\backstitch.exe\" hook claude-code",
            "/x/backstitch --store-dir /s hook claude-code ",
            "/x/backstitch hook claude-code --limit 600; s=$?; exit $s",
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
