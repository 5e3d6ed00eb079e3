//! Actions in JavaScript.

use std::path::Path;

use crate::state::EnvVariables;
use crate::step::StepProgram;
use crate::step::shell::find_program;

use super::environment::Layers;
use super::job::JobRun;
use super::open::{OpenStep, Prepared, Ran};
use crate::report::StepName;

impl JobRun {
    pub(super) fn run_node(
        &mut self,
        open: &OpenStep,
        using: &str,
        script: &Path,
        inputs: &[(String, String)],
        github: Vec<(&'static str, String)>,
    ) -> Option<Ran> {
        let own = self.own_variables(&open.name, inputs);
        let directory = self.setup.place.workspace.clone();
        let mut inner = open.clone();
        for (name, value) in github {
            inner.github.retain(|(known, _)| *known != name);
            inner.github.push((name, value));
        }
        let using = using.to_owned();
        self.run_program(&inner, &own, &|layers| {
            node_program(layers, &using, script, &directory)
        })
    }

    /// `INPUT_…` and `STATE_…`.
    pub(super) fn own_variables(
        &self,
        name: &StepName,
        inputs: &[(String, String)],
    ) -> Vec<(String, String)> {
        let input = |(name, value): &(String, String)| {
            (
                format!("INPUT_{}", name.replace(' ', "_").to_uppercase()),
                value.clone(),
            )
        };
        let mut own: Vec<(String, String)> = inputs.iter().map(input).collect();
        let state = self.state.state.get(&name.key());
        own.extend(
            state
                .into_iter()
                .flat_map(EnvVariables::iter)
                .map(|(name, value)| (format!("STATE_{name}"), value.to_owned())),
        );
        own
    }
}

fn node_program(
    layers: &Layers,
    using: &str,
    script: &Path,
    directory: &Path,
) -> Result<Prepared, String> {
    let program = find_program("node", &layers.path(), directory)
        .ok_or_else(|| format!("node is not on PATH, and the action needs {using}. Install Node.js, or leave the step out."))?;
    if !script.is_file() {
        return Err(format!("File not found: '{}'", script.display()));
    }
    Ok(Prepared {
        header: format!("node {}", script.display()),
        program: StepProgram {
            program,
            arguments: vec![script.as_os_str().to_owned()],
            directory: directory.to_owned(),
            environment: layers.variables(),
        },
    })
}
