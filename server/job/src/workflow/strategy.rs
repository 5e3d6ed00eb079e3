//! Problems of a matrix that is known before the run. GitHub's service finds them, the package for editors does not.

use super::conversion::{ConversionError, Problems, mapping, sequence, text};
use crate::template::TemplateToken;

pub(super) fn check(
    strategy: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    let Some(matrix) = strategy
        .get("matrix")
        .filter(|matrix| !matrix.is_expression())
    else {
        return Ok(());
    };
    let mut axes = Vec::new();
    let mut has_axis = false;
    let mut has_include = false;
    for (key, value) in mapping(matrix, "matrix")? {
        let name = if key.is_expression() {
            None
        } else {
            Some(text(key, "matrix key")?)
        };
        match name {
            Some("include") if value.has_expression() => has_include = true,
            Some("include") => has_include = !sequence(value, "matrix includes")?.is_empty(),
            Some("exclude") => {}
            _ => {
                has_axis = true;
                axes.extend(name);
                check_axis(name, value, problems)?;
            }
        }
    }
    if !has_axis && !has_include {
        problems.add(matrix.range, "Matrix must define at least one vector");
    }
    if strategy.has_expression() {
        return Ok(());
    }
    check_include(matrix.get("include"), problems)?;
    check_exclude(matrix.get("exclude"), &axes, problems)
}

fn check_axis(
    name: Option<&str>,
    value: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    if let Some(name) = name
        && !value.has_expression()
        && sequence(value, "matrix vector value")?.is_empty()
    {
        let message = format!("Matrix vector '{name}' does not contain any values");
        problems.add(value.range, message);
    }
    Ok(())
}

fn check_include(
    include: Option<&TemplateToken>,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    let Some(include) = include else {
        return Ok(());
    };
    for item in sequence(include, "matrix includes")? {
        if mapping(item, "matrix includes item")?.is_empty() {
            let message = "Matrix include mapping does not contain any values";
            problems.add(item.range, message);
        }
    }
    Ok(())
}

fn check_exclude(
    exclude: Option<&TemplateToken>,
    axes: &[&str],
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    let Some(exclude) = exclude else {
        return Ok(());
    };
    for item in sequence(exclude, "matrix excludes")? {
        let entries = mapping(item, "matrix excludes item")?;
        if entries.is_empty() {
            problems.add(item.range, "Matrix exclude filter must not be empty");
        }
        for (key, _) in entries {
            let name = text(key, "matrix excludes item key")?;
            if !axes.iter().any(|axis| axis.eq_ignore_ascii_case(name)) {
                let message =
                    format!("Matrix exclude key '{name}' does not match any key within the matrix");
                problems.add(key.range, message);
            }
        }
    }
    Ok(())
}
