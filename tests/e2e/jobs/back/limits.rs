//! Limits of stepping back: files and results come back, and what cannot come back is named each time.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use super::super::{job, newest, workflow};
use super::conversation::{Conversation, place_of};
use super::exact::{Exact, differing, exact};
use super::stepped::{SteppedJob, place};
use crate::support::finish;

/// Changes of all kinds: contents, modes, times, links, directories, ignored files, git, and the home of the run.
const CHANGES: &str = r"
- name: Begin
  run: |
    git init -q; git config user.name a; git config user.email a@b; echo '*.o' > .gitignore; echo a > a; git add .; git commit -qm one
    mkdir -p d/e old; echo x > d/x; echo o > a.o; ln -s a link; touch -d 2001-02-03 d d/x; echo home > ~/mine
- name: Change
  run: |
    echo b >> a; rm -r d old link; mkdir new; echo n > new/n; chmod 755 a; echo o2 > a.o; touch -d 1999-01-01 .gitignore
    git commit -qam two; git tag v1; git checkout -qb branch; echo more >> ~/mine; echo t > $RUNNER_TEMP/t
";

/// Limit: files that steps changed stay changed after a step back (S1-L1). Wish: snapshots of the file system (S1-F1). Here all files
/// are as they were, and nothing claims the contrary. The sentence would be wrong: "it says that file changes were not reverted"
/// (S1-045).
#[test]
fn s1_045_s1_l1_s1_f1_files_come_back() {
    let world = workflow(&job(CHANGES));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("n"), "before Change");
    let before = exact(&talk.place.join("files"));
    assert_eq!(talk.stop("n"), "end");
    let changed = differing(&before, &exact(&talk.place.join("files")));
    assert!(changed.len() > 20, "{changed:?}");
    let back = talk.ask("b");
    assert_eq!(place_of(&back), "before Change");
    let said = back["said"].as_str().expect("a text");
    assert!(!said.contains('\n'), "{said}");
    let changed = differing(&before, &exact(&talk.place.join("files")));
    assert_eq!(changed, Vec::<String>::new());
    // the step finds nothing of its first run
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.end(), 0);
}

/// A directory that nobody may list.
const CLOSED: &str = "
- name: Make
  run: mkdir d; echo x > d/x; chmod 000 d; echo 1 > log
- name: Remove
  run: chmod 700 d; rm -r d; echo 2 >> log";

/// It says that file changes were not reverted (S1-045) in a directory without permissions: one that stays, and one that is gone.
#[test]
fn s1_045_a_directory_that_cannot_be_read_is_named() {
    let world = workflow(&job(CLOSED)).for_ordinary_user();
    let mut job = SteppedJob::start(&world);
    let (d, log) = {
        let workspace = newest(&world).join("files/work/work/work");
        (workspace.join("d"), workspace.join("log"))
    };
    let mut says = |line: &str, text: &str| {
        let answer = job.line(line).expect("an answer");
        let said = answer["said"].as_str().unwrap_or_default();
        let gap = said.split("\n  not restored: work/work/work/d ").nth(1);
        let is_right =
            gap.is_some_and(|gap| gap.contains(text)) || gap.is_none() && text.is_empty();
        assert!(is_right, "{line}: {answer}");
    };
    says("n", "");
    says("b", "cannot be read, so it stays as it is");
    assert!(d.exists() && !log.exists());
    says("!chmod 700 d; rm -r d", "");
    says("n", "");
    says("n", "");
    // the directory itself comes back
    says("b", "could not be read at the checkpoint");
    assert!(d.exists());
    says(":undo", "");
    assert!(!d.exists());
    says("b 2", "");
    assert!(!d.exists() && !log.exists());
}

/// A file of more than 1 GiB, which is not captured: made, changed, and removed.
const HUGE: &str = "
- name: Make
  run: truncate -s 1200M huge; echo 1 > small
- name: Change
  run: truncate -s 1201M huge; echo 2 > small
- name: Remove
  run: rm -f huge; echo 3 > small";

/// It says that file changes were not reverted (S1-045) where that is so. Each restore names a file whose content was not captured, as
/// does each undo of one, and a process that finishes one. All other files come back.
#[test]
fn s1_045_a_file_that_does_not_come_back_is_named() {
    let world = workflow(&job(HUGE));
    let mut job = SteppedJob::start(&world);
    let workspace = newest(&world).join("files/work/work/work");
    let small = || fs::read_to_string(workspace.join("small")).expect("a file");
    let says = |job: &mut SteppedJob, line: &str, content: &str, named: bool| {
        let answer = job.line(line).expect("an answer");
        let said = answer["said"].as_str().unwrap_or_default();
        let gap = said.contains("\n  not restored: work/work/work/huge ");
        assert_eq!((gap, small().trim()), (named, content), "{line}: {answer}");
    };
    for line in ["n", "n", "n"] {
        job.line(line);
    }
    says(&mut job, "b", "2", true);
    says(&mut job, ":undo", "3", false);
    says(&mut job, ":goto Remove", "2", true);
    says(&mut job, ":undo", "3", false);
    says(&mut job, ":again", "3", true);
    says(&mut job, ":goto [1]", "1", true);
    // nothing is there to be named: the file is gone, as it was then
    says(&mut job, ":undo", "3", false);
    job.line("b 2");
    says(&mut job, "n", "2", false);
    says(&mut job, "b", "1", true);
    // it stayed as it was all the time
    says(&mut job, ":undo", "2", false);
    says(&mut job, "b", "1", true);
    job.line("!rm huge");
    says(&mut job, ":undo", "2", true);
    job.line("b");
    says(&mut job, "n", "2", false);
    job.kill();
    // a process that finishes a restore names it, too
    let mut point = 0;
    loop {
        point += 1;
        let mut job = SteppedJob::of(&world, &["--resume"], Some(point));
        assert!(job.line("b").is_none(), "no restore was cut off");
        job.kill();
        let job = SteppedJob::resume(&world);
        let said = job.first["said"].as_str().unwrap_or_default().to_owned();
        let is_finished = said.contains("A step back was cut off, and is finished");
        if is_finished {
            assert_eq!(
                (place(&job.first).as_str(), small().trim()),
                ("before Change", "1")
            );
            assert!(
                said.contains("\n  not restored: work/work/work/huge "),
                "{said}"
            );
        }
        job.kill();
        if is_finished {
            break;
        }
    }
}

/// Limit: masks of secrets only grow (S1-L2). A step back leaves all of them in force, also those of steps that it undoes.
#[test]
fn s1_l2_masks_stay_after_a_step_back() {
    let world = workflow(&job(
        "- name: One\n  run: later=hidden; echo \"::add-mask::$later-one\"\n- name: Two\n  run: later=hidden; echo \"::add-mask::$later-two\"; echo \"$later-one $later-two\"\n- name: Three\n  run: later=hidden; echo \"$later-one $later-two\"",
    ));
    let mut command = world.backstitch();
    command.args(["--json", "job", "debug", "ci.yml", "-j", "build", "--yes"]);
    let lines = "c\nr\nformat('hidden{0}', '-two')\n!x=hidden; echo $x-one $x-two; export SEEN=$x-two\nenv.SEEN\n:state\nb\nn\nc\n";
    let output = finish(&mut command, lines.as_bytes());
    let logs = fs::read_dir(newest(&world).join("log")).expect("logs");
    let logs = logs.map(|entry| fs::read(entry.expect("an entry").path()).expect("a log"));
    let logs: Vec<u8> = logs.collect::<Vec<_>>().concat();
    let logs = String::from_utf8_lossy(&logs);
    for text in [output.stdout.as_str(), &output.stderr, &logs] {
        for secret in ["hidden-one", "hidden-two"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    // the expression, the variable and the state, each after the step back
    let answers = output.stdout.matches("***").count();
    assert!(answers >= 3, "{}", output.stdout);
    assert!(logs.contains("*** ***"), "{logs}");
    assert_eq!(output.code, 0);
}

/// Limit: state inside a container is not reverted (S1-L3). Wish: snapshots of a container's state (S1-F2). No step back comes to that,
/// so it says nothing like this: "in a container it warns that the container's state was not reverted" (S1-046). The job is refused
/// before its first step, with the line and the way out.
#[test]
fn s1_046_s1_l3_s1_f2_containers_are_refused() {
    for (key, part) in [
        ("container", "    container: alpine:3\n"),
        ("services", "    services: {db: {image: postgres}}\n"),
    ] {
        let steps = job("- run: touch ran").replace("    steps:", &format!("{part}    steps:"));
        let world = workflow(&steps);
        let mut command = world.backstitch();
        command.args(["job", "debug", "ci.yml", "-j", "build", "--yes"]);
        let output = finish(&mut command, b"n\nn\n");
        let text = output.stdout + &output.stderr;
        let refusal = format!("ci.yml (Line: 5): '{key}' is not supported here");
        assert!(output.code == 1 && text.contains(&refusal), "{text}");
        assert!(
            text.contains("Leave the key out, or run this job on GitHub."),
            "{text}"
        );
        assert!(!text.contains("before step"), "{text}");
        assert!(!newest(&world).join("files").exists(), "{key}");
    }
}

/// A step with an image does not run, so it leaves no state inside a container. It fails with the reason, and can be left out.
#[test]
fn a_step_with_an_image_does_not_run() {
    let steps = "- name: Image\n  uses: docker://alpine:3\n- name: Last\n  run: echo last > log";
    let world = workflow(&job(steps));
    let mut talk = Conversation::begin(&world);
    let failed = talk.ask("n");
    assert_eq!(place_of(&failed), "failed Image");
    let reason = failed["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("containers are not supported here"),
        "{reason}"
    );
    assert_eq!(talk.stop("b"), "before Image");
    assert_eq!(talk.stop(":skip"), "before Last");
    assert_eq!(talk.stop("n"), "end");
    assert_eq!(talk.read("log"), "last\n");
    assert_eq!(talk.end(), 0);
}

/// Number of connections that wait.
fn calls(listener: &TcpListener) -> usize {
    let mut count = 0;
    loop {
        match listener.accept() {
            Ok(_) => count += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Limit: effects over the network cannot be undone (S1-L4). Each step back over a step with commands that reach out names it with them,
/// once, and in the next process, too.
#[test]
fn s1_l4_effects_over_the_network_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("no waits");
    let port = listener.local_addr().expect("an address").port();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let world = workflow(&job(&format!(
        "- name: One\n  run: echo one > log\n- name: Deploy\n  shell: bash\n  run: |\n    {command}\n    echo deployed >> log\n- name: Last\n  run: echo last >> log"
    )));
    let named = format!("\n  not taken back: 'Deploy' may have reached out of the run: {command}");
    let says = |answer: &serde_json::Value| {
        answer["said"]
            .as_str()
            .is_some_and(|said| said.contains(&named))
    };
    let mut job = SteppedJob::start(&world);
    job.line("c");
    assert_eq!(calls(&listener), 1);
    let last = job.line("b").expect("an answer");
    assert!(!says(&last), "{last}");
    let back = job.line("b").expect("an answer");
    assert_eq!(place(&back), "before Deploy");
    assert!(says(&back), "{back}");
    let log = newest(&world).join("files/work/work/work/log");
    let log = || fs::read_to_string(&log).expect("a log");
    assert_eq!((log().as_str(), calls(&listener)), ("one\n", 0));
    // it is named once, and again once the step has run again
    let first = job.line("b").expect("an answer");
    assert!(!says(&first), "{first}");
    job.line("c");
    assert_eq!(calls(&listener), 1);
    job.kill();
    let mut job = SteppedJob::resume(&world);
    let start = job.line("r").expect("an answer");
    assert!(says(&start), "{start}");
    job.line("c");
    assert_eq!(
        (log().as_str(), calls(&listener)),
        ("one\ndeployed\nlast\n", 1)
    );
    assert_eq!(job.end().0, Some(0));
}

/// The most memory that a process had, in bytes.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().split(' ').next());
    number
        .and_then(|number| number.parse::<u64>().ok())
        .expect("a number")
        * 1024
}

/// Bytes on disk below a directory.
fn size(dir: &Path) -> u64 {
    let files: Exact = exact(dir);
    files
        .values()
        .map(|(_, _, content)| content.len() as u64)
        .sum()
}

/// Size of the file that steps write.
const BIG: u64 = 8_000_000;

/// Limit: checkpoints take memory, which only their number bounds (S1-L5). Here they are on disk, and the process does not grow by
/// their files. A file that steps leave as it is takes its space once.
#[test]
fn s1_l5_checkpoints_take_no_memory() {
    let write = format!("- run: head -c {BIG} /dev/urandom > big\n").repeat(12);
    let leave = "- run: echo more >> small\n".repeat(12);
    let world = workflow(&job(&(write + &leave)));
    let mut job = SteppedJob::start(&world);
    let mut go = |count: usize| {
        for _ in 0..count {
            job.line("n").expect("an answer");
        }
        (peak(job.pid()), size(&newest(&world).join("store")))
    };
    let (early, _) = go(3);
    let (late, stored) = go(9);
    let grown = late.saturating_sub(early);
    assert!(
        grown < 3 * BIG,
        "nine checkpoints take {grown} bytes of memory"
    );
    assert!(stored > 9 * BIG, "{stored} bytes are stored");
    let (_, last) = go(12);
    let grown = last.saturating_sub(stored);
    assert!(grown < BIG, "twelve checkpoints take {grown} bytes on disk");
    assert_eq!(
        job.said("b 24"),
        "before Run head -c 8000000 /dev/urandom > big"
    );
    assert!(!newest(&world).join("files/work/work/work/big").exists());
    job.end();
}

/// A run whose directories are deleted meanwhile names them, and the way on. Nothing runs.
#[test]
fn a_run_without_its_directories_says_so() {
    for gone in ["store", "files"] {
        let world = workflow(&job("- run: echo one\n- run: echo two"));
        let mut run = SteppedJob::start(&world);
        run.line("n").expect("an answer");
        let directory = newest(&world).join(gone);
        fs::remove_dir_all(&directory).expect("deleted");
        for word in ["n", "b"] {
            let answer = run.line(word).expect("an answer");
            let error = answer["error"].as_str().unwrap_or_default();
            assert!(error.contains(&*directory.to_string_lossy()), "{answer}");
            assert!(error.ends_with("start it again."), "{answer}");
        }
        run.end();
    }
}
