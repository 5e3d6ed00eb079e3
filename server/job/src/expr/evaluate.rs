//! Evaluation of an expression.

use std::cmp::Ordering;
use std::sync::Arc;

use super::compare::{equals, order};
use super::contexts::{Contexts, ExpressionError};
use super::functions::{self, CallArguments};
use super::memory::{Memory, TextBuilder};
use super::operand::Operand;
use super::parser::{self, CompareOperator, ExpressionNode, IndexOperand};
use super::value::Value;

/// The most memory of an evaluation, in bytes, as GitHub's runner has it.
const MAX_MEMORY: usize = 10 * 1024 * 1024;

/// Functions of `Contexts`, as they are spelled there.
const RUN_FUNCTIONS: [&str; 5] = ["success", "failure", "always", "cancelled", "hashFiles"];

/// Names of all functions of a step's expressions.
pub fn function_names() -> Vec<&'static str> {
    super::functions::names().chain(RUN_FUNCTIONS).collect()
}

type OperandResult = Result<Operand, ExpressionError>;

/// The value of an expression. A context that is not there is null; `check` reports it.
pub fn evaluate(text: &str, contexts: &dyn Contexts) -> Result<Value, ExpressionError> {
    evaluate_within(text, contexts, MAX_MEMORY)
}

/// The value of an expression whose evaluation takes at most so many bytes.
pub fn evaluate_within(
    text: &str,
    contexts: &dyn Contexts,
    max_memory: usize,
) -> Result<Value, ExpressionError> {
    let Some(tree) = parser::parse(text, None)? else {
        return Ok(Value::Null);
    };
    let mut evaluation = ExpressionEvaluation {
        contexts,
        memory: Memory::new(max_memory),
    };
    Ok(evaluation.node(&tree, 0)?.value)
}

struct ExpressionEvaluation<'a> {
    contexts: &'a dyn Contexts,
    memory: Memory,
}

impl ExpressionEvaluation<'_> {
    fn node(&mut self, node: &ExpressionNode, depth: usize) -> OperandResult {
        let result = self.uncounted(node, depth)?;
        self.memory.add(depth, &result.value)?;
        Ok(result)
    }

    fn uncounted(&mut self, node: &ExpressionNode, depth: usize) -> OperandResult {
        let value = match node {
            ExpressionNode::Null => Value::Null,
            ExpressionNode::Bool(value) => Value::Bool(*value),
            ExpressionNode::Number(value) => Value::Number(*value),
            ExpressionNode::Text(text) => text.as_str().into(),
            ExpressionNode::Context(name) => self.contexts.context(name),
            ExpressionNode::Not(operand) => {
                Value::Bool(!self.node(operand, depth + 1)?.value.is_truthy())
            }
            ExpressionNode::Compare(first, rest) => return self.comparisons(first, rest, depth),
            ExpressionNode::And(operands) => return self.first_where(operands, false, depth),
            ExpressionNode::Or(operands) => return self.first_where(operands, true, depth),
            ExpressionNode::IndexOperand(object, index) => return self.index(object, index, depth),
            ExpressionNode::Call(name, arguments) => return self.call(name, arguments, depth),
        };
        Ok(value.into())
    }

    fn comparisons(
        &mut self,
        first: &ExpressionNode,
        rest: &[(CompareOperator, ExpressionNode)],
        depth: usize,
    ) -> OperandResult {
        let mut left = self.node(first, depth + 1)?;
        for (comparison, right) in rest {
            let right = self.node(right, depth + 1)?;
            left = Value::Bool(compare(*comparison, &left.value, &right.value)).into();
        }
        Ok(left)
    }

    /// The first operand that is `wanted` as a condition, else the last one.
    fn first_where(
        &mut self,
        operands: &[ExpressionNode],
        wanted: bool,
        depth: usize,
    ) -> OperandResult {
        let mut result = Value::Null.into();
        for operand in operands {
            result = self.node(operand, depth + 1)?;
            if result.value.is_truthy() == wanted {
                break;
            }
        }
        Ok(result)
    }

    fn call(&mut self, name: &str, nodes: &[ExpressionNode], depth: usize) -> OperandResult {
        let mut arguments = LazyArguments {
            evaluation: self,
            nodes,
            known: vec![None; nodes.len()],
            depth: depth + 1,
        };
        if let Some(result) = functions::call(name, &mut arguments) {
            return result;
        }
        let mut values = Vec::with_capacity(nodes.len());
        for node in nodes {
            values.push(self.node(node, depth + 1)?.value);
        }
        let spelled = RUN_FUNCTIONS
            .iter()
            .find(|known| known.eq_ignore_ascii_case(name));
        let result = self
            .contexts
            .function(spelled.copied().unwrap_or(name), &values)?;
        Ok(result.into())
    }

    fn index(
        &mut self,
        object: &ExpressionNode,
        index: &IndexOperand,
        depth: usize,
    ) -> OperandResult {
        let index = match index {
            IndexOperand::Star => None,
            IndexOperand::Value(index) => Some(self.index_value(index, depth)?),
        };
        let object = self.node(object, depth + 1)?;
        let Some(index) = index else {
            return self.filter(&object, depth);
        };
        if !object.is_filtered {
            return Ok(item(&object.value, &index).unwrap_or(Value::Null).into());
        }
        let Value::Array(items) = &object.value else {
            return Ok(Value::Null.into());
        };
        let found: Vec<_> = items
            .iter()
            .filter_map(|value| item(value, &index))
            .collect();
        self.filtered(found, depth)
    }

    fn index_value(
        &mut self,
        index: &ExpressionNode,
        depth: usize,
    ) -> Result<Value, ExpressionError> {
        match self.node(index, depth + 1) {
            Ok(index) => Ok(index.value),
            Err(error) => Err(ExpressionError::new(format!(
                "could not evaluate index for index access: {error}"
            ))),
        }
    }

    /// `.*`: the items of an object or array, or the items of all items of a filtered array.
    fn filter(&mut self, object: &Operand, depth: usize) -> OperandResult {
        let found = match &object.value {
            Value::Array(items) if object.is_filtered => items.iter().flat_map(items_of).collect(),
            value => items_of(value),
        };
        self.filtered(found, depth)
    }

    fn filtered(&mut self, items: Vec<Value>, depth: usize) -> OperandResult {
        self.memory.add_items(depth, items.len())?;
        Ok(Operand {
            value: Value::Array(Arc::new(items)),
            is_filtered: true,
        })
    }
}

/// Arguments of a call, each evaluated when the function asks for it the first time, as GitHub's runner does.
struct LazyArguments<'a, 'b> {
    evaluation: &'a mut ExpressionEvaluation<'b>,
    nodes: &'a [ExpressionNode],
    known: Vec<Option<Operand>>,
    depth: usize,
}

impl CallArguments for LazyArguments<'_, '_> {
    fn count(&self) -> usize {
        self.nodes.len()
    }

    fn get(&mut self, place: usize) -> OperandResult {
        if let Some(Some(known)) = self.known.get(place) {
            return Ok(known.clone());
        }
        let Some(node) = self.nodes.get(place) else {
            return Ok(Value::Null.into());
        };
        let result = self.evaluation.node(node, self.depth)?;
        self.known[place] = Some(result.clone());
        Ok(result)
    }

    fn builder(&self) -> TextBuilder {
        self.evaluation.memory.builder()
    }
}

fn compare(comparison: CompareOperator, left: &Value, right: &Value) -> bool {
    match comparison {
        CompareOperator::Equal => equals(left, right),
        CompareOperator::NotEqual => !equals(left, right),
        CompareOperator::Greater => order(left, right) == Some(Ordering::Greater),
        CompareOperator::GreaterOrEqual => {
            equals(left, right) || order(left, right) == Some(Ordering::Greater)
        }
        CompareOperator::Less => order(left, right) == Some(Ordering::Less),
        CompareOperator::LessOrEqual => {
            equals(left, right) || order(left, right) == Some(Ordering::Less)
        }
    }
}

/// The item of an object or array that an index names.
fn item(value: &Value, index: &Value) -> Option<Value> {
    match value {
        Value::Object(object) if index.is_primitive() => object.get(&index.to_text()).cloned(),
        Value::Array(items) => {
            let place = index.to_number();
            if !place.is_finite() || place < 0.0 {
                return None;
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            items.get(place as usize).cloned()
        }
        _ => None,
    }
}

fn items_of(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.to_vec(),
        Value::Object(object) => object.iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}
