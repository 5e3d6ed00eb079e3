//! Values within an evaluation.

use super::value::Value;

/// A value, and how an index applies to it.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub value: Value,
    /// True for the array that a `.*` made: an index of it applies to each of its items.
    pub is_filtered: bool,
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand {
            value,
            is_filtered: false,
        }
    }
}
