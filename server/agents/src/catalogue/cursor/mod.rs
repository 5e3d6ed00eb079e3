//! Cursor: its events, its answers, and its settings, as its documents of hooks describe them. It was not run: it has no
//! program without an account.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::adapter::{Agent, taken};
use crate::answer::{Answer, HookOutput, NotTaken};
use crate::spec::AgentSpec;
use backstitch_core::capture::AgentEvent;

#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn answer(&self, event: &AgentEvent, answer: &Answer) -> Result<HookOutput, NotTaken> {
        taken(self, event, answer).map(|output| match output {
            // its documents show a document on every path
            silent if silent == HookOutput::default() => HookOutput {
                stdout: b"{}\n".to_vec(),
                ..silent
            },
            output => output,
        })
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it has continued already when a hook after a call answers
        event.name == "preToolUse"
    }
}
