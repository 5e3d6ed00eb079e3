//! Floods, full disks, garbage: a clear error or a whole run, never a hang.

use std::fs;

use super::{job, newest, run, start, workflow};

/// A flood of output passes in bounded memory, and all of it is in the log.
#[test]
fn a_flood_of_output() {
    let world = workflow(&job(
        "- run: yes 'a line of a flood of output' | head -c 200000000",
    ));
    let mut runner = start(&world);
    let mut stdout = runner.stdout.take().expect("a pipe");
    let shown = std::io::copy(&mut stdout, &mut std::io::sink()).expect("read");
    let status = fs::read_to_string(format!("/proc/{}/status", runner.id())).unwrap_or_default();
    assert!(runner.wait().expect("ended").success());
    assert!(shown < 40_000_000, "{shown} bytes are shown");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map(|line| line.trim().trim_end_matches(" kB").parse::<u64>());
    assert!(
        peak.is_none_or(|peak| peak.is_ok_and(|kilobytes| kilobytes < 100_000)),
        "{status}"
    );
    let log = newest(&world).join("log");
    let size: u64 = fs::read_dir(log)
        .expect("logs")
        .map(|entry| entry.expect("an entry").metadata().expect("metadata").len())
        .sum();
    assert!(size >= 200_000_000, "{size} bytes are in the log");
}

#[test]
fn a_line_without_an_end() {
    let world = workflow(&job(
        "- run: head -c 10000000 /dev/zero | tr '\\0' x; echo; echo after",
    ));
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}", ran.report);
    let log = ran.log();
    assert!(log.lines().all(|line| line.len() <= 64 * 1024) && log.trim_end().ends_with("after"));
}

#[test]
fn bad_command_files_fail_the_step_by_name() {
    for (script, reason) in [
        ("echo nonsense >> $GITHUB_ENV", "Invalid format 'nonsense'"),
        (
            "printf 'A<<E\\nx\\n' >> $GITHUB_OUTPUT",
            "Matching delimiter not found 'E'",
        ),
        (
            "echo '::set-env name=A::1'",
            "`set-env` command is disabled",
        ),
        (
            "rm $GITHUB_ENV; mkfifo $GITHUB_ENV",
            "is not read: it is not a regular file",
        ),
        (
            "ln -sf /dev/zero $GITHUB_OUTPUT",
            "is not read: it is not a regular file",
        ),
        (
            "head -c 70000000 /dev/zero > $GITHUB_STATE",
            "is not read: it has more than",
        ),
        (
            "head -c 100 /dev/urandom > $GITHUB_PATH; echo = >> $GITHUB_STATE",
            "Name must not be empty",
        ),
    ] {
        let world = workflow(&job(&format!("- run: {script}")));
        let ran = run(&world, &[]);
        assert_eq!(ran.result(), "failure", "{script}");
        assert!(
            ran.report.to_string().contains(reason),
            "{script}: {:#}",
            ran.report
        );
    }
}

/// A step that removes or locks the directories of its run fails by itself; the run ends and is removed.
#[test]
fn a_step_that_destroys_its_place() {
    for script in [
        "rm -rf \"$RUNNER_TEMP\"/*; rm -rf \"$GITHUB_WORKSPACE\"",
        "chmod 0 \"$RUNNER_TEMP\"",
        "rm -rf \"$(dirname \"$RUNNER_TEMP\")\"",
        "cd /; rm -rf \"$HOME\"; mkdir -p \"$GITHUB_WORKSPACE/a/b\"; chmod 0 \"$GITHUB_WORKSPACE/a\"",
    ] {
        let world = workflow(&job(&format!(
            "- run: {script}\n- if: always()\n  run: echo on"
        )));
        let ran = world.run(["--json", "job", "run", "ci.yml", "--yes"]);
        assert!(ran.code <= 1, "{script}: {ran:?}");
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(
            report["jobs"][0]["steps"].as_array().map(Vec::len),
            Some(2),
            "{script}: {report:#}"
        );
        world.ok(["job", "rm", "--all"]);
        assert_eq!(
            world.json(["job", "list", "--runs"])["runs"],
            serde_json::json!([]),
            "{script}"
        );
    }
}

#[test]
fn a_state_directory_that_cannot_be_written() {
    let world = workflow(&job("- run: 'true'"));
    fs::write(world.state.join("backstitch"), "a file in the way").expect("a file");
    let refused = world.run(["job", "run", "ci.yml"]).expect_code(1);
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert!(
        text.contains(world.state.to_str().expect("a path")),
        "{text}"
    );
}

/// YAML that is huge, deep, or a bomb of aliases is a problem, soon.
#[test]
fn hostile_workflows() {
    let bomb: String = (0..40)
        .map(|n| format!("a{n}: &a{n} [*a{p}, *a{p}, *a{p}]\n", p = n - 1))
        .skip(1)
        .collect();
    let texts = [
        format!("a0: &a0 [x]\n{bomb}on: push\njobs: {{}}\n"),
        format!("on: push\njobs: {}", "[".repeat(100_000)),
        format!("on: push\nname: {}\n", "x".repeat(10_000_000)),
        "\u{0}\u{1}".to_owned(),
        String::new(),
    ];
    for text in texts {
        let world = workflow(&text);
        let listed = world.run(["job", "list"]).expect_code(1);
        assert!(
            listed.stdout.contains("error"),
            "{} bytes: {listed:?}",
            text.len()
        );
    }
    let world = workflow("on: push");
    fs::write(world.path(".github/workflows/ci.yml"), [0xff, 0xfe, b'a']).expect("a file");
    world.run(["job", "list"]).expect_code(1);
}
