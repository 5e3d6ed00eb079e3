//! The lists of breakpoints' kinds and of settings in the editors and the documentation are made from their catalogues.
//! `BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests -E 'test(/^generated::/)'` writes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use backstitch_agents::{AGENTS, AgentPage, HeldTime, pages};
use backstitch_control::{FieldForm, KindField, KindInfo, user_kinds};
use backstitch_core::config::{Key, Setting, SettingForm, SettingInfo};
use backstitch_protocol::REWIND_LENS;
use serde_json::{Value, json};

const HEAD: &str = "Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run \
                    -p backstitch-tests generated";

/// Checks that the file has the generated text. With `BACKSTITCH_RENEW_TYPES=1` the file is written.
fn check_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    if std::env::var_os("BACKSTITCH_RENEW_TYPES").is_some() {
        fs::write(&path, text).expect("the file is written");
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == text,
        "{name} is out of date: BACKSTITCH_RENEW_TYPES=1 regenerates it"
    );
}

/// As `check_file`, for the part of a file between two comments.
fn check_part(name: &str, part: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let whole = fs::read_to_string(path).expect("the file");
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- /{part} -->\n"));
    let (head, rest) = whole.split_once(&begin).expect("its begin");
    let (_, tail) = rest.split_once(&end).expect("its end");
    check_file(name, &format!("{head}{begin}{text}{end}{tail}"));
}

fn form(field: &KindField) -> &'static str {
    match field.form {
        FieldForm::Text => "text",
        FieldForm::Paths => "paths",
        FieldForm::Lines => "lines",
        FieldForm::Number => "number",
        FieldForm::Flag => "flag",
        FieldForm::Choice(_) => "choice",
    }
}

fn choices(field: &KindField) -> Value {
    match field.form {
        FieldForm::Choice(all) => json!(all),
        FieldForm::Text
        | FieldForm::Paths
        | FieldForm::Lines
        | FieldForm::Number
        | FieldForm::Flag => json!([]),
    }
}

/// The arguments of `breakpoint add`: `path GLOB [--edits]`.
fn usage(kind: &KindInfo) -> String {
    let arguments = kind.fields.iter().map(|field| {
        let value = match field.form {
            FieldForm::Choice(all) => all.join(r"\|"),
            _ => field.placeholder.replace('|', r"\|"),
        };
        match (field.is_required, field.form) {
            (true, _) => value,
            (false, FieldForm::Flag) => format!("[--{}]", field.name),
            (false, _) => format!("[--{} {value}]", field.name),
        }
    });
    let words: Vec<String> = std::iter::once(kind.name.to_owned())
        .chain(arguments)
        .collect();
    words.join(" ")
}

#[test]
fn kinds_of_vscode() {
    let mut text = format!("// {HEAD}\n\nimport {{ l10n }} from \"vscode\";\n");
    text.push_str(
        r#"
/** A parameter of a kind, as a person types it. */
export interface KindField {
  name: string;
  help: string;
  example: string;
  form: "text" | "paths" | "lines" | "number" | "flag" | "choice";
  choices: string[];
  required: boolean;
}

/** A kind of breakpoint. */
export interface Kind {
  name: string;
  summary: string;
  fields: KindField[];
}

export const kinds = (): Kind[] => [
"#,
    );
    for kind in user_kinds() {
        let summary = json!(kind.summary);
        write!(
            text,
            "  {{\n    name: {},\n    summary: l10n.t({summary}),\n    fields: [\n",
            json!(kind.name)
        )
        .expect("a text");
        for field in kind.fields {
            write!(text,
                "      {{\n        name: {},\n        help: l10n.t({}),\n        example: {},\n        form: {},\n        choices: {},\n        required: {},\n      }},\n",
                json!(field.name),
                json!(field.help),
                json!(field.example),
                json!(form(field)),
                choices(field).to_string().replace(',', ", "),
                field.is_required,
            ).expect("a text");
        }
        text.push_str("    ],\n  },\n");
    }
    text.push_str("];\n");
    check_file("vscode-extension/src/control/kinds.ts", &text);
}

#[test]
fn kinds_of_neovim() {
    let mut text = format!("-- {HEAD}\n\n");
    text.push_str(
        "---@class backstitch.KindField\n---@field name string\n---@field help string\n---@field example string\n---@field form \
         'text'|'paths'|'lines'|'number'|'flag'|'choice'\n---@field choices string[]\n---@field required boolean\n\n\
         ---@class backstitch.Kind\n---@field name string\n---@field summary string\n---@field fields \
         backstitch.KindField[]\n\n---@type backstitch.Kind[]\nreturn {\n",
    );
    for kind in user_kinds() {
        write!(
            text,
            "  {{\n    name = {},\n    summary = {},\n    fields = {{\n",
            lua(kind.name),
            lua(kind.summary)
        )
        .expect("a text");
        for field in kind.fields {
            let all = choices(field);
            let all = all.as_array().expect("a list").iter();
            let all: Vec<String> = all.map(|one| lua(one.as_str().expect("a text"))).collect();
            let all = if all.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", all.join(", "))
            };
            write!(text,
                "      {{\n        name = {},\n        help = {},\n        example = {},\n        form = {},\n        choices = {all},\n        required = {},\n      }},\n",
                lua(field.name),
                lua(field.help),
                lua(field.example),
                lua(form(field)),
                field.is_required,
            ).expect("a text");
        }
        text.push_str("    },\n  },\n");
    }
    text.push_str("}\n");
    check_file("nvim-plugin/lua/backstitch/kinds.lua", &text);
}

/// A text in Lua, in single quotes unless it has some.
fn lua(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\");
    if escaped.contains('\'') && !escaped.contains('"') {
        format!("\"{escaped}\"")
    } else {
        format!("'{}'", escaped.replace('\'', "\\'"))
    }
}

#[test]
fn kinds_of_the_documentation() {
    let mut table = "| kind | stops |\n|---|---|\n".to_owned();
    for kind in user_kinds() {
        assert!(!kind.details.is_empty(), "{}", kind.name);
        writeln!(table, "| `{}` | {} |", usage(kind), kind.details).expect("a text");
    }
    check_part("server/docs/control.md", "kinds", &table);
    let names: Vec<String> = user_kinds()
        .map(|kind| format!("`{}`", kind.name))
        .collect();
    check_part(
        "server/docs/protocol.md",
        "kinds",
        &format!("The kinds of breakpoints are {}.\n", names.join(", ")),
    );
    let of_calls: Vec<String> = user_kinds()
        .filter(|kind| kind.is_about_calls)
        .map(|kind| format!("`{}`", kind.name))
        .collect();
    let (last, others) = of_calls.split_last().expect("kinds about calls");
    check_part(
        "server/docs/control.md",
        "kinds about calls",
        &format!(
            "These are those of the kinds {} and {last}.\n",
            others.join(", ")
        ),
    );
}

/// The values of a setting in words.
fn values(info: &SettingInfo) -> String {
    let code = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    match info.form {
        SettingForm::OneOf { names, .. } => code(names),
        SettingForm::Flag { .. } => code(&["true", "false"]),
        _ => info.values.to_owned(),
    }
}

fn default(info: &SettingInfo) -> String {
    match info.form.default() {
        None => "in the user's state directory".to_owned(),
        Some(setting @ (Setting::Size(_) | Setting::Program(_))) => format!("`\"{setting}\"`"),
        Some(setting) => format!("`{setting}`"),
    }
}

#[test]
fn settings_of_the_documentation() {
    let mut table =
        "| key | values | default | in a workspace's file, and in an editor |\n|---|---|---|---|\n"
            .to_owned();
    for key in Key::ALL {
        let info = key.info();
        let values = values(info);
        assert!(
            !values.is_empty() && !info.others.is_empty(),
            "{}",
            info.name
        );
        writeln!(
            table,
            "| `{}` | {values} | {} | {} |",
            info.name,
            default(info),
            info.others
        )
        .expect("a text");
    }
    check_part("server/docs/settings.md", "settings", &table);
}

/// VS Code sends these settings, shows them with the same defaults and values, and takes those that are not harmless
/// from no untrusted workspace.
#[test]
fn settings_of_vscode() {
    let shown = Key::ALL.iter().filter(|key| key.info().is_in_editors);
    let names: Vec<&str> = shown.clone().map(|key| key.name()).collect();
    let mut list = String::new();
    for name in &names {
        writeln!(list, "  {},", json!(name)).expect("a text");
    }
    let text = format!(
        "// {HEAD}\n\n/** Settings that the server takes from VS Code. */\nexport const KEYS = [\n{list}] as const;\n"
    );
    check_file("vscode-extension/src/server/keys.ts", &text);

    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../vscode-extension/package.json"
    );
    let package: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("the file")).expect("JSON");
    let groups = &package["contributes"]["configuration"];
    let groups = groups
        .as_array()
        .map_or_else(|| vec![groups.clone()], Clone::clone);
    let property = |name: &str| {
        let found = groups
            .iter()
            .find_map(|group| group["properties"].get(name));
        found
            .cloned()
            .unwrap_or_else(|| panic!("package.json has no {name}"))
    };
    let restricted = &package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"];
    let restricted = restricted.as_array().expect("a list");
    for key in shown {
        let name = format!("backstitch.{}", key.name());
        let property = property(&name);
        let default = match key.info().form.default() {
            None => json!(""),
            Some(setting @ Setting::Size(_)) => json!(setting.to_string()),
            Some(setting) => setting.json(),
        };
        assert_eq!(property["default"], default, "{name}");
        match key.info().form {
            SettingForm::OneOf { names, .. } => {
                assert_eq!(property["enum"], json!(names), "{name}");
            }
            SettingForm::Number(form) => {
                assert_eq!(property["minimum"], json!(form.least), "{name}");
                let most = (form.most < u64::MAX).then_some(form.most);
                assert_eq!(
                    property.get("maximum").and_then(Value::as_u64),
                    most,
                    "{name}"
                );
            }
            SettingForm::Patterns
            | SettingForm::Size(_)
            | SettingForm::Flag { .. }
            | SettingForm::Dir
            | SettingForm::Program { .. }
            | SettingForm::Variables => {}
        }
        let is_restricted = restricted.contains(&json!(name));
        let is_harmless = matches!(key, Key::CodeLens | Key::JobProblems);
        assert_eq!(is_restricted, !is_harmless, "{name}");
    }
}

/// The words of the lens that rewinds, for VS Code's hover and for the tests of the extension.
#[test]
fn lenses_in_vscode() {
    let words = REWIND_LENS.trim_start_matches(|sign: char| !sign.is_alphabetic());
    let (first, rest) = words.split_at(1);
    let link = json!(format!("{}{rest}", first.to_uppercase()));
    let hover = format!(
        "// {HEAD}\n\nimport {{ l10n }} from \"vscode\";\n\n/** Title of a link to the state before a turn, as its lens has it. */\n\
         export const rewindToHere = (): string => l10n.t({link});\n"
    );
    check_file("vscode-extension/src/code/titles.ts", &hover);
    let tests = format!(
        "// {HEAD}\n\n/** Title of the lens that rewinds; the turn follows. */\nexport const REWIND_LENS = '{REWIND_LENS}';\n\n\
         /** Title of the link in a hover that does the same. */\nexport const REWIND_LINK = {};\n",
        link.to_string().replace('"', "'")
    );
    check_file("tests/vscode/rig/titles.ts", &tests);
}

/// The page of Neovim's own client shows what its screen has.
#[test]
fn lenses_in_the_documentation() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/e2e/editors/screens/neovim-lenses.txt"
    );
    let screen = fs::read_to_string(path).expect("the screen");
    assert!(screen.contains(REWIND_LENS), "renew {path}");
    let (_, shown) = screen.split_once('\n').expect("the version");
    let mut text = shown.replace("AGE", "2 min ago");
    while text.contains("~\n~\n~\n") {
        text = text.replace("~\n~\n~\n", "~\n~\n");
    }
    let text = text.trim_end();
    check_part(
        "server/docs/editors/neovim.md",
        "screen",
        &format!("```text\n{text}\n```\n"),
    );
}

/// A table of agents: one row a page, and then these.
fn agent_table(head: &str, row: impl Fn(&AgentPage) -> [String; 6], last: &str) -> String {
    let count = head.matches('|').count() - 1;
    let mut text = format!("{head}\n|{}\n", "---|".repeat(count));
    for page in pages() {
        let cells = row(page);
        writeln!(text, "| {} |", cells[..count].join(" | ")).expect("a text");
    }
    text + last
}

#[test]
fn agents_in_the_documentation() {
    let page = "server/docs/agents.md";
    let names: Vec<String> = AGENTS
        .iter()
        .map(|one| format!("`{}`", one.name()))
        .collect();
    check_part(
        page,
        "agents",
        &format!("Their names: {}.\n", names.join(", ")),
    );
    let recorded = agent_table(
        "| agent | connected by | turn | step | tested with |",
        |one| {
            let tested = one.tested.unwrap_or("untested, from its documents");
            [one.title, one.connected, one.turn, one.step, tested, ""].map(str::to_owned)
        },
        "",
    );
    check_part(page, "recorded agents", &recorded);
    let held = agent_table(
        "| agent | holds for | denial | changed input | text to the model | end of the turn |",
        |one| {
            let held = one.held;
            let answers = [held.denial, held.changed_input, held.text, held.end_of_turn];
            let time = held.time.to_string();
            [
                one.title, &time, answers[0], answers[1], answers[2], answers[3],
            ]
            .map(str::to_owned)
        },
        "| any agent behind [`backstitch acp`](acp.md) | until the editor gives up, at most a day | yes, without a reason | no | no | yes |\n",
    );
    check_part(page, "held calls of agents", &held);
    let proxy = agent_table(
        "| agent | behind the protocol |",
        |one| [one.title, one.proxy, "", "", "", ""].map(str::to_owned),
        "",
    );
    check_part(page, "agents behind the protocol", &proxy);
}

/// Agents of the README with the same answers share a row.
#[test]
fn agents_in_the_readme() {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for page in pages() {
        let says_yes = |answer: &str| {
            if answer.starts_with("yes") {
                "yes"
            } else {
                "no"
            }
        };
        let untested = if page.tested.is_some() {
            ""
        } else {
            ", untested"
        };
        let setup = if page.held.time == HeldTime::No {
            ", without set-up"
        } else {
            ""
        };
        let answers = [page.held.denial, page.held.changed_input].map(|answer| {
            let said = says_yes(answer);
            if said == "yes" {
                format!("{said}{untested}")
            } else {
                said.to_owned()
            }
        });
        let cells = format!("yes{setup}{untested} | {} | {}", answers[0], answers[1]);
        match rows.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, titles)) => titles.push(page.title),
            None => rows.push((cells, vec![page.title])),
        }
    }
    let mut text = String::from(
        "| agent | recorded | can be held | takes changed input |\n|---|---|---|---|\n",
    );
    for (cells, titles) in rows {
        writeln!(text, "| {} | {cells} |", titles.join(", ")).expect("a text");
    }
    text.push_str(
        "| any agent of the [Agent Client Protocol](server/docs/acp.md) | yes | its questions | no |\n",
    );
    check_part("README.md", "agents", &text);
}
