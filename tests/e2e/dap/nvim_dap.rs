//! The dialogue of nvim-dap, as it was recorded: its requests in their order and with their arguments.

use serde_json::Value;

use super::talk::DapTalk;
use crate::jobs::back::stepped::until;
use crate::jobs::{job, newest, workflow};

const STEPS: &str = "
- name: One
  run: echo one >> log; echo A=1 >> $GITHUB_ENV
- name: Two
  run: echo two >> log; test -f mended
- name: Three
  run: echo three >> log";

/// S1-074: an unmodified client (nvim-dap) works. `2` before its step back sends the second request right after the stop, with the
/// stack still to come. A refused step makes it take the job for running, until it hears of a stop. It closes the pipe as soon as its
/// request to terminate is answered, and sends an interrupt.
#[test]
fn s1_074_the_dialogue_of_nvim_dap() {
    let world = workflow(&job(STEPS));
    let mut talk = DapTalk::start(&world);
    let root = world.root.to_string_lossy();
    let dialogue = include_str!("nvim_dap.dialogue").replace("ROOT", &root);
    for line in dialogue.lines() {
        if let Some(request) = line.strip_prefix("> ") {
            let mut stacks = talk.all.iter().rev();
            let top = stacks.find_map(|message| message["body"]["stackFrames"][0]["id"].as_u64());
            let mut scopes = talk.all.iter().rev();
            let first = scopes
                .find_map(|message| message["body"]["scopes"][0]["variablesReference"].as_u64());
            let request = request.replace("TOP", &top.unwrap_or(0).to_string());
            talk.write(&request.replace("SCOPE", &first.unwrap_or(0).to_string()));
        } else if let Some(awaited) = line.strip_prefix("< ") {
            let awaited: Value = serde_json::from_str(awaited).expect("JSON");
            talk.awaits(&awaited);
        }
    }
    talk.leave_by_interrupt();
    let status = || world.json(["job", "list", "--runs"])["runs"][0]["status"].clone();
    until("the job is cancelled", || status() == "cancelled");
    // the steps that were left out have not run, and those of the steps back are gone
    assert!(!newest(&world).join("files/work/work/work/log").exists());
}
