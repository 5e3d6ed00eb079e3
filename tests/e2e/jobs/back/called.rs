//! Jobs of a workflow that another one calls.

use serde_json::json;

use super::super::workflow_with;
use super::stepped::{SteppedJob, place};
use crate::support::World;

const CALLER: &str = "on: push
jobs:
  call:
    uses: ./.github/workflows/other.yml
    with: {who: me}
";

const OTHER: &str = ".github/workflows/other.yml";

const CALLED: &str = "on:
  workflow_call:
    inputs:
      who: {type: string}
jobs:
  say:
    runs-on: ubuntu-latest
    steps:
      - {name: One, run: 'echo ${{ inputs.who }} >> log'}
      - {name: Two, run: 'false'}
      - {name: Three, run: 'cat log'}
";

fn world() -> World {
    workflow_with(CALLER, &[(OTHER, CALLED)])
}

/// The job that is named stands, also where another workflow has its steps. An edit of that one is taken up, and a kill loses nothing.
#[test]
fn the_steps_of_a_called_job_step_back() {
    let world = world();
    let mut job = SteppedJob::of(&world, &["ci.yml", "-j", "call", "--yes"], None);
    assert_eq!(place(&job.first), "before One");
    assert_eq!(job.said("c"), "failed Two");
    world.write(OTHER, CALLED.replace("'false'", "'echo two >> log'"));
    job.kill();
    let mut job = SteppedJob::resume(&world);
    assert_eq!(place(&job.first), "failed Two");
    assert_eq!(job.said("b"), "before Two");
    assert_eq!(job.said("n"), "before Three");
    assert_eq!(job.said("b 2"), "before One");
    assert_eq!(job.said("c"), "end");
    let (code, report) = job.end();
    assert_eq!((code, &report["result"]), (Some(0), &json!("success")));
}
