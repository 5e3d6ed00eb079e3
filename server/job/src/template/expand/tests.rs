//! Tokens with expressions.

use super::{ExpandError, expand, expand_bool, expand_number, expand_text};
use crate::expr::{Contexts, ExpressionError, Value};
use crate::position::{FilePosition, Range};
use crate::template::{Expression, TemplateToken, TokenKind};

struct Env;

impl Contexts for Env {
    fn context(&self, name: &str) -> Value {
        let text = r#"{"a": 1, "list": [1, 2], "on": true, "big": 1e15, "name": "key"}"#;
        if name == "env" {
            Value::from_json(text).expect("JSON")
        } else {
            Value::Null
        }
    }

    fn function(&self, name: &str, _: &[Value]) -> Result<Value, ExpressionError> {
        Err(ExpressionError::new(format!("no function {name}")))
    }
}

fn token(kind: TokenKind) -> TemplateToken {
    let range = Range::default();
    TemplateToken { range, kind }
}

fn text(text: &str) -> TemplateToken {
    token(TokenKind::Text(text.into()))
}

fn expression(text: &str) -> TemplateToken {
    token(TokenKind::Expression(Expression {
        text: text.into(),
        source: format!("${{{{ {text} }}}}"),
    }))
}

fn json(token: &TemplateToken) -> String {
    let value = expand(token, &Env).expect("a value");
    value.to_json().replace(['\n', ' '], "")
}

#[test]
fn scalars_are_texts_as_the_runner_writes_them() {
    for (token, expected) in [
        (token(TokenKind::Null), ""),
        (token(TokenKind::Bool(true)), "true"),
        (token(TokenKind::Number(1.50)), "1.5"),
        (expression("env.big"), "1E+15"),
        (expression("env.on"), "true"),
        (expression("format('a{0}b', env.a)"), "a1b"),
    ] {
        assert_eq!(expand_text(&token, &Env).as_deref(), Ok(expected));
    }
    assert_eq!(expand_bool(&expression("env.a == 1"), &Env), Ok(true));
    assert_eq!(expand_number(&expression("env.a"), &Env), Ok(1.0));
}

#[test]
fn an_expression_that_is_a_sequence_adds_its_items() {
    let items = vec![text("x"), expression("env.list"), expression("env.a")];
    assert_eq!(json(&token(TokenKind::Sequence(items))), r#"["x",1,2,1]"#);
}

#[test]
fn mappings_have_keys_by_expressions_and_inserted_entries() {
    let mapping = TokenKind::Mapping(vec![
        (expression("env.name"), text("x")),
        (
            token(TokenKind::Insert),
            expression("fromJSON('{\"b\": 2}')"),
        ),
    ]);
    assert_eq!(json(&token(mapping)), r#"{"key":"x","b":2}"#);
    let twice = TokenKind::Mapping(vec![(text("A"), text("x")), (text("a"), text("y"))]);
    let error = expand(&token(twice), &Env).expect_err("the same name twice");
    assert_eq!(error.message, "'a' is already defined");
}

#[test]
fn errors_have_the_range_of_their_token() {
    let mut inner = expression("fromJSON('[')");
    inner.range.start = FilePosition { line: 3, column: 5 };
    let outer = token(TokenKind::Sequence(vec![text("x"), inner.clone()]));
    let error = expand(&outer, &Env).expect_err("no JSON");
    let message = "Error parsing JSON when evaluating fromJson".to_owned();
    let range = inner.range;
    assert_eq!(error, ExpandError { range, message });

    let message = |token: TemplateToken| expand_bool(&token, &Env).expect_err("no bool").message;
    assert_eq!(message(expression("'yes'")), "Unexpected value 'yes'");
    assert_eq!(
        message(expression("env.list")),
        "A sequence was not expected"
    );
    assert_eq!(message(expression("env")), "A mapping was not expected");
}
