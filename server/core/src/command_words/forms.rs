//! Forms: words before a shell expands their wildcards, braces and unknown values. Pure.

/// Texts that one word may stand for.
pub(super) const MAX_TEXTS: usize = 64;
/// Stands for a value that is not known.
pub(super) const UNKNOWN: char = '\0';

/// The text of a form.
pub(super) fn text_of(form: &str) -> String {
    let mut text = String::with_capacity(form.len());
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => chars.next().unwrap_or('\\'),
            c => c,
        });
    }
    text
}

/// True if a shell expands a form.
pub(super) fn has_wildcard(form: &str) -> bool {
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

/// A form whose unknown parts are wildcards. None: nothing of it is known. One that begins with an unknown directory is taken
/// from the present one.
pub(super) fn known(form: &str) -> Option<String> {
    if !form.contains(UNKNOWN) {
        return Some(form.to_owned());
    }
    let after = form.trim_start_matches(UNKNOWN);
    if after.len() < form.len() {
        let rest = after.strip_prefix('/')?;
        return known(rest).filter(|rest| !rest.is_empty());
    }
    let fixed = &after[..after.find(UNKNOWN).unwrap_or(after.len())];
    if !fixed.contains('/') {
        return None;
    }
    let text: String = after
        .chars()
        .map(|c| if c == UNKNOWN { '*' } else { c })
        .collect();
    Some(text)
}

/// Expands the alternatives in braces.
pub(super) fn braces(form: &str, into: &mut Vec<String>) {
    if into.len() >= MAX_TEXTS {
        return;
    }
    let Some((before, choices, after)) = first_braces(form) else {
        into.push(form.to_owned());
        return;
    };
    for choice in choices {
        braces(&format!("{before}{choice}{after}"), into);
    }
}

/// The first braces with alternatives: the text before, these, and the text after.
fn first_braces(form: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut open = None;
    let (mut depth, mut start) = (0_usize, 0);
    let mut choices = Vec::new();
    let mut chars = form.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '{' => {
                if depth == 0 {
                    (open, start) = (Some(at), at + 1);
                    choices.clear();
                }
                depth += 1;
            }
            ',' if depth == 1 => {
                choices.push(&form[start..at]);
                start = at + 1;
            }
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 && !choices.is_empty() {
                    choices.push(&form[start..at]);
                    return Some((&form[..open?], choices, &form[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// True for a word with wildcards that a program expands by itself: `prettier '**/*.ts'`. One without `/` may mean any names.
pub(super) fn is_pattern_of_a_program(text: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-*?[]{},@ ".contains(c);
    text.contains('*') && text.contains('/') && text.chars().all(is_of_path)
}
