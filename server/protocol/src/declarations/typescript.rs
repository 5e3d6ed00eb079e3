//! Declarations in TypeScript.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Declared, Field, Type};
use crate::{COMMANDS, NOTIFICATIONS, REQUESTS};

const HEAD: &str = "\
// Types of Backstitch's protocol beyond LSP; server/docs/protocol.md describes it.
// Generated from the types of server/protocol: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch-protocol

import type { WorkspaceEdit } from \"vscode-languageserver-types\";
";

/// A type of LSP itself, which is imported.
const FROM_LSP: &str = "WorkspaceEdit";

pub fn file(all: &BTreeMap<String, Declared>) -> String {
    let mut text = HEAD.to_owned();
    let own = all.iter().filter(|(name, _)| *name != FROM_LSP);
    for (name, declared) in own {
        text.push('\n');
        comment(&mut text, declared.about.as_deref(), "");
        match &declared.ty {
            Type::Fields(fields) => {
                writeln!(text, "export interface {name} {{").ok();
                for field in fields {
                    line(&mut text, field);
                }
                text.push_str("}\n");
            }
            ty => writeln!(text, "export type {name} = {};", type_text(ty)).unwrap_or_default(),
        }
    }
    let mut table = |about: &str, name: &str, rows: Vec<(&str, Option<&str>, String)>| {
        writeln!(text, "\n/** {about} */\nexport interface {name} {{").ok();
        for (method, about, ty) in rows {
            comment(&mut text, about, "  ");
            writeln!(text, "  \"{method}\": {ty};").ok();
        }
        text.push_str("}\n");
    };
    let pair = |params: &str, result: &str| format!("{{ params: {params}; result: {result} }}");
    let rows = REQUESTS
        .iter()
        .map(|r| (r.method, None, pair(r.params.name(), r.result.name())));
    table("From the client, by method.", "Requests", rows.collect());
    let rows = COMMANDS.iter().map(|c| {
        let result = format!("{} | CommandFailed", c.result.name());
        (c.name, Some(c.title), pair(c.params.name(), &result))
    });
    let about = "Commands of `workspace/executeCommand`, with their one argument.";
    table(about, "Commands", rows.collect());
    let rows = NOTIFICATIONS
        .iter()
        .map(|n| (n.method, None, n.params.name().to_owned()));
    let about = "From the server, by method, with their parameters.";
    table(about, "Notifications", rows.collect());
    text
}

fn comment(text: &mut String, about: Option<&str>, indent: &str) {
    if let Some(about) = about {
        writeln!(text, "{indent}/** {about} */").ok();
    }
}

fn line(text: &mut String, field: &Field) {
    comment(text, field.about.as_deref(), "  ");
    let mark = if field.required { "" } else { "?" };
    writeln!(text, "  {}{mark}: {};", field.name, type_text(&field.ty)).ok();
}

fn type_text(ty: &Type) -> String {
    let each =
        |all: &[Type], between: &str| all.iter().map(type_text).collect::<Vec<_>>().join(between);
    match ty {
        Type::Text => "string".into(),
        Type::Integer | Type::Number => "number".into(),
        Type::Bool => "boolean".into(),
        Type::Null => "null".into(),
        Type::Any => "unknown".into(),
        Type::Named(name) => name.clone(),
        Type::Literal(word) => format!("\"{word}\""),
        Type::List(item) => match &**item {
            Type::OneOf(_) => format!("({})[]", type_text(item)),
            _ => format!("{}[]", type_text(item)),
        },
        Type::Tuple(all) => format!("[{}]", each(all, ", ")),
        Type::OneOf(all) => each(all, " | "),
        Type::Fields(fields) => {
            let one = |field: &Field| {
                let mark = if field.required { "" } else { "?" };
                format!("{}{mark}: {}", field.name, type_text(&field.ty))
            };
            let all: Vec<String> = fields.iter().map(one).collect();
            format!("{{ {} }}", all.join("; "))
        }
    }
}
