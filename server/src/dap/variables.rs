//! Variables of a stop: references to values of its frames. They hold until the next stop.

use std::collections::HashMap;
use std::sync::Arc;

use dapts::{
    Scope, ScopePresentationHint, Variable, VariablePresentationHint,
    VariablePresentationHintAttributes,
};
use serde_json::Value;

use super::view::{AskedScope, JobView};

/// Values that a client has asked for.
#[derive(Debug, Default)]
pub struct JobVariables {
    view: Arc<JobView>,
    /// References of earlier stops. None of them is given again.
    earlier: usize,
    known: Vec<ValuePlace>,
    /// Results of evaluations that have parts.
    results: Vec<Value>,
    /// Values that the job has given since, by the places of their frames and scopes.
    given: HashMap<(usize, usize), Value>,
}

/// A value in a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    root: ValueRoot,
    /// Keys from the root on.
    pub keys: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueRoot {
    /// Places of a frame and of a scope in it.
    Scope(usize, usize),
    Result(usize),
}

impl JobVariables {
    /// The values of another stop.
    pub fn show(&mut self, view: Arc<JobView>) {
        self.view = view;
        self.earlier += self.known.len();
        self.known.clear();
        self.results.clear();
        self.given.clear();
    }

    /// New values at the same stop. References stay: a client may not hear that the values have changed.
    pub fn refresh(&mut self, view: Arc<JobView>) {
        self.view = view;
        self.given.clear();
    }

    /// The values that a reference leads to, if the job has not given them yet.
    pub fn asked(&self, reference: u32) -> Option<AskedScope> {
        let (frame, scope) = self.scope_of(reference)?;
        let asked = self.view.frames.get(frame)?.scopes.get(scope)?.asked?;
        (!self.given.contains_key(&(frame, scope))).then_some(asked)
    }

    /// Keeps values that the job has given.
    pub fn give(&mut self, reference: u32, values: Value) {
        if let Some(place) = self.scope_of(reference) {
            self.given.insert(place, values);
        }
    }

    fn scope_of(&self, reference: u32) -> Option<(usize, usize)> {
        match self.known(reference)?.root {
            ValueRoot::Scope(frame, scope) => Some((frame, scope)),
            ValueRoot::Result(_) => None,
        }
    }

    pub fn scopes(&mut self, frame: u64) -> Option<Vec<Scope>> {
        let view = Arc::clone(&self.view);
        let place = view.frames.iter().position(|known| known.id == frame)?;
        let all = view.frames[place].scopes.iter().enumerate();
        let scopes = all.map(|(number, scope)| {
            let reference = self.reference(ValuePlace {
                root: ValueRoot::Scope(place, number),
                keys: Vec::new(),
            });
            Scope {
                column: None,
                end_column: None,
                end_line: None,
                expensive: number > 0,
                indexed_variables: None,
                line: None,
                name: scope.name.clone(),
                named_variables: match scope.asked {
                    Some(_) => None,
                    None => u32::try_from(len(&scope.values)).ok(),
                },
                presentation_hint: (number == 0).then_some(ScopePresentationHint::Locals),
                source: None,
                variables_reference: reference,
            }
        });
        Some(scopes.collect())
    }

    /// The parts of a value, from `start` on; a count of 0 means all.
    pub fn parts(&mut self, reference: u32, start: usize, count: usize) -> Option<Vec<Variable>> {
        let place = self.known(reference)?.clone();
        let values = self.value(&place)?.clone();
        let all: Vec<(String, Value)> = match values {
            Value::Object(all) => all.into_iter().collect(),
            Value::Array(all) => {
                let all = all.into_iter().enumerate();
                all.map(|(number, value)| (number.to_string(), value))
                    .collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        let count = if count == 0 { usize::MAX } else { count };
        let shown = all.into_iter().skip(start).take(count);
        let shown: Vec<(String, Value)> = shown.collect();
        let may_be_set = self.may_be_set(&place);
        let all = shown.into_iter().map(|(name, value)| {
            let mut inner = place.clone();
            inner.keys.push(name.clone());
            self.variable(name, &value, inner, may_be_set)
        });
        Some(all.collect())
    }

    /// The result of an evaluation: its text, and a reference if it has parts.
    pub fn result(&mut self, value: Value) -> (String, u32) {
        let text = shown(&value);
        if len(&value) == 0 {
            return (text, 0);
        }
        self.results.push(value);
        let reference = self.reference(ValuePlace {
            root: ValueRoot::Result(self.results.len() - 1),
            keys: Vec::new(),
        });
        (text, reference)
    }

    /// The scope of a value of the place where the job stands, and the keys in it. None: it is that of a step that has run.
    pub fn settable(&self, reference: u32) -> Option<(String, Vec<String>)> {
        let place = self.known(reference)?;
        let ValueRoot::Scope(frame, scope) = &place.root else {
            return None;
        };
        let frame = self
            .view
            .frames
            .get(*frame)
            .filter(|frame| !frame.has_run)?;
        Some((frame.scopes.get(*scope)?.name.clone(), place.keys.clone()))
    }

    /// The expression that has a part of a value.
    pub fn expression_in(&self, reference: u32, name: &str) -> Option<String> {
        let mut place = self.known(reference)?.clone();
        place.keys.push(name.to_owned());
        self.expression(&place)
    }

    fn variable(
        &mut self,
        name: String,
        value: &Value,
        place: ValuePlace,
        may_be_set: bool,
    ) -> Variable {
        let evaluate_name = self.expression(&place);
        let reference = match len(value) {
            0 => 0,
            _ => self.reference(place),
        };
        let read_only = VariablePresentationHint {
            attributes: Some(vec![VariablePresentationHintAttributes::ReadOnly]),
            kind: None,
            lazy: None,
            visibility: None,
        };
        Variable {
            declaration_location_reference: None,
            evaluate_name,
            indexed_variables: None,
            memory_reference: None,
            name,
            named_variables: None,
            presentation_hint: (!may_be_set).then_some(read_only),
            ty: Some(type_of(value).to_owned()),
            value: shown(value),
            value_location_reference: None,
            variables_reference: reference,
        }
    }

    /// True for the parts of `env`, `vars`, `inputs` and PATH, and for outputs and results of steps that have run.
    fn may_be_set(&self, place: &ValuePlace) -> bool {
        let ValueRoot::Scope(frame, scope) = &place.root else {
            return false;
        };
        let frame = self.view.frames.get(*frame).filter(|frame| !frame.has_run);
        let scope = frame.and_then(|frame| frame.scopes.get(*scope));
        match scope.map(|scope| scope.name.as_str()) {
            Some("env" | "job" | "vars" | "inputs" | "PATH") => place.keys.is_empty(),
            Some("steps") => match place.keys.as_slice() {
                [_] => true,
                [_, outputs] => outputs == "outputs",
                _ => false,
            },
            _ => false,
        }
    }

    /// The expression that has a value of a context.
    fn expression(&self, place: &ValuePlace) -> Option<String> {
        let ValueRoot::Scope(frame, scope) = &place.root else {
            return None;
        };
        let frame = self
            .view
            .frames
            .get(*frame)
            .filter(|frame| !frame.has_run)?;
        let scope = frame.scopes.get(*scope)?;
        let name = &scope.name;
        if scope.asked.is_some() || name == "Step" || name == "PATH" {
            return None;
        }
        let keys = place.keys.iter().map(|key| {
            let quoted = key.replace('\'', "''");
            format!("['{quoted}']")
        });
        Some(format!("{name}{}", keys.collect::<String>()))
    }

    fn reference(&mut self, place: ValuePlace) -> u32 {
        let found = self.known.iter().position(|known| *known == place);
        let place = found.unwrap_or_else(|| {
            self.known.push(place);
            self.known.len() - 1
        });
        u32::try_from(self.earlier + place + 1).unwrap_or(0)
    }

    fn known(&self, reference: u32) -> Option<&ValuePlace> {
        let place = usize::try_from(reference)
            .ok()?
            .checked_sub(self.earlier + 1)?;
        self.known.get(place)
    }

    fn value(&self, place: &ValuePlace) -> Option<&Value> {
        let mut value = match &place.root {
            ValueRoot::Scope(frame, scope) => match self.given.get(&(*frame, *scope)) {
                Some(values) => values,
                None => &self.view.frames.get(*frame)?.scopes.get(*scope)?.values,
            },
            ValueRoot::Result(number) => self.results.get(*number)?,
        };
        for key in &place.keys {
            value = match value {
                Value::Array(all) => all.get(key.parse::<usize>().ok()?)?,
                other => other.get(key)?,
            };
        }
        Some(value)
    }
}

fn len(value: &Value) -> usize {
    match value {
        Value::Object(all) => all.len(),
        Value::Array(all) => all.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A value as people read it: a text as it is, all else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
