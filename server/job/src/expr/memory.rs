//! Limit of an evaluation's memory. Sizes are counted as GitHub's runner counts them.

use super::contexts::ExpressionError;
use super::value::Value;

/// Bytes of an object, an array or a plain value.
const OBJECT_SIZE: usize = 24;
/// Bytes of a text without its characters.
const TEXT_SIZE: usize = 26;
/// Bytes of an item of a filtered array.
const ITEM_SIZE: usize = 8;

/// Memory of the results that an evaluation holds, by the depth of their nodes.
#[derive(Debug)]
pub(super) struct Memory {
    limit: usize,
    total: usize,
    depths: Vec<usize>,
}

impl Memory {
    pub fn new(limit: usize) -> Memory {
        Memory {
            limit,
            total: 0,
            depths: Vec::new(),
        }
    }

    /// Counts the result of a node. The results below it are free if it is a plain value.
    pub fn add(&mut self, depth: usize, value: &Value) -> Result<(), ExpressionError> {
        let size = match value {
            Value::String(text) => text_size(text),
            _ => OBJECT_SIZE,
        };
        if value.is_primitive() {
            while self.depths.len() > depth + 1 {
                self.total -= self.depths.pop().unwrap_or(0);
            }
        }
        self.count(depth, size)
    }

    /// Counts the items of a filtered array.
    pub fn add_items(&mut self, depth: usize, items: usize) -> Result<(), ExpressionError> {
        self.count(depth, items.saturating_mul(ITEM_SIZE))
    }

    /// A text that may take as much memory as the whole evaluation.
    pub fn builder(&self) -> TextBuilder {
        TextBuilder {
            limit: self.limit,
            size: 0,
            text: String::new(),
        }
    }

    fn count(&mut self, depth: usize, size: usize) -> Result<(), ExpressionError> {
        if self.depths.len() <= depth {
            self.depths.resize(depth + 1, 0);
        }
        self.depths[depth] += size;
        self.total += size;
        within(self.total, self.limit)
    }
}

/// A text in the making.
#[derive(Debug)]
pub(super) struct TextBuilder {
    limit: usize,
    size: usize,
    text: String,
}

impl TextBuilder {
    pub fn push(&mut self, text: &str) -> Result<(), ExpressionError> {
        self.size += text_size(text);
        within(self.size, self.limit)?;
        self.text.push_str(text);
        Ok(())
    }

    pub fn finish(self) -> Value {
        self.text.into()
    }
}

fn text_size(text: &str) -> usize {
    TEXT_SIZE + 2 * text.encode_utf16().count()
}

fn within(size: usize, limit: usize) -> Result<(), ExpressionError> {
    if size > limit {
        return Err(ExpressionError::new(
            "The maximum allowed memory size was exceeded",
        ));
    }
    Ok(())
}
