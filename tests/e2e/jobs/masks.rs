//! Secrets in outputs, logs, errors and reports.

use super::{job, run, workflow};

/// A secret stands nowhere, in no form (J15, J16, J17, J18): secrets show as names only, masked everywhere (U-07).
#[test]
fn j15_j16_j17_j18_secrets_are_masked_everywhere() {
    let world = workflow(&job(r#"
- id: leak
  env: {KEY: "${{ secrets.KEY }}", SHORT: "${{ secrets.SHORT }}"}
  run: |
    echo "the key is $SHORT"
    printf '%s' "$KEY" | base64
    printf '%s' "$KEY" | head -c 5; sleep 0.05; printf '%s' "$KEY" | tail -c +6; echo
    echo "::warning::has $KEY"
    later=made-up; later=$later-later; echo "::add-mask::$later"
    echo "and $later, too"
    echo "value=$SHORT" >> $GITHUB_OUTPUT
    ls "/no/$KEY" >&2 || true
- name: name with ${{ secrets.KEY }}
  run: echo "${{ steps.leak.outputs.value }}"; nosuch-$KEY-program
  env: {KEY: "${{ secrets.KEY }}"}
"#));
    world.write(
        ".secrets",
        "KEY=\"hunter2-top-secret\nsecond-line-of-it\"\nSHORT=hunter2\n",
    );
    for json in [true, false] {
        let args = ["job", "run", "ci.yml", "--secret-file", ".secrets"];
        let output = if json {
            world.run(["--json"].iter().chain(&args))
        } else {
            world.run(args)
        };
        assert_eq!(output.code, 1, "{output:?}");
        let place = super::newest(&world);
        let logs = super::Ran {
            report: serde_json::Value::Null,
            place,
            output: world.run(["job", "list", "--runs"]),
        }
        .log();
        for text in [&output.stdout, &output.stderr, &logs] {
            for secret in [
                "hunter2",
                "second-line-of-it",
                "made-up-later",
                "aHVudGVyMi",
            ] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
        assert!(logs.contains("the key is ***"), "{logs}");
    }
    let ran = run(&world, &["--secret-file", ".secrets"]);
    assert_eq!(ran.report["jobs"][0]["steps"][1]["name"], "name with ***");
}
