//! Status functions in conditions.

use super::parser::{self, ExpressionNode, IndexOperand};

/// Functions whose call replaces the implied `success()` of a condition.
const STATUS_FUNCTIONS: [&str; 4] = ["success", "failure", "always", "cancelled"];

/// True if a condition calls a status function, so that no `success() &&` is implied.
///
/// True also for a text with a syntax error: GitHub leaves it as it is, and reports the error.
pub fn calls_status_function(condition: &str) -> bool {
    match parser::parse(condition, None) {
        Ok(tree) => tree.is_some_and(|tree| calls(&tree)),
        Err(_) => true,
    }
}

fn calls(node: &ExpressionNode) -> bool {
    match node {
        ExpressionNode::Null
        | ExpressionNode::Bool(_)
        | ExpressionNode::Number(_)
        | ExpressionNode::Text(_)
        | ExpressionNode::Context(_) => false,
        ExpressionNode::Not(operand) => calls(operand),
        ExpressionNode::Compare(first, rest) => {
            calls(first) || rest.iter().any(|(_, node)| calls(node))
        }
        ExpressionNode::And(operands) | ExpressionNode::Or(operands) => operands.iter().any(calls),
        ExpressionNode::IndexOperand(object, IndexOperand::Star) => calls(object),
        ExpressionNode::IndexOperand(object, IndexOperand::Value(index)) => {
            calls(object) || calls(index)
        }
        ExpressionNode::Call(name, arguments) => {
            let mut names = STATUS_FUNCTIONS.iter();
            names.any(|status| status.eq_ignore_ascii_case(name)) || arguments.iter().any(calls)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::calls_status_function;

    #[test]
    fn calls_are_found_and_words_are_not() {
        for condition in [
            "always()",
            "!Cancelled ()",
            "x == failure()",
            "contains(fromJSON(success()), 'a')",
            "a[always()]",
            "a[*].b && success()",
            "(a",
        ] {
            assert!(calls_status_function(condition), "{condition}");
        }
        for condition in [
            "",
            "'always()'",
            "steps.always.outcome",
            "always",
            "a == 'success'",
        ] {
            assert!(!calls_status_function(condition), "{condition}");
        }
    }
}
