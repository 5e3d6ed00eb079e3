//! `breakpoint`: makes, lists and removes breakpoints.

use std::ffi::OsStr;

use backstitch_control::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, BudgetOf, CallMoment, Control,
    HitCondition, LineRange, NewBreakpoint, RegionState,
};
use backstitch_core::config::Config;
use backstitch_core::config::Unattended;
use backstitch_core::{Engine, OpenOptions};
use serde_json::json;

use super::control_args::{
    ActionName, BreakpointCommand, BreakpointEditArgs, BreakpointKind, BreakpointOptions,
    BudgetKind, UnattendedKind,
};
use super::control_context::{ControlContext, FACE};
use super::error::{CliError, CliResult};
use super::line::TextLine;
use super::out;
use crate::control::{lookup, moves, view, words};
use crate::render::{self, BOLD, DIM, GREEN, PLAIN, YELLOW};
use crate::safeguards;
use backstitch_control::condition::{Condition, LogText};

pub fn run(context: &ControlContext, command: BreakpointCommand) -> CliResult<()> {
    match command {
        BreakpointCommand::Add(options) => add(context, options.kind),
        BreakpointCommand::List => list(context),
        BreakpointCommand::Hits { id, limit } => hits(context, id.as_deref(), limit),
        BreakpointCommand::Edit(options) => edit(context, options),
        BreakpointCommand::Remove { id } => remove(context, &id),
        BreakpointCommand::Enable { id } => enable(context, &id, true),
        BreakpointCommand::Disable { id } => enable(context, &id, false),
        BreakpointCommand::Clear => clear(context),
    }
}

fn add(context: &ControlContext, kind: BreakpointKind) -> CliResult<()> {
    let control = context.create()?;
    let typed = typed_pattern(&kind);
    let (spec, base, options) = spec(context, kind)?;
    let made = control
        .breakpoints()
        .add(new(context, spec, base, options)?)?;
    let remarks = words::remarks(&context.workspace.root, typed.as_deref(), &made.spec);
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&made), "remarks": remarks }));
    }
    let what = format!(
        "{} {}",
        made.spec.kind(),
        render::clean(&made.spec.summary())
    );
    let what = what.trim_end();
    context
        .out
        .remark(&format!("Added {}: {what}\n", made.id))?;
    for remark in remarks {
        context
            .out
            .remark(&format!("{}\n", render::clean(&remark)))?;
    }
    let is_function = matches!(made.spec, BreakpointSpec::Function { .. });
    if made.action == BreakpointAction::Pause && is_function {
        context.out.remark(
            "A program that calls it stands still until you decide. `backstitch pauses --watch` shows that; `backstitch repl` asks it.\n",
        )?;
    } else if made.action == BreakpointAction::Pause {
        context.out.remark(
            "`backstitch pauses --watch` shows held calls; `backstitch resume` lets one go on.\n",
        )?;
        if !is_watched(context) {
            let outcome = made
                .unattended
                .unwrap_or_else(|| Config::of(&context.workspace).pause_unattended());
            context.out.remark(&format!(
                "No editor shows held calls now: {}.\n",
                unwatched(outcome, made.moment)
            ))?;
        }
    }
    if context.is_elsewhere() {
        context.out.note(
            "note",
            "agents' hooks use another store, that of `store.dir`: this breakpoint stops none of them. Leave out --store-dir, or set `store.dir`",
        );
    }
    tell_unknown(context, &made.scope);
    if let BreakpointSpec::Tool { name, .. } = &made.spec
        && let Some(known) = other_case(name)
    {
        context.out.note(
            "note",
            &format!("the case of letters counts: there is a tool `{known}`, and none `{name}`"),
        );
    }
    Ok(())
}

/// The pattern of paths that was typed.
fn typed_pattern(kind: &BreakpointKind) -> Option<String> {
    match kind {
        BreakpointKind::Path { glob, .. } => Some(glob.clone()),
        BreakpointKind::Content { path, .. } => path.clone(),
        BreakpointKind::Tool { .. }
        | BreakpointKind::Line { .. }
        | BreakpointKind::Pattern { .. }
        | BreakpointKind::Command { .. }
        | BreakpointKind::Iteration { .. }
        | BreakpointKind::Turn { .. }
        | BreakpointKind::Function { .. }
        | BreakpointKind::Error { .. }
        | BreakpointKind::Budget { .. } => None,
    }
}

/// Notes a scope that has no call yet: it may be mistyped.
fn tell_unknown(context: &ControlContext, scope: &BreakpointScope) {
    let known: Vec<&str> = crate::agents::AGENTS
        .iter()
        .map(|agent| agent.name())
        .collect();
    if let Some(agent) = scope.agent.as_deref().filter(|name| !known.contains(name)) {
        context.out.note(
            "note",
            &format!(
                "no agent with hooks is called `{}`: {}",
                render::clean(agent),
                known.join(", ")
            ),
        );
    }
    if let Some(session) = scope.session.as_deref()
        && context.known_session(Some(session)).is_err()
    {
        let session = render::clean(session);
        context
            .out
            .note("note", &format!("no session `{session}` is recorded yet"));
    }
}

/// True if an editor has the workspace open.
fn is_watched(context: &ControlContext) -> bool {
    let engine = Engine::open_with(&context.workspace, OpenOptions::COMMAND.existing());
    engine.is_ok_and(|mut engine| {
        let editors = engine.documents_mut().editors();
        editors.is_ok_and(|editors| !editors.is_empty())
    })
}

/// The outcome of a pause that nobody sees, in words.
fn unwatched(outcome: Unattended, moment: CallMoment) -> &'static str {
    match outcome {
        // there is nothing to ask about or to refuse
        Unattended::Ask | Unattended::Deny if moment == CallMoment::After => {
            "a call that has run goes on; `pause.unattended = \"hold\"` has it wait"
        }
        Unattended::Ask => {
            "an agent asks you itself if you sit before it, else the call is held (`pause.unattended`)"
        }
        Unattended::Hold => "the call is held until you decide",
        Unattended::Deny => "the call is refused",
        Unattended::Allow => "the call goes on",
    }
}

/// Returns the known tool that has this name in other letters.
fn other_case(name: &str) -> Option<&'static str> {
    let known = crate::agents::tool_names();
    if known.contains(&name) {
        return None;
    }
    known
        .into_iter()
        .find(|tool| tool.eq_ignore_ascii_case(name))
}

/// Compiles a condition. An empty one is none.
fn condition(jq: String) -> CliResult<Option<String>> {
    if jq.trim().is_empty() {
        return Ok(None);
    }
    Condition::compile(&jq)
        .map_err(|reason| CliError::usage(format!("the condition `{jq}`: {reason}")))?;
    Ok(Some(jq))
}

fn hit_condition(typed: &str) -> CliResult<Option<HitCondition>> {
    if typed.trim().is_empty() {
        return Ok(None);
    }
    typed.parse().map(Some).map_err(CliError::usage)
}

/// Refuses a log text whose jq cannot be compiled.
fn check_text(action: BreakpointAction, message: Option<&str>) -> CliResult<()> {
    match message {
        Some(text) if action == BreakpointAction::Log => {
            LogText::compile(text).map(drop).map_err(CliError::usage)
        }
        _ => Ok(()),
    }
}

fn action(name: ActionName) -> BreakpointAction {
    match name {
        ActionName::Pause => BreakpointAction::Pause,
        ActionName::Log => BreakpointAction::Log,
        ActionName::Deny => BreakpointAction::Deny,
    }
}

fn unattended(kind: UnattendedKind) -> Unattended {
    match kind {
        UnattendedKind::Ask => Unattended::Ask,
        UnattendedKind::Hold => Unattended::Hold,
        UnattendedKind::Deny => Unattended::Deny,
        UnattendedKind::Allow => Unattended::Allow,
    }
}

fn edit(context: &ControlContext, options: BreakpointEditArgs) -> CliResult<()> {
    let control = context.required()?;
    let mut one = control.breakpoints().named(&options.id)?;
    let before = one.clone();
    if let Some(jq) = options.when {
        one.condition = condition(jq)?;
    }
    if let Some(typed) = options.hits {
        one.hits_when = hit_condition(&typed)?;
    }
    if let Some(name) = options.action {
        one.action = action(name);
        if one.action == BreakpointAction::Pause && options.message.is_none() {
            // it had one as a log or a denial
            one.message = None;
        }
    }
    if let Some(text) = options.message {
        one.message = Some(text).filter(|text| !text.is_empty());
    }
    if let Some(once) = options.once {
        one.once = once;
    }
    if let Some(kind) = options.unattended {
        one.unattended = Some(unattended(kind));
    }
    check_text(one.action, one.message.as_deref())?;
    if one == before {
        return Err(
            CliError::usage(format!("nothing to change about {}", one.id))
                .hint("`backstitch breakpoint edit --help` lists what can be changed"),
        );
    }
    control.breakpoints().edit(&one, FACE)?;
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&one) }));
    }
    context.out.text(&line(&one, None).draw(context.out.paint))
}

fn hits(context: &ControlContext, id: Option<&str>, limit: usize) -> CliResult<()> {
    let hits = match context.existing()? {
        Some(control) => {
            let of = id.map(|id| control.breakpoints().named(id)).transpose()?;
            control.hits().newest(of.map(|one| one.id), limit)?
        }
        None => Vec::new(),
    };
    if context.out.json {
        let breakpoints = match context.existing()? {
            Some(control) => control.breakpoints().all()?,
            None => Vec::new(),
        };
        let hits: Vec<_> = hits
            .iter()
            .map(|hit| view::hit(hit, &breakpoints))
            .collect();
        return out::answer(json!({ "hits": hits }));
    }
    if hits.is_empty() {
        return context.out.text("No hits.\n");
    }
    let mut text = String::new();
    for hit in &hits {
        let what = hit.text.as_deref().unwrap_or(&hit.why);
        let line = TextLine::new()
            .column(DIM, &context.out.paint.ago(hit.time), 10)
            .column(BOLD, &hit.breakpoint.to_string(), 5)
            .column(PLAIN, &render::clean(&hit.tool), 12)
            .add(PLAIN, render::clean(what))
            .add(DIM, format!("  {}", render::clean(&hit.agent)));
        text.push_str(&line.draw(context.out.paint));
    }
    context.out.text(&text)
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
        BreakpointKind::Path {
            glob,
            edits,
            options,
        } => {
            let glob = context.pattern(&glob)?;
            (BreakpointSpec::Path { glob, edits }, None, options)
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
        BreakpointKind::Command { text, options } => {
            (BreakpointSpec::command(&text), None, options)
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
        BreakpointKind::Function { name, options } => {
            (BreakpointSpec::Function { name }, None, options)
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
    let condition = options.when.map(condition).transpose()?.flatten();
    let hits_when = options.hits.as_deref().map(hit_condition).transpose()?;
    let action = action(options.action);
    check_text(action, options.message.as_deref())?;
    Ok(NewBreakpoint {
        moment: options.after.then_some(CallMoment::After),
        scope: BreakpointScope {
            agent: options.agent,
            session,
            subagent: options.subagent,
        },
        condition,
        hits_when: hits_when.flatten(),
        action,
        message: options.message,
        once: options.once,
        unattended: options.unattended.map(unattended),
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
    let mut all = match &control {
        Some(control) => control.breakpoints().all()?,
        None => Vec::new(),
    };
    let mut regions = Vec::new();
    if let Some(control) = &control {
        all = moves::follow(&context.workspace, control, &all).unwrap_or(all);
        for one in &all {
            regions.push(lookup::region_now(&context.workspace.root, control, one)?);
        }
    }
    if context.out.json {
        let seq = control.as_ref().map(Control::seq).transpose()?;
        let shape = |(one, region): (&Breakpoint, &Option<RegionState>)| {
            let mut shape = view::breakpoint(one);
            shape.region = region.and_then(|state| view::region(one, state));
            shape
        };
        let all: Vec<_> = all.iter().zip(&regions).map(shape).collect();
        return out::answer(json!({ "seq": seq.unwrap_or(0), "breakpoints": all }));
    }
    for one in safeguards::earlier_stores(&context.workspace, &Config::of(&context.workspace)) {
        context.out.note("note", &one.line());
    }
    if all.is_empty() {
        return context
            .out
            .text("No breakpoints. `backstitch breakpoint add path 'src/**'` makes the first.\n");
    }
    let mut text = String::new();
    for (one, region) in all.iter().zip(&regions) {
        text.push_str(&line(one, *region).draw(context.out.paint));
    }
    context.out.text(&text)
}

/// A breakpoint in a line. `region`: the state of its lines now.
fn line(one: &Breakpoint, region: Option<RegionState>) -> TextLine {
    let style = if one.enabled { BOLD } else { DIM };
    let mark = if one.enabled { "● " } else { "○ " };
    let mut more = String::new();
    let mut add = |text: String| {
        more.push_str("  ");
        more.push_str(&text);
    };
    if let BreakpointSpec::Line { start, count, .. } = one.spec {
        match region {
            Some(RegionState::Present(now)) if now != (LineRange { start, count }) => {
                add(format!("now {}", lookup::lines_text(now)));
            }
            Some(RegionState::Gone) => add("its lines are gone".to_owned()),
            _ => {}
        }
    }
    if one.moment != one.spec.usual_moment() {
        add("after the call".to_owned());
    }
    let action = match one.action {
        BreakpointAction::Pause => None,
        BreakpointAction::Log => Some("log"),
        BreakpointAction::Deny => Some("deny"),
    };
    if let Some(action) = action {
        add(action.to_owned());
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
        Some(problem) => line.add(
            YELLOW,
            format!("  its expression failed: {}", render::clean(problem)),
        ),
        None => line,
    }
}

fn remove(context: &ControlContext, id: &str) -> CliResult<()> {
    let control = context.required()?;
    let one = control.breakpoints().named(id)?;
    let existed = control.breakpoints().remove(one.id, FACE)?;
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
        ..control.breakpoints().named(id)?
    };
    control.breakpoints().edit(&one, FACE)?;
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
        Some(control) => control.breakpoints().clear(FACE)?,
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
