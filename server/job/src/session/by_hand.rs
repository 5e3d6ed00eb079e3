//! Values that a person asks for or sets while a job stands.

use crate::expr::Value;
use crate::run::{evaluate_at, given};
use crate::state::StepOutcome;

use super::values::{ByHand, check_expression};
use super::{JobSession, StopPlace};

impl JobSession {
    /// Evaluates an expression in the contexts of the step where the job stands. Secrets in its value are masked.
    pub fn evaluate(&mut self, text: &str) -> Result<Value, String> {
        check_expression(text).map_err(|error| self.run.mask(&error))?;
        let value = self.run.evaluate_pending(text);
        value.map_err(|error| self.run.mask(&error))
    }

    /// Sets a variable of the environment for the steps that follow.
    pub fn set_variable(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.run.set_for_steps(name, value)?;
        let set = ByHand::Variable(name.to_owned(), value.to_owned());
        self.by_hand.push(set);
        self.refresh();
        Ok(())
    }

    /// Sets an output of a step that has run.
    pub fn set_output(&mut self, step: &str, name: &str, value: &str) -> Result<(), String> {
        let steps = self.run.results_here();
        let known: Vec<String> = steps.keys().cloned().collect();
        let result = steps.get_mut(step).ok_or_else(|| {
            let known = match known.as_slice() {
                [] => "none with an id has run".to_owned(),
                known => format!("there are: {}", known.join(", ")),
            };
            format!("{step}: no step with this id has run; {known}")
        })?;
        result.outputs.set(name, value);
        let set = ByHand::Output(step.to_owned(), name.to_owned(), value.to_owned());
        self.by_hand.push(set);
        self.refresh();
        Ok(())
    }

    /// Says that the step which failed counts as this.
    pub fn set_outcome(&mut self, outcome: StepOutcome) -> Result<(), String> {
        let StopPlace::Failed(name, _) = &self.stop else {
            return Err("No step has failed here.".to_owned());
        };
        let name = name.clone();
        self.stood_since(self.stood_since);
        self.run.set_conclusion(&name, outcome);
        self.stand();
        Ok(())
    }
}

/// Evaluates an expression in the contexts of a step that has run, as they were before it. `place`: of its checkpoint.
pub fn evaluate_before(
    session: &mut JobSession,
    place: usize,
    text: &str,
) -> Result<Value, String> {
    check_expression(text).map_err(|error| session.run.mask(&error))?;
    let point = session.points.all().get(place);
    let point = point.ok_or_else(|| format!("There is no checkpoint {place}."))?;
    let value = evaluate_at(&mut session.run, &point.live, text);
    value.map_err(|error| session.run.mask(&error))
}

/// Sets a value of the launch for the steps that follow: of `vars` or `inputs`, or a directory of PATH by its place. Err: a sentence.
pub fn set_given(
    session: &mut JobSession,
    context: GivenContext,
    name: &str,
    value: &str,
) -> Result<(), String> {
    let (owned_name, owned_value) = (name.to_owned(), value.to_owned());
    let set = match context {
        GivenContext::Vars => {
            given::set_var(&mut session.run, name, value);
            ByHand::Var(owned_name, owned_value)
        }
        GivenContext::Inputs => {
            given::set_input(&mut session.run, name, value)?;
            ByHand::Input(owned_name, owned_value)
        }
        GivenContext::Path => {
            given::set_directory(&mut session.run, name, value)?;
            ByHand::Path(session.run.state().path.clone())
        }
    };
    session.by_hand.push(set);
    session.refresh();
    Ok(())
}

/// A context whose values a launch gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenContext {
    Vars,
    Inputs,
    /// Directories before PATH, in their order.
    Path,
}

/// Sets values anew that a person had set.
pub(super) fn set_again(session: &mut JobSession, all: Vec<ByHand>) {
    for one in all {
        // each could be set before
        let _ = match one {
            ByHand::Variable(name, value) => session.set_variable(&name, &value),
            ByHand::Output(step, name, value) => session.set_output(&step, &name, &value),
            ByHand::Var(name, value) => set_given(session, GivenContext::Vars, &name, &value),
            ByHand::Input(name, value) => set_given(session, GivenContext::Inputs, &name, &value),
            ByHand::Path(all) => {
                session.run.state_mut().path = all;
                Ok(())
            }
            ByHand::Directory(dir) => {
                session.run.state_mut().prepend_path(&dir);
                Ok(())
            }
            ByHand::Unset(name) => {
                session.run.state_mut().remove_variable(&name);
                Ok(())
            }
        };
    }
}
