//! Starts `backstitch lsp` and `backstitch dap` for Zed. Written by `backstitch setup zed`.

use zed_extension_api::serde_json::{self, json, Value};
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{
    self as zed, Command, DebugAdapterBinary, DebugConfig, DebugScenario, DebugTaskDefinition,
    LanguageServerId, Result, StartDebuggingRequestArguments,
    StartDebuggingRequestArgumentsRequest, Worktree,
};

/// The program that wrote this extension, used if no other is on the path.
const DEFAULT_BINARY: &str = include_str!("../binary");

struct Backstitch;

impl zed::Extension for Backstitch {
    fn new() -> Self {
        Self
    }

    /// Returns `lsp.backstitch.binary` from Zed's settings, else the program on the path.
    fn language_server_command(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?;
        let (path, arguments, env) = match settings.binary {
            Some(binary) => (binary.path, binary.arguments, binary.env),
            None => (None, None, None),
        };
        Ok(Command {
            command: program(path, worktree),
            args: arguments.unwrap_or_else(|| vec!["lsp".to_owned()]),
            env: env.unwrap_or_default().into_iter().collect(),
        })
    }

    /// Returns `lsp.backstitch.settings` from Zed's settings, in the form that the server expects.
    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        let settings = LspSettings::for_worktree(id.as_ref(), worktree)?;
        Ok(settings.settings.map(|own| json!({ "backstitch": own })))
    }

    /// Returns the debug adapter of CI jobs. It gets the configuration of `debug.json` as it is.
    fn get_dap_binary(
        &mut self,
        _adapter: String,
        task: DebugTaskDefinition,
        path: Option<String>,
        worktree: &Worktree,
    ) -> Result<DebugAdapterBinary, String> {
        let config = serde_json::from_str(&task.config).map_err(|error| error.to_string())?;
        Ok(DebugAdapterBinary {
            command: Some(program(path, worktree)),
            arguments: vec!["dap".to_owned()],
            envs: worktree.shell_env(),
            cwd: Some(worktree.root_path()),
            connection: None,
            request_args: StartDebuggingRequestArguments {
                request: request(&config)?,
                configuration: task.config,
            },
        })
    }

    fn dap_request_kind(
        &mut self,
        _adapter: String,
        config: Value,
    ) -> Result<StartDebuggingRequestArgumentsRequest, String> {
        request(&config)
    }

    /// Zed's dialog for a new session asks for a program, which a job does not have.
    fn dap_config_to_scenario(&mut self, _config: DebugConfig) -> Result<DebugScenario, String> {
        Err("A CI job needs an entry in debug.json, with its workflow and its job.".to_owned())
    }
}

/// Returns the program that the user names, else the one on the path.
fn program(named: Option<String>, worktree: &Worktree) -> String {
    named
        .or_else(|| worktree.which("backstitch"))
        .unwrap_or_else(|| DEFAULT_BINARY.trim_end().to_owned())
}

fn request(config: &Value) -> Result<StartDebuggingRequestArgumentsRequest, String> {
    match config["request"].as_str() {
        None | Some("launch") => Ok(StartDebuggingRequestArgumentsRequest::Launch),
        Some("attach") => Ok(StartDebuggingRequestArgumentsRequest::Attach),
        Some(other) => Err(format!("request is {other}: write launch or attach")),
    }
}

zed::register_extension!(Backstitch);
