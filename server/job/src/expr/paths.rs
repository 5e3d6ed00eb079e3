//! The values that an expression names: a context, and the keys below it.

use super::parser::{ExpressionNode, IndexOperand, parse};

/// Paths of values that an expression names by fixed keys, such as `steps`, `build`, `outputs`, `version`. Another text has
/// none.
pub fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    if let Ok(Some(node)) = parse(text, None) {
        add_paths(&node, &mut found);
    }
    found
}

fn add_paths(node: &ExpressionNode, found: &mut Vec<Vec<String>>) {
    if let Some(path) = path_of(node) {
        found.push(path);
        return;
    }
    match node {
        ExpressionNode::Null
        | ExpressionNode::Bool(_)
        | ExpressionNode::Number(_)
        | ExpressionNode::Text(_)
        | ExpressionNode::Context(_) => {}
        ExpressionNode::Not(inner) => add_paths(inner, found),
        ExpressionNode::Compare(first, others) => {
            add_paths(first, found);
            for (_, other) in others {
                add_paths(other, found);
            }
        }
        ExpressionNode::And(all) | ExpressionNode::Or(all) | ExpressionNode::Call(_, all) => {
            for inner in all {
                add_paths(inner, found);
            }
        }
        ExpressionNode::IndexOperand(base, index) => {
            add_paths(base, found);
            if let IndexOperand::Value(index) = index {
                add_paths(index, found);
            }
        }
    }
}

/// The path of a node that is one: a context, and keys that are texts.
fn path_of(node: &ExpressionNode) -> Option<Vec<String>> {
    match node {
        ExpressionNode::Context(name) => Some(vec![name.clone()]),
        ExpressionNode::IndexOperand(base, IndexOperand::Value(index)) => {
            let ExpressionNode::Text(key) = &**index else {
                return None;
            };
            let mut path = path_of(base)?;
            path.push(key.clone());
            Some(path)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn values_are_named_by_fixed_keys() {
        let text = "format('{0}', steps.a.outputs.v) == needs['b'].outputs['x y'] && !env.C || env[matrix.os] || steps.*.id";
        let found: Vec<String> = paths(text).iter().map(|path| path.join("/")).collect();
        assert_eq!(
            found,
            [
                "steps/a/outputs/v",
                "needs/b/outputs/x y",
                "env/C",
                "env",
                "matrix/os",
                "steps",
            ]
        );
        assert!(paths("echo steps.a").is_empty());
    }
}
