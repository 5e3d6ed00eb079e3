//! Dispatch of a parsed command to its front end. Prints the results of `setup`, `doctor` and `demo`.

mod doctor;
mod setup;

use std::process::ExitCode;

use serde_json::json;

use crate::cli::args::{Cli, CliCommand};
use crate::cli::front_ends::{DemoArgs, DemoWord, LspArgs};
use crate::cli::options::GlobalArgs;
use crate::cli::store;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::{self, Out};
use crate::terminal::report::report;
use crate::{acp, bridge, cli, dap, demo, hook, lsp, mcp};

/// Runs the command in the arguments of this process.
pub fn main() -> ExitCode {
    if cli::complete() {
        return ExitCode::SUCCESS;
    }
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let out = Out::new(cli.global.output());
    dispatch(cli, &out).unwrap_or_else(|error| report(error, &out))
}

/// Runs as the supervisor of a job's step.
pub fn supervise() -> ExitCode {
    match backstitch_job::step::supervise::supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn dispatch(cli: Cli, out: &Out) -> CliResult<ExitCode> {
    let global = &cli.global;
    cli::refuse_agents(&cli.command, global)?;
    match cli.command {
        // its exit code is the agent's
        CliCommand::Acp(options) => {
            return Ok(acp::run(acp::AcpOptions {
                workspace: cli.global.workspace,
                store_dir: cli.global.store_dir,
                command: options.command,
            }));
        }
        CliCommand::Job(options) => return cli::jobs::run(options, global, out),
        CliCommand::Demo(options) => show_demo(options, out),
        CliCommand::Setup(options) => setup::run(&options, global, out),
        CliCommand::Hook(options) => {
            hook::run(hook_args(global, options.agent));
            Ok(())
        }
        CliCommand::Lsp(options) => serve(options, global),
        CliCommand::Bridge(_) => bridge::run(cli::context::find(global)?),
        CliCommand::Mcp(_) => serve_agent(global),
        CliCommand::Dap(_) => Ok(dap::run(global.workspace.clone())?),
        CliCommand::Doctor(_) => doctor::run(global, out),
        CliCommand::Init(options) => store::init::init(global, options.dir.as_deref(), out),
        CliCommand::Status(_) => store::status::status(global, out),
        CliCommand::Completions(options) => options.run(),
        CliCommand::History(command) => cli::run_history(command, global, out),
        CliCommand::Held(command) => cli::run_held(command, global, out),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn serve(options: LspArgs, global: &GlobalArgs) -> CliResult<()> {
    if let Some(dir) = global.workspace.as_ref().filter(|dir| !dir.is_dir()) {
        let dir = dir.display();
        return Err(
            CliError::usage(format!("--workspace {dir}: no such directory"))
                .hint("leave it out: the editor sends its folders"),
        );
    }
    Ok(lsp::run(&lsp::Options {
        store_dir: global.store_dir.clone(),
        log: options.log,
        level: options.log_level,
    })?)
}

fn serve_agent(global: &GlobalArgs) -> CliResult<()> {
    if let Some(dir) = global.workspace.as_ref().filter(|dir| !dir.is_dir()) {
        let dir = dir.display();
        return Err(
            CliError::usage(format!("--workspace {dir}: no such directory"))
                .hint("leave it out: the current directory of the agent is used"),
        );
    }
    Ok(mcp::run(mcp::McpOptions {
        workspace: global.workspace.clone(),
        store_dir: global.store_dir.clone(),
    })?)
}

fn show_demo(options: DemoArgs, out: &Out) -> CliResult<()> {
    let subject = match options.subject {
        None | Some(DemoWord::Agent) => demo::DemoSubject::Agent,
        Some(DemoWord::Job) => demo::DemoSubject::Job,
    };
    let report = demo::run(&demo::DemoOptions {
        subject,
        dir: options.dir,
        keep: options.keep,
        color: out.paint.color,
        silent: out.json || out.quiet,
    })?;
    if !out.json {
        return Ok(());
    }
    out::answer(json!({
        "workspace": report.workspace.to_string_lossy(),
        "store": report.store.to_string_lossy(),
        "kept": report.kept,
        "checks": report.checks,
    }))
}

/// Returns the arguments after `hook`. The parser also accepts global options before that word.
fn hook_args(global: &GlobalArgs, agent: String) -> impl Iterator<Item = std::ffi::OsString> {
    let mut args = vec![agent.into()];
    for (name, dir) in [
        ("--workspace", &global.workspace),
        ("--store-dir", &global.store_dir),
    ] {
        if let Some(dir) = dir {
            args.extend([name.into(), dir.clone().into_os_string()]);
        }
    }
    args.into_iter()
}
