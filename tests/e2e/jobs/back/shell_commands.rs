//! Shell commands at a stop: the environment in which they run, and the one that they leave.

use super::super::{job, workflow};
use super::debug;

const STEPS: &str = r#"
- name: One
  run: echo "A=1" >> $GITHUB_ENV; echo $PWD/bin >> $GITHUB_PATH; mkdir bin; printf '#!/bin/sh\necho tool' > bin/tool; chmod +x bin/tool
- name: Two
  env: {OWN: "own-${{ env.A }}"}
  run: env | sort > step.env; pwd >> step.env; tool >> step.env
- name: Three
  run: echo "${X-none} ${Y-none} ${Z-none} ${HIDDEN-none} ${A-none} ${OWN-none}" > seen
"#;

/// A line that begins with ! runs a shell command in the job's environment (S1-076). Variables, PATH and the directory are those that
/// the next step finds. Another line is an expression, and runs nothing.
#[test]
fn s1_076_commands_run_as_the_next_step_does() {
    let world = workflow(&job(STEPS)).with("STRAY", "of the user");
    let ran = debug(
        &world,
        &[
            "n",
            "!env | sort > ../shell.env; pwd >> ../shell.env; tool >> ../shell.env",
            "touch made",
            "!exit 3",
            "n",
        ],
    );
    assert_eq!(ran.stop(4), "before Three");
    let step = ran.file("step.env");
    for line in ["A=1\n", "OWN=own-1\n", "CI=true\n", "\ntool\n"] {
        assert!(step.contains(line), "{line} in {step}");
    }
    assert!(!step.contains("STRAY"), "{step}");
    assert_eq!(ran.file("../shell.env"), step);
    let error = ran.stop(2);
    assert!(error.starts_with("error: "), "{error}");
    assert!(!ran.workspace().join("made").exists());
    assert!(ran.said(3).contains("exit code 3"), "{}", ran.said(3));
}

/// `export` in the REPL reaches the next step (S1-077), also from a command that fails, and by the file of the job's variables. A variable
/// of the shell alone does not, and one that is unset is gone.
#[test]
fn s1_077_exported_variables_reach_the_next_step() {
    let world = workflow(&job(STEPS));
    let ran = debug(
        &world,
        &[
            "n",
            "n",
            "!export X=1; HIDDEN=1",
            "!export Y=2; exit 4",
            "!echo Z=3 >> $GITHUB_ENV",
            "!unset A",
            "n",
        ],
    );
    assert_eq!(ran.said(2), "Set: X.");
    assert_eq!(ran.stop(6), "end");
    assert_eq!(ran.file("seen"), "1 2 3 none none none\n");
}
