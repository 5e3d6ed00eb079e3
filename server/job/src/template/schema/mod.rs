//! The schema of workflows and of action.yml: GitHub's own, told in the tables beside this file.

mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::expr::Allowed;

/// Definitions by name.
#[derive(Debug, Default)]
pub struct TemplateSchema {
    definitions: HashMap<String, Definition>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Contexts and functions for this definition and all below it, as in `hashFiles(1,255)`.
    pub contexts: Vec<&'static str>,
    pub form: DefinitionForm,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionForm {
    Null,
    Boolean,
    Number,
    String(StringForm),
    /// The name of the definition of an item.
    Sequence(String),
    Mapping(MappingForm),
    /// Names of definitions.
    OneOf(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum StringForm {
    Any,
    NotEmpty,
    /// One of these strings.
    Constants(Vec<&'static str>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappingForm {
    pub properties: Vec<PropertyForm>,
    /// Definitions of all other keys, and of their values.
    pub loose: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PropertyForm {
    pub name: String,
    /// Name of the definition of its value.
    pub definition: String,
    pub required: bool,
}

impl MappingForm {
    pub fn property(&self, name: &str) -> Option<&PropertyForm> {
        self.properties
            .iter()
            .find(|property| property.name == name)
    }
}

impl TemplateSchema {
    /// The schema of workflows.
    pub fn workflow() -> &'static TemplateSchema {
        static SCHEMA: OnceLock<TemplateSchema> = OnceLock::new();
        SCHEMA.get_or_init(|| {
            let mut schema = table::parse(include_str!("workflow.txt"));
            table::add_events(&mut schema, include_str!("events.txt"));
            schema
        })
    }

    /// The schema of action.yml.
    pub fn action() -> &'static TemplateSchema {
        static SCHEMA: OnceLock<TemplateSchema> = OnceLock::new();
        SCHEMA.get_or_init(|| table::parse(include_str!("action.txt")))
    }

    /// The definition of a name. A test shows that the tables name no definition that they do not have; `null` stands
    /// for such.
    pub fn get(&self, name: &str) -> &Definition {
        static NONE: Definition = Definition {
            contexts: Vec::new(),
            form: DefinitionForm::Null,
        };
        self.definitions.get(name).unwrap_or(&NONE)
    }

    /// Contexts and functions of one definition alone.
    pub fn allowed(&self, name: &str) -> Allowed {
        let mut allowed = Allowed::default();
        extend(&mut allowed, &self.get(name).contexts);
        allowed
    }

    /// Contexts and functions that a step may ask for in one of its keys.
    pub fn of_steps() -> Allowed {
        let schema = TemplateSchema::workflow();
        Allowed {
            contexts: schema.allowed("step-env").contexts,
            functions: schema.allowed("step-if").functions,
        }
    }

    /// Scalar forms of a definition: its own, or those that its alternatives have.
    pub fn scalars<'a>(&'a self, definition: &'a Definition) -> Vec<&'a DefinitionForm> {
        match &definition.form {
            DefinitionForm::OneOf(names) => {
                let nested = names.iter().map(|name| self.scalars(self.get(name)));
                nested.flatten().collect()
            }
            DefinitionForm::Sequence(_) | DefinitionForm::Mapping(_) => Vec::new(),
            form => vec![form],
        }
    }

    /// Forms of a definition and of its direct alternatives.
    pub fn alternatives<'a>(&'a self, definition: &'a Definition) -> Vec<&'a DefinitionForm> {
        match &definition.form {
            DefinitionForm::OneOf(names) => names.iter().map(|name| &self.get(name).form).collect(),
            form => vec![form],
        }
    }
}

/// Adds contexts and functions to those of the definitions above.
pub fn extend(allowed: &mut Allowed, contexts: &[&'static str]) {
    for context in contexts {
        match function(context) {
            Some(function) => {
                if !allowed.functions.iter().any(|known| known.0 == function.0) {
                    allowed.functions.push(function);
                }
            }
            None => {
                if !allowed.contexts.contains(context) {
                    allowed.contexts.push(context);
                }
            }
        }
    }
}

/// `name(least,greatest)` as a function; `MAX` stands for any number.
fn function(text: &'static str) -> Option<(&'static str, usize, usize)> {
    let (name, bounds) = text.strip_suffix(')')?.split_once('(')?;
    let (least, greatest) = bounds.split_once(',')?;
    let greatest = match greatest {
        "MAX" => usize::MAX,
        number => number.parse().ok()?,
    };
    Some((name, least.parse().ok()?, greatest))
}
