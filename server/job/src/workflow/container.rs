//! Problems of `container` and `services`.

use super::conversion::{ConversionError, Problems, mapping, sequence, text};
use crate::template::TemplateToken;

pub(super) fn check(
    token: &TemplateToken,
    is_service: bool,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    if token.has_expression() {
        return Ok(());
    }
    let mut image = token.as_text();
    if image.is_some() {
        check_image(token, image, is_service, problems);
        return Ok(());
    }
    for (key, value) in mapping(token, "container item")? {
        let name = text(key, "container item key")?;
        match name {
            "image" => image = Some(text(value, "container image")?),
            "credentials" => check_credentials(value, problems)?,
            "env" => {
                for (key, _) in mapping(value, "container env")? {
                    text(key, "container env value")?;
                }
            }
            "ports" => check_texts(value, "container ports", "container port")?,
            "volumes" => check_texts(value, "container volumes", "container volume")?,
            "options" => text(value, "container options").map(drop)?,
            "entrypoint" | "command" if is_service => text(value, "container command").map(drop)?,
            _ => problems.add(key.range, format!("Unexpected container item key: {name}")),
        }
    }
    check_image(token, image, is_service, problems);
    Ok(())
}

/// Notes an image without a name. A job without one has no container.
fn check_image(
    token: &TemplateToken,
    image: Option<&str>,
    is_service: bool,
    problems: &mut Problems<'_>,
) {
    let is_empty = match image {
        Some(image) => image == "docker://" || (is_service && image.is_empty()),
        None => is_service,
    };
    if is_empty {
        problems.add(token.range, "Container image cannot be empty");
    }
}

pub(super) fn check_services(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    if token.has_expression() {
        return Ok(());
    }
    for (name, service) in mapping(token, "services")? {
        text(name, "service key")?;
        check(service, true, problems)?;
    }
    Ok(())
}

fn check_texts(token: &TemplateToken, what: &str, item: &str) -> Result<(), ConversionError> {
    for token in sequence(token, what)? {
        text(token, item)?;
    }
    Ok(())
}

fn check_credentials(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<(), ConversionError> {
    for (key, value) in mapping(token, "credentials")? {
        match text(key, "credentials item")? {
            "username" => text(value, "credentials username").map(drop)?,
            "password" => text(value, "credentials password").map(drop)?,
            name => problems.add(key.range, format!("credentials key {name}")),
        }
    }
    Ok(())
}
