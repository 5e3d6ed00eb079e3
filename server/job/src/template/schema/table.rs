//! The tables' text to definitions.

use super::{Definition, DefinitionForm, MappingForm, PropertyForm, StringForm, TemplateSchema};

/// Definitions of a table such as workflow.txt, with those that are built in.
pub(super) fn parse(text: &'static str) -> TemplateSchema {
    let mut schema = TemplateSchema::default();
    let mut sets: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for (name, form) in [
        ("null", "null"),
        ("boolean", "boolean"),
        ("number", "number"),
        ("string", "string"),
        ("sequence", "[any]"),
        ("mapping", "{ *string: any }"),
        (
            "any",
            "null | boolean | number | string | sequence | mapping",
        ),
    ] {
        define(&mut schema, name, Vec::new(), form_of(&words(form)));
    }
    for words in entries(text) {
        let Some((name, rest)) = words.split_first() else {
            continue;
        };
        let rest = rest.strip_prefix(&["="]).unwrap_or(rest);
        if let Some(set) = name.strip_prefix('@') {
            let contexts = expand(rest, &sets);
            sets.push((set, contexts));
            continue;
        }
        let begin = rest.iter().position(|word| word.starts_with('('));
        let (form, contexts) = rest.split_at(begin.unwrap_or(rest.len()));
        define(&mut schema, name, expand(contexts, &sets), form_of(form));
    }
    schema
}

/// Definitions of events: of each its name as a string, its settings, and the lists `on` of all.
pub(super) fn add_events(schema: &mut TemplateSchema, text: &'static str) {
    let mut all = MappingForm::default();
    let mut strings = Vec::new();
    for filter in EVENT_FILTERS {
        let form = DefinitionForm::OneOf(vec![
            "non-empty-string".into(),
            "sequence-of-non-empty-string".into(),
        ]);
        define(schema, &format!("event-{filter}"), Vec::new(), form);
    }
    for words in entries(text) {
        let Some((head, rest)) = words.split_first() else {
            continue;
        };
        let event = head.trim_end_matches(':');
        let name = event.replace('_', "-");
        let string = format!("{name}-string");
        let constant = DefinitionForm::String(StringForm::Constants(vec![event]));
        define(schema, &string, Vec::new(), constant);
        strings.push(string);
        all.properties.push(PropertyForm {
            name: event.to_owned(),
            definition: name.clone(),
            required: false,
        });
        match rest {
            ["*"] => {}
            [] => define(schema, &name, Vec::new(), DefinitionForm::Null),
            _ => add_event(schema, &name, rest),
        }
    }
    define(
        schema,
        "on-mapping-strict",
        Vec::new(),
        DefinitionForm::Mapping(all),
    );
    define(
        schema,
        "on-string-strict",
        Vec::new(),
        DefinitionForm::OneOf(strings),
    );
}

const EVENT_FILTERS: [&str; 8] = [
    "branches",
    "branches-ignore",
    "names",
    "paths",
    "paths-ignore",
    "tags",
    "tags-ignore",
    "versions",
];

/// An event with activities and filters.
fn add_event(schema: &mut TemplateSchema, name: &str, words: &[&'static str]) {
    let last = words.iter().position(|word| word.ends_with("]:"));
    let (filters, activities) = words.split_at(last.map_or(0, |last| last + 1));
    let one = format!("{name}-activity-type");
    let many = format!("{name}-activity-types");
    let activity = format!("{name}-activity");
    let mapping = format!("{name}-mapping");
    let property = |name: &str, definition: String| PropertyForm {
        name: name.to_owned(),
        definition,
        required: false,
    };
    let mut settings = MappingForm::default();
    settings
        .properties
        .push(property("types", activity.clone()));
    for filter in filters {
        let filter = filter.trim_matches(['[', ']', ':']);
        let definition = match filter {
            "workflows" => format!("{name}-workflows"),
            _ => format!("event-{filter}"),
        };
        settings.properties.push(property(filter, definition));
    }
    let constants = DefinitionForm::String(StringForm::Constants(activities.to_vec()));
    define(schema, &one, Vec::new(), constants);
    define(
        schema,
        &many,
        Vec::new(),
        DefinitionForm::Sequence(one.clone()),
    );
    define(
        schema,
        &activity,
        Vec::new(),
        DefinitionForm::OneOf(vec![one, many]),
    );
    define(
        schema,
        &mapping,
        Vec::new(),
        DefinitionForm::Mapping(settings),
    );
    let form = DefinitionForm::OneOf(vec!["null".into(), mapping]);
    define(schema, name, Vec::new(), form);
}

fn define(
    schema: &mut TemplateSchema,
    name: &str,
    contexts: Vec<&'static str>,
    form: DefinitionForm,
) {
    let definition = Definition { contexts, form };
    schema.definitions.insert(name.to_owned(), definition);
}

/// Entries of a table as words.
fn entries(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut entries: Vec<Vec<&'static str>> = Vec::new();
    for line in text.lines() {
        match entries.last_mut() {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(last) if line.starts_with(' ') => last.extend(words(line)),
            _ => entries.push(words(line)),
        }
    }
    entries
}

fn words(line: &'static str) -> Vec<&'static str> {
    line.split_whitespace().collect()
}

/// Contexts with their sets replaced by what is in them.
fn expand(words: &[&'static str], sets: &[(&str, Vec<&'static str>)]) -> Vec<&'static str> {
    let mut contexts = Vec::new();
    for word in words {
        // parentheses around all of them, not those of a function
        let word = word.strip_prefix('(').unwrap_or(word);
        let is_last = word.matches(')').count() > word.matches('(').count();
        let word = if is_last {
            &word[..word.len() - 1]
        } else {
            word
        };
        match word.strip_prefix('@') {
            Some(set) => {
                let found = sets.iter().find(|(name, _)| *name == set);
                contexts.extend(
                    found
                        .map(|(_, contexts)| contexts.as_slice())
                        .unwrap_or_default(),
                );
            }
            None => contexts.push(word),
        }
    }
    contexts
}

fn form_of(words: &[&'static str]) -> DefinitionForm {
    match words {
        ["null"] => DefinitionForm::Null,
        ["boolean"] => DefinitionForm::Boolean,
        ["number"] => DefinitionForm::Number,
        ["string"] => DefinitionForm::String(StringForm::Any),
        ["text"] => DefinitionForm::String(StringForm::NotEmpty),
        ["one", "of", constants @ ..] => {
            DefinitionForm::String(StringForm::Constants(constants.to_vec()))
        }
        ["{", entries @ .., "}"] => DefinitionForm::Mapping(mapping(entries)),
        [item] if item.starts_with('[') => {
            DefinitionForm::Sequence(item.trim_matches(['[', ']']).to_owned())
        }
        [constant] if constant.starts_with('"') => {
            DefinitionForm::String(StringForm::Constants(vec![constant.trim_matches('"')]))
        }
        names => {
            let names = names.iter().filter(|name| **name != "|");
            DefinitionForm::OneOf(names.map(|name| (*name).to_owned()).collect())
        }
    }
}

/// `key: definition, …` as a mapping.
fn mapping(words: &[&'static str]) -> MappingForm {
    let mut form = MappingForm::default();
    for pair in words.chunks(2) {
        let [key, value] = pair else { continue };
        let name = key.trim_end_matches(':');
        let value = value.trim_end_matches(',');
        let definition = value.trim_end_matches('!').to_owned();
        match name.strip_prefix('*') {
            Some(key) => form.loose = Some((key.to_owned(), definition)),
            None => form.properties.push(PropertyForm {
                name: name.to_owned(),
                definition,
                required: value.ends_with('!'),
            }),
        }
    }
    form
}
