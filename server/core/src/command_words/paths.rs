//! Paths as text: absolute ones, and relative to the root. Pure.

/// Returns an absolute path. `.` and `..` are resolved by name.
pub(super) fn absolute(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { base };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns an absolute path relative to the root, or as it is if it is outside.
pub(super) fn relative(path: &str, root: &str) -> String {
    let of = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let (parts, root) = (of(path), of(root));
    if root.starts_with(&parts) {
        return ".".to_owned();
    }
    match parts.strip_prefix(root.as_slice()) {
        Some(below) => below.join("/"),
        None => format!("/{}", parts.join("/")),
    }
}
