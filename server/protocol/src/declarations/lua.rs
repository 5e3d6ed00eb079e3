//! Declarations in `LuaCATS`, for Lua's language server.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Declared, Field, Type};
use crate::{COMMANDS, NOTIFICATIONS, REQUESTS};

const HEAD: &str = "\
-- Types and names of Backstitch's protocol beyond LSP; server/docs/protocol.md describes it.
-- Generated from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol
";

/// A type of LSP itself, which Neovim declares.
const FROM_LSP: &str = "WorkspaceEdit";

pub fn file(all: &BTreeMap<String, Declared>) -> String {
    let mut text = HEAD.to_owned();
    let own = all.iter().filter(|(name, _)| *name != FROM_LSP);
    for (name, declared) in own {
        text.push('\n');
        if let Some(about) = &declared.about {
            writeln!(text, "---{about}").ok();
        }
        match &declared.ty {
            Type::Fields(fields) => {
                writeln!(text, "---@class backstitch.{name}").ok();
                for field in fields {
                    line(&mut text, field);
                }
            }
            ty => {
                writeln!(text, "---@alias backstitch.{name} {}", type_text(ty)).ok();
            }
        }
    }
    let mut table = |name: &str, rows: Vec<(&str, String)>| {
        writeln!(text, "\n---@class backstitch.{name}").ok();
        for (method, ty) in rows {
            writeln!(text, "---@field [\"{method}\"] {ty}").ok();
        }
    };
    let pair = |params: &str, result: &str| {
        format!("{{ params: backstitch.{params}, result: backstitch.{result} }}")
    };
    let rows = REQUESTS
        .iter()
        .map(|r| (r.method, pair(r.params.name(), r.result.name())));
    table("Requests", rows.collect());
    let rows = COMMANDS.iter().map(|c| {
        let result = format!("{}|backstitch.CommandFailed", c.result.name());
        (c.name, pair(c.params.name(), &result))
    });
    table("Commands", rows.collect());
    let rows = NOTIFICATIONS
        .iter()
        .map(|n| (n.method, format!("backstitch.{}", n.params.name())));
    table("Notifications", rows.collect());
    let commands: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let notifications: Vec<&str> = NOTIFICATIONS.iter().map(|n| n.method).collect();
    text.push_str("\nreturn {\n");
    list(&mut text, "commands", "The server's commands.", &commands);
    let about = "Notifications from the server.";
    list(&mut text, "notifications", about, &notifications);
    text.push_str("}\n");
    text
}

/// Writes names as a field that the plugin reads when it runs.
fn list(text: &mut String, field: &str, about: &str, names: &[&str]) {
    writeln!(text, "  --- {about}\n  {field} = {{").ok();
    for name in names {
        writeln!(text, "    '{name}',").ok();
    }
    text.push_str("  },\n");
}

fn line(text: &mut String, field: &Field) {
    let mark = if field.required { "" } else { "?" };
    let about = field.about.as_deref().unwrap_or_default();
    let line = format!(
        "---@field {}{mark} {} {about}",
        field.name,
        type_text(&field.ty)
    );
    writeln!(text, "{}", line.trim_end()).ok();
}

/// The client decodes JSON's null as `vim.NIL` or `nil`.
fn type_text(ty: &Type) -> String {
    let each =
        |all: &[Type], between: &str| all.iter().map(type_text).collect::<Vec<_>>().join(between);
    match ty {
        Type::Text => "string".into(),
        Type::Integer => "integer".into(),
        Type::Number => "number".into(),
        Type::Bool => "boolean".into(),
        Type::Null => "nil".into(),
        Type::Any => "any".into(),
        Type::Named(name) if name == FROM_LSP => format!("lsp.{name}"),
        Type::Named(name) => format!("backstitch.{name}"),
        Type::Literal(word) => format!("\"{word}\""),
        Type::List(item) => match &**item {
            Type::OneOf(_) => format!("({})[]", type_text(item)),
            _ => format!("{}[]", type_text(item)),
        },
        Type::Tuple(all) => format!("[{}]", each(all, ", ")),
        Type::OneOf(all) => each(all, "|"),
        Type::Fields(fields) => {
            let one = |field: &Field| {
                let mark = if field.required { "" } else { "?" };
                format!("{}{mark}: {}", field.name, type_text(&field.ty))
            };
            let all: Vec<String> = fields.iter().map(one).collect();
            format!("{{ {} }}", all.join(", "))
        }
    }
}
