//! Checks of agents: found, new enough, set up, and able to fire a hook, which is tried once.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backstitch_agents::{self as agents, Agent, Hooks, UNTRUSTED, program};
use serde_json::Value;

use super::{CheckState, Finding, shown};
use crate::render;
use crate::safeguards::{self, WeaknessKind};

/// Maximum time for an agent's `--version` or a hook.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Checks each agent that is found on this machine, or has hooks of ours.
pub(super) fn examine(root: &Path, records: bool) -> Vec<Finding> {
    let present = |agent: &&dyn Agent| {
        let has_hooks = |path: &PathBuf| {
            let hooks = agent.examine(path);
            hooks.is_ok_and(|hooks| !hooks.entries.is_empty())
        };
        agent.found().is_some() || settings(*agent, root).iter().any(has_hooks)
    };
    let mut all: Vec<Finding> = agents::AGENTS
        .iter()
        .filter(|agent| present(agent))
        .flat_map(|agent| examine_agent(*agent, root, records))
        .collect();
    if let (true, Some(first)) = (all.is_empty(), agents::AGENTS.first()) {
        let said = "no agent was found on this machine";
        let name = first.name();
        all.push(Finding::new(
            name,
            CheckState::Warning,
            said,
            format!("`backstitch setup {name}` sets it up anyway"),
        ));
    }
    all
}

fn setup_hint(name: &str) -> String {
    format!("`backstitch setup {name}` installs them")
}

/// Returns the settings files that may have hooks: the user's, then the project's.
fn settings(agent: &dyn Agent, root: &Path) -> Vec<PathBuf> {
    let mut files = agent.settings(None);
    files.extend(agent.settings(Some(root)));
    files
}

fn examine_agent(agent: &dyn Agent, root: &Path, records: bool) -> Vec<Finding> {
    let name = agent.name();
    let mut all = Vec::new();
    all.extend(version(agent));
    let mut is_installed = false;
    let weak = safeguards::of_agent(agent, Some(root));
    let is_off = !records
        || weak
            .iter()
            .any(|one| one.kind.is_off() || one.kind == WeaknessKind::HooksMissing);
    for path in &settings(agent, root) {
        let hooks = match agent.examine(path) {
            Ok(hooks) => hooks,
            Err(error) => {
                all.push(Finding::new(
                    name,
                    CheckState::Wrong,
                    format!("{error:#}"),
                    "the agent cannot read its settings either: fix that file",
                ));
                continue;
            }
        };
        if !hooks.entries.is_empty() {
            all.extend(without_limit(agent, path, &hooks));
            if hooks.outdated {
                all.push(outdated(agent, path, scope(agent, path, root)));
            }
            if !hooks.blocks_if_killed && agent.spec().can_block {
                all.push(Finding::good(
                    name,
                    format!(
                        "a held call runs if its hook is killed together with its shell; `backstitch setup {name} --strict` \
                         has it blocked"
                    ),
                ));
            }
        }
        is_installed |= !hooks.entries.is_empty();
        all.extend(
            examine_hooks(agent, path, &hooks, scope(agent, path, root))
                .into_iter()
                // the weaknesses say what switches them off
                .filter(|finding| !is_off || finding.state != CheckState::Good),
        );
    }
    if !is_installed {
        let problem = "hooks are not installed, so nothing it does is recorded";
        all.push(Finding::new(
            name,
            CheckState::Wrong,
            problem,
            setup_hint(name),
        ));
    }
    if is_installed {
        all.extend(trust(agent, root));
    }
    all.extend(not_loaded(agent, root));
    all
}

/// Checks that the agent loads the hooks of a project: some do only in a folder that their user trusts.
fn not_loaded(agent: &dyn Agent, root: &Path) -> Vec<Finding> {
    let name = agent.name();
    let mut all = Vec::new();
    let has_hooks = |path: &PathBuf| {
        let hooks = agent.examine(path);
        hooks.is_ok_and(|hooks| !hooks.entries.is_empty())
    };
    let is_of_project = agent.settings(Some(root)).iter().any(has_hooks);
    if is_of_project
        && !agent.settings(None).iter().any(has_hooks)
        && let Some(next) = agent.distrusts(root)
    {
        let problem = format!("{UNTRUSTED}: nothing it does is recorded");
        all.push(Finding::new(name, CheckState::Wrong, problem, next));
    }
    all
}

/// The owner of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HookOwner {
    /// The user wrote it, or had it written.
    User,
    /// It comes with the workspace, from whoever made that. Its hooks are compared with what setup writes, and never run.
    Project,
}

impl HookOwner {
    /// The option of setup that names this scope.
    fn option(self) -> &'static str {
        match self {
            Self::User => "",
            Self::Project => " --scope project",
        }
    }
}

/// A file below the workspace is a project's, whatever names it, such as a variable of the environment. The home directory may
/// be a workspace itself.
fn scope(agent: &dyn Agent, path: &Path, root: &Path) -> HookOwner {
    let is_users = agent.settings(None).iter().any(|own| own == path);
    let is_below = path.starts_with(root) && agents::home().is_none_or(|home| home != root);
    if is_users && !is_below {
        HookOwner::User
    } else {
        HookOwner::Project
    }
}

fn outdated(agent: &dyn Agent, path: &Path, scope: HookOwner) -> Finding {
    let name = agent.name();
    let said = match scope {
        HookOwner::User => "was written by another version of Backstitch",
        HookOwner::Project => "is not as this version of Backstitch writes it",
    };
    let option = scope.option();
    let hint = format!("`backstitch setup {name}{option}` brings it up to date");
    Finding::new(
        name,
        CheckState::Warning,
        format!("{} {said}", shown(path)),
        hint,
    )
}

/// Checks the hooks of a settings file: that they are as setup writes them, and that the user's own fire.
fn examine_hooks(agent: &dyn Agent, path: &Path, hooks: &Hooks, scope: HookOwner) -> Vec<Finding> {
    let name = agent.name();
    let mut all = Vec::new();
    if !hooks.outdated {
        all.extend(hooks.altered().into_iter().map(|text| {
            let text = render::cut(&render::one_line(text), 200);
            let said = format!(
                "a hook in {} is not one that setup writes, and was not tried: `{text}`",
                shown(path)
            );
            let hint = format!(
                "look at it; `backstitch setup {name}{}` puts Backstitch's own in its place",
                scope.option()
            );
            Finding::new(name, CheckState::Warning, said, hint)
        }));
    }
    for command in hooks.commands() {
        all.extend(trouble(agent, command, path, scope));
    }
    for program in hooks.programs() {
        if !program.is_file() {
            continue;
        }
        all.push(match scope {
            HookOwner::User => tested(agent, program, path),
            HookOwner::Project if program::is_this(program) => Finding::good(
                name,
                format!("the hooks in {} are as setup writes them", shown(path)),
            ),
            HookOwner::Project => Finding::new(
                name,
                CheckState::Warning,
                format!(
                    "the hooks in {} run {}, which is not this program, and were not tried",
                    shown(path),
                    shown(program)
                ),
                format!(
                    "look at it; `backstitch setup {name}{}` has them run this one",
                    scope.option()
                ),
            ),
        });
    }
    all
}

/// Checks that the agent runs the hooks at all.
fn trust(agent: &dyn Agent, root: &Path) -> Option<Finding> {
    let name = agent.name();
    let fix = format!("`backstitch setup {name} --trust` has it trust them");
    Some(match agent.untrusted(root)? {
        Ok(skipped) if skipped.is_empty() => {
            Finding::good(name, "its user trusts the hooks".to_owned())
        }
        Ok(skipped) => Finding::new(
            name,
            CheckState::Wrong,
            format!(
                "it skips {}, which its user has not trusted: nothing it does is recorded",
                render::plural(skipped.len(), "hook", "hooks")
            ),
            fix,
        ),
        Err(error) => Finding::new(
            name,
            CheckState::Warning,
            format!("it cannot be checked if it runs the hooks: {error:#}"),
            fix,
        ),
    })
}

/// Checks that the program of a hook is there.
fn trouble(agent: &dyn Agent, command: &str, path: &Path, scope: HookOwner) -> Option<Finding> {
    let trouble = program::trouble(command)?;
    let (state, begin) = if trouble.stops() {
        (CheckState::Wrong, "does not work: ")
    } else {
        (CheckState::Warning, "needs a repair: ")
    };
    let said = trouble.said().replacen("run ", "it runs ", 1);
    let said = render::one_line(&said);
    Some(Finding::new(
        agent.name(),
        state,
        format!("the hook in {} {begin}{said}", shown(path)),
        program::fix(agent.name(), scope == HookOwner::Project),
    ))
}

/// Tests a hook of the user's own.
fn tested(agent: &dyn Agent, program: &Path, path: &Path) -> Finding {
    let name = agent.name();
    match test_hook(agent, program) {
        Ok(duration) => Finding::good(
            name,
            format!(
                "its hook in {} fires and is recorded ({} ms)",
                shown(path),
                duration.as_millis()
            ),
        ),
        Err(error) => Finding::new(
            name,
            CheckState::Wrong,
            format!(
                "the hook in {} does not work: {}",
                shown(path),
                render::one_line(&error)
            ),
            setup_hint(name),
        ),
    }
}

/// Checks the agent's version.
fn version(agent: &dyn Agent) -> Option<Finding> {
    let name = agent.name();
    let program = agent.program()?;
    let mut command = Command::new(&program);
    command.arg("--version").current_dir(agents::neutral_dir());
    // some warn of something else beside it
    let said = end(&mut command, b"").and_then(|ended| {
        let is_told = ended.success && !ended.stdout.trim().is_empty();
        if is_told {
            Ok(ended.stdout)
        } else {
            Err(ended.why())
        }
    });
    let output = match said {
        Ok(stdout) => stdout,
        Err(why) => {
            return Some(Finding::new(
                name,
                CheckState::Warning,
                format!("{} --version: {why}", shown(&program)),
                "check that it starts at all",
            ));
        }
    };
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let number = output
        .split_whitespace()
        .find(is_number)
        .unwrap_or_default();
    let mut parts = number.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return Some(Finding::new(
            name,
            CheckState::Warning,
            format!("{} does not print its version", shown(&program)),
            "check that it is the real program",
        ));
    };
    let (min_major, min_minor) = agent.spec().min_version;
    if (major, minor) < (min_major, min_minor) {
        return Some(Finding::new(
            name,
            CheckState::Wrong,
            format!("version {number} is too old to report everything it does"),
            format!("update it to {min_major}.{min_minor} or later"),
        ));
    }
    Some(Finding::good(name, format!("version {number}")))
}

/// Reports hooks that can hold a call for a short time only, since an older version wrote them.
fn without_limit(agent: &dyn Agent, path: &Path, hooks: &Hooks) -> Option<Finding> {
    let name = agent.name();
    (!hooks.without_limit.is_empty()).then(|| {
        Finding::new(
            name,
            CheckState::Warning,
            format!(
                "the hooks for {} in {} hold a call for less than a minute, and let it through if they are killed",
                hooks.without_limit.join(", "),
                shown(path)
            ),
            format!("`backstitch setup {name}` brings them up to date"),
        )
    })
}

/// Runs the program of a hook with the words of the hook, without a shell, in a scratch workspace with its own store. Returns
/// the duration, or an error if the event is not recorded there.
fn test_hook(agent: &dyn Agent, program: &Path) -> Result<Duration, String> {
    let failed = |error: std::io::Error| error.to_string();
    let scratch = tempfile::tempdir().map_err(failed)?;
    let root = scratch.path().join("work");
    std::fs::create_dir(&root).map_err(failed)?;
    std::fs::write(root.join(".backstitch.toml"), "").map_err(failed)?;
    let prompt = "backstitch doctor";
    let payload = agent.prompt_payload(&root, prompt);
    let isolate = |command: &mut Command| {
        command
            .current_dir(&root)
            .env("XDG_STATE_HOME", scratch.path().join("state"))
            .env("XDG_CONFIG_HOME", scratch.path().join("config"));
        if let Some(variable) = agent.spec().project_variable {
            command.env(variable, &root);
        }
        // on macOS the state is always below the home directory
        #[cfg(target_os = "macos")]
        command.env("HOME", scratch.path());
    };
    let mut hook = Command::new(program);
    hook.args(["hook", agent.name()]);
    isolate(&mut hook);
    let (_, duration) = run(&mut hook, &payload)?;
    let mut log = Command::new(std::env::current_exe().map_err(failed)?);
    log.arg("--workspace").arg(&root).args(["log", "--json"]);
    isolate(&mut log);
    let (log, _) = run(&mut log, b"")?;
    let log: Value = serde_json::from_str(&log).map_err(|e| e.to_string())?;
    let rows = log["checkpoints"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.iter().any(|row| row["prompt"] == prompt) {
        Ok(duration)
    } else {
        Err("it ran, but nothing was recorded".to_owned())
    }
}

/// Runs a command and returns its stdout and duration. Fails if it does not start, exits with an error, writes to
/// stderr, or does not end in time.
fn run(command: &mut Command, input: &[u8]) -> Result<(String, Duration), String> {
    let ended = end(command, input)?;
    if ended.success && ended.message().is_empty() {
        return Ok((ended.stdout, ended.duration));
    }
    Err(ended.why())
}

/// A command that has ended.
struct Ended {
    success: bool,
    status: String,
    stdout: String,
    stderr: String,
    duration: Duration,
}

impl Ended {
    fn message(&self) -> &str {
        self.stderr.lines().next().unwrap_or_default().trim()
    }

    /// The reason why it did not do its work.
    fn why(&self) -> String {
        match self.message() {
            "" => format!("it ended with {}", self.status),
            message => message.to_owned(),
        }
    }
}

/// Runs a command to its end. Fails if it does not start, or does not end in time.
fn end(command: &mut Command, input: &[u8]) -> Result<Ended, String> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // a command may succeed without reading its input
        let _ = stdin.write_all(input);
    }
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", TIMEOUT.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let duration = start.elapsed();
    let text = |from: Option<&mut dyn std::io::Read>| {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(1 << 20).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Ended {
        success: status.success(),
        status: status.to_string(),
        stdout: text(child.stdout.as_mut().map(|s| s as &mut dyn std::io::Read)),
        stderr: text(child.stderr.as_mut().map(|s| s as &mut dyn std::io::Read)),
        duration,
    })
}
