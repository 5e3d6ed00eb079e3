//! The tools of `backstitch mcp`, as agents name them. Pure.

/// The tools that write no file by themselves. A rewind that the user accepts is recorded as one, not as the agent's work.
pub const OWN_TOOLS: [&str; 7] = [
    "checkpoint",
    "log",
    "show",
    "diff",
    "blame",
    "cat",
    "propose_rewind",
];

/// True for a tool of a server that is called `backstitch`: `mcp__backstitch__log`, `mcp_backstitch_log`, `backstitch-log`.
pub fn is_own(tool: &str) -> bool {
    let name = tool
        .strip_prefix("mcp__")
        .or_else(|| tool.strip_prefix("mcp_"))
        .unwrap_or(tool);
    let Some(name) = name.strip_prefix("backstitch") else {
        return false;
    };
    let name = name
        .strip_prefix("__")
        .or_else(|| name.strip_prefix(['_', '-', '.', '/']));
    name.is_some_and(|name| OWN_TOOLS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_tools_are_known_by_the_names_of_agents() {
        for own in [
            "mcp__backstitch__log",
            "mcp_backstitch_propose_rewind",
            "backstitch_cat",
            "backstitch-diff",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "log",
            "mcp__other__log",
            "mcp__backstitch__write",
            "backstitch",
            "mcp__backstitch__",
            "backstitchlog",
            "mcp__not_backstitch__log",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
