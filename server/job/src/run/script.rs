//! `run` steps: the script's file, and the shell that runs it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::expr::Value;
use crate::place::reach::reaching;
use crate::step::StepProgram;
use crate::step::shell::{ScriptShell, find_program};
use crate::template::{ExpandError, TemplateToken, expand, expand_text};
use crate::workflow::{Defaults, StepAction};

use super::environment::Layers;
use super::job::JobRun;
use super::open::{OpenStep, Prepared, Ran, ReachedOut};

/// The shell of a `run` step, as it would start now.
#[derive(Clone, Debug)]
pub struct StepShell {
    /// Its command line, with `{0}` for the script.
    pub command: String,
    pub directory: PathBuf,
}

impl JobRun {
    pub(super) fn run_script(
        &mut self,
        open: &OpenStep,
        script: &TemplateToken,
        shell: Option<&TemplateToken>,
        directory: Option<&TemplateToken>,
    ) -> Option<Ran> {
        let text = |token: &TemplateToken| {
            expand_text(token, &self.at_step(open))
                .map_err(|error| self.template_error(&open.name.file, &error))
        };
        let (script, shell, directory) = match (
            text(script),
            self.shell_of(open, shell),
            self.directory_of(open, directory),
        ) {
            (Ok(script), Ok(shell), Ok(directory)) => (script, shell, directory),
            (Err(reason), ..) | (_, Err(reason), _) | (.., Err(reason)) => {
                return Some(Ran::failed(reason));
            }
        };
        self.note_reaching(&open.name.name, &script);
        let key = open.name.key();
        let scripts = self.setup.place.temp.join("_scripts");
        let directory = self
            .setup
            .place
            .workspace
            .join(directory.unwrap_or_default());
        self.run_program(open, &[], &|layers| {
            prepare(
                layers,
                shell.as_deref(),
                &script,
                &scripts,
                &key,
                &directory,
            )
        })
    }
}

impl JobRun {
    /// Keeps the commands of a script that reach out.
    fn note_reaching(&mut self, step: &str, script: &str) {
        let found = reaching(script).into_iter();
        let commands: Vec<String> = found
            .map(|(_, command)| self.setup.masks.apply(&command))
            .collect();
        if !commands.is_empty() {
            self.reached.push(ReachedOut {
                name: step.to_owned(),
                commands,
                ended: self.ended.len(),
            });
        }
    }

    fn shell_of(
        &self,
        open: &OpenStep,
        own: Option<&TemplateToken>,
    ) -> Result<Option<String>, String> {
        self.setting(open, own, "shell", |defaults| defaults.shell.as_ref())
    }

    fn directory_of(
        &self,
        open: &OpenStep,
        own: Option<&TemplateToken>,
    ) -> Result<Option<String>, String> {
        self.setting(open, own, "working-directory", |defaults| {
            defaults.working_directory.as_ref()
        })
    }

    /// A setting of a `run` step: its own, the job's default, or the workflow's. A composite action has no defaults.
    fn setting(
        &self,
        open: &OpenStep,
        own: Option<&TemplateToken>,
        name: &str,
        of: fn(&Defaults) -> Option<&TemplateToken>,
    ) -> Result<Option<String>, String> {
        let at = self.at_step(open);
        let failed = |error: ExpandError| self.template_error(&open.name.file, &error);
        if let Some(own) = own {
            return expand_text(own, &at).map(Some).map_err(failed);
        }
        if self.frames.len() > 1 {
            return Ok(None);
        }
        for defaults in [&self.setup.body.defaults, &self.setup.workflow.defaults] {
            if let Some(token) = of(defaults) {
                return expand_text(token, &at).map(Some).map_err(failed);
            }
            if let Some(whole) = &defaults.expression
                && let Value::Object(settings) = expand(whole, &at).map_err(failed)?
                && let Some(value) = settings.get(name)
            {
                return Ok(Some(value.to_text()));
            }
        }
        Ok(None)
    }
}

/// The shell of a `run` step, and its directory. None: it has none, or they are not known.
pub(super) fn step_shell(run: &JobRun, open: &OpenStep) -> Option<StepShell> {
    let StepAction::Run {
        shell,
        working_directory,
        ..
    } = &open.step.action
    else {
        return None;
    };
    let shell = run.shell_of(open, shell.as_ref()).ok()?;
    let directory = run.directory_of(open, working_directory.as_ref()).ok()?;
    let workspace = &run.setup.place.workspace;
    let directory = workspace.join(directory.unwrap_or_default());
    let path = run.layers(open, &[], &run.command_files(open)).path();
    let has_bash = find_program("bash", &path, &directory).is_some();
    let shell = ScriptShell::of(shell.as_deref(), has_bash).ok()?;
    Some(StepShell {
        command: shell.shown(),
        directory,
    })
}

fn prepare(
    layers: &Layers,
    shell: Option<&str>,
    script: &str,
    scripts: &Path,
    key: &str,
    directory: &Path,
) -> Result<Prepared, String> {
    let path = layers.path();
    let has_bash = find_program("bash", &path, directory).is_some();
    let command = ScriptShell::of(shell, has_bash)?;
    if !directory.is_dir() {
        return Err(format!(
            "The working directory {} does not exist.",
            directory.display()
        ));
    }
    let program = find_program(&command.program, &path, directory).ok_or_else(|| {
        format!(
            "{}: command not found. The step's shell is not on PATH.",
            command.program
        )
    })?;
    let file = scripts.join(format!("{key}{}", command.extension));
    let written =
        fs::create_dir_all(scripts).and_then(|()| fs::write(&file, command.script(script)));
    written.map_err(|error| format!("The script {} cannot be written: {error}", file.display()))?;
    Ok(Prepared {
        header: format!("{script}\nshell: {}", command.shown()),
        program: StepProgram {
            arguments: command.arguments_for(&file),
            program,
            directory: directory.to_owned(),
            environment: layers.variables(),
        },
    })
}
