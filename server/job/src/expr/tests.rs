//! Any text gives a value or an error, within bounds.

use proptest::prelude::*;

use super::{Allowed, Contexts, ExpressionError, Value, calls_status_function, check, evaluate};

struct Nothing;

impl Contexts for Nothing {
    fn context(&self, _: &str) -> Value {
        Value::Null
    }

    fn function(&self, _: &str, _: &[Value]) -> Result<Value, ExpressionError> {
        Ok(Value::Null)
    }
}

fn message(text: &str) -> String {
    let result = evaluate(text, &Nothing);
    result.expect_err("an error").message
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,60}|[a('\\[\\])!&|=<>.,*0-9 {}\\-]{0,60}") {
        let _ = check(&text, &Allowed::default());
        let _ = evaluate(&text, &Nothing);
        let _ = evaluate(&format!("format('{}', 1)", text.replace('\'', "''")), &Nothing);
        let _ = Value::from_json(&text);
        calls_status_function(&text);
    }
}

#[test]
fn nesting_is_bounded() {
    for text in ["(", "!", "a[", "a(", "[", "a.", "a || (", "a[*]"] {
        let nested = text.repeat(20_000 / text.len());
        assert!(evaluate(&nested, &Nothing).is_err(), "{text}");
    }
    let chain = format!("1{}", " == 1".repeat(4_000));
    assert_eq!(evaluate(&chain, &Nothing), Ok(Value::Bool(true)));
    assert_eq!(
        message(&" ".repeat(21_001)),
        "Exceeded max expression length 21000"
    );
    assert!(Value::from_json(&"[".repeat(100_000)).is_err());
}

#[test]
fn results_are_bounded() {
    let places = "{0}".repeat(400);
    let mut text = "'0123456789'".to_owned();
    for _ in 0..4 {
        text = format!("format('{places}', {text})");
    }
    assert_eq!(
        message(&text),
        "The maximum allowed memory size was exceeded"
    );
}
