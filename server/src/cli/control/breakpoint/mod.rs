//! `breakpoint`: makes, lists and removes breakpoints.

mod typed_kind;

use backstitch_control::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, CallMoment, Control,
    ReadBreakpoint, RegionState, TypedBreakpoint, TypedOptions,
};
use backstitch_core::config::{Config, Unattended};
use backstitch_core::{Engine, Error};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::choice::one_of;
use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides, reads};
use crate::cli::control::breakpoint::typed_kind::{TypedKind, examples};
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::{follow_renames, line_texts, view, words};
use crate::opening;
use crate::render::{self, BOLD, DIM, GREEN, PLAIN, YELLOW};
use crate::safeguards;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// Maximum columns of a message in the list.
const MESSAGE_COLUMNS: usize = 60;

/// Manage breakpoints on agents' tool calls
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch breakpoint add path 'src/auth/**'\n  backstitch breakpoint add command 'rm -rf'\n  \
        backstitch breakpoint add line src/auth.rs:10-20\n  \
        backstitch breakpoint add tool Edit --when '.turn.calls > 20'\n  backstitch breakpoint list"
)]
pub struct BreakpointArgs {
    #[command(subcommand)]
    pub command: BreakpointCommand,
}

#[derive(Debug, Subcommand)]
pub enum BreakpointCommand {
    /// Add a breakpoint of one kind
    #[command(after_help = examples())]
    Add(BreakpointAddArgs),
    /// List all breakpoints, with their hit counts
    List,
    /// Change the condition, the action or the message of a breakpoint
    Edit(BreakpointEditArgs),
    /// List the newest hits, with the texts of those that log
    Hits {
        /// Only of this breakpoint: b3, or its name bp_…
        #[arg(value_name = "BREAKPOINT")]
        id: Option<String>,
        /// Maximum number
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
        limit: usize,
    },
    /// Remove a breakpoint
    Remove {
        /// Breakpoint: b3, or its name bp_…
        #[arg(value_name = "BREAKPOINT")]
        id: String,
    },
    /// Enable a breakpoint that was disabled
    Enable {
        /// Breakpoint: b3, or its name bp_…
        #[arg(value_name = "BREAKPOINT")]
        id: String,
    },
    /// Disable a breakpoint without removing it
    Disable {
        /// Breakpoint: b3, or its name bp_…
        #[arg(value_name = "BREAKPOINT")]
        id: String,
    },
    /// Remove all breakpoints
    Clear,
}

#[derive(Debug, Args)]
pub struct BreakpointAddArgs {
    /// Kind of the breakpoint
    #[command(subcommand)]
    pub kind: TypedKind,
}

/// Changes of a breakpoint. An option that is left out changes nothing; an empty text removes what was there.
#[derive(Debug, Args)]
pub struct BreakpointEditArgs {
    /// Breakpoint: b3, or its name bp_…
    #[arg(value_name = "BREAKPOINT")]
    pub id: String,
    /// Condition in jq on the call; '' for none
    #[arg(long, value_name = "JQ")]
    pub when: Option<String>,
    /// Condition on the number of hits: `>= 3`, `== 2`, `% 5`; '' for none
    #[arg(long, value_name = "EXPR")]
    pub hits: Option<String>,
    /// Pause the agent, write a line to the log, or refuse the call
    #[arg(long, value_parser = one_of(&BreakpointAction::ALL, BreakpointAction::name))]
    pub action: Option<BreakpointAction>,
    /// Message for the model with `deny`; text with `{jq}` in it with `log`; '' for none
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Remove it with its first hit
    #[arg(long, value_name = "BOOL")]
    pub once: Option<bool>,
    /// Outcome of a pause that nobody sees
    #[arg(long, value_name = "OUTCOME", value_parser = one_of(&Unattended::ALL, Unattended::name))]
    pub unattended: Option<Unattended>,
}

impl TerminalCommand for BreakpointArgs {
    fn declared(&self) -> DeclaredCommand {
        self.command.declared()
    }
}

impl TerminalCommand for BreakpointCommand {
    fn declared(&self) -> DeclaredCommand {
        match self {
            Self::Add(_) => decides("breakpoint add"),
            Self::List => reads("breakpoint list"),
            Self::Edit(_) => decides("breakpoint edit"),
            Self::Hits { .. } => reads("breakpoint hits"),
            Self::Remove { .. } => decides("breakpoint remove"),
            Self::Enable { .. } => decides("breakpoint enable"),
            Self::Disable { .. } => decides("breakpoint disable"),
            Self::Clear => decides("breakpoint clear"),
        }
    }
}

impl OnCalls for BreakpointArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        run(context, self.command)
    }
}

fn run(context: &ControlContext, command: BreakpointCommand) -> CliResult<()> {
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

/// A remark on a breakpoint at a turn that has begun already.
fn begun_turn(context: &ControlContext, spec: &BreakpointSpec) -> CliResult<Option<String>> {
    let Some(number) = spec.turn() else {
        return Ok(None);
    };
    let name = format!("t{number}");
    let engine = match Engine::open_with(&context.workspace, opening::COMMAND.existing()) {
        Ok(engine) => engine,
        Err(Error::NoStore(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let begun = engine.history().resolve(&name).is_ok();
    Ok(
        begun
            .then(|| format!("{name} has begun: its first call may be over, and no other is held")),
    )
}

fn add(context: &ControlContext, typed: TypedKind) -> CliResult<()> {
    let control = context.create()?;
    let read = read(context, typed)?;
    let made = control.breakpoints().add(read.new)?;
    let root = &context.workspace.root;
    let mut remarks = words::remarks(root, read.pattern.as_deref(), &made.spec);
    remarks.extend(begun_turn(context, &made.spec)?);
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
    if made.action == BreakpointAction::Pause && made.spec.info().is_about_programs {
        context.out.remark(
            "Programs pause there until you resume them. `backstitch pauses --watch` lists them; `backstitch repl` inspects one.\n",
        )?;
    } else if made.action == BreakpointAction::Pause {
        context.out.remark(
            "`backstitch pauses --watch` shows held calls; `backstitch resume` runs one.\n",
        )?;
        if !is_watched(context) {
            let outcome = made
                .unattended
                .unwrap_or_else(|| Config::of(&context.workspace).choice());
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
    if let Some(name) = made.spec.tool()
        && let Some(known) = other_case(name)
    {
        context.out.note(
            "note",
            &format!("the case of letters counts: there is a tool `{known}`, and none `{name}`"),
        );
    }
    Ok(())
}

fn read(context: &ControlContext, typed: TypedKind) -> CliResult<ReadBreakpoint> {
    let options = typed.options;
    let typed = TypedBreakpoint {
        kind: typed.kind.name.to_owned(),
        fields: typed.fields,
        moment: options.after.then_some(CallMoment::After),
        scope: BreakpointScope {
            agent: options.agent,
            session: context.session(options.session.as_deref())?,
            subagent: options.subagent,
        },
        options: TypedOptions {
            when: options.when,
            hits: options.hits,
            action: Some(options.action),
            message: options.message,
            once: Some(options.once),
            unattended: options.unattended,
        },
        made_by: CLIENT.to_owned(),
    };
    let text = |path: &str| line_texts::text_for_lines(&context.workspace.root, path);
    Ok(typed.read(&context.paths()?, text)?)
}

/// Notes a scope that has no call yet: it may be mistyped.
fn tell_unknown(context: &ControlContext, scope: &BreakpointScope) {
    let known: Vec<&str> = backstitch_agents::AGENTS
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
    let engine = Engine::open_with(&context.workspace, opening::COMMAND.existing());
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
            "a call that has run continues; `pause.unattended = \"hold\"` has it wait"
        }
        Unattended::Ask => {
            "an agent asks you itself if you sit before it, else the call is held (`pause.unattended`)"
        }
        Unattended::Hold => "the call is held until you decide",
        Unattended::Deny => "the call is refused",
        Unattended::Allow => "the call continues",
    }
}

/// Returns the known tool that has this name in other letters.
fn other_case(name: &str) -> Option<&'static str> {
    let known = backstitch_agents::tool_names();
    if known.contains(&name) {
        return None;
    }
    known
        .into_iter()
        .find(|tool| tool.eq_ignore_ascii_case(name))
}

fn edit(context: &ControlContext, options: BreakpointEditArgs) -> CliResult<()> {
    let control = context.required()?;
    let mut one = control.breakpoints().named(&options.id)?;
    let before = one.clone();
    let changes = TypedOptions {
        when: options.when,
        hits: options.hits,
        action: options.action,
        message: options.message,
        once: options.once,
        unattended: options.unattended,
    };
    changes.change(&mut one)?;
    if one == before {
        return Err(
            CliError::usage(format!("nothing to change about {}", one.id))
                .hint("`backstitch breakpoint edit --help` lists what can be changed"),
        );
    }
    control.breakpoints().edit(&one, CLIENT)?;
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

fn list(context: &ControlContext) -> CliResult<()> {
    let control = context.existing()?;
    let mut all = match &control {
        Some(control) => control.breakpoints().all()?,
        None => Vec::new(),
    };
    let mut regions = Vec::new();
    if let Some(control) = &control {
        all = follow_renames::follow(&context.workspace, control, &all).unwrap_or(all);
        for one in &all {
            regions.push(line_texts::region_now(
                &context.workspace.root,
                control,
                one,
            )?);
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
    let more: String = remarks_of(one, region)
        .iter()
        .flat_map(|text| ["  ", text])
        .collect();
    // made by `pause`
    let is_pause = one.spec.is_next_call();
    let kind = if is_pause {
        "next call"
    } else {
        one.spec.kind()
    };
    let hits = usize::try_from(one.hits).unwrap_or(0);
    let line = TextLine::new()
        .add(if one.enabled { GREEN } else { DIM }, mark)
        .column(style, &one.id.to_string(), 5)
        .column(PLAIN, kind, 11)
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

/// The remarks on a breakpoint that follow its parameters: state of its lines, action, conditions, scope, outcomes.
fn remarks_of(one: &Breakpoint, region: Option<RegionState>) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(set) = one.spec.lines() {
        match region {
            Some(RegionState::Present(now)) if now != set.range => {
                all.push(format!("now {now}"));
            }
            Some(RegionState::Gone) => all.push("its lines are gone".to_owned()),
            _ => {}
        }
    }
    if one.moment != one.spec.usual_moment() {
        all.push("after the call".to_owned());
    }
    let action = match one.action {
        BreakpointAction::Pause => None,
        BreakpointAction::Log => Some("log"),
        BreakpointAction::Deny => Some("deny"),
    };
    all.extend(action.map(str::to_owned));
    if let Some(jq) = &one.condition {
        all.push(format!("when {}", render::clean(jq)));
    }
    if let Some(when) = one.hits_when {
        all.push(format!("hits {when}"));
    }
    let is_pause = one.spec.is_next_call();
    let scope = &one.scope;
    let named = [
        ("agent", &scope.agent),
        ("session", &scope.session),
        ("subagent", &scope.subagent),
    ];
    for (name, value) in named {
        match value.as_deref() {
            Some("main") if is_pause => all.push("not of subagents".to_owned()),
            Some(value) => all.push(format!("{name} {}", render::clean(value))),
            None => {}
        }
    }
    if one.once && !is_pause {
        all.push("once".to_owned());
    }
    if let Some(outcome) = one.unattended {
        all.push(format!("unattended {}", outcome.name()));
    }
    if let Some(message) = &one.message {
        let message = render::cut(&render::clean(message), MESSAGE_COLUMNS);
        all.push(format!("“{message}”"));
    }
    if !one.enabled {
        all.push("disabled".to_owned());
    }
    all
}

fn remove(context: &ControlContext, id: &str) -> CliResult<()> {
    let control = context.required()?;
    let one = control.breakpoints().named(id)?;
    let existed = control.breakpoints().remove(one.id, CLIENT)?;
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
    control.breakpoints().edit(&one, CLIENT)?;
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
        Some(control) => control.breakpoints().clear(CLIENT)?,
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
