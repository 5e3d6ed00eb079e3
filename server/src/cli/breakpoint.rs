//! `breakpoint`: makes, lists and removes breakpoints.

use std::ffi::OsStr;

use backstitch_core::control::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, BudgetOf, CallMoment, Control,
    HitCondition, NewBreakpoint, Unattended,
};
use serde_json::json;

use super::control_args::{
    ActionName, BreakpointCommand, BreakpointKind, BreakpointOptions, BudgetKind, UnattendedKind,
};
use super::control_context::{ControlContext, FACE};
use super::error::{CliError, CliResult};
use super::line::TextLine;
use super::out;
use crate::control::condition::Condition;
use crate::control::{lookup, view};
use crate::render::{self, BOLD, DIM, GREEN, PLAIN, YELLOW};

pub fn run(context: &ControlContext, command: BreakpointCommand) -> CliResult<()> {
    if let BreakpointCommand::List = command {
        return list(context);
    }
    context.guard()?;
    match command {
        BreakpointCommand::Add(options) => add(context, options.kind),
        BreakpointCommand::List => Ok(()),
        BreakpointCommand::Remove { id } => remove(context, &id),
        BreakpointCommand::Enable { id } => enable(context, &id, true),
        BreakpointCommand::Disable { id } => enable(context, &id, false),
        BreakpointCommand::Clear => clear(context),
    }
}

fn add(context: &ControlContext, kind: BreakpointKind) -> CliResult<()> {
    let control = context.create()?;
    let (spec, base, options) = spec(context, kind)?;
    let made = control.add_breakpoint(new(context, spec, base, options)?)?;
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&made) }));
    }
    context.out.remark(&format!(
        "Added {}: {} {}\n",
        made.id,
        made.spec.kind(),
        render::clean(&made.spec.summary())
    ))?;
    if made.action == BreakpointAction::Pause {
        context.out.remark(
            "`backstitch pauses --watch` shows held calls; `backstitch resume` lets one go on.\n",
        )?;
    }
    Ok(())
}

/// Returns the spec, and the text of the file of a `line` breakpoint.
fn spec(
    context: &ControlContext,
    kind: BreakpointKind,
) -> CliResult<(BreakpointSpec, Option<Vec<u8>>, BreakpointOptions)> {
    Ok(match kind {
        BreakpointKind::Tool {
            name,
            condition,
            options,
        } => (BreakpointSpec::Tool { name, condition }, None, options),
        BreakpointKind::Path { glob, options } => {
            let glob = context.pattern(&glob)?;
            (BreakpointSpec::Path { glob }, None, options)
        }
        BreakpointKind::Line { place, options } => {
            let (path, start, count) = place_of(context, &place)?;
            let base = lookup::read_file(&context.workspace.root.join(&path))
                .map_err(|error| CliError::failed(format!("{path}: {error}")))?;
            let base = base.ok_or_else(|| {
                CliError::not_found(format!("`{}` does not exist", render::clean(&path))).hint(
                    "a line breakpoint begins with the lines as they are; use `path` for new files",
                )
            })?;
            let spec = BreakpointSpec::Line { path, start, count };
            (spec, Some(base), options)
        }
        BreakpointKind::Content {
            regex,
            path,
            options,
        } => {
            let path = path.map(|glob| context.pattern(&glob)).transpose()?;
            (BreakpointSpec::Content { regex, path }, None, options)
        }
        BreakpointKind::Pattern { regex, options } => {
            (BreakpointSpec::Pattern { regex }, None, options)
        }
        BreakpointKind::Command { regex, options } => {
            (BreakpointSpec::Command { regex }, None, options)
        }
        BreakpointKind::Iteration { number, options } => {
            (BreakpointSpec::Iteration { number }, None, options)
        }
        BreakpointKind::Turn { turn, options } => {
            let number = turn.strip_prefix('t').unwrap_or(&turn).parse().ok();
            let number = number.ok_or_else(|| {
                CliError::usage(format!("`{turn}` is not a turn")).hint("write t4, or 4")
            })?;
            (BreakpointSpec::Turn { number }, None, options)
        }
        BreakpointKind::Error { tool, options } => (BreakpointSpec::Error { tool }, None, options),
        BreakpointKind::Budget { of, limit, options } => {
            let of = match of {
                BudgetKind::Calls => BudgetOf::Calls,
                BudgetKind::Files => BudgetOf::Files,
                BudgetKind::Lines => BudgetOf::Lines,
                BudgetKind::Minutes => BudgetOf::Minutes,
                BudgetKind::Tokens => BudgetOf::Tokens,
            };
            (BreakpointSpec::Budget { of, limit }, None, options)
        }
    })
}

fn new(
    context: &ControlContext,
    spec: BreakpointSpec,
    base: Option<Vec<u8>>,
    options: BreakpointOptions,
) -> CliResult<NewBreakpoint> {
    let session = context.session(options.session.as_deref())?;
    if let Some(jq) = &options.when {
        Condition::compile(jq)
            .map_err(|reason| CliError::usage(format!("the condition `{jq}`: {reason}")))?;
    }
    let hits_when: Option<HitCondition> = options
        .hits
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(CliError::usage)?;
    Ok(NewBreakpoint {
        moment: options.after.then_some(CallMoment::After),
        scope: BreakpointScope {
            agent: options.agent,
            session,
            subagent: options.subagent,
        },
        condition: options.when,
        hits_when,
        action: match options.action {
            ActionName::Pause => BreakpointAction::Pause,
            ActionName::Log => BreakpointAction::Log,
            ActionName::Deny => BreakpointAction::Deny,
        },
        message: options.message,
        once: options.once,
        unattended: options.unattended.map(|outcome| match outcome {
            UnattendedKind::Ask => Unattended::Ask,
            UnattendedKind::Hold => Unattended::Hold,
            UnattendedKind::Deny => Unattended::Deny,
            UnattendedKind::Allow => Unattended::Allow,
        }),
        base,
        ..NewBreakpoint::of(spec, FACE)
    })
}

/// Splits `src/auth.rs:10-20`.
fn place_of(context: &ControlContext, typed: &OsStr) -> CliResult<(String, u32, u32)> {
    let text = typed.to_string_lossy();
    let wrong = || {
        CliError::usage(format!("`{text}` is not a place in a file"))
            .hint("write src/auth.rs:10 or src/auth.rs:10-20")
    };
    let (file, lines) = text.rsplit_once(':').ok_or_else(wrong)?;
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    let start: u32 = start.trim().parse().map_err(|_| wrong())?;
    let end: u32 = end.trim().parse().map_err(|_| wrong())?;
    if start == 0 || end < start {
        return Err(wrong());
    }
    Ok((context.path(file)?, start, end - start + 1))
}

fn list(context: &ControlContext) -> CliResult<()> {
    let control = context.existing()?;
    let all = match &control {
        Some(control) => control.breakpoints()?,
        None => Vec::new(),
    };
    if context.out.json {
        let seq = control.as_ref().map(Control::seq).transpose()?;
        let all: Vec<_> = all.iter().map(view::breakpoint).collect();
        return out::answer(json!({ "seq": seq.unwrap_or(0), "breakpoints": all }));
    }
    if all.is_empty() {
        return context
            .out
            .text("No breakpoints. `backstitch breakpoint add path 'src/**'` makes the first.\n");
    }
    let mut text = String::new();
    for one in &all {
        text.push_str(&line(one).draw(context.out.paint));
    }
    context.out.text(&text)
}

fn line(one: &Breakpoint) -> TextLine {
    let style = if one.enabled { BOLD } else { DIM };
    let mark = if one.enabled { "● " } else { "○ " };
    let mut more = String::new();
    let mut add = |text: String| {
        more.push_str("  ");
        more.push_str(&text);
    };
    if one.moment != one.spec.usual_moment() {
        add("after the call".to_owned());
    }
    if one.action != BreakpointAction::Pause {
        let word = match one.action {
            BreakpointAction::Log => "log",
            _ => "deny",
        };
        add(word.to_owned());
    }
    if let Some(jq) = &one.condition {
        add(format!("when {}", render::clean(jq)));
    }
    if let Some(when) = one.hits_when {
        add(format!("hits {when}"));
    }
    let scope = &one.scope;
    let named = [
        ("agent", &scope.agent),
        ("session", &scope.session),
        ("subagent", &scope.subagent),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            add(format!("{name} {}", render::clean(value)));
        }
    }
    if one.once {
        add("once".to_owned());
    }
    if !one.enabled {
        add("disabled".to_owned());
    }
    let hits = usize::try_from(one.hits).unwrap_or(0);
    let line = TextLine::new()
        .add(if one.enabled { GREEN } else { DIM }, mark)
        .column(style, &one.id.to_string(), 5)
        .column(PLAIN, one.spec.kind(), 11)
        .add(style, render::clean(&one.spec.summary()))
        .add(DIM, more)
        .right(render::plural(hits, "hit", "hits"));
    match &one.problem {
        Some(problem) => line.add(YELLOW, format!("  {}", render::clean(problem))),
        None => line,
    }
}

fn remove(context: &ControlContext, id: &str) -> CliResult<()> {
    let control = context.required()?;
    let one = control.breakpoint(id)?;
    let existed = control.remove_breakpoint(one.id, FACE)?;
    if context.out.json {
        return out::answer(json!({ "removed": existed, "breakpoint": one.id.to_string() }));
    }
    context
        .out
        .remark(&format!("Removed breakpoint {}.\n", one.id))
}

fn enable(context: &ControlContext, id: &str, enabled: bool) -> CliResult<()> {
    let control = context.required()?;
    let one = Breakpoint {
        enabled,
        ..control.breakpoint(id)?
    };
    control.edit_breakpoint(&one, FACE)?;
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&one) }));
    }
    let word = if enabled { "Enabled" } else { "Disabled" };
    context
        .out
        .remark(&format!("{word} breakpoint {}.\n", one.id))
}

fn clear(context: &ControlContext) -> CliResult<()> {
    let control: Option<Control> = context.existing()?;
    let removed = match &control {
        Some(control) => control.clear_breakpoints(FACE)?,
        None => 0,
    };
    if context.out.json {
        return out::answer(json!({ "removed": removed }));
    }
    context.out.remark(&format!(
        "Removed {}.\n",
        render::plural(removed, "breakpoint", "breakpoints")
    ))
}
