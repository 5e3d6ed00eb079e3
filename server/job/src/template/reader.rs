//! A tree of YAML, read by a schema: the template, and all problems in the order in which GitHub's reader finds them.

use std::collections::HashSet;
use std::rc::Rc;

use super::scalar::{self, Scalar};
use super::schema::{Definition, DefinitionForm, MappingForm, StringForm, TemplateSchema, extend};
use super::token::{TemplateToken, TokenKind};
use crate::expr::{Allowed, Value};
use crate::position::{Range, WorkflowProblem};
use crate::yaml::{NodeKind, YamlNode};

/// Keys of steps that GitHub's parser knows and does not take yet.
const WITHHELD: [&str; 4] = ["background", "wait", "wait-all", "cancel"];

const NO_VALUE: &str = "Expected a scalar value, a sequence, or a mapping";
const NO_EXPRESSION: &str = "A template expression is not allowed in this context";

/// Reads a document as the definition of this name. There is no token if there is no document.
pub fn read(
    schema: &TemplateSchema,
    root: &str,
    file: &str,
    node: Option<&YamlNode>,
) -> (Option<TemplateToken>, Vec<WorkflowProblem>) {
    let mut reader = TemplateReader {
        schema,
        file,
        problems: Vec::new(),
    };
    let scope = reader.scope(None, root);
    let token = node.map(|node| reader.value(node, &scope));
    if token.is_none() {
        reader.problem(None, NO_VALUE);
    }
    (token, reader.problems)
}

struct TemplateReader<'a> {
    schema: &'a TemplateSchema,
    file: &'a str,
    problems: Vec<WorkflowProblem>,
}

/// A definition, with all that expressions at this place may use.
struct DefinitionScope<'a> {
    definition: &'a Definition,
    allowed: Rc<Allowed>,
}

impl DefinitionScope<'_> {
    fn allows_expressions(&self) -> bool {
        !self.allowed.contexts.is_empty() || !self.allowed.functions.is_empty()
    }
}

/// A key of a mapping, as its text.
struct MappingKey {
    token: TemplateToken,
    text: String,
    /// The text in messages: that of a null is not empty.
    display: String,
}

impl<'a> TemplateReader<'a> {
    fn scope(&self, parent: Option<&DefinitionScope<'_>>, name: &str) -> DefinitionScope<'a> {
        let definition = self.schema.get(name);
        let inherited = parent.map(|parent| Rc::clone(&parent.allowed));
        let allowed = match inherited {
            Some(allowed) if definition.contexts.is_empty() => allowed,
            inherited => {
                let mut allowed = inherited.map(Rc::unwrap_or_clone).unwrap_or_default();
                extend(&mut allowed, &definition.contexts);
                Rc::new(allowed)
            }
        };
        DefinitionScope {
            definition,
            allowed,
        }
    }

    fn problem(&mut self, range: Option<Range>, message: impl Into<String>) {
        self.problems.push(WorkflowProblem {
            file: self.file.to_owned(),
            range,
            message: message.into(),
        });
    }

    fn value(&mut self, node: &YamlNode, scope: &DefinitionScope<'a>) -> TemplateToken {
        match &node.kind {
            NodeKind::Sequence(items) => self.sequence(node.range, items, scope),
            NodeKind::Mapping(entries) => self.mapping(node.range, entries, scope),
            _ => {
                let token = self.scalar(node, scope);
                self.validate(token, scope.definition, !scope.allows_expressions())
            }
        }
    }

    fn sequence(
        &mut self,
        range: Range,
        items: &[YamlNode],
        scope: &DefinitionScope<'a>,
    ) -> TemplateToken {
        let forms = self.schema.alternatives(scope.definition);
        let item = forms.iter().find_map(|form| match form {
            DefinitionForm::Sequence(item) => Some(item),
            _ => None,
        });
        let mut tokens = Vec::with_capacity(items.len());
        match item {
            Some(item) => {
                let scope = self.scope(Some(scope), item);
                for node in items {
                    tokens.push(self.value(node, &scope));
                }
            }
            None => {
                self.problem(Some(range), "A sequence was not expected");
            }
        }
        let kind = TokenKind::Sequence(tokens);
        TemplateToken { range, kind }
    }

    fn mapping(
        &mut self,
        range: Range,
        entries: &[(YamlNode, YamlNode)],
        scope: &DefinitionScope<'a>,
    ) -> TemplateToken {
        let mut forms: Vec<&MappingForm> = Vec::new();
        for form in self.schema.alternatives(scope.definition) {
            if let DefinitionForm::Mapping(mapping) = form {
                forms.push(mapping);
            }
        }
        let tokens = match forms.as_slice() {
            [] => {
                self.problem(Some(range), "A mapping was not expected");
                Vec::new()
            }
            [
                MappingForm {
                    properties,
                    loose: Some((key, value)),
                },
            ] if properties.is_empty() => self.loose_mapping(entries, scope, key, value),
            _ => self.known_mapping(range, entries, scope, forms),
        };
        let kind = TokenKind::Mapping(tokens);
        TemplateToken { range, kind }
    }

    /// A mapping with properties. Keys that only some of the forms have leave only those.
    fn known_mapping(
        &mut self,
        range: Range,
        entries: &[(YamlNode, YamlNode)],
        scope: &DefinitionScope<'a>,
        mut forms: Vec<&'a MappingForm>,
    ) -> Vec<(TemplateToken, TemplateToken)> {
        let loose = forms.first().and_then(|form| form.loose.as_ref());
        let loose =
            loose.map(|(key, value)| (self.schema.get(key), self.scope(Some(scope), value)));
        let mut tokens = Vec::with_capacity(entries.len());
        let mut seen = HashSet::new();
        let mut has_expression = false;
        for (key, value) in entries {
            let key = self.key(key, scope);
            if key.token.is_expression() {
                has_expression = true;
                if self.expression_key(&key, scope) {
                    let any = self.scope(Some(scope), "any");
                    let value = self.value(value, &any);
                    tokens.push((key.token, value));
                }
                continue;
            }
            if self.is_duplicate(&key, &mut seen) {
                continue;
            }
            let property = forms.iter().rev().find_map(|form| form.property(&key.text));
            if let Some(property) = property {
                forms.retain(|form| form.property(&key.text).is_some());
                if !WITHHELD.contains(&key.text.as_str()) {
                    let scope = self.scope(Some(scope), &property.definition);
                    let value = self.value(value, &scope);
                    tokens.push((key.token, value));
                    continue;
                }
            } else if let Some((definition, scope)) = &loose {
                let key = self.validate_key(key, definition);
                let value = self.value(value, scope);
                tokens.push((key, value));
                continue;
            }
            let message = format!("Unexpected value '{}'", key.display);
            self.problem(Some(key.token.range), message);
        }
        if let [form] = forms.as_slice() {
            if !has_expression {
                self.require(range, form, &seen);
            }
        } else {
            self.ambiguous(range, &forms);
        }
        tokens
    }

    /// A mapping in which all keys have one definition.
    fn loose_mapping(
        &mut self,
        entries: &[(YamlNode, YamlNode)],
        scope: &DefinitionScope<'a>,
        key_definition: &str,
        value_definition: &str,
    ) -> Vec<(TemplateToken, TemplateToken)> {
        let definition = self.schema.get(key_definition);
        let values = self.scope(Some(scope), value_definition);
        let mut tokens = Vec::with_capacity(entries.len());
        let mut seen = HashSet::new();
        for (key, value) in entries {
            let key = self.key(key, scope);
            let is_expression = key.token.is_expression();
            let is_skipped = if is_expression {
                !self.expression_key(&key, scope)
            } else {
                self.is_duplicate(&key, &mut seen)
            };
            if is_skipped {
                continue;
            }
            let key = if is_expression {
                key.token
            } else {
                self.validate_key(key, definition)
            };
            let value = self.value(value, &values);
            tokens.push((key, value));
        }
        tokens
    }

    /// True if an expression may be a key here.
    fn expression_key(&mut self, key: &MappingKey, scope: &DefinitionScope<'_>) -> bool {
        let is_allowed = scope.allows_expressions();
        if !is_allowed {
            self.problem(Some(key.token.range), NO_EXPRESSION);
        }
        is_allowed
    }

    fn is_duplicate(&mut self, key: &MappingKey, seen: &mut HashSet<String>) -> bool {
        let upper = key.text.to_uppercase();
        if upper.is_empty() {
            return false;
        }
        let is_new = seen.insert(upper);
        if !is_new {
            let message = format!("'{}' is already defined", key.text);
            self.problem(Some(key.token.range), message);
        }
        !is_new
    }

    fn validate_key(&mut self, key: MappingKey, definition: &Definition) -> TemplateToken {
        let scalars = self.schema.scalars(definition);
        if !scalars.iter().any(|form| matches(form, &key.token.kind)) {
            let message = format!("Unexpected value '{}'", key.display);
            self.problem(Some(key.token.range), message);
        }
        key.token
    }

    /// Problems of required properties that are not among these keys in capitals.
    fn require(&mut self, range: Range, form: &MappingForm, seen: &HashSet<String>) {
        for property in &form.properties {
            if property.required && !seen.contains(&property.name.to_uppercase()) {
                let message = format!("Required property is missing: {}", property.name);
                self.problem(Some(range), message);
            }
        }
    }

    /// The problem of a mapping that fits several forms.
    fn ambiguous(&mut self, range: Range, forms: &[&MappingForm]) {
        let names = forms
            .iter()
            .flat_map(|form| &form.properties)
            .map(|property| property.name.as_str());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let unique = names.chunk_by(|a, b| a == b).filter(|same| same.len() == 1);
        let unique: Vec<&str> = unique
            .flatten()
            .copied()
            .filter(|name| !WITHHELD.contains(name))
            .collect();
        let message = format!(
            "There's not enough info to determine what you meant. Add one of these properties: {}",
            unique.join(", ")
        );
        self.problem(Some(range), message);
    }

    fn key(&mut self, node: &YamlNode, scope: &DefinitionScope<'_>) -> MappingKey {
        let range = node.range;
        let plain = |text: &str, display: &str| MappingKey {
            token: TemplateToken::text(range, text),
            text: text.to_owned(),
            display: display.to_owned(),
        };
        match &node.kind {
            NodeKind::Text(text) => {
                let source = None;
                let value = &text.value;
                let token = self.parse(
                    Scalar {
                        value,
                        source,
                        range,
                    },
                    scope,
                );
                let text = token.display();
                let display = text.clone();
                MappingKey {
                    token,
                    text,
                    display,
                }
            }
            NodeKind::Null => plain("", "null"),
            NodeKind::Bool(value) => plain(&value.to_string(), &value.to_string()),
            NodeKind::Number(value) => {
                let text = Value::Number(*value).to_text();
                plain(&text, &super::number_text(*value))
            }
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => plain("", "undefined"),
        }
    }

    fn scalar(&mut self, node: &YamlNode, scope: &DefinitionScope<'_>) -> TemplateToken {
        let range = node.range;
        let kind = match &node.kind {
            NodeKind::Text(text) => {
                let value = &text.value;
                let source = Some(text.source.as_str());
                return self.parse(
                    Scalar {
                        value,
                        source,
                        range,
                    },
                    scope,
                );
            }
            NodeKind::Bool(value) => TokenKind::Bool(*value),
            NodeKind::Number(value) => TokenKind::Number(*value),
            _ => TokenKind::Null,
        };
        TemplateToken { range, kind }
    }

    fn parse(&mut self, scalar: Scalar<'_>, scope: &DefinitionScope<'_>) -> TemplateToken {
        let (token, errors) = scalar::parse(scalar, &scope.allowed);
        for (range, message) in errors {
            self.problem(Some(range), message);
        }
        token
    }

    /// The scalar, as a text where the definition asks for one, with the problem of one that does not fit.
    fn validate(
        &mut self,
        token: TemplateToken,
        definition: &Definition,
        is_literal_only: bool,
    ) -> TemplateToken {
        match token.kind {
            TokenKind::Expression(_) if is_literal_only => {
                self.problem(Some(token.range), NO_EXPRESSION);
                token
            }
            TokenKind::Expression(_) => token,
            TokenKind::Insert => {
                self.unexpected(&token);
                token
            }
            _ => {
                let scalars = self.schema.scalars(definition);
                if scalars.iter().any(|form| matches(form, &token.kind)) {
                    return token;
                }
                let text = match token.kind {
                    TokenKind::Number(value) => Value::Number(value).to_text(),
                    _ => token.display(),
                };
                let text = TemplateToken::text(token.range, text);
                if scalars.iter().any(|form| matches(form, &text.kind)) {
                    return text;
                }
                self.unexpected(&token);
                token
            }
        }
    }

    fn unexpected(&mut self, token: &TemplateToken) {
        let message = format!("Unexpected value '{}'", token.display());
        self.problem(Some(token.range), message);
    }
}

fn matches(form: &DefinitionForm, kind: &TokenKind) -> bool {
    match (form, kind) {
        (DefinitionForm::Null, TokenKind::Null)
        | (DefinitionForm::Boolean, TokenKind::Bool(_))
        | (DefinitionForm::Number, TokenKind::Number(_))
        | (DefinitionForm::String(StringForm::Any), TokenKind::Text(_)) => true,
        (DefinitionForm::String(StringForm::NotEmpty), TokenKind::Text(text)) => !text.is_empty(),
        (DefinitionForm::String(StringForm::Constants(constants)), TokenKind::Text(text)) => {
            constants.contains(&text.as_str())
        }
        _ => false,
    }
}
