//! The `setup` command: selects the agents and prints the result for each.

use std::path::Path;

use backstitch_agents::{self as agents, UNTRUSTED};
use backstitch_core::config::Config;
use serde_json::{Value, json};

use crate::cli::context;
use crate::cli::front_ends::{SetupArgs, SetupScope};
use crate::cli::options::GlobalArgs;
use crate::render::{self, BOLD, DIM, GREEN, RED, YELLOW};
use crate::safeguards::Weakness;
use crate::setup::{self, SetupOutcome, SetupRequest, SetupResult};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::{self, Out};
use crate::terminal::questions;

pub fn run(options: &SetupArgs, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let known = setup::known();
    if let Some(unknown) = options.agents.iter().find(|name| !setup::is_known(name)) {
        return Err(nothing_for(unknown, &known));
    }
    if options.status {
        return status(options, global, out);
    }
    if options.repair {
        return repair(options, global, out);
    }
    let agents = chosen(options);
    if agents.is_empty() {
        return Err(
            CliError::not_found("no agent was found on this machine").hint(format!(
                "name one to set it up anyway: {}",
                known.join(", ")
            )),
        );
    }
    let project = match options.scope {
        SetupScope::User => None,
        SetupScope::Project => Some(context::find(global)?.root),
    };
    let request = SetupRequest {
        project: project.as_deref(),
        uninstall: options.uninstall,
        print: options.print,
        strict: options.strict,
    };
    if let Some((name, _)) = agents
        .iter()
        // without names it is meant for the agents that can
        .find(|(name, found)| options.strict && found.is_none() && !can_block(name))
    {
        return Err(CliError::usage(format!(
            "{name} lets a call run whose hook fails: --strict cannot change that"
        ))
        .hint(format!(
            "`backstitch setup {name}` without it holds calls all the same"
        )));
    }
    let count = agents.len();
    let (all, mut failed) = set_up(agents, request);
    if let (1, Some((_, error))) = (count, failed.pop_if(|_| count == 1)) {
        return Err(error);
    }
    let is_set_up = |done: &&SetupResult| !done.outcome.is_printed() && !done.is_editor();
    let mut recorded = 0;
    if !options.uninstall {
        for done in all.iter().filter(is_set_up) {
            if !is_distrusted(done.agent, request.project, out) {
                recorded += usize::from(trust(done.agent, options.trust, global, out)?);
            }
        }
    }
    let facts: Vec<Value> = all.iter().map(setup::facts).collect();
    let whole = json!({ "uninstall": options.uninstall, "agents": facts });
    if out.json && failed.is_empty() {
        return out::answer(whole);
    }
    if !out.json {
        all.iter()
            .try_for_each(|done| print(done, options.uninstall, out))?;
        if recorded > 0 {
            out.remark(
                "Sessions started from now on are recorded; `backstitch log` shows them.\n",
            )?;
        }
    }
    left_out(&failed, whole, out)
}

/// Sets up each agent, or removes its settings. Returns the results, and the errors by name.
fn set_up(
    agents: Vec<(String, Option<String>)>,
    request: SetupRequest,
) -> (Vec<SetupResult>, Vec<(String, CliError)>) {
    let mut all = Vec::new();
    let mut failed: Vec<(String, CliError)> = Vec::new();
    for (name, found) in agents {
        match setup::run(&name, found, request) {
            Ok(done) => all.push(done),
            Err(error) => {
                let by_hand = setup::is_invalid_json(&error) && !request.uninstall;
                let mut error = CliError::from(error);
                if by_hand {
                    error = error.hint(format!(
                        "{name} reads JSON without comments; `backstitch setup {name} --print` shows what to add by hand"
                    ));
                }
                failed.push((name, error));
            }
        }
    }
    (all, failed)
}

/// A name of no agent and no editor, with those that are like it.
fn nothing_for(typed: &str, known: &[&str]) -> CliError {
    let typed = render::clean(typed);
    let near = known.iter().filter(|name| is_near(name, &typed));
    let near: Vec<String> = near.map(|name| format!("`{name}`")).collect();
    let hint = if near.is_empty() {
        format!("known agents and editors: {}", known.join(", "))
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    CliError::usage(format!("there is nothing to set up for `{typed}`")).hint(hint)
}

/// True if a name is a part of the other, as `claude` is of `claude-code`.
fn is_near(known: &str, typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    typed.len() > 2 && (known.contains(&typed) || typed.contains(known))
}

/// Returns the agents to set up, with the reason for each that was found.
fn chosen(options: &SetupArgs) -> Vec<(String, Option<String>)> {
    if options.agents.is_empty() {
        agents::found()
            .into_iter()
            .map(|(name, why)| (name.to_owned(), Some(why)))
            .collect()
    } else {
        options
            .agents
            .iter()
            .map(|name| (name.clone(), None))
            .collect()
    }
}

/// True if an agent does not load the hooks of a project yet, since nobody has had it trust the folder. Says so.
fn is_distrusted(name: &str, project: Option<&Path>, out: &Out) -> bool {
    let next = project.and_then(|project| agents::agent(name)?.distrusts(project));
    if let Some(next) = &next {
        out.note(
            "warning",
            &format!("{name} is not recorded yet: {UNTRUSTED}"),
        );
        out.note("hint", next);
    }
    next.is_some()
}

/// Fails if an agent could not be set up, after all others were. `whole`: the document of those.
fn left_out(failed: &[(String, CliError)], mut whole: Value, out: &Out) -> CliResult<()> {
    if failed.is_empty() {
        return Ok(());
    }
    for (name, error) in failed {
        out.note(
            "warning",
            &format!("{name} was left out: {}", error.message),
        );
        if let Some(hint) = &error.hint {
            out.note("hint", hint);
        }
    }
    let told = failed.iter().map(
        |(name, error)| json!({ "agent": name, "message": error.message, "hint": error.hint }),
    );
    whole["failed"] = told.collect();
    let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    let error = CliError::failed(format!("{} was not set up", names.join(", ")));
    Err(if out.json { error.answer(whole) } else { error })
}

fn can_block(name: &str) -> bool {
    agents::agent(name).is_none_or(|agent| agent.spec().can_block)
}

/// Has an agent trust its hooks, if it asks for that and the user says so. Returns true if it runs them.
fn trust(name: &str, is_told: bool, global: &GlobalArgs, out: &Out) -> CliResult<bool> {
    let Some(agent) = agents::agent(name) else {
        return Ok(true);
    };
    let root = match context::find(global) {
        Ok(workspace) => workspace.root,
        Err(_) => context::current_dir()?,
    };
    let count = match agent.untrusted(&root) {
        None => return Ok(true),
        Some(Ok(skipped)) if skipped.is_empty() => return Ok(true),
        Some(Ok(skipped)) => skipped.len(),
        Some(Err(error)) if is_told => return Err(CliError::from(error)),
        Some(Err(error)) => {
            out.note(
                "warning",
                &format!("it cannot be checked if {name} runs the hooks: {error:#}"),
            );
            return Ok(false);
        }
    };
    let hooks = render::plural(count, "hook", "hooks");
    let question =
        format!("{name} runs hooks only once you trust them. Have it trust these {hooks}?");
    if is_told || !out.json && questions::can_ask() && questions::ask(&question)? {
        let trusted = agent.trust(&root).map_err(CliError::from)?;
        let trusted = render::plural(trusted, "hook", "hooks");
        out.remark(&format!("{name} trusts {trusted}.\n"))?;
        return Ok(true);
    }
    out.note(
        "warning",
        &format!("{name} skips the hooks until you trust them, and nothing it does is recorded"),
    );
    out.note(
        "hint",
        &format!("`backstitch setup {name} --trust` has it trust them"),
    );
    Ok(false)
}

/// Says if each agent is recorded.
fn status(options: &SetupArgs, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    // outside of a workspace the user's settings are all there is
    let project = context::find(global).ok().map(|workspace| workspace.root);
    let mut all = setup::recordings(project.as_deref());
    if !options.agents.is_empty() {
        all.retain(|recording| options.agents.iter().any(|name| name == recording.agent));
    }
    if let Ok(workspace) = context::find(global)
        && let Some(place) = Config::of(&workspace).turned_off_at()
    {
        for one in &mut all {
            one.turn_off(&place);
        }
    }
    let root = project.or_else(|| context::current_dir().ok());
    if let Some(root) = root {
        for one in &mut all {
            one.ask_for_trust(&root);
        }
    }
    if out.json {
        let facts: Vec<Value> = all.iter().map(setup::recording_facts).collect();
        let known: Vec<&str> = agents::AGENTS.iter().map(|agent| agent.name()).collect();
        return out::answer(json!({ "agents": facts, "known": known }));
    }
    if all.is_empty() {
        return out.text("no agent was found on this machine\n");
    }
    let paint = out.paint;
    for recording in &all {
        let name = paint.on(BOLD, recording.agent);
        let (word, style) = if recording.on && recording.missing_hooks().is_some() {
            ("on in part", YELLOW)
        } else if recording.on {
            ("on", GREEN)
        } else {
            ("off", RED)
        };
        let mut text = format!("{name}: recording is {}", paint.on(style, word));
        if let Some(reason) = &recording.reason {
            text.push_str("; ");
            text.push_str(&render::clean(reason));
        }
        text.push('\n');
        if let Some(fix) = &recording.fix {
            text.push_str(&paint.on(DIM, &format!("  {fix}\n")));
        }
        let is_new = |one: &&Weakness| recording.reason.as_ref() != Some(&one.said);
        for one in recording.weak.iter().filter(is_new) {
            text.push_str("  ");
            text.push_str(&render::clean(&one.line()));
            text.push('\n');
        }
        out.text(&text)?;
    }
    Ok(())
}

/// Has hooks run a program that exists, where theirs does not or will not.
fn repair(options: &SetupArgs, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let project = match options.scope {
        SetupScope::User => None,
        SetupScope::Project => Some(context::find(global)?.root),
    };
    let request = SetupRequest {
        project: project.as_deref(),
        uninstall: false,
        print: options.print,
        strict: false,
    };
    let mut all = Vec::new();
    for agent in agents::AGENTS {
        let named = options.agents.iter().any(|name| name == agent.name());
        if named || options.agents.is_empty() {
            all.extend(setup::repair(*agent, request).map_err(CliError::from)?);
        }
    }
    if out.json {
        let facts: Vec<Value> = all.iter().map(setup::facts).collect();
        return out::answer(json!({ "repair": true, "agents": facts }));
    }
    if all.is_empty() {
        return out.remark("no hooks of Backstitch were found; `backstitch setup` adds them\n");
    }
    for done in &all {
        if done.outcome.is_printed() {
            print(done, false, out)?;
            continue;
        }
        let settings = done.settings.display();
        let name = out.paint.on(BOLD, done.agent);
        let said = match (&done.program, done.outcome) {
            (Some(program), SetupOutcome::Written) => {
                format!("the hooks in {settings} run {} now", program.display())
            }
            _ => format!("nothing to repair in {settings}"),
        };
        out.remark(&format!("{name}: {said}\n"))?;
    }
    Ok(())
}

fn print(done: &SetupResult, uninstall: bool, out: &Out) -> CliResult<()> {
    let settings = done.settings.display();
    if done.outcome.is_printed() {
        let what = if done.outcome == SetupOutcome::PrintedEntries {
            format!("{settings} is not valid JSON; these are the entries to add to it by hand")
        } else if done.is_editor() && done.text.lines().count() < 20 {
            let note = done.note.unwrap_or_default();
            match (done.outcome, uninstall) {
                (SetupOutcome::ByHand, true) => {
                    format!("remove these lines from {settings} by hand")
                }
                (SetupOutcome::ByHand, false) => format!("add these lines to {settings}. {note}"),
                _ => format!("these lines belong in {settings}; nothing was written"),
            }
        } else {
            format!("{settings} would contain this; nothing was written")
        };
        out.note("note", &what);
        out.text(&done.text)?;
        return if done.text.ends_with('\n') {
            Ok(())
        } else {
            out.text("\n")
        };
    }
    let paint = out.paint;
    let mut text = String::new();
    if let Some(why) = &done.found {
        text.push_str(&paint.on(DIM, &format!("found {} ({why})\n", done.agent)));
    }
    let name = paint.on(BOLD, done.agent);
    let outcome = match (done.outcome, uninstall) {
        (SetupOutcome::Unchanged, true) if done.is_editor() => {
            format!("{name}: nothing to remove from {settings}")
        }
        (_, true) if done.is_editor() => format!("{name}: removed from {settings}"),
        (SetupOutcome::Written, false) if done.is_editor() => {
            let note = done.note.unwrap_or_default();
            let written = paint.on(GREEN, "the language server");
            format!("{name}: {written} is set up in {settings}\n{note}")
        }
        (SetupOutcome::Unchanged, true) => format!("{name}: no hooks to remove from {settings}"),
        (SetupOutcome::Unchanged, false) => format!("{name}: already set up in {settings}"),
        (_, true) => format!("{name}: hooks removed from {settings}"),
        (_, false) => {
            let events = done.events.len();
            format!(
                "{name}: {} in {settings}",
                paint.on(GREEN, &format!("hooks for {events} events"))
            )
        }
    };
    text.push_str(&outcome);
    text.push('\n');
    if let (Some(note), false) = (done.note, done.is_editor()) {
        text.push_str(note);
        text.push('\n');
    }
    if let Some(backup) = &done.backup {
        text.push_str(&paint.on(DIM, &format!("backup: {}\n", backup.display())));
    }
    out.remark(&text)
}
