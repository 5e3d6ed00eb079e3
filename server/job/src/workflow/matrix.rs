//! Combinations of a matrix, as GitHub's service makes them.

use crate::expr::{Dict, Value};

/// Greatest number of jobs of one matrix, as on GitHub.
pub const MAX_JOBS: usize = 256;

/// Greatest number of combinations before `exclude`.
const MAX_PRODUCT: usize = 100_000;

/// Greatest length of a display name, in UTF-16 units.
const MAX_NAME: usize = 100;

/// The values of one job of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The context `matrix`.
    pub values: Dict,
    /// Texts of the values in its name. Those that `include` adds to a combination are not among them.
    pub segments: Vec<String>,
}

/// A matrix that has no combinations, in GitHub's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MatrixError(String);

/// The context `matrix` of each job, in GitHub's order. `value` is the matrix after evaluation.
pub fn expand(value: &Value) -> Result<Vec<Dict>, MatrixError> {
    let combinations = combinations(value)?;
    let values = combinations
        .into_iter()
        .map(|combination| combination.values);
    Ok(values.collect())
}

/// Jobs of a matrix: the product of its axes, the last one changing fastest, without those that `exclude` names; then
/// those that only `include` has.
pub fn combinations(value: &Value) -> Result<Vec<Combination>, MatrixError> {
    let matrix = object(value, "matrix")?;
    let axes = axes(matrix)?;
    let includes = includes(matrix, &axes)?;
    let excludes = excludes(matrix, &axes)?;
    let mut is_used = vec![false; includes.len()];
    let mut found = Vec::new();
    for index in 0..product(&axes)? {
        let mut values = combination(&axes, index);
        if excludes.iter().any(|filter| matches(filter, &values)) {
            continue;
        }
        let segments = segments(&values);
        let mut added = Dict::default();
        for (include, is_used) in includes.iter().zip(&mut is_used) {
            if matches(&include.filter, &values) {
                *is_used = true;
                include
                    .added
                    .iter()
                    .for_each(|(name, value)| added.set(name, value.clone()));
            }
        }
        added
            .iter()
            .for_each(|(name, value)| values.set(name, value.clone()));
        found.push(Combination { values, segments });
    }
    for (include, is_used) in includes.into_iter().zip(is_used) {
        if !is_used {
            let mut values = include.filter;
            include
                .added
                .iter()
                .for_each(|(name, value)| values.set(name, value.clone()));
            let segments = segments(&values);
            found.push(Combination { values, segments });
        }
    }
    if found.len() > MAX_JOBS {
        let message = format!(
            "The matrix makes {} jobs. At most {MAX_JOBS} can run.",
            found.len()
        );
        return Err(MatrixError(message));
    }
    Ok(found)
}

/// The name of a job of a matrix, if its `name` has no expression: `build (ubuntu, 20)`.
pub fn display_name(job: &str, combination: &Combination) -> String {
    let name = if combination.segments.is_empty() {
        job.to_owned()
    } else {
        format!("{job} ({})", combination.segments.join(", "))
    };
    if name.encode_utf16().count() <= MAX_NAME {
        return name;
    }
    let mut units = 0;
    let kept = name.chars().take_while(|c| {
        units += c.len_utf16();
        units <= MAX_NAME - 3
    });
    kept.chain("...".chars()).collect()
}

type Axis<'a> = (&'a str, &'a [Value]);

/// An entry of `include`: values of axes, which select combinations, and others, which are added to these.
#[derive(Default)]
struct Include {
    filter: Dict,
    added: Dict,
}

fn axes(matrix: &Dict) -> Result<Vec<Axis<'_>>, MatrixError> {
    let mut axes = Vec::new();
    for (name, value) in matrix.iter() {
        if name == "include" || name == "exclude" {
            continue;
        }
        let values = array(value, "matrix vector value")?;
        if values.is_empty() {
            let message = format!("Matrix vector '{name}' does not contain any values");
            return Err(MatrixError(message));
        }
        axes.push((name, values));
    }
    let has_include = |value: &Value| matches!(value, Value::Array(items) if !items.is_empty());
    if axes.is_empty() && !matrix.get("include").is_some_and(has_include) {
        return Err(MatrixError(
            "Matrix must define at least one vector".to_owned(),
        ));
    }
    Ok(axes)
}

fn includes(matrix: &Dict, axes: &[Axis<'_>]) -> Result<Vec<Include>, MatrixError> {
    let mut includes = Vec::new();
    for item in items(matrix, "include", "matrix includes")? {
        let mut include = Include::default();
        for (name, value) in object(item, "matrix includes item")?.iter() {
            if is_axis(axes, name) {
                include.filter.set(name, value.clone());
            } else {
                include.added.set(name, value.clone());
            }
        }
        if include.filter.is_empty() && include.added.is_empty() {
            let message = "Matrix include mapping does not contain any values";
            return Err(MatrixError(message.to_owned()));
        }
        includes.push(include);
    }
    Ok(includes)
}

fn excludes(matrix: &Dict, axes: &[Axis<'_>]) -> Result<Vec<Dict>, MatrixError> {
    let mut excludes = Vec::new();
    for item in items(matrix, "exclude", "matrix excludes")? {
        let filter = object(item, "matrix excludes item")?;
        if filter.is_empty() {
            let message = "Matrix exclude filter must not be empty";
            return Err(MatrixError(message.to_owned()));
        }
        if let Some((name, _)) = filter.iter().find(|(name, _)| !is_axis(axes, name)) {
            let message =
                format!("Matrix exclude key '{name}' does not match any key within the matrix");
            return Err(MatrixError(message));
        }
        excludes.push(filter.clone());
    }
    Ok(excludes)
}

fn items<'a>(matrix: &'a Dict, name: &str, what: &str) -> Result<&'a [Value], MatrixError> {
    matrix.get(name).map_or(Ok(&[]), |value| array(value, what))
}

fn is_axis(axes: &[Axis<'_>], name: &str) -> bool {
    axes.iter().any(|(axis, _)| axis.eq_ignore_ascii_case(name))
}

fn product(axes: &[Axis<'_>]) -> Result<usize, MatrixError> {
    if axes.is_empty() {
        return Ok(0);
    }
    let mut sizes = axes.iter().map(|(_, values)| values.len());
    let product = sizes.try_fold(1, usize::checked_mul);
    product
        .filter(|product| *product <= MAX_PRODUCT)
        .ok_or_else(|| {
            MatrixError(format!(
                "The matrix has more than {MAX_PRODUCT} combinations."
            ))
        })
}

fn combination(axes: &[Axis<'_>], index: usize) -> Dict {
    let mut values = Dict::default();
    let mut block: usize = axes.iter().map(|(_, values)| values.len()).product();
    for (name, axis) in axes {
        block /= axis.len();
        values.set(name, axis[index / block % axis.len()].clone());
    }
    values
}

/// True if a combination has all scalars of a filter at their places.
fn matches(filter: &Dict, values: &Dict) -> bool {
    filter
        .iter()
        .all(|(name, value)| is_within(value, values.get(name)))
}

fn is_within(filter: &Value, value: Option<&Value>) -> bool {
    match (filter, value) {
        (Value::Object(filter), Some(Value::Object(value))) => matches(filter, value),
        (Value::Object(filter), _) => matches(filter, &Dict::default()),
        (Value::Array(filter), value) => {
            let values: &[Value] = match value {
                Some(Value::Array(values)) => values,
                _ => &[],
            };
            let mut items = filter.iter().enumerate();
            items.all(|(place, item)| is_within(item, values.get(place)))
        }
        (scalar, value) => is_same(scalar, value.unwrap_or(&Value::Null)),
    }
}

/// Equality of expressions, for a scalar: texts have no case, and of two kinds both become numbers.
fn is_same(scalar: &Value, value: &Value) -> bool {
    match (scalar, value) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a.to_uppercase() == b.to_uppercase(),
        (_, Value::Array(_) | Value::Object(_)) => false,
        #[expect(clippy::float_cmp, reason = "as expressions compare them")]
        (a, b) => a.to_number() == b.to_number(),
    }
}

/// Texts of all scalars that are not empty.
fn segments(values: &Dict) -> Vec<String> {
    fn add(value: &Value, segments: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| add(item, segments)),
            Value::Object(dict) => dict.iter().for_each(|(_, value)| add(value, segments)),
            scalar => segments.extend(Some(scalar.to_text()).filter(|text| !text.is_empty())),
        }
    }
    let mut segments = Vec::new();
    values
        .iter()
        .for_each(|(_, value)| add(value, &mut segments));
    segments
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Dict, MatrixError> {
    match value {
        Value::Object(dict) => Ok(dict),
        other => Err(unexpected(other, what, "MappingToken")),
    }
}

fn array<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], MatrixError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(unexpected(other, what, "SequenceToken")),
    }
}

fn unexpected(value: &Value, what: &str, expected: &str) -> MatrixError {
    let found = match value {
        Value::Null => "NullToken",
        Value::Bool(_) => "BooleanToken",
        Value::Number(_) => "NumberToken",
        Value::String(_) => "StringToken",
        Value::Array(_) => "SequenceToken",
        Value::Object(_) => "MappingToken",
    };
    MatrixError(format!(
        "Unexpected type '{found}' encountered while reading '{what}'. The type '{expected}' was expected."
    ))
}

#[cfg(test)]
mod tests;
