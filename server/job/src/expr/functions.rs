//! Functions that hold everywhere.

use super::compare::{equals, upper};
use super::contexts::ExpressionError;
use super::json;
use super::memory::TextBuilder;
use super::operand::Operand;
use super::value::Value;

type CallResult = Result<Operand, ExpressionError>;

/// Arguments of a call, evaluated on demand.
pub(super) trait CallArguments {
    fn count(&self) -> usize;
    fn get(&mut self, place: usize) -> Result<Operand, ExpressionError>;
    /// An empty text, with the limit of the evaluation.
    fn builder(&self) -> TextBuilder;
}

struct Function {
    name: &'static str,
    least: usize,
    greatest: usize,
    call: fn(&mut dyn CallArguments) -> CallResult,
}

/// The greatest number of arguments, where the function has no smaller one.
const MAX_ARGUMENTS: usize = 255;

/// Every function, with its least and greatest number of arguments.
const FUNCTIONS: [Function; 8] = [
    function("case", 3, MAX_ARGUMENTS, case),
    function("contains", 2, 2, contains),
    function("endsWith", 2, 2, ends_with),
    function("format", 1, MAX_ARGUMENTS, format),
    function("fromJSON", 1, 1, from_json),
    function("join", 1, 2, join),
    function("startsWith", 2, 2, starts_with),
    function("toJSON", 1, 1, to_json),
];

const fn function(
    name: &'static str,
    least: usize,
    greatest: usize,
    call: fn(&mut dyn CallArguments) -> CallResult,
) -> Function {
    Function {
        name,
        least,
        greatest,
        call,
    }
}

/// Names of the functions, as they are spelled.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter().map(|known| known.name)
}

fn find(name: &str) -> Option<&'static Function> {
    static TABLE: [Function; 8] = FUNCTIONS;
    TABLE
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The least and greatest number of arguments of a function; none if there is no such function.
pub(super) fn bounds(name: &str) -> Option<(usize, usize)> {
    find(name).map(|found| (found.least, found.greatest))
}

/// Calls a function; none if there is no such function.
pub(super) fn call(name: &str, arguments: &mut dyn CallArguments) -> Option<CallResult> {
    find(name).map(|found| (found.call)(arguments))
}

fn case(arguments: &mut dyn CallArguments) -> CallResult {
    let last = arguments.count().saturating_sub(1);
    for place in (0..last).step_by(2) {
        match arguments.get(place)?.value {
            Value::Bool(true) => return arguments.get(place + 1),
            Value::Bool(false) => {}
            _ => {
                return Err(ExpressionError::new(
                    "case predicate must evaluate to a boolean value",
                ));
            }
        }
    }
    arguments.get(last)
}

fn contains(arguments: &mut dyn CallArguments) -> CallResult {
    let container = arguments.get(0)?.value;
    let is_contained = match &container {
        Value::Array(items) if items.is_empty() => false,
        Value::Array(items) => {
            let wanted = arguments.get(1)?.value;
            items.iter().any(|item| equals(&wanted, item))
        }
        Value::Object(_) => false,
        _ => {
            let wanted = arguments.get(1)?.value;
            let text = || container.to_text().to_lowercase();
            wanted.is_primitive() && text().contains(&wanted.to_text().to_lowercase())
        }
    };
    Ok(Value::Bool(is_contained).into())
}

fn starts_with(arguments: &mut dyn CallArguments) -> CallResult {
    compare_texts(arguments, |text, part| text.starts_with(part))
}

fn ends_with(arguments: &mut dyn CallArguments) -> CallResult {
    compare_texts(arguments, |text, part| text.ends_with(part))
}

fn compare_texts(arguments: &mut dyn CallArguments, test: fn(&str, &str) -> bool) -> CallResult {
    let text = arguments.get(0)?.value;
    if !text.is_primitive() {
        return Ok(Value::Bool(false).into());
    }
    let part = arguments.get(1)?.value;
    let holds = part.is_primitive() && test(&upper(&text.to_text()), &upper(&part.to_text()));
    Ok(Value::Bool(holds).into())
}

fn join(arguments: &mut dyn CallArguments) -> CallResult {
    let items = match arguments.get(0)?.value {
        Value::Array(items) => items,
        Value::Object(_) => return Ok(Value::from("").into()),
        value => return Ok(Value::from(value.to_text()).into()),
    };
    let mut separator = ",".to_owned();
    if items.len() > 1 && arguments.count() > 1 {
        let given = arguments.get(1)?.value;
        if given.is_primitive() {
            separator = given.to_text();
        }
    }
    let mut result = arguments.builder();
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            result.push(&separator)?;
        }
        result.push(&item.to_text())?;
    }
    Ok(result.finish().into())
}

fn to_json(arguments: &mut dyn CallArguments) -> CallResult {
    let value = arguments.get(0)?.value;
    let mut result = arguments.builder();
    json::write(&value, &mut |text| result.push(text))?;
    Ok(result.finish().into())
}

fn from_json(arguments: &mut dyn CallArguments) -> CallResult {
    let text = arguments.get(0)?.value.to_text();
    json::read(&text).map(Operand::from)
}

fn format(arguments: &mut dyn CallArguments) -> CallResult {
    let template = arguments.get(0)?.value.to_text();
    let invalid = || {
        ExpressionError::new(format!(
            "The following format string is invalid: {template}"
        ))
    };
    let mut result = arguments.builder();
    let mut rest = template.as_str();
    while let Some(brace) = rest.find(['{', '}']) {
        let after = &rest[brace + 1..];
        if let Some(escaped) = after.strip_prefix(&rest[brace..=brace]) {
            result.push(&rest[..=brace])?;
            rest = escaped;
            continue;
        }
        let end = after.find(|next: char| !next.is_ascii_digit());
        let (digits, closing) = after.split_at(end.unwrap_or(after.len()));
        let is_place = rest[brace..].starts_with('{') && !digits.is_empty();
        let Some(closing) = closing.strip_prefix('}').filter(|_| is_place) else {
            return Err(invalid());
        };
        let place = digits.parse().unwrap_or(usize::MAX);
        if place >= arguments.count() - 1 {
            return Err(ExpressionError::new(format!(
                "The following format string references more arguments than were supplied: {template}"
            )));
        }
        result.push(&rest[..brace])?;
        result.push(&arguments.get(place + 1)?.value.to_text())?;
        rest = closing;
    }
    result.push(rest)?;
    Ok(result.finish().into())
}
