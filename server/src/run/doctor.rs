//! The `doctor` command: prints the findings.

use backstitch_core::config::Config;
use serde_json::json;

use crate::cli::context;
use crate::cli::options::GlobalArgs;
use crate::doctor::{self, CheckState};
use crate::render::{self, BOLD, DIM, GREEN, RED, YELLOW};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};

pub fn run(global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let workspace = context::find(global)?;
    let config = Config::read(&workspace);
    let findings = doctor::examine(&workspace, &config);
    let wrong = findings
        .iter()
        .filter(|f| f.state == CheckState::Wrong)
        .count();
    let answer = json!({ "ok": wrong == 0, "findings": findings });
    if !out.json {
        let paint = out.paint;
        let mut text = String::new();
        for finding in &findings {
            let (mark, style) = match finding.state {
                CheckState::Good => ("✓", GREEN),
                CheckState::Warning => ("!", YELLOW),
                CheckState::Wrong => ("✗", RED),
            };
            let about = paint.on(BOLD, finding.about);
            let mark = paint.on(style, mark);
            let said = render::one_line(&finding.said);
            text.extend([mark.as_str(), " ", &about, ": ", &said, "\n"]);
            if let Some(hint) = &finding.hint {
                let hint = render::one_line(hint);
                text.push_str(&paint.on(DIM, &format!("  {hint}\n")));
            }
        }
        out.text(&text)?;
    }
    if wrong > 0 {
        let count = render::plural(wrong, "problem", "problems");
        return Err(CliError::new(ExitKind::Refused, format!("{count} found"))
            .hint("each line above says how to fix it")
            .answer(answer));
    }
    if out.json {
        return out::answer(answer);
    }
    Ok(())
}
