//! An expression of a workflow: it is checked and evaluated.
#![no_main]

use backstitch_job::expr::{self, Allowed, Contexts, ExpressionError, Value};
use libfuzzer_sys::fuzz_target;

struct Nothing;

impl Contexts for Nothing {
    fn context(&self, _: &str) -> Value {
        Value::Null
    }

    fn function(&self, _: &str, _: &[Value]) -> Result<Value, ExpressionError> {
        Ok(Value::Null)
    }
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let _ = expr::check(&text, &Allowed::default());
    let _ = expr::evaluate(&text, &Nothing);
    let _ = Value::from_json(&text);
    expr::calls_status_function(&text);
});
