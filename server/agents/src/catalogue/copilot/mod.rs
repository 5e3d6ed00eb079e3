//! GitHub Copilot: its command line under the Pascal names of its events, the agents of VS Code, and a file of hooks of our own
//! that both run. The command line has no id of a call, and neither has one of a turn: they are told by their order.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::adapter::Agent;
use crate::spec::AgentSpec;
use crate::trusted_folders;
use std::path::Path;

pub use events::of_vscode;
pub use spec::VSCODE_PAGE;

#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Agent for Copilot {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::copilot(project)
    }
}
