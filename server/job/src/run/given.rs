//! Values of `vars`, `inputs` and PATH that a person sets while a job stands.

use crate::contexts::alike;
use crate::expr::Dict;

use super::standing::StandingJob;

/// Sets a value of `vars` for the steps that follow. It may be a new one.
pub fn set_var(job: &mut StandingJob, name: &str, value: &str) {
    job.run.state.vars.set(name, value);
}

/// Sets an input for the steps that follow: of the workflow, or of the composite action in which the job stands. Err: a sentence about
/// an input that is not there, or of another kind.
pub fn set_input(job: &mut StandingJob, name: &str, text: &str) -> Result<(), String> {
    let composite = job.run.frame().composite.as_mut();
    let Some(composite) = composite else {
        of_kind(&job.run.setup.facts.inputs, name, text)?;
        job.run.state.inputs.set(name, text);
        return Ok(());
    };
    let value = of_kind(&composite.inputs, name, text)?;
    composite.inputs.set(name, value);
    Ok(())
}

fn of_kind(inputs: &Dict, name: &str, text: &str) -> Result<crate::expr::Value, String> {
    if inputs.get(name).is_none() {
        let known: Vec<&str> = inputs.iter().map(|(name, _)| name).collect();
        let known = match known.as_slice() {
            [] => "there are none".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        return Err(format!("{name}: there is no such input; {known}"));
    }
    alike(inputs.get(name), text)
}

/// Sets one of the directories before PATH, by its place in their list, or removes it by an empty text. The place after the last one
/// adds a directory.
pub fn set_directory(job: &mut StandingJob, place: &str, directory: &str) -> Result<(), String> {
    let path = &mut job.run.state.path;
    let place = place.parse::<usize>().ok();
    let place = place.filter(|place| *place <= path.len());
    let place = place.ok_or_else(|| format!("PATH has places from 0 to {}.", path.len()))?;
    match (directory.is_empty(), place < path.len()) {
        (true, true) => drop(path.remove(place)),
        (true, false) => {}
        (false, true) => directory.clone_into(&mut path[place]),
        (false, false) => path.push(directory.to_owned()),
    }
    Ok(())
}
